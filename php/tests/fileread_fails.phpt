--TEST--
A regular file that cannot be read: the notices of PHP
--SKIPIF--
<?php
// The file has a size of 4096, and read() fails with EINVAL: the loopback device
// has no speed.
$h = @fopen('/sys/class/net/lo/speed', 'r') ?: die('skip no /sys/class/net/lo/speed');
if (@fread($h, 1) !== false) die('skip /sys/class/net/lo/speed can be read');
?>
--FILE--
<?php
$name = '/sys/class/net/lo/speed';
set_error_handler(function ($level, $message) {
    echo "$level $message\n";
});
foreach ([true, false] as $forget) {
    foreach (['file_get_contents', 'file', 'readfile', 'stream_get_contents', 'fread', 'copy'] as $function) {
        foreach ([0, 1] as $on) {
            ini_set('hone.file_reads', $on);
            clearstatcache($forget);
            ob_start();
            var_dump(match ($function) {
                'stream_get_contents' => $function(fopen($name, 'r')),
                'fread' => $function(fopen($name, 'r'), 100000),
                'copy' => $function($name, __DIR__ . '/fileread_fails.tmp'),
                default => $function($name),
            });
            $output[$on] = ob_get_clean();
        }
        if ($output[0] !== $output[1]) {
            echo "$function, off:\n$output[0]on:\n$output[1]";
        }
    }
}
?>
done
--CLEAN--
<?php
@unlink(__DIR__ . '/fileread_fails.tmp');
?>
--EXPECT--
done
