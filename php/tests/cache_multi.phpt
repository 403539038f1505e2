--TEST--
Hone\Cache: fetch_multi, store_multi, delete_multi
--EXTENSIONS--
hone
--INI--
hone.cache_cli=1
--FILE--
<?php
use Hone\Cache;

var_dump(Cache::store_multi(['a' => 1, 'b' => [2], 12 => 'twelve', 'null' => null]));
var_dump(Cache::fetch_multi(['b', 'absent', 'a', 12, '12', 'null']));
$name = 'a';
var_dump(Cache::fetch_multi([&$name]), Cache::fetch_multi([]));
var_dump(Cache::delete_multi(['a', 'absent', 12, 'a']), Cache::exists('12'), Cache::exists('b'));
var_dump(Cache::store_multi(['good' => 1, 'bad' => fopen('php://memory', 'r'), 'after' => 2]));
var_dump(Cache::fetch_multi(['good', 'bad', 'after']));
?>
--EXPECTF--
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
