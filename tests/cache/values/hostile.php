<?php
// SPDX-License-Identifier: BSD-3-Clause
// Damaged cold forms: they are refused, or all of the value can be read.
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
function attempt(string $bytes): bool
{
    global $accepted, $refused, $read;
    $id = value_of_cold($bytes);
    if (!is_int($id)) {
        $refused++;
        return false;
    }
    $accepted++;
    $read(value_fetch($id));
    $read(value_unpack($id));
    value_free(warmed($id));
    value_free($id);
    return true;
}

function flip(string $bytes): void
{
    for ($i = 0; $i < strlen($bytes) * 8; $i++) {
        $other = $bytes;
        $other[$i >> 3] = $other[$i >> 3] ^ chr(1 << ($i & 7));
        attempt($other);
    }
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
    $bytes = value_cold(store($value));
    flip($bytes);
    for ($i = 0; $i < strlen($bytes); $i++) {
        expect(!attempt(substr($bytes, 0, $i)), 'a part is refused', $value);
    }
}
$n = $rounds ? $rounds * 5 : 10;
for ($i = 0; $i < $n; $i++) {
    $id = store([random_value(2), random_value(3)]);
    $bytes = value_cold($id);
    value_free($id);
    for ($k = 0; $k < 100; $k++) {
        $other = $bytes;
        for ($j = mt_rand(1, 3); $j > 0; $j--) {
            $at = mt_rand(0, strlen($bytes) - 1);
            // Any byte, or a part of the value at another place.
            $by = mt_rand(0, 1) ? chr(mt_rand(0, 255))
                : substr($bytes, mt_rand(0, strlen($bytes)), mt_rand(1, 9));
            $other = substr_replace($other, $by, $at, strlen($by));
        }
        attempt($other);
    }
}
expect($accepted > 0 && $refused > 0, 'some are values, others are not');
echo "$accepted accepted, $refused refused\n";
