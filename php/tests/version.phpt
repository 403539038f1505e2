--TEST--
Hone\version() tells the library's version, phpversion() the extension's
--EXTENSIONS--
hone
--FILE--
<?php
var_dump(preg_match('/^\d+\.\d+\.\d+$/', Hone\version()));
var_dump(phpversion('hone'));
// A library older than what configure asked for is not found.
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
