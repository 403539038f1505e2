<?php
/* SPDX-License-Identifier: BSD-3-Clause */
/* The work of the form wp-admin/install.php. Runs in the folder of WordPress. */
define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = 'localhost';
$_SERVER['REQUEST_URI'] = '/';
$_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1';
require getcwd() . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('A site', 'admin', 'admin@example.org', true, '', 'not secret');
