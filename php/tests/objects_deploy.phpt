--TEST--
Hone\Cache: if a class changes between store and fetch, the result is that of unserialize()
--INI--
hone.cache_cli=1
--SKIPIF--
<?php if (!function_exists('pcntl_fork')) die('skip pcntl is not there'); ?>
--FILE--
<?php
namespace Objects;

require __DIR__ . '/objects/differ.inc';
require __DIR__ . '/objects/deploy.inc';

use Hone\Cache;

/** Runs $call in its own process; a crash is reported. */
function in_child(string $name, callable $call): void
{
    $child = pcntl_fork();
    if ($child === 0) {
        $call();
        exit(0);
    }
    pcntl_waitpid($child, $status);
    if (!pcntl_wifexited($status) || pcntl_wexitstatus($status) !== 0) {
        echo "$name: a child ended with status $status\n";
    }
}

// Valgrind translates code before its first use. The children do not translate what
// their parent has used.
$valgrind = getenv('USE_ZEND_ALLOC') === '0';
eval('class Warm { public int $id = 1; public $name = "name"; protected $kept = 2; private array $list = [1]; }');
Cache::store('warm', [new \Warm()]);
serialize(fetched(fn() => Cache::fetch('warm', MISSING)));
serialize(fetched(fn() => unserialize(serialize([new \Warm()]))));
Cache::clear();

$cases = deploys();
foreach ($cases as $name => [$before, $after, $value]) {
    // Under valgrind a value is taken alone, the next one in an array.
    $place = array_search(str_replace(', in an array', '', $name), array_keys($cases));
    if ($valgrind && $place % 2 !== (int)str_ends_with($name, ', in an array')) {
        continue;
    }
    $store = fn() => in_child($name, function () use ($name, $before, $value) {
        eval($before);
        $value = eval("return $value;");
        if (!Cache::store('item', $value) || !Cache::store('gone', $value) || !Cache::store('text', serialize($value)) ||
            iterator_to_array(Cache::entries('item'))['item']['type'] !== 'objects') {
            echo "$name: not stored as objects\n";
        }
    });
    $store();
    $modes = $valgrind || str_ends_with($name, ', in an array') ? ['auto'] : ['shared', 'block', 'copy'];
    foreach ($modes as $mode) {
        // Only the first use of a class loads it: a process for each of the two.
        $results = [];
        foreach (['unserialize', 'fetch', 'gone'] as $by) {
            if ($by === 'gone' && str_contains($cases[$name][3] ?? '', 'delete')) {
                $store();
            }
            in_child("$name, $mode, $by", function () use ($name, $after, $cases, $mode, $by) {
                ini_set('hone.cache_read', $mode);
                eval($after);
                $text = Cache::fetch('text');
                eval($cases[$name][3] ?? '');
                // In one line, which an exception has.
                $fetch = fn() => $by === 'unserialize' ? unserialize($text) : Cache::fetch($by === 'fetch' ? 'item' : 'gone', MISSING);
                $found = fetched($fetch, $by !== 'gone');
                if ($by !== 'gone') {
                    $found['again'] = fetched($fetch, false);
                }
                file_put_contents(__FILE__ . ".$by", serialize($found));
            });
            $results[$by] = unserialize((string)@file_get_contents(__FILE__ . ".$by"));
            @unlink(__FILE__ . ".$by");
        }
        foreach (['fetch', 'gone'] as $by) {
            $difference = $results['unserialize'] ? difference($results['unserialize'], $results[$by] ?: [], "$name, $mode, $by") :
                "$name: no result";
            if ($difference) {
                echo $difference, "\n";
            }
        }
    }
}
echo count($cases) > 160 ? "done\n" : "cases are missing\n";

// Without objects, all of the array is shared. A string has it 2^24 times.
in_child('2^24 strings', function () {
    eval('class Gone { }');
    for ($i = 0, $array = [1]; $i < 24; $i++) {
        $array = [$array, $array];
    }
    Cache::store('value', [new \Gone(), $array]);
});
in_child('2^24 strings', function () {
    ini_set('memory_limit', '64M');
    [$value, , $lines] = outcome(fn() => Cache::fetch('value', MISSING));
    echo implode("\n", [$value, ...$lines]), "\n";
});
?>
--EXPECT--
done
nothing was found
autoload Gone
A class of a value in the cache has changed, and unserialize() would need a string of more than 8388608 bytes
