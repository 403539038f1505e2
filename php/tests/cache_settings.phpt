--TEST--
Settings: an invalid number is refused by one sentence with the value and its replacement
--FILE--
<?php
$php = getenv('TEST_PHP_EXECUTABLE') . ' ' . str_replace("'", '', getenv('TEST_PHP_EXTRA_ARGS'));
function run(string $options, string $code, string $by = ''): string
{
    global $php;
    return shell_exec("$by$php -d hone.cache_cli=1 $options -d html_errors=0 -d display_startup_errors=1 -r " . escapeshellarg($code) . ' 2>&1');
}
$figures = '
    $i = Hone\Cache::info();
    echo json_encode([$i["size"] ?? null, $i["slots"] ?? null, $i["pools"], ini_get("hone.cache_shared_seconds"), ini_get("hone.cache_block_bytes"),
        ini_get("hone.cache_serializer"), ini_get("apc.ttl"), Hone\Cache::store("k", [1]) && Hone\Cache::fetch("k") === [1]]), "\n";';
$plain = run('', $figures);
echo $plain;

/** The warnings, each in a line, and the figures if they are not those of the defaults. */
function told(string $output): string
{
    str_ends_with($output, "]\n") || print("no figures\n");
    return str_replace(["\n\nWarning: ", "\nWarning: ", ' in Unknown on line 0', $GLOBALS['plain']], ["\n", '', '', ''], $output);
}
foreach (['hone.cache_size', 'hone.cache_slots', 'hone.cache_shared_seconds', 'hone.cache_block_bytes', 'apc.shm_size', 'apc.ttl'] as $setting) {
    foreach ($setting === 'hone.cache_size' ? ['1.5G', '1T', 'many', '9223372036854775808', '-99999999999999999999', '-1'] : ['12x', '-1'] as $value) {
        $output = run("-d $setting=$value", $figures);
        $sentence = "\nWarning: $setting: \"$value\" is not ";
        if (!str_starts_with($output, $sentence) || !str_ends_with($output, "\n$plain") || substr_count($output, "\n") !== 3) {
            echo "$setting=$value: $output";
        }
    }
    echo told($output);
}
$wrong = ['hone.cache_slots=0', 'hone.cache_slots=', 'hone.cache_slots=2147483648', 'hone.cache_slots=4294967297', 'hone.cache_serializer=msgpack', 'hone.cache_serializer=',
    'hone.cache_read=', 'hone.cache_huge_pages=maybe', 'hone.apcu_compat=2', 'hone.cache_size=1048575', 'hone.cache_size=129G', 'apc.shm_size=1048575',
    '"hone.cache_pools=\\"a=-1,b=12x,c=,d=1T,e=9223372036854775808,f=129G,g=8M\\""'];
foreach ($wrong as $option) {
    echo told(run("-d $option", $figures));
}
echo "These are right:\n";
$right = ['hone.cache_size=1M', 'hone.cache_size=0x400000', 'hone.cache_slots=1', 'hone.cache_slots=2147483647', 'hone.cache_block_bytes=0',
    'hone.cache_shared_seconds=0', 'hone.cache_protect=Yes', 'hone.cache_huge_pages=', 'hone.cache_huge_pages=FALSE', 'apc.shm_size=', 'apc.shm_size=0', 'hone.cache_serializer=igbinary'];
foreach ($right as $option) {
    echo "$option: ", run("-d $option", $figures);
}
// Under valgrind the processes above run without it. Each of these runs in a valgrind
// of its own, with one value of every setting.
$few = [];
foreach (getenv('USE_ZEND_ALLOC') === '0' ? [...$wrong, ...$right] : [] as $option) {
    [$setting] = explode('=', $option, 2);
    for ($i = 0; isset($few[$i][$setting]); $i++);
    $few[$i][$setting] = "-d $option";
}
foreach ($few as $options) {
    $output = run(implode(' ', $options), $figures, 'valgrind -q ');
    if (!preg_match('/^\[.*\]$/m', $output) || preg_match('/^==\d+==/m', $output)) {
        echo implode(' ', $options), ": $output\n";
    }
}
echo run('', '
    foreach (["hone.cache_shared_seconds", "hone.cache_block_bytes"] as $setting) {
        foreach (["7", "-1", "7x", "8"] as $value) {
            echo json_encode([@ini_set($setting, $value), error_get_last()["message"] ?? null]), "\n";
            error_clear_last();
        }
    }');
?>
--EXPECT--
[33554432,1024,{"default":33554432},"60","16M","php","0",true]
hone.cache_size: "-1" is not a size, such as 64M or 1G; the default 32M is used
hone.cache_slots: "-1" is not a number from 1 to 2147483647; the default 1024 is used
hone.cache_shared_seconds: "-1" is not a number of seconds; the default 60 is used
hone.cache_block_bytes: "-1" is not a size, such as 64M or 1G; the default 16M is used
apc.shm_size: "-1" is not a size, such as 64M or 1G; the default 32M is used
apc.ttl: "-1" is not a number of seconds; the default 0 is used
hone.cache_slots: "0" is not a number from 1 to 2147483647; the default 1024 is used
hone.cache_slots: "" is not a number from 1 to 2147483647; the default 1024 is used
hone.cache_slots: "2147483648" is not a number from 1 to 2147483647; the default 1024 is used
hone.cache_slots: "4294967297" is not a number from 1 to 2147483647; the default 1024 is used
hone.cache_serializer: "msgpack" is not php or igbinary; the default php is used
hone.cache_serializer: "" is not php or igbinary; the default php is used
hone.cache_read: "" is not auto, shared, block or copy; the default auto is used
hone.cache_huge_pages: "maybe" is not on or off; the default off is used
hone.apcu_compat: "2" is not on or off; the default on is used
hone.cache_size: "1048575": the size of a pool must be 1M to 128G; this pool is off
[null,null,[],"60","16M","php","0",false]
hone.cache_size: "129G": the size of a pool must be 1M to 128G; this pool is off
[null,null,[],"60","16M","php","0",false]
apc.shm_size: "1048575": the size of a pool must be 1M to 128G; this pool is off
[null,null,[],"60","16M","php","0",false]
hone.cache_pools: "a=-1": the size of a pool must be 1M to 128G; this pool is off
hone.cache_pools: "b=12x": the size must be a number such as 64M or 1G; this pool is off
hone.cache_pools: "c=": the size of a pool must be 1M to 128G; this pool is off
hone.cache_pools: "d=1T": the size must be a number such as 64M or 1G; this pool is off
hone.cache_pools: "e=9223372036854775808": the size must be a number such as 64M or 1G; this pool is off
hone.cache_pools: "f=129G": the size of a pool must be 1M to 128G; this pool is off
[33554432,1024,{"default":33554432,"g":8388608},"60","16M","php","0",true]
These are right:
hone.cache_size=1M: [2097152,1024,{"default":1048576},"60","16M","php","0",true]
hone.cache_size=0x400000: [4194304,1024,{"default":4194304},"60","16M","php","0",true]
hone.cache_slots=1: [33554432,1,{"default":33554432},"60","16M","php","0",true]
hone.cache_slots=2147483647: [33554432,32768,{"default":33554432},"60","16M","php","0",true]
hone.cache_block_bytes=0: [33554432,1024,{"default":33554432},"60","0","php","0",true]
hone.cache_shared_seconds=0: [33554432,1024,{"default":33554432},"0","16M","php","0",true]
hone.cache_protect=Yes: [33554432,1024,{"default":33554432},"60","16M","php","0",true]
hone.cache_huge_pages=: [33554432,1024,{"default":33554432},"60","16M","php","0",true]
hone.cache_huge_pages=FALSE: [33554432,1024,{"default":33554432},"60","16M","php","0",true]
apc.shm_size=: [33554432,1024,{"default":33554432},"60","16M","php","0",true]
apc.shm_size=0: [33554432,1024,{"default":33554432},"60","16M","php","0",true]
hone.cache_serializer=igbinary: [33554432,1024,{"default":33554432},"60","16M","igbinary","0",true]
["60",null]
[false,"hone.cache_shared_seconds: \"-1\" is not a number of seconds; the setting stays 7"]
[false,"hone.cache_shared_seconds: \"7x\" is not a number of seconds; the setting stays 7"]
["7",null]
["16M",null]
[false,"hone.cache_block_bytes: \"-1\" is not a size, such as 64M or 1G; the setting stays 7"]
[false,"hone.cache_block_bytes: \"7x\" is not a size, such as 64M or 1G; the setting stays 7"]
["7",null]
