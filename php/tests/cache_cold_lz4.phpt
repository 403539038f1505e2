--TEST--
Values in the cold form that LZ4 makes shorter: they are the same
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') die('skip valgrind has a memory of its own');
ob_start();
(new ReflectionExtension('hone'))->info();
if (str_contains(ob_get_clean(), 'LZ4 => off')) die('skip this build is without LZ4');
?>
--INI--
hone.cache_cli=1
hone.cache_size=2M
log_errors=1
error_log=
--FILE--
<?php
use Hone\Cache;

function check(string $what, bool $good): void
{
    if (!$good) {
        echo "wrong: $what\n";
    }
}
$size = fn(string $key) => iterator_to_array(Cache::entries($key))[$key]['size'];
$rows = fn(int $n) => array_map(fn($i) => ['id' => $n + $i, 'name' => "the name of row $i of $n", 'at' => new DateTimeImmutable("@$i")], range(1, 30));
$flat = fn(int $n) => array_map(fn($i) => ['id' => $n + $i, 'name' => "the name of row $i of $n"], range(1, 30));
// More strings than the cache has room for: memory is short.
$fill = function (): void {
    for ($n = 0; $n < 300; $n++) {
        Cache::store("fill$n", str_repeat('x', 10000));
    }
};
// LZ4 makes these no shorter.
mt_srand(1);
$random = ['bytes' => implode(array_map(fn() => chr(mt_rand(0, 255)), range(1, 3000)))] + range(1, 300);

$fill();
Cache::store('flat', $flat(5));
Cache::store('objects', $rows(7));
Cache::store('random', $random);
check('cold', Cache::info()['cold_entries'] === 3);
check('shorter', $size('flat') < 500 && strlen(implode(array_column($flat(5), 'name'))) > 600);
check('not longer', $size('random') > 3000 && $size('random') < 4200);
for ($i = 0; $i < 3; $i++) {
    check('flat', Cache::fetch('flat') === $flat(5) && apcu_fetch('flat') === $flat(5) && Cache::fetch_field('flat', [3, 'id']) === 9);
    check('objects', serialize(Cache::fetch('objects')) === serialize($rows(7)));
    check('random', Cache::fetch('random') === $random);
}

// What the hand packs is shorter, too, and a file has it as it is.
Cache::clear();
for ($n = 0; Cache::info()['packed'] < 3000; $n++) {
    Cache::store("row$n", $flat($n));
}
$entries = Cache::info()['entries'];
check("entries $entries", $entries > 2500 && $size('row3') < 500);
$file = __DIR__ . '/cache_cold_lz4.tmp';
check('saved', Cache::save($file) && filesize($file) < $entries * 400);
Cache::clear();
$loaded = Cache::load($file);
unlink($file);
check("loaded $loaded", $loaded > $entries * 0.9 && Cache::info()['cold_entries'] > $loaded * 0.9);
for ($i = $same = 0; $i < $n; $i++) {
    $same += Cache::fetch("row$i") === $flat($i);
}
check("$same are the same", $same === $loaded);
?>
--EXPECTF--
PHP Notice:  The shared cache "default" of 2097152 bytes is full %s
