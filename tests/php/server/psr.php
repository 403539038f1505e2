<?php
/* SPDX-License-Identifier: BSD-3-Clause */
// The classes of test_psr.py.
use Symfony\Component\Cache\Adapter\ApcuAdapter;
use Symfony\Component\Cache\Psr16Cache;

// Not the autoloader of the tests: it wants a package for tags.
require_once 'Psr/Cache/autoload.php';
require_once 'Psr/SimpleCache/autoload.php';
require_once 'Symfony/Component/Cache/autoload.php';
require_once 'Cache/IntegrationTests/CachePoolTest.php';
require_once 'Cache/IntegrationTests/SimpleCacheTest.php';
require_once __DIR__ . '/../../../docs/examples/psr6.php';
require_once __DIR__ . '/../../../docs/examples/psr16.php';

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

class ApcuAdapterTest extends Cache\IntegrationTests\CachePoolTest
{
    public function createCachePool()
    {
        $this->assertTrue(ApcuAdapter::isSupported());
        $this->assertTrue(Hone\Cache::info()['apcu']);
        return new ApcuAdapter('tests');
    }
}

class ApcuPsr16Test extends Cache\IntegrationTests\SimpleCacheTest
{
    public function createSimpleCache()
    {
        return new Psr16Cache(new ApcuAdapter('tests16'));
    }
}
