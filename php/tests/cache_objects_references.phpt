--TEST--
Hone\Cache: a store visits a variable of an answer once, however many references lead to it
--EXTENSIONS--
hone
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

    function __serialize(): array
    {
        return levels();
    }

    function __unserialize(array $data): void
    {
        $this->levels = $data;
    }
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
    var_dump(Cache::store($class, new $class), serialize(Cache::fetch($class)->levels) === serialize(levels()));
}
?>
--EXPECT--
bool(true)
bool(true)
bool(true)
bool(true)
