<?php
/* SPDX-License-Identifier: BSD-3-Clause */
use Symfony\Component\Cache\Adapter\ApcuAdapter;
use Symfony\Component\Cache\Psr16Cache;

class ApcuPsr16Test extends Cache\IntegrationTests\SimpleCacheTest
{
    public function createSimpleCache()
    {
        return new Psr16Cache(new ApcuAdapter('tests16'));
    }
}
