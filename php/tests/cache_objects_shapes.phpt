--TEST--
Hone\Cache: a value has the names of each class once, whatever the order of its objects, and in each store
--INI--
hone.cache_cli=1
hone.cache_size=16M
--FILE--
<?php
use Hone\Cache;

// More classes than a store knows at once, with long names.
$long = str_repeat('x', 200);
$code = '';
for ($i = 0; $i < 40; $i++) {
    $code .= "class C{$i}_$long { public \$id = $i; public \$of = null; private \$p$i = 'p$i'; }\n";
}
eval($code);

function objects(int $rounds, int $classes): array
{
    global $long;
    $objects = [];
    for ($i = 0; $i < $rounds * $classes; $i++) {
        $class = 'C' . $i % $classes . "_$long";
        $objects[] = $object = new $class();
        $object->of = ['id' => $i];
    }
    return $objects;
}

function kept(string $what, mixed $value): int
{
    for ($i = 0; $i < 4; $i++) {
        Cache::store('k', [$i => str_repeat('y', 8 * $i), 'value' => $value]);
        $fetched = Cache::fetch('k');
        if (serialize($fetched['value']) !== serialize(unserialize(serialize($value)))) {
            echo "$what: store $i differs\n";
        }
    }
    foreach (Cache::entries('k') as $entry) {
        return $entry['size'];
    }
}

foreach ([1, 2, 40] as $classes) {
    $sizes = array_map(fn($rounds) => kept("$classes classes", objects($rounds, $classes)), [1, 2, 3]);
    $each = ($sizes[2] - $sizes[0]) / 2 / $classes;
    // A node, its array of one key, three places in lists.
    echo "$classes classes: ", $each < 450 ? 'names once' : "$each bytes of each object", "\n";
}
kept('two classes', objects(1, 2));
kept('two classes in another order', array_reverse(objects(1, 2)));
$class = "C1_$long";
kept('names that an array has', [['id' => 1, 'of' => 2, "C1_$long" => 3], new $class(), ['p1' => 1]]);
kept('undefined', (function () use ($class) {
    $object = new $class();
    unset($object->of);
    return [$object, new $class()];
})());
echo "done\n";
?>
--EXPECT--
1 classes: names once
2 classes: names once
40 classes: names once
done
