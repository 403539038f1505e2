--TEST--
phpinfo() has a section on hone
--EXTENSIONS--
hone
--FILE--
<?php
(new ReflectionExtension('hone'))->info();
?>
--EXPECTREGEX--
hone

Hone => enabled
Version => \d+\.\d+\.\d+
libhone => \d+\.\d+\.\d+
libhone, headers compiled with => \d+\.\d+\.\d+

Part of libhone => CPU variant
(?:[a-z]+ => [a-z0-9]+
)*zero => [a-z0-9]+
[\s\S]*hone\.cpu_limit => no value => no value[\s\S]*
