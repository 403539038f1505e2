--TEST--
Hone\Cache: what changes the table of an object's properties does not reach the cache
--INI--
hone.cache_cli=1
hone.cache_size=16M
error_reporting=E_ALL & ~E_DEPRECATED
--FILE--
<?php
use Hone\Cache;

class Nothing {}

function kept_as(): string { return Cache::entries()->current()['type']; }

$std = new stdClass();
$std->list = ['in', 'it'];
$std->text = 'text';
Cache::store('k', $std);
foreach (['auto', 'block', 'copy'] as $read) {
    ini_set('hone.cache_read', $read);
    // These write to a table of properties that has several references, too.
    $fetched = Cache::fetch('k');
    array_walk($fetched, function (&$value) { $value = 5; });
    $fetched = Cache::fetch('k');
    array_walk_recursive($fetched, function (&$value) { $value = 6; });
    $fetched = Cache::fetch('k');
    foreach ($fetched as &$value) {
        $value = 7;
    }
    unset($value);
    $fetched = new ArrayObject(Cache::fetch('k'));
    $fetched->uasort(fn ($a, $b) => 1);
    $fetched['text'] = 8;
    echo serialize(Cache::fetch('k')), "\n";
}
ini_set('hone.cache_read', 'auto');
$std->object = new Nothing();
Cache::store('k', [$std, get_object_vars($std)]);
$fetched = Cache::fetch('k');
array_walk($fetched[0], function (&$value) { $value = 9; });
echo serialize($fetched[1]), "\n";
ini_set('hone.cache_objects', 'serialize');
Cache::store('k', [$std]);
echo kept_as(), "\n";
?>
--EXPECT--
O:8:"stdClass":2:{s:4:"list";a:2:{i:0;s:2:"in";i:1;s:2:"it";}s:4:"text";s:4:"text";}
O:8:"stdClass":2:{s:4:"list";a:2:{i:0;s:2:"in";i:1;s:2:"it";}s:4:"text";s:4:"text";}
O:8:"stdClass":2:{s:4:"list";a:2:{i:0;s:2:"in";i:1;s:2:"it";}s:4:"text";s:4:"text";}
a:3:{s:4:"list";a:2:{i:0;s:2:"in";i:1;s:2:"it";}s:4:"text";s:4:"text";s:6:"object";O:7:"Nothing":0:{}}
serialized
