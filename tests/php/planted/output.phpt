--TEST--
Fails with hone.file_reads off and on, with different output
--FILE--
<?php
echo get_cfg_var('hone.file_reads') ? 'on' : 'off';
?>
--EXPECT--
neither
