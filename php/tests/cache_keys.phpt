--TEST--
Hone\Cache: keys of equal hash, of equal rows, and of tables that are alike
--INI--
hone.cache_cli=1
hone.cache_size=64M
memory_limit=512M
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

// A value has each key of its rows once, wherever PHP keeps the keys.
Cache::clear();
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

// Tables with as many keys as an earlier one keep their own keys.
Cache::clear();
function same(string $what, array $value): void
{
    if (!Cache::store('k', $value) || serialize(Cache::fetch('k')) !== serialize($value)) {
        echo "$what differs\n";
    }
}

$row = fn(array $keys, $fill = 1) => array_fill_keys($keys, $fill);
$a = ['id', 'name', 'mail', 'score'];
same('the same keys', [$row($a), $row($a), $row($a)]);
same('another order', [$row($a), $row(array_reverse($a)), $row($a)]);
same('one other key', [$row($a), $row(['id', 'name', 'phone', 'score']), $row($a)]);
same('other keys', [$row($a), $row(['w', 'x', 'y', 'z']), $row(['id', 'x', 'mail', 'z'])]);
same('integers', [$row($a), $row(['id', 5, 'mail', 7]), $row([9, 8, 7, 6]), $row([1, 'name', 2, 'score'])]);
same('three and four keys', [$row($a), $row(['id', 'name', 'mail']), $row($a), $row(['mail', 'name', 'id'])]);
// A table in a table of as many keys, before all keys of the outer one.
same('tables in tables', [$row($a, $row($a)), $row($a, $row(array_reverse($a))), $row($a, $row($a, $row($a)))]);
same('4 and 12 keys', [$row($a), $row([...range('a', 'l')]), $row($a), $row([...range('l', 'a')])]);
same('objects', [(object)$row($a), (object)$row($a, (object)$row(array_reverse($a))), $row($a), (object)$row($a, [$row($a)])]);
// The memory of the build moves.
same('many rows', [$row($a), array_fill(0, 3, array_map(fn($i) => $row($i % 3 ? $a : ["k$i", 'name', "m$i", 'score'], [$i => $row($a)]), range(1, 3000)))]);

mt_srand($seed = (int)(getenv('HONE_SEED') ?: random_int(1, 1 << 30)));
echo "HONE_SEED=$seed\n";
$names = [...range('a', 'h'), 0, 1, 2, 3];
for ($i = 0; $i < (getenv('USE_ZEND_ALLOC') === '0' ? 20 : 500); $i++) {
    $rows = [];
    for ($k = 0; $k < 8; $k++) {
        $keys = $names;
        mt_rand(0, 1) && shuffle($keys);
        $fill = mt_rand(0, 2) === 0 && $rows ? $rows[mt_rand(0, count($rows) - 1)] : $k;
        $rows[] = $row(array_slice($keys, 0, mt_rand(0, 1) ? 4 : mt_rand(1, 12)), $fill);
    }
    same("random rows $i", $rows);
}
echo "done\n";
?>
--EXPECTF--
4096 stored, 64 kept, 1000 others kept
as small as the elements
HONE_SEED=%d
done
