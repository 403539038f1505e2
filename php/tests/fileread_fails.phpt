--TEST--
A regular file that cannot be read: PHP's own notices
--EXTENSIONS--
hone
--SKIPIF--
<?php
// It has a size of 4096 and fails with EINVAL while the loopback has no speed.
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
            $said[$on] = ob_get_clean();
        }
        if ($said[0] !== $said[1]) {
            echo "$function, off:\n$said[0]on:\n$said[1]";
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
