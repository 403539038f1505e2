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

/** The snapshot with each byte changed by each number. */
function changed(string $bytes, int ...$by): Generator
{
    for ($i = 0; $i < strlen($bytes); $i++) {
        foreach ($by as $bits) {
            yield "$i $bits" => substr_replace($bytes, $bytes[$i] ^ chr($bits), $i, 1);
        }
    }
}

function cut(string $bytes): Generator
{
    for ($i = 0; $i < strlen($bytes); $i++) {
        yield "$i" => substr($bytes, 0, $i);
    }
}

try_all('bytes', false, changed($small, 1));
try_all('bytes', true, changed($small, 1, 8, 0x40, 0x80, 0xff));
try_all('truncations', false, cut($small));
try_all('truncations', true, cut($small));

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

try_all('bytes', true, changed($small, 1, 2, 8, 0x80, 0xff));
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
bytes, checksums mended: some refused, some accepted
