<?php
// SPDX-License-Identifier: BSD-3-Clause
// Random values: what is fetched is what was stored, by each way of reading, and
// whatever is done to a copy.
require __DIR__ . '/support.php';
require __DIR__ . '/random.php';

// References gone, as an image has it. The key that comes next may differ.
function flat($value)
{
    return is_array($value) ? array_map('flat', $value) : $value;
}

function change($value)
{
    if (!is_array($value)) {
        return is_string($value) ? $value . 'x' : $value;
    }
    foreach ($value as $key => &$each) {
        $each = change($each);
    }
    unset($each);
    $value[] = 'added';
    unset($value[array_key_first($value)]);
    ksort($value);
    $value['key'] = [1];
    return $value;
}

function add_next($value)
{
    if (is_array($value) && !array_key_exists(PHP_INT_MAX, $value)) {
        $value[] = 'next';
    }
    return $value;
}

$bytes = 0;
$n = $rounds ? $rounds * 20 : 800;
for ($i = 0; $i < $n; $i++) {
    $references = $i % 4 == 0;
    $value = random_value(mt_rand(0, 4));
    $flat = $references ? flat($value) : $value;
    $before = serialize($value);
    $image = store($value);
    expect(serialize($value) === $before, 'the original is as it was');
    $bytes += image_size($image);
    $fetched = image_fetch($image);
    expect(same($fetched, $flat), 'what is fetched', $fetched, $flat);
    $unpacked = image_unpack($image);
    expect(same($unpacked, $flat), 'what is unpacked', $unpacked, $flat);
    if (!$references) {
        expect(same(add_next($fetched), add_next($flat)), 'the next key');
        expect(same(change($fetched), change($flat)), 'a change');
    }
    expect(same(add_next($unpacked), add_next($fetched)), 'the next key');
    expect(same(change($unpacked), change($fetched)), 'a change');
    expect(same(image_fetch($image), $flat), 'after a change');
    $again = store($fetched);
    expect(same(image_fetch($again), $flat), 'stored again');
    // Strings that are in a value many times may be in the image many times.
    $apart = store(unserialize(serialize($flat)));
    expect(image_size($again) <= image_size($apart) * 3 + 500, 'its size');
    image_free($apart);
    $block = store($fetched, true);
    expect(same(image_fetch($block), $flat), 'stored again as a block');
    $moved = image_move($image);
    expect(image_check($moved) === true, 'a moved image is good');
    expect(same(image_fetch($moved), $flat), 'a moved image');
    expect(same(image_fetch($again), $flat), 'nothing of the first is used');
    foreach ([$image, $again, $block, $moved] as $each) {
        unset($fetched, $unpacked);
        image_free($each);
    }
}
echo "$n values, $bytes bytes\n";
