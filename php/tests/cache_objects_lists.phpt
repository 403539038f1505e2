--TEST--
Hone\Cache::load(): the lists of objects and arrays must match the value, in the order of a fetch
--EXTENSIONS--
hone
--INI--
hone.cache_cli=1
hone.cache_size=2M
--FILE--
<?php
use Hone\Cache;
require __DIR__ . '/cache_snapshot.inc';

function load(string $name, string $bytes): void
{
    global $file;
    write($bytes);
    Cache::clear();
    echo $name, ':';
    $loaded = Cache::load($file);
    echo ' ', $loaded, ' ', Cache::fetch('k') === null ? 'nothing' : 'a value', "\n";
}

$marker = fn(int $number) => pack('qq', $number, 8);
// The last list of two records is the list of the arrays, the inner array first.
$pattern = '/(.{7}\0)\x07\0{7}(.{7}\0)\x07\0{7}/s';

Cache::store('k', [[new stdClass()]]);
Cache::save($file);
$good = file_get_contents($file);
load('as saved', $good);
$swapped = strtr($good, [$marker(-1) => $marker(-2), $marker(-2) => $marker(-1)]);
preg_match_all($pattern, $good, $found, PREG_OFFSET_CAPTURE);
[$inner, $at] = end($found[1]);
$outer = end($found[2])[0];
$swapped = substr_replace($swapped, $outer . pack('q', 7) . $inner . pack('q', 7), $at, 32);
load('an array before one in it', $swapped);

$number = fn(string $bytes, int $at, string $as = 'q') => unpack($as, $bytes, $at)[1];
$round = fn(int $size) => ($size + 7) & -8;
$entry = 64 + $round(4 * $number($good, 40, 'V'));
$data = $entry + $round(32 + strlen('k'));
// Pointers assume that the data is at address 64. The elements of a list, 16 bytes
// each, follow after 64 bytes.
$list = fn(string $bytes, int $of) => $number($bytes, $data + 64 + 16 * $of) - 64 + $data;
// One more element at the end of a list. All later data moves.
$add = function (string $bytes, int $list, int $record) use ($number, $entry, $data): string {
    $n = $number($bytes, $list + 24, 'V');
    $end = $list + 64 + 16 * $n;
    for ($at = $data; $at < strlen($bytes); $at += 8) {
        $pointer = $number($bytes, $at);
        if ($pointer >= $end - $data + 64 && $pointer < strlen($bytes) - $data + 64) {
            $bytes = substr_replace($bytes, pack('q', $pointer + 16), $at, 8);
        }
    }
    $bytes = substr_replace($bytes, pack('qq', $record, 7), $end, 0);
    $bytes = substr_replace($bytes, pack('V', strlen($bytes) - $data), $entry + 16, 4);
    $bytes = substr_replace($bytes, pack('VV', $n + 1, $n + 1), $list + 24, 8);
    return substr_replace($bytes, pack('q', $n + 1), $list + 40, 8);
};

$twice = new stdClass();
Cache::store('k', [[$twice], $twice]);
Cache::save($file);
$good = file_get_contents($file);
load('an object at two places', $good);
[$objects, $arrays] = [$list($good, 1), $list($good, 2)];
$object = $number($good, $objects + 64);
[$inner, $outer] = [$number($good, $arrays + 64), $number($good, $arrays + 80)];
load('an object that is listed twice', $add($good, $objects, $object));
load('an array in the list of objects', $add($good, $objects, $inner));
load('the inner array listed twice', $add($good, $arrays, $inner));
load('the outer array listed twice', $add($good, $arrays, $outer));
load('an object in the list of arrays', $add($good, $arrays, $object));

class Wakes
{
    public $awake = 'no';

    function __wakeup()
    {
        $this->awake = 'yes';
    }
}
Cache::store('k', [new Wakes(), new Wakes(), new stdClass()]);
Cache::save($file);
$good = file_get_contents($file);
load('two calls', $good);
$calls = $list($good, 5) + 64;
foreach ([[1, 0], [0, 0], [0, 2], [0, -1], [0, 3]] as $numbers) {
    load('calls of ' . implode(' and ', $numbers), substr_replace($good,
        pack('qqq', $numbers[0], 4, $numbers[1]), $calls, 24));
}
// The shape is the first element of a node, and the kind its third one.
$node = $number($good, $list($good, 1) + 64) - 64 + $data;
$shape = $number($good, $node + 64) - 64 + $data;
foreach ([0, 1, 2, 3, 5] as $kind) {
    load("kind $kind", substr_replace($good, pack('q', $kind), $shape + 64 + 2 * 16, 8));
}

// An empty array counts, and the dynamic properties of an object do not.
Cache::store('k', [(object)['a' => new Wakes(), 'b' => [[[]]]]]);
Cache::save($file);
$good = file_get_contents($file);
$depth = $number($good, $data + 64 + 4 * 16);
foreach ([$depth, $depth - 1, $depth + 1, 1] as $other) {
    load("depth $other", substr_replace($good, pack('q', $other), $data + 64 + 4 * 16, 8));
}

enum Backed: int
{
    case One = 1;
}
Cache::store('k', [Backed::One, new stdClass()]);
Cache::save($file);
$good = file_get_contents($file);
load('a case', $good);
$node = $number($good, $list($good, 1) + 64) - 64 + $data;
load('a case with an object as its value', substr_replace($good, $marker(1), $node + 64 + 3 * 16, 16));
?>
--CLEAN--
<?php
require __DIR__ . '/cache_snapshot.inc';
clean();
?>
--EXPECTF--
as saved: 1 a value
an array before one in it:
Warning: Hone\Cache::load(): %s: entry 0: the list of arrays with objects has a wrong order in %s on line %d
 0 nothing
an object at two places: 1 a value
an object that is listed twice:
Warning: Hone\Cache::load(): %s: entry 0: a list has an element that is not in the value in %s on line %d
 0 nothing
an array in the list of objects:
Warning: Hone\Cache::load(): %s: entry 0: a list has an element that is not in the value in %s on line %d
 0 nothing
the inner array listed twice:
Warning: Hone\Cache::load(): %s: entry 0: a list has an element that is not in the value in %s on line %d
 0 nothing
the outer array listed twice:
Warning: Hone\Cache::load(): %s: entry 0: a list has an element that is not in the value in %s on line %d
 0 nothing
an object in the list of arrays:
Warning: Hone\Cache::load(): %s: entry 0: a list has an element that is not in the value in %s on line %d
 0 nothing
two calls: 1 a value
calls of 1 and 0:
Warning: Hone\Cache::load(): %s: entry 0: the list of calls has another object in %s on line %d
 0 nothing
calls of 0 and 0:
Warning: Hone\Cache::load(): %s: entry 0: the list of calls has another object in %s on line %d
 0 nothing
calls of 0 and 2:
Warning: Hone\Cache::load(): %s: entry 0: the list of calls has another object in %s on line %d
 0 nothing
calls of 0 and -1:
Warning: Hone\Cache::load(): %s: entry 0: the list of calls has another object in %s on line %d
 0 nothing
calls of 0 and 3:
Warning: Hone\Cache::load(): %s: entry 0: the list of calls has another object in %s on line %d
 0 nothing
kind 0:
Warning: Hone\Cache::load(): %s: entry 0: a list has an element that is not in the value in %s on line %d
 0 nothing
kind 1:
Warning: Hone\Cache::load(): %s: entry 0: a list has an element that is not in the value in %s on line %d
 0 nothing
kind 2:
Warning: Hone\Cache::load(): %s: entry 0: an object has no class in %s on line %d
 0 nothing
kind 3:
Warning: Hone\Cache::load(): %s: entry 0: an object has no class in %s on line %d
 0 nothing
kind 5:
Warning: Hone\Cache::load(): %s: entry 0: an object has no class in %s on line %d
 0 nothing
depth 5: 1 a value
depth 4:
Warning: Hone\Cache::load(): %s: entry 0: the depth of the value is wrong in %s on line %d
 0 nothing
depth 6:
Warning: Hone\Cache::load(): %s: entry 0: the depth of the value is wrong in %s on line %d
 0 nothing
depth 1:
Warning: Hone\Cache::load(): %s: entry 0: the depth of the value is wrong in %s on line %d
 0 nothing
a case: 1 a value
a case with an object as its value:
Warning: Hone\Cache::load(): %s: entry 0: an object has wrong properties in %s on line %d
 0 nothing
