--TEST--
apcu_fetch() uses the keys as they were passed, also if __wakeup() changes them by reference
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
class Changes
{
    public function __wakeup()
    {
        $GLOBALS['key'] = 0x41414141;
    }
}

$key = str_repeat('k', 18);
apcu_store($key, new Changes);
var_dump(apcu_fetch([&$key]), $key);
?>
--EXPECTF--
array(1) {
  ["kkkkkkkkkkkkkkkkkk"]=>
  object(Changes)#%d (0) {
  }
}
int(1094795585)
