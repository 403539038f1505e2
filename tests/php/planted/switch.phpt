--TEST--
Passes with hone.file_reads off and fails with it on: ./dev php --phpt must report it
--FILE--
<?php
echo get_cfg_var('hone.file_reads') ? 'on' : 'off';
?>
--EXPECT--
off
