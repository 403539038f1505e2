--TEST--
hone.cpu_limit: "generic" selects the generic variants; no script may change it
--EXTENSIONS--
hone
--INI--
hone.cpu_limit=generic
--FILE--
<?php
ob_start();
(new ReflectionExtension('hone'))->info();
preg_match_all('/^(copy|zero) => ([a-z]\w*)$/m', ob_get_clean(), $rows);
var_dump(array_combine($rows[1], $rows[2]));
// The limit holds for the process.
var_dump(ini_set('hone.cpu_limit', ''));
?>
--EXPECT--
array(2) {
  ["copy"]=>
  string(7) "generic"
  ["zero"]=>
  string(7) "generic"
}
bool(false)
