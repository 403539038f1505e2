--TEST--
Hone\Cache: nothing is stored if a destructor throws during the store
--EXTENSIONS--
hone
--INI--
hone.cache_cli=1
--FILE--
<?php
use Hone\Cache;

class Thrower
{
    public $removes;

    function __destruct()
    {
        throw new Exception('destructor');
    }
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

    function __unserialize(array $data): void
    {
    }
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
serialize: destructor
store: destructor
bool(false)
The next store:
bool(true)
int(1)
