--TEST--
Hone\Cache: a child fetches objects that the parent stored, also with a closed slot
--INI--
hone.cache_cli=1
hone.cache_shared_seconds=0
memory_limit=512M
--SKIPIF--
<?php if (!function_exists('pcntl_fork')) die('skip pcntl is not there'); ?>
--FILE--
<?php
namespace Objects;

require __DIR__ . '/objects/differ.inc';

use Hone\Cache;

$seed = (int)(getenv('HONE_SEED') ?: random_int(1, 1 << 30));
echo "HONE_SEED=$seed\n";
$batches = getenv('USE_ZEND_ALLOC') === '0' ? 1 : 5;
// Until this request is old, and reads block copies.
Cache::store('array', range(1, 100));
while (Cache::info()['block_bytes_used'] === 0) {
    Cache::store('array', range(1, 100));
    Cache::fetch('array');
    usleep(1000);
}
for ($i = 0; $i < $batches * 20; $i++) {
    $difference = $i % 20 === 0 ? check_in_child(range($seed + $i, $seed + $i + 19)) : null;
    $difference ??= check($seed + $i, ['auto', 'auto', 'auto']);
    if ($difference) {
        echo "HONE_SEED=", $seed + $i, ": $difference\n";
        break;
    }
}
echo "done\n";
?>
--EXPECTF--
HONE_SEED=%d
done
