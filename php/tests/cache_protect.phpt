--TEST--
hone.cache_protect: a write to a value of the cache ends the process with a message
--EXTENSIONS--
ffi
--SKIPIF--
<?php if (getenv('USE_ZEND_ALLOC') === '0') die('skip valgrind counts the signal that is expected'); ?>
--INI--
hone.cache_cli=1
--FILE--
<?php
$php = getenv('TEST_PHP_EXECUTABLE') . ' ' . str_replace("'", '', getenv('TEST_PHP_EXTRA_ARGS'));
$script = '
    Hone\Cache::store("k", [1, 2, 3]); Hone\Cache::store("s", str_repeat("text", 100)); Hone\Cache::inc("n");
    $list = Hone\Cache::fetch("k"); $list[] = 4; sort($list); echo json_encode($list), Hone\Cache::fetch("k")[0], Hone\Cache::inc("n"), "\n";
    foreach (["auto", "block", "copy"] as $mode) { ini_set("hone.cache_read", $mode); Hone\Cache::store("again", Hone\Cache::fetch("k")); }
    Hone\Cache::delete("k"); Hone\Cache::clear();
    if ($argv[1]) {
        Hone\Cache::store("s", str_repeat("text", 100)); ini_set("hone.cache_read", "auto");
        $s = Hone\Cache::fetch("s");
        $ffi = FFI::cdef("void *memchr(const char *s, int c, size_t n);");
        $place = $ffi->memchr($s, ord("t"), 100);
        FFI::memset($place, 0, 1);
    }
    echo "end\n";';
foreach ([0, 1] as $write) {
    echo shell_exec("ulimit -c 0; $php -d hone.cache_protect=1 -d ffi.enable=1 -r " . escapeshellarg($script) . " $write 2>&1; echo status $?");
}
?>
--EXPECTF--
[1,2,3,4]12
end
status 0
[1,2,3,4]12
hone: FFI::memset() in Command line code:%d wrote to a value of the shared cache (hone.cache_protect)
%Astatus 139
