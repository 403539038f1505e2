--TEST--
Hone\Cache: store, fetch, exists, delete, clear
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
?>
--EXPECT--
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
