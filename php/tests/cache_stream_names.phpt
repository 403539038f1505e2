--TEST--
PHP releases the names of stream filters and wrappers before the request releases their memory
--EXTENSIONS--
pcntl
--SKIPIF--
<?php if (!getenv('TEST_PHP_CGI_EXECUTABLE')) die('skip needs php-cgi'); ?>
--FILE--
<?php
/*
 * PHP destroys its tables of filters and wrappers after the last hook of the
 * extensions. Between the two, php-cgi reads what is left of the body: the test
 * holds the request there until its child has overwritten the memory of the name.
 */
$script = __DIR__ . '/cache_stream_names.script.php';
file_put_contents($script, <<<'SCRIPT'
<?php
use Hone\Cache;

class Filter extends php_user_filter {}
class Wrapper { public $context; }

const TEXT = 60000;

/* Overwrites the memory of all values with the byte 1. */
function overwrite(): array
{
    do {
        Cache::clear();
    } while (Cache::info()['retired'] > 0);
    for ($n = 0; Cache::info()['evictions'] === 0; $n++) {
        Cache::store("text$n", str_repeat("\1", TEXT));
    }
    return iterator_to_array(Cache::entries());
}

[$mine, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
$parent = getmypid();
// Before the parent uses the cache, so that the child does not hold back its values.
if (pcntl_fork() === 0) {
    fgets($theirs);
    $entries = overwrite();
    file_put_contents('php://stderr', "overwritten\n");
    while (file_exists("/proc/$parent")) {
        clearstatcache();
        usleep(1000);
    }
    $changed = 0;
    foreach (array_keys($entries) as $key) {
        $changed += Cache::fetch($key) !== str_repeat("\1", TEXT);
    }
    file_put_contents('php://stderr', count($entries) > 20 ? "$changed values changed\n" : "too few values\n");
    exit;
}
// The name and the length of the first text have different addresses.
Cache::store('before', str_repeat('b', 1000));
Cache::store('name', getenv('NAME'));
Cache::store('names', [getenv('NAME') => 1]);
$name = getenv('KEY') ? array_key_first(Cache::fetch('names')) : Cache::fetch('name');
$done = match (getenv('KIND')) {
    'filter' => stream_filter_register($name, 'Filter') && in_array($name, stream_get_filters()),
    'wrapper' => stream_wrapper_register($name, 'Wrapper') && in_array($name, stream_get_wrappers()),
    'restore' => stream_wrapper_unregister($name) && stream_wrapper_restore($name),
};
// PHP reads all keys of a table if one of them is counted.
$counted = 'counted' . getmypid();
getenv('KIND') === 'filter' ? stream_filter_register($counted, 'Filter') : stream_wrapper_register($counted, 'Wrapper');
fwrite($mine, $done ? "registered\n" : "failed\n");
SCRIPT);

$options = str_replace("'", '', getenv('TEST_PHP_EXTRA_ARGS'));
foreach (['filter' => 'my.filter', 'wrapper' => 'my', 'restore' => 'data'] as $kind => $name) {
    foreach (['', '1'] as $key) {
        $php = proc_open('exec ' . getenv('TEST_PHP_CGI_EXECUTABLE') . " $options -d enable_post_data_reading=0 -d hone.cache_size=2M",
            [['pipe', 'r'], ['file', '/dev/null', 'w'], ['pipe', 'w']], $pipes, null, [
                'SCRIPT_FILENAME' => $script, 'REDIRECT_STATUS' => '1', 'GATEWAY_INTERFACE' => 'CGI/1.1',
                'REQUEST_METHOD' => 'POST', 'CONTENT_TYPE' => 'text/plain', 'CONTENT_LENGTH' => '1',
                'KIND' => $kind, 'NAME' => $name, 'KEY' => $key,
                'LD_LIBRARY_PATH' => (string)getenv('LD_LIBRARY_PATH')]);
        echo "$kind, ", $key ? 'key' : 'value', ': ', fgets($pipes[2]);
        fwrite($pipes[0], 'x');
        fclose($pipes[0]);
        // The child waits for the end of its parent.
        while (proc_get_status($php)['running']) {
            usleep(1000);
        }
        echo stream_get_contents($pipes[2]);
        proc_close($php);
    }
}
?>
--CLEAN--
<?php
unlink(__DIR__ . '/cache_stream_names.script.php');
?>
--EXPECT--
filter, value: overwritten
0 values changed
filter, key: overwritten
0 values changed
wrapper, value: overwritten
0 values changed
wrapper, key: overwritten
0 values changed
restore, value: overwritten
0 values changed
restore, key: overwritten
0 values changed
