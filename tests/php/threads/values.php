<?php
// SPDX-License-Identifier: BSD-3-Clause
// What a thread finds is whole, and stays so until the end of the request, while
// the others replace and delete it and fill the memory.
use Hone\Cache;

const KEYS = 40;

function value(int $number): array
{
    return ['number' => $number, 'row' => array_fill(0, 50, "text $number"), 'deep' => ['at' => [$number, $number * 0.5]], 'object' => new ArrayObject([$number])];
}

function check(array $value): void
{
    if ($value != value($value['number'])) {
        throw new Exception('a value is damaged');
    }
}

if (!Cache::enabled()) {
    throw new Exception('no cache');
}
if ($thread === 'last') {
    $info = Cache::info();
    // That of this thread: the others left theirs.
    if ($info['slots_used'] !== 1 || $info['evictions'] === 0 || $info['hits'] === 0 || $info['recoveries'] !== 0) {
        throw new Exception(json_encode($info));
    }
    return;
}
mt_srand((int)$thread * 1000 + $request);
$kept = [];
for ($i = 0; $i < 200; $i++) {
    $key = 'key' . mt_rand(1, KEYS);
    $value = Cache::fetch($key);
    if ($value !== null) {
        check($value);
        $kept[] = $value;
    }
    match (mt_rand(0, 7)) {
        0 => Cache::delete($key),
        1, 2, 3 => Cache::store($key, value(mt_rand(0, 1 << 40))),
        4 => Cache::store("large$thread.$request.$i", str_repeat('x', 100000)),
        5 => check(Cache::remember($key, 60, fn() => value($i))),
        default => null,
    };
}
array_walk($kept, 'check');
