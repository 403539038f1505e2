--TEST--
Hone\Cache, apcu_*: the time of creation of a key does not change
--SKIPIF--
<?php require __DIR__ . '/apcu_served.inc'; ?>
--INI--
hone.cache_cli=1
apc.enable_cli=1
--FILE--
<?php
use Hone\Cache;

/** All that functions say about the creation of the key. */
function times(): array
{
    $info = apcu_key_info('key');
    $element = (new APCUIterator('/^key$/'))->current();
    $listed = apcu_cache_info()['cache_list'][0];
    $entry = Cache::entries('key')->current();
    return [
        $info['creation_time'], $info['mtime'], $info['access_time'], $element['creation_time'], $element['mtime'],
        $listed['creation_time'], $listed['mtime'], $entry['created'], $entry['expires'] - 1000,
    ];
}

Cache::store('key', 1, 1000);
$seen = [];
// More than a second in all, so that the clocks of the system begin new ones. The number of looks ends the test.
for ($look = 0; $look < 60; $look++) {
    $seen = array_merge($seen, times());
    usleep(20000);
}
$seen = array_values(array_unique($seen));
echo count($seen), " time\n";
// No more exact: the clock may be set, and PHP reads another one.
var_dump(abs($seen[0] - time()) < 3600);
?>
--EXPECT--
1 time
bool(true)
