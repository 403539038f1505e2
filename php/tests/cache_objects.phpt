--TEST--
Hone\Cache: objects are stored as objects, and each fetch makes new ones
--EXTENSIONS--
hone
--INI--
hone.cache_cli=1
hone.cache_size=16M
error_reporting=E_ALL & ~E_DEPRECATED
--FILE--
<?php
use Hone\Cache;

class Base
{
    private $x = 'of the base';
    protected array $list = [1, [2, 3], 'k' => 'v'];
    public ?Base $next = null;
    public int $unset;
    public mixed $null = null;
}
class Child extends Base
{
    private $x = 'of the child';
    public static $static = 1;
    public float $float = 1.5;
    public iterable|bool $union = false;
    function __construct(public readonly string $read = 'only') {}
}
#[AllowDynamicProperties]
class Loose { public $declared = 1; }
class Nothing {}
class Wakes
{
    public static $calls = 0;
    public $x = 1;
    public function __wakeup() { self::$calls++; }
}
enum Plain { case One; case Two; }
enum Backed: string { case A = 'a'; const B = self::A; }

function kept_as(): string { return Cache::entries()->current()['type']; }

/** Everything but the numbers of objects. */
function text(mixed $value): string
{
    $text = serialize($value);
    if (strlen($text) > 20000) {
        // var_dump() of deep values is quadratic.
        return $text;
    }
    ob_start();
    var_dump($value);
    return preg_replace('/#\d+/', '#', ob_get_clean()) . $text;
}

/** What the program changes is its own copy. */
function change(mixed &$value, int $depth = 0): void
{
    if (is_array($value) || $value instanceof stdClass) {
        if ($depth > 2) {
            return;
        }
        if (is_object($value)) {
            unset($value->{'0'});
        }
        foreach ($value as &$each) {
            change($each, $depth + 1);
        }
        is_array($value) ? $value['changed'] = str_repeat('x', 10) : $value->{'1'} = 'one';
    } elseif ($value instanceof Base) {
        $value->next = null;
        $value->null = new stdClass();
    }
}

function properties(array $of, object $to = new stdClass()): object
{
    foreach ($of as $name => &$value) {
        $to->$name = &$value;
        unset($value);
    }
    return $to;
}

$child = new Child();
$child->next = new Child();
$child->next->next = $child;
$child->unset = 5;
$less = clone $child;
unset($less->unset, $less->float, $less->null);
$std = properties(['int' => 1, '0' => 'a name that is a number', 'list' => ['a', ['b' => 2.5], true]]);
$shared = ['in two places', $std];
$itself = new stdClass();
$itself->self = $itself;
$itself->array = $shared;
for ($long = null, $i = 0; $i < 3000; $i++) {
    $next = new Base();
    $next->next = $long;
    $long = $next;
}
for ($deep = new Base(), $i = 0; $i < 2000; $i++) {
    $deep = [$deep];
}
$holder = new Child();
$holder->null = array_map(fn($i) => ['id' => $i, 'name' => "name $i"], range(0, 499));
$two = new stdClass();
$two->a = 1;
$two->b = &$two->a;
$around = [new stdClass()];
$around[0]->around = $around;
foreach ([
    'objects' => ['stdClass' => $std, 'an empty one' => new stdClass(), 'declared properties' => new Child(),
        'no properties' => new Nothing(), 'a cycle' => $child, 'without some' => $less,
        'one object at three places' => [$std, 'k' => [$shared, $shared], $std], 'an object that contains itself' => $itself,
        'enums' => [Plain::Two, Backed::A, Backed::B, 'x' => Plain::Two], 'a list of 3,000' => $long,
        '2,000 arrays around one object' => $deep, 'one object with many rows' => $holder,
        'an internal class' => new ArrayObject([1]), 'a class with __wakeup()' => [new Wakes()],
        'an object without dynamic properties' => new Loose()],
    'serialized' => ['declared and dynamic' => properties(['dynamic' => 1], new Loose()), 'one variable at two places' => $two,
        'an array that contains itself by way of an object' => $around],
] as $form => $values) {
    foreach ($values as $what => $value) {
        $before = text($value);
        $wanted = text(unserialize(serialize($value)));
        Cache::clear();
        Cache::store('k', $value) && kept_as() === $form || print("$what: not $form\n");
        Wakes::$calls = 0;
        foreach (['auto', 'shared', 'block', 'copy', 'auto'] as $read) {
            ini_set('hone.cache_read', $read);
            for ($i = 0; $i < 2; $i++) {
                $fetched = Cache::fetch('k');
                text($fetched) === $wanted || print("$what, $read: " . text($fetched) . "\nnot\n$wanted");
                $what !== 'enums' || $fetched[1] === Backed::A || print("another case\n");
                change($fetched);
            }
            unset($fetched);
            gc_collect_cycles();
        }
        text($value) === $before || print("$what: the value was changed\n");
        Wakes::$calls === ($what === 'a class with __wakeup()' ? 10 : 0) || print("$what: " . Wakes::$calls . " calls\n");
    }
}
unset($long, $next, $deep, $around, $values, $value);

echo "Not shared:\n";
Cache::clear();
ini_set('hone.cache_read', 'auto');
Cache::store('k', [$child, $child]);
[$a, $b] = Cache::fetch('k');
[$c] = Cache::fetch('k');
echo json_encode([$a === $b, $a === $c]), "\n";
$std = new stdClass();
$std->list = ['in', 'it'];
$std->text = 'text';
Cache::store('k', $std);
foreach (['auto', 'block', 'copy'] as $read) {
    ini_set('hone.cache_read', $read);
    // These write to a table of properties that has several references, too.
    $fetched = Cache::fetch('k');
    array_walk($fetched, function (&$value) { $value = 5; });
    $fetched = Cache::fetch('k');
    array_walk_recursive($fetched, function (&$value) { $value = 6; });
    $fetched = Cache::fetch('k');
    foreach ($fetched as &$value) {
        $value = 7;
    }
    unset($value);
    $fetched = new ArrayObject(Cache::fetch('k'));
    $fetched->uasort(fn ($a, $b) => 1);
    $fetched['text'] = 8;
    echo serialize(Cache::fetch('k')), "\n";
}
ini_set('hone.cache_read', 'auto');
$std->object = new Nothing();
Cache::store('k', [$std, get_object_vars($std)]);
$fetched = Cache::fetch('k');
array_walk($fetched[0], function (&$value) { $value = 9; });
echo serialize($fetched[1]), "\n";
ini_set('hone.cache_objects', 'serialize');
Cache::store('k', [$child, $child]);
echo kept_as(), "\n";
?>
--EXPECT--
Not shared:
[true,false]
O:8:"stdClass":2:{s:4:"list";a:2:{i:0;s:2:"in";i:1;s:2:"it";}s:4:"text";s:4:"text";}
O:8:"stdClass":2:{s:4:"list";a:2:{i:0;s:2:"in";i:1;s:2:"it";}s:4:"text";s:4:"text";}
O:8:"stdClass":2:{s:4:"list";a:2:{i:0;s:2:"in";i:1;s:2:"it";}s:4:"text";s:4:"text";}
a:3:{s:4:"list";a:2:{i:0;s:2:"in";i:1;s:2:"it";}s:4:"text";s:4:"text";s:6:"object";O:7:"Nothing":0:{}}
serialized
