--TEST--
Hone\Cache and apcu_*: objects by hand have the result of unserialize(serialize()), by each function
--SKIPIF--
<?php require __DIR__ . '/apcu_served.inc'; ?>
--INI--
hone.cache_cli=1
memory_limit=512M
--FILE--
<?php
namespace Objects;

require __DIR__ . '/objects/differ.inc';
require __DIR__ . '/objects/cases.inc';

use Hone\Cache;

$stores = [
    'store' => fn($value) => Cache::store('k', $value),
    'apcu_store' => fn($value) => apcu_store('k', $value),
    'apcu_store of several' => fn($value) => apcu_store(['k' => $value, 'other' => 1]) === [],
    'add' => fn($value) => Cache::add('k', $value),
    'apcu_add' => fn($value) => apcu_add('k', $value),
    'replace' => fn($value) => Cache::store('k', 1) && Cache::replace('k', $value),
    'apcu_entry' => fn($value) => apcu_entry('k', fn() => $value) !== false,
    'remember' => fn($value) => Cache::remember('k', 0, fn() => $value) !== false,
];
$fetches = [
    'fetch' => fn() => Cache::fetch('k', MISSING),
    'apcu_fetch' => fn() => apcu_fetch('k'),
    'fetch_multi' => fn() => Cache::fetch_multi(['k'])['k'] ?? MISSING,
    'apcu_fetch of several' => fn() => apcu_fetch(['other', 'k'])['k'] ?? MISSING,
    'apcu_entry' => fn() => apcu_entry('k', fn() => MISSING),
    'remember' => fn() => Cache::remember('k', 0, fn() => MISSING),
];
if (getenv('USE_ZEND_ALLOC') === '0') {
    // Under valgrind one function for each value.
    $stores = array_slice($stores, 0, 1);
}
$modes = ['shared', 'block', 'copy', 'auto'];
$kept = [];
$turn = 0;
foreach (['-1', '17'] as $precision) {
    ini_set('serialize_precision', $precision);
    foreach (cases() as $name => $make) {
        [$text, $thrown] = outcome(fn() => serialize($make()));
        $wanted = $text === null ? [] : fetched(fn() => unserialize($text));
        foreach ($stores as $store => $call) {
            Cache::clear();
            [$stored, $refused] = outcome(fn() => $call($make()));
            gc_collect_cycles();
            if ($refused !== $thrown) {
                echo "$name, $store: ", $refused ?? 'no exception', ', not ', $thrown ?? 'no exception', "\n";
            }
            if ($thrown !== null) {
                Cache::exists('k') && ($store !== 'replace' || Cache::fetch('k') !== 1) && print("$name, $store: something was stored\n");
                continue;
            }
            $kept[$name] = Cache::entries('k')->current()['type'];
            // Functions that compute a missing value try a second time.
            $by = $wanted['value'] === 'bool false' ? 'fetch' : array_keys($fetches)[$turn % count($fetches)];
            $mode = $modes[intdiv($turn++, 3) % 4];
            ini_set('hone.cache_read', $mode);
            $difference = difference($wanted, fetched($fetches[$by]), "$name, $store, $by, $mode");
            if ($difference) {
                echo $difference, "\n";
            }
        }
    }
}
foreach (['ints', 'an object in itself', 'a ring', 'an object twice', 'an array twice', 'cases', 'no properties', 'unset properties',
    'readonly objects in readonly objects', 'a list in an object', '1,000 levels', 'one date at two places', 'lists'] as $name) {
    $kept[$name] === 'objects' || print("$name: not kept as objects\n");
}
$names = array_count_values($kept);
ksort($names);
echo json_encode($names), "\n";
?>
--EXPECTF--
{"objects":%d,"serialized":%d}
