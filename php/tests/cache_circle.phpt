--TEST--
Hone\Cache: processes and fibers that compute values for one another do not wait in a circle
--EXTENSIONS--
pcntl
posix
--INI--
hone.cache_cli=1
apc.enable_cli=1
--FILE--
<?php
use Hone\Cache;

const HOUR = 3600.0;

/** Computes a value if there is none, or waits for an hour. */
$ways = [
    'remember' => fn($key, $compute) => Cache::remember($key, 600, $compute, 0, HOUR),
    'apcu_entry' => fn($key, $compute) => apcu_entry($key, $compute, 600),
];

/** Waits until n processes have made this call. */
function meet(string $place, int $n): void
{
    Cache::inc($place);
    while (Cache::fetch($place) < $n) {
        usleep(1000);
    }
}

/** Runs each function in its own process, and prints the results. */
function together(array $bodies): void
{
    $pids = [];
    foreach ($bodies as $i => $body) {
        $pid = pcntl_fork();
        if ($pid === 0) {
            pcntl_alarm(200);
            Cache::store("result $i", $body());
            posix_kill(getmypid(), SIGKILL); // no output of its own
        }
        $pids[] = $pid;
    }
    $results = [];
    foreach ($pids as $i => $pid) {
        pcntl_waitpid($pid, $status);
        $results[] = Cache::fetch("result $i", 'no result');
    }
    echo '  ', implode(', ', $results), "\n";
}

/** Computes the value of key i from the value of key j. */
function nested(callable $entry, string $name, int $i, int $j, callable $meet): string
{
    return $entry("$name $i", function () use ($entry, $name, $i, $j, $meet) {
        Cache::inc("$name computed");
        $meet();
        $inner = $entry("$name $j", function () use ($name, $j) {
            Cache::inc("$name computed");
            return "value $j";
        });
        return "value $i with " . substr($inner, 0, 7);
    });
}

foreach ($ways as $way => $entry) {
    foreach ([2, 3] as $n) {
        $name = "$way $n";
        echo "$name\n";
        $meet = fn() => meet("$name met", $n + 1);
        $bodies = [];
        for ($i = 0; $i < $n; $i++) {
            $bodies[] = fn() => nested($entry, $name, $i, ($i + 1) % $n, $meet);
        }
        // This process is not in the circle.
        $bodies[] = function () use ($entry, $name, $meet) {
            $meet();
            return 'outside: ' . substr($entry("$name 0", fn() => 'computed'), 0, 7);
        };
        together($bodies);
        echo '  computed: ', Cache::fetch("$name computed"), "\n";
    }
}

// Process 0 has the claim of a fiber, which is suspended, and waits outside of it.
foreach ($ways as $way => $entry) {
    $name = "$way fibers";
    echo "$name\n";
    $meet = fn() => meet("$name met", 2);
    together([
        function () use ($entry, $name, $meet) {
            $fiber = new Fiber(fn() => $entry("$name 0", function () use ($name) {
                Cache::inc("$name computed");
                Fiber::suspend();
                return 'value 0';
            }));
            $fiber->start();
            $meet();
            $other = $entry("$name 1", function () use ($name) {
                Cache::inc("$name computed");
                return 'value 1';
            });
            $fiber->resume();
            return $fiber->getReturn() . ' beside ' . substr($other, 0, 7);
        },
        fn() => nested($entry, $name, 1, 0, $meet),
    ]);
    echo '  computed: ', Cache::fetch("$name computed"), "\n";
}

// In one process, a fiber computes a value that another fiber has begun to compute.
$fiber = new Fiber(fn() => Cache::remember('a', 600, function () {
    Fiber::suspend();
    return 'a';
}, 0, HOUR));
$fiber->start();
echo nested($ways['remember'], 'one', 1, 2, fn() => print(Cache::remember('a', 600, fn() => "another a\n", 0, HOUR))), "\n";
$fiber->resume();
echo $fiber->getReturn(), "\n";
?>
--EXPECT--
remember 2
  value 0 with value 1, value 1 with value 0, outside: value 0
  computed: 3
remember 3
  value 0 with value 1, value 1 with value 2, value 2 with value 0, outside: value 0
  computed: 4
apcu_entry 2
  value 0 with value 1, value 1 with value 0, outside: value 0
  computed: 3
apcu_entry 3
  value 0 with value 1, value 1 with value 2, value 2 with value 0, outside: value 0
  computed: 4
remember fibers
  value 0 beside value 1, value 1 with value 0
  computed: 3
apcu_entry fibers
  value 0 beside value 1, value 1 with value 0
  computed: 3
another a
value 1 with value 2
a
