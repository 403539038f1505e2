<?php

/** SPDX-License-Identifier: BSD-3-Clause
 *
 * The classes of the extension in PHP; hone_arginfo.h is made from this file.
 *
 * @generate-function-entries
 * @generate-class-entries
 */

namespace Hone;

/** Values that all processes of a server share. */
final class Cache
{
    private function __construct() {}

    /** Whether this process has a cache. */
    public static function enabled(): bool {}

    /**
     * The value of a key, or the default.
     *
     * @param bool $found
     */
    public static function fetch(string $key, mixed $default = null, &$found = null): mixed {}

    /** The values of the existing keys, by key. */
    public static function fetch_multi(array $keys): array {}

    /** One element of an array: $path is a key of it, or a list of keys, one for each level. */
    public static function fetch_field(string $key, array|string|int $path, mixed $default = null): mixed {}

    /** @param string[] $tags */
    public static function store(string $key, mixed $value, int $ttl = 0, array $tags = []): bool {}

    /**
     * Stores each value under its key.
     *
     * @param string[] $tags
     * @return bool true if every value was stored
     */
    public static function store_multi(array $values, int $ttl = 0, array $tags = []): bool {}

    /**
     * Stores only if the key does not exist.
     *
     * @param string[] $tags
     */
    public static function add(string $key, mixed $value, int $ttl = 0, array $tags = []): bool {}

    /**
     * Stores only if the key exists.
     *
     * @param string[] $tags
     */
    public static function replace(string $key, mixed $value, int $ttl = 0, array $tags = []): bool {}

    /** @return bool false if the key did not exist */
    public static function delete(string $key): bool {}

    /** @return int the number of keys that existed */
    public static function delete_multi(array $keys): int {}

    /** @return int the number of deleted keys */
    public static function delete_prefix(string $prefix): int {}

    /** Removes every value that was stored with this tag. */
    public static function invalidate_tag(string $tag): bool {}

    public static function exists(string $key): bool {}

    /** Adds to an int. A key that does not exist is made with 0. */
    public static function inc(string $key, int $step = 1, int $ttl = 0): int|false {}

    public static function dec(string $key, int $step = 1, int $ttl = 0): int|false {}

    /** Replaces an int if it equals $old. */
    public static function cas(string $key, int $old, int $new): bool {}

    /**
     * The value of a key. If the key does not exist, one process computes and stores the value.
     *
     * @param int $grace seconds after the expiry in which other processes get the old value while one process computes
     * @param float $wait the most seconds that other processes wait before they also compute the value
     * @param string[] $tags
     */
    public static function remember(string $key, int $ttl, callable $compute, int $grace = 0, float $wait = 5.0, array $tags = []): mixed {}

    /** Deletes everything. */
    public static function clear(): bool {}

    /** Writes the cache to a file for load(). A null path means that of hone.cache_snapshot. */
    public static function save(?string $path = null): bool {}

    /**
     * Stores the values of a file of save(), except those of existing keys.
     *
     * @return int the number of stored values
     */
    public static function load(string $path): int {}

    /** The keys that begin with a prefix, each with facts about its value. */
    public static function entries(string $prefix = ""): CacheEntries {}

    public static function info(): array {}

    /** One character for each part of the memory: "0" free, "1" values, "2" removed but perhaps in use, "3" reserved by the store. */
    public static function memory_map(int $parts = 1024): string {}

    /** Figures in the text format of Prometheus. */
    public static function metrics(): string {}
}

/** @not-serializable */
final class CacheEntries implements \Iterator
{
    private function __construct() {}

    public function current(): mixed {}

    public function key(): mixed {}

    public function next(): void {}

    public function rewind(): void {}

    public function valid(): bool {}
}
