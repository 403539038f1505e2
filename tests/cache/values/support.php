<?php
// SPDX-License-Identifier: BSD-3-Clause
// What the scripts share. A failed expectation ends the script.

$seed = (int)(getenv('SEED') ?: 1);
mt_srand($seed);
$rounds = (int)(getenv('ROUNDS') ?: 0);

function short($value): string
{
    $text = @var_export($value, true);
    return strlen($text) > 400 ? substr($text, 0, 400) . '...' : $text;
}

function expect(bool $good, string $what, ...$values): void
{
    if ($good) {
        return;
    }
    global $seed;
    echo "FAILED (seed $seed): $what\n";
    foreach ($values as $value) {
        echo short($value), "\n";
    }
    exit(1);
}

// NAN !== NAN, and === ignores the order of nothing: serialize() shows the rest.
function same($a, $b): bool
{
    return serialize($a) === serialize($b) && ($a === $b || has_nan($a));
}

function has_nan($value): bool
{
    if (is_array($value)) {
        foreach ($value as $each) {
            if (has_nan($each)) {
                return true;
            }
        }
        return false;
    }
    return is_float($value) && is_nan($value);
}

// A value of the cold form, which has the same cold form.
function warmed(int $id): int
{
    $warm = value_of_cold(value_cold($id));
    expect(is_int($warm), 'what is stored has a cold form', $warm);
    expect(value_cold($warm) === value_cold($id), 'the cold form is the same');
    expect(value_size($warm) <= value_size($id), 'it is not larger');
    return $warm;
}

function store($value): int
{
    $id = value_store($value);
    expect(is_int($id), 'a value is stored', $id);
    value_free(warmed($id));
    return $id;
}
