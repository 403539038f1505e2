--TEST--
Fails with hone.file_reads off and on, and with the same output
--FILE--
<?php
echo 'one';
?>
--EXPECT--
two
