<?php
/* SPDX-License-Identifier: BSD-3-Clause */
class Psr6Test extends Cache\IntegrationTests\CachePoolTest
{
    public function createCachePool()
    {
        return new HoneCachePool();
    }

    public function testPoolsDoNotShareKeys()
    {
        $other = new HoneCachePool('other.');
        $this->cache->save($this->cache->getItem('k')->set(1));
        $other->save($other->getItem('k')->set(2));
        $other->clear();
        $this->assertSame(1, $this->cache->getItem('k')->get());
        $this->assertFalse($other->hasItem('k'));
    }
}
