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
[\s\S]*File reads, the short way => Calls
file_get_contents => 0
[\s\S]*File reads passed on to PHP, because => Calls
(?:[a-z, _]+ => 0
)+[\s\S]*hone\.cpu_limit => no value => no value[\s\S]*
