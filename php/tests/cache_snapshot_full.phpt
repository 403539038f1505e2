--TEST--
Hone\Cache::load(): the most used values are loaded if the cache is smaller
--INI--
hone.cache_cli=1
hone.cache_size=16M
--FILE--
<?php
use Hone\Cache;
require __DIR__ . '/cache_snapshot.inc';

for ($i = 0; $i < 500; $i++) {
    Cache::store("rare $i", str_repeat('r', 10000));
    Cache::store("often $i", str_repeat('o', 1000));
}
for ($i = 0; $i < 500; $i++) {
    for ($j = 0; $j < 64; $j++) {
        Cache::fetch("often $i");
    }
}
Cache::store('large', str_repeat('l', 5 << 20));
Cache::save($file);
echo strlen(file_get_contents($file)) >> 20, " MiB\n";

file_put_contents("$file.php", '<?php
    use Hone\Cache;
    $n = Cache::load($argv[1]);
    if (isset($argv[2])) {
        echo json_encode([Cache::store("new", str_repeat("n", 100000)), Cache::info()["evictions"] > 0, Cache::load($argv[1]) >= 0, Cache::exists("new")]), "\n";
        exit;
    }
    $info = Cache::info();
    $often = $rare = 0;
    for ($i = 0; $i < 500; $i++) {
        $often += Cache::fetch("often $i") === str_repeat("o", 1000);
        $rare += Cache::fetch("rare $i") === str_repeat("r", 10000);
    }
    echo json_encode([$n === $info["entries"], $info["evictions"], $often, $rare > 50 && $rare < 490, $often + $rare === $n, Cache::exists("large")]), "\n";');
$php = getenv('TEST_PHP_EXECUTABLE') . ' ' . str_replace("'", '', getenv('TEST_PHP_EXTRA_ARGS'));
foreach (['', '-d hone.cache_protect=1', '-d hone.cache_read=copy'] as $option) {
    echo shell_exec("$php -d hone.cache_cli=1 -d hone.cache_size=4M $option $file.php $file 2>&1");
}
echo "-- stores go on\n", shell_exec("$php -d hone.cache_cli=1 -d hone.cache_size=4M $file.php $file store 2>&1");
?>
--CLEAN--
<?php
require __DIR__ . '/cache_snapshot.inc';
clean();
?>
--EXPECT--
10 MiB
[true,0,500,true,true,false]
[true,0,500,true,true,false]
[true,0,500,true,true,false]
-- stores go on
[true,true,true,true]
