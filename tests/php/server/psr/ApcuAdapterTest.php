<?php
/* SPDX-License-Identifier: BSD-3-Clause */
use Symfony\Component\Cache\Adapter\ApcuAdapter;

class ApcuAdapterTest extends Cache\IntegrationTests\CachePoolTest
{
    public function createCachePool()
    {
        $this->assertTrue(ApcuAdapter::isSupported());
        $this->assertTrue(Hone\Cache::info()['apcu']);
        return new ApcuAdapter('tests');
    }
}
