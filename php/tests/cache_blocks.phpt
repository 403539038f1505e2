--TEST--
hone.cache_read=block: one copy for each value and request
--INI--
hone.cache_cli=1
hone.cache_read=block
hone.cache_block_bytes=8M
--FILE--
<?php
use Hone\Cache;

$used = fn() => Cache::info()['block_bytes_used'];

// Many copies, each read again.
for ($i = 0; $i < 1000; $i++) {
    Cache::store("many$i", ['i' => $i, 'list' => [$i, 'text', 2.5, null, [$i]]]);
}
$all = fn() => array_map(fn($i) => Cache::fetch("many$i"), range(0, 999));
$many = $all();
$once = $used();
$again = $all();
// With the places of the table.
var_dump($once >= 1000 * 640, $used() === $once, $many === $again,
    array_column($many, 'i') === range(0, 999), $many[999]['list'] === [999, 'text', 2.5, null, [999]]);

// A value may have the address of the value that it replaces.
$values = [];
for ($i = 0; $i < 2000; $i++) {
    Cache::store('key', [$i]);
    $values[] = Cache::fetch('key');
}
var_dump(array_column($values, 0) === range(0, 1999));

// Above the budget, a copy is an ordinary PHP value: what is written to it is not in the cache.
$before = $used();
foreach (['a copy is too much' => $before + 100, 'smaller than a copy' => 100] as $key => $budget) {
    ini_set('hone.cache_block_bytes', $budget);
    echo json_encode([Cache::fetch('many7') === $many[7], $used() === $before]), "\n";
    Cache::store($key, $many[8]);
    $copy = Cache::fetch($key);
    $copy['more'] = 1;
    echo json_encode([Cache::fetch($key) === $many[8], $used() === $before]), "\n";
}
?>
--EXPECT--
bool(true)
bool(true)
bool(true)
bool(true)
bool(true)
bool(true)
[true,true]
[true,true]
[true,true]
[true,true]
