--TEST--
Values in the cold form: while memory is short, arrays and objects are stored so
--INI--
hone.cache_cli=1
hone.cache_size=2M
hone.cache_block_bytes=32M
--FILE--
<?php
use Hone\Cache;

class Point
{
    public $x = 1;
    protected array $more = ['a', ['b' => 2.5]];
    public ?Point $other = null;
    function __construct(public int $n) {}
    function __wakeup() { $this->x++; }
}
$rows = fn(int $i) => array_map(fn($n) => ['id' => $n, 'name' => "name of $n", 'price' => $n * 1.5, 'on' => true, 'tags' => ['a', "t$i"]],
    range($i, $i + 10));
function check(string $what, bool $good): void
{
    if (!$good) {
        echo "wrong: $what\n";
    }
}
$cold = fn() => Cache::info()['cold_entries'];

// While memory is not short, all values are warm.
Cache::store('warm', $rows(0));
check('warm', $cold() === 0 && Cache::info()['packed'] === 0);
for ($n = 0; Cache::info()['packed'] === 0; $n++) {
    Cache::store("fill$n", $rows($n));
}

// Now it is, and old values were packed.
check('packed', $cold() > 0 && Cache::info()['evictions'] === 0 && Cache::fetch('fill0') === $rows(0));
$before = $cold();
Cache::store('rows', $rows(7));
check('cold', $cold() === $before + 1);
check('the value', Cache::fetch('rows') === $rows(7));
$used = Cache::info()['block_bytes_used'];
$hits = Cache::info()['cold_hits'];
$first = Cache::fetch('rows');
check('once a request', Cache::info()['block_bytes_used'] === $used && Cache::info()['cold_hits'] === $hits + 1);
$first[0]['id'] = 'changed';
check('unchanged', Cache::fetch('rows') === $rows(7));
check('a field', Cache::fetch_field('rows', [3, 'name']) === 'name of 10' && Cache::fetch_field('rows', [3, 'tags']) === ['a', 't7']
    && Cache::fetch_field('rows', [3, 'none']) === null);
check('size', iterator_to_array(Cache::entries('rows'))['rows']['size'] < 1000);
check('type', iterator_to_array(Cache::entries('rows'))['rows']['type'] === 'array');
check('apcu', apcu_fetch('rows') === $rows(7) && iterator_to_array(new APCUIterator('/^rows$/'))['rows']['value'] === $rows(7));
check('stored again', Cache::store('again', Cache::fetch('rows')) && Cache::fetch('again') === $rows(7));

// PHP looks for names with the hash that a string has. A file is included, since eval()
// and this file compile other instructions.
Cache::store('names', ['strrev', 'a key of a name']);
[$function, $key] = Cache::fetch('names');
define('COLD_FUNCTION', $function);
define('COLD_KEY', $key);
file_put_contents($file = __DIR__ . '/cache_cold.tmp', '<?php
    $t = ["a key of a name" => 1];
    return [(COLD_FUNCTION)("ab"), $t[COLD_KEY], isset($t[COLD_KEY])];');
check('names', (include $file) === ['ba', 1, true]);
unlink($file);

// These have one form.
$before = $cold();
foreach (['int' => 1, 'float' => 0.5, 'text' => str_repeat('x', 2000), 'true' => true, 'null' => null] as $key => $value) {
    Cache::store($key, $value);
    check($key, Cache::fetch($key) === $value);
}
check('others are warm', $cold() === $before);

// With objects, tags and lifetimes.
$o = new Point(5);
$o->other = new Point(6);
$value = ['o' => $o, 'again' => $o, 'at' => new DateTimeImmutable('2026-11-29 12:00 Europe/Berlin'), 'rows' => $rows(2)];
Cache::store('objects', $value);
check('objects are cold', $cold() === $before + 1);
check('objects', serialize(Cache::fetch('objects')) === serialize(unserialize(serialize($value))));
check('one object', ($v = Cache::fetch('objects'))['o'] === $v['again'] && $v['o'] !== Cache::fetch('objects')['o']);
check('their type', iterator_to_array(Cache::entries('objects'))['objects']['type'] === 'objects');
check('a property', Cache::fetch_field('objects', ['o', 'n']) === 5);
Cache::store('tagged', $rows(3), tags: ['t']);
Cache::store('short', $rows(3), 1000);
check('tagged', Cache::fetch('tagged') === $rows(3) && Cache::fetch('short') === $rows(3));
Cache::invalidate_tag('t');
check('invalid', Cache::fetch('tagged') === null && !Cache::exists('tagged'));
check('remembered', Cache::remember('made', 0, fn() => $rows(4)) === $rows(4) && Cache::remember('made', 0, fn() => 0) === $rows(4));
check('replaced', Cache::replace('made', $rows(5)) && !Cache::add('made', 1) && Cache::fetch('made') === $rows(5));
check('no number', Cache::inc('made') === false);
check('deleted', Cache::delete('made') && Cache::fetch('made') === null);

// With and without copies that last until the end of the request. The keys are new, since
// a copy that the request has would be found. The values stay while others are made.
$objects = fn(int $n) => ['o' => new Point($n), 'rows' => $rows($n)];
foreach (['auto', 'block', 'copy'] as $read) {
    ini_set('hone.cache_read', $read);
    foreach (['32M', '0'] as $most) {
        ini_set('hone.cache_block_bytes', $most);
        $got = $fields = [];
        $before = Cache::info();
        for ($n = 0; $n < 3; $n++) {
            Cache::store("rows $read $most $n", $rows($n));
            Cache::store("objects $read $most $n", $objects($n));
            Cache::store("field $read $most $n", $rows($n));
            $got[] = Cache::fetch("rows $read $most $n");
            $got[] = serialize($held[] = Cache::fetch("objects $read $most $n"));
            $fields[] = Cache::fetch_field("field $read $most $n", [1, 'tags']);
        }
        for ($n = 0; $n < 3; $n++) {
            $wanted = serialize(unserialize(serialize($objects($n))));
            check("$read $most $n", $got[2 * $n] === $rows($n) && $got[2 * $n + 1] === $wanted && serialize($held[$n]) === $wanted);
            check("field $read $most $n", $fields[$n] === ['a', "t$n"]);
        }
        $held = [];
        $now = Cache::info();
        check("cold $read $most", $now['cold_hits'] === $before['cold_hits'] + 9);
        check("kept $read $most", ($now['block_bytes_used'] > $before['block_bytes_used']) === ($read !== 'copy' && $most !== '0'));
    }
}
ini_set('hone.cache_read', 'auto');
ini_set('hone.cache_block_bytes', '32M');

// Nobody's figures disagree.
$info = Cache::info();
check('figures', $info['cold_bytes'] > 0 && $info['cold_bytes'] < $info['used'] && $info['cold_hits'] < $info['hits'] && $info['packed'] >= $info['cold_entries']);
check('metrics', str_contains(Cache::metrics(), "\nhone_cache_cold_entries{pool=\"default\"} {$info['cold_entries']}\n"));

// What is stored stays right through many evictions, and most of it stays.
for ($i = 0; $i < 5000; $i++) {
    $key = 'z' . ($i * 7919 % 1500);
    $value = Cache::fetch($key);
    if ($value === null) {
        check('stored', Cache::store($key, $rows((int)substr($key, 1))));
    } else {
        check('many', $value === $rows((int)substr($key, 1)));
    }
}
$kept = count(array_filter(range(0, 1499), fn($i) => Cache::exists("z$i")));
check("kept $kept", $kept > 1000);

// A file has the cold form of all values; a cache that is too small for warm ones
// gets cold ones.
$file = __DIR__ . '/cache_cold.tmp';
$entries = Cache::info()['entries'];
check('saved', Cache::save($file));
Cache::clear();
$loaded = Cache::load($file);
check("loaded $loaded of $entries", $loaded > $entries * 0.9 && $cold() > $loaded * 0.8);
check('after a load', Cache::fetch('z77') === $rows(77) && Cache::fetch('text') === ($v = Cache::fetch('text')) && Cache::fetch('int') === 1);
unlink($file);
Cache::store('full', range(1, 9));

// Off: as before.
ini_set('hone.cache_cold', 'off');
$before = Cache::info()['packed'];
Cache::store('rows', $rows(7));
check('off', Cache::info()['packed'] === $before && Cache::fetch('rows') === $rows(7));
var_dump(ini_set('hone.cache_cold', 'on'), ini_get('hone.cache_cold'));

// A cleared cache has memory.
Cache::clear();
ini_set('hone.cache_cold', 'auto');
Cache::store('a', 1);
Cache::store('rows', $rows(7));
check('cleared', $cold() === 0 && Cache::info()['cold_hits'] === 0);
?>
--EXPECTF--

Warning: hone.cache_cold: "on" is not auto or off; the setting stays off in %s on line %d
bool(false)
string(3) "off"
