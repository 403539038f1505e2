<?php
// SPDX-License-Identifier: BSD-3-Clause
// Arrays that are built at their final place: what is read is what was stored,
// and what does not fit is refused and writes nothing behind its place.
require __DIR__ . '/support.php';
require __DIR__ . '/random.php';
$references = false;

function parts_of($value): array
{
    $bytes = image_bytes($image = store($value));
    image_free($image);
    // The records begin with their reference count, type and flags.
    for ($at = 0; $at < strlen($bytes); $at += record_size($bytes, $at)) {
        if (ord($bytes[$at + 4]) % 16 != 7) {
            break;
        }
    }
    return [$at, strlen($bytes) - $at];
}

// docs/design/cache.md, "The image": a zend_array, its index, its elements.
function record_size(string $bytes, int $at): int
{
    $head = unpack('Vcount/Vinfo/Vflags/Vmask/Pdata/Vused', $bytes, $at);
    $index = (0x100000000 - $head['mask']) * 4;
    return 56 + $index + $head['used'] * ($head['flags'] & 4 ? 16 : 32);
}

function good_at(array $value, int $image): void
{
    expect(image_check($image) === true, 'its image is good',
        image_check($image), $value);
    $fetched = image_fetch($image);
    expect(same($fetched, $value), 'what is fetched', $fetched, $value);
    expect(same(image_unpack($image), $value), 'what is unpacked');
    $moved = image_move($image);
    expect(image_check($moved) === true, 'a moved image is good');
    expect(same(image_fetch($moved), $value), 'a moved image');
    image_free($image);
    image_free($moved);
}

// Whether the bytes are the same but for the addresses of the images.
function alike(int $a, int $b): bool
{
    $moved = image_base($b) - image_base($a);
    $in_b = unpack('P*', image_bytes($b));
    foreach (unpack('P*', image_bytes($a)) as $i => $word) {
        if ($in_b[$i] !== $word && $in_b[$i] !== $word + $moved) {
            return false;
        }
    }
    return image_size($a) === image_size($b);
}

$n = $rounds ? $rounds * 20 : 800;
$stored = 0;
for ($i = 0; $i < $n; $i++) {
    $value = random_value(mt_rand(1, 4));
    if (!is_array($value)) {
        $value = [$value, 'k' => [$value]];
    }
    [$arrays, $strings] = parts_of($value);
    $image = image_store_at($value);
    expect(is_int($image), 'exactly as large as it is');
    $placed = store($value);
    expect(alike($image, $placed), 'the bytes of an image that was placed');
    image_free($placed);
    good_at($value, $image);
    $more = mt_rand(4, 40) * 8;
    $image = image_store_at($value, $more, mt_rand(0, 9) * 8);
    expect(is_int($image) === ($more * 8 <= $arrays + $more),
        "$more bytes more of $arrays");
    if (is_int($image)) {
        expect(image_size($image) === $arrays + $more + $strings, 'its size');
        good_at($value, $image);
        $stored++;
    }
    foreach ([8, 16, 24] as $gap) {
        expect(image_store_at($value, $gap) === false, "a gap of $gap bytes");
    }
    expect(image_store_at($value, -8) === false, 'too little for the arrays');
    if ($strings > 0) {
        expect(image_store_at($value, 0, -8) === false,
            'too little for the strings');
    }
}
expect($rounds > 0 || $stored > 50, 'some had room for more');

// Arrays and strings that are in a value many times.
$shared = ['a' => str_repeat('text', 5), 'b' => range(1, 9)];
$value = array_fill(0, 50, $shared) + ['x' => [[], [[]]]];
good_at($value, image_store_at($value));
good_at($value, image_store_at($value, 256));

// What has no image, in parts that a value of the same shape would fill.
$recursive = [1];
$recursive['self'] = &$recursive;
foreach ([
    [[new ArrayObject()], [null]],
    [[fopen('php://memory', 'r')], [null]],
    [['a' => fn() => 1], ['a' => null]],
    [$recursive, [1, 'self' => [1, 'self' => null]]],
] as [$value, $like]) {
    expect(is_int(image_store_at($like)), 'an image', $like);
    expect(image_store_at($value, 0, 0, $like) === false, 'no image');
}
good_at([], image_store_at([]));
// The builder is as before.
good_at([1, 'x'], store([1, 'x']));
echo "$n values\n";
