<?php
// SPDX-License-Identifier: BSD-3-Clause
// One request of ./dev bench cache: what to do is in the query string, the answer
// is a line of JSON. programs.py starts the php-cgi that runs this.
declare(strict_types=1);

require __DIR__ . '/shapes.php';
require __DIR__ . '/subjects.php';
require __DIR__ . '/work.php';

function answer(): array
{
    $subject = subject($_GET['subject']);
    $shape = $_GET['shape'] ?? 's20';
    $count = (int)($_GET['keys'] ?? 1);
    $c = $subject['open']();
    $keys = [];
    for ($i = 0; $i < $count; $i++) {
        $keys[] = key_of($_GET['subject'], $shape, $i);
    }
    switch ($_GET['do']) {
    case 'hello':
        return ['pid' => getmypid(), 'php' => PHP_VERSION];
    case 'prepare':
        return prepare($subject, $c, $keys, $shape);
    case 'run':
        return run($subject, $c, $keys, $shape);
    case 'count':
        return prepare($subject, $c, $keys, $shape) + run($subject, $c, $keys, $shape);
    case 'crowd':
        return crowd($subject, $c, $keys, $shape);
    case 'stream':
        return stream($subject, $c);
    case 'bytes':
        return stored_bytes($subject, $c, $keys, $shape);
    case 'lengths':
        return ['lengths' => array_map(fn($i) => strlen(serialize(rows_of($i))), range(0, $count - 1))];
    }
}

try {
    $answer = answer();
} catch (Throwable $trouble) {
    $answer = ['wrong' => get_class($trouble) . ': ' . $trouble->getMessage()];
}
echo json_encode((object)$answer), "\n";
