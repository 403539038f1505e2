--TEST--
The extension apcu: where there is none, and where it is disabled
--SKIPIF--
<?php require __DIR__ . '/apcu_served.inc'; ?>
--FILE--
<?php
$php = getenv('TEST_PHP_EXECUTABLE') . ' ' . getenv('TEST_PHP_EXTRA_ARGS');
function run(string $options, string $code): void
{
    global $php;
    echo "$options\n", shell_exec("$php $options -r " . escapeshellarg($code) . ' 2>&1'), "\n";
}
$names = '
    echo json_encode([extension_loaded("apcu"), phpversion("apcu"), get_extension_funcs("apcu"), in_array("apcu", get_loaded_extensions()), function_exists("apcu_fetch"),
        function_exists("apcu_fetch") ? (new ReflectionFunction("apcu_fetch"))->getExtensionName() : null,
        class_exists("APCUIterator") ? (new ReflectionClass("APCUIterator"))->getExtensionName() : null,
        isset(get_defined_constants(true)["hone"]["APC_ITER_ALL"]), isset(ini_get_all("hone")["apc.enabled"]), ini_get("apc.enabled")]), "\n";';
// The functions are those of hone itself, and work.
run('-d hone.apcu_module=0 -d apc.enable_cli=1', "$names var_dump(apcu_store('k', 1), apcu_fetch('k'), iterator_count(new APCUIterator()));");
run('-d hone.apcu_compat=0', $names);
run('-d hone.apcu_compat=0 -d hone.apcu_module=1', $names);
// As with APCu that is disabled: the name is there.
$enabled = 'var_dump(extension_loaded("apcu"), ini_get("apc.enabled"), apcu_enabled(), apcu_store("k", 1));';
run('-d hone.cache_size=0', $enabled);
run('-d apc.enabled=0 -d apc.enable_cli=1', $enabled);
run('-d hone.apcu_module=2', 'var_dump(extension_loaded("apcu"));');
?>
--EXPECT--
-d hone.apcu_module=0 -d apc.enable_cli=1
[false,false,false,false,true,"hone","hone",true,true,"1"]
bool(true)
int(1)
int(1)

-d hone.apcu_compat=0
[false,false,false,false,false,null,null,false,false,false]

-d hone.apcu_compat=0 -d hone.apcu_module=1
[false,false,false,false,false,null,null,false,false,false]

-d hone.cache_size=0
bool(true)
string(1) "0"
bool(false)
bool(false)

-d apc.enabled=0 -d apc.enable_cli=1
bool(true)
string(1) "0"
bool(false)
bool(false)

-d hone.apcu_module=2

Warning: hone.apcu_module: "2" is not on or off; the default on is used in Unknown on line 0
bool(true)
