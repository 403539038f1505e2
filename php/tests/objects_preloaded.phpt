--TEST--
Hone\Cache: random graphs of objects whose classes are preloaded equal the results of unserialize(serialize())
--EXTENSIONS--
opcache
--INI--
hone.cache_cli=1
opcache.enable=1
opcache.enable_cli=1
opcache.preload={PWD}/objects/classes.inc
opcache.preload_user=root
memory_limit=512M
--FILE--
<?php
namespace Objects;

require __DIR__ . '/objects/differ.inc';

$seed = (int)(getenv('HONE_SEED') ?: random_int(1, 1 << 30));
echo "HONE_SEED=$seed\n";
$graphs = getenv('USE_ZEND_ALLOC') === '0' ? 20 : 100;
var_dump(isset(opcache_get_status()['preload_statistics']['classes']));
for ($i = 0; $i < $graphs; $i++) {
    $difference = check($seed + $i, ['shared', 'block', 'copy']);
    if ($difference) {
        echo 'HONE_SEED=', $seed + $i, ": $difference\n";
        break;
    }
}
echo $i === $graphs ? "equal\n" : "different\n";
?>
--EXPECTF--
HONE_SEED=%d
bool(true)
equal
