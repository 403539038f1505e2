--TEST--
Fails with other output each time, with hone.file_reads off and on
--FILE--
<?php
echo hrtime(true);
?>
--EXPECT--
never
