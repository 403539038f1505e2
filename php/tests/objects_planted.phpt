--TEST--
Hone\Cache: the test of random graphs detects each bug that is planted into a fetch
--INI--
hone.cache_cli=1
memory_limit=512M
--SKIPIF--
<?php if (getenv('USE_ZEND_ALLOC') === '0') die('skip a check of the test itself: not under valgrind'); ?>
--FILE--
<?php
namespace Objects;

require __DIR__ . '/objects/differ.inc';

foreach (PLANTS as $plant) {
    for ($seed = 1; $seed <= 800; $seed++) {
        if (check($seed, ['shared', 'copy', 'shared'], $plant)) {
            continue 2;
        }
    }
    echo "not seen: $plant\n";
}
echo "done\n";
?>
--EXPECT--
done
