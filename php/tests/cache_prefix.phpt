--TEST--
Hone\Cache: delete_prefix, entries
--EXTENSIONS--
hone
--INI--
hone.cache_cli=1
--FILE--
<?php
use Hone\Cache;

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
--EXPECT--
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
