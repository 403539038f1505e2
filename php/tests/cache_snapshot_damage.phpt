--TEST--
Hone\Cache::load(): damaged snapshots with correct checksums are refused or harmless
--EXTENSIONS--
hone
--INI--
hone.cache_cli=1
hone.cache_size=2M
memory_limit=256M
--FILE--
<?php
use Hone\Cache;
require __DIR__ . '/cache_snapshot.inc';
error_reporting(0);

Cache::store('k', ['list' => [1, 'two', [3.5, null]], 7 => true, 'again' => 'two', 'e' => []], 1000, ['tag']);
Cache::store('s', 'a string');
Cache::store('n', 12);
Cache::store('o', new ArrayObject());
Cache::save($file);
$small = file_get_contents($file);
Cache::clear();
echo Cache::load($file), ' ', strlen($small) < 2000 ? 'small' : 'large', "\n";
$whole = read_all();

try_all('bytes', (function () use ($small) {
    for ($i = 0; $i < strlen($small); $i++) {
        $bytes = $small;
        $bytes[$i] = $bytes[$i] ^ "\x01";
        yield "$i raw" => $bytes;
    }
})());
try_all('bytes, checksums mended', (function () use ($small) {
    for ($i = 0; $i < strlen($small); $i++) {
        foreach (["\x01", "\x08", "\x40", "\x80", "\xff"] as $flip) {
            $bytes = $small;
            $bytes[$i] = $bytes[$i] ^ $flip;
            yield "$i " . ord($flip) => $bytes;
        }
    }
})());
try_all('numbers, checksums mended', (function () use ($small) {
    for ($i = 64; $i + 4 <= strlen($small); $i += 4) {
        foreach ([0, -1, 64, 0x7fffffff] as $number) {
            yield "$i $number" => substr_replace($small, pack('V', $number), $i, 4);
        }
    }
})());
try_all('truncations', (function () use ($small) {
    for ($i = 0; $i < strlen($small); $i++) {
        yield "$i raw" => substr($small, 0, $i);
    }
})());
try_all('truncations, checksums mended', (function () use ($small) {
    for ($i = 0; $i < strlen($small); $i++) {
        yield "$i" => substr($small, 0, $i);
    }
})());

Cache::clear();
for ($i = 0; $i < 50; $i++) {
    Cache::store("key $i", array_fill_keys(range(0, $i * 3, 3), ["id" => $i, "name" => "name $i", "list" => range(0, $i)]), $i * 10, ['t' . $i % 3]);
}
Cache::save($file);
$large = file_get_contents($file);
$seed = (int) (getenv('HONE_SEED') ?: random_int(1, 1 << 30));
mt_srand($seed);
echo "HONE_SEED=$seed\n";
try_all('random', (function () use ($large) {
    for ($i = 0; $i < 1000; $i++) {
        $bytes = $large;
        for ($j = mt_rand(1, 4); $j > 0; $j--) {
            $at = mt_rand(200, strlen($large) - 8);
            switch (mt_rand(0, 3)) {
            case 0:
                $bytes[$at] = chr(mt_rand(0, 255));
                break;
            case 1:
                $bytes = substr_replace($bytes, pack('P', mt_rand(0, strlen($large)) & ~7), $at & ~7, 8);
                break;
            case 2:
                // Another part of the same file has pointers and structures that are valid at another place.
                $bytes = substr_replace($bytes, substr($large, mt_rand(25, strlen($large) / 8 - 8) * 8, 8), $at & ~7, 8);
                break;
            default:
                $bytes = substr_replace($bytes, '', $at & ~7, 8 * mt_rand(0, 4));
            }
        }
        yield "$i" => $bytes;
    }
})());
write($small);
Cache::clear();
echo Cache::load($file), ' ', read_all() === $whole ? 'as before' : 'other values', "\n";
?>
--CLEAN--
<?php
require __DIR__ . '/cache_snapshot.inc';
clean();
?>
--EXPECTF--
4 small
bytes: some refused, none accepted
bytes, checksums mended: some refused, some accepted
numbers, checksums mended: some refused, some accepted
truncations: some refused, none accepted
truncations, checksums mended: some refused, none accepted
HONE_SEED=%d
random: some refused, some accepted
4 as before
