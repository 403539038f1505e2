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

write($small);
Cache::clear();
echo Cache::load($file), ' ', read_all() === $whole ? 'as before' : 'other values', "\n";
?>
--CLEAN--
<?php
require __DIR__ . '/cache_snapshot.inc';
clean();
?>
--EXPECT--
4 small
bytes: some refused, none accepted
bytes, checksums mended: some refused, some accepted
truncations: some refused, none accepted
truncations, checksums mended: some refused, none accepted
4 as before
