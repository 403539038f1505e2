--TEST--
The functions of APCu have the results of APCu 5.1.22
--EXTENSIONS--
hone
--SKIPIF--
<?php
require __DIR__ . '/apcu_served.inc';
if (PHP_VERSION_ID >= 80300) die('skip the output was recorded with PHP 8.2');
?>
--INI--
apc.enable_cli=1
apc.shm_size=32M
pcre.jit=0
--FILE--
<?php
// tests/php/cache.sh compares these lines with those of APCu itself, and prints each that differs.
ob_start();
require __DIR__ . '/differential/apcu.inc';
$lines = trim(ob_get_clean());
echo md5($lines) === 'e960992299062f677c2ebdc97de11fe3' ? 'the lines of APCu 5.1.22' : $lines, "\n";
?>
--EXPECT--
the lines of APCu 5.1.22
