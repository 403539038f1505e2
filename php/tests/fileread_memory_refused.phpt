--TEST--
hone.file_reads: memory that the system refuses ends the request as in PHP, without an open file
--EXTENSIONS--
hone
--SKIPIF--
<?php
if (!is_dir('/proc/self/fd')) die('skip no /proc/self/fd');
if (getenv('USE_ZEND_ALLOC') === '0') die('skip another allocator');
?>
--FILE--
<?php
$name = __DIR__ . '/fileread_memory_refused.tmp';
$file = fopen($name, 'w');
ftruncate($file, 1 << 30);
fclose($file);
$php = getenv('TEST_PHP_EXECUTABLE') . ' ' . getenv('TEST_PHP_EXTRA_ARGS') . ' -d memory_limit=-1 -d display_errors=1';
foreach (['file_get_contents($p)', 'file($p)', 'stream_get_contents($f = fopen($p, "r"))', 'fread($f = fopen($p, "r"), 1 << 30)'] as $call) {
    foreach ([0, 1] as $on) {
        $code = 'register_shutdown_function(function () {
            global $f;
            $open = array_filter(glob("/proc/self/fd/*"), fn($fd) => @readlink($fd) === $GLOBALS["argv"][1]);
            echo "\n", $f ? ftell($f) : "-", "\nopen ", count($open), "\n";
        });
        $p = $argv[1];
        realpath($p);
        $r = ' . $call . ';
        echo "no error";';
        $lines = [];
        exec("(ulimit -v 800000; exec $php -d hone.file_reads=$on -r " . escapeshellarg($code) . ' ' . escapeshellarg($name) . ') 2>&1', $lines, $status);
        // PHP requests a little more, and leaves the file of a path open until
        // the request ends.
        $open = preg_grep('/^open [1-9]/', $lines);
        if ($on && $open && !str_contains($call, 'fopen')) {
            echo "$call: ", implode($open), "\n";
        }
        $output[$on] = preg_replace(['/\(tried to allocate \d+/', '/^open \d/m'], ['(tried to allocate N', ''], implode("\n", $lines)) . "\n$status\n";
    }
    echo $output[0] === $output[1] ? "the same\n" : "$call\noff:$output[0]on:$output[1]";
    echo str_contains($output[1], 'Out of memory') ? '' : $output[1];
}
?>
--CLEAN--
<?php
@unlink(__DIR__ . '/fileread_memory_refused.tmp');
?>
--EXPECT--
the same
the same
the same
the same
