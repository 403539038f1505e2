--TEST--
hone.cache_read=auto: a request that fetches only keys that it knows grows old, too
--EXTENSIONS--
hone
--INI--
hone.cache_cli=1
hone.cache_size=4M
--FILE--
<?php
use Hone\Cache;

Cache::store('key', [1]);
Cache::store('array', ['a' => 2]);
Cache::fetch('key');
ini_set('hone.cache_shared_seconds', 1);
usleep(3_100_000);
for ($i = 0; $i < 300; $i++) {
    $value = Cache::fetch('key');
}
echo json_encode([$value === [1], Cache::info()['block_bytes_used']]), "\n";
echo json_encode([Cache::fetch('array'), Cache::info()['block_bytes_used'] > 0]), "\n";
?>
--EXPECT--
[true,0]
[{"a":2},true]
