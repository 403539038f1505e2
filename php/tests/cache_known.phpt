--TEST--
Hone\Cache: a key that the request has fetched before, and a request that grows old with it
--INI--
hone.cache_cli=1
hone.cache_size=4M
--FILE--
<?php
use Hone\Cache;

class Box
{
    public int $number = 1;
}

Cache::store('key', ['a' => 1]);
var_dump(Cache::fetch('key') === Cache::fetch('key'));
Cache::store('key', ['a' => 2]);
echo json_encode([Cache::fetch('key'), Cache::fetch('key')]), "\n";
Cache::delete('key');
echo json_encode([Cache::fetch('key'), Cache::fetch('key')]), "\n";

// An object is a new one each time.
Cache::store('box', new Box());
$one = Cache::fetch('box');
$one->number = 2;
$two = Cache::fetch('box');
echo json_encode([$one === $two, $two->number]), "\n";

// A counter changes in place.
Cache::store('count', 5);
for ($i = 0; $i < 3; $i++) {
    Cache::inc('count');
    echo Cache::fetch('count'), "\n";
}

// A fetched value does not change.
Cache::store('text', 'old text');
$old = Cache::fetch('text');
$old = Cache::fetch('text');
for ($i = 0; $i < 1000; $i++) {
    Cache::store('text', str_repeat("new $i", 10));
    Cache::fetch('text');
}
echo $old, "\n";
Cache::clear();
echo json_encode([Cache::fetch('text'), Cache::fetch('count')]), "\n";

// Each fetch counts.
Cache::store('hit', 1);
$before = Cache::info();
for ($i = 0; $i < 10; $i++) {
    Cache::fetch('hit');
}
Cache::fetch('miss');
$after = Cache::info();
echo $after['hits'] - $before['hits'], ' hits, ',
    $after['misses'] - $before['misses'], " miss\n";

// The mode of reading may change.
$array = Cache::fetch('list');
Cache::store('list', [1, [2, 3]]);
foreach (['auto', 'copy', 'block', 'shared'] as $mode) {
    ini_set('hone.cache_read', $mode);
    echo json_encode([Cache::fetch('list'), Cache::fetch('list')]), "\n";
}

// With hone.cache_read=auto, a request that fetches only keys that it knows grows old, too.
Cache::clear();
ini_set('hone.cache_read', 'auto');
Cache::store('key', [1]);
Cache::store('array', ['a' => 2]);
Cache::fetch('key');
$before = Cache::info()['block_bytes_used'];
ini_set('hone.cache_shared_seconds', 1);
usleep(3_100_000);
for ($i = 0; $i < 300; $i++) {
    $value = Cache::fetch('key');
}
echo json_encode([$value === [1], Cache::info()['block_bytes_used'] - $before]), "\n";
echo json_encode([Cache::fetch('array'), Cache::info()['block_bytes_used'] > $before]), "\n";
?>
--EXPECT--
bool(true)
[{"a":2},{"a":2}]
[null,null]
[false,1]
6
7
8
old text
[null,null]
10 hits, 1 miss
[[1,[2,3]],[1,[2,3]]]
[[1,[2,3]],[1,[2,3]]]
[[1,[2,3]],[1,[2,3]]]
[[1,[2,3]],[1,[2,3]]]
[true,0]
[{"a":2},true]
