--TEST--
Hone\Cache: fetch_field reads one element of a value
--INI--
hone.cache_cli=1
hone.cache_size=1M
--FILE--
<?php
use Hone\Cache;

$value = ['a' => ['b' => ['c' => 'deep', 'n' => null]], 'a.b' => 'dotted', 12 => 'number', '' => 'empty', 'list' => [10, 20, 30]];
$object = $value + ['object' => new ArrayObject([1])];
// What differs from the first time is printed.
function again($what, $first)
{
    $said = ob_get_clean();
    if ($said !== $first) {
        echo "$what\n$said";
    }
    return $first ?? $said;
}
$first = null;
foreach (['auto', 'block', 'copy'] as $mode) {
    ini_set('hone.cache_read', $mode);
    foreach (['plain' => $value, 'serialized' => $object] as $key => $stored) {
        Cache::store($key, $stored);
        ob_start();
        foreach (['a.b', 12, '12', '', 'list', ['a', 'b', 'c'], ['a', 'b', 'n'], ['list', 1], ['list', '1'], ['list', 3],
            ['a', 'b', 'c', 'd'], ['absent', 'b'], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]] as $path) {
            echo json_encode($path), ' ', json_encode(Cache::fetch_field($key, $path, 'default')), "\n";
        }
        var_dump(Cache::fetch_field($key, []) == $stored);
        $first = again("$mode $key", $first);
    }
}
var_dump(Cache::fetch_field('absent', 'a'));
Cache::store('string', 'text');
var_dump(Cache::fetch_field('string', 0, 'default'));
$list = Cache::fetch_field('plain', 'list');
$list[] = 40;
echo json_encode([count($list), count(Cache::fetch_field('plain', 'list'))]), "\n";

class Inner
{
    public $open = ['x' => 'of the inner one'], $unset;
    protected $guarded = 1;
    private $hidden = 2;
    public static $static = 3;

    function __get($name) { return 'by __get()'; }
}
enum Level: string
{
    case High = 'high';
}
$inner = new Inner();
unset($inner->unset);
$inner = (object)['in' => $inner, 5 => 'five', 'list' => [new Inner(), 1], 'enum' => Level::High, 'date' => new DateTimeZone('UTC')];
$first = null;
foreach (['auto', 'block', 'copy'] as $mode) {
    ini_set('hone.cache_read', $mode);
    Cache::store('object', ['object' => $inner]);
    ob_start();
    foreach ([['object', 'in', 'open', 'x'], ['object', 5], ['object', '5'], ['object', 'list', 0, 'open'], ['object', 'list', 1],
        ['object', 'enum', 'value'], ['object', 'in', 'guarded'], ['object', 'in', 'hidden'], ['object', 'in', 'static'],
        ['object', 'in', "\0*\0guarded"], ['object', 'in', 'unset'], ['object', 'in', 'absent'], ['object', 'date', 'timezone']] as $path) {
        echo json_encode($path), ' ', json_encode(Cache::fetch_field('object', $path, 'default')), "\n";
    }
    var_dump(get_class(Cache::fetch_field('object', ['object', 'in'])));
    $first = again($mode, $first);
}

// Fetch_field() uses the path as it was passed, also if __wakeup() changes it by reference.
Cache::clear();
class Changes
{
    public function __wakeup()
    {
        $GLOBALS['part'] = 7;
        $GLOBALS['another'] = str_repeat('zq', 9);
    }
}

$part = str_repeat('x', 18);
Cache::store('key', [$part => 5, 'changes' => new Changes]);
echo json_encode([Cache::fetch_field('key', [&$part]), $part]), "\n";
$part = str_repeat('x', 18);
try {
    Cache::fetch_field('key', [$part, 1.5]);
} catch (TypeError $error) {
    echo $error->getMessage(), "\n";
}

// Fields stay the same while other values take the memory of their values.
// These have the same size, and are not cold.
ini_set('hone.cache_cold', 'off');
$first = ['text' => str_repeat('x', 100), 'list' => [1, 2, 3]];
foreach (['block', 'copy', 'auto'] as $mode) {
    ini_set('hone.cache_read', $mode);
    Cache::clear();
    if ($mode === 'auto') {
        // Until this request is old, its slot is closed, and it reads block copies.
        ini_set('hone.cache_shared_seconds', '0');
        $used = Cache::info()['block_bytes_used'];
        while (Cache::info()['block_bytes_used'] === $used) {
            Cache::store('array', [1, 2, 3]);
            Cache::fetch('array');
            usleep(1000);
        }
    }
    for ($fields = [], $i = 0; $i < 20; $i++) {
        Cache::store("gone $i", ['a' => $first, 'more' => range(1, 2000)]);
        $fields[] = Cache::fetch_field("gone $i", 'a');
        Cache::delete("gone $i");
    }
    for ($i = 0; $i < 300; $i++) {
        Cache::store("other $i", [str_repeat(chr(65 + $i % 26), 100), range($i, $i + 2000)]);
    }
    foreach ($fields as $field) {
        if ($field !== $first) {
            echo $mode, ' ', json_encode($field), "\n";
        }
    }
}
?>
--EXPECT--
auto plain
"a.b" "dotted"
12 "number"
"12" "number"
"" "empty"
"list" [10,20,30]
["a","b","c"] "deep"
["a","b","n"] null
["list",1] 20
["list","1"] 20
["list",3] "default"
["a","b","c","d"] "default"
["absent","b"] "default"
[1,2,3,4,5,6,7,8,9,10] "default"
bool(true)
NULL
string(7) "default"
[4,3]
auto
["object","in","open","x"] "of the inner one"
["object",5] "five"
["object","5"] "five"
["object","list",0,"open"] {"x":"of the inner one"}
["object","list",1] 1
["object","enum","value"] "high"
["object","in","guarded"] "default"
["object","in","hidden"] "default"
["object","in","static"] "default"
["object","in","\u0000*\u0000guarded"] "default"
["object","in","unset"] null
["object","in","absent"] "default"
["object","date","timezone"] "default"
string(5) "Inner"
[5,7]
Hone\Cache::fetch_field(): Argument #2 ($path) must have only strings and ints
