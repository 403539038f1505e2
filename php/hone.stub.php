<?php

/** SPDX-License-Identifier: BSD-3-Clause
 *
 * The classes of the extension in PHP; hone_arginfo.h is made from this file.
 *
 * @generate-function-entries
 * @generate-class-entries
 */

namespace Hone;

/** Values that all processes of a server share: docs/php-cache-reference.md. */
final class Cache
{
    private function __construct() {}

    public static function enabled(): bool {}

    /** @param bool $found */
    public static function fetch(string $key, mixed $default = null, &$found = null): mixed {}

    public static function fetch_multi(array $keys): array {}

    public static function fetch_field(string $key, array|string|int $path, mixed $default = null): mixed {}

    public static function store(string $key, mixed $value, int $ttl = 0, array $tags = []): bool {}

    public static function store_multi(array $values, int $ttl = 0, array $tags = []): bool {}

    public static function add(string $key, mixed $value, int $ttl = 0, array $tags = []): bool {}

    public static function replace(string $key, mixed $value, int $ttl = 0, array $tags = []): bool {}

    public static function delete(string $key): bool {}

    public static function delete_multi(array $keys): int {}

    public static function delete_prefix(string $prefix): int {}

    public static function invalidate_tag(string $tag): bool {}

    public static function exists(string $key): bool {}

    public static function inc(string $key, int $step = 1, int $ttl = 0): int|false {}

    public static function dec(string $key, int $step = 1, int $ttl = 0): int|false {}

    public static function cas(string $key, int $old, int $new): bool {}

    public static function remember(string $key, int $ttl, callable $compute, int $grace = 0, float $wait = 5.0, array $tags = []): mixed {}

    public static function clear(): bool {}

    public static function save(?string $path = null): bool {}

    public static function load(string $path): int {}

    public static function entries(string $prefix = ""): CacheEntries {}

    public static function info(): array {}

    public static function memory_map(int $parts = 1024): string {}

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
