--TEST--
Hone\version() returns the version of the library, phpversion() that of the extension
--EXTENSIONS--
hone
--FILE--
<?php
var_dump(preg_match('/^\d+\.\d+\.\d+$/', Hone\version()));
var_dump(phpversion('hone'));
// configure refuses an older library.
var_dump(version_compare(Hone\version(), phpversion('hone'), '>='));
try {
    Hone\version('x');
} catch (ArgumentCountError $error) {
    echo $error->getMessage(), "\n";
}
?>
--EXPECT--
int(1)
string(5) "0.1.0"
bool(true)
Hone\version() expects exactly 0 arguments, 1 given
