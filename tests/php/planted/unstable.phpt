--TEST--
Fails with another output each time, whatever the switch
--FILE--
<?php
echo hrtime(true);
?>
--EXPECT--
never
