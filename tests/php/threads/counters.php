<?php
// SPDX-License-Identifier: BSD-3-Clause
// No step is lost, one thread computes a value, and the functions of APCu use
// the same memory.
use Hone\Cache;

if ($thread === 'last') {
    $expected = ['steps' => 4 * 20 * 1000, 'computed' => 20];
    $found = ['steps' => apcu_fetch('steps'), 'computed' => Cache::fetch('computed')];
    if ($found !== $expected) {
        throw new Exception(json_encode($found));
    }
    return;
}
if ($thread === 'first') {
    return;
}
for ($i = 0; $i < 500; $i++) {
    apcu_inc('steps');
    while (!Cache::cas('steps', $old = Cache::fetch('steps'), $old + 1)) {
    }
}
$value = Cache::remember("value$request", 60, function () use ($request) {
    Cache::inc('computed');
    usleep(2000);
    return [$request];
});
if ($value !== [$request]) {
    throw new Exception('another value');
}
