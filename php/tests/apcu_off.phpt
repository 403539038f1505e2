--TEST--
The functions of APCu: where they do not exist, and invalid settings
--FILE--
<?php
$php = getenv('TEST_PHP_EXECUTABLE') . ' ' . getenv('TEST_PHP_EXTRA_ARGS');
function run(string $options, string $code): void
{
    global $php;
    echo "$options $code\n", shell_exec("$php $options -r " . escapeshellarg($code) . ' 2>&1'), "\n";
}
$exists = 'var_dump(function_exists("apcu_fetch"), class_exists("APCUIterator"), defined("APC_ITER_ALL"), ini_get("apc.enabled"));';
run('-d hone.apcu_compat=0', $exists);
run('-d hone.cache_size=0', $exists);
run('-d hone.cache_cli=1 -d hone.cache_size=0', 'var_dump(ini_get("apc.enabled"), ini_get("apc.enable_cli"), apcu_enabled(), apcu_store("k", 1), apcu_fetch("k"));');
run('-d hone.cache_cli=1 -d hone.cache_size=0 -d "hone.cache_pools=\\"mine=2M\\"" -d hone.cache_pool=mine', 'var_dump(ini_get("apc.enabled"), apcu_enabled());');
run('', $exists);
// hone.cache_cli is enough; programs read apc.enable_cli.
run('-d hone.cache_cli=1', 'var_dump(apcu_enabled(), ini_get("apc.enable_cli"));');
run('-d hone.cache_cli=1 -d apc.enabled=0', 'var_dump(apcu_enabled(), apcu_store("k", 1), Hone\Cache::store("k", 1), Hone\Cache::info()["apcu"]);');
run('-d apc.enable_cli=1', 'new APCUIterator("no delimiter");');
run('-d apc.enable_cli=1', 'new APCUIterator(null, APC_ITER_ALL, -1);');
run('-d apc.enable_cli=1', 'new APCUIterator(null, 1 << 40);');
run('-d apc.enable_cli=1', 'apcu_delete(new stdClass);');
?>
--EXPECTF--
-d hone.apcu_compat=0 %s
bool(false)
bool(false)
bool(false)
bool(false)

-d hone.cache_size=0 %s
bool(true)
bool(true)
bool(true)
string(1) "0"

-d hone.cache_cli=1 -d hone.cache_size=0 var_dump%s
string(1) "0"
string(1) "1"
bool(false)
bool(false)
bool(false)

-d hone.cache_cli=1 -d hone.cache_size=0 -d "hone.cache_pools=\"mine=2M\"" -d hone.cache_pool=mine var_dump%s
string(1) "1"
bool(true)

 var_dump%s
bool(true)
bool(true)
bool(true)
string(1) "1"

-d hone.cache_cli=1 var_dump%s
bool(true)
string(1) "1"

-d hone.cache_cli=1 -d apc.enabled=0 %s
bool(false)
bool(false)
bool(true)
bool(false)

-d apc.enable_cli=1 new APCUIterator("no delimiter");

Warning: APCUIterator::__construct(): Delimiter must not be alphanumeric%s NUL%sin %s on line %d

Fatal error: APCUIterator::__construct(): Could not compile regular expression: no delimiter in %s on line %d

-d apc.enable_cli=1 new APCUIterator(null, APC_ITER_ALL, -1);

Fatal error: APCUIterator::__construct(): APCUIterator chunk size must be 0 or greater in %s on line %d

-d apc.enable_cli=1 new APCUIterator(null, 1 << 40);

Fatal error: APCUIterator::__construct(): APCUIterator format is invalid in %s on line %d

-d apc.enable_cli=1 apcu_delete(new stdClass);

Fatal error: apcu_delete(): apc_delete object argument must be instance of APCUIterator. in %s on line %d
