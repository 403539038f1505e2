--TEST--
apcu_cache_info(), APCUIterator, Hone\Cache::entries(): the names in the results take no memory of their own
--EXTENSIONS--
hone
--SKIPIF--
<?php
require __DIR__ . '/apcu_served.inc';
?>
--INI--
hone.cache_cli=1
apc.enable_cli=1
--FILE--
<?php
const N = 1000;

/** Bytes of each element. */
function bytes(callable $list): int
{
    $before = memory_get_usage();
    $result = $list();
    return intdiv(memory_get_usage() - $before, N);
}

for ($i = 0; $i < N; $i++) {
    apcu_store("key$i", $i);
}
foreach ([
    // A table of 16 elements takes 640 bytes, one of 8 elements 320, its head 56, a key 32.
    'apcu_cache_info' => [fn() => apcu_cache_info()['cache_list'], 820],
    'APCUIterator' => [fn() => iterator_to_array(new APCUIterator), 860],
    'entries' => [fn() => iterator_to_array(Hone\Cache::entries()), 560],
    'apcu_key_info' => [fn() => array_map(apcu_key_info(...), array_map(fn($i) => "key$i", range(0, N - 1))), 460],
] as $name => [$list, $most]) {
    $bytes = bytes($list);
    echo $name, ': ', $bytes <= $most ? 'few bytes' : "$bytes bytes for each key", "\n";
}
?>
--EXPECT--
apcu_cache_info: few bytes
APCUIterator: few bytes
entries: few bytes
apcu_key_info: few bytes
