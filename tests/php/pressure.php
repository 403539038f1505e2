<?php
// SPDX-License-Identifier: BSD-3-Clause
// pressure.php CALLS SEED: random calls of APCu's functions in a cache that is too
// small for the values. Each answer is that of a cache in which keys disappear:
// a value that was stored last, or a miss. Run with APCu, which shows that the rules
// are right, and with hone. Prints the calls and the misses.
[, $calls, $seed] = $argv;
mt_srand((int)$seed);

class Row
{
    public $more;
    function __construct(public int $id, protected array $list, private ?Row $next = null) {}
}

function value(int $n): mixed
{
    $rows = [];
    for ($i = $n % 160; $i >= 0; $i--) {
        $rows[] = ['id' => $i, 'name' => "name $n", 'price' => $i * 1.5, 'tags' => ['a', "t$i", null, true]];
    }
    $shared = ['shared', $n];
    return match ($n % 8) {
        0, 1 => $rows,
        2 => ['n' => $n, -5 => $rows, 'again' => [$shared, $shared], '' => []],
        3 => new Row($n, $rows, new Row($n, $shared)),
        4 => [$o = new Row($n, []), $rows, $o, new ArrayObject([$n])],
        5 => str_repeat("text $n ", $n % 200),
        6 => $n * 7919,
        7 => array_fill($n % 5, 50 + $n % 100, $n),
    };
}

$kept = [];   // what a key has, unless it was evicted
$misses = 0;

function must(bool $good, string $what): void
{
    if (!$good) {
        echo "wrong: $what\n";
        exit(1);
    }
}

function is_kept(string $key, mixed $value): bool
{
    global $kept;
    return array_key_exists($key, $kept) && serialize($value) === serialize($kept[$key]);
}

function missed(string $key): void
{
    global $kept, $misses;
    $misses += array_key_exists($key, $kept);
    unset($kept[$key]);
}

function found(string $key, bool $success, mixed $value): void
{
    if ($success) {
        must(is_kept($key, $value), "the value of $key");
    } else {
        missed($key);
    }
}

/** A store may fail for lack of memory: then nothing is known of the key. */
function stored(string $key, bool $success, mixed $value): void
{
    global $kept;
    if ($success) {
        $kept[$key] = $value;
    } else {
        apcu_delete($key);
        missed($key);
    }
}

function counted(string $key, int $by, int|false $now, bool $success): void
{
    global $kept;
    $before = $kept[$key] ?? null;
    must($success === ($now !== false), "success of $key");
    if ($success) {
        must($now === $by || (is_int($before) && $now === $before + $by), "the number of $key");
        $kept[$key] = $now;
    } elseif ($before === null || is_int($before)) {
        must(!apcu_exists($key), "no number of $key");
        missed($key);
    }
}

for ($call = 0; $call < $calls; $call++) {
    // Some keys are much used.
    $key = 'k' . (int)(mt_rand(0, 3999) * mt_rand(0, 3999) / 3999);
    $value = value(mt_rand(0, 99999));
    switch (mt_rand(0, 19)) {
        case 0: case 1: case 2: case 3:
            stored($key, apcu_store($key, $value), $value);
            break;
        case 4:
            $other = 'm' . mt_rand(0, 99);
            $errors = apcu_store([$key => $value, $other => $call]);
            stored($key, !isset($errors[$key]), $value);
            stored($other, !isset($errors[$other]), $call);
            break;
        case 5:
            if (apcu_add($key, $value)) {
                missed($key);
                $kept[$key] = $value;
            } elseif (!apcu_exists($key)) {
                missed($key);
            } else {
                must(array_key_exists($key, $kept), "$key is not there");
            }
            break;
        case 6:
            if (apcu_delete($key)) {
                must(array_key_exists($key, $kept), "deleted $key");
                unset($kept[$key]);
            } else {
                missed($key);
            }
            break;
        case 7:
            $now = apcu_inc($key, 3, $success);
            counted($key, 3, $now, $success);
            break;
        case 8:
            $old = is_int($kept[$key] ?? null) ? $kept[$key] : 1;
            if (apcu_cas($key, $old, $call)) {
                must(($kept[$key] ?? null) === $old, "compared $key");
                $kept[$key] = $call;
            } elseif (is_int($kept[$key] ?? null)) {
                missed($key);
            }
            break;
        case 9:
            $made = false;
            $got = apcu_entry($key, function () use ($value, &$made) { $made = true; return $value; });
            if ($made) {
                must(serialize($got) === serialize($value), "made $key");
                $kept[$key] = $value;
            } else {
                found($key, true, $got);
            }
            break;
        case 10:
            $keys = [$key, 'k' . mt_rand(0, 3999), 'm' . mt_rand(0, 99)];
            $got = apcu_fetch($keys);
            foreach ($keys as $each) {
                found($each, array_key_exists($each, $got), $got[$each] ?? null);
            }
            break;
        case 11:
            foreach (new APCUIterator("/^$key$/") as $each => $entry) {
                found($each, true, $entry['value']);
            }
            break;
        case 12:
            if (apcu_exists($key)) {
                must(array_key_exists($key, $kept), "$key exists");
            } else {
                missed($key);
            }
            break;
        default:
            // As a rule, a miss is followed by a store.
            $got = apcu_fetch($key, $success);
            found($key, $success, $got);
            if (!$success) {
                stored($key, apcu_store($key, $value), $value);
            }
    }
}
must($misses > $calls / 100, "only $misses misses");
echo "$calls calls, $misses misses\n";
if (class_exists('Hone\Cache')) {
    ['packed' => $packed, 'cold_hits' => $hits, 'warmed' => $warmed, 'evictions' => $evicted] = Hone\Cache::info();
    must($packed > 0 && $hits > 0 && $evicted > 0, "$packed packed, $hits hits of cold values, $evicted evicted");
    echo "$packed packed, $hits hits of cold values, $warmed made warm, $evicted evicted\n";
}
