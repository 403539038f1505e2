<?php
/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Symfony's ChainAdapter: this machine's memory in front of Redis. Who changes a
 * value publishes its key; a listener on each machine deletes the key from the
 * first tier. Without a listener, a value is stale for SECONDS at most.
 */
declare(strict_types=1);

use Symfony\Component\Cache\Adapter\ApcuAdapter;
use Symfony\Component\Cache\Adapter\ChainAdapter;
use Symfony\Component\Cache\Adapter\RedisAdapter;

/** Seconds that a value stays in the first tier. */
const SECONDS = 60;
const CHANNEL = 'cache.changed';

function first_tier(): ApcuAdapter
{
    return new ApcuAdapter('site', SECONDS);
}

function cache(\Redis $redis): ChainAdapter
{
    return new ChainAdapter([first_tier(), new RedisAdapter($redis, 'site')], SECONDS);
}

/** Removes a value everywhere: from Redis, and from the first tier of all machines. */
function forget(\Redis $redis, string $key): void
{
    cache($redis)->deleteItem($key);
    $redis->publish(CHANNEL, $key);
}

/**
 * Deletes what others publish, for so many seconds or a little longer. Call it in
 * a request to the workers that use the cache, again and again: a process of the
 * command line has another cache. What is published between two calls is lost
 * here; the next call clears the first tier.
 *
 * @param \Redis $redis a connection of its own
 */
function listen(\Redis $redis, int $seconds): void
{
    set_time_limit(0);
    $end = microtime(true) + $seconds;
    $redis->setOption(\Redis::OPT_READ_TIMEOUT, $seconds);
    first_tier()->clear();
    try {
        $redis->subscribe([CHANNEL], function (\Redis $redis, string $channel, string $key) use ($end): void {
            first_tier()->deleteItem($key);
            if (microtime(true) > $end) {
                throw new \RedisException('the time is over');
            }
        });
    } catch (\RedisException) {
        // The time is over, or Redis has ended.
    }
}
