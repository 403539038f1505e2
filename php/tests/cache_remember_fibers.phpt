--TEST--
Hone\Cache::remember() in several fibers, which end in another order than they began
--EXTENSIONS--
hone
--INI--
hone.cache_cli=1
--FILE--
<?php
use Hone\Cache;

$fibers = [];
foreach (['a', 'b', 'c'] as $key) {
    $fibers[$key] = new Fiber(fn() => Cache::remember($key, 60, function () use ($key) {
        Fiber::suspend();
        return "value of $key";
    }));
    $fibers[$key]->start();
}
foreach (['b', 'a', 'c'] as $key) {
    $fibers[$key]->resume();
    var_dump($fibers[$key]->getReturn(), Cache::fetch($key));
}
// This fiber never ends.
$left = new Fiber(fn() => Cache::remember('d', 60, function () {
    Fiber::suspend();
    return 1;
}));
$left->start();
unset($left);
var_dump(Cache::fetch('d'), Cache::remember('d', 60, fn() => 'another'));
?>
--EXPECT--
string(10) "value of b"
string(10) "value of b"
string(10) "value of a"
string(10) "value of a"
string(10) "value of c"
string(10) "value of c"
NULL
string(7) "another"
