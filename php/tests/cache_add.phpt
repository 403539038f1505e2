--TEST--
Hone\Cache: inc, dec and cas; add and replace, lifetimes, and invalid arguments
--INI--
hone.cache_cli=1
--FILE--
<?php
use Hone\Cache;

echo json_encode([Cache::inc('n'), Cache::inc('n', 10), Cache::dec('n'), Cache::dec('new', 5), Cache::fetch('n')], JSON_PRESERVE_ZERO_FRACTION), "\n";
echo json_encode([Cache::cas('n', 10, 20), Cache::cas('n', 10, 30), Cache::fetch('n'), Cache::cas('absent', 0, 1), Cache::exists('absent')], JSON_PRESERVE_ZERO_FRACTION), "\n";
foreach (['12', 1.0, null, true, []] as $i => $other) {
    Cache::store("other$i", $other);
    echo json_encode([Cache::inc("other$i"), Cache::fetch("other$i") === $other, Cache::cas("other$i", 12, 1)], JSON_PRESERVE_ZERO_FRACTION), "\n";
}
Cache::store('max', PHP_INT_MAX);
echo json_encode([Cache::inc('max') === PHP_INT_MIN, Cache::dec('max', PHP_INT_MIN) === 0]), "\n";
$before = Cache::fetch('n');
Cache::inc('n');
echo json_encode([$before, Cache::fetch('n')], JSON_PRESERVE_ZERO_FRACTION), "\n";
var_dump(Cache::inc('ends', 1, 1));

// Add and replace, their lifetimes, and invalid arguments.
echo json_encode([Cache::replace('k', 1), Cache::add('k', 1), Cache::add('k', 2), Cache::fetch('k')]), "\n";
echo json_encode([Cache::replace('k', 3), Cache::fetch('k')]), "\n";
Cache::store('short', 'value', 1);
Cache::store('long', 'value', 100);
Cache::store('longest', 'value', PHP_INT_MAX);
echo json_encode([Cache::fetch('long'), Cache::fetch('longest')]), "\n";
usleep(2_100_000);
var_dump(Cache::inc('ends', 1, 1));
echo json_encode([Cache::fetch('short', 'ended'), Cache::exists('short'), Cache::fetch('long'), Cache::fetch('longest')]), "\n";
echo json_encode([Cache::replace('short', 1), Cache::add('short', 2), Cache::fetch('short')]), "\n";

foreach ([
    fn() => Cache::store('k', 1, -1),
    fn() => Cache::store('k', 1, 0, [1]),
    fn() => Cache::store('k', 1, 0, array_fill(0, 256, 'tag')),
    fn() => Cache::inc('k', 1, -1),
    fn() => Cache::remember('k', -1, fn() => 1),
    fn() => Cache::remember('k', 1, fn() => 1, -1),
    fn() => Cache::remember('k', 1, fn() => 1, 1, -0.1),
    fn() => Cache::remember('k', 1, fn() => 1, 1, NAN),
    fn() => Cache::remember('k', 1, 'no such function'),
    fn() => Cache::fetch([]),
    fn() => Cache::fetch_field('k', 1.5),
    fn() => Cache::fetch_field('k', ['a', []]),
    fn() => Cache::fetch_multi([[]]),
    fn() => Cache::memory_map(0),
    fn() => new Cache(),
    fn() => new Hone\CacheEntries(),
    fn() => clone Cache::entries(),
    fn() => serialize(Cache::entries()),
] as $call) {
    try {
        var_dump($call());
    } catch (Throwable $error) {
        echo get_class($error), ': ', $error->getMessage(), "\n";
    }
}
?>
--EXPECTF--
[1,11,10,-5,10]
[true,false,20,false,false]
[false,true,false]
[false,true,false]
[false,true,false]
[false,true,false]
[false,true,false]
[true,true]
[20,21]
int(1)
[false,true,false,1]
[true,3]
["value","value"]
int(1)
["ended",false,"value","value"]
[false,true,2]
ValueError: Hone\Cache::store(): Argument #3 ($ttl) must be greater than or equal to 0
TypeError: Hone\Cache::store(): Argument #4 ($tags) must have only strings, int given
ValueError: Hone\Cache::store(): Argument #4 ($tags) must have at most 255 elements
ValueError: Hone\Cache::inc(): Argument #3 ($ttl) must be greater than or equal to 0
ValueError: Hone\Cache::remember(): Argument #2 ($ttl) must be greater than or equal to 0
ValueError: Hone\Cache::remember(): Argument #4 ($grace) must be between 0 and 4294967295
ValueError: Hone\Cache::remember(): Argument #5 ($wait) must be between 0 and 86400
ValueError: Hone\Cache::remember(): Argument #5 ($wait) must be between 0 and 86400
TypeError: Hone\Cache::remember(): Argument #3 ($compute) must be a valid callback, function "no such function" not found or invalid function name
TypeError: Hone\Cache::fetch(): Argument #1 ($key) must be of type string, array given
TypeError: Hone\Cache::fetch_field(): Argument #2 ($path) must be of type array|string|int, float given
TypeError: Hone\Cache::fetch_field(): Argument #2 ($path) must have only strings and ints
TypeError: Hone\Cache::fetch_multi(): Argument #1 ($keys) must have only strings and ints, array given
ValueError: Hone\Cache::memory_map(): Argument #1 ($parts) must be between 1 and 1048576
Error: Call to private Hone\Cache::__construct() from %s
Error: Call to private Hone\CacheEntries::__construct() from %s
Error: Trying to clone an uncloneable object of class Hone\CacheEntries
Exception: Serialization of 'Hone\CacheEntries' is not allowed
