--TEST--
APCUIterator: a key that goes between the listing and the look has no element; the memory of lists and iterators
--SKIPIF--
<?php require __DIR__ . '/apcu_served.inc'; ?>
--INI--
hone.cache_cli=1
apc.enable_cli=1
--FILE--
<?php
const N = 20;

/** Keys of one batch: all are listed at the first look. */
function fill(mixed $value = 'value'): void
{
    apcu_clear_cache();
    for ($i = 0; $i < N; $i++) {
        apcu_store("key$i", $value);
    }
}

function others(string $key): array
{
    return array_values(array_filter(array_map(fn($i) => "key$i", range(0, N - 1)), fn($other) => $other !== $key));
}

echo "the loop deletes all others: ";
fill();
$seen = [];
foreach (new APCUIterator('/^key/') as $key => $element) {
    $seen[] = $element['key'] === $key ? $element['value'] : 'another key';
    apcu_delete(others($key));
}
echo json_encode($seen), "\n";

echo "the loop deletes every second one: ";
fill();
$seen = [];
foreach (new APCUIterator(null, APC_ITER_VALUE) as $key => $element) {
    $seen[] = $element['value'];
    if (count($seen) === 1) {
        foreach (array_slice(others($key), 0, 10) as $other) {
            apcu_delete($other);
        }
    }
}
echo count($seen), ' ', json_encode(array_unique($seen)), "\n";

echo "valid() has the value: ";
fill();
$iterator = new APCUIterator('/^key/');
var_dump($iterator->valid());
apcu_clear_cache();
echo json_encode([$iterator->current()['value'], is_string($iterator->key())]), "\n";
$iterator->next();
var_dump($iterator->valid());

echo "next() passes over what is gone: ";
fill();
$iterator->rewind();
$first = $iterator->key();
$iterator->next();
apcu_delete(others($first));
var_dump($iterator->valid());

echo "a value of null is a value: ";
fill(null);
$seen = [];
foreach (new APCUIterator('/^key[12]$/', APC_ITER_VALUE) as $element) {
    $seen[] = $element;
}
echo json_encode($seen), "\n";

echo "without values, the list is that of the first look: ";
fill();
$seen = 0;
foreach (new APCUIterator('/^key/', APC_ITER_KEY) as $element) {
    $seen++;
    apcu_clear_cache();
}
echo $seen, "\n";

/** Its method runs when the value is fetched. */
class Restless
{
    public static ?APCUIterator $iterator = null;
    public static int $woken = 0;
    public static mixed $do = null;

    public function __wakeup(): void
    {
        self::$woken++;
        (self::$do)(self::$iterator);
    }
}

echo "a deletion by an iterator makes no objects: ";
Restless::$do = fn() => null;
fill(new Restless);
apcu_delete(new APCUIterator('/^key/'));
echo Restless::$woken, ' ', apcu_cache_info(true)['num_entries'], "\n";

$ways = [
    'goes on' => fn($iterator) => $iterator->next(),
    'asks for the value' => fn($iterator) => Restless::$woken < 3 && $iterator->current(),
    'begins anew, once' => fn($iterator) => Restless::$woken === 2 && $iterator->rewind(),
    'throws' => fn() => throw new Exception('thrown'),
];
foreach ($ways as $name => Restless::$do) {
    echo "a method $name: ";
    Restless::$woken = 0;
    fill(new Restless);
    Restless::$iterator = new APCUIterator('/^key/');
    $seen = [];
    try {
        foreach (Restless::$iterator as $key => $element) {
            $seen[] = $element['value']::class;
        }
        echo count($seen) <= 2 * N ? 'ended' : 'too many', ', ', json_encode(array_unique($seen)), "\n";
    } catch (Exception $e) {
        echo $e->getMessage(), "\n";
    }
}

echo "an iterator in its own value is freed: ";
class Holder
{
    public ?APCUIterator $iterator = null;
    public static int $freed = 0;

    public function __destruct() { self::$freed++; }
}
apcu_clear_cache();
apcu_store('key', $holder = new Holder);
unset($holder);
$iterator = new APCUIterator('/^key/');
$iterator->current()['value']->iterator = $iterator;
unset($iterator);
gc_collect_cycles();
echo Holder::$freed, "\n";

// Apcu_cache_info(), APCUIterator, Hone\Cache::entries(): the names in the results take no
// memory of their own.
apcu_clear_cache();
const MANY = 1000;

/** Bytes of each element. */
function bytes(callable $list): int
{
    $before = memory_get_usage();
    $result = $list();
    return intdiv(memory_get_usage() - $before, MANY);
}

for ($i = 0; $i < MANY; $i++) {
    apcu_store("key$i", $i);
}
foreach ([
    // A table of 16 elements takes 640 bytes, one of 8 elements 320, its head 56, a key 32.
    'apcu_cache_info' => [fn() => apcu_cache_info()['cache_list'], 820],
    'APCUIterator' => [fn() => iterator_to_array(new APCUIterator), 860],
    'entries' => [fn() => iterator_to_array(Hone\Cache::entries()), 560],
    'apcu_key_info' => [fn() => array_map(apcu_key_info(...), array_map(fn($i) => "key$i", range(0, MANY - 1))), 460],
] as $name => [$list, $most]) {
    $bytes = bytes($list);
    echo $name, ': ', $bytes <= $most ? 'few bytes' : "$bytes bytes for each key", "\n";
}

// An iterator with a regular expression is freed after pcre (valgrind would report a memory
// error).
apcu_clear_cache();
class Kept
{
    public static $iterator;
}

apcu_store(['a' => 1, 'ab' => 2, 'b' => 3]);
Kept::$iterator = new APCUIterator('/^a/');
foreach (Kept::$iterator as $key => $element)
    $keys[] = $key;
sort($keys);
echo implode(' ', $keys), ' ', Kept::$iterator->getTotalCount(), "\n";
?>
--EXPECT--
the loop deletes all others: ["value"]
the loop deletes every second one: 10 ["value"]
valid() has the value: bool(true)
["value",true]
bool(false)
next() passes over what is gone: bool(false)
a value of null is a value: [{"value":null},{"value":null}]
without values, the list is that of the first look: 20
a deletion by an iterator makes no objects: 0 0
a method goes on: ended, []
a method asks for the value: ended, ["Restless"]
a method begins anew, once: ended, ["Restless"]
a method throws: thrown
an iterator in its own value is freed: 2
apcu_cache_info: few bytes
APCUIterator: few bytes
entries: few bytes
apcu_key_info: few bytes
a ab 2
