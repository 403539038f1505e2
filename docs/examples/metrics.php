<?php // SPDX-License-Identifier: BSD-3-Clause
header('Content-Type: text/plain; version=0.0.4');
if (!Hone\Cache::enabled()) {
    http_response_code(503); // as long as it does not answer, an alert may fire
}
echo Hone\Cache::metrics();
