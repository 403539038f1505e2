--TEST--
file_get_contents(): a userland "file" wrapper, open_basedir and the realpath cache take effect
--INI--
realpath_cache_ttl=120
--FILE--
<?php
class Mine
{
    public $context;
    private $given = false;
    function stream_open() { return true; }
    function stream_stat() { return []; }
    function stream_eof() { return $this->given; }
    function stream_set_option() { return false; }
    function stream_read($n) {
        [$was, $this->given] = [$this->given, true];
        return $was ? '' : 'mine';
    }
}
$name = __DIR__ . '/fileread_wrapper.tmp';
file_put_contents($name, 'first');
file_put_contents("$name.2", 'second');
echo file_get_contents($name), "\n";

stream_wrapper_unregister('file');
var_dump(@file_get_contents($name));
echo error_get_last()['message'], "\n";
stream_wrapper_register('file', 'Mine');
echo file_get_contents($name), "\n";
stream_wrapper_restore('file');
echo file_get_contents($name), "\n";
stream_wrapper_register('other', 'Mine');
echo file_get_contents($name), "\n";
echo file_get_contents("other://$name"), "\n";

// Another process changes a link: PHP uses the entry of its cache, and so does the fast path.
symlink($name, "$name.link");
echo file_get_contents("$name.link"), "\n";
exec('ln -sf ' . escapeshellarg("$name.2") . ' ' . escapeshellarg("$name.link"));
foreach ([0, 1] as $on) {
    ini_set('hone.file_reads', $on);
    echo file_get_contents("$name.link"), "\n";
}
clearstatcache(true);
foreach ([1, 0] as $on) {
    ini_set('hone.file_reads', $on);
    echo file_get_contents("$name.link"), "\n";
}

ini_set('hone.file_reads', 1);
// PHP's cache knows it.
realpath('/etc/passwd');
ini_set('open_basedir', __DIR__);
echo file_get_contents($name), "\n";
var_dump(@file_get_contents('/etc/passwd'));
echo strstr(error_get_last()['message'], 'Failed'), "\n";
?>
--CLEAN--
<?php
$name = __DIR__ . '/fileread_wrapper.tmp';
@unlink($name);
@unlink("$name.2");
@unlink("$name.link");
?>
--EXPECTF--
first
bool(false)
file_get_contents(%S): Failed to open stream: no suitable wrapper could be found
mine
first
first
mine
first
first
first
second
second
first
bool(false)
Failed to open stream: Operation not permitted
