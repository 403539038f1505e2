--TEST--
Hone\Cache: keys one by one, several at a time, and by their prefix; entries
--INI--
hone.cache_cli=1
--FILE--
<?php
use Hone\Cache;

var_dump(Cache::enabled());
echo json_encode([Cache::fetch('k'), Cache::fetch('k', 'default'), Cache::fetch('k', found: $found), $found]), "\n";
var_dump(Cache::store('k', ['a' => [1, 2.5, null, true, 'text'], 7 => []]));
echo json_encode([Cache::fetch('k', null, $found) === ['a' => [1, 2.5, null, true, 'text'], 7 => []], $found]), "\n";

// A change of a fetched value makes a copy.
$copy = Cache::fetch('k');
$copy['a'][] = 'more';
$copy['new'] = &$copy['a'][0];
$copy['new'] = 'changed';
unset($copy[7]);
var_dump(Cache::fetch('k') === ['a' => [1, 2.5, null, true, 'text'], 7 => []]);
foreach (Cache::fetch('k') as $key => &$element) {
    $element = $key;
}
unset($element);
var_dump(count(Cache::fetch('k')['a']));

// A fetched value stays valid while its key is overwritten and deleted.
$old = Cache::fetch('k');
for ($i = 0; $i < 1000; $i++) {
    Cache::store('k', ['other' => str_repeat("x$i", 100)]);
}
Cache::delete('k');
var_dump($old['a'][4]);

echo json_encode([Cache::exists('k'), Cache::delete('k')]), "\n";
Cache::store('null', null);
echo json_encode([Cache::exists('null'), Cache::fetch('null', 'default', $found), $found]), "\n";
echo json_encode([Cache::store('', 'empty key'), Cache::fetch('')]), "\n";
echo json_encode([Cache::store("a\0b", 1), Cache::fetch("a\0b"), Cache::fetch("a\0c"), Cache::fetch('a')]), "\n";
echo json_encode([Cache::store(12, 'int key'), Cache::fetch('12')]), "\n";
echo json_encode([Cache::clear(), Cache::exists(''), Cache::fetch("a\0b")]), "\n";
echo json_encode([@Cache::store(str_repeat('k', 65536), 1), error_get_last()['message']]), "\n";

// Fetch_multi, store_multi, delete_multi.
Cache::clear();
var_dump(Cache::store_multi(['a' => 1, 'b' => [2], 12 => 'twelve', 'null' => null]));
echo json_encode(Cache::fetch_multi(['b', 'absent', 'a', 12, '12', 'null'])), "\n";
$name = 'a';
echo json_encode([Cache::fetch_multi([&$name]), Cache::fetch_multi([])]), "\n";
echo json_encode([Cache::delete_multi(['a', 'absent', 12, 'a']), Cache::exists('12'), Cache::exists('b')]), "\n";
var_dump(Cache::store_multi(['good' => 1, 'bad' => fopen('php://memory', 'r'), 'after' => 2]));
echo json_encode(Cache::fetch_multi(['good', 'bad', 'after'])), "\n";

// Delete_prefix, entries.
Cache::clear();
$begin = time();
for ($i = 0; $i < 5000; $i++) {
    Cache::store("a.$i", $i);
    Cache::store("b.$i", "text $i");
}
Cache::store('long', str_repeat('x', 100000), 100, ['tag', 'other']);
Cache::store('object', new Exception);
$seen = [];
foreach (Cache::entries() as $key => $entry) {
    $seen[$key] = ($seen[$key] ?? 0) + 1;
}
echo json_encode([count($seen), max($seen)]), "\n";
echo json_encode([iterator_count(Cache::entries('b.')), iterator_count(Cache::entries('b.49')), iterator_count(Cache::entries('none'))]), "\n";
foreach (['long', 'object', 'a.1'] as $prefix) {
    $entry = [...Cache::entries($prefix)][$prefix] ?? null;
    echo $prefix, ': ', $entry['type'], ', ', $entry['size'] >= 64 && $entry['size'] % 64 === 0 ? 'good' : $entry['size'], ', ',
        $entry['created'] >= $begin - 2 && $entry['created'] <= time() + 2 ? 'now' : $entry['created'], ', ',
        $entry['expires'] === 0 ? 'never' : $entry['expires'] - $entry['created'], ', ', $entry['tags'], "\n";
}
echo json_encode([Cache::delete_prefix('a.'), Cache::delete_prefix('a.'), Cache::exists('a.1'), Cache::exists('b.1')]), "\n";

// A key is deleted, and others are added, while the keys are walked.
foreach (Cache::entries('b.') as $key => $entry) {
    Cache::delete($key);
    Cache::store("c.$key", 1);
}
echo json_encode([iterator_count(Cache::entries('b.')), iterator_count(Cache::entries('c.')) === 5000]), "\n";
echo json_encode([Cache::delete_prefix(''), iterator_count(Cache::entries())]), "\n";

$entries = Cache::entries();
echo json_encode([$entries->valid(), $entries->key(), $entries->current()]), "\n";
$entries->next();
Cache::store('k', 1);
$entries->rewind();
echo json_encode([$entries->key(), $entries->key()]), "\n";
$entries->next();
var_dump($entries->valid());
?>
--EXPECTF--
bool(true)
[null,"default",null,false]
bool(true)
[true,true]
bool(true)
int(5)
string(4) "text"
[false,false]
[true,null,true]
[true,"empty key"]
[true,1,null,null]
[true,"int key"]
[true,false,null]
[false,"Hone\\Cache::store(): A key of the shared cache is limited to 65535 bytes: 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk...' has 65536"]
bool(true)
{"b":[2],"a":1,"12":"twelve","null":null}
[{"a":1},[]]
[2,false,true]

Warning: Hone\Cache::store_multi(): The value of 'bad' cannot be stored: it contains a resource in %s on line %d
bool(false)
{"good":1,"after":2}
[10002,1]
[5000,111,0]
long: string, good, now, 100, 2
object: serialized, good, now, never, 0
a.1: int, good, now, never, 0
[5000,0,false,true]
[0,true]
[5002,0]
[false,null,null]
["k","k"]
bool(false)
