--TEST--
hone.file_reads: memory_limit, FIFOs, output to callbacks, files that change, and no descriptor is left
--EXTENSIONS--
hone
posix
--SKIPIF--
<?php
if (!is_dir('/proc/self/fd')) die('skip no /proc/self/fd');
if (getenv('USE_ZEND_ALLOC') === '0') die('skip PHP has no memory_limit without its own allocator');
?>
--INI--
memory_limit=32M
--FILE--
<?php
$name = __DIR__ . '/fileread_guards.tmp';
$descriptors = count(scandir('/proc/self/fd'));

// A FIFO is opened once, and its bytes are read once.
posix_mkfifo("$name.fifo", 0600);
foreach ([0, 1] as $on) {
    ini_set('hone.file_reads', $on);
    $writer = popen('printf hello >' . escapeshellarg("$name.fifo"), 'r');
    var_dump(file_get_contents("$name.fifo"));
    var_dump(pclose($writer));
}

// Memory is not enough: PHP's own error ends the child.
$file = fopen($name, 'w');
ftruncate($file, 40 << 20);
fclose($file);
foreach (['file_get_contents($argv[1])', 'file($argv[1])', 'stream_get_contents(fopen($argv[1], "r"))', 'fread(fopen($argv[1], "r"), 40 << 20)'] as $call) {
    $output = [];
    foreach ([0, 1] as $on) {
        $output[] = shell_exec(getenv('TEST_PHP_EXECUTABLE') . ' ' . getenv('TEST_PHP_EXTRA_ARGS') .
            " -d memory_limit=32M -d hone.file_reads=$on -r " . escapeshellarg("$call;") . ' ' . escapeshellarg($name) . ' 2>&1');
    }
    var_dump($output[0] === $output[1] && str_contains($output[1], 'Allowed memory size of 33554432 bytes exhausted'));
}

// A callback gets the output, in as many pieces.
file_put_contents($name, str_repeat('line', 5000));
foreach ([0, 1] as $on) {
    ini_set('hone.file_reads', $on);
    $pieces = [];
    ob_start(function ($data) use (&$pieces) {
        $pieces[] = strlen($data);
        return '';
    }, 1);
    readfile($name);
    ob_end_clean();
    echo implode(' ', $pieces), "\n";
}

// Longer and shorter than before, under the same stream.
foreach ([0, 1] as $on) {
    ini_set('hone.file_reads', $on);
    file_put_contents($name, str_repeat('a', 50000));
    $stream = fopen($name, 'r');
    $got = [strlen(fread($stream, 20000))];
    file_put_contents($name, str_repeat('b', 70000), 0);
    $got[] = strlen(stream_get_contents($stream));
    $got[] = feof($stream);
    file_put_contents($name, 'more', FILE_APPEND);
    $got[] = stream_get_contents($stream);
    rewind($stream);
    file_put_contents($name, 'short');
    $got[] = fread($stream, 30000);
    $got[] = feof($stream);
    echo json_encode($got), "\n";
    fclose($stream);
}
var_dump(count(scandir('/proc/self/fd')) === $descriptors);
?>
--CLEAN--
<?php
@unlink(__DIR__ . '/fileread_guards.tmp');
@unlink(__DIR__ . '/fileread_guards.tmp.fifo');
?>
--EXPECT--
string(5) "hello"
int(0)
string(5) "hello"
int(0)
bool(true)
bool(true)
bool(true)
bool(true)
20000 0
20000 0
[20000,50000,true,"more","short",true]
[20000,50000,true,"more","short",true]
bool(true)
