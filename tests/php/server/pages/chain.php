<?php
/* SPDX-License-Identifier: BSD-3-Clause */
// docs/examples/chain.php in a worker; each pool is a machine of its own.
require_once 'Psr/Cache/autoload.php';
require_once 'Symfony/Component/Cache/autoload.php';
require_once __DIR__ . '/../../../../docs/examples/chain.php';

$redis = new Redis();
$redis->connect($_GET['redis']);
$key = $_GET['key'] ?? 'k';
$computed = false;
$result = match ($_GET['do']) {
    'get' => cache($redis)->get($key, function () use (&$computed) {
        $computed = true;
        return $_GET['value'];
    }),
    'first' => first_tier()->getItem($key)->get(),
    'forget' => forget($redis, $key),
    'listen' => listen($redis, 600), // until the server ends
    'break' => $redis->flushAll(),
};
echo json_encode(['result' => $result, 'computed' => $computed]);
