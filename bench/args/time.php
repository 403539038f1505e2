<?php
// SPDX-License-Identifier: BSD-3-Clause
// Prints nanoseconds of a call with its loop, for timing.py: "case ns" a line.

extension_loaded('args_sample') || exit(1);

// As code: a call through a variable is another kind of call.
const CASES = [
    'int' => 'args_int(5)',
    'int4' => 'args_int4(1, 2, 3, 4)',
    'float2' => 'args_float2(1.5, 2.5)',
    'bool' => 'args_bool(true)',
    'string' => 'args_string("abc")',
    'substr' => 'args_substr("abc", 1, 2)',
    'explode' => 'args_explode("a", "b", 3)',
    'in_array' => 'args_in_array(1, $array, false)',
    'round' => 'args_round(1.5, 2)',
    'object' => 'args_object($object, "abc")',
    'object, subclass' => 'args_object($derived, "abc")',
    'variadic' => 'args_variadic("abc", 1, 2)',
    '* int from "12"' => 'args_int("12")',
    '* int from true' => 'args_int(true)',
    '* int4, the last from "4"' => 'args_int4(1, 2, 3, "4")',
    '* int4, all from strings' => 'args_int4("1", "2", "3", "4")',
    '* float2 from ints' => 'args_float2(1, 2)',
    '* bool from 1' => 'args_bool(1)',
    '* string from 1234' => 'args_string(1234)',
    '* string from an object' => 'args_string($text)',
    '* round from "1.5"' => 'args_round("1.5", 2)',
    '* TypeError' => 'wrong($array)',
];

class Derived extends ArrayObject
{
}
class Text
{
    public function __toString(): string
    {
        return 'abc';
    }
}
function wrong(array $array): void
{
    try {
        args_int($array);
    } catch (TypeError) {
    }
}

$turns = (int) $argv[1];
foreach (CASES as $name => $call) {
    $loop = eval("return function (int \$turns) {
        \$array = [1, 2];
        \$object = new ArrayObject();
        \$derived = new Derived();
        \$text = new Text();
        memory_get_peak_usage(); // count.py splits here
        \$begin = hrtime(true);
        for (\$i = 0; \$i < \$turns; \$i++) {
            $call;
        }
        \$time = hrtime(true) - \$begin;
        memory_get_peak_usage();
        return \$time / \$turns;
    };");
    $loop(1000);
    printf("%s\t%.3f\n", $name, min($loop($turns), $loop($turns), $loop($turns)));
}
