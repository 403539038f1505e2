--TEST--
hone.cache_read: every mode returns the same values
--INI--
hone.cache_cli=1
--FILE--
<?php
use Hone\Cache;

$value = ['list' => range(1, 1000), 'text' => str_repeat('x', 1000)];
Cache::store('array', $value);
Cache::store('string', 'text');
Cache::store('int', 7);
Cache::store('object', new ArrayObject([1, 2]));
$fetch = function () use ($value) {
    $object = Cache::fetch('object');
    return Cache::fetch('array') === $value && Cache::fetch('string') === 'text' &&
        Cache::fetch('int') === 7 && $object[1] === 2;
};
$grown = function (callable $call) { $before = memory_get_usage(); $keep = $call(); return memory_get_usage() - $before; };

// Shared: no memory of the process. Block: one copy. Copy: one for each fetch.
echo json_encode([$fetch(), $grown(fn() => Cache::fetch('array')) < 500, Cache::info()['block_bytes_used']]), "\n";
ini_set('hone.cache_read', 'block');
echo json_encode([$fetch(), $grown(fn() => Cache::fetch('array')) < 500, Cache::info()['block_bytes_used'] > 17000]), "\n";
ini_set('hone.cache_read', 'copy');
echo json_encode([$fetch(), $grown(fn() => Cache::fetch('array')) > 16000 || getenv('USE_ZEND_ALLOC') === '0']), "\n";

// auto: an old request reads block copies of new values, and keeps its earlier values.
ini_set('hone.cache_read', 'auto');
Cache::store('array', $value);
$shared = Cache::fetch('array');
$used = Cache::info()['block_bytes_used'];
ini_set('hone.cache_shared_seconds', 1);
usleep(3_100_000);
for ($i = 0; $i < 20; $i++) {
    Cache::store('array', $value);
    $block = Cache::fetch('array');
}
echo json_encode([Cache::info()['block_bytes_used'] > $used, $block === $value, $shared === $value, $fetch()]), "\n";
Cache::clear();
for ($i = 0; $i < 200; $i++) {
    Cache::store("fill$i", str_repeat(chr($i % 26 + 65), 500000));
}
echo json_encode([$shared === $value, $block === $value]), "\n";
echo json_encode([@ini_set('hone.cache_read', 'none'), error_get_last()['message'], ini_get('hone.cache_read')]), "\n";

// Requests that switch by themselves do not count.
var_dump(Cache::info()['closed_slots']);
?>
--EXPECT--
[true,true,0]
[true,true,true]
[true,true]
[true,true,true,true]
[true,true]
[false,"hone.cache_read: \"none\" is not auto, shared, block or copy; the setting stays auto","auto"]
int(0)
