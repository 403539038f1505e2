--TEST--
Hone\Cache: memory_limit holds for copies, and a fatal error leaves the cache usable
--SKIPIF--
<?php if (getenv('USE_ZEND_ALLOC') === '0') die('skip PHP has no memory_limit without its own allocator'); ?>
--INI--
hone.cache_cli=1
memory_limit=16M
--FILE--
<?php
use Hone\Cache;

register_shutdown_function(function () {
    ini_set('memory_limit', '64M');
    echo json_encode([Cache::fetch('small'), Cache::store('after', 1), Cache::fetch('after'), count(Cache::fetch('large'))]), "\n";
    ini_set('hone.cache_read', 'auto');
    echo json_encode([Cache::delete('large'), Cache::fetch('large')]), "\n";
});
Cache::store('small', [1]);
$value = [];
for ($i = 0; $i < 500000; $i++) {
    $value[] = $i;
}
Cache::store('large', $value);
unset($value);
// Zero-copy needs no memory; a copy needs 8 MB.
ini_set('memory_limit', (string) (memory_get_usage(true) + (2 << 20)));
var_dump(count(Cache::fetch('large')));
// memory_limit does not count block copies, and a string needs its size alone.
ini_set('hone.cache_read', 'block');
var_dump(count(Cache::fetch('large')));
ini_set('hone.cache_read', 'copy');
Cache::store('string', str_repeat('s', 1200000));
var_dump(strlen(Cache::fetch('string')));
Cache::fetch('large');
echo "not reached\n";
?>
--EXPECTF--
int(500000)
int(500000)
int(1200000)

Fatal error: Allowed memory size of %d bytes exhausted (tried to allocate %d bytes) in %s on line %d
[[1],true,1,500000]
[true,null]
