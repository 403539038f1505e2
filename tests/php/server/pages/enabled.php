<?php
/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether there is a cache, by a constant that opcache computes when it compiles
 * this file, and by functions.
 */
echo json_encode([ini_get('apc.enabled'), apcu_enabled(), Hone\Cache::enabled(), Hone\Cache::info()['enabled']]);
