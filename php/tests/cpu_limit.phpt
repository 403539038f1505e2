--TEST--
hone.cpu_limit: "generic" selects the generic variants, which have the same results
--EXTENSIONS--
hone
--INI--
hone.cpu_limit=generic
--FILE--
<?php
$cpu = Hone\cpu();
var_dump($cpu['features'], $cpu['variants']['zero'], $cpu['variants']['copy']);
var_dump(Hone\buffer_is_zero(str_repeat("\0", 1000)));
var_dump(Hone\buffer_is_zero(str_repeat("\0", 1000) . 'x'));
// The limit holds for the process, so no script may change it.
var_dump(ini_set('hone.cpu_limit', ''));
?>
--EXPECT--
array(0) {
}
string(7) "generic"
string(7) "generic"
bool(true)
bool(false)
bool(false)
