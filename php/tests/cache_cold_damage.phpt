--TEST--
Values in the cold form: a damaged one is a miss, and the log has a line; with a right sum, it is never more than another value
--SKIPIF--
<?php if (getenv('USE_ZEND_ALLOC') === '0') die('skip valgrind has a memory of its own'); ?>
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
$find = function (string $bytes, ?int $begin = null) use ($memory, $from, $to): int {
    fseek($memory, $begin ??= $from);
    return $begin + strpos(stream_get_contents($memory, $to - $begin), $bytes);
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
// php_hone_cold_sum()
$step = function (int $sum, string $bytes): int {
    $sum ^= unpack('P', str_pad($bytes, 8, "\0"))[1];
    [$low, $high] = [$sum & 0xffffffff, $sum >> 32 & 0xffffffff];
    $product = $low * 0x7f4a7c15;
    $high = ($product >> 32) + (($low * 0x9e37 & 0xffff) << 16) + ($low * 0x79b9 & 0xffffffff) + ($high * 0x7f4a7c15 & 0xffffffff);
    $sum = $high << 32 | $product & 0xffffffff;
    return $sum ^ ($sum >> 32 & 0xffffffff);
};
$sum = function (string $bytes) use ($step): int {
    $sums = [strlen($bytes), 0, 0, 0];
    for ($at = 0; $at + 32 <= strlen($bytes); $at += 32) {
        foreach ($sums as $i => $one) {
            $sums[$i] = $step($one, substr($bytes, $at + 8 * $i, 8));
        }
    }
    for (; $at + 8 <= strlen($bytes); $at += 8) {
        $sums[0] = $step($sums[0], substr($bytes, $at, 8));
    }
    $sums[0] = $step($sums[0], substr($bytes, $at));
    return array_reduce(array_slice($sums, 1), fn(int $all, int $one) => $step($all, pack('P', $one)), $sums[0]) >> 33 & 0x7fffffff;
};

Cache::store('key', $value(10000));
Cache::store('other', [1, 2, 3]);
var_dump(Cache::info()['cold_entries']);

// The request keeps what it makes in the first mode, and not in the second.
$modes = ['auto', 'copy'];

// Each byte, with one bit changed, and with all. A tag, two bytes of the size and two of LZ4
// are before what it made shorter.
ob_start();
(new ReflectionExtension('hone'))->info();
$forms = ['plain' => [$value, 0, "\x07\x03\x8cmarker", "\x89end N", 60, 100]];
if (!str_contains(ob_get_clean(), 'LZ4 => off')) {
    $long = fn(int $n) => ["marker $n" => array_fill(0, 300, 'text')];
    $forms['LZ4'] = [$long, 5, "\x07\x01\x8cmarker", "\xc1\xc1\xc1\xc1\xc1", 25, 50];
}
foreach ($forms as $form => [$of, $before, $begins, $ends, $fewest, $most]) {
    $missed = $tried = 0;
    do {
        $n = 10001 + $tried;
        Cache::store('key', $of($n));
        $begin = $find("$begins $n") - $before;
        $end = str_replace('N', (string)$n, $ends);
        $size = $find($end, $begin) + strlen($end) - $begin;
        $change($begin + intdiv($tried, 2), $tried % 2 ? 0xff : 1 << $n % 8);
        ini_set('hone.cache_read', $modes[($tried ^ $tried >> 1) & 1]);
        $missed += Cache::fetch('key', 'missed') === 'missed' && !Cache::exists('key');
        if ($tried === 100) {
            ini_set('log_errors', 0); // on a slow machine, the rest takes more than a minute
        }
    } while (++$tried < 2 * $size);
    if ($missed !== $tried || $size < $fewest || $size > $most) {
        echo "$form: $missed of $tried are missed, size $size\n";
    }
}
var_dump(Cache::fetch('other'));
var_dump(Cache::store('key', $value(20000)), Cache::fetch('key') === $value(20000));

// Damaged bytes with their right sum, which is 68 bytes before them: a miss, or another value
// that PHP can read. Objects may have what their class refuses, as in unserialize().
class Shape
{
    public $name, $more = ['z' => [1]];
    public int $size = 3;
}
error_reporting(E_ALL & ~E_DEPRECATED & ~E_NOTICE & ~E_WARNING); // of unserialize(): a warning from PHP 8.3 on
$number = 0;
foreach (['plain' => [], 'objects' => ['shapes' => [new Shape, (object)['dynamic' => 1.5], new Shape]]] as $kind => $more) {
    for ($tried = $missed = $read = 0, $size = 1; $tried < 4 * $size; $tried++, $number++) {
        $mark = substr(md5((string)$number), 0, 5);
        Cache::store('key', ["right $mark" => 'text', 'rows' => [['a' => 1, 'b' => 'x'], ['a' => 2, 'b' => 'y']], ...$more, 'end' => "END $mark"]);
        $begin = $find("\x8bright $mark") - 2;
        $size = $find("\x89END $mark") + 10 - $begin;
        fseek($memory, $begin - 68);
        $head = unpack('V', fread($memory, 4))[1];
        fseek($memory, $begin);
        $bytes = fread($memory, $size);
        $right = ($head & 0x7fffffff) === $sum($bytes);
        $at = intdiv($tried, 4);
        $bytes[$at] = $bytes[$at] ^ chr([0xff, 1 << $at % 8, 0x40, 3][$tried % 4]);
        fseek($memory, $begin);
        fwrite($memory, $bytes);
        fseek($memory, $begin - 68);
        fwrite($memory, pack('V', $head & 0x80000000 | $sum($bytes)));
        ini_set('hone.cache_read', $modes[($tried ^ $tried >> 2) & 1]);
        try {
            $got = Cache::fetch('key', 'missed');
            $missed += $right && $got === 'missed';
            $read += $right && $got !== 'missed' && is_string(serialize($got));
        } catch (Error) {
            $read += $right;
        }
    }
    echo "$kind: ", $missed + $read === $tried && $missed > $tried / 4 && $read > 0 ? 'good' : "$missed and $read of $tried", "\n";
}

// The entry has the size of the value, 71 bytes before its data. If that is wrong, the
// value is made by way of a copy.
foreach ([1, 2, 4, 8, 16, 0xff] as $n => $by) {
    foreach ($modes as $i => $read) {
        $number = 20001 + 2 * $n + $i;
        ini_set('hone.cache_read', $read);
        Cache::store('key', $value($number));
        $change($find("\x8cmarker $number") - 2 - 71, $by);
        Cache::fetch('key') === $value($number) || print("another value with another size, $read: $by\n");
    }
}
Cache::store('key', $value(20100));

// A file has no damaged value.
$change($find("\x8cmarker 20100") + 5, 1);
$file = __DIR__ . '/cache_cold_damage.tmp';
var_dump(Cache::save($file), Cache::clear(), Cache::load($file) > 0, Cache::exists('key'), Cache::fetch('other') === [1, 2, 3]);
unlink($file);
?>
--EXPECTF--
PHP Notice:  The shared cache "default" of 2097152 bytes is full %s
int(2)
PHP Warning:  The shared cache "default": the value of 'key' is damaged, and was removed: its sum is wrong; the log has at most one such line a minute
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
plain: good
objects: good
bool(true)
bool(true)
bool(true)
bool(false)
bool(true)
