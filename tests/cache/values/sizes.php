<?php
// SPDX-License-Identifier: BSD-3-Clause
// Bytes of values: in the block, in the cold form, by igbinary and serialize(). With
// igbinary, the cold form takes at most 1.05 of its bytes. Counted, so the same on
// each machine. TIMES=1: nanoseconds too, as minima.
require __DIR__ . '/support.php';

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
printf("%-20s %9s %9s %9s %9s\n", '', 'block', 'cold', 'igbinary', 'serialize');
foreach ($values as $what => $value) {
    $id = store($value);
    expect(value_fetch(warmed($id)) === $value, 'the value');
    $cold = strlen(value_cold($id));
    $igbinary = function_exists('igbinary_serialize')
        ? strlen(igbinary_serialize($value)) : null;
    printf("%-20s %9d %9d %9s %9d", $what, value_size($id), $cold, $igbinary ?? '-',
        strlen(serialize($value)));
    if (getenv('TIMES')) {
        [, , , , $write, $read] = value_time($value, 10, 20);
        printf(" write %d ns, read %d ns", $write, $read);
    }
    echo "\n";
    expect($igbinary === null || $cold <= $igbinary * 1.05, "$what: too large");
}
