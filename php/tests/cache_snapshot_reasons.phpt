--TEST--
Hone\Cache::load(): the warning about a refused file names the field and its value
--EXTENSIONS--
hone
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
    return substr_replace($bytes, strrev(hash('xxh64', substr($bytes, 0, 56), true)), 56, 8);
}

echo "cut: ", reason(substr($good, 0, -8), false), "\n";
echo "longer: ", reason($good . str_repeat("\0", 8), false), "\n";
echo "another size: ", reason(head(number($good, 16, 'P', 8)), false), "\n";
echo "a byte: ", reason(number($good, strlen($good) - 8, 'P', 1), false), "\n";
echo "a byte of the head: ", reason(number($good, 32, 'P', 1), false), "\n";
echo "fewer entries: ", reason(number($good, 24, 'P', -1)), "\n";
$n = unpack('V', $good, 40)[1];
$named = [];
for ($i = 0; $i < $n; $i++) {
    $reason = reason(number($good, 64 + 4 * $i, 'V', 1));
    $named[preg_replace('/ is -?[N\d]+, not -?[N\d]+$/', '', $reason)] = true;
}
echo "layout: ", count($named) === $n && !isset($named['accepted']) ? "each number has its name" : implode('; ', array_keys($named)), "\n";
?>
--CLEAN--
<?php
require __DIR__ . '/cache_snapshot.inc';
clean();
?>
--EXPECT--
cut: size is N, not N
longer: size is N, not N
another size: size is N, not N
a byte: checksum is N, not N
a byte of the head: checksum of the head is N, not N
fewer entries: count of entries is 1, not 2
layout: each number has its name
