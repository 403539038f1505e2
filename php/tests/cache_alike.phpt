--TEST--
Hone\Cache: tables with as many keys as an earlier one keep their own keys
--EXTENSIONS--
hone
--INI--
hone.cache_cli=1
memory_limit=512M
--FILE--
<?php
use Hone\Cache;

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
$names = [...range('a', 'h'), 0, 1, 2, 3];
for ($i = 0; $i < (getenv('USE_ZEND_ALLOC') === '0' ? 20 : 500); $i++) {
    $rows = [];
    for ($k = 0; $k < 8; $k++) {
        $keys = $names;
        mt_rand(0, 1) && shuffle($keys);
        $fill = mt_rand(0, 2) === 0 && $rows ? $rows[mt_rand(0, count($rows) - 1)] : $k;
        $rows[] = $row(array_slice($keys, 0, mt_rand(0, 1) ? 4 : mt_rand(1, 12)), $fill);
    }
    same("seed $seed, $i", $rows);
}
echo "done\n";
?>
--EXPECT--
done
