<?php
// SPDX-License-Identifier: BSD-3-Clause
// Every call of the differential test once, under strace: side_effects.py.
// Arguments: the file with the calls; a folder to make and remove.
require $argv[1];
make_files($argv[2]);
$calls = calls($argv[2]);
chdir('/');
chdir($argv[2]);
foreach ($calls as $call) {
    outcome($call, $argv[2]);
}
chdir('/');
ob_start();
phpinfo(INFO_MODULES);
preg_match_all('/^(\w+) => (\d+)$/m', strstr(strstr(ob_get_clean(), 'on the fast path'), "\n\n", true), $counts);
remove_files($argv[2]);
echo count($calls), ' ', array_sum($counts[2]), "\n";
