<?php
/* SPDX-License-Identifier: BSD-3-Clause
 *
 * php -S: the dashboard, and /fill, which gives it something to show.
 */
use Hone\Cache;

if (parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH) !== '/fill') {
    require __DIR__ . '/../../../../php/dashboard.php';
    exit;
}
mt_srand(7);
for ($i = 0; $i < 1200; $i++) {
    $key = ['page:', 'options:', 'user:', 'menu/'][$i % 4] . "site-$i";
    Cache::store($key, range(0, mt_rand(1, 1000)), $i % 3 ? 0 : 3600);
    for ($n = mt_rand(0, 400) ** 2 / 400; $n > 0; $n--) {
        Cache::fetch($key);
    }
    Cache::fetch("absent$i");
}
Cache::store('<script>document.title = "owned"</script>', 'text');
Cache::store('"><img src=x onerror="document.title = \'owned\'">', str_repeat('large', 40000));
Cache::store(str_repeat('long key without a space ', 20), range(0, 20000));
Cache::store(str_repeat('wide', 300), range(0, 20001));
echo 'filled';
