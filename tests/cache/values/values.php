<?php
// SPDX-License-Identifier: BSD-3-Clause
// Random values: what is fetched is what was stored, by each way of reading, and
// whatever is done to a copy.
require __DIR__ . '/support.php';
require __DIR__ . '/random.php';

// References gone, as they are stored. The key that comes next may differ.
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
    $id = store($value);
    expect(serialize($value) === $before, 'the original is as it was');
    $bytes += value_size($id);
    $fetched = value_fetch($id);
    expect(same($fetched, $flat), 'what is fetched', $fetched, $flat);
    $unpacked = value_unpack($id);
    expect(same($unpacked, $flat), 'what is unpacked', $unpacked, $flat);
    if (!$references) {
        expect(same(add_next($fetched), add_next($flat)), 'the next key');
        expect(same(change($fetched), change($flat)), 'a change');
    }
    expect(same(add_next($unpacked), add_next($fetched)), 'the next key');
    expect(same(change($unpacked), change($fetched)), 'a change');
    expect(same(value_fetch($id), $flat), 'after a change');
    $again = store($fetched);
    expect(same(value_fetch($again), $flat), 'stored again');
    // Strings that are in a value many times may be in its data many times.
    $apart = store(unserialize(serialize($flat)));
    expect(value_size($again) <= value_size($apart) * 3 + 500, 'its size');
    value_free($apart);
    $moved = value_move($id);
    expect(same(value_fetch($moved), $flat), 'a moved value');
    $warm = warmed($moved);
    $fetched = value_fetch($warm);
    expect(same($fetched, $flat), 'a value of its cold form');
    expect(same(add_next($fetched), add_next(value_fetch($moved))), 'its key');
    expect(same(change($fetched), change(value_fetch($moved))), 'its change');
    expect(same(value_fetch($again), $flat), 'nothing of the first is used');
    foreach ([$id, $again, $moved, $warm] as $each) {
        unset($fetched, $unpacked);
        value_free($each);
    }
}
echo "$n values, $bytes bytes\n";
