--TEST--
Hone\Cache: a value has each key of its rows once, wherever PHP keeps the keys
--EXTENSIONS--
hone
--INI--
hone.cache_cli=1
hone.cache_size=64M
--FILE--
<?php
use Hone\Cache;

// Used bytes of rows of 200 columns. The builder looks up addresses in a table
// of 512 entries, so that some of the keys share an entry.
function used(int $rows): int
{
    $columns = implode(',', array_map(fn($c) => "'column_$c' => \$i", range(1, 200)));
    $values = eval("return array_map(fn(\$i) => [$columns], range(1, $rows));");
    Cache::clear();
    Cache::store('rows', $values);
    return Cache::info()['used'];
}

// An array of 200 elements: 56 bytes, 512 hashes of 4 bytes, and buckets of 32
// bytes. A key takes 40 more.
$row = (used(200) - used(100)) / 100;
$least = 56 + 512 * 4 + 200 * 32;
echo $row < 1.01 * $least ? "as small as the elements\n" : "$row bytes for a row of $least\n";
?>
--EXPECT--
as small as the elements
