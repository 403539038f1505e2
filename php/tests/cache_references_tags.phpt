--TEST--
Hone\Cache: code of the user changes tags and values by reference while a value is stored
--EXTENSIONS--
hone
--INI--
hone.cache_cli=1
--FILE--
<?php
use Hone\Cache;

class Changes
{
    public function __construct(private string $name, private mixed $to)
    {
    }

    public function __serialize(): array
    {
        $GLOBALS[$this->name] = $this->to;
        return [1];
    }

    public function __unserialize(array $data): void
    {
    }
}

$tag = str_repeat('t', 20);
var_dump(Cache::store('int', new Changes('tag', 0x4141414141), 0, [&$tag]), Cache::exists('int'));
$tag = str_repeat('t', 20);
var_dump(Cache::store('string', new Changes('tag', str_repeat('u', 20)), 0, [&$tag]), Cache::invalidate_tag($tag), Cache::exists('string'));
$tag = str_repeat('t', 20);
var_dump(Cache::store_multi(['first' => new Changes('tag', null), 'second' => 2], 0, [&$tag]), Cache::exists('second'));
$tag = str_repeat('t', 20);
var_dump(Cache::remember('remember', 0, function () {
    $GLOBALS['tag'] = 7;
    return 'computed';
}, tags: [&$tag]), Cache::exists('remember'));
$value = [new Changes('value', null), str_repeat('v', 20), new Changes('other', 1)];
var_dump(Cache::store_multi(['value' => &$value]), $value, Cache::fetch('value')[1]);
?>
--EXPECTF--

Warning: Hone\Cache::store(): The value of 'int' cannot be stored: a tag is no longer a string in %s on line %d
bool(false)
bool(false)
bool(true)
bool(true)
bool(false)

Warning: Hone\Cache::store_multi(): The value of 'first' cannot be stored: a tag is no longer a string in %s on line %d

Warning: Hone\Cache::store_multi(): The value of 'second' cannot be stored: a tag is no longer a string in %s on line %d
bool(false)
bool(false)

Warning: Hone\Cache::remember(): The value of 'remember' cannot be stored: a tag is no longer a string in %s on line %d
string(8) "computed"
bool(false)
bool(true)
NULL
string(20) "vvvvvvvvvvvvvvvvvvvv"
