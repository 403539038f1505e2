--TEST--
Hone\Cache: in a fiber, a value with more levels than the stack has room for is refused
--INI--
hone.cache_cli=1
hone.cache_size=8M
fiber.stack_size=256K
--SKIPIF--
<?php if (!function_exists('pcntl_fork')) die('skip pcntl is not there'); ?>
--FILE--
<?php
use Hone\Cache;

class Plain { public $next; }
class Asked {
    public $next;
    function __serialize(): array { return [$this->next]; }
    function __unserialize(array $data): void { $this->next = $data[0]; }
}
function object(string $class, $next): object
{
    $object = new $class;
    $object->next = $next;
    return $object;
}
$levels = [
    'lists' => fn($next) => [$next],
    'tables' => fn($next) => ['a' => $next, 'b' => 1, 'c' => 2, 'd' => 3],
    'tables with holes' => function ($next) {
        $table = ['a' => 1, 'b' => $next];
        unset($table['a']);
        return $table;
    },
    'objects' => fn($next) => object('Plain', $next),
    'dynamic properties' => fn($next) => (object)['a' => $next, 'b' => 1, 'c' => 2, 'd' => 3],
    'methods' => fn($next) => object('Asked', $next),
];
function nested(callable $level, int $n, $value = null): mixed
{
    while ($n-- > 0) {
        $value = $level($value);
    }
    return $value;
}
function in_fiber(callable $call): mixed
{
    $fiber = new Fiber($call);
    $fiber->start();
    return $fiber->getReturn();
}
function message(): string
{
    $message = error_get_last()['message'] ?? 'no message';
    error_clear_last();
    return $message;
}

foreach ($levels as $name => $level) {
    foreach ([100, 4000] as $n) {
        $value = nested($level, $n);
        echo "$name, $n: ", json_encode(in_fiber(fn() => @Cache::store('key', $value))), ', ', message(), "\n";
    }
    // Which of these the stack has room for depends on the compiler.
    for ($n = 100; $n < 4000; $n += 97) {
        $value = nested($level, $n);
        if (!in_fiber(fn() => @Cache::store('key', $value))) {
            echo str_contains(message(), 'room for') ? '' : "$n is refused for another reason\n";
        } elseif (gettype(in_fiber(fn() => Cache::fetch('key'))) !== gettype($value)) {
            echo "$n is not fetched\n";
        }
    }
    // What the stack of the process has room for is fetched in a fiber.
    $stored = Cache::store($name, nested($level, 1500));
    ini_set('fiber.stack_size', $name === 'methods' ? '64K' : '256K');
    echo json_encode([$stored, in_fiber(fn() => @gettype(Cache::fetch($name)))]), ', ', message(), "\n";
}

// A cold value is the same.
for ($i = 0; Cache::info()['cold_entries'] === 0 && $i < 5000; $i++) {
    Cache::store("fill$i", range($i, $i + 500));
}
$value = nested($levels['lists'], 4000);
echo json_encode([Cache::info()['cold_entries'] > 0, Cache::store('cold', $value), in_fiber(fn() => Cache::fetch('cold')) === $value]), "\n";

// The class of stored objects has changed, so only unserialize() makes them.
if (pcntl_fork() === 0) {
    eval('class Changed { public $next; public $removed; }');
    Cache::store('changed', nested(fn($next) => object('Changed', $next), 4000));
    exit;
}
pcntl_wait($status);
eval('class Changed { public $next; }');
var_dump(in_fiber(fn() => @Cache::fetch('changed')));
echo message(), "\n";

// The default size.
ini_set('fiber.stack_size', '2M');
foreach (['lists' => 4096, 'tables' => 4096, 'objects' => 3000, 'dynamic properties' => 1500, 'methods' => 1500] as $name => $n) {
    $value = nested($levels[$name], $n);
    echo "$name, $n: ", json_encode(in_fiber(fn() => Cache::store('key', $value))), "\n";
}

// In the smallest fiber, PHP 8.3 and later call no function, and the JIT of
// opcache exhausts the stack.
$jit = function_exists('opcache_get_status') && (opcache_get_status(false)['jit']['on'] ?? false);
if (PHP_VERSION_ID < 80300 && !$jit) {
    ini_set('fiber.stack_size', '16K');
}
foreach ([[], [[1]], new Plain, new Asked, new DateTime('2020-01-01')] as $value) {
    echo json_encode(in_fiber(fn() => Cache::store('key', $value) && Cache::fetch('key') == $value)), "\n";
}
?>
--EXPECTF--
lists, 100: true, no message
lists, 4000: false, Hone\Cache::store(): The value of 'key' cannot be stored: it contains more levels than the stack of this thread or fiber has room for
[true,"array"], no message
tables, 100: true, no message
tables, 4000: false, Hone\Cache::store(): The value of 'key' cannot be stored: it contains more levels than the stack of this thread or fiber has room for
[true,"array"], no message
tables with holes, 100: true, no message
tables with holes, 4000: false, Hone\Cache::store(): The value of 'key' cannot be stored: it contains more levels than the stack of this thread or fiber has room for
[true,"array"], no message
objects, 100: true, no message
objects, 4000: false, Hone\Cache::store(): The value of 'key' cannot be stored: it contains more levels than the stack of this thread or fiber has room for
[true,"object"], no message
dynamic properties, 100: true, no message
dynamic properties, 4000: false, Hone\Cache::store(): The value of 'key' cannot be stored: it contains more levels than the stack of this thread or fiber has room for
[true,"object"], no message
methods, 100: true, no message
methods, 4000: false, Hone\Cache::store(): The value of 'key' cannot be stored: it contains more levels than the stack of this thread or fiber has room for
[true,"NULL"], Hone\Cache::fetch(): Error at offset %d of %d bytes; the maximum depth is that of the stack of this thread or fiber
[true,true,true]
NULL
Hone\Cache::fetch(): A class of a value in the cache has changed, and the stack of this thread or fiber has no room for the levels of the value
lists, 4096: true
tables, 4096: true
objects, 3000: true
dynamic properties, 1500: true
methods, 1500: true
true
true
true
true
true
