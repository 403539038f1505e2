--TEST--
Hone\Cache: keys of equal hash neither slow down nor evict other keys
--EXTENSIONS--
hone
--INI--
hone.cache_cli=1
hone.cache_size=8M
--FILE--
<?php
use Hone\Cache;

// Each bit chooses one of two pairs of letters of the same hash.
$names = [];
for ($i = 0; $i < 4096; $i++) {
    $name = '';
    for ($bit = 0; $bit < 12; $bit++) {
        $name .= $i >> $bit & 1 ? 'Ez' : 'FY';
    }
    $names[] = $name;
}
for ($i = 0; $i < 1000; $i++) {
    Cache::store("other $i", $i);
}
$stored = 0;
foreach ($names as $i => $name) {
    $stored += Cache::store($name, $i) && Cache::fetch($name) === $i;
}
$kept = count(Cache::fetch_multi($names));
$others = 0;
for ($i = 0; $i < 1000; $i++) {
    $others += Cache::fetch("other $i") === $i;
}
echo "$stored stored, $kept kept, $others others kept\n";
?>
--EXPECT--
4096 stored, 64 kept, 1000 others kept
