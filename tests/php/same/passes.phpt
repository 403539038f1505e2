--TEST--
Passes with hone.file_reads off and on
--FILE--
<?php
echo 'one';
?>
--EXPECT--
one
