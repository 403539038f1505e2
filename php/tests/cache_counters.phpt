--TEST--
Hone\Cache: inc, dec and cas
--EXTENSIONS--
hone
--INI--
hone.cache_cli=1
--FILE--
<?php
use Hone\Cache;

var_dump(Cache::inc('n'), Cache::inc('n', 10), Cache::dec('n'), Cache::dec('new', 5), Cache::fetch('n'));
var_dump(Cache::cas('n', 10, 20), Cache::cas('n', 10, 30), Cache::fetch('n'), Cache::cas('absent', 0, 1), Cache::exists('absent'));
foreach (['12', 1.0, null, true, []] as $i => $other) {
    Cache::store("other$i", $other);
    var_dump(Cache::inc("other$i"), Cache::fetch("other$i") === $other, Cache::cas("other$i", 12, 1));
}
Cache::store('max', PHP_INT_MAX);
var_dump(Cache::inc('max') === PHP_INT_MIN, Cache::dec('max', PHP_INT_MIN) === 0);
$before = Cache::fetch('n');
Cache::inc('n');
var_dump($before, Cache::fetch('n'));
var_dump(Cache::inc('ends', 1, 1));
usleep(2_100_000);
var_dump(Cache::inc('ends', 1, 1));
?>
--EXPECT--
int(1)
int(11)
int(10)
int(-5)
int(10)
bool(true)
bool(false)
int(20)
bool(false)
bool(false)
bool(false)
bool(true)
bool(false)
bool(false)
bool(true)
bool(false)
bool(false)
bool(true)
bool(false)
bool(false)
bool(true)
bool(false)
bool(false)
bool(true)
bool(false)
bool(true)
bool(true)
int(20)
int(21)
int(1)
int(1)
