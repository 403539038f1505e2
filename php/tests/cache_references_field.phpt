--TEST--
Hone\Cache: fetch_field() uses the path as it was passed, also if __wakeup() changes it by reference
--EXTENSIONS--
hone
--INI--
hone.cache_cli=1
--FILE--
<?php
use Hone\Cache;

class Changes
{
    public function __wakeup()
    {
        $GLOBALS['part'] = 7;
        $GLOBALS['another'] = str_repeat('zq', 9);
    }
}

$part = str_repeat('x', 18);
Cache::store('key', [$part => 5, 'changes' => new Changes]);
var_dump(Cache::fetch_field('key', [&$part]), $part);
$part = str_repeat('x', 18);
try {
    Cache::fetch_field('key', [$part, 1.5]);
} catch (TypeError $error) {
    echo $error->getMessage(), "\n";
}
?>
--EXPECT--
int(5)
int(7)
Hone\Cache::fetch_field(): Argument #2 ($path) must have only strings and ints
