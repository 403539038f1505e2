--TEST--
hone.file_reads: the calls on the fast path, and the reasons why others fall back
--INI--
hone.file_reads=1
disable_functions=fpassthru
memory_limit=-1
pcre.jit=0
--FILE--
<?php
function counts()
{
    ob_start();
    (new ReflectionExtension('hone'))->info();
    preg_match_all('/^([a-z_ ]+) => (\d+)$/m', strstr(ob_get_clean(), 'on the fast path'), $rows);
    return array_combine($rows[1], $rows[2]);
}

// The increments of the counts by a call.
function rise($call)
{
    $before = counts();
    $call();
    foreach (counts() as $what => $count) {
        if ($count !== $before[$what]) {
            $rise[$what] = $count - $before[$what];
        }
    }
    return $rise ?? [];
}

function show($what, $call) { echo $what, ': ', json_encode(rise($call)), "\n"; }

$name = __DIR__ . '/fileread_reasons.tmp';
file_put_contents($name, str_repeat('x', 100000));
$opened = fopen($name, 'r');
show('fread', fn () => fread($opened, 100000));
// A stream with its own context.
$opened = fopen($name, 'r');
stream_context_set_option($opened, 'file', 'any', 1);
show('fread with a context', fn () => fread($opened, 100000));
rewind($opened);
show('stream_get_contents with a context', fn () => stream_get_contents($opened));

// In the root folder the cache has a name with one slash in front.
chdir('/');
$relative = substr($name, 1);
realpath($relative);
show('copy from /', fn () => copy($relative, "$relative.2"));
realpath($relative);
ob_start();
$rise = rise(fn () => readfile($relative));
ob_end_clean();
echo 'readfile from /: ', json_encode($rise), "\n";

ob_start();
(new ReflectionExtension('hone'))->info();
preg_match('/^fpassthru => .*/m', ob_get_clean(), $row);
echo $row[0], "\n";
show('not a regular file', fn () => copy('/dev/null', "$name.2"));
show('no file', fn () => @file_get_contents('/nonexistent'));

// 3 GiB, of which nothing is read: memory_limit ends the child before that.
$file = fopen("$name.2", 'w');
ftruncate($file, 3 << 30);
fclose($file);
echo preg_match('/^too large for one read => 1$/m', shell_exec('env -u USE_ZEND_ALLOC ' . getenv('TEST_PHP_EXECUTABLE') . ' ' .
    getenv('TEST_PHP_EXTRA_ARGS') . ' -d memory_limit=32M -r ' . escapeshellarg(
        "register_shutdown_function(fn () => (new ReflectionExtension('hone'))->info()); realpath('$name.2'); file_get_contents('$name.2');")
    . ' 2>&1')), "\n";

// Fread(): the fast path from four chunks on, and up to the end of the file.
file_put_contents($name, str_repeat('some text ', 10000));

// Bytes that are read before, bytes that are requested, the length of a chunk.
foreach ([[0, 32767, 8192], [0, 32768, 8192], [0, 40960, 8192], [10, 32768, 8192], [10, 40959, 8192], [10, 40961, 8192], [0, 99999, 8192], [0, 200000, 8192],
    [0, 40000, 10000], [0, 50000, 10000], [0, 39999, 10000], [0, 50000, 60000], [0, 99999, 200000], [0, 200000, 200000], [0, 1 << 31, 8192]] as [$before, $n, $chunk]) {
    $stream = fopen($name, 'r');
    stream_set_chunk_size($stream, $chunk);
    if ($before > 0) {
        fgets($stream, $before + 1);
    }
    $rise = rise(function () use ($stream, $n, &$length) { $length = strlen(fread($stream, $n)); });
    echo "$before $n $chunk: $length, ", json_encode($rise), "\n";
    fclose($stream);
}
?>
--CLEAN--
<?php
@unlink(__DIR__ . '/fileread_reasons.tmp');
@unlink(__DIR__ . '/fileread_reasons.tmp.2');
?>
--EXPECT--
fread: {"fread":1}
fread with a context: {"not a plain stream":1}
stream_get_contents with a context: {"not a plain stream":1}
copy from /: {"copy":1}
readfile from /: {"readfile":1}
fpassthru => not wrapped: disabled
not a regular file: {"not in the realpath cache":1}
no file: {"could not be opened":1}
1
0 32767 8192: 32767, {"too little to gain":1}
0 32768 8192: 32768, {"too little to gain":1}
0 40960 8192: 40960, {"fread":1}
10 32768 8192: 32768, {"too little to gain":1}
10 40959 8192: 40959, {"fread":1}
10 40961 8192: 40961, {"fread":1}
0 99999 8192: 99999, {"fread":1}
0 200000 8192: 100000, {"fread":1}
0 40000 10000: 40000, {"too little to gain":1}
0 50000 10000: 50000, {"fread":1}
0 39999 10000: 39999, {"too little to gain":1}
0 50000 60000: 50000, {"too little to gain":1}
0 99999 200000: 99999, {"too little to gain":1}
0 200000 200000: 100000, {"too little to gain":1}
0 2147483648 8192: 100000, {"too large for one read":1}
