--TEST--
hone.file_reads: the calls on the fast path, and the reasons why others fall back
--EXTENSIONS--
hone
--INI--
hone.file_reads=1
disable_functions=fpassthru
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

function show($what, $call)
{
    echo $what, ': ', json_encode(rise($call)), "\n";
}

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
