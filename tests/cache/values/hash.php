<?php
// SPDX-License-Identifier: BSD-3-Clause
// The hash is PHP's, for each variant, length, alignment and kind of bytes.
require __DIR__ . '/support.php';

$n = 0;
foreach ([null, '', 'sse2', 'avx2'] as $feature) {
    value_limit($feature);
    foreach (["\x00", "\x7f", "\x80", "\xff", null] as $byte) {
        $text = $byte === null ? random_bytes(1100) : str_repeat($byte, 1100);
        for ($length = 0; $length <= 1030; $length++) {
            $from = $length % 67;
            $part = substr($text, 0, $from + $length);
            expect(value_hash($part, $from) !== null,
                "the hash of $length bytes with '$feature'", bin2hex($part));
            $n++;
        }
    }
    for ($i = 0; $i < 50; $i++) {
        $text = random_bytes(mt_rand(0, 100000));
        expect(value_hash($text) !== null, 'a long hash');
    }
}
// The hash that PHP's own table uses.
expect(value_hash('') === (5381 | PHP_INT_MIN), 'the hash of no byte');
expect(value_hash('a') === (5381 * 33 + 97 | PHP_INT_MIN), 'the hash of one');
echo "$n hashes\n";
