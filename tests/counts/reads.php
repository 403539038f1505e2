<?php
// SPDX-License-Identifier: BSD-3-Clause
// One way to read a file, for counts.py: reads.php WAY FILE. The names that do
// not exist mark the first and the last call that count.
[, $way, $file] = $argv;
$ways = [
    'file_get_contents' => fn() => file_get_contents($file),
    'file' => fn() => file($file),
    'fread' => fn() => fread(fopen($file, 'r'), 1 << 20),
    'fgets' => function () use ($file) {
        $stream = fopen($file, 'r');
        while (fgets($stream) !== false);
    },
    'readfile' => fn() => readfile($file),
    'copy' => fn() => copy($file, "$file.copy"),
];
file_exists('/hone-mark');
$ways[$way]();
file_exists('/hone-mark');
