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
foreach (file('/proc/self/maps') as $line) {
    if (str_contains($line, 'hone-cache')) {
        [$from, $to] = array_map('hexdec', explode('-', explode(' ', $line)[0]));
        break;
    }
}
$memory = fopen('/proc/self/mem', 'r+b');
$find = function (string $bytes) use ($memory, $from, $to): int {
    fseek($memory, $from);
    return $from + strpos(stream_get_contents($memory, $to - $from), $bytes);
};
$change = function (int $at, int $by) use ($memory): void {
    fseek($memory, $at);
    $byte = fread($memory, 1);
    fseek($memory, $at);
    fwrite($memory, $byte ^ chr($by));
};
// The byte before a string has its length; that of the first key follows two others.
$value = fn(int $n) => ["marker $n" => 'text', 'list' => [1, 300, -70000, 2.5, null, true],
    'rows' => [['a' => 1, 'b' => 'x'], ['a' => 2, 'b' => "end $n"]]];
Cache::store('key', $value(10000));
Cache::store('other', [1, 2, 3]);
var_dump(Cache::info()['cold_entries']);
$size = $find("\x89end 10000") + 10 - ($find("\x8cmarker 10000") - 2);

// Each byte, with one bit changed, and with all.
$missed = $tried = 0;
for ($n = 10001; $n < 10001 + 2 * $size; $n++, $tried++) {
    Cache::store('key', $value($n));
    $change($find("\x8cmarker $n") - 2 + intdiv($tried, 2), $tried % 2 ? 0xff : 1 << $n % 8);
    $missed += Cache::fetch('key', 'missed') === 'missed' && !Cache::exists('key');
}
var_dump($size > 60, $tried === 2 * $size, $missed === $tried, Cache::fetch('other'));
var_dump(Cache::store('key', $value(20000)), Cache::fetch('key') === $value(20000));

// The entry has the size of the value, 71 bytes before its data. If that is wrong, the
// value is made by way of a copy.
foreach ([1, 2, 4, 8, 16, 0xff] as $n => $by) {
    Cache::store('key', $value(20001 + $n));
    $change($find("\x8cmarker " . (20001 + $n)) - 2 - 71, $by);
    Cache::fetch('key') === $value(20001 + $n) || print("another value with another size: $by\n");
}
Cache::store('key', $value(20000));

// A file has no damaged value.
$change($find("\x8cmarker 20000") + 5, 1);
$file = __DIR__ . '/cache_cold_damage.tmp';
var_dump(Cache::save($file), Cache::clear(), Cache::load($file) > 0, Cache::exists('key'), Cache::fetch('other') === [1, 2, 3]);
unlink($file);
?>
--EXPECTF--
PHP Notice:  The shared cache "default" of 2097152 bytes is full %s
int(2)
PHP Warning:  The shared cache "default": the value of 'key' is damaged, and was removed: its sum is wrong; the log has at most one such line a minute
bool(true)
bool(true)
bool(true)
array(3) {
  [0]=>
  int(1)
  [1]=>
  int(2)
  [2]=>
  int(3)
}
bool(true)
bool(true)
bool(true)
bool(true)
bool(true)
bool(false)
bool(true)
