--TEST--
Hone\Cache: without a cache, every method returns the result for an empty cache
--FILE--
<?php
use Hone\Cache;

echo json_encode([Cache::enabled(), Cache::info()['reason']]), "\n";
echo json_encode([Cache::store('k', 1), Cache::add('k', 1), Cache::replace('k', 1), Cache::store_multi(['k' => 1])]), "\n";
echo json_encode([Cache::fetch('k', 'default'), Cache::fetch_multi(['k']), Cache::fetch_field('k', 'f', 'default'), Cache::exists('k')]), "\n";
echo json_encode([Cache::delete('k'), Cache::delete_multi(['k']), Cache::delete_prefix(''), Cache::invalidate_tag('t'), Cache::clear()]), "\n";
echo json_encode([Cache::inc('k'), Cache::dec('k'), Cache::cas('k', 1, 2), Cache::remember('k', 1, fn() => 'computed')]), "\n";
echo json_encode([iterator_to_array(Cache::entries()), Cache::metrics(), Cache::memory_map()]), "\n";
echo json_encode([apcu_enabled(), apcu_store('k', 1), apcu_store(['k' => 1]), apcu_fetch('k'), apcu_fetch(['k'], $success), $success,
    apcu_exists('k'), apcu_delete('k'), apcu_inc('k', 1, $success), $success, apcu_clear_cache(), apcu_key_info('k'), apcu_entry('k', fn() => 1)]), "\n";
echo json_encode([@apcu_cache_info(), @apcu_sma_info()]), "\n";
try {
    new APCUIterator();
} catch (Error $error) {
    echo $error->getMessage(), "\n";
}
$php = getenv('TEST_PHP_EXECUTABLE') . ' ' . getenv('TEST_PHP_EXTRA_ARGS');
foreach (['-d hone.cache_cli=1 -d hone.cache_size=0', '-d hone.cache_cli=1 -d hone.cache_size=1k', '-d hone.cache_cli=1 -d hone.cache_pool=other',
    '-d hone.cache_cli=1 -d hone.cache_size=0 -d "hone.cache_pools=\\"a=2M,b=4M\\""', '-d log_errors=1 -d hone.cache_cli=1 -d hone.cache_size=0 -d "hone.cache_pools=\\"a=2M\\""',
    '-d hone.cache_cli=1 -d hone.cache_size=0 -d "hone.cache_pools=\\"a=2M\\"" -d hone.cache_pool=default', '-d hone.cache_cli=1 -d "hone.cache_pools=\\"a=2M,b=4M\\"" -d hone.cache_pool=b',
    '-d hone.cache_cli=1 -d "hone.cache_pools=\\"a,b=many,=2M,c=2M\\"" -d hone.cache_pool=c', '-d hone.apcu_compat=0', '-d apc.enable_cli=1', '-d apc.enable_cli=1 -d apc.enabled=0',
    '-d apc.enable_cli=1 -d apc.shm_size=8M', '-d apc.enable_cli=1 -d apc.shm_size=8', '-d apc.enable_cli=1 -d apc.shm_size=8M -d hone.cache_size=4M'] as $options) {
    echo "$options\n", shell_exec(str_replace("'", '', "$php $options") . ' -d html_errors=0 -d display_startup_errors=1 -r ' . escapeshellarg('
        $i = Hone\Cache::info();
        echo json_encode([$i["enabled"], $i["reason"] ?? $i["pool"], $i["size"] ?? 0, $i["pools"], function_exists("apcu_fetch") ? apcu_enabled() : null, ini_get("apc.enable_cli"), ini_get("apc.enabled"), @ini_get_all("apcu")["apc.enabled"]["global_value"], function_exists("apcu_store") && apcu_store("k", 1)]), "\n";') . ' 2>&1');
}
?>
--EXPECTF--
[false,"hone.cache_cli is off"]
[false,false,false,false]
["default",[],"default",false]
[false,0,0,false,false]
[false,false,false,"computed"]
[[],"",""]
[false,false,{"k":-1},false,[],true,false,false,false,false,true,null,null]
[false,false]
APC must be enabled to use APCUIterator
-d hone.cache_cli=1 -d hone.cache_size=0
[false,"hone.cache_size is 0",0,[],false,"1","0","0",false]
-d hone.cache_cli=1 -d hone.cache_size=1k

Warning: hone.cache_size: "1k": the size of a pool must be 1M to 128G; this pool is off in %s on line %d
[false,"no store could be made",0,[],false,"1","0","1",false]
-d hone.cache_cli=1 -d hone.cache_pool=other
PHP Warning:  hone.cache_pool: "other" is not in hone.cache_pools; the cache is off in this process
[false,"the pool of hone.cache_pool does not exist",0,{"default":33554432},false,"1","0","1",false]
-d hone.cache_cli=1 -d hone.cache_size=0 -d "hone.cache_pools=\"a=2M,b=4M\""
[false,"hone.cache_pool is empty, and there is no pool of hone.cache_size",0,{"a":2097152,"b":4194304},false,"1","0","1",false]
-d log_errors=1 -d hone.cache_cli=1 -d hone.cache_size=0 -d "hone.cache_pools=\"a=2M\""
PHP Notice:  hone.cache_pool is empty, and there is no pool of hone.cache_size; the cache is off in this process
[false,"hone.cache_pool is empty, and there is no pool of hone.cache_size",0,{"a":2097152},false,"1","0","1",false]
-d hone.cache_cli=1 -d hone.cache_size=0 -d "hone.cache_pools=\"a=2M\"" -d hone.cache_pool=default
PHP Warning:  hone.cache_pool: "default" is not in hone.cache_pools; the cache is off in this process
[false,"the pool of hone.cache_pool does not exist",0,{"a":2097152},false,"1","0","1",false]
-d hone.cache_cli=1 -d "hone.cache_pools=\"a=2M,b=4M\"" -d hone.cache_pool=b
[true,"b",4194304,{"default":33554432,"a":2097152,"b":4194304},true,"1","1","1",true]
-d hone.cache_cli=1 -d "hone.cache_pools=\"a,b=many,=2M,c=2M\"" -d hone.cache_pool=c

Warning: hone.cache_pools: "a": the form must be NAME=SIZE; this pool is off in %s on line %d

Warning: hone.cache_pools: "b=many": the size must be a number such as 64M or 1G; this pool is off in %s on line %d

Warning: hone.cache_pools: "=2M": a name must have 1 to 31 bytes; this pool is off in %s on line %d
[true,"c",2097152,{"default":33554432,"c":2097152},true,"1","1","1",true]
-d hone.apcu_compat=0
[false,"hone.cache_cli is off",0,[],null,false,false,null,false]
-d apc.enable_cli=1
[true,"default",33554432,{"default":33554432},true,"1","1","1",true]
-d apc.enable_cli=1 -d apc.enabled=0
[true,"default",33554432,{"default":33554432},false,"1","0","0",false]
-d apc.enable_cli=1 -d apc.shm_size=8M
[true,"default",8388608,{"default":8388608},true,"1","1","1",true]
-d apc.enable_cli=1 -d apc.shm_size=8
[true,"default",8388608,{"default":8388608},true,"1","1","1",true]
-d apc.enable_cli=1 -d apc.shm_size=8M -d hone.cache_size=4M
[true,"default",4194304,{"default":4194304},true,"1","1","1",true]
