<?php
// SPDX-License-Identifier: BSD-3-Clause
// Results and messages of copy() with files of several sizes, for copies.sh to
// compare. Arguments: the folder of the files, which are made if they are
// missing; the folder of the targets.
[, $folder, $targets] = $argv;
set_error_handler(function ($level, $message) {
    echo "  $level $message\n";
    return true;
});
umask(027);
foreach ([0, 1, 999, 1000, 1001, 8192, 100000, 700000, 2000000, 5000000] as $size) {
    $source = "$folder/$size";
    if (!is_file($source)) {
        file_put_contents($source, substr(str_repeat('0123456', $size), 0, $size));
    }
    foreach (['new', 'there'] as $name) {
        $target = "$targets/$name";
        // unlink() empties PHP's realpath cache.
        realpath($source);
        if ($name === 'there') {
            file_put_contents($target, 'more than nothing');
            chmod($target, 0604);
            realpath($target);
        }
        echo "$size to $name\n";
        $first = (int)fopen('php://memory', 'r');
        $copied = copy($source, $target);
        $numbers = (int)fopen('php://memory', 'r') - $first;
        clearstatcache();
        echo '  ', json_encode($copied), ' ', filesize($target), ' ', md5_file($target), ' ', decoct(fileperms($target)),
            " numbers $numbers descriptors ", count(scandir('/proc/self/fd')), "\n";
        unlink($target);
    }
}
preg_match('/^copy => (\d+)$/m', (function () {
    ob_start();
    (new ReflectionExtension('hone'))->info();
    return ob_get_clean();
})(), $taken);
fwrite(STDERR, "$taken[1]\n");
