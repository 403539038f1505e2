--TEST--
Hone\Cache: remember computes a value once, also if several processes need it at the same time
--EXTENSIONS--
pcntl
posix
--INI--
hone.cache_cli=1
--FILE--
<?php
use Hone\Cache;

$calls = 0;
$compute = function (string $key) use (&$calls) { return [$key, ++$calls]; };
echo json_encode([Cache::remember('k', 100, $compute), Cache::remember('k', 100, $compute), Cache::fetch('k')[1]]), "\n";
try {
    Cache::remember('throws', 100, fn() => throw new Exception('no value'));
} catch (Exception $error) {
    echo $error->getMessage(), "\n";
}
echo json_encode([Cache::exists('throws'), Cache::remember('throws', 100, fn() => 'now')]), "\n";
echo json_encode([Cache::remember('null', 100, fn() => null), Cache::exists('null')]), "\n";
// The callback uses the cache, also this key.
var_dump(Cache::remember('outer', 100, fn() => Cache::remember('inner', 100, fn() => 'inner') . Cache::remember('outer', 100, fn() => ' twice')));
var_dump(Cache::fetch('outer'));
echo json_encode([Cache::remember('tagged', 100, fn() => 1, tags: ['tag']), Cache::invalidate_tag('tag'), Cache::exists('tagged')]), "\n";
// A value that cannot be stored is returned.
echo json_encode([is_resource(@Cache::remember('resource', 1, fn() => fopen('php://memory', 'r'))), Cache::exists('resource')]), "\n";

function together(int $n, callable $body): array {
    $pids = [];
    for ($i = 0; $i < $n; $i++) {
        $pid = pcntl_fork();
        if ($pid === 0) {
            exit($body($i));
        }
        $pids[] = $pid;
    }
    return array_map(function ($pid) { pcntl_waitpid($pid, $status); return pcntl_wexitstatus($status); }, $pids);
}

/** Waits until a counter has a value. */
function until(string $counter, int $value): void {
    while (Cache::fetch($counter, 0) < $value) {
        usleep(1000);
    }
}

const HOUR = 3600.0; // a wait that does not end hangs

// One of eight processes computes, and the others wait.
$slow = function () { until('begun', 8); return Cache::inc('computed'); };
echo implode(' ', together(8, function () use ($slow) { Cache::inc('begun'); return Cache::remember('slow', 100, $slow, 0, HOUR); })), "\n";
var_dump(Cache::fetch('computed'));

// During the grace period, the others get the old value at once.
Cache::remember('old', 1, fn() => 100, 60);
usleep(2_100_000);
var_dump(Cache::fetch('old'));
$results = together(4, function () {
    $value = Cache::remember('old', 100, function () { until('served', 3); return 200; }, 60, HOUR);
    Cache::inc('served');
    return $value;
});
sort($results);
echo implode(' ', $results), "\n";

// A wait has a limit: another process computes, too.
echo implode(' ', array_unique(together(3, fn() => Cache::remember('wait', 100, function () { Cache::inc('waited'); until('waited', 2); return 1; }, 0, 0.1)))), "\n";
var_dump(Cache::fetch('waited') > 1);

// A killed process blocks no other.
together(1, function () { Cache::remember('killed', 100, function () { posix_kill(getmypid(), SIGKILL); }); return 0; });
var_dump(Cache::remember('killed', 100, fn() => 'alive', 0, HOUR));
// A process with a fatal error blocks no other.
together(1, function () {
    ini_set('display_errors', '0');
    Cache::remember('fatal', 100, function () { ini_set('memory_limit', '8M'); return str_repeat('x', 1 << 30); });
    return 0;
});
var_dump(Cache::remember('fatal', 100, fn() => 'alive', 0, HOUR));
?>
--EXPECT--
[["k",1],["k",1],1]
no value
[false,"now"]
[null,true]
string(11) "inner twice"
string(11) "inner twice"
[1,true,false]
[true,false]
1 1 1 1 1 1 1 1
int(1)
NULL
100 100 100 200
1
bool(true)
string(5) "alive"
string(5) "alive"
