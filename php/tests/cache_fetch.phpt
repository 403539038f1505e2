--TEST--
Hone\Cache: keys one by one, several at a time, and by their prefix; entries
--EXTENSIONS--
hone
--INI--
hone.cache_cli=1
--FILE--
<?php
use Hone\Cache;

var_dump(Cache::enabled());
var_dump(Cache::fetch('k'), Cache::fetch('k', 'default'), Cache::fetch('k', found: $found), $found);
var_dump(Cache::store('k', ['a' => [1, 2.5, null, true, 'text'], 7 => []]));
var_dump(Cache::fetch('k', null, $found) === ['a' => [1, 2.5, null, true, 'text'], 7 => []], $found);

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

var_dump(Cache::exists('k'), Cache::delete('k'));
Cache::store('null', null);
var_dump(Cache::exists('null'), Cache::fetch('null', 'default', $found), $found);
var_dump(Cache::store('', 'empty key'), Cache::fetch(''));
var_dump(Cache::store("a\0b", 1), Cache::fetch("a\0b"), Cache::fetch("a\0c"), Cache::fetch('a'));
var_dump(Cache::store(12, 'int key'), Cache::fetch('12'));
var_dump(Cache::clear(), Cache::exists(''), Cache::fetch("a\0b"));
var_dump(@Cache::store(str_repeat('k', 65536), 1), error_get_last()['message']);

// Fetch_multi, store_multi, delete_multi.
Cache::clear();
var_dump(Cache::store_multi(['a' => 1, 'b' => [2], 12 => 'twelve', 'null' => null]));
var_dump(Cache::fetch_multi(['b', 'absent', 'a', 12, '12', 'null']));
$name = 'a';
var_dump(Cache::fetch_multi([&$name]), Cache::fetch_multi([]));
var_dump(Cache::delete_multi(['a', 'absent', 12, 'a']), Cache::exists('12'), Cache::exists('b'));
var_dump(Cache::store_multi(['good' => 1, 'bad' => fopen('php://memory', 'r'), 'after' => 2]));
var_dump(Cache::fetch_multi(['good', 'bad', 'after']));

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
var_dump(count($seen), max($seen));
var_dump(iterator_count(Cache::entries('b.')), iterator_count(Cache::entries('b.49')), iterator_count(Cache::entries('none')));
foreach (['long', 'object', 'a.1'] as $prefix) {
    $entry = [...Cache::entries($prefix)][$prefix] ?? null;
    echo $prefix, ': ', $entry['type'], ', ', $entry['size'] >= 64 && $entry['size'] % 64 === 0 ? 'good' : $entry['size'], ', ',
        $entry['created'] >= $begin - 2 && $entry['created'] <= time() + 2 ? 'now' : $entry['created'], ', ',
        $entry['expires'] === 0 ? 'never' : $entry['expires'] - $entry['created'], ', ', $entry['tags'], "\n";
}
var_dump(Cache::delete_prefix('a.'), Cache::delete_prefix('a.'), Cache::exists('a.1'), Cache::exists('b.1'));

// A key is deleted, and others are added, while the keys are walked.
foreach (Cache::entries('b.') as $key => $entry) {
    Cache::delete($key);
    Cache::store("c.$key", 1);
}
var_dump(iterator_count(Cache::entries('b.')), iterator_count(Cache::entries('c.')) === 5000);
var_dump(Cache::delete_prefix(''), iterator_count(Cache::entries()));

$entries = Cache::entries();
var_dump($entries->valid(), $entries->key(), $entries->current());
$entries->next();
Cache::store('k', 1);
$entries->rewind();
var_dump($entries->key(), $entries->key());
$entries->next();
var_dump($entries->valid());
?>
--EXPECTF--
bool(true)
NULL
string(7) "default"
NULL
bool(false)
bool(true)
bool(true)
bool(true)
bool(true)
int(5)
string(4) "text"
bool(false)
bool(false)
bool(true)
NULL
bool(true)
bool(true)
string(9) "empty key"
bool(true)
int(1)
NULL
NULL
bool(true)
string(7) "int key"
bool(true)
bool(false)
NULL
bool(false)
string(129) "Hone\Cache::store(): A key of the shared cache is limited to 65535 bytes: 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk...' has 65536"
bool(true)
array(4) {
  ["b"]=>
  array(1) {
    [0]=>
    int(2)
  }
  ["a"]=>
  int(1)
  [12]=>
  string(6) "twelve"
  ["null"]=>
  NULL
}
array(1) {
  ["a"]=>
  int(1)
}
array(0) {
}
int(2)
bool(false)
bool(true)

Warning: Hone\Cache::store_multi(): The value of 'bad' cannot be stored: it contains a resource in %s on line %d
bool(false)
array(2) {
  ["good"]=>
  int(1)
  ["after"]=>
  int(2)
}
int(10002)
int(1)
int(5000)
int(111)
int(0)
long: string, good, now, 100, 2
object: serialized, good, now, never, 0
a.1: int, good, now, never, 0
int(5000)
int(0)
bool(false)
bool(true)
int(0)
bool(true)
int(5002)
int(0)
bool(false)
NULL
NULL
string(1) "k"
string(1) "k"
bool(false)
