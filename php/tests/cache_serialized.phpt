--TEST--
Hone\Cache: the estimate of serialized_bytes is near strlen(serialize()) of all values
--EXTENSIONS--
hone
--INI--
hone.cache_cli=1
hone.cache_size=64M
--FILE--
<?php
use Hone\Cache;

enum Suit { case Hearts; }
class Point
{
    public $x = 1;
    protected ?array $list = [1, 'a' => 2.5];
    private $name = 'point';
}

function check(string $what, array $values, float $bound): void
{
    Cache::clear();
    if (!Cache::store_multi($values)) {
        echo "$what: not stored\n";
    }
    $real = array_sum(array_map(fn($value) => strlen(serialize($value)), $values));
    $estimate = Cache::info()['serialized_bytes'];
    $off = abs($estimate - $real) / $real;
    printf("%s: %s\n", $what, $off <= $bound ? 'near' : "$estimate, not $real");
    if (!str_contains(Cache::metrics(), "\nhone_cache_serialized_bytes{pool=\"default\"} $estimate\n")) {
        echo "metrics differ\n";
    }
}

Cache::clear();
echo Cache::info()['serialized_bytes'], "\n";
// Of few values without objects, the figure is exact.
$plain = ['null' => null, 'bools' => [true, false], 'ints' => [0, 9, 10, -1, -10, PHP_INT_MIN, PHP_INT_MAX],
    'floats' => [0.0, -0.5, 1 / 3, 1e100, NAN, INF, -INF], 'strings' => ['', 'a', str_repeat('x', 1000)],
    'keys' => ['a' => 1, -5 => ['b' => []], 100 => range(1, 12)], 'text' => 'text', 'serialized' => new ArrayObject([1])];
unset($plain['serialized']);
check('plain', $plain, 0);
check('plain object and enum', ['o' => [new Point(), Suit::Hearts, (object)['a' => 1, 'b' => [1]]]], 0);
$row = fn($i) => ['id' => $i, 'name' => "user $i", 'mail' => "u$i@example.org", 'state' => 'publish', 'score' => $i / 3];
// Beyond the bounds, elements and entries are sampled.
check('many rows', ['rows' => array_map($row, range(1, 40000))], 0.03);
mt_srand(1);
$many = [];
for ($i = 0; $i < 5000; $i++) {
    $many["k$i"] = match (mt_rand(0, 3)) {
        0 => $i,
        1 => str_repeat('s', mt_rand(0, 500)),
        2 => array_map($row, range(1, mt_rand(1, 50))),
        3 => (object)$row($i),
    };
}
check('many values', $many, 0.1);
$deep = 1;
for ($i = 0; $i < 100000; $i++) {
    $deep = [$deep];
}
Cache::clear();
Cache::store('deep', $deep);
var_dump(Cache::info()['serialized_bytes'] > 100);
?>
--EXPECT--
0
plain: near
plain object and enum: near
many rows: near
many values: near
bool(true)
