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

use Hone\Cache;

require __DIR__ . '/objects/differ.inc';

/** Every object of a value, by a walk that calls no hook. */
function objects_of(mixed $value): array
{
    $found = [];
    $queue = [$value];
    // An array may contain itself.
    for ($i = 0; $i < min(3000, count($queue)); $i++) {
        $each = $queue[$i];
        if (is_object($each)) {
            if (isset($found[spl_object_id($each)])) {
                continue;
            }
            $found[spl_object_id($each)] = $each;
            $each = get_mangled_object_vars($each);
        }
        if (is_array($each)) {
            array_push($queue, ...array_values($each));
        }
    }
    return array_values($found);
}

/** A fetch, then a change of each object. */
function changed(callable $change): callable
{
    return function (callable $fetch) use ($change) {
        $value = $fetch();
        array_map($change, objects_of($value));
        return $value;
    };
}

/** These properties come last, and are no references. */
function add_again(object $of, array $properties): void
{
    foreach ($properties as $name => $value) {
        unset($of->$name);
        $of->$name = $value;
    }
}

$plants = [
    'lost reference' => changed(fn($of) => $of instanceof \stdClass && add_again($of, get_mangled_object_vars($of))),
    'another order' => changed(function ($of) {
        $properties = $of instanceof \stdClass ? get_mangled_object_vars($of) : [];
        $first = array_key_first($properties);
        if (count($properties) > 1 && !\ReflectionReference::fromArrayElement($properties, $first)) {
            add_again($of, [$first => $properties[$first]]);
        }
    }),
    'default value' => changed(function ($of) {
        if ($of instanceof Plain) {
            [$of->b, $of->c] = [2, 'text'];
        }
    }),
    'second __wakeup' => changed(function ($of) {
        if (method_exists($of, '__wakeup') && !$of instanceof \DateTimeInterface) {
            $of->__wakeup();
        }
    }),
    'no exception' => function ($fetch) {
        try {
            return $fetch();
        } catch (\Throwable) {
            return null;
        }
    },
    'changed cache' => function ($fetch, $key) {
        $value = $fetch();
        $other = $fetch();
        @change($other);
        try {
            Cache::store($key, $other);
        } catch (\Throwable) {
            // It stays as it was.
        }
        return $value;
    },
];
foreach ($plants as $name => $plant) {
    for ($seed = 1; $seed <= 800; $seed++) {
        if (check($seed, ['shared', 'copy', 'shared'], $plant)) {
            continue 2;
        }
    }
    echo "not seen: $name\n";
}
for ($seed = 1; $seed <= 20; $seed++) {
    echo check($seed, ['shared', 'copy', 'shared'], changed(fn($of) => null));
}
echo "done\n";
?>
--EXPECT--
done
