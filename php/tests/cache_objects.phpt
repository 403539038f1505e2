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
    public readonly string $read;
    public static $static = 1;
    public float $float = 1.5;
    public iterable|bool $union = false;

    function __construct()
    {
        $this->read = 'only';
    }
}
#[AllowDynamicProperties]
class Loose
{
    public $declared = 1;
}
class Nothing
{
}
class Wakes
{
    public $x = 1;
    public function __wakeup()
    {
        echo "  __wakeup\n";
    }
}
enum Plain
{
    case One;
    case Two;
}
enum Backed: string
{
    case A = 'a';
    const B = self::A;
}

function kept_as(): string
{
    foreach (Cache::entries() as $entry) {
        return $entry['type'];
    }
}

/** Everything but the numbers of objects. */
function text(mixed $value): string
{
    if (strlen(serialize($value)) > 20000) {
        // var_dump() of deep values is quadratic.
        return serialize($value);
    }
    ob_start();
    var_dump($value);
    return preg_replace('/#\d+/', '#', ob_get_clean()) . serialize($value);
}

function check(string $what, mixed $value): void
{
    $before = text($value);
    $wanted = text(unserialize(serialize($value)));
    Cache::clear();
    if (!Cache::store('k', $value)) {
        echo "$what: not stored\n";
        return;
    }
    $kept = kept_as();
    foreach (['auto', 'shared', 'block', 'copy', 'auto'] as $read) {
        ini_set('hone.cache_read', $read);
        for ($i = 0; $i < 2; $i++) {
            $fetched = Cache::fetch('k');
            if (text($fetched) !== $wanted) {
                echo "$what, $read: ", text($fetched), "\nnot\n", $wanted;
            }
            // The program changes its own copy.
            change($fetched);
        }
        unset($fetched);
        gc_collect_cycles();
    }
    if (text($value) !== $before) {
        echo "$what: the value was changed\n";
    }
    echo "$what: $kept\n";
}

function change(mixed &$value, int $depth = 0): void
{
    if ($depth > 2) {
        return;
    }
    if (is_array($value)) {
        foreach ($value as &$each) {
            change($each, $depth + 1);
        }
        $value['changed'] = str_repeat('x', 10);
    } elseif ($value instanceof stdClass) {
        foreach ($value as $name => $each) {
            change($value->$name, $depth + 1);
        }
        $value->changed = [1];
        $value->{'1'} = 'one';
        unset($value->changed);
    } elseif ($value instanceof Base) {
        $value->next = null;
        $value->null = new stdClass();
    }
}

$std = new stdClass();
$std->int = 1;
$std->{'0'} = 'a name that is a number';
$std->list = ['a', ['b' => 2.5], true];
check('stdClass', $std);
check('an empty one', new stdClass());
check('declared properties', new Child());
check('no properties', new Nothing());
$child = new Child();
$child->next = new Child();
$child->next->next = $child;
$child->unset = 5;
check('a cycle', $child);
unset($child->unset, $child->float, $child->null);
check('without some', $child);
$shared = ['in two places', $std];
check('one object at three places', [$std, 'k' => [$shared, $shared], $std]);
$std->self = $std;
$std->array = $shared;
check('an object that contains itself', $std);
check('enums', [Plain::Two, Backed::A, Backed::B, 'x' => Plain::Two]);
if (Cache::fetch('k')[1] !== Backed::A) {
    echo "another case\n";
}
$long = null;
for ($i = 0; $i < 3000; $i++) {
    $next = new Base();
    $next->next = $long;
    $long = $next;
}
check('a list of 3,000', $long);
$next = new Base();
for ($i = 0; $i < 2000; $i++) {
    $next = [$next];
}
check('2,000 arrays around one object', $next);
$rows = [];
for ($i = 0; $i < 500; $i++) {
    $rows[] = ['id' => $i, 'name' => "name $i"];
}
$holder = new Child();
$holder->null = $rows;
check('one object with many rows', $holder);

check('an internal class', new ArrayObject([1]));
check('a class with __wakeup()', [new Wakes()]);

echo "By serialize():\n";
$loose = new Loose();
check('an object without dynamic properties', $loose);
$loose->dynamic = 1;
check('declared and dynamic', $loose);
$one = 1;
$std = new stdClass();
$std->a = &$one;
$std->b = &$one;
check('one variable at two places', $std);
$std = new stdClass();
$array = [$std];
$std->around = $array;
check('an array that contains itself by way of an object', $array);
unset($long, $next, $std, $array, $shared);

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
stdClass: objects
an empty one: objects
declared properties: objects
no properties: objects
a cycle: objects
without some: objects
one object at three places: objects
an object that contains itself: objects
enums: objects
a list of 3,000: objects
2,000 arrays around one object: objects
one object with many rows: objects
an internal class: objects
  __wakeup
  __wakeup
  __wakeup
  __wakeup
  __wakeup
  __wakeup
  __wakeup
  __wakeup
  __wakeup
  __wakeup
  __wakeup
a class with __wakeup(): objects
By serialize():
an object without dynamic properties: objects
declared and dynamic: serialized
one variable at two places: serialized
an array that contains itself by way of an object: serialized
Not shared:
[true,false]
O:8:"stdClass":2:{s:4:"list";a:2:{i:0;s:2:"in";i:1;s:2:"it";}s:4:"text";s:4:"text";}
O:8:"stdClass":2:{s:4:"list";a:2:{i:0;s:2:"in";i:1;s:2:"it";}s:4:"text";s:4:"text";}
O:8:"stdClass":2:{s:4:"list";a:2:{i:0;s:2:"in";i:1;s:2:"it";}s:4:"text";s:4:"text";}
a:3:{s:4:"list";a:2:{i:0;s:2:"in";i:1;s:2:"it";}s:4:"text";s:4:"text";s:6:"object";O:7:"Nothing":0:{}}
serialized
