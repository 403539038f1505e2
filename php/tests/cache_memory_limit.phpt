--TEST--
Hone\Cache: memory_limit holds for copies, and a fatal error leaves the cache usable
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') die('skip PHP has no memory_limit without its own allocator');
if (!is_readable('/proc/self/status')) die('skip no /proc/self/status');
?>
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
    // If the table of block copies cannot grow, at 8192, the rest are ordinary copies.
    ini_set('hone.cache_read', 'block');
    $right = 0;
    for ($i = 0; $i < 9000; $i++) {
        if ($i % 1000 === 0) {
            $used[] = Cache::info()['block_bytes_used'];
        }
        if ($i === 8000 && preg_match('/VmSize:\s+(\d+)/', file_get_contents('/proc/self/status'), $now)) {
            exec('prlimit --as=' . ($now[1] + 400 << 10) . ' --pid=' . getmypid());
        }
        Cache::store("key $i", [$i]);
        $right += Cache::fetch("key $i") === [$i];
    }
    $more = Cache::info()['block_bytes_used'] - $used[8];
    echo json_encode([$right, $more > 0, $more < ($used[8] - $used[7]) / 2]), "\n";
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
[9000,true,true]
