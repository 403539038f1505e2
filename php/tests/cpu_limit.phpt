--TEST--
hone.cpu_limit: "generic" selects the generic variants; no script may change it, and PHP warns at its start of a name that is not a feature
--INI--
hone.cpu_limit=mmx,generic,sse2x
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
Warning: hone.cpu_limit: "mmx" is not a CPU feature of libhone; the name is ignored in Unknown on line 0

Warning: hone.cpu_limit: "sse2x" is not a CPU feature of libhone; the name is ignored in Unknown on line 0
array(2) {
  ["copy"]=>
  string(7) "generic"
  ["zero"]=>
  string(7) "generic"
}
bool(false)
