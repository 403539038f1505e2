<?php
// SPDX-License-Identifier: BSD-3-Clause
// Damaged values: they are refused, or all of the value can be read.
require __DIR__ . '/support.php';
require __DIR__ . '/random.php';

$read = function ($value) {
    serialize($value);
    if (is_array($value)) {
        $copy = $value;
        $n = 0;
        foreach ($copy as $key => $each) {
            $n++;
            expect(array_key_exists($key, $value), 'each key is found', $value);
        }
        expect($n === count($value), 'the count is right', $value);
        foreach ($copy as &$each) {
            $each = 1;
        }
        unset($each);
        try {
            $copy[] = 1;
            array_push($copy, 2);
        } catch (Error $e) { // the largest key is there
        }
        $copy['key'] = 1;
        ksort($copy);
    }
};

$accepted = $refused = 0;
function count_in(array $counts): array
{
    global $accepted, $refused;
    $accepted += $counts[0];
    $refused += $counts[1];
    return $counts;
}

$small = ['', 'x', 'a text of 30 bytes, or so', [], [1], [1.5, null], ['x'],
    ['k' => 'v'], ['k' => ['a' => 1], 3], [[], [], ['x' => []]],
    [1, 'a', 'b' => 2, 7 => [1, 2]]];
$shared = ['s'];
$small[] = [$shared, [$shared, 'k' => $shared]];
$hole = [1, 2, 3];
unset($hole[1]);
$small[] = $hole;
foreach ($small as $value) {
    $id = store($value);
    $counts = count_in(value_flips($id, $read));
    expect($counts[0] < $counts[1], 'most flips are refused', $value, $counts);
    if (is_string($value)) {
        expect($counts[0] === 0, 'a string has a sum', $value, $counts);
    }
    count_in(value_cut($id, $read));
}
$n = $rounds ? $rounds * 5 : 30;
for ($i = 0; $i < $n; $i++) {
    $id = store([random_value(4), random_value(5)]);
    count_in(value_damage($id, $read, mt_rand(), 400));
    if (value_size($id) < 3000) {
        count_in(value_flips($id, $read));
    }
    value_free($id);
}
expect($accepted > 0, 'changed numbers are accepted');
echo "$accepted accepted, $refused refused\n";
