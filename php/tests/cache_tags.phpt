--TEST--
Hone\Cache: values with a tag are removed when the tag is invalidated
--INI--
hone.cache_cli=1
--FILE--
<?php
use Hone\Cache;

Cache::store('a', 1, 0, ['red', 'round']);
Cache::store('b', [2], 0, ['red']);
Cache::store('c', 'three', 100, ['round']);
Cache::store('d', 4);
Cache::store_multi(['e' => 5, 'f' => 6], 0, ['red']);
Cache::add('g', 7, 0, array_map(strval(...), range(1, 255)));
echo json_encode(array_keys(Cache::fetch_multi(['a', 'b', 'c', 'd', 'e', 'f', 'g']))), "\n";
$kept = Cache::fetch('b');
echo json_encode([Cache::invalidate_tag('red'), array_keys(Cache::fetch_multi(['a', 'b', 'c', 'd', 'e', 'f', 'g'])), $kept]), "\n";
echo json_encode([Cache::exists('a'), Cache::add('a', 'new', 0, ['red']), Cache::fetch('a')]), "\n";
echo json_encode([Cache::invalidate_tag('round'), Cache::fetch('a'), Cache::fetch('c')]), "\n";
echo json_encode([Cache::invalidate_tag('255'), Cache::exists('g'), Cache::invalidate_tag('never used'), Cache::fetch('d')]), "\n";

// The longest tag, and a tag that is one byte longer.
$tag = str_repeat('t', 65535);
echo json_encode([Cache::store('h', 8, 0, [$tag]), Cache::fetch('h'), Cache::invalidate_tag($tag), Cache::fetch('h')]), "\n";
$wrong = function (bool $result) {
    var_dump($result, error_get_last()['message'] ?? null);
    error_clear_last();
};
$wrong(@Cache::store('h', 9, 0, ['red', "{$tag}t"]));
$wrong(@Cache::store_multi(['h' => 9], 0, ["{$tag}t"]));
$wrong(@Cache::store("{$tag}t", 9, 0, ["{$tag}t"]));
$wrong(@Cache::invalidate_tag("{$tag}t"));
echo json_encode([Cache::exists('h'), Cache::fetch('a')]), "\n";

// A value that is too large makes no tags.
$before = Cache::info()['entries'];
$wrong(@Cache::store('large', str_repeat('x', 40 << 20), 0, ['huge', 'larger']));
var_dump(Cache::info()['entries'] - $before);

// Code of the user changes tags and values by reference while a value is stored.
Cache::clear();
class Changes
{
    public function __construct(private string $name, private mixed $to) {}

    public function __serialize(): array
    {
        $GLOBALS[$this->name] = $this->to;
        return [1];
    }

    public function __unserialize(array $data): void {}
}

$tag = str_repeat('t', 20);
var_dump(Cache::store('int', new Changes('tag', 0x4141414141), 0, [&$tag]), Cache::exists('int'));
$tag = str_repeat('t', 20);
echo json_encode([Cache::store('string', new Changes('tag', str_repeat('u', 20)), 0, [&$tag]), Cache::invalidate_tag($tag), Cache::exists('string')]), "\n";
$tag = str_repeat('t', 20);
var_dump(Cache::store_multi(['first' => new Changes('tag', null), 'second' => 2], 0, [&$tag]), Cache::exists('second'));
$tag = str_repeat('t', 20);
var_dump(Cache::remember('remember', 0, function () {
    $GLOBALS['tag'] = 7;
    return 'computed';
}, tags: [&$tag]), Cache::exists('remember'));
$value = [new Changes('value', null), str_repeat('v', 20), new Changes('other', 1)];
echo json_encode([Cache::store_multi(['value' => &$value]), $value, Cache::fetch('value')[1]]), "\n";
?>
--EXPECTF--
["a","b","c","d","e","f","g"]
[true,["c","d","g"],[2]]
[false,true,"new"]
[true,"new",null]
[true,false,true,4]
[true,8,true,null]
bool(false)
string(129) "Hone\Cache::store(): A tag of the shared cache is limited to 65535 bytes: 'tttttttttttttttttttttttttttttttttttttttt...' has 65536"
bool(false)
string(135) "Hone\Cache::store_multi(): A tag of the shared cache is limited to 65535 bytes: 'tttttttttttttttttttttttttttttttttttttttt...' has 65536"
bool(false)
string(129) "Hone\Cache::store(): A key of the shared cache is limited to 65535 bytes: 'tttttttttttttttttttttttttttttttttttttttt...' has 65536"
bool(false)
string(138) "Hone\Cache::invalidate_tag(): A tag of the shared cache is limited to 65535 bytes: 'tttttttttttttttttttttttttttttttttttttttt...' has 65536"
[false,"new"]
bool(false)
string(%d) "Hone\Cache::store(): 'large' needs %f MiB; a value of this cache may have %f MiB: raise hone.cache_size, now %s, to %s"
int(0)

Warning: Hone\Cache::store(): The value of 'int' cannot be stored: a tag is no longer a string in %s on line %d
bool(false)
bool(false)
[true,true,false]

Warning: Hone\Cache::store_multi(): The value of 'first' cannot be stored: a tag is no longer a string in %s on line %d

Warning: Hone\Cache::store_multi(): The value of 'second' cannot be stored: a tag is no longer a string in %s on line %d
bool(false)
bool(false)

Warning: Hone\Cache::remember(): The value of 'remember' cannot be stored: a tag is no longer a string in %s on line %d
string(8) "computed"
bool(false)
[true,null,"vvvvvvvvvvvvvvvvvvvv"]
