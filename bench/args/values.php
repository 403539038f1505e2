<?php
// SPDX-License-Identifier: BSD-3-Clause
// The arguments of calls.php, and functions that show values.

$alive = [];

class Text
{
    public function __construct(private string $text)
    {
    }
    public function __toString(): string
    {
        return $this->text;
    }
    public function __destruct()
    {
        $GLOBALS['alive'][] = 'destroyed';
    }
}
class TextThatThrows
{
    public function __toString(): string
    {
        throw new DomainException('no text');
    }
}
class TextThatCalls
{
    public function __toString(): string
    {
        // Calls the same functions while one of them is parsing.
        return 'n' . args_int('21') . args_string(5) . show(args_class_between(1, '2', new ArrayObject()));
    }
}
class Counted implements Countable
{
    public function count(): int
    {
        return 3;
    }
}
class MoreCounted extends Counted
{
}
enum Suit: string
{
    case Hearts = 'h';
}
function numbers(): Generator
{
    yield 1;
}

const VALUES = [
    'null' => null, 'false' => false, 'true' => true, 'int' => 5, 'zero' => 0,
    'negative' => -7, 'max' => PHP_INT_MAX, 'min' => PHP_INT_MIN, 'float' => 2.0,
    'fraction' => 1.5, 'minus zero' => -0.0, 'huge' => 1e20, 'tiny' => -1e300,
    'edge' => 9223372036854775807.0, 'nan' => NAN, 'inf' => INF, 'empty' => '',
    'digits' => '12', 'led' => ' 12', 'trailed' => '12 ', 'leading' => '12abc',
    'word' => 'abc', 'decimal' => '1.5', 'power' => '1e3', 'overflow' => '1e1000',
    'too long' => '9223372036854775808', 'hex' => '0x1A', 'nul' => "1\0", 'point' => '.5',
    'array' => [1, 'a' => 2], 'no array' => [],
];

// Made for each call: calls may change them, and objects have numbers.
const MADE = [
    'object', 'text', 'number text', 'text that throws', 'text that calls', 'counted', 'more counted',
    'array object', 'iterator', 'exception', 'closure', 'enum', 'generator', 'stream', 'closed', 'built',
    'temporary',
];

function made(string $name): mixed
{
    static $stream, $closed;
    if ($stream === null) {
        $stream = fopen('php://memory', 'r');
        $closed = fopen('php://memory', 'r');
        fclose($closed);
    }
    return match ($name) {
        'object' => new stdClass(),
        'text' => new Text('some text'),
        'number text' => new Text('42'),
        'text that throws' => new TextThatThrows(),
        'text that calls' => new TextThatCalls(),
        'counted' => new Counted(),
        'more counted' => new MoreCounted(),
        'array object' => new ArrayObject([1, 2]),
        'iterator' => new ArrayIterator([1]),
        'exception' => new RuntimeException('r'),
        'closure' => fn (...$args) => show_args(debug_backtrace()[1]) . show($args),
        'enum' => Suit::Hearts,
        'generator' => numbers(),
        'stream' => $stream,
        'closed' => $closed,
        // Strings and arrays that are nobody else's and not interned.
        'built' => str_repeat('12', 3),
        'temporary' => array_fill(0, 3, str_repeat('x', 3)),
    };
}


// Arguments from their names. A name with & is a reference.
function fresh(array $names): array
{
    $args = [];
    foreach ($names as $key => $name) {
        $bare = ltrim($name, '&');
        $value = in_array($bare, MADE, true) ? made($bare) : VALUES[$bare];
        if ($bare !== $name) {
            $args[$key] = &$value;
        } else {
            $args[$key] = $value;
        }
        unset($value);
    }
    return $args;
}

function show(mixed $value, int $depth = 0): string
{
    if (is_array($value)) {
        if ($depth > 3) {
            return '[...]';
        }
        $parts = [];
        foreach ($value as $key => $item) {
            $parts[] = (is_int($key) ? '' : "$key:") . show($item, $depth + 1);
        }
        return '[' . implode(',', $parts) . ']';
    }
    return match (true) {
        $value instanceof Closure => 'closure',
        $value instanceof UnitEnum => $value::class . '::' . $value->name,
        is_object($value) => $value::class . '#' . spl_object_id($value),
        is_resource($value) => get_resource_type($value) . '#' . get_resource_id($value),
        is_string($value) => '"' . addcslashes(substr($value, 0, 400), "\0..\37\"") . '"',
        default => gettype($value)[0] . var_export($value, true),
    };
}

// The arguments of a frame. If the body of a function shows them, or if a class
// follows a parameter that is converted, hone_args.h may show converted ones. In
// such functions the arguments are printed between ` and ~, which compare.sh
// compares separately, and again with all scalars alike.
const BODIES = ['args_throws', 'args_warns', 'args_calls', 'args_changes', 'args_class_between'];
function show_args(array $frame): string
{
    $args = $frame['args'] ?? null;
    if (!in_array($frame['function'] ?? '', BODIES, true)) {
        return show($args);
    }
    return '`' . show($args) . '~' . show(array_map(
        fn ($arg) => is_scalar($arg) || $arg === null ? 'scalar' : $arg, $args));
}

// Name: least number of arguments, good arguments, names, places by reference.
const FUNCTIONS = [
    'args_int' => [1, ['int'], ['number'], []],
    'args_int4' => [4, ['int', 'int', 'zero', 'negative'], ['a', 'b', 'c', 'd'], []],
    'args_float2' => [2, ['fraction', 'fraction'], ['x', 'y'], []],
    'args_bool' => [1, ['true'], ['on'], []],
    'args_string' => [1, ['word'], ['string'], []],
    'args_substr' => [2, ['word', 'int', 'null'], ['string', 'offset', 'length'], []],
    'args_explode' => [2, ['word', 'word', 'int'], ['separator', 'string', 'limit'], []],
    'args_in_array' => [2, ['int', 'array', 'false'], ['needle', 'haystack', 'strict'], []],
    'args_round' => [1, ['fraction', 'int'], ['number', 'precision'], []],
    'args_object' => [1, ['counted', 'null'], ['object', 'name'], []],
    'args_variadic' => [1, ['word', 'int', 'word'], ['format'], []],
    'args_scalars' => [5, ['int', 'fraction', 'true', 'word', 'int'], ['a', 'b', 'c', 'd', 'e'], []],
    'args_nullables' => [6, ['null', 'fraction', 'null', 'word', 'null', 'array'], ['a', 'b', 'c', 'd', 'e', 'f'], []],
    'args_optional' => [1, ['word', 'int', 'null', 'float', 'false', 'word'], ['a', 'b', 'c', 'd', 'e', 'f'], []],
    'args_arrays' => [4, ['array', 'null', 'no array', 'null'], ['a', 'b', 'c', 'd'], []],
    'args_objects' => [4, ['object', 'null', 'array object', 'null'], ['a', 'b', 'c', 'd'], []],
    'args_class_between' => [3, ['word', 'int', 'more counted', 'exception', 'word', 'int'],
        ['a', 'b', 'c', 'd', 'e', 'f'], []],
    'args_others' => [4, ['stream', 'null', 'int', 'null'], ['a', 'b', 'c', 'd'], []],
    'args_reference' => [2, ['null', 'int', 'word'], ['a', 'b', 'c'], [0]],
    'args_reference_scalar' => [2, ['int', 'int'], ['a', 'b'], [0]],
    'args_rest' => [1, ['int', 'int', 'word', 'array'], ['a', 'b'], []],
    'args_rest_named' => [1, ['word', 'int'], ['a'], []],
    'args_rest_alone' => [0, ['int', 'array'], [], []],
    'args_ten' => [10, ['int', 'int', 'int', 'int', 'int', 'int', 'int', 'int', 'int', 'word'],
        ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'], []],
    'args_throws' => [2, ['int', 'word', 'fraction', 'true'], ['a', 'b', 'c', 'd'], []],
    'args_warns' => [2, ['int', 'fraction'], ['a', 'b'], []],
    'args_calls' => [2, ['closure', 'word', 'int', 'int'], ['callback', 'a', 'b', 'more'], []],
    'args_changes' => [3, ['int', 'array', 'int'], ['a', 'b', 'c'], []],
    'args_rest_optional' => [1, ['int', 'word'], ['a'], []],
    'args_rest_least' => [3, ['word', 'int', 'word', 'array'], ['a', 'b', 'c'], []],
    'ArgsSample->method' => [1, ['int', 'word'], ['a', 'b'], []],
    'ArgsSample::still' => [1, ['true'], ['a'], []],
];

// Calls that convert refcounted values, for the check of memory.
const LEAKS = [
    ['args_string', ['int']], ['args_string', ['number text']], ['args_string', ['temporary']],
    ['args_scalars', ['digits', 'digits', 'built', 'number text', 'built']],
    ['args_class_between', ['fraction', 'built', 'more counted', 'null', 'number text']],
    ['args_class_between', ['fraction', 'built', 'object']],
    ['args_changes', ['temporary', 'temporary', 'digits']],
    ['args_changes', ['number text', 'temporary', 'digits']],
    ['args_changes', ['fraction', 'temporary', 'digits']],
    ['args_rest', ['digits', 'int', 'temporary', 'built', 'object']],
    ['args_throws', ['digits', 'fraction', 'built', 'number text']],
    ['args_throws', ['digits', 'number text', 'built', 'built']],
    ['args_calls', ['closure', 'fraction', 'digits']],
];
