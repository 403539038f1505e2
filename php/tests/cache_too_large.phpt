--TEST--
A value that is too large: the message has the setting and a size that is enough, and no HTML
--FILE--
<?php
use Hone\Cache;

if (isset($argv[1])) {
    $value = str_repeat('x', (int)$argv[1]);
    var_dump(@Cache::store('k', $value), error_get_last()['message'] ?? null);
    exit;
}
$php = getenv('TEST_PHP_EXECUTABLE') . ' ' . str_replace("'", '', getenv('TEST_PHP_EXTRA_ARGS'));
function run(string $options, int $bytes): string
{
    global $php;
    return shell_exec("$php -d hone.cache_cli=1 -d memory_limit=-1 $options " . escapeshellarg(__FILE__) . " $bytes 2>&1");
}
// Each advice is enough, and is a larger size.
foreach ([['2M', 2 << 20], ['3M', 4 << 20], ['6M', 6 << 20], ['8M', 15 << 20], ['12M', 13 << 20], ['30M', 30 << 20], ['64M', 16 << 20], ['256M', 31 << 20], ['512M', 32 << 20]] as [$size, $bytes]) {
    $output = run("-d hone.cache_size=$size", $bytes);
    preg_match("/'k' needs [\d.]+ MiB; a value of this cache may have [\d.]+ MiB: raise hone.cache_size, now (\w+), to (\w+)\"/", $output, $match) || print($output);
    $next = run("-d hone.cache_size=$match[2]", $bytes);
    echo $match[1] === $size && ini_parse_quantity($match[2]) > ini_parse_quantity($size) && $next === "bool(true)\nNULL\n" ? "$size: $match[2]\n" : $output . $next;
}
echo run('-d apc.shm_size=4 -d hone.apcu_compat=1', 5 << 20);
echo run('-d hone.cache_size=0 -d "hone.cache_pools=\\"shop=3M\\"" -d hone.cache_pool=shop', 4 << 20);

// The log: no entities and no tags of HTML, and a key is not a line of its own.
$log = __DIR__ . '/cache_too_large.log';
$code = '
    $large = str_repeat("x", 2 << 20);
    foreach (["\"<b>&amp;\n", "\u{e9}"] as $key) {
        Hone\Cache::store($key, $large);
        Hone\Cache::store($key, fopen(__FILE__, "r"));
        Hone\Cache::store($key, 1, tags: [str_repeat("<", 65536)]);
        apcu_store($key, $large);
    }';
file_put_contents("$log.php", "<?php $code");
shell_exec("$php -d hone.cache_cli=1 -d hone.cache_size=2M -d html_errors=1 -d display_errors=0 -d log_errors=1 -d error_log=" . escapeshellarg($log) . ' ' . escapeshellarg("$log.php") . ' 2>&1');
echo preg_replace('/^\[.*?\] /m', '', file_get_contents($log));
?>
--CLEAN--
<?php
@unlink(__DIR__ . '/cache_too_large.log');
@unlink(__DIR__ . '/cache_too_large.log.php');
?>
--EXPECTF--
2M: 4M
3M: 8M
6M: 8M
8M: 16M
12M: 16M
30M: 512M
64M: 512M
256M: 512M
512M: 1G
bool(false)
string(113) "Hone\Cache::store(): 'k' needs 5.1 MiB; a value of this cache may have 3.8 MiB: raise apc.shm_size, now 4M, to 8M"
bool(false)
string(139) "Hone\Cache::store(): 'k' needs 4.1 MiB; a value of this cache may have 3.8 MiB: raise the size of 'shop' in hone.cache_pools, now 3M, to 8M"
PHP Warning:  Hone\Cache::store(): '??b??amp;?' needs 2.1 MiB; a value of this cache may have 1.8 MiB: raise hone.cache_size, now 2M, to 4M in %s on line %d
PHP Warning:  Hone\Cache::store(): The value of '??b??amp;?' cannot be stored: it contains a resource in %s on line %d
PHP Warning:  Hone\Cache::store(): A tag of the shared cache is limited to 65535 bytes: '????????????????????????????????????????...' has 65536 in %s on line %d
PHP Notice:  The shared cache "default": '??b??amp;?' needs 2.1 MiB; a value of this cache may have 1.8 MiB: raise hone.cache_size, now 2M, to 4M; the log has at most one such line a minute
PHP Warning:  Hone\Cache::store(): 'é' needs 2.1 MiB; a value of this cache may have 1.8 MiB: raise hone.cache_size, now 2M, to 4M in %s on line %d
PHP Warning:  Hone\Cache::store(): The value of 'é' cannot be stored: it contains a resource in %s on line %d
PHP Warning:  Hone\Cache::store(): A tag of the shared cache is limited to 65535 bytes: '????????????????????????????????????????...' has 65536 in %s on line %d
