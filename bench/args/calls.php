<?php
// SPDX-License-Identifier: BSD-3-Clause
// Call the functions of this folder in every way, and print the result of each
// call on a line. compare.sh runs this once for each build of the module.
//
//   php -d extension=MODULE calls.php [SHARE]
//
// SHARE is the share of the random calls to make; 1 is all.

extension_loaded('args_sample') || exit(1);
error_reporting(E_ALL);
ini_set('zend.exception_ignore_args', '0');
ini_set('zend.exception_string_param_max_len', '40');
mt_srand(20250426);
require __DIR__ . '/values.php';
args_watch();

// The user's error handler: note the error, throw, throw at the second error, or
// return false, which lets PHP continue as if there were no handler.
$noted = [];
$on_error = 'note';
set_error_handler(function (int $level, string $message) use (&$noted, &$on_error): bool {
    $frame = debug_backtrace()[1];
    $noted[] = "$level $message @" . ($frame['function'] ?? '-') . show_args($frame);
    if ($on_error === 'throw' || ($on_error === 'later' && count($noted) > 1)) {
        throw new ErrorException("handled: $message", $level);
    }
    return $on_error !== 'decline';
});

function trace(Throwable $e): string
{
    $text = '';
    foreach ($e->getTrace() as $frame) {
        if (str_starts_with($frame['function'], 'make_call')) {
            break;
        }
        $text .= ' <' . ($frame['class'] ?? '') . $frame['function'] . show_args($frame);
    }
    return $text;
}

function outcome(Closure $call, array &$args): string
{
    try {
        $text = 'returns ' . show($call($args));
    } catch (Throwable $e) {
        $text = 'throws';
        for (; $e !== null; $e = $e->getPrevious()) {
            $text .= ' ' . $e::class . " {$e->getCode()} {$e->getMessage()}" . trace($e);
        }
    }
    return $text;
}

// A call as in a script, with its arguments in variables.
function make_call(string $how, string $name, int $count, bool $strict): Closure
{
    static $made = [];
    $key = "$how $name $count $strict";
    if (isset($made[$key])) {
        return $made[$key];
    }
    $list = implode(', ', array_map(fn ($i) => "\$args[$i]", range(0, $count - 1)));
    $list = $count ? $list : '';
    $target = str_contains($name, '->') ? '(new ' . str_replace('->', ')->', $name) : $name;
    $callable = str_contains($name, '->')
        ? '[new ' . str_replace('->', ", '", $name) . "']" : "'$name'";
    $code = match ($how) {
        'plain' => "$target($list)",
        'dynamic' => "(\$f = $callable)($list)",
        'spread' => "$target(...\$args)",
        'array' => "call_user_func_array($callable, \$args)",
        'closure' => "Closure::fromCallable($callable)($list)",
        'first' => "($target(...))($list)",
        // From PHP's own code, which is never strict.
        'mapped' => "array_map($callable, " . preg_replace('/(\$args\[\d+\])/', '[$1]', $list) . ')',
    };
    $declare = $strict ? 'declare(strict_types=1);' : '';
    return $made[$key] = eval("$declare return function (array &\$args) { return $code; };");
}

$calls = 0;
function one(string $how, string $name, array $args, bool $strict, string $handler): void
{
    global $noted, $on_error, $calls, $alive;
    $noted = [];
    $on_error = $handler;
    $alive = [];
    $count = count($args);
    $given = fresh($args);
    $text = outcome(make_call($how, $name, $how === 'spread' || $how === 'array' ? 0 : $count, $strict), $given);
    $left = args_left();
    $calls++;
    // The arguments as they are afterwards: a call by value leaves them alone.
    echo "$calls $how ", $strict ? 'strict' : 'weak', " $handler $name(",
        implode(', ', array_map(fn ($k, $v) => is_int($k) ? $v : "$k: $v", array_keys($args), $args)),
        ") $text; left: $left; noted: ", implode(' | ', $noted), '; after: ', show($given), '; gone: ',
        implode(' ', $alive), "\n";
}

$share = (float) ($argv[1] ?? 1);
$names = [...array_keys(VALUES), ...MADE];
$ways = ['plain', 'dynamic', 'spread', 'array', 'closure', 'first', 'mapped'];
$handlers = ['note', 'throw', 'later', 'decline'];

foreach (FUNCTIONS as $name => [$least, $good, $parameters, $references]) {
    $most = count($good);
    $ways_here = str_contains($name, '->') ? ['plain', 'dynamic', 'spread', 'array', 'first'] : $ways;
    // Each value in each place, strict and weak, by each way and handler.
    foreach ([false, true] as $strict) {
        for ($at = 0; $at < $most; $at++) {
            foreach ($names as $i => $value) {
                $args = $good;
                $args[$at] = $value;
                foreach ($handlers as $h => $handler) {
                    one($ways_here[($i + $h + $at) % count($ways_here)], $name, $args, $strict, $handler);
                }
                // Without the arguments after it.
                one('plain', $name, array_slice($args, 0, max($least, $at + 1)), $strict, 'note');
            }
        }
        // Too few and too many.
        for ($count = 0; $count <= $most + 2; $count++) {
            foreach (array_diff($ways_here, $count ? [] : ['mapped']) as $how) {
                $args = array_slice(array_pad($good, $count, 'int'), 0, $count);
                one($how, $name, $args, $strict, 'note');
            }
        }
        // By name: all, in reverse, some left out, an unknown one.
        foreach ($names as $value) {
            $named = [];
            foreach ($parameters as $i => $parameter) {
                $named[$parameter] = $i === 0 ? $value : $good[$i];
            }
            one('array', $name, $named, $strict, 'note');
            one('spread', $name, array_reverse($named, true), $strict, 'throw');
            for ($i = 0; $i < count($parameters); $i++) {
                $some = $named;
                unset($some[$parameters[$i]]);
                one('spread', $name, $some, $strict, 'note');
            }
            one('array', $name, [...$named, 'unknown' => $value], $strict, 'note');
            one('array', $name, [$value, ...array_slice($good, 1), 'unknown' => $value], $strict, 'note');
        }
    }
    // References, also to parameters by value.
    foreach ($names as $value) {
        one('array', $name, array_replace($good, [0 => "&$value"]), false, 'note');
        one('spread', $name, array_replace($good, [count($good) - 1 => "&$value"]), false, 'throw');
    }
    // Any values in all places: several are wrong at once, and PHP reports only
    // the first.
    for ($i = 0; $i < 2500 * $share; $i++) {
        $args = [];
        for ($at = 0, $n = mt_rand(max(0, $least - 1), $most + 1); $at < $n; $at++) {
            // Enough good values for the later places to be parsed too.
            $args[] = mt_rand(0, 2) ? $good[$at] ?? 'int' : $names[mt_rand(0, count($names) - 1)];
        }
        $how = $ways_here[mt_rand(0, count($args) ? count($ways_here) - 1 : 2)];
        one($how, $name, $args, mt_rand(0, 3) === 0, $handlers[mt_rand(0, 3)]);
    }
}

// No leak: the same calls over and over take no more memory.
$handler = 'note';
foreach ([5, 500] as $turns) {
    for ($i = 0; $i < $turns; $i++) {
        foreach (LEAKS as [$name, $args]) {
            try {
                $name(...fresh($args));
            } catch (Throwable) {
            }
        }
        $noted = $alive = [];
    }
    gc_collect_cycles();
    $used[] = memory_get_usage();
}
echo 'lost: ', max(0, $used[1] - $used[0]), "\n";
fprintf(STDERR, "%d\n", $calls);
