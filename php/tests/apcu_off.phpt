--TEST--
The functions of APCu and the extension apcu: where they do not exist, or are disabled, and calls that end a process
--SKIPIF--
<?php require __DIR__ . '/apcu_served.inc'; ?>
--FILE--
<?php
$php = getenv('TEST_PHP_EXECUTABLE') . ' ' . str_replace("'", '', getenv('TEST_PHP_EXTRA_ARGS'));
function run(string $options, string $code): void
{
    global $php;
    echo $options, "\n", preg_replace('/ in \S* ?on line \d+$/m', '', ltrim(shell_exec("$php $options -d html_errors=0 -r " . escapeshellarg($code) . ' 2>&1'), "\n"));
}
$facts = '
    $setting = fn($module) => isset(ini_get_all($module)["apc.enabled"]);
    $functions = get_extension_funcs("apcu");
    $is_loaded = extension_loaded("apcu");
    echo json_encode([
        "names" => function_exists("apcu_fetch") ? (new ReflectionFunction("apcu_fetch"))->getExtensionName() : null,
        "class" => class_exists("APCUIterator") ? (new ReflectionClass("APCUIterator"))->getExtensionName() : null,
        "constants" => defined("APC_ITER_ALL") ? isset(get_defined_constants(true)["hone"]["APC_ITER_ALL"]) : null,
        "extension" => [$is_loaded, phpversion("apcu"), $functions ? count($functions) : $functions, in_array("apcu", get_loaded_extensions()), $setting($is_loaded ? "apcu" : "hone")],
        "settings" => [ini_get("apc.enabled"), ini_get("apc.enable_cli"), ini_get_all()["apc.enabled"]["access"] ?? null],
        "works" => function_exists("apcu_fetch") ? [apcu_enabled(), apcu_store("k", 1), apcu_fetch("k"), apcu_enabled() ? iterator_count(new APCUIterator()) : null] : null,
        "cache" => Hone\Cache::store("k", 1),
    ]), "\n";';
foreach (['', '-d apc.enable_cli=1',
    // hone.cache_cli is enough; programs read apc.enable_cli.
    '-d hone.cache_cli=1', '-d hone.cache_cli=1 -d apc.enabled=0',
    // The functions are those of hone itself, and work.
    '-d hone.apcu_module=0 -d apc.enable_cli=1', '-d hone.apcu_module=2 -d apc.enable_cli=1',
    '-d hone.apcu_compat=0', '-d hone.apcu_compat=0 -d hone.apcu_module=1 -d hone.cache_cli=1',
    // As with APCu that is disabled: the names are there.
    '-d hone.cache_size=0', '-d hone.cache_cli=1 -d hone.cache_size=0', '-d apc.enabled=0 -d apc.enable_cli=1',
    '-d hone.cache_cli=1 -d hone.cache_size=0 -d "hone.cache_pools=\\"mine=2M\\"" -d hone.cache_pool=mine'] as $options) {
    run($options, $facts);
}
echo "--\n";
foreach (['new APCUIterator("no delimiter");', 'new APCUIterator(null, APC_ITER_ALL, -1);', 'new APCUIterator(null, 1 << 40);', 'apcu_delete(new stdClass);'] as $code) {
    run('-d apc.enable_cli=1', $code);
}
?>
--EXPECTF--

{"names":"apcu","class":"apcu","constants":false,"extension":[true,"5.1.22",14,true,true],"settings":["1","0",4],"works":[false,false,false,null],"cache":false}
-d apc.enable_cli=1
{"names":"apcu","class":"apcu","constants":false,"extension":[true,"5.1.22",14,true,true],"settings":["1","1",4],"works":[true,true,1,1],"cache":true}
-d hone.cache_cli=1
{"names":"apcu","class":"apcu","constants":false,"extension":[true,"5.1.22",14,true,true],"settings":["1","1",4],"works":[true,true,1,1],"cache":true}
-d hone.cache_cli=1 -d apc.enabled=0
{"names":"apcu","class":"apcu","constants":false,"extension":[true,"5.1.22",14,true,true],"settings":["0","1",4],"works":[false,false,false,null],"cache":true}
-d hone.apcu_module=0 -d apc.enable_cli=1
{"names":"hone","class":"hone","constants":true,"extension":[false,false,false,false,true],"settings":["1","1",4],"works":[true,true,1,1],"cache":true}
-d hone.apcu_module=2 -d apc.enable_cli=1
Warning: hone.apcu_module: "2" is not on or off; the default on is used
{"names":"apcu","class":"apcu","constants":false,"extension":[true,"5.1.22",14,true,true],"settings":["1","1",4],"works":[true,true,1,1],"cache":true}
-d hone.apcu_compat=0
{"names":null,"class":null,"constants":null,"extension":[false,false,false,false,false],"settings":[false,false,null],"works":null,"cache":false}
-d hone.apcu_compat=0 -d hone.apcu_module=1 -d hone.cache_cli=1
{"names":null,"class":null,"constants":null,"extension":[false,false,false,false,false],"settings":[false,false,null],"works":null,"cache":true}
-d hone.cache_size=0
{"names":"apcu","class":"apcu","constants":false,"extension":[true,"5.1.22",14,true,true],"settings":["0","0",4],"works":[false,false,false,null],"cache":false}
-d hone.cache_cli=1 -d hone.cache_size=0
{"names":"apcu","class":"apcu","constants":false,"extension":[true,"5.1.22",14,true,true],"settings":["0","1",4],"works":[false,false,false,null],"cache":false}
-d apc.enabled=0 -d apc.enable_cli=1
{"names":"apcu","class":"apcu","constants":false,"extension":[true,"5.1.22",14,true,true],"settings":["0","1",4],"works":[false,false,false,null],"cache":true}
-d hone.cache_cli=1 -d hone.cache_size=0 -d "hone.cache_pools=\"mine=2M\"" -d hone.cache_pool=mine
{"names":"apcu","class":"apcu","constants":false,"extension":[true,"5.1.22",14,true,true],"settings":["1","1",4],"works":[true,true,1,1],"cache":true}
--
-d apc.enable_cli=1
Warning: APCUIterator::__construct(): Delimiter must not be alphanumeric%s NUL%S in %s on line %d

Fatal error: APCUIterator::__construct(): Could not compile regular expression: no delimiter in %s on line %d
-d apc.enable_cli=1
Fatal error: APCUIterator::__construct(): APCUIterator chunk size must be 0 or greater in %s on line %d
-d apc.enable_cli=1
Fatal error: APCUIterator::__construct(): APCUIterator format is invalid in %s on line %d
-d apc.enable_cli=1
Fatal error: apcu_delete(): apc_delete object argument must be instance of APCUIterator. in %s on line %d
