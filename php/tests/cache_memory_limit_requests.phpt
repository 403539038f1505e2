--TEST--
Hone\Cache: a request that ends in a copy, by memory_limit, leaves nothing held for the next one
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') die('skip PHP has no memory_limit without its own allocator');
if (!getenv('TEST_PHP_CGI_EXECUTABLE')) die('skip php-cgi is not installed');
?>
--INI--
hone.cache_cli=1
memory_limit=16M
--FILE--
<?php
// Each request ends in a copy, and the next one holds nothing of it. In the second one,
// memory is short, and the value is cold: its fetch ends before PHP allocates.
$file = __DIR__ . '/cache_memory_limit_requests.tmp';
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
echo preg_replace('/(cold|warm) $/', '', shell_exec('env -i LD_LIBRARY_PATH=' . escapeshellarg((string)getenv('LD_LIBRARY_PATH')) . ' ' . getenv('TEST_PHP_CGI_EXECUTABLE') . ' '
    . getenv('TEST_PHP_EXTRA_ARGS') . " -q -T 3 -d hone.cache_size=8M -d display_errors=0 -d log_errors=0 $file 2>/dev/null"));
unlink($file);
?>
--EXPECT--
warm []
cold []
