<?php
// SPDX-License-Identifier: BSD-3-Clause
// Calls each function that reads files as the fast path would serve it, and some
// with streams that are a FILE too; then prints the rows of phpinfo(). Runs in a
// scratch folder.
file_put_contents('watched', str_repeat("0123456789 watched\n", 6000));
file_put_contents('watched.short', "0123456789 watched\n");
$name = getcwd() . '/watched';
foreach ([0, 1] as $turn) {
    realpath($name);
    echo md5(file_get_contents($name)), ' ', count(file($name)), ' ', md5(stream_get_contents(fopen($name, 'r'))), ' ',
        md5(fread(fopen($name, 'r'), 100000)), ' ', json_encode(copy($name, "$name.copy")), "\n";
    ob_start();
    readfile($name);
    fpassthru(fopen("$name.short", 'r'));
    echo md5(ob_get_clean()), "\n";
}
if (function_exists('watcher_read_as_file')) {
    foreach (['fread', 'stream_get_contents', 'fpassthru'] as $function) {
        $stream = fopen($name, 'r');
        echo watcher_read_as_file($stream), ' ';
        ob_start();
        $result = $function === 'fread' ? fread($stream, 100000) : $function($stream);
        echo md5(ob_get_clean()), ' ', is_string($result) ? strlen($result) . ' ' . md5($result) : json_encode($result), ' ', ftell($stream),
            ' ', json_encode(feof($stream)), "\n";
    }
}
ob_start();
(new ReflectionExtension('hone'))->info();
$info = strstr(ob_get_clean(), 'on the fast path');
echo preg_replace('/ => [1-9]\d*$/m', ' => some', strstr($info, "\n\n", true)), "\n";
echo implode(preg_grep('/plain stream/', explode("\n", $info))), "\n";
