--TEST--
Hone\Cache: info, metrics, memory_map, phpinfo()
--INI--
hone.cache_cli=1
hone.cache_size=8M
--FILE--
<?php
use Hone\Cache;

$begin = time();
$empty = Cache::info();
for ($i = 0; $i < 100; $i++) {
    Cache::store("k$i", str_repeat('x', 10000));
    Cache::fetch("k$i");
    Cache::fetch("absent$i");
}
$info = Cache::info();
echo implode(' ', array_keys($info)), "\n";
var_dump($info['enabled'], $info['pool'], $info['pools'], $info['size'], $info['read'], $info['apcu'], $info['entries'],
    $info['hits'] - $empty['hits'], $info['misses'] - $empty['misses'], $info['stores'] - $empty['stores']);
var_dump($info['used'] - $empty['used'] >= 1000000, $info['used'] - $empty['used'] < 1100000, $info['free'] + $info['used'] <= $info['size'],
    $info['largest_free'] <= $info['free'], $info['slots_used'], $info['slots'], abs($info['start'] - $begin) < 3600);
$map = Cache::memory_map(64);
echo json_encode([strlen($map), trim($map, '0123'), str_contains($map, '1'), str_contains($map, '0'), strlen(Cache::memory_map())]), "\n";
$metrics = Cache::metrics();
foreach (explode("\n", trim($metrics)) as $line) {
    if (!preg_match('/^(# HELP hone_cache_\w+ .+|# TYPE hone_cache_\w+ (gauge|counter)|hone_cache_\w+\{pool="default"(,pid="\d+")?\} \d+)$/', $line)) {
        echo "wrong: $line\n";
    }
}
echo json_encode([str_contains($metrics, "\nhone_cache_size_bytes{pool=\"default\"} 8388608\n"), str_contains($metrics, "\nhone_cache_entries{pool=\"default\"} 100\n")]), "\n";
ob_start();
phpinfo(INFO_MODULES);
$page = ob_get_clean();
foreach (['Shared cache, state => on', 'Pool => default', 'Functions of APCu => offered', 'entries => 100', 'hone.cache_size => 8M => 8M'] as $row) {
    if (!str_contains($page, "\n$row\n")) {
        echo "not in phpinfo(): $row\n";
    }
}

// A request that uses a removed value holds it back, and is listed.
Cache::store('removed', str_repeat('r', 100000));
$removed = Cache::fetch('removed');
Cache::delete('removed');
$holders = Cache::info()['holders'];
if (count($holders) !== 1 || $holders[0]['pid'] !== getmypid() || $holders[0]['bytes'] < 100000 || $holders[0]['bytes'] > 101000
    || !str_contains(Cache::metrics(), "\nhone_cache_held_bytes{pool=\"default\",pid=\"" . getmypid() . "\",slot=\"0\"} {$holders[0]['bytes']}\n")) {
    print_r($holders);
}

// Values evict others if memory is full, and the figures are consistent.
for ($i = 0; $i < 3000; $i++) {
    Cache::store("more$i", str_repeat('y', 10000));
}
$info = Cache::info();
echo json_encode([$info['evictions'] > 2000, $info['entries'] > 300, $info['entries'] === iterator_count(Cache::entries())]), "\n";
var_dump(@Cache::store('too large', str_repeat('z', 9 << 20)), error_get_last()['message'], Cache::exists('more2999'));
$before = $info;
Cache::clear();
$info = Cache::info();
echo json_encode([$info['entries'], $info['used'] <= $empty['used'] + 65536, $info['hits'], $info['misses'], $info['stores'] >= $before['stores'], $info['evictions'] >= $before['evictions']]), "\n";
?>
--EXPECTF--
enabled pools pool read apcu size used retired free largest_free largest_value entries hits misses stores evictions expirations recoveries closed_slots cold_entries cold_bytes cold_hits packed warmed shards slots slots_used epoch start fragmentation block_bytes_used holders
bool(true)
string(7) "default"
array(1) {
  ["default"]=>
  int(8388608)
}
int(8388608)
string(4) "auto"
bool(true)
int(100)
int(100)
int(100)
int(100)
bool(true)
bool(true)
bool(true)
bool(true)
int(1)
int(1024)
bool(true)
[64,"",true,true,1024]
[true,true]
[true,true,true]
bool(false)
string(%d) "Hone\Cache::store(): 'too large' needs %f MiB; a value of this cache may have %f MiB: raise hone.cache_size, now 8M, to %s"
bool(true)
[0,true,0,0,true,true]
