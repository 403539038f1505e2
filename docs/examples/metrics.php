<?php // SPDX-License-Identifier: BSD-3-Clause
header('Content-Type: text/plain; version=0.0.4');
echo Hone\Cache::metrics();
