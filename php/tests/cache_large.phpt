--TEST--
Hone\Cache::store: a large array that replaces one of its kind is built at its place
--EXTENSIONS--
hone
--INI--
hone.cache_cli=1
hone.cache_size=64M
--FILE--
<?php
use Hone\Cache;

// No string is in it twice: how often the image has such a string depends on its address.
function rows(int $n, string $word): array
{
    $rows = [];
    for ($i = 0; $i < $n; $i++) {
        $rows["key $i"] = [$i, "$word $i", [$i, 2.5, "both $i"], []];
    }
    return $rows;
}

function size(string $key = 'k'): int
{
    return iterator_to_array(Cache::entries($key))[$key]['size'];
}

// Whether it is there, in each way of reading, and how its size compares.
function stored(array $value, int $usual): string
{
    foreach (['block', 'copy', 'auto'] as $mode) {
        ini_set('hone.cache_read', $mode);
        if (Cache::fetch('k') !== $value) {
            return "wrong ($mode)";
        }
    }
    return size() === $usual ? 'as usual' : (size() > $usual && size() < $usual * 1.05 ? 'in place' : 'size ' . size() . " of $usual");
}

// The size of a value under a key that had none.
function usual(array $value): int
{
    Cache::delete('k2');
    Cache::store('k2', $value);
    // An entry is a line longer with a longer key: these two are not.
    return size('k2');
}

function show(string $what, array $value): void
{
    echo "$what: ", var_export(Cache::store('k', $value), true), ', ', stored($value, usual($value)), "\n";
}

show('the first', rows(2000, 'element'));
show('one of its kind', rows(2000, 'another'));
show('the same', rows(2000, 'another'));
show('longer strings', rows(2000, 'another one'));
show('much longer strings', rows(2000, str_repeat('long', 20)));
show('shorter strings', rows(2000, 'x'));
show('a few rows more', rows(2004, 'x'));
show('a few rows less', rows(2001, 'x'));
show('many more', rows(3000, 'x'));
show('many less', rows(1500, 'x'));
$value = rows(1500, 'x');
$value['key 700'] = [1];
show('another row', $value);
$value['key 700'] = range(1, 3000);
show('a row that is too large', $value);
$row = [0, 'one for all', ['one'], []];
show('one row many times', array_fill_keys(array_keys(rows(1500, 'x')), $row));
show('below another key', ['rows' => rows(1500, 'x')]);
show('the same', ['rows' => rows(1500, 'y')]);
// Strings that are in it many times.
$named = fn($word) => array_map(fn($row) => ['id' => $row[0], 'name' => $row[1], 'word' => $word], rows(1500, $word));
foreach (['a', 'b', 'c', 'd'] as $word) {
    Cache::store('k', $named($word));
    echo str_starts_with(stored($named($word), size()), 'wrong') ? 'wrong ' : 'good ';
}
echo "\n";

echo "-- what cannot be stored\n";
$good = rows(1500, 'x');
Cache::store('k', $good);
$bad = $good;
$bad['key 9'] = fn() => 1;
var_dump(@Cache::store('k', $bad), Cache::fetch('k') === $good);
$bad['key 9'] = &$bad;
var_dump(@Cache::store('k', $bad), Cache::fetch('k') === $good);
unset($bad);
$object = $good;
$object['key 9'] = new ArrayObject([1]);
var_dump(Cache::store('k', $object), Cache::fetch('k') == $object);

echo "-- other calls\n";
Cache::store('k', $good);
var_dump(Cache::add('k', rows(1500, 'z')), Cache::replace('k', $next = rows(1500, 'z')), Cache::fetch('k') === $next);
Cache::store('k', rows(1500, 't'), 60, ['tag']);
Cache::store('k', $next, 60, ['tag']);
var_dump(stored($next, size()), Cache::invalidate_tag('tag'), Cache::exists('k'), Cache::replace('k', $next));
// What was fetched, and is changed, while its place is taken.
Cache::store('k', $good);
for ($i = 0; $i < 5; $i++) {
    $value = Cache::fetch('k');
    $value['key 3'][1] = "change $i";
    Cache::store('k', $value);
    $good['key 3'][1] = "change $i";
    echo Cache::fetch('k') === $good ? 'good ' : 'wrong ';
}
$seen = Cache::fetch('k');
echo Cache::store('k', $seen) && Cache::fetch('k') === $good ? "good\n" : "wrong\n";

echo "-- a snapshot\n";
Cache::store('k', $next);
Cache::store('k', $good);
$file = __DIR__ . '/cache_large.snapshot';
var_dump(Cache::save($file));
Cache::clear();
var_dump(Cache::load($file), Cache::fetch('k') === $good);
// No size is known from the snapshot.
show('after it', rows(1500, 'x'));
show('once more', rows(1500, 'y'));

echo "-- a small cache\n";
for ($i = 0; $i < 300; $i++) {
    Cache::store('k', $value = rows(2000, "turn $i"));
    Cache::store("filler$i", str_repeat('x', 500000));
}
var_dump(Cache::fetch('k') === $value);
?>
--CLEAN--
<?php @unlink(__DIR__ . '/cache_large.snapshot'); ?>
--EXPECT--
the first: true, as usual
one of its kind: true, in place
the same: true, in place
longer strings: true, as usual
much longer strings: true, as usual
shorter strings: true, in place
a few rows more: true, in place
a few rows less: true, in place
many more: true, as usual
many less: true, as usual
another row: true, in place
a row that is too large: true, as usual
one row many times: true, as usual
below another key: true, as usual
the same: true, in place
good good good good 
-- what cannot be stored
bool(false)
bool(true)
bool(false)
bool(true)
bool(true)
bool(true)
-- other calls
bool(false)
bool(true)
bool(true)
string(8) "as usual"
bool(true)
bool(false)
bool(false)
good good good good good good
-- a snapshot
bool(true)
int(2)
bool(true)
after it: true, as usual
once more: true, in place
-- a small cache
bool(true)
