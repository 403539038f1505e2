<?php
/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PSR-16 (psr/simple-cache 1 to 3) on Hone\Cache. Copy this file.
 */
declare(strict_types=1);

use Hone\Cache;
use Psr\SimpleCache\CacheInterface;
use Psr\SimpleCache\InvalidArgumentException;

final class HoneSimpleCacheArgument extends \InvalidArgumentException implements InvalidArgumentException
{
}

/** The keys of an instance begin with its prefix; clear() deletes only these. */
final class HoneSimpleCache implements CacheInterface
{
    /** @param int $ttl seconds that a value without a lifetime is kept; 0: no end */
    public function __construct(private string $prefix = 'psr16.', private int $ttl = 0)
    {
    }

    public function get($key, $default = null): mixed
    {
        return Cache::fetch($this->key($key), $default);
    }

    public function set($key, $value, $ttl = null): bool
    {
        $key = $this->key($key);
        $seconds = $this->seconds($ttl);
        if ($seconds === null) {
            Cache::delete($key);
            return true;
        }
        return Cache::store($key, $value, $seconds);
    }

    public function delete($key): bool
    {
        Cache::delete($this->key($key));
        return true;
    }

    public function clear(): bool
    {
        Cache::delete_prefix($this->prefix);
        return true;
    }

    public function getMultiple($keys, $default = null): iterable
    {
        $names = [];
        foreach ($this->list($keys) as $key) {
            $names[$key] = $this->key($key);
        }
        $found = Cache::fetch_multi(array_values($names));
        foreach ($names as $key => $name) {
            $names[$key] = array_key_exists($name, $found) ? $found[$name] : $default;
        }
        return $names;
    }

    public function setMultiple($values, $ttl = null): bool
    {
        $named = [];
        foreach ($this->list($values) as $key => $value) {
            $named[$this->key(is_int($key) ? (string)$key : $key)] = $value;
        }
        $seconds = $this->seconds($ttl);
        if ($seconds === null) {
            Cache::delete_multi(array_keys($named));
            return true;
        }
        return Cache::store_multi($named, $seconds);
    }

    public function deleteMultiple($keys): bool
    {
        $names = [];
        foreach ($this->list($keys) as $key) {
            $names[] = $this->key($key);
        }
        Cache::delete_multi($names);
        return true;
    }

    public function has($key): bool
    {
        return Cache::exists($this->key($key));
    }

    private function key(mixed $key): string
    {
        if (!is_string($key) || $key === '' || strpbrk($key, '{}()/\\@:') !== false) {
            throw new HoneSimpleCacheArgument('A key must be a string without {}()/\\@: and not empty');
        }
        return $this->prefix . $key;
    }

    private function list(mixed $list): iterable
    {
        return is_iterable($list) ? $list : throw new HoneSimpleCacheArgument('Keys and values must be iterable');
    }

    /** Seconds to keep a value; 0: no end; null: the value has ended already. */
    private function seconds(mixed $ttl): ?int
    {
        if ($ttl === null) {
            return $this->ttl;
        }
        if ($ttl instanceof \DateInterval) {
            $ttl = (new \DateTimeImmutable('@0'))->add($ttl)->getTimestamp();
        }
        if (!is_int($ttl)) {
            throw new HoneSimpleCacheArgument('A lifetime must be null, an int or a DateInterval');
        }
        return $ttl > 0 ? $ttl : null;
    }
}
