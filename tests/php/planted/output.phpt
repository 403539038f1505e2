--TEST--
Fails with hone.file_reads off and on, but not with the same output
--FILE--
<?php
echo get_cfg_var('hone.file_reads') ? 'on' : 'off';
?>
--EXPECT--
neither
