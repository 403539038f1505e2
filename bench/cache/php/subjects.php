<?php
// SPDX-License-Identifier: BSD-3-Clause
// What ./dev bench cache compares. $c is what "open" returns; $key and $value are
// given, "get" sets $v, and "set" sets $stored.
declare(strict_types=1);

function subject(string $name): array
{
    $hone = [
        'open' => fn() => null,
        'get' => '$v = \Hone\Cache::fetch($key);',
        'set' => '$stored = \Hone\Cache::store($key, $value);',
    ];
    $apcu = [
        'open' => fn() => null,
        'get' => '$v = \apcu_fetch($key);',
        'set' => '$stored = \apcu_store($key, $value);',
    ];
    $object = [
        'get' => '$v = $c->get($key);',
        'set' => '$stored = $c->set($key, $value);',
    ];
    return match ($name) {
        'hone', 'hone-cold', 'hone-warm', 'hone-igbinary', 'hone-block', 'hone-copy' => $hone,
        'hone-apcu', 'apcu-php', 'apcu-igbinary', 'apcu-default', 'apcu-ttl' => $apcu,
        'yac' => ['open' => fn() => new Yac(), ...$object],
        'memcached' => ['open' => 'open_memcached', ...$object],
        'redis' => ['open' => 'open_redis', ...$object],
        'include' => [
            'open' => fn() => null,
            'get' => '$v = include $key;',
            'set' => '$stored = write_file($key, $value);',
        ],
        // Not a rival: an array of this process, the least that a lookup costs.
        'array' => [
            'open' => fn() => null,
            'get' => '$v = $GLOBALS["table"][$key];',
            'set' => '$stored = true; $GLOBALS["table"][$key] = $value;',
        ],
    };
}

function open_memcached(): Memcached
{
    $cache = new Memcached('bench');
    if (!$cache->getServerList()) {
        $cache->setOptions([
            Memcached::OPT_COMPRESSION => false,
            Memcached::OPT_BINARY_PROTOCOL => false,
            Memcached::OPT_SERIALIZER => Memcached::SERIALIZER_IGBINARY,
        ]);
        $cache->addServer($_GET['memcached'], 0);
    }
    return $cache;
}

function open_redis(): Redis
{
    $cache = new Redis();
    $cache->pconnect($_GET['redis']);
    $cache->setOption(Redis::OPT_SERIALIZER, Redis::SERIALIZER_IGBINARY);
    return $cache;
}

/** The file that opcache keeps. */
function write_file(string $path, mixed $value): bool
{
    if (is_object($value)) {
        return false;
    }
    file_put_contents($path, '<?php return ' . var_export($value, true) . ';');
    return opcache_invalidate($path, true) && opcache_compile_file($path);
}

/** The key of number $i, or the file that has it. */
function key_of(string $subject, string $shape, int $i): string
{
    $key = "bench_{$shape}_$i";
    return $subject === 'include' ? "{$_GET['work']}/$key.php" : $key;
}
