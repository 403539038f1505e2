<?php
// SPDX-License-Identifier: BSD-3-Clause
// Calls in loops that are hot enough for opcache's JIT. The JIT frees arguments
// by the types that it infers. Prints the results and the number of calls, as
// calls.php does.

extension_loaded('args_sample') || exit(1);
error_reporting(E_ALL & ~E_DEPRECATED);

function turns(int $n): string
{
    $sum = 0;
    $text = '';
    for ($i = 0; $i < $n; $i++) {
        $half = $i / 2;
        $sum += args_int($i) + args_int("$i") + args_int(true);
        $sum += args_string($i) + args_string("n$i") + args_string(1.5) + args_string($half);
        $sum += args_int4($i, "$i", false, 2.0);
        $sum += (int) args_float2($i, $half);
        $sum += (int) args_bool($i) + (int) args_bool("$i");
        $sum += args_substr($i, 1) + args_substr("abc$i", "1", null);
        $sum += args_in_array($i, [$i, "$i"], $i & 1);
        $sum += args_round("$i") + args_round($half, "2");
        $sum += args_object(new ArrayObject([$i]), $i);
        $sum += args_variadic($i, "a$i", [$i]);
        $text = implode(',', args_scalars("$i", $i, $i, $i, "$i"));
        try {
            args_throws("$i", $i, $i, $i);
        } catch (Exception $e) {
            // Arguments as given, or converted: see compare.sh.
            $text .= $e->getMessage() . count($e->getTrace()[0]['args']);
        }
        try {
            args_int4($i, "$i", "x$i", $i);
        } catch (TypeError $e) {
            $text .= $e->getMessage() . json_encode($e->getTrace()[0]['args']);
        }
        $changed = args_changes($i, ["a$i"], "$i");
        $text .= json_encode($changed);
        $sum += crc32($text);
    }
    return "$sum $text";
}

$calls = 0;
foreach ([1, 100, 2000] as $n) {
    echo turns($n), "\n";
    $calls += 24 * $n;
}
$used = memory_get_usage();
turns(2000);
echo 'lost: ', max(0, memory_get_usage() - $used), "\n";
fprintf(STDERR, "%d\n", $calls + 24 * 2000);
