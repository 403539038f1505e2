--TEST--
Hone\Cache: random graphs of objects equal the results of unserialize(serialize())
--INI--
hone.cache_cli=1
memory_limit=512M
--FILE--
<?php
namespace Objects;

require __DIR__ . '/objects/differ.inc';

$seed = (int)(getenv('HONE_SEED') ?: random_int(1, 1 << 30));
echo "HONE_SEED=$seed\n";
$graphs = (int)(getenv('HONE_OBJECTS_GRAPHS') ?: (getenv('USE_ZEND_ALLOC') === '0' ? 60 : 600));
$modes = [['shared', 'block', 'shared'], ['copy', 'auto', 'copy'], ['block', 'copy', 'block'], ['auto', 'shared', 'auto']];
for ($i = 0; $i < $graphs; $i++) {
    $difference = check($seed + $i, $modes[$i % 4]);
    if ($difference) {
        echo 'HONE_SEED=', $seed + $i, " HONE_OBJECTS_GRAPHS=1: $difference\n";
        break;
    }
    if ($i % 1000 === 999) {
        // run-tests.php ends a test that prints nothing for a minute.
        echo $i + 1, " graphs\n";
    }
}
echo "$i graphs\n";
?>
--EXPECTREGEX--
^HONE_SEED=\d+\n(\d+ graphs\n?)+$
