--TEST--
Hone\Cache::load(): damaged snapshots and objects with correct checksums are refused or harmless
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

// Damaged objects with correct checksums are refused or harmless.
Cache::clear();
class C
{
    public $a = 1;
    protected ?C $c = null;
    public array $list = [];
    public int $n = 5;

    static function make(): array
    {
        $c = new C();
        $c->c = new C();
        $c->list = [1, $c, 'x' => [$c->c, 'text']];
        $o = new stdClass();
        $o->c = $c;
        $o->self = $o;
        $o->plain = [1, ['two', 'k' => 3.5]];
        $w = new W();
        $w->at = new DateTimeZone('UTC');
        return [$c, 'o' => $o, [$o, E::B], new ArrayObject([$w])];
    }
}
class W
{
    public ?DateTimeZone $at;

    function __wakeup() { $this->at?->getName(); }
}
enum E: string
{
    case A = 'a';
    case B = 'b';
}

Cache::store('k', C::make());
Cache::store('one', new C());
Cache::save($file);
$small = file_get_contents($file);
Cache::clear();
echo Cache::load($file), "\n";
$whole = serialize([Cache::fetch('k'), Cache::fetch('one')]);
echo $whole === serialize([C::make(), new C()]) ? "as before\n" : $whole;

try_all('bytes', (function () use ($small) {
    for ($i = 0; $i < strlen($small); $i++) {
        foreach (["\x01", "\x02", "\x08", "\x80", "\xff"] as $flip) {
            $bytes = $small;
            $bytes[$i] = $bytes[$i] ^ $flip;
            yield "$i " . ord($flip) => $bytes;
        }
    }
})());
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
2
as before
bytes: some refused, some accepted
