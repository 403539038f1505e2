--TEST--
Hone\Cache: the log says once for all processes that values are evicted soon after the start
--EXTENSIONS--
pcntl
--INI--
hone.cache_cli=1
hone.cache_size=0
hone.cache_pools="small=2M"
hone.cache_pool=small
log_errors=1
error_log=
--FILE--
<?php
use Hone\Cache;

function fill(): void
{
    for ($i = 0; $i < 500; $i++) {
        Cache::store(getmypid() . " $i", str_repeat('x', 10000));
    }
}

Cache::store('fits', 1);
echo "fits\n";
$child = pcntl_fork();
fill();
if ($child === 0) {
    exit;
}
pcntl_waitpid($child, $status);
fill();
var_dump(Cache::info()['evictions'] > 1000);
?>
--EXPECTF--
fits
PHP Notice:  The shared cache "small" of 2097152 bytes is full %d s after its start: it holds %d keys in %d bytes and evicts the least used ones. Raise hone.cache_pools if they are still needed.
bool(true)
