--TEST--
A process without a pool: the log says so, and apc.enabled is 0
--SKIPIF--
<?php require __DIR__ . '/apcu_served.inc'; ?>
--FILE--
<?php
$php = getenv('TEST_PHP_EXECUTABLE') . ' ' . str_replace("'", '', getenv('TEST_PHP_EXTRA_ARGS'));
$facts = 'echo json_encode([Hone\Cache::enabled(), Hone\Cache::info()["reason"] ?? null, apcu_enabled(), apcu_store("k", 1), ini_get("apc.enabled"), array_diff_key(ini_get_all("apcu")["apc.enabled"], ["builtin_default_value" => 0])]), "\n";';
foreach (['', '-d hone.cache_pool=shop', '-d hone.cache_pool=default', '-d hone.cache_pool=shpo', '-d log_errors=0', '-d apc.enabled=0 -d hone.cache_pool=shop'] as $options) {
    echo "$options\n", shell_exec("$php -d hone.cache_cli=1 -d log_errors=1 -d html_errors=0 -d hone.cache_size=0 -d 'hone.cache_pools=\"shop=2M\"' $options -r " . escapeshellarg($facts) . ' 2>&1');
}
?>
--EXPECT--

PHP Notice:  hone.cache_pool is empty, and there is no pool of hone.cache_size; the cache is off in this process
[false,"hone.cache_pool is empty, and there is no pool of hone.cache_size",false,false,"0",{"global_value":"1","local_value":"0","access":4}]
-d hone.cache_pool=shop
[true,null,true,true,"1",{"global_value":"1","local_value":"1","access":4}]
-d hone.cache_pool=default
PHP Warning:  hone.cache_pool: "default" is not in hone.cache_pools; the cache is off in this process
[false,"the pool of hone.cache_pool does not exist",false,false,"0",{"global_value":"1","local_value":"0","access":4}]
-d hone.cache_pool=shpo
PHP Warning:  hone.cache_pool: "shpo" is not in hone.cache_pools; the cache is off in this process
[false,"the pool of hone.cache_pool does not exist",false,false,"0",{"global_value":"1","local_value":"0","access":4}]
-d log_errors=0
[false,"hone.cache_pool is empty, and there is no pool of hone.cache_size",false,false,"0",{"global_value":"1","local_value":"0","access":4}]
-d apc.enabled=0 -d hone.cache_pool=shop
[true,null,false,false,"0",{"global_value":"0","local_value":"0","access":4}]
