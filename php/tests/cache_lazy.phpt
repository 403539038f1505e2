--TEST--
Hone\Cache: a lazy object is refused before its initialization
--SKIPIF--
<?php if (PHP_VERSION_ID < 80400) die('skip PHP 8.4 has lazy objects'); ?>
--INI--
hone.cache_cli=1
--FILE--
<?php
class Row { public $id = 1; }
$class = new ReflectionClass('Row');
foreach (['newLazyGhost' => function (Row $row) { echo "read\n"; }, 'newLazyProxy' => function () { echo "read\n"; return new Row; }] as $make => $read) {
    $row = $class->$make($read);
    var_dump(@Hone\Cache::store('k', $row), error_get_last()['message']);
    $row->id;
    var_dump(Hone\Cache::store('k', $row), Hone\Cache::fetch('k')->id);
}
?>
--EXPECT--
bool(false)
string(81) "Hone\Cache::store(): The value of 'k' cannot be stored: it contains a lazy object"
read
bool(true)
int(1)
bool(false)
string(81) "Hone\Cache::store(): The value of 'k' cannot be stored: it contains a lazy object"
read
bool(true)
int(1)
