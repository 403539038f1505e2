--TEST--
hone.cache_pools: names that a file, a page or a label cannot have are refused
--FILE--
<?php
$ini = __DIR__ . '/cache_pools.ini';
// Without -n, PHP reads the file of -c, and would also read the files of the system.
$php = 'PHP_INI_SCAN_DIR= ' . getenv('TEST_PHP_EXECUTABLE') . ' ' . str_replace(["'", ' -n '], ['', ' '], ' ' . getenv('TEST_PHP_EXTRA_ARGS')) . ' -c ' . escapeshellarg($ini);
function run(string $pools, string $pool): string
{
    global $ini, $php;
    file_put_contents($ini, "hone.cache_cli = 1\nhone.cache_size = 0\nhtml_errors = 0\ndisplay_startup_errors = 1\nhone.cache_pools = '$pools'\nhone.cache_pool = '$pool'\n");
    return shell_exec("$php -r " . escapeshellarg('
        $i = Hone\Cache::info();
        echo json_encode([$i["enabled"], $i["pool"] ?? $i["reason"], array_keys($i["pools"])]), "\n";
        foreach (preg_grep("/^hone_cache_entries/", explode("\n", Hone\Cache::metrics())) as $line) {
            echo "$line\n";
        }') . ' 2>&1');
}
$output = '';
$longest = str_repeat('n', 31);
foreach ([
    ['a/b=2M,../c=2M,/=2M,good=2M', 'good'],
    ["a\x01b=2M,a\nb=2M,\x7f=2M,a\x1b[31mb=2M,good=2M", 'good'],
    ["\xffa=2M,b\u{fc}=2M,\u{85}=2M,good=2M", 'good'],
    ["$longest=2M,{$longest}n=2M,=2M", $longest],
    ['twice=2M,twice=4M,twicf=2M', 'twice'],
    ['a"b\\c=2M,..=2M', 'a"b\\c'],
    ['a/b=2M', 'a/b'],
    [implode(',', array_map(fn($i) => "p$i=1M", range(1, 33))), 'p32'],
] as [$pools, $pool]) {
    echo str_replace(["\n\nWarning: hone.cache_pools: ", "\nWarning: hone.cache_pools: ", ' in Unknown on line 0'], ["\n", '', ''], run($pools, $pool)), "--\n";
}
?>
--CLEAN--
<?php
@unlink(__DIR__ . '/cache_pools.ini');
?>
--EXPECT--
"a/b=2M": a name must have only printable ASCII characters other than "/"; this pool is off
"../c=2M": a name must have only printable ASCII characters other than "/"; this pool is off
"/=2M": a name must have only printable ASCII characters other than "/"; this pool is off
[true,"good",["good"]]
hone_cache_entries{pool="good"} 0
--
"a?b=2M": a name must have only printable ASCII characters other than "/"; this pool is off
"a?b=2M": a name must have only printable ASCII characters other than "/"; this pool is off
"?=2M": a name must have only printable ASCII characters other than "/"; this pool is off
"a?[31mb=2M": a name must have only printable ASCII characters other than "/"; this pool is off
[true,"good",["good"]]
hone_cache_entries{pool="good"} 0
--
"?a=2M": a name must have only printable ASCII characters other than "/"; this pool is off
"b??=2M": a name must have only printable ASCII characters other than "/"; this pool is off
"??=2M": a name must have only printable ASCII characters other than "/"; this pool is off
[true,"good",["good"]]
hone_cache_entries{pool="good"} 0
--
"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn=2M": a name must have 1 to 31 bytes; this pool is off
"=2M": a name must have 1 to 31 bytes; this pool is off
[true,"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",["nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"]]
hone_cache_entries{pool="nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"} 0
--
"twice=4M": a pool of this name exists already; this pool is off
[true,"twice",["twice","twicf"]]
hone_cache_entries{pool="twice"} 0
--
[true,"a\"b\\c",["a\"b\\c",".."]]
hone_cache_entries{pool="a\"b\\c"} 0
--
"a/b=2M": a name must have only printable ASCII characters other than "/"; this pool is off
[false,"no store could be made",[]]
--
"p33=1M": there are 32 pools already; this pool is off
[true,"p32",["p1","p2","p3","p4","p5","p6","p7","p8","p9","p10","p11","p12","p13","p14","p15","p16","p17","p18","p19","p20","p21","p22","p23","p24","p25","p26","p27","p28","p29","p30","p31","p32"]]
hone_cache_entries{pool="p32"} 0
--
