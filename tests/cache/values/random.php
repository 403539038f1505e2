<?php
// SPDX-License-Identifier: BSD-3-Clause
// Random values of every kind that can be stored.

// Whether there are references in them.
$references = true;

// Unlike random_bytes(), the same for the same seed.
function random_octets(int $n): string
{
    return implode(array_map(fn () => chr(mt_rand(0, 255)), range(1, $n)));
}

function random_text(): string
{
    static $words = ['id', 'name', 'title', 'value', 'options', '0', '7', 'x'];
    switch (mt_rand(0, 6)) {
        case 0:
            return $words[mt_rand(0, count($words) - 1)];
        case 1:
            return (string)mt_rand();
        case 2:
            return chr(mt_rand(0, 255));
        case 3:
            return random_octets(mt_rand(1, 40));
        case 4:
            return str_repeat($words[mt_rand(0, 7)], mt_rand(0, 30));
        case 5:
            return mt_rand(0, 20) ? 'short' : random_octets(mt_rand(1, 9000));
        default:
            return '';
    }
}

function random_number()
{
    switch (mt_rand(0, 7)) {
        case 0:
            return null;
        case 1:
            return (bool)mt_rand(0, 1);
        case 2:
            return mt_rand(0, 10);
        case 3:
            return mt_rand() * mt_rand() - PHP_INT_MAX;
        case 4:
            return mt_rand() / 1000;
        case 5:
            return [NAN, INF, -0.0, 1e300, PHP_INT_MIN][mt_rand(0, 4)];
        default:
            return mt_rand(-5, 5);
    }
}

// Elements are added and taken away, so that there are holes.
function random_array(int $depth): array
{
    $array = [];
    $kind = mt_rand(0, 4);
    $n = mt_rand(0, 9) ? mt_rand(0, 12) : mt_rand(0, 200);
    for ($i = 0; $i < $n; $i++) {
        $value = random_value($depth - 1);
        if ($kind == 0 || $kind == 4 && mt_rand(0, 3)) {
            $array[] = $value;
        } elseif ($kind == 1) {
            $array[mt_rand(-3, 300)] = $value;
        } else {
            $array[random_text()] = $value;
        }
        if (mt_rand(0, 5) == 0) {
            unset($array[array_rand($array)]);
            if ($array) {
                end($array);
            }
        }
    }
    return random_change($array);
}

// What changes a table without a new one being made.
function random_change(array $array): array
{
    global $references;
    switch (mt_rand(0, 14)) {
        case 0:
            shuffle($array);
            break;
        case 1:
            uasort($array, fn ($a, $b) => 0);
            break;
        case 2:
            array_pop($array);
            break;
        case 3:
            array_shift($array);
            break;
        case 4:
            $array = array_reverse($array, true);
            break;
        case 5:
            array_splice($array, mt_rand(0, 5), mt_rand(0, 3), [1, 'two']);
            break;
        case 6:
            if ($references) {
                foreach ($array as &$each) {
                    $keep[] = &$each;
                }
            }
            break;
        case 7:
            $array = (array)(object)$array;
            break;
        case 8:
            $array = array_filter($array);
            break;
        case 9:
            $array = unserialize(serialize($array));
            break;
        case 10:
            if ($array) {
                $array['again'] = $array;
                if ($references) {
                    $array['one'] = &$array['again'];
                }
            }
            break;
        default:
    }
    return $array;
}

function random_value(int $depth)
{
    global $references;
    static $all = [];
    $before = &$all[(int)$references];
    $kind = mt_rand(0, 9);
    if ($depth <= 0 || $kind < 4) {
        return $kind % 2 ? random_number() : random_text();
    }
    if ($kind == 4 && $before) {
        return $before[array_rand($before)];
    }
    $value = random_array($depth);
    if (mt_rand(0, 3) == 0) {
        $before[mt_rand(0, 20)] = $value;
    }
    return $value;
}
