--TEST--
Hone\Cache: if a class has changed since the store, a fetch has the result of unserialize()
--EXTENSIONS--
pcntl
--INI--
hone.cache_cli=1
hone.cache_size=8M
--FILE--
<?php
use Hone\Cache;

/** Runs a function in its own process, so that the function can declare classes. */
function apart(string $what, callable $function): void
{
    $child = pcntl_fork();
    if ($child === 0) {
        $function();
        exit(0);
    }
    pcntl_waitpid($child, $status);
    if ($status !== 0) {
        echo "$what: status $status\n";
    }
}

/** The result, exceptions and warnings of a function, and the output of code of the user. */
function outcome(callable $function): string
{
    $said = '';
    set_error_handler(function ($level, $message) use (&$said) {
        // The function has another name.
        $said .= preg_replace('/^[\w\\\\:]+\(\)/', 'f()', $message) . "\n";
        return true;
    });
    ob_start();
    try {
        var_dump($function());
    } catch (Throwable $thrown) {
        echo get_class($thrown), ': ', $thrown->getMessage();
    }
    // Objects in a circle are freed here, and not at the end of the process.
    gc_collect_cycles();
    restore_error_handler();
    return preg_replace('/#\d+/', '#', ob_get_clean()) . $said;
}

function compare(string $what, string $stored, string $now): void
{
    apart($what, function () use ($what, $stored) {
        eval($stored);
        $value = make();
        if (!Cache::store('value', $value) || Cache::entries()->current()['type'] !== 'objects') {
            echo "$what: not kept as objects\n";
        }
        Cache::store('text', serialize($value));
    });
    $file = sys_get_temp_dir() . '/hone-' . getmypid();
    // In its own process, where no class was autoloaded before.
    apart($what, function () use ($now, $file) {
        eval($now);
        $text = Cache::fetch('text');
        file_put_contents($file, outcome(fn () => unserialize($text)));
    });
    $wanted = file_get_contents($file);
    unlink($file);
    // Under valgrind the cases take turns: each has one of the three.
    static $number = 0;
    $modes = ['auto', 'block', 'copy'];
    foreach (getenv('USE_ZEND_ALLOC') === '0' ? [$modes[$number++ % 3]] : $modes as $read) {
        apart("$what, $read", function () use ($what, $now, $read, $wanted) {
            ini_set('hone.cache_read', $read);
            eval($now);
            $fetched = outcome(fn () => Cache::fetch('value', false));
            if ($wanted !== $fetched) {
                echo "$what, $read: $fetched\nnot\n$wanted\n";
            }
        });
    }
    Cache::clear();
    $GLOBALS['compared']++;
}

$compared = 0;

$class = 'class C { public $a = 1; protected $b = "x"; private ?C $c = null; public int $n = 3; public $list = [];
    static function make() {
        $c = new C; $c->c = new C; $c->list = [1, $c, ["x" => $c->c]];
        $o = new stdClass; $o->p = $c; $o->{"q"} = 1.5; $o->s = $o; $o->{"7"} = -0.0; $o->f = [true, null, 1e100, "\0\""];
        return [$c, $o, "k" => [$o, -7 => [1, 2]], $o];
    } }
    function make() { return C::make(); }';
$rest = 'protected $b = "x"; private ?C $c = null; public int $n = 3; public $list = [];';
$same = 'public $a = 1;' . $rest;

// Valgrind translates code before its first use. The children do not translate what
// their parent has used.
eval(preg_replace(['/\bC\b/', '/\bmake\b/'], ['W', 'warm'], $class));
foreach (['copy', 'block', 'auto'] as $read) {
    ini_set('hone.cache_read', $read);
    Cache::store('value', warm());
    outcome(fn () => Cache::fetch('value'));
}
outcome(fn () => unserialize(serialize(warm())));
outcome(fn () => trigger_error('none') && throw new Exception('none'));
Cache::clear();

compare('nothing changed', $class, $class);
compare('a property added', $class, "class C { $same public \$new = 5; }");
compare('a property removed', $class, "class C { $rest }");
compare('renamed', $class, "class C { public \$z = 1; $rest }");
compare('another order', $class, "class C { $rest public \$a = 1; }");
compare('another default', $class, "class C { public \$a = 7; $rest }");
compare('a type that does not fit', $class, 'class C { public string $a = ""; ' . $rest . ' }');
compare('a type that fits', $class, 'class C { public int|string $a = ""; ' . $rest . ' }');
compare('a type to which PHP converts', $class, 'class C { public float $a = 0.5; ' . $rest . ' }');
compare('another class as a type', $class, 'class C { public $a = 1; protected $b = "x"; private ?stdClass $c = null; public int $n = 3; public $list = []; }');
compare('an interface as a type', $class, 'interface I {} class C implements I { public $a = 1; protected $b = "x"; private ?I $c = null; public int $n = 3; public $list = []; }');
compare('an unknown type', $class, 'class C { public $a = 1; protected $b = "x"; private ?Unknown $c = null; public int $n = 3; public $list = []; }');
compare('another visibility', $class, 'class C { private $a = 1; ' . $rest . ' }');
compare('readonly', $class, 'class C { public readonly int $a; ' . $rest . ' }');
compare('static', $class, 'class C { static $a = 1; ' . $rest . ' }');
compare('a parent', $class, "class B { private \$c = 9; } class C extends B { $same }");
compare('a parent in C', $class, "class C extends SplPriorityQueue { $same }");
compare('final', $class, "final class C { $same }");
compare('abstract', $class, "abstract class C { $same }");
compare('an interface', $class, 'interface C { }');
compare('a trait', $class, "trait C { $same }");
compare('an enum', $class, 'enum C { case X; }');
compare('gone', $class, '');
compare('an alias', $class, "class D { $same } class_alias('D', 'C');");
compare('__wakeup()', $class, "class C { $same function __wakeup() { echo \"wakeup\\n\"; } }");
compare('__unserialize()', $class, "class C { $same function __unserialize(\$data) { echo count(\$data), \"\\n\"; } }");
compare('__wakeup() that throws', $class, "class C { $same function __wakeup() { throw new Exception('no'); } function __destruct() { echo 'destroyed'; } }");
compare('a destructor', $class, "class C { $same function __destruct() { echo 'destroyed'; } }");
compare('a constant without a value', $class, 'class C { public $a = 1; public $new = self::NONE; ' . $rest . ' }');
compare('no dynamic properties', $class, 'class C { } ');
compare('an autoloader', $class, "spl_autoload_register(function (\$name) { eval('class C { $same }'); });");
compare('an autoloader that throws', $class, 'spl_autoload_register(function ($name) { throw new Exception("no $name"); });');
compare('an autoloader that uses the cache', $class, "spl_autoload_register(function (\$name) { Hone\\Cache::store('other', [new stdClass]); echo count(Hone\\Cache::fetch('other')), \"\\n\"; eval('class C { $same }'); });");
compare('unserialize_callback_func', $class, 'function call($name) { echo "$name\n"; } ini_set("unserialize_callback_func", "call");');
compare('unserialize_max_depth', $class, $class . 'ini_set("unserialize_max_depth", "2");');
compare('unserialize_max_depth that is enough', $class, $class . 'ini_set("unserialize_max_depth", "4");');

$enum = 'enum S: string { case A = "a"; case B = "b"; } function make() { return [S::A, S::B, (object)["x" => S::A]]; }';
compare('the same enum', $enum, $enum);
compare('a case is gone', $enum, 'enum S: string { case A = "a"; }');
compare('other values', $enum, 'enum S: string { case A = "z"; case B = "y"; }');
compare('no values', $enum, 'enum S { case A; case B; }');
compare('a class with these properties', $enum, 'class S { public $name; public $value; }');
compare('a constant instead of a case', $enum, 'enum S { const A = 3; case B; }');
compare('two cases of one value', $enum, 'enum S: string { case A = "a"; case B = "a"; }');
compare('a constant that fails', $enum, 'enum S: string { case A = "a"; case B = "b"; const C = Missing::X; }');
compare('a constant of another class', $enum, 'spl_autoload_register(function ($name) { echo "$name\n"; eval("class $name { const X = 1; }"); });
    enum S: string { case A = "a"; case B = "b"; const C = Other::X; }');
compare('a case that fails', $enum, 'enum S: string { case A = "a"; case B = Missing::X . "b"; }');

$answers = 'function __serialize(): array { return ["a" => $this->a, 5 => [1, new stdClass]]; }';
$takes = 'function __unserialize(array $data): void { echo json_encode($data), "\n"; $this->a = $data["a"]; }';
$data = 'class D { public $a = 1; private $b = 2; %s } function make() { $d = new D; $d->a = new D; return [$d, "d" => $d]; }';
$both = sprintf($data, $answers . $takes);
compare('the same answers', $both, $both);
compare('__unserialize() is gone', $both, sprintf($data, $answers));
compare('__serialize() is gone', $both, sprintf($data, $takes));
compare('both are gone', $both, sprintf($data, ''));
compare('__wakeup() instead', $both, sprintf($data, 'function __wakeup() { echo "awake\n"; }'));
compare('abstract with answers', $both, "abstract class D { $answers $takes }");
compare('__unserialize() that throws', $both, sprintf($data, $answers . 'function __unserialize(array $data): void { throw new Exception("no"); }'));
$wakes = sprintf($data, 'function __wakeup() { echo "awake ", gettype($this->a), "\n"; }');
compare('the same __wakeup()', $wakes, $wakes);
compare('__wakeup() is gone', $wakes, sprintf($data, ''));

echo "$compared classes\n";

// Without objects, all of the array is shared. A string has it 2^24 times.
apart('an array of 2^24 strings', function () {
    eval('class Gone { }');
    for ($i = 0, $array = [1]; $i < 24; $i++) {
        $array = [$array, $array];
    }
    Cache::store('value', [new Gone(), $array]);
});
apart('an array of 2^24 strings', function () {
    ini_set('memory_limit', '64M');
    echo outcome(fn() => Cache::fetch('value', 'nothing'));
});
?>
--EXPECT--
55 classes
string(7) "nothing"
f(): A class of a value in the cache has changed, and unserialize() would need a string of more than 8388608 bytes
