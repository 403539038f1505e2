<?php
/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration of WordPress: everything except the page itself is off. */
define('DB_NAME', 'wordpress');
define('DB_USER', getenv('HONE_DB_USER'));
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:' . getenv('HONE_DB_SOCKET'));
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $name) {
    define("{$name}_KEY", 'not secret');
    define("{$name}_SALT", 'not secret');
}
$table_prefix = 'wp_';
if (!defined('ABSPATH')) {
    define('ABSPATH', __DIR__ . '/');
}
require_once ABSPATH . 'wp-settings.php';
