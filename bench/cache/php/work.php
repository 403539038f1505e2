<?php
// SPDX-License-Identifier: BSD-3-Clause
// The work that worker.php times. A loop is a file, since opcache optimizes files
// and not eval().
declare(strict_types=1);

/** Does what $code does; the file is written once. */
function loop(string $name, string $code): Closure
{
    $path = "{$_GET['work']}/loop-$name.php";
    if (!file_exists($path)) {
        file_put_contents("$path.new", "<?php\n$code\n");
        rename("$path.new", $path);
    }
    return require $path;
}

/** The body ten times a turn, so that the loop itself is under 1 ns of a call. */
function timed(string $name, string $body): Closure
{
    $ten = str_repeat("$body\n", 10);
    return loop($name, 'return function ($c, $key, $value, int $times) {
        $n = 0;
        $v = $stored = null;
        $switches = getrusage()["ru_nivcsw"];
        $began = hrtime(true);
        for ($i = $times % 10; $i > 0; $i--) { ' . $body . ' }
        for ($i = intdiv($times, 10); $i > 0; $i--) { ' . $ten . ' }
        $took = hrtime(true) - $began;
        return [$took, getrusage()["ru_nivcsw"] - $switches, $v, $stored, $n];
    };');
}

/** One call for each key. */
function each(string $name, string $body): Closure
{
    return loop($name, 'return function ($c, array $keys, $value) {
        $n = 0;
        $v = $stored = null;
        $switches = getrusage()["ru_nivcsw"];
        $began = hrtime(true);
        foreach ($keys as $key) { ' . $body . ' }
        $took = hrtime(true) - $began;
        return [$took, getrusage()["ru_nivcsw"] - $switches, $v, $stored, $n];
    };');
}

/** Of 100 calls, 99 fetch and one stores. $keys has a multiple of 100. */
function mixed_calls(string $name, array $subject): Closure
{
    return loop($name, 'return function ($c, array $keys, $value, int $times) {
        $n = 0;
        $v = $stored = null;
        $switches = getrusage()["ru_nivcsw"];
        $began = hrtime(true);
        for ($done = 0; $done < $times; $done += count($keys)) {
            foreach ($keys as $i => $key) {
                if ($i % 100) { ' . $subject['get'] . ' } else { ' . $subject['set'] . ' }
            }
        }
        $took = hrtime(true) - $began;
        return [$took, getrusage()["ru_nivcsw"] - $switches, $v, $stored, $n];
    };');
}

/** Keys at random, each as often as any other; the same in each process. */
function shuffled(array $keys, int $times): array
{
    mt_srand(7);
    $order = [];
    for ($i = 0; $i < $times; $i++) {
        $order[] = $keys[mt_rand(0, count($keys) - 1)];
    }
    return $order;
}

/** Stores the value under each key, or each element under its key, and compares
 * what comes back. */
function prepare(array $subject, mixed $c, array $keys, string $shape): array
{
    $value = shape($shape);
    if (($_GET['work_kind'] ?? '') === 'list') {
        foreach ($value as $i => $element) {
            if ($wrong = prepared($subject, $c, [$keys[$i]], $element)) {
                return $wrong;
            }
        }
        return [];
    }
    return prepared($subject, $c, $keys, $value);
}

function prepared(array $subject, mixed $c, array $keys, mixed $value): array
{
    $set = each("set-{$_GET['subject']}", $subject['set'] . ' if (!$stored) { break; }');
    $get = each("get-{$_GET['subject']}",
        $subject['get'] . ' if (!same($v, $value)) { $n++; $stored = $v; break; }');
    if (!$set($c, $keys, $value)[3]) {
        return ['refused' => 'the value is not stored'];
    }
    [, , , $other, $wrong] = $get($c, $keys, $value);
    if ($wrong) {
        return ['wrong' => 'another value: ' . substr(var_export($other, true), 0, 200)];
    }
    return [];
}

function run(array $subject, mixed $c, array $keys, string $shape): array
{
    $times = (int)$_GET['times'];
    $work = $_GET['work_kind'];
    $name = "$work-{$_GET['subject']}";
    $value = $work === 'fetch' || $work === 'once' ? null : shape($shape);
    if ($_GET['subject'] === 'array') {
        $GLOBALS['table'] = array_fill_keys($keys, $value ?? shape($shape));
    }
    switch ($work) {
    case 'fetch':
        [$took, $switches, $v] = timed($name, $subject['get'])($c, $keys[0], null, $times);
        break;
    case 'read':
        [$took, $switches, $v, , $n] = timed("$name-$shape",
            $subject['get'] . reading($shape))($c, $keys[0], null, $times);
        if ($n !== $times * sum_of($shape, $value)) {
            return ['wrong' => "the sum $n"];
        }
        break;
    case 'store':
        [$took, $switches, , $stored] = timed($name, $subject['set'])($c, $keys[0], $value, $times);
        break;
    case 'mix':
        $order = shuffled($keys, 1000);
        [$took, $switches, $v, $stored] = mixed_calls($name, $subject)($c, $order, $value, $times);
        $times = (int)ceil($times / 1000) * 1000;
        break;
    case 'list':
        [$took, $switches, $v] = each($name, $subject['get'])(
            $c, array_merge(...array_fill(0, $times, $keys)), null);
        $value = end($value);
        break;
    case 'once':
        // In the order of the stores, the values would lie one after the other.
        mt_srand(7);
        shuffle($keys);
        [$took, $switches, $v] = each($name, $subject['get'])($c, $keys, null);
        $times = count($keys);
        break;
    }
    if (isset($stored) && $stored !== true) {
        return ['wrong' => 'a value was not stored'];
    }
    // The last answer; after stores, what is stored now.
    if (!isset($v)) {
        $v = each("get-last-{$_GET['subject']}", $subject['get'])($c, [$keys[0]], null)[2];
    }
    if (!same($v, $value ?? shape($shape))) {
        return ['wrong' => 'another value'];
    }
    return ['ns' => $took / $times, 'switches' => $switches];
}

function sum_of(string $shape, mixed $v): int|float
{
    return loop("sum-$shape", 'return function ($v) { $n = 0; ' . reading($shape) . ' return $n; };')($v);
}

/** Reads or writes random keys from "begin" to "end", in ns of the monotonic clock. */
function crowd(array $subject, mixed $c, array $keys, string $shape): array
{
    $role = $_GET['role'];
    $value = shape($shape);
    if ($_GET['subject'] === 'array') {
        $GLOBALS['table'] = array_fill_keys($keys, $value);
    }
    $body = $role === 'reader' ? $subject['get'] : $subject['set'] . '
        if ($pause) { usleep($pause); }
        if (!$stored || hrtime(true) >= $end) { break 3; }';
    $crowd = loop("$role-{$_GET['subject']}", 'return function ($c, $parts, $value, $begin, $end, $pause) {
        $calls = 0;
        $v = null;
        $stored = true;
        while (hrtime(true) < $begin) { }
        $used = getrusage();
        $began = hrtime(true);
        while (true) {
            foreach ($parts as $part) {
                foreach ($part as $key) { ' . $body . ' }
                $calls += 100;
                if (hrtime(true) >= $end) { break 2; }
            }
        }
        $took = hrtime(true) - $began;
        return [$calls, $took, $used, getrusage(), $v, $stored];
    };');
    [$calls, $took, $before, $after, $v, $stored] = $crowd($c,
        array_chunk(shuffled($keys, 1000), 100), $value,
        (int)$_GET['begin'], (int)$_GET['end'], (int)($_GET['pause'] ?? 0));
    if (!$stored || ($role === 'reader' && !same($v, $value))) {
        return ['wrong' => $stored ? 'another value' : 'a value was not stored'];
    }
    $cpu = 0;
    foreach (['ru_utime', 'ru_stime'] as $each) {
        $cpu += ($after["$each.tv_sec"] - $before["$each.tv_sec"]) * 1e9 +
            ($after["$each.tv_usec"] - $before["$each.tv_usec"]) * 1e3;
    }
    return ['calls' => $calls, 'ns' => $took, 'cpu' => $cpu];
}

/** Bytes of each key while memory is short: the cold form, if there is one. */
function cold_bytes(Closure $set, mixed $c, array $keys, mixed $value): array
{
    for ($i = 0; \Hone\Cache::info()['evictions'] === 0; $i++) {
        \Hone\Cache::store("fill$i", str_repeat('x', 100000));
    }
    if ($set($c, $keys, $value)[3] !== true) {
        return ['refused' => 'the value is not stored'];
    }
    $bytes = 0;
    foreach (\Hone\Cache::entries() as $key => $entry) {
        $bytes += in_array($key, $keys, true) ? $entry['size'] : 0;
    }
    return ['bytes' => $bytes / count($keys)];
}

/** The growth of the used memory for each key. */
function stored_bytes(array $subject, mixed $c, array $keys, string $shape): array
{
    $used = fn() => str_starts_with($_GET['subject'], 'hone')
        ? \Hone\Cache::info()['used'] : -apcu_sma_info(true)['avail_mem'];
    $value = shape($shape);
    $set = each("set-{$_GET['subject']}", $subject['set']);
    if ($_GET['subject'] === 'hone-cold') {
        return cold_bytes($set, $c, $keys, $value);
    }
    $before = $used();
    if ($set($c, $keys, $value)[3] !== true) {
        return ['refused' => 'the value is not stored'];
    }
    return ['bytes' => ($used() - $before) / count($keys)];
}

/** The array of a key of the stream: 2 to 41 rows. */
function rows_of(int $i): array
{
    return fields(2 + $i * 7919 % 40, $i);
}

/**
 * Part of a stream of keys: what is not found is stored. hits.py writes the file.
 * The ns are those of fetches and stores, with the end of the value before. Each
 * sixteenth value is compared: to make the values takes longer than to fetch them.
 */
function stream(array $subject, mixed $c): array
{
    $from = (int)$_GET['from'];
    $count = (int)$_GET['count'];
    $numbers = unpack('V*', file_get_contents($_GET['stream'], false, null, $from * 4, $count * 4));
    $value = ['texts' => 'str_pad($key, 200 + $i * 7919 % 1800, ".")', 'arrays' => 'rows_of($i)'][$_GET['values']];
    return loop("stream-{$_GET['values']}-{$_GET['subject']}", 'return function ($c, $numbers) {
        $hits = $refused = $ns = 0;
        foreach ($numbers as $at => $i) {
            $key = "item_$i";
            $ns -= hrtime(true);
            ' . $subject['get'] . '
            $ns += hrtime(true);
            if ($v === false || $v === null) {
                $value = ' . $value . ';
                $ns -= hrtime(true);
                ' . $subject['set'] . '
                $ns += hrtime(true);
                $refused += (int)!$stored;
            } elseif ($at % 16 || $v === ' . $value . ') {
                $hits++;
            } else {
                return ["wrong" => "another value of $key"];
            }
        }
        return ["hits" => $hits, "refused" => $refused, "ns" => $ns];
    };')($c, $numbers);
}
