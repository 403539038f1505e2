<?php
// SPDX-License-Identifier: BSD-3-Clause
// Fetches and stores of the cache, for counts.py: cache.php TURNS. Below
// callgrind: memory_get_peak_usage() begins and ends each loop that counts, and
// the lines that are printed name these loops.
use Hone\Cache;

$turns = (int)$argv[1];
$keys = [];
for ($i = 0; $i < 100; $i++)
    $keys["key $i"] = $i % 3 ? $i : "value $i";
$nested = array_fill(0, 20, ['id' => 1, 'name' => str_repeat('x', 20),
    'tags' => ['a', 'b', 'c']]);
foreach (['20 B' => str_repeat('x', 20), '4 KiB' => str_repeat('x', 4096),
    '100 keys' => $keys, 'nested' => $nested] as $name => $value) {
    Cache::store($name, $value);
    for ($i = 0; $i < 10; $i++)
        $found = Cache::fetch($name);
    memory_get_peak_usage();
    for ($i = 0; $i < $turns; $i++)
        $found = Cache::fetch($name);
    memory_get_peak_usage();
    echo "fetch $name\n";
    for ($i = 0; $i < 10; $i++)
        Cache::store($name, $value);
    memory_get_peak_usage();
    for ($i = 0; $i < $turns; $i++)
        Cache::store($name, $value);
    memory_get_peak_usage();
    echo "store $name\n";
}
// Entries of 64 KiB have the same low bits of the address.
ini_set('hone.cache_read', 'block');
$names = array_map(fn($i) => "large $i", range(1, $turns));
foreach ($names as $name) {
    Cache::store($name, [str_repeat('x', 65280)]);
    Cache::fetch($name);
}
memory_get_peak_usage();
foreach ($names as $name)
    $found = Cache::fetch($name);
memory_get_peak_usage();
echo "fetch 64 KiB as a block\n";
