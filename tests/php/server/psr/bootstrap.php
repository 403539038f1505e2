<?php
/* SPDX-License-Identifier: BSD-3-Clause */
// Not the autoloader of the tests: it wants a package for tags.
require_once 'Psr/Cache/autoload.php';
require_once 'Psr/SimpleCache/autoload.php';
require_once 'Symfony/Component/Cache/autoload.php';
require_once 'Cache/IntegrationTests/CachePoolTest.php';
require_once 'Cache/IntegrationTests/SimpleCacheTest.php';
require_once __DIR__ . '/../../../../docs/examples/psr6.php';
require_once __DIR__ . '/../../../../docs/examples/psr16.php';
