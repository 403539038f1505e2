<?php
/* SPDX-License-Identifier: BSD-3-Clause */
/* What the form of wp-admin/install.php does; run in WordPress's folder. */
define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = 'localhost';
$_SERVER['REQUEST_URI'] = '/';
$_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1';
require getcwd() . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('A site', 'admin', 'admin@example.org', true, '', 'not secret');
