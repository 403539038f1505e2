--TEST--
Hone\Cache::load(): the warning about a refused file names the field and its value
--INI--
hone.cache_cli=1
hone.cache_size=2M
--FILE--
<?php
use Hone\Cache;
require __DIR__ . '/cache_snapshot.inc';

Cache::store('k', ['list' => [1, 'two']]);
Cache::store('s', 'a string');
Cache::save($file);
$good = file_get_contents($file);

function reason(string $bytes, bool $mend = true): string
{
    global $file;
    write($bytes, $mend);
    error_clear_last();
    Cache::clear();
    if (@Cache::load($file) !== 0 || Cache::info()['entries'] !== 0) {
        return 'accepted';
    }
    $line = error_get_last()['message'];
    return preg_replace('/\d{2,}/', 'N', substr($line, strlen("Hone\\Cache::load(): $file: ")));
}
function number(string $bytes, int $at, string $format, int $more): string
{
    $number = pack($format, unpack($format, $bytes, $at)[1] + $more);
    return substr_replace($bytes, $number, $at, strlen($number));
}
/** The checksum of the head only. */
function head(string $bytes): string
{
    return substr_replace($bytes, strrev(hash('xxh64', substr($bytes, 0, 48), true)), 48, 8);
}

echo "cut: ", reason(substr($good, 0, -8), false), "\n";
echo "longer: ", reason($good . str_repeat("\0", 8), false), "\n";
echo "another size: ", reason(head(number($good, 16, 'P', 8)), false), "\n";
echo "a byte: ", reason(number($good, strlen($good) - 8, 'P', 1), false), "\n";
echo "a byte of the head: ", reason(number($good, 32, 'P', 1), false), "\n";
echo "fewer entries: ", reason(number($good, 24, 'P', -1)), "\n";
echo "of the first format: ", reason(number($good, 8, 'V', -1)), "\n";

echo "-- damaged values are misses, and one line tells of them\n";
function loaded(string $bytes): string
{
    global $file;
    write($bytes);
    error_clear_last();
    Cache::clear();
    $n = @Cache::load($file);
    $line = error_get_last()['message'] ?? 'no warning';
    return $n . ' ' . json_encode([Cache::fetch('k'), Cache::fetch('s')], JSON_INVALID_UTF8_SUBSTITUTE | JSON_PRESERVE_ZERO_FRACTION)
        . ' ' . str_replace("Hone\\Cache::load(): $file: ", '', $line);
}
$text = strpos($good, "\x88a string");
echo loaded($good), "\n";
echo loaded(substr_replace($good, "\x89", $text, 1)), "\n";
echo loaded(str_replace("\x84list", "\x04list", $good)), "\n";
echo loaded(substr_replace($good, "\x01", strpos($good, "k\x07\x01\x84list") - 4, 1)), "\n";
echo loaded(str_replace("\x84list", "\x04list", substr_replace($good, "\x89", $text, 1))), "\n";

// A list of 70 times true, compressed by LZ4, of 72 bytes.
$lz4 = function (int $size) use ($good): string {
    $at = strpos($good, "k\x07\x01\x84list");
    $value = "\x11" . chr($size) . "\x3f\x06\x46\x03\x01\x00\x2d\x50\x03\x03\x03\x03\x03";
    return str_replace(json_encode(array_fill(0, 70, true)), 'the list',
        loaded(substr_replace(substr_replace($good, pack('V', strlen($value)), $at - 16, 4), "k$value", $at, 14)));
};
echo $lz4(72), "\n";
echo $lz4(71), "\n";
?>
--CLEAN--
<?php
require __DIR__ . '/cache_snapshot.inc';
clean();
?>
--EXPECTF--
cut: size is N, not N
longer: size is N, not N
another size: size is N, not N
a byte: checksum is N, not N
a byte of the head: checksum of the head is N, not N
fewer entries: count of entries is 1, not 2
of the first format: format is 1, not 2
-- damaged values are misses, and one line tells of them
2 [{"list":[1,"two"]},"a string"] no warning
1 [{"list":[1,"two"]},null] the value of entry %d: a string is cut off
1 [null,"a string"] the value of entry %d: a key is neither string nor integer
1 [null,"a string"] the value of entry %d: its flags are wrong
0 [null,null] the value of entry %d: %s; 2 values are damaged
%r(2 \[the list,"a string"\] no warning|1 \[null,"a string"\] the value of entry \d+: it needs LZ4, which this build does not have)%r
%r1 \[null,"a string"\] the value of entry \d+: (the value cannot be decompressed|it needs LZ4, which this build does not have)%r
