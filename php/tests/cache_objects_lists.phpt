--TEST--
Hone\Cache::load(): the lists of objects and arrays have the order in which a fetch makes them
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
    echo $name, ': ', Cache::load($file), ' ', Cache::fetch('k') === null ? 'nothing' : 'a value', "\n";
}

$marker = fn(int $number) => pack('qq', $number, 8);
// The last list of two records is that of the arrays, the inner one first.
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
?>
--CLEAN--
<?php
require __DIR__ . '/cache_snapshot.inc';
clean();
?>
--EXPECTF--
as saved: 1 a value
an array before one in it: 
Warning: Hone\Cache::load(): %s: entry 0: an array with objects is not in its place in %s on line %d
0 nothing
