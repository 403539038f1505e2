<?php
// SPDX-License-Identifier: BSD-3-Clause
// One case for each rule about stored values.
require __DIR__ . '/support.php';

const CONSTANT = ['a' => [1, 2, 'three'], 'b' => ['a' => null]];

function both($value, string $what): void
{
    $before = serialize($value);
    $id = store($value);
    $moved = value_move($id);
    $warm = value_fetch(warmed($moved));
    foreach ([value_fetch($moved), value_unpack($moved), $warm] as $copy) {
        expect(same($copy, $value), $what, $copy, $value);
    }
    expect(serialize($value) === $before, "$what: the original is as before");
    // What PHP adds next.
    if (is_array($value)) {
        $a = $value;
        $b = value_fetch($moved);
        $c = value_unpack($moved);
        $a[] = $b[] = $c[] = $warm[] = 'added';
        expect(same($a, $b) && same($a, $c) && same($a, $warm),
            "$what: the next key", $a, $b, $c, $warm);
        expect(same(value_fetch($moved), $value), "$what: unchanged");
    }
}

$values = [
    'null' => null, 'false' => false, 'true' => true, 'zero' => 0,
    'least' => PHP_INT_MIN, 'most' => PHP_INT_MAX, 'half' => 0.5,
    'nan' => NAN, 'minus zero' => -0.0, 'infinite' => -INF,
    'empty string' => '', 'one byte' => 'x', 'byte 255' => "\xff",
    'seven bytes' => 'abcdefg', 'eight bytes' => 'abcdefgh',
    'a zero byte' => "a\0b", 'a digit' => '5', 'long' => str_repeat('ab', 999),
    'empty' => [], 'of one' => [1], 'of empty ones' => [[], [[]], []],
    'string keys' => ['a' => 1, '' => 2, 'b' => 3], 'the key 0' => ['a' => 1, 3],
    'keys like numbers' => ['5' => 1, '05' => 2, '-5' => 3, '-0' => 4],
    'large keys' => [PHP_INT_MAX - 1 => 1, PHP_INT_MIN => 2],
    'negative keys' => [-5 => 1, -4 => 2],
    'a long key' => [str_repeat('k', 5000) => str_repeat('v', 5000)],
    'constant' => CONSTANT, 'constants' => [CONSTANT, CONSTANT],
];
foreach ($values as $what => $value) {
    both($value, $what);
}
both($values, 'all of them');

// A size at which each table grows.
foreach ([1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 1000, 1024, 1025] as $n) {
    both(range(1, $n), "list of $n");
    both(array_combine(array_map(fn ($i) => "key $i", range(1, $n)),
        range(1, $n)), "map of $n");
    both(array_fill(-3, $n, 'x'), "from -3, $n");
}

// The key after an element that is gone.
$gone = [1, 2, 3];
unset($gone[2]);
both($gone, 'the last one is gone');
$gone = [1];
unset($gone[0]);
both($gone, 'the only one is gone');
$gone = range(0, 99);
for ($i = 0; $i < 99; $i++) {
    unset($gone[$i]);
}
both($gone, 'one is left of a list');
$gone = ['a' => 1, 'b' => 2, 'c' => 3];
unset($gone['b']);
both($gone, 'a hole in a map');
$id = store($gone);
unset($gone['a'], $gone['c']);
both($gone, 'an empty map');
$gone = [];
for ($i = 0; $i < 5000; $i++) {
    $gone["k$i"] = "v$i";
}
for ($i = 0; $i < 4990; $i++) {
    unset($gone["k$i"]);
}
both($gone, 'a nearly empty map');
expect(value_size(store($gone)) < 2000, 'a nearly empty map is small');
for ($i = 0; $i < 4999; $i++) {
    $gone["k$i"] = "v$i";
}
both($gone, 'a map that grew again');

// Properties: a table that leads elsewhere, with ones that are not there.
class Properties
{
    public int $none;
    public $a = 1;
    public $b = [1];
    public $c = 'c';

    public function variables(): array
    {
        unset($this->c);
        return get_object_vars($this) + (array)$this;
    }
}
both((new Properties())->variables(), 'properties');
both(get_defined_vars()['values'], 'variables');

// The position of the internal pointer and of iterators is not stored.
$list = [1, 2, 3];
next($list);
foreach ($list as $key => &$each) {
    if ($key == 1) {
        $id = store($list);
        expect(current(value_fetch($id)) === 1, 'the first is current');
        $fetched = value_fetch($id);
        foreach ($fetched as &$other) {
            $other = 'changed';
        }
        unset($other);
        expect(value_fetch($id) === [1, 2, 3], 'unchanged by reference');
    }
}
unset($each);

// References become what they refer to.
$x = 1;
$y = [&$x, [&$x], 'z' => ['a' => &$x]];
$copy = value_fetch($id = store($y));
$x = 2;
expect($copy === [1, [1], 'z' => ['a' => 1]], 'references', $copy);
$value = 'text';
$reference = &$value;
expect(value_fetch(store($reference)) === 'text', 'a reference itself');
$list = [[1], [2]];
foreach ($list as &$each) {
    $each[] = 3;
}
unset($each);
both($list, 'after foreach by reference');

// An array that contains itself.
$self = [1];
$self[] = &$self;
expect(value_store($self) === 'an array that contains itself', 'itself',
    value_store($self));
$far = ['a' => ['b' => ['c' => 1]]];
$far['a']['b']['d'] = &$far['a'];
expect(value_store($far) === 'an array that contains itself', 'far');
$one = ['x'];
$two = ['one' => &$one];
$one['two'] = &$two;
expect(value_store($one) === 'an array that contains itself', 'two');
unset($self, $far, $one, $two);

// Shared arrays are stored once, and are no recursion.
$shared = range(1, 1000);
$shared['x'] = 'x';
$single = value_size(store([$shared]));
$id = store([$shared, $shared, [$shared, 'k' => $shared]]);
expect(value_size($id) < $single + 1000, 'shared arrays are stored once');
both([$shared, $shared, [$shared, 'k' => $shared]], 'shared');
$deep = ['leaf'];
for ($i = 0; $i < 40; $i++) {
    $deep = [$deep, $deep];
}
$id = store($deep);
expect(value_size($id) < 10000, 'what doubles 40 times is small');
$copy = value_unpack($id);
for ($i = 0; $i < 40; $i++) {
    $copy = $copy[$i % 2];
}
expect($copy === ['leaf'], 'what doubles 40 times');
unset($deep, $copy);

// Repeated strings, too.
$text = str_repeat('text', 250);
expect(value_size(store(array_fill(0, 100, $text))) < 4000, 'repeated strings');

// Equal strings in different memory, too, also as keys.
// Always one text, so that its place in the table does not depend on the run; opcache
// does not know it.
$equal = fn() => str_repeat('text', getmypid() > 0 ? 2 : 0);
$list = fn(int $n) => array_map($equal, array_fill(0, $n, 0));
expect(value_size($id = store($list(100))) === value_size(store($list(99))) + 16,
    'equal strings are stored once');
expect(value_fetch($id) === $list(100), 'equal strings');
$rows = fn(int $n) => ['rows' => array_map(fn() => [$equal() => $equal()],
    array_fill(0, $n, 0))];
$size = fn(int $n) => value_size(store($rows($n)));
// A zend_array, its hash index, a bucket, and a zval in the list.
expect($size(3) - $size(2) === 56 + 64 + 32 + 16, 'equal keys are stored once',
    [$size(2), $size(3)]);
both($rows(3), 'equal keys');
// After 64 new strings in a row, the rest are not looked up.
$new = fn(int $n) => array_map(fn($i) => "new $i", range(1, $n));
foreach ([62 => 0, 63 => 40] as $n => $more) {
    $value = [$equal(), ...$new($n), $equal()];
    expect(value_size(store($value)) ===
        value_size(store([$equal(), ...$new($n), 1])) + $more, "after $n others");
}
// Strings that have the same hash are not equal.
both([implode('', ['E', 'z']), implode('', ['F', 'Y'])], 'one hash');
// In other tables and lists.
$value = [$list(3), 'k' => $list(2), (string)getmypid() => [1.5, $equal()]];
both($value, 'equal strings at several places');

// The deepest value, in lists and in tables whose index is made anew.
function nested(int $depth): array
{
    for ($value = [1]; $depth > 1; $depth--) {
        $value = $depth % 3 == 0 ? [$value] : ['gone' => 1, 'k' => $value, 'l' => []];
        unset($value['gone']);
    }
    return $value;
}
both(nested(4096), '4,096 levels');
foreach ([4097, 100000] as $depth) {
    expect(value_store(nested($depth)) === 'an array that is nested deeper than 4,096', $depth);
}
$deep = nested(70);
$deep['self'] = &$deep;
expect(value_store($deep) === 'an array that contains itself', 'itself');
unset($deep);

// What has no data.
$object = new stdClass();
enum Suit
{
    case Hearts;
}
foreach ([$object, [$object], [[1, ['a' => $object]]], Suit::Hearts,
    [Suit::Hearts], new ArrayObject([1])] as $value) {
    expect(value_store($value) === 'object', 'an object', $value);
}
$reference = [&$object];
expect(value_store($reference) === 'object', 'a reference to an object');
expect(value_store(fn () => 1) === 'a closure', 'a closure');
expect(value_store([1, ['a' => fn () => 1]]) === 'a closure', 'a closure in it');
expect(value_store(STDIN) === 'a resource', 'a resource');
expect(value_store([[STDIN]]) === 'a resource', 'a resource in it');
expect(value_store([$object, STDIN]) === 'a resource', 'a resource after one');
both([1], 'after a refusal');

// Stored again: as a whole, as a part, and as a part of a new value.
$value = ['a' => [1, 'two', ['x' => 'y']], 'b' => 'text', 'c' => []];
$id = store($value);
$again = store(value_fetch($id));
value_move($id);
expect(same(value_fetch($again), $value), 'it is another one');
$part = store(value_fetch($again)['a']);
$whole = store([1, 'again' => value_fetch($again), value_fetch($again)]);
value_move($again);
expect(same(value_fetch($part), $value['a']), 'a part');
expect(same(value_fetch($whole), [1, 'again' => $value, $value]), 'in a value');

// The same value has the same bytes: nothing of the process is in it.
function relative(int $id): string
{
    $words = unpack('q*', value_bytes($id));
    $base = value_base($id);
    foreach ($words as &$word) {
        if ($word >= $base && $word < $base + value_size($id)) {
            $word -= $base;
        }
    }
    return serialize($words);
}
function make(int $noise): array
{
    $list = [$noise, $noise, null, false];
    $list[2] = $noise > 5 ? "$noise$noise" : $noise * 1.5;
    $list[2] = null;
    $list[0] = true;
    $list[1] = 'text' . strtolower('X');
    $map = ['a' => $noise, 'b' => (string)$noise, 'c' => [$noise]];
    $map['a'] = null;
    $map['b'] = false;
    $map['c'] = $list;
    $map['d'] = [];
    return $map;
}
expect(relative(store(make(3))) === relative(store(make(77777))),
    'equal values have equal data');

echo "done\n";
