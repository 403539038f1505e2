--TEST--
Hone\Cache: __serialize() and __sleep() are called once in a store, __unserialize() and __wakeup() once in a fetch
--INI--
hone.cache_cli=1
hone.cache_size=16M
--FILE--
<?php
use Hone\Cache;

class Data
{
    function __construct(public string $name, public mixed $of = null) {}

    function __serialize(): array
    {
        echo "  serialize $this->name\n";
        return ['name' => $this->name, 'of' => $this->of, 7 => [1, 2]];
    }

    function __unserialize(array $data): void
    {
        $this->name = $data['name'];
        $this->of = $data['of'];
        $of = is_object($this->of) ? get_class($this->of) . ' ' . ($this->of->name ?? 'without state') : gettype($this->of);
        echo "  unserialize $this->name: ", implode(',', array_keys($data)), " $of\n";
    }
}

class Wakes
{
    public $of;

    function __construct(public $name = 'w') {}
    function __wakeup() { echo "  wakeup $this->name\n"; }
}

class Calls extends Data
{
    function __serialize(): array
    {
        echo "  serialize $this->name\n";
        return $this->of ? ($this->of)($this) : [];
    }

    function __unserialize(array $data): void { echo "  unserialize\n"; }
}

enum Suit { case Hearts; }

class Sleeps
{
    function __construct(public mixed $a = null, public mixed $b = null) {}
    function __sleep() { echo "  sleep\n"; }
}

class SleepsBackwards extends Sleeps
{
    function __sleep()
    {
        parent::__sleep();
        return ['b', 'a'];
    }
}

class SleepsWrong extends Sleeps
{
    function __sleep()
    {
        parent::__sleep();
        return ['nothing', 'a'];
    }
}

class Refers extends Calls {}
class Left extends Calls {}
class Removes extends Calls {}

class Itself extends Calls
{
    function __construct() { parent::__construct('itself', fn($it) => ['it' => $it]); }
}

class Slots { public $first, $second; }

class Many { public $a, $b, $c, $d, $e, $f, $g, $h; }

function kept_as(): string
{
    foreach (Cache::entries('k') as $entry) {
        return $entry['type'];
    }
    return 'nothing';
}

function line(string $calls): string { return $calls === '' ? '' : ': ' . preg_replace('/\n\s*/', '; ', trim($calls)); }

/** The calls of store and fetch, and whether they are those of PHP's functions. */
function compare(string $what, mixed $value): void
{
    ob_start();
    $wanted = unserialize(serialize($value));
    $calls = ob_get_clean();
    Cache::clear();
    ob_start();
    Cache::store('k', $value);
    $fetched = Cache::fetch('k');
    $mine = ob_get_clean();
    $same = print_r($fetched, true) === print_r($wanted, true);
    echo "$what: ", kept_as(), $same ? '' : ', another value', line($mine), $mine === $calls ? '' : ' | wanted' . line($calls), "\n";
}

echo "__sleep():\n";
compare('two arrays in another order', new SleepsBackwards([1], [2]));
compare('two that wake, in another order', new SleepsBackwards(new Wakes('a'), new Wakes('b')));
compare('two objects in another order', new SleepsBackwards(new Data('a'), new Data('b')));
ini_set('error_reporting', E_ALL & ~E_WARNING & ~E_DEPRECATED);
compare('a name that does not exist', new SleepsWrong(1));

echo "Only serialize() can store the answer:\n";
$text = new Left('left', fn() => [new Exception()]);
compare('an exception, the first time', $text);
compare('an exception, again', $text);
compare('the object itself', new Itself());
$one = 1;
$references = function () use (&$one) {
    return [&$one, &$one];
};
compare('a reference', [new Refers('reference', $references)]);

echo "Methods that use the cache:\n";
Cache::store('k', 'deleted');
$value = [new Calls('stores', function () {
    Cache::store('other', [new Data('of other')]);
    Cache::delete('k');
    return ['x' => str_repeat('y', 1000)];
}), new Data('after')];
echo json_encode([Cache::store('k', $value), kept_as(), count(Cache::fetch('k')), Cache::fetch('other')[0]->name]), "\n";

echo "Methods that change the value:\n";
$std = new stdClass();
$std->first = new Removes('removes', function () use ($std) {
    $std->second = null;
    return [];
});
$std->second = new Data('removed');
Cache::store('k', $std);
echo json_encode([kept_as(), Cache::fetch('k')->second]), "\n";
foreach ([Suit::Hearts, [], new stdClass(), new Wakes('other')] as $other) {
    $slots = new Slots();
    $slots->first = new Removes('replaces', function () use ($slots, $other) {
        $slots->second = $other;
        return [];
    });
    $slots->second = new Wakes(new Data('below'));
    Cache::store('k', $slots);
    echo json_encode([kept_as(), Cache::fetch('k')->second == $other]), "\n";
}
// A method below it was in a slot that the other object does not have.
$slots = new Slots();
$slots->first = new Removes('replaces', function () use ($slots) {
    $slots->second = new Wakes('one slot');
    return [];
});
$slots->second = new Many();
$slots->second->h = new Data('late');
Cache::store('k', $slots);
echo json_encode([kept_as(), Cache::fetch('k')->second->name]), "\n";

echo "No garbage is collected, and no object becomes a possible root:\n";
$value = [new Data('kept')];
for ($i = 0; $i < 100; $i++) {
    $value[] = new Slots();
    $value[$i + 1]->first = [$i];
}
gc_collect_cycles();
$roots = gc_status()['roots'];
Cache::store('k', $value);
var_dump(gc_status()['roots'] - $roots < 10);

echo "The next value of the key:\n";
Cache::clear();
$closure = fn() => 1;
foreach ([[new Data('a'), 1], [new Wakes('plain')], [new Wakes('again')], [new Data('b')], [new Data('c'), $closure],
    [new stdClass(), [STDIN]], [new Data('d'), new stdClass()]] as $value) {
    echo json_encode([@Cache::store('k', $value), kept_as()]), "\n";
}

?>
--EXPECT--
__sleep():
two arrays in another order: objects: sleep
two that wake, in another order: serialized: sleep; sleep; wakeup b; wakeup a | wanted: sleep; wakeup b; wakeup a
two objects in another order: serialized: sleep; serialize b; serialize a; sleep; serialize b; serialize a; unserialize b: name,of,7 NULL; unserialize a: name,of,7 NULL | wanted: sleep; serialize b; serialize a; unserialize b: name,of,7 NULL; unserialize a: name,of,7 NULL
a name that does not exist: serialized: sleep; sleep | wanted: sleep
Only serialize() can store the answer:
an exception, the first time: serialized: serialize left; serialize left; unserialize | wanted: serialize left; unserialize
an exception, again: serialized: serialize left; unserialize
the object itself: objects: serialize itself; unserialize
a reference: serialized: serialize reference; serialize reference; unserialize | wanted: serialize reference; unserialize
Methods that use the cache:
  serialize stores
  serialize of other
  serialize after
  unserialize
  unserialize after: name,of,7 NULL
  unserialize of other: name,of,7 NULL
[true,"objects",2,"of other"]
Methods that change the value:
  serialize removes
  serialize removed
  serialize removes
  unserialize
["serialized",null]
  serialize replaces
  serialize replaces
  unserialize
["serialized",true]
  serialize replaces
  serialize replaces
  unserialize
["serialized",true]
  serialize replaces
  unserialize
["objects",true]
  serialize replaces
  unserialize
  wakeup other
["objects",true]
  serialize replaces
  unserialize
  wakeup one slot
["objects","one slot"]
No garbage is collected, and no object becomes a possible root:
  serialize kept
bool(true)
The next value of the key:
  serialize a
[true,"objects"]
[true,"objects"]
[true,"objects"]
  serialize b
[true,"objects"]
[false,"objects"]
[false,"objects"]
  serialize d
[true,"objects"]
