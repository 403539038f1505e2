--TEST--
hone.cpu_limit: PHP warns at its start of a name that is not a feature
--EXTENSIONS--
hone
--INI--
hone.cpu_limit=mmx,generic,sse2x
--FILE--
<?php
ob_start();
(new ReflectionExtension('hone'))->info();
echo preg_match('/^zero => .*$/m', ob_get_clean(), $row) ? $row[0] : 'no row', "\n";
?>
--EXPECT--
Warning: hone.cpu_limit: "mmx" is not a CPU feature of libhone; the name is ignored in Unknown on line 0

Warning: hone.cpu_limit: "sse2x" is not a CPU feature of libhone; the name is ignored in Unknown on line 0
zero => generic
