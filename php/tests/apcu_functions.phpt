--TEST--
The functions of APCu have the results of APCu 5.1.22
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
$lines = array_chunk(explode("\n", trim(ob_get_clean())), 10);
// Of each ten lines.
$sums = preg_split('/\s+/', '
    4927928d dd39ab05 a474bbc4 c12d0796 c801ccc4 aa805ef6 816c176a 94a1330a 964aa877 8b86ee17
    fdadb935 69b39ead 1e052994 838e76df 829b84e4 34139400 e40fd26e 51ac24ef 08754eb5 416493bf
    22b88e4a 83832139 106cf575 96aaa236 fa69376a a8bfa9c6 8369abb2 37dae43b b4fa5310 516da987
    50b3efde 760bfa77
', -1, PREG_SPLIT_NO_EMPTY);
foreach ($lines as $i => $ten) {
    if (hash('crc32b', implode("\n", $ten)) !== ($sums[$i] ?? null)) {
        echo "another sum:\n", implode("\n", $ten), "\n";
    }
}
echo count($lines) * 10, " lines\n";
?>
--EXPECT--
320 lines
