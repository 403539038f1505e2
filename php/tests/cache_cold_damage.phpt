--TEST--
Values in the cold form: a damaged one is a miss, and the log has a line
--EXTENSIONS--
hone
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') die('skip valgrind has a memory of its own');
?>
--INI--
hone.cache_cli=1
hone.cache_size=2M
log_errors=1
error_log=
--FILE--
<?php
use Hone\Cache;

for ($n = 0; Cache::info()['evictions'] === 0; $n++) {
    Cache::store("fill$n", str_repeat('x', 10000));
}
Cache::store('key', ['the marker' => 'of this value', 'list' => [1, 2, 3]]);
Cache::store('other', [1, 2, 3]);
var_dump(Cache::info()['cold_entries']);

// The byte before the first string has its length.
foreach (file('/proc/self/maps') as $line) {
    if (str_contains($line, 'hone-cache')) {
        [$from, $to] = array_map('hexdec', explode('-', explode(' ', $line)[0]));
        break;
    }
}
$memory = fopen('/proc/self/mem', 'r+b');
fseek($memory, $from);
$at = strpos(stream_get_contents($memory, $to - $from), "\x8athe marker");
fseek($memory, $from + $at);
fwrite($memory, "\x11");
fclose($memory);

var_dump(Cache::fetch('key', 'missed'), Cache::exists('key'), Cache::fetch('key', 'missed'), Cache::fetch('other'));
var_dump(Cache::store('key', [5]), Cache::fetch('key'));
?>
--EXPECTF--
PHP Notice:  The shared cache "default" of 2097152 bytes is full %s
int(2)
PHP Warning:  The shared cache "default": the value of 'key' is damaged, and was removed: a key is neither string nor integer; the log has at most one such line a minute
string(6) "missed"
bool(false)
string(6) "missed"
array(3) {
  [0]=>
  int(1)
  [1]=>
  int(2)
  [2]=>
  int(3)
}
bool(true)
array(1) {
  [0]=>
  int(5)
}
