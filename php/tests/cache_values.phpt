--TEST--
Hone\Cache: values that can be stored, and values that are refused
--INI--
hone.cache_cli=1
--FILE--
<?php
use Hone\Cache;

enum Suit: string { case Hearts = 'H'; case Spades = 'S'; }
class Point {
    public $x = 1; protected $y = 2; private $z = 3;
    public ?Point $next = null;
    function __construct(public readonly array $list = []) {}
}

$same = new Point;
$point = new Point(['a' => 1]);
$point->next = $same;
foreach ([null, true, false, 0, PHP_INT_MIN, 0.5, -0.0, INF, '', 'x', str_repeat('long', 5000), [], [[]], [1, 2, 3],
    ['a' => ['b' => ['c' => []]]], [5 => 'sparse', -3 => 'negative', '01' => 'string'], range(1, 5000),
    array_fill_keys(range('a', 'z'), range(0, 9)), Suit::Hearts, [Suit::Spades, ['s' => Suit::Hearts]], $point, [$same, [$same]]] as $i => $value) {
    foreach (['auto', 'block', 'copy'] as $mode) {
        ini_set('hone.cache_read', $mode);
        if (!Cache::store('k', $value) || serialize(Cache::fetch('k')) !== serialize($value)) {
            echo "$mode: value $i differs\n";
        }
    }
}
ini_set('hone.cache_read', 'auto');
Cache::store('k', Suit::Hearts);
var_dump(Cache::fetch('k') === Suit::Hearts);
Cache::store('k', [$same, [$same]]);
$fetched = Cache::fetch('k');
echo json_encode([$fetched[0] === $fetched[1][0], $fetched[0] === $same]), "\n";

// References become values.
$shared = 'value';
$references = ['a' => &$shared, 'b' => &$shared, 'c' => [&$shared]];
Cache::store('k', $references);
$fetched = Cache::fetch('k');
$fetched['a'] = 'other';
echo json_encode([$fetched['b'], $fetched['c'][0]]), "\n";

// An array that was fetched is stored again.
Cache::store('again', Cache::fetch('k'));
Cache::delete('k');
var_dump(Cache::fetch('again') === ['a' => 'value', 'b' => 'value', 'c' => ['value']]);
Cache::store('part', Cache::fetch('again')['c']);
var_dump(Cache::fetch('part'));
// Inner arrays of a fetched array are immutable, too, and have addresses close to it.
$lists = [];
for ($i = 0; $i < 200; $i++) {
    // Its string is not beside it.
    $lists[] = [$i, "text $i"];
}
for ($i = 0; $i < 64; $i++) {
    Cache::store("list$i", $i < 63 ? [$i] : $lists);
    $fetched = Cache::fetch("list$i");
}
foreach ($fetched as $i => $list) {
    Cache::store('part', $list);
    if (Cache::fetch('part') !== [$i, "text $i"]) {
        echo "part $i is wrong\n";
    }
}

$loop = ['x' => 1];
$loop['self'] = &$loop;
foreach (['resource' => fopen('php://memory', 'r'), 'in an array' => [1, [STDIN]], 'closure' => fn() => 1, 'loop' => $loop] as $name => $value) {
    echo "$name: ";
    var_dump(@Cache::store('refused', $value), error_get_last()['message'] ?? null);
    error_clear_last();
}
function nested(int $depth): array
{
    for ($value = []; $depth > 1; $depth--) {
        $value = [$value];
    }
    return $value;
}
foreach ([nested(4096), nested(4097), [new Point, nested(4096)], ['deep' => nested(4097), new Point]] as $value) {
    var_dump(@Cache::store('deep', $value), error_get_last()['message'] ?? null);
    error_clear_last();
}
foreach ([[fn() => 1], (function () { yield 1; })()] as $value) {
    try {
        var_dump(Cache::store('refused', $value));
    } catch (Exception $error) {
        echo $error->getMessage(), "\n";
    }
}
var_dump(Cache::exists('refused'));
var_dump(Cache::fetch('again')['a']);
?>
--EXPECTF--
bool(true)
[true,false]
["value","value"]
bool(true)
array(1) {
  [0]=>
  string(5) "value"
}
resource: bool(false)
string(84) "Hone\Cache::store(): The value of 'refused' cannot be stored: it contains a resource"
in an array: bool(false)
string(84) "Hone\Cache::store(): The value of 'refused' cannot be stored: it contains a resource"
closure: bool(false)
string(83) "Hone\Cache::store(): The value of 'refused' cannot be stored: it contains a closure"
loop: bool(false)
string(103) "Hone\Cache::store(): The value of 'refused' cannot be stored: it contains an array that contains itself"
bool(true)
NULL
bool(false)
string(112) "Hone\Cache::store(): The value of 'deep' cannot be stored: it contains an array that is nested deeper than 4,096"
bool(true)
NULL
bool(false)
string(112) "Hone\Cache::store(): The value of 'deep' cannot be stored: it contains an array that is nested deeper than 4,096"

Warning: Hone\Cache::store(): The value of 'refused' cannot be stored: it contains a closure in %s on line %d
bool(false)
Serialization of 'Generator' is not allowed
bool(false)
string(5) "value"
