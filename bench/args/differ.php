<?php
// SPDX-License-Identifier: BSD-3-Clause
// Compare two files line by line: print the first lines that differ, and the
// number of all. One pass: diff takes minutes if most of a million lines differ.
//
//   php differ.php SHOWN FILE FILE

[, $shown, $first, $second] = $argv;
$first = fopen($first, 'r');
$second = fopen($second, 'r');
$differ = 0;
for ($line = 1; true; $line++) {
    $a = fgets($first);
    $b = fgets($second);
    if ($a === false && $b === false) {
        break;
    }
    if ($a === $b) {
        continue;
    }
    if ($differ++ < $shown) {
        $at = strspn((string) $a ^ (string) $b, "\0");
        echo "line $line, byte ", $at + 1, "\n";
        foreach (['<' => $a, '>' => $b] as $mark => $text) {
            $part = substr((string) $text, max(0, $at - 100), 200);
            echo "$mark ", $text === false ? '(the end)' : rtrim($part, "\n"), "\n";
        }
    }
}
echo "$differ\n";
