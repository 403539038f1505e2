--TEST--
hone.cpu_limit: a name that is no feature is told at startup
--EXTENSIONS--
hone
--INI--
hone.cpu_limit=mmx,generic,sse2x
--FILE--
<?php
var_dump(Hone\cpu()['features']);
?>
--EXPECT--
Warning: hone.cpu_limit: libhone knows no CPU feature "mmx" in Unknown on line 0

Warning: hone.cpu_limit: libhone knows no CPU feature "sse2x" in Unknown on line 0
array(0) {
}
