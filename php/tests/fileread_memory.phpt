--TEST--
hone.file_reads: memory that exceeds memory_limit, or that the system refuses, ends the request as in PHP, without an open file
--SKIPIF--
<?php
if (!is_dir('/proc/self/fd')) die('skip no /proc/self/fd');
if (getenv('USE_ZEND_ALLOC') === '0') die('skip PHP has no memory_limit without its own allocator');
?>
--FILE--
<?php
$name = __DIR__ . '/fileread_memory.tmp';
$limit = 16 << 20;

// Both outputs of a child and its status. Its limit is its memory and $more.
function child($on, $code, $more)
{
    global $name;
    $code = 'register_shutdown_function(function () {
        global $f;
        echo "\n", implode(" ", [count(scandir("/proc/self/fd")), $f ? ftell($f) : "-", $f ? (int)feof($f) : "-"]), "\n";
    });
    $p = $argv[1];
    realpath($p);
    ini_set("memory_limit", ' . ($more > 0 ? "memory_get_usage(true) + $more" : $GLOBALS['limit']) . ");
    $code
    unset(\$r);
    echo strlen(file_get_contents(\$p, false, null, 0, 100));";
    exec(getenv('TEST_PHP_EXECUTABLE') . ' ' . getenv('TEST_PHP_EXTRA_ARGS') . " -d memory_limit=-1 -d display_errors=1 -d hone.file_reads=$on -r " .
        escapeshellarg($code) . ' ' . escapeshellarg($name) . ' 2>&1', $lines, $status);
    return implode("\n", $lines) . "\n$status";
}

function compare($code, $more = 0)
{
    $output = [child(0, $code, $more), child(1, $code, $more)];
    if ($output[0] !== $output[1]) {
        echo "$code ($more)\noff: $output[0]\non:  $output[1]\n";
    }
    return preg_match('/^Fatal error: Allowed memory size of \d+ bytes exhausted.*\d+ [-\d]+ [-\d]\n255$/sm', $output[1]);
}

$reads = [
    '$r = file_get_contents($p);',
    '$r = file($p);',
    '$f = fopen($p, "r"); $r = stream_get_contents($f);',
    '$f = fopen($p, "r"); fgets($f, 100); $r = stream_get_contents($f);',
    'ob_start(); $r = readfile($p); ob_clean();',
    '$f = fopen($p, "r"); ob_start(); $r = fpassthru($f); ob_clean();',
    '$r = copy($p, "$p.copy");',
];
$ended = [];
foreach ([1.5, 2.5] as $times) {
    file_put_contents($name, '');
    $file = fopen($name, 'r+');
    ftruncate($file, (int)($times * $limit));
    fclose($file);
    foreach ($reads as $i => $code) {
        $ended[$i] = ($ended[$i] ?? '') . compare($code);
    }
}
echo implode(' ', $ended), "\n";

// The requested length decides, not the size of the file.
file_put_contents($name, str_repeat('x', 100000));
$ended = '';
foreach ([1.5, 2.5, 1 << 30] as $times) {
    $ended .= compare('$f = fopen($p, "r"); $r = fread($f, ' . (int)($times * $limit) . ');');
    $ended .= compare('$f = fopen($p, "r"); fgets($f, 100); stream_set_chunk_size($f, ' . min((1 << 31) - 1, (int)($times * $limit)) . '); $r = fread($f, 50000);');
}
echo $ended, "\n";

// The lines of a file need many times as much.
foreach (["\n", "k\n"] as $line) {
    $ended = '';
    foreach ([0.3, 0.9] as $times) {
        file_put_contents($name, str_repeat($line, (int)($times * $limit / strlen($line))));
        $ended .= compare('$r = file($p);') . compare('$r = file($p, FILE_IGNORE_NEW_LINES);');
    }
    echo $ended, "\n";
}

// Just enough memory for the file, while PHP requests more; and a little more memory.
file_put_contents($name, str_repeat('x', 3000000));
$ended = '';
foreach ([3006464, 5200000] as $more) {
    $ended .= compare('$r = file_get_contents($p);', $more) . compare('$f = fopen($p, "r"); $r = stream_get_contents($f);', $more) .
        compare('$f = fopen($p, "r"); $r = fread($f, 3000000);', $more);
}
echo strlen($ended) === 6 ? "compared\n" : $ended;

// Hone.file_reads: memory that the system refuses ends the request as in PHP, without an open
// file.
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
@unlink(__DIR__ . '/fileread_memory.tmp');
@unlink(__DIR__ . '/fileread_memory.tmp.copy');
?>
--EXPECT--
11 11 11 11 11 11 00
111111
1111
1111
compared
the same
the same
the same
the same
