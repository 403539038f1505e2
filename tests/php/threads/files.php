<?php
// SPDX-License-Identifier: BSD-3-Clause
// chdir() changes the folder of one thread: so does what a relative path names
// for the fast path.
$folder = getenv('FOLDER') . "/$thread";
@mkdir($folder);
chdir($folder);
// The first files are read by a thread that has not read any.
file_put_contents('name', "of $thread");
file_put_contents('long', str_repeat("$thread\n", 50000));
for ($i = 0; $i < 100; $i++) {
    if (file_get_contents('name') !== "of $thread" || file('name') !== ["of $thread"]) {
        throw new Exception("thread $thread has the file of another");
    }
    $stream = fopen('long', 'r');
    if (fread($stream, 100000) !== substr(str_repeat("$thread\n", 50000), 0, 100000)) {
        throw new Exception("thread $thread has other bytes");
    }
    copy('name', 'copy');
    if (file_get_contents('../' . $thread . '/copy') !== "of $thread") {
        throw new Exception("thread $thread has another copy");
    }
}
ob_start();
phpinfo(INFO_MODULES);
if (!preg_match('/^file_get_contents => [1-9]/m', ob_get_clean())) {
    throw new Exception('no call took the fast path');
}
