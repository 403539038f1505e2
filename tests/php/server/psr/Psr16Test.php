<?php
/* SPDX-License-Identifier: BSD-3-Clause */
class Psr16Test extends Cache\IntegrationTests\SimpleCacheTest
{
    public function createSimpleCache()
    {
        return new HoneSimpleCache();
    }

    public function testInstancesDoNotShareKeys()
    {
        $other = new HoneSimpleCache('other.');
        $this->cache->set('k', 1);
        $other->set('k', 2);
        $other->clear();
        $this->assertSame(1, $this->cache->get('k'));
        $this->assertFalse($other->has('k'));
    }
}
