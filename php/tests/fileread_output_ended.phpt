--TEST--
readfile(): output that ends the request leaves no mapping and no descriptor
--SKIPIF--
<?php
if (!getenv('TEST_PHP_CGI_EXECUTABLE')) die('skip no php-cgi, whose output can be closed');
if (!is_readable('/proc/self/maps')) die('skip no /proc/self/maps');
?>
--FILE--
<?php
$name = __DIR__ . '/fileread_output_ended.tmp';
file_put_contents("$name.php", '<?php
register_shutdown_function(function () {
    global $p;
    $maps = substr_count(file_get_contents("/proc/self/maps"), $p);
    $open = count(array_filter(glob("/proc/self/fd/*"), fn($fd) => @readlink($fd) === $p));
    file_put_contents("$p.result", connection_status() . " $maps $open\n");
});
$p = __DIR__ . "/fileread_output_ended.tmp";
realpath($p);
file_get_contents($p, false, null, 0, 1);
readfile($p);
file_put_contents("$p.result", "not ended\n");
');
file_put_contents($name, str_repeat('x', 3 << 20));
$command = getenv('TEST_PHP_CGI_EXECUTABLE') . ' ' . getenv('TEST_PHP_EXTRA_ARGS') . ' -d hone.file_reads=1 ' . escapeshellarg("$name.php");
// Another environment: php-cgi would use the environment of this test as its
// request. The loader may need LD_LIBRARY_PATH to find libhone.
$process = proc_open($command, [['file', '/dev/null', 'r'], ['pipe', 'w']], $pipes, null, array_filter(['LC_ALL' => 'C', 'LD_LIBRARY_PATH' => getenv('LD_LIBRARY_PATH')]));
fread($pipes[1], 10);
fclose($pipes[1]);
proc_close($process);
// Aborted; no mapping; not open.
echo file_get_contents("$name.result");
?>
--CLEAN--
<?php
foreach (['', '.php', '.result'] as $end) {
    @unlink(__DIR__ . "/fileread_output_ended.tmp$end");
}
?>
--EXPECT--
1 0 0
