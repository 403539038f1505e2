--TEST--
hone.cache_snapshot: a server writes the cache at its end, and reads it at its start
--SKIPIF--
<?php if (!getenv('TEST_PHP_CGI_EXECUTABLE')) die('skip php-cgi is not installed'); ?>
--FILE--
<?php
require __DIR__ . '/cache_snapshot.inc';
file_put_contents("$file.php", '<?php
    if (isset($_SERVER["HONE_TEST_CHILD"]) && pcntl_fork() === 0) { Hone\Cache::store("child", 1); exit; }
    echo json_encode([Hone\Cache::info()["pool"] ?? null, Hone\Cache::info()["entries"] ?? null, Hone\Cache::inc("n"), Hone\Cache::store("a", [1, ["x" => "y"]])]), "\n";');

/** Runs $file.php: php-cgi as a server of FastCGI for one request, unless the options are those of a command. */
function serve(string $options, string $program = 'TEST_PHP_CGI_EXECUTABLE', string $variables = 'PHP_FCGI_MAX_REQUESTS=1', bool $fastcgi = true): void
{
    global $file;
    $extra = str_replace("'", '', getenv('TEST_PHP_EXTRA_ARGS'));
    // The path of a socket has at most 107 characters.
    $socket = sys_get_temp_dir() . '/hone-' . getmypid() . '.sock';
    // An empty environment: from that of run-tests.php, php-cgi would take the
    // name of this script, and run it again.
    $command = 'exec env -i LD_LIBRARY_PATH=' . escapeshellarg((string) getenv('LD_LIBRARY_PATH')) . " $variables timeout 300 " . getenv($program)
        . " $extra -d html_errors=0 -d display_startup_errors=1 $options " . ($fastcgi ? "-b $socket" : "$file.php") . ' 2>&1';
    $process = proc_open($command, [['file', '/dev/null', 'r'], ['pipe', 'w']], $pipes);
    $answer = $fastcgi ? ask($socket, "$file.php") : '';
    $written = stream_get_contents($pipes[1]);
    proc_close($process);
    @unlink($socket);
    echo str_replace(dirname($file), 'DIR', "$options\n$answer$written");
}

/** The body of a FastCGI response. */
function ask(string $socket, string $script): string
{
    while (!($stream = @stream_socket_client("unix://$socket"))) {
        usleep(1000);
    }
    $record = fn(int $type, string $content): string => pack('CCnnCx', 1, $type, 1, strlen($content), 0) . $content;
    $variables = '';
    foreach (['SCRIPT_FILENAME' => $script, 'REQUEST_METHOD' => 'GET', 'REDIRECT_STATUS' => '1'] as $name => $value) {
        $variables .= chr(strlen($name)) . pack('N', strlen($value) | 1 << 31) . $name . $value;
    }
    fwrite($stream, $record(1, pack('nCx5', 1, 0)) . $record(4, $variables) . $record(4, '') . $record(5, ''));
    $out = '';
    while (strlen($head = (string) stream_get_contents($stream, 8)) === 8) {
        $fields = unpack('Cversion/Ctype/nid/nsize/Cpadding', $head);
        $content = $fields['size'] + $fields['padding'] > 0 ? stream_get_contents($stream, $fields['size'] + $fields['padding']) : '';
        $out .= $fields['type'] === 6 ? substr($content, 0, $fields['size']) : '';
    }
    return explode("\r\n\r\n", $out, 2)[1] ?? '';
}
function files(): void
{
    global $file;
    echo implode(' ', array_diff(scandir(dirname($file)), ['.', '..', 'snapshot.php'])), "\n";
}

$cgi = "-q -d hone.cache_snapshot=$file";
serve($cgi);
serve($cgi);
files();

echo "-- a damaged file, and the next one is good\n";
$bytes = file_get_contents($file);
// The last occurrence, since the checksum of the head may also have this byte.
file_put_contents($file, substr_replace($bytes, 'z', strrpos($bytes, 'y'), 1));
serve($cgi);
serve($cgi);
// With the right checksum: the others are read.
write(str_replace("\x81y", "\xffy", $bytes));
serve($cgi);
chmod($file, 0666);
serve($cgi);
serve($cgi);

echo "-- pools\n";
$pools = '-d "hone.cache_pools=\\"shop=2M,blog=4M\\""';
foreach (['shop', 'blog', 'shop'] as $pool) {
    serve("$cgi $pools -d hone.cache_pool=$pool");
}
files();

echo "-- no place\n";
serve('-q -d hone.cache_snapshot=relative');
serve("-q -d hone.cache_snapshot=$file.absent/x");
serve("-q -d hone.cache_snapshot=$file.php/x");

echo "-- neither is a server: a command, and php-cgi with a script or with one request of CGI\n";
$inode = fileinode($file);
serve("-d hone.cache_cli=1 -d hone.cache_snapshot=$file", 'TEST_PHP_EXECUTABLE', fastcgi: false);
serve($cgi, fastcgi: false);
serve($cgi, variables: "GATEWAY_INTERFACE=CGI/1.1 REQUEST_METHOD=GET REDIRECT_STATUS=1 SCRIPT_FILENAME=$file.php", fastcgi: false);
clearstatcache();
var_dump(fileinode($file) === $inode);
serve($cgi);
?>
--CLEAN--
<?php
require __DIR__ . '/cache_snapshot.inc';
clean();
?>
--EXPECTF--
-q -d hone.cache_snapshot=DIR/snapshot
["default",0,1,true]
-q -d hone.cache_snapshot=DIR/snapshot
["default",2,2,true]
snapshot
-- a damaged file, and the next one is good
-q -d hone.cache_snapshot=DIR/snapshot
["default",0,1,true]

Warning: hone.cache_snapshot: DIR/snapshot: checksum is %d, not %d; the cache is empty in Unknown on line 0
-q -d hone.cache_snapshot=DIR/snapshot
["default",2,2,true]
-q -d hone.cache_snapshot=DIR/snapshot
["default",1,3,true]

Warning: hone.cache_snapshot: DIR/snapshot: the value of entry %d: a number leads to nothing in Unknown on line 0
-q -d hone.cache_snapshot=DIR/snapshot
["default",0,1,true]

Warning: hone.cache_snapshot: DIR/snapshot: its mode is 666: others may write to the file; the cache is empty in Unknown on line 0
-q -d hone.cache_snapshot=DIR/snapshot
["default",2,2,true]
-- pools
-q -d hone.cache_snapshot=DIR/snapshot -d "hone.cache_pools=\"shop=2M,blog=4M\"" -d hone.cache_pool=shop
["shop",0,1,true]
-q -d hone.cache_snapshot=DIR/snapshot -d "hone.cache_pools=\"shop=2M,blog=4M\"" -d hone.cache_pool=blog
["blog",0,1,true]
-q -d hone.cache_snapshot=DIR/snapshot -d "hone.cache_pools=\"shop=2M,blog=4M\"" -d hone.cache_pool=shop
["shop",2,2,true]
snapshot snapshot.blog snapshot.shop
-- no place
-q -d hone.cache_snapshot=relative
["default",0,1,true]

Warning: hone.cache_snapshot: "relative", pool "default": it is not an absolute path; there is no snapshot in Unknown on line 0
-q -d hone.cache_snapshot=DIR/snapshot.absent/x
["default",0,1,true]
hone.cache_snapshot: DIR/snapshot.absent/x: No such file or directory

Warning: hone.cache_snapshot: DIR/snapshot.absent/x: the folder is not writable: No such file or directory; the cache will not be saved in Unknown on line 0
-q -d hone.cache_snapshot=DIR/snapshot.php/x
["default",0,1,true]
hone.cache_snapshot: DIR/snapshot.php/x: Not a directory

Warning: hone.cache_snapshot: DIR/snapshot.php/x: Not a directory; the cache is empty in Unknown on line 0
-- neither is a server: a command, and php-cgi with a script or with one request of CGI
-d hone.cache_cli=1 -d hone.cache_snapshot=DIR/snapshot
["default",0,1,true]
-q -d hone.cache_snapshot=DIR/snapshot
["default",0,1,true]
-q -d hone.cache_snapshot=DIR/snapshot
X-Powered-By: PHP/%s
Content-type: text/html; charset=UTF-8

["default",0,1,true]
bool(true)
-q -d hone.cache_snapshot=DIR/snapshot
["default",2,3,true]
