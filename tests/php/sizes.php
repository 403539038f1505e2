<?php
// SPDX-License-Identifier: BSD-3-Clause
// Bytes of values: in the cold form, which a snapshot has, by igbinary and by
// serialize(). The cold form takes at most 1.05 of igbinary's. Counted, so the same on
// each machine. The argument is the path of a file.
use Hone\Cache;

mt_srand(1);
$row = fn (int $i) => ['id' => $i, 'name' => "name of $i", 'price' => $i * 1.25,
    'stock' => $i % 100, 'active' => $i % 3 > 0];
$route = fn (int $i) => ['path' => "/section/$i/{id}", 'methods' => ['GET', 'HEAD'],
    'controller' => 'App\\Controller\\Page' . $i % 40 . 'Controller::show',
    'defaults' => ['id' => null, '_locale' => 'en'], 'requirements' => ['id' => '\d+']];
$values = [
    '1,000 rows of 5' => array_map($row, range(1, 1000)),
    '400 routes' => array_combine(array_map(fn ($i) => "route_$i", range(1, 400)),
        array_map($route, range(1, 400))),
    '10,000 ints' => array_map(fn () => mt_rand(0, 1 << 24), range(1, 10000)),
    '2,000 nested' => json_decode(json_encode(array_fill(0, 2000,
        ['a' => ['b' => [1, 2, ['c' => 'd']]]])), true),
    '500 options' => array_combine(array_map(fn ($i) => "option_$i", range(1, 500)),
        array_map(fn ($i) => "value of the option $i", range(1, 500))),
    'config of 54' => array_combine(array_map(fn ($i) => "key$i", range(1, 54)),
        range(1, 54)),
    'a row of 5' => $row(1),
    '1,000 rows of JSON' => json_decode(
        json_encode(array_map($row, range(1, 1000))), true),
];
$larger = 0;
printf("%-20s %9s %9s %9s\n", '', 'cold', 'igbinary', 'serialize');
foreach ($values as $what => $value) {
    Cache::clear();
    Cache::store('k', $value);
    Cache::save($argv[1]);
    // Without the heads of the file and of the entry, and the key.
    $cold = filesize($argv[1]) - 56 - 20 - 1;
    clearstatcache();
    $igbinary = strlen(igbinary_serialize($value));
    printf("%-20s %9d %9d %9d\n", $what, $cold, $igbinary, strlen(serialize($value)));
    $larger += $cold > $igbinary * 1.05;
    Cache::clear();
    $larger += Cache::load($argv[1]) !== 1 || Cache::fetch('k') !== $value;
}
exit($larger);
