<?php
/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PSR-6 (psr/cache 1 to 3) on Hone\Cache. Copy this file.
 */
declare(strict_types=1);

use Hone\Cache;
use Psr\Cache\CacheItemInterface;
use Psr\Cache\CacheItemPoolInterface;
use Psr\Cache\InvalidArgumentException;

final class HoneCacheArgument extends \InvalidArgumentException implements InvalidArgumentException
{
}

final class HoneCacheItem implements CacheItemInterface
{
    /** @internal Unix time with a fraction; null: the default of the pool */
    public ?float $end = null;

    /** @internal made by HoneCachePool */
    public function __construct(private string $key, private mixed $value, private bool $hit)
    {
    }

    public function getKey(): string
    {
        return $this->key;
    }

    public function get(): mixed
    {
        return $this->hit ? $this->value : null;
    }

    public function isHit(): bool
    {
        return $this->hit;
    }

    public function set($value): static
    {
        $this->value = $value;
        return $this;
    }

    public function expiresAt($expiration): static
    {
        if ($expiration !== null && !$expiration instanceof \DateTimeInterface) {
            throw new HoneCacheArgument('expiresAt() takes null or a DateTimeInterface');
        }
        $this->end = $expiration === null ? null : (float)$expiration->format('U.u');
        return $this;
    }

    public function expiresAfter($time): static
    {
        if ($time instanceof \DateInterval) {
            return $this->expiresAt((new \DateTimeImmutable())->add($time));
        }
        if ($time !== null && !is_int($time)) {
            throw new HoneCacheArgument('expiresAfter() takes null, an int or a DateInterval');
        }
        $this->end = $time === null ? null : microtime(true) + $time;
        return $this;
    }

    /** @internal what the pool returns for an item that is saved, or waits */
    public function saved(): self
    {
        $saved = new self($this->key, $this->value, true);
        $saved->end = $this->end;
        return $saved;
    }

    /** @internal */
    public function raw(): mixed
    {
        return $this->value;
    }
}

/** The keys of a pool begin with its prefix; clear() deletes only these. */
final class HoneCachePool implements CacheItemPoolInterface
{
    /** @var array<string, HoneCacheItem> */
    private array $deferred = [];

    /** @param int $ttl seconds that an item without a lifetime is kept; 0: no end */
    public function __construct(private string $prefix = 'psr6.', private int $ttl = 0)
    {
    }

    public function __destruct()
    {
        $this->commit();
    }

    public function getItem($key): CacheItemInterface
    {
        $name = $this->name($key);
        $waits = $this->deferred[$name] ?? null;
        if ($waits !== null && $this->seconds($waits) !== null) {
            // A clone, as a value from the cache would be.
            $item = $waits->saved();
            return is_object($item->get()) ? $item->set(clone $item->get()) : $item;
        }
        $value = Cache::fetch($name, null, $found);
        return new HoneCacheItem($key, $value, $found && $waits === null);
    }

    public function getItems(array $keys = []): iterable
    {
        $items = [];
        foreach ($keys as $key) {
            $items[$key] = $this->getItem($key);
        }
        return $items;
    }

    public function hasItem($key): bool
    {
        $waits = $this->deferred[$this->name($key)] ?? null;
        return $waits !== null ? $this->seconds($waits) !== null : Cache::exists($this->name($key));
    }

    public function clear(): bool
    {
        $this->deferred = [];
        Cache::delete_prefix($this->prefix);
        return true;
    }

    public function deleteItem($key): bool
    {
        return $this->deleteItems([$key]);
    }

    public function deleteItems(array $keys): bool
    {
        $names = array_map($this->name(...), $keys);
        $this->deferred = array_diff_key($this->deferred, array_flip($names));
        Cache::delete_multi($names);
        return true;
    }

    public function save(CacheItemInterface $item): bool
    {
        $name = $this->name($item->getKey());
        unset($this->deferred[$name]);
        $seconds = $this->seconds($item);
        if ($seconds === null) {
            Cache::delete($name);
            return true;
        }
        return Cache::store($name, $item->raw(), $seconds);
    }

    public function saveDeferred(CacheItemInterface $item): bool
    {
        $this->deferred[$this->name($item->getKey())] = $item->saved();
        return true;
    }

    public function commit(): bool
    {
        $done = true;
        foreach ($this->deferred as $item) {
            $done = $this->save($item) && $done;
        }
        return $done;
    }

    private function name(mixed $key): string
    {
        if (!is_string($key) || $key === '' || strpbrk($key, '{}()/\\@:') !== false) {
            throw new HoneCacheArgument('A key must be a string without {}()/\\@: and not empty');
        }
        return $this->prefix . $key;
    }

    /** Seconds to keep an item; 0: no end; null: the item has ended already. */
    private function seconds(HoneCacheItem $item): ?int
    {
        if ($item->end === null) {
            return $this->ttl;
        }
        $left = (int)ceil($item->end - microtime(true));
        return $left > 0 ? $left : null;
    }
}
