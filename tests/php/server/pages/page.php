<?php
/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What test_fpm.py asks of a worker. A value carries its own checksum.
 */
use Hone\Cache;

function value(string $key, int $seed): array
{
    mt_srand($seed);
    $rows = [];
    for ($n = mt_rand(0, 60); $n > 0; $n--) {
        $rows["row$n"] = ['id' => mt_rand(), 'text' => str_repeat(chr(mt_rand(32, 126)), mt_rand(0, 200))];
    }
    $rows['long'] = str_repeat((string)$seed, mt_rand(0, 3000));
    return ['key' => $key, 'rows' => $rows, 'sum' => md5(serialize([$key, $rows]))];
}

function is_whole(string $key, mixed $value): bool
{
    return is_array($value) && $value['key'] === $key && $value['sum'] === md5(serialize([$key, $value['rows']]));
}

class Thing
{
    function __construct(private object $hidden) {}
}

/* A request of some work: stores, fetches and deletes, all checked. */
function work(int $seed, int $keys, int $turns): array
{
    $done = ['wrong' => [], 'found' => 0, 'stored' => 0, 'refused' => 0];
    $rand = new class($seed) {
        public function __construct(private int $state) {}
        public function upto(int $n): int
        {
            $this->state = ($this->state * 1103515245 + 12345) & 0x7fffffff;
            return ($this->state >> 8) % $n;
        }
    };
    for ($i = 0; $i < $turns; $i++) {
        $key = 'work' . $rand->upto($keys);
        switch ($rand->upto(8)) {
        case 0:
        case 1:
        case 2:
            // What is in use by other requests may leave no memory.
            $stored = @Cache::store($key, value($key, $seed + $i), $rand->upto(3), $rand->upto(2) ? ['tag'] : []);
            $done[$stored ? 'stored' : 'refused']++;
            break;
        case 3:
            if ($rand->upto(4) === 0) {
                Cache::delete($key);
            } elseif (Cache::inc("count$key") === false) {
                $done['refused']++;
            }
            break;
        case 4:
            if ($rand->upto(50) === 0) {
                Cache::invalidate_tag('tag');
            } elseif ($rand->upto(50) === 0) {
                Cache::delete_prefix('work1');
            }
            break;
        default:
            $value = Cache::fetch($key, null, $found);
            if ($found) {
                $done['found']++;
                is_whole($key, $value) || $done['wrong'][] = $key;
            }
        }
    }
    return $done;
}

$key = $_GET['key'] ?? '';
$result = match ($_GET['do'] ?? '') {
    // The parameters of FastCGI are at most 64 KiB.
    'long' => array_sum(array_map(fn($i) => (int)Cache::store(str_repeat($key, (int)$_GET['times']) . $i, "value $i"), range(1, (int)$_GET['keys']))),
    'store' => Cache::store($key, $_GET['value'] ?? '', (int)($_GET['ttl'] ?? 0)),
    'nested' => Cache::store($key, array_reduce(range(1, (int)$_GET['levels']), fn($inner) => ['level' => $inner, 'beside' => 1], 'the innermost')),
    'object' => Cache::store($key, new Thing(new ArrayObject([null]))),
    'wide' => Cache::store($key, range(0, (int)$_GET['n'])),
    'large' => Cache::store($key, str_repeat('l', (int)$_GET['size'])),
    'fetch' => Cache::fetch($key),
    'inc' => Cache::inc($key),
    'apcu' => apcu_fetch($key),
    'clear' => Cache::clear(),
    'info' => Cache::info(),
    'count' => iterator_count(Cache::entries()),
    'work' => work((int)$_GET['seed'], (int)$_GET['keys'], (int)$_GET['turns']),
    'check' => array_keys(array_filter(iterator_to_array(Cache::entries('work')),
        fn($key) => !is_whole($key, Cache::fetch($key) ?? value($key, 0)), ARRAY_FILTER_USE_KEY)),
    'setting' => ini_get($key),
    // opcache computes the first when it compiles this file.
    'enabled' => [ini_get('apc.enabled'), apcu_enabled(), Cache::enabled(), Cache::info()['enabled']],
    'pid' => null,
};
header('Content-Type: application/json');
echo json_encode(['pid' => getmypid(), 'result' => $result], JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR);
