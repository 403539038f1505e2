--TEST--
Hone\Cache::remember() in several fibers, which end in another order than they began
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
    echo json_encode([$fibers[$key]->getReturn(), Cache::fetch($key)]), "\n";
}
// This fiber never ends.
$left = new Fiber(fn() => Cache::remember('d', 60, function () {
    Fiber::suspend();
    return 1;
}));
$left->start();
unset($left);
echo json_encode([Cache::fetch('d'), Cache::remember('d', 60, fn() => 'another')]), "\n";
?>
--EXPECT--
["value of b","value of b"]
["value of a","value of a"]
["value of c","value of c"]
[null,"another"]
