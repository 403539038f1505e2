--TEST--
APCUIterator: an iterator with a regular expression is freed after pcre (valgrind would report a memory error)
--EXTENSIONS--
hone
--SKIPIF--
<?php
require __DIR__ . '/apcu_served.inc';
?>
--INI--
hone.cache_cli=1
--FILE--
<?php
class Holder
{
    public static $iterator;
}

apcu_store(['a' => 1, 'ab' => 2, 'b' => 3]);
Holder::$iterator = new APCUIterator('/^a/');
foreach (Holder::$iterator as $key => $element)
    $keys[] = $key;
sort($keys);
echo implode(' ', $keys), ' ', Holder::$iterator->getTotalCount(), "\n";
?>
--EXPECT--
a ab 2
