<?php
/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An object cache for WordPress: copy this file to wp-content/object-cache.php.
 * Values are in the cache of this machine, and in Redis too if wp-config.php has
 *
 *     define('HONE_REDIS', 'tcp://127.0.0.1:6379'); // or unix:///run/redis.sock
 *
 * Then copy hone-redis.php beside it.
 *
 * Who changes a value publishes its name; a listener on each machine deletes it
 * from the first tier: HoneObjectCache::listen(). Without a listener, or for
 * what happens between two of its calls, a value is stale for SECONDS at most.
 * If Redis does not answer, the first tier goes on alone.
 */
declare(strict_types=1);

use Hone\Cache;

final class HoneObjectCache
{
    /** Seconds that a value of Redis stays in the first tier. */
    public const SECONDS = 60;

    /** What this request has. */
    private array $values = [];
    /** Keys of values that only this request has, since they cannot be stored. */
    private array $alone = [];
    private array $local_groups = [];
    private array $global_groups = [];
    private string $blog;
    private ?HoneRedis $redis = null;
    private string $prefix;

    public function __construct()
    {
        $this->prefix = self::prefix();
        $this->blog = (string)($GLOBALS['blog_id'] ?? 1);
        if (defined('HONE_REDIS')) {
            require_once __DIR__ . '/hone-redis.php';
            $this->redis = self::attempt(fn() => new HoneRedis(HONE_REDIS));
        }
    }

    private static function prefix(): string
    {
        return 'wp:' . (defined('WP_CACHE_KEY_SALT') ? WP_CACHE_KEY_SALT
            : (defined('DB_NAME') ? DB_NAME . ($GLOBALS['table_prefix'] ?? '') : '')) . ':';
    }

    private static function channel(): string
    {
        return self::prefix() . 'changed';
    }

    /** The name of this machine's cache, which is lost with its values. */
    private static function machine(): string
    {
        Cache::add(self::prefix() . 'machine', bin2hex(random_bytes(8)));
        return (string)Cache::fetch(self::prefix() . 'machine');
    }

    private static function attempt(callable $call): mixed
    {
        try {
            return $call();
        } catch (RuntimeException $error) {
            error_log('object-cache.php: ' . $error->getMessage());
            return null;
        }
    }

    /** Commands to Redis; null if there is none, or if it does not answer. */
    private function redis(array ...$commands): ?array
    {
        if ($this->redis === null) {
            return null;
        }
        $answers = self::attempt(fn() => $this->redis->call(...$commands));
        if ($answers === null) {
            $this->redis = null;
        }
        return $answers;
    }

    private function group(string $group): string
    {
        $group = $group !== '' ? $group : 'default';
        // Escaped: a colon ends the name.
        return $this->prefix . (isset($this->global_groups[$group]) ? '' : $this->blog)
            . ':' . strtr($group, ['%' => '%25', ':' => '%3A']) . ':';
    }

    /** Is the value only in this request? So are all, if there is no cache. */
    private function is_local(string $group, string $id): bool
    {
        return isset($this->local_groups[$group !== '' ? $group : 'default'])
            || isset($this->alone[$id]) || ($this->redis === null && !Cache::enabled());
    }

    /** A request may change an object that it was given; those in it are shared, as in WordPress. */
    private static function own(mixed $value): mixed
    {
        return is_object($value) && (new ReflectionClass($value))->isCloneable() ? clone $value : $value;
    }

    /** Lifetime in the first tier of what lives for so long; 0: for ever. */
    private function first(int $seconds): int
    {
        return !defined('HONE_REDIS') ? $seconds
            : ($seconds > 0 ? min($seconds, self::SECONDS) : self::SECONDS);
    }

    private function publish(string $what): array
    {
        return ['PUBLISH', self::channel(), self::machine() . " $what"];
    }

    public function get(string $key, string $group, bool $force, ?bool &$found): mixed
    {
        $id = $this->group($group) . $key;
        $found = true;
        if (array_key_exists($id, $this->values) && (!$force || $this->is_local($group, $id))) {
            return self::own($this->values[$id]);
        }
        if ($this->is_local($group, $id)) {
            return $found = false;
        }
        $value = $force && $this->redis ? null : Cache::fetch($id, null, $found);
        if ($force && $this->redis || !$found) {
            $value = $this->second($id, $found);
        }
        if (!$found) {
            return false;
        }
        $this->values[$id] = $value;
        return self::own($value);
    }

    /** From Redis, and to the first tier. */
    private function second(string $id, ?bool &$found): mixed
    {
        [$text, $left] = $this->redis(['GET', $id], ['PTTL', $id]) ?? [null, 0];
        $found = $text !== null;
        $value = $found ? unserialize($text) : false;
        $seconds = $left < 0 ? self::SECONDS : min(self::SECONDS, intdiv($left, 1000));
        if ($found && $seconds > 0) {
            Cache::store($id, $value, $seconds);
        }
        return $value;
    }

    /** @param string $how '', 'NX' (only if there is none) or 'XX' (if there is one) */
    public function set(string $key, mixed $value, string $group, int $expire, string $how = ''): bool
    {
        $id = $this->group($group) . $key;
        $stored = true;
        if ($this->is_local($group, $id) && $how !== '') {
            if (array_key_exists($id, $this->values) !== ($how === 'XX')) {
                return false;
            }
            $how = '';
        }
        unset($this->alone[$id]);
        if (!$this->is_local($group, $id)) {
            // A value that has ended lives for the shortest time.
            $stored = $this->store($id, $value, $expire < 0 ? 1 : $expire, $how);
            if ($stored === false) {
                return false;
            }
            if ($stored === null) {
                // Other requests must not find the old value.
                $this->delete($key, $group);
                $this->alone[$id] = true;
            }
        }
        $this->values[$id] = self::own($value);
        return (bool)$stored;
    }

    /** False: $how forbids it. Null: the value cannot be stored. */
    private function store(string $id, mixed $value, int $expire, string $how): ?bool
    {
        $seconds = $this->first($expire);
        try {
            $answers = $this->redis(['SET', $id, serialize($value),
                ...($expire > 0 ? ['EX', $expire] : []), ...($how !== '' ? [$how] : [])]);
            if ($answers !== null && $answers[0] === null) {
                return false;
            }
            if ($answers !== null) {
                // After the value: who is told must not find the old one.
                $this->redis($this->publish("key $id"));
                return Cache::store($id, $value, $seconds) || Cache::delete($id) || true;
            }
            if (match ($how) {
                'NX' => Cache::add($id, $value, $seconds),
                'XX' => Cache::replace($id, $value, $seconds),
                default => Cache::store($id, $value, $seconds),
            }) {
                return true;
            }
        } catch (Throwable $error) {
            error_log('object-cache.php: ' . $error->getMessage());
        }
        $exists = $how !== '' ? $this->redis(['EXISTS', $id])[0] ?? Cache::exists($id) : null;
        return $exists !== null && (bool)$exists === ($how === 'NX') ? false : null;
    }

    public function delete(string $key, string $group): bool
    {
        $id = $this->group($group) . $key;
        $existed = array_key_exists($id, $this->values);
        $alone = isset($this->alone[$id]);
        unset($this->values[$id], $this->alone[$id]);
        if ($this->is_local($group, $id)) {
            return $existed;
        }
        $answers = $this->redis(['DEL', $id], $this->publish("key $id"));
        $first = Cache::delete($id);
        return $alone || ($answers !== null ? $answers[0] === 1 : $first);
    }

    /** WordPress's own counters: never below 0, the lifetime stays; not atomic in Redis. */
    public function change(string $key, int $offset, string $group): int|false
    {
        $id = $this->group($group) . $key;
        $value = $this->get($key, $group, true, $found);
        $new = max(0, (is_numeric($value) ? (int)$value : 0) + $offset);
        if ($found && !$this->is_local($group, $id)) {
            $answers = $this->redis(['SET', $id, serialize($new), 'XX', 'KEEPTTL'], $this->publish("key $id"));
            if ($answers !== null) {
                Cache::delete($id); // its lifetime is in Redis
                $found = $answers[0] !== null;
            } elseif (!is_int($value)) {
                $found = Cache::replace($id, $new, $this->left($id));
            } elseif (!Cache::cas($id, $value, $new)) {
                return $this->change($key, $offset, $group);
            }
        }
        return $found ? $this->values[$id] = $new : false;
    }

    /** Lifetime that is left in the first tier. Looks at all keys. */
    private function left(string $id): int
    {
        $ends = iterator_to_array(Cache::entries($id))[$id]['expires'] ?? 0;
        return $ends > 0 ? max(1, $ends - time()) : 0;
    }

    /** All keys of this site, or of one group. */
    public function flush(?string $group = null): bool
    {
        $prefix = $group === null ? $this->prefix : $this->group($group);
        $this->flush_runtime();
        $cursor = '0';
        do {
            $answers = $this->redis(['SCAN', $cursor, 'MATCH', addcslashes($prefix, '*?[]\\') . '*', 'COUNT', 1000]);
            $cursor = $answers[0][0] ?? '0';
            if (!empty($answers[0][1])) {
                $this->redis(['DEL', ...$answers[0][1]]);
            }
        } while ($cursor !== '0');
        $this->redis($this->publish("all $prefix"));
        Cache::delete_prefix($prefix);
        return true;
    }

    public function flush_runtime(): bool
    {
        $this->values = $this->alone = [];
        return true;
    }

    public function add_groups(string|array $groups, bool $global): void
    {
        foreach ((array)$groups as $group) {
            $this->{$global ? 'global_groups' : 'local_groups'}[$group] = true;
        }
    }

    public function switch_to_blog(int|string $blog): void
    {
        $this->blog = (string)$blog;
    }

    /**
     * Deletes from the first tier what other machines publish, for so many
     * seconds. Call it in a request to the workers that serve the site, again
     * and again: a process of the command line has another cache. What was
     * published between two calls is lost: each begins with an empty first tier.
     */
    public static function listen(int $seconds): void
    {
        set_time_limit(0);
        require_once __DIR__ . '/hone-redis.php';
        $end = microtime(true) + $seconds;
        self::attempt(function () use ($end): void {
            $redis = new HoneRedis(HONE_REDIS);
            $redis->call(['SUBSCRIBE', self::channel()]);
            Cache::delete_prefix(self::prefix());
            while (($left = $end - microtime(true)) > 0) {
                $message = $redis->wait($left);
                if ($message === null) {
                    continue;
                }
                [$machine, $what, $name] = explode(' ', $message[2], 3);
                if ($machine !== self::machine()) {
                    $what === 'all' ? Cache::delete_prefix($name) : Cache::delete($name);
                }
            }
        });
    }
}

function wp_cache_init(): void
{
    $GLOBALS['wp_object_cache'] = new HoneObjectCache();
}

function wp_cache_get($key, $group = '', $force = false, &$found = null)
{
    return $GLOBALS['wp_object_cache']->get((string)$key, (string)$group, (bool)$force, $found);
}

function wp_cache_set($key, $data, $group = '', $expire = 0)
{
    return $GLOBALS['wp_object_cache']->set((string)$key, $data, (string)$group, (int)$expire);
}

function wp_cache_add($key, $data, $group = '', $expire = 0)
{
    if (function_exists('wp_suspend_cache_addition') && wp_suspend_cache_addition()) {
        return false;
    }
    return $GLOBALS['wp_object_cache']->set((string)$key, $data, (string)$group, (int)$expire, 'NX');
}

function wp_cache_replace($key, $data, $group = '', $expire = 0)
{
    return $GLOBALS['wp_object_cache']->set((string)$key, $data, (string)$group, (int)$expire, 'XX');
}

function wp_cache_delete($key, $group = '')
{
    return $GLOBALS['wp_object_cache']->delete((string)$key, (string)$group);
}

function wp_cache_incr($key, $offset = 1, $group = '')
{
    return $GLOBALS['wp_object_cache']->change((string)$key, (int)$offset, (string)$group);
}

function wp_cache_decr($key, $offset = 1, $group = '')
{
    return $GLOBALS['wp_object_cache']->change((string)$key, -(int)$offset, (string)$group);
}

function wp_cache_flush()
{
    return $GLOBALS['wp_object_cache']->flush();
}

function wp_cache_flush_group($group)
{
    return $GLOBALS['wp_object_cache']->flush((string)$group);
}

function wp_cache_flush_runtime()
{
    return $GLOBALS['wp_object_cache']->flush_runtime();
}

function wp_cache_supports($feature)
{
    return in_array($feature, ['flush_runtime', 'flush_group'], true);
}

function wp_cache_close()
{
    return true;
}

function wp_cache_add_global_groups($groups)
{
    $GLOBALS['wp_object_cache']->add_groups($groups, true);
}

function wp_cache_add_non_persistent_groups($groups)
{
    $GLOBALS['wp_object_cache']->add_groups($groups, false);
}

function wp_cache_switch_to_blog($blog)
{
    $GLOBALS['wp_object_cache']->switch_to_blog($blog);
}
