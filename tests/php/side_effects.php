<?php
// SPDX-License-Identifier: BSD-3-Clause
// Every call of the differential test once, for side_effects.py to watch.
// Arguments: the file of the calls, a folder to make and remove.
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
preg_match_all('/^(\w+) => (\d+)$/m', strstr(ob_get_clean(), 'the short way'), $counts);
remove_files($argv[2]);
echo count($calls), ' ', array_sum(array_slice($counts[2], 0, 7)), "\n";
