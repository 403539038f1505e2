--TEST--
Hone\Cache: a store visits a variable of an answer once, and stores nothing if a destructor throws
--INI--
hone.cache_cli=1
--FILE--
<?php
use Hone\Cache;

// Each level has two references to the next one.
function levels(): array
{
    $levels = ['end'];
    for ($i = 0; $i < 40; $i++) {
        $next = [&$levels, &$levels];
        unset($levels);
        $levels = $next;
        unset($next);
    }
    return $levels;
}

class Data
{
    public $levels;

    function __serialize(): array { return levels(); }
    function __unserialize(array $data): void { $this->levels = $data; }
}

class Sleeps
{
    public $levels;

    function __sleep(): array
    {
        $this->levels = levels();
        return ['levels'];
    }
}

// PHP ends a process that is 2 seconds over this time, also in a function in C.
set_time_limit(10);
foreach (['Data', 'Sleeps'] as $class) {
    echo json_encode([Cache::store($class, new $class), serialize(Cache::fetch($class)->levels) === serialize(levels())]), "\n";
}

// Nothing is stored if a destructor throws during the store.
Cache::clear();
class Thrower
{
    public $removes;

    function __destruct() { throw new Exception('destructor'); }
}

/** __serialize() removes an outer object from the value. */
class Removes
{
    public $from;

    function __serialize(): array
    {
        $this->from->first = null;
        return [];
    }

    function __unserialize(array $data): void {}
}

function value(): stdClass
{
    $value = new stdClass;
    $value->first = new Thrower;
    $value->second = $value->first->removes = new Removes;
    $value->second->from = $value;
    return $value;
}

foreach (['serialize' => serialize(...), 'store' => fn($value) => Cache::store('key', $value)] as $name => $call) {
    try {
        $call(value());
        echo "$name: no exception\n";
    } catch (Exception $exception) {
        echo "$name: {$exception->getMessage()}\n";
    }
}
var_dump(Cache::exists('key'));

echo "The next store:\n";
var_dump(Cache::store('key', [new ArrayObject([1])]));
var_dump(Cache::fetch('key')[0][0]);
?>
--EXPECT--
[true,true]
[true,true]
serialize: destructor
store: destructor
bool(false)
The next store:
bool(true)
int(1)
