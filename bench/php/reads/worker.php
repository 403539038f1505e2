<?php
// SPDX-License-Identifier: BSD-3-Clause
// A timed PHP. A line of standard input is "CASE TIMES", the answer on standard
// output is nanoseconds a call. reads.py runs several of these.

$folder = $argv[1];
chdir($folder);
$memory = fopen('php://memory', 'w+');
$large = fopen("$folder/700k", 'r');
$huge = fopen("$folder/10m", 'r');
$tiny = fopen("$folder/12", 'r');
$nothing = fopen("$folder/empty", 'r');
// A name of 200 bytes or more, made by bench/php/reads.py.
$long = basename(glob("$folder/long-*")[0]);

/** A loop over one call, compiled as in a program. */
function loop(string $body): Closure
{
    global $folder, $memory, $large, $huge, $tiny, $nothing, $long;
    return eval('return function (int $times) use ($folder, $memory, $large, $huge, $tiny, $nothing, $long) {
        [$f12, $f4k, $f64k, $f700k, $f10m] = ["$folder/12", "$folder/4k", "$folder/64k", "$folder/700k", "$folder/10m"];
        $lines = "$folder/lines";
        // In /dev/shm, where nothing is written back to a disk.
        [$from12, $from700k, $to] = ["$folder/memory/12", "$folder/memory/700k", "$folder/memory/to"];
        [$missing, $empty, $directory] = ["$folder/missing", "$folder/empty", "$folder/directory"];
        [$long12, $line, $f8191, $f8192, $f8193] = ["$folder/$long/12", "$folder/line", "$folder/8191", "$folder/8192", "$folder/8193"];
        [$from4k, $fromEmpty] = ["$folder/memory/4k", "$folder/memory/empty"];
        $began = hrtime(true);
        for ($i = 0; $i < $times; $i++) { ' . $body . ' }
        return (hrtime(true) - $began) / $times;
    };');
}

$cases = [
    'file_get_contents 12' => 'file_get_contents($f12);',
    'file_get_contents 4k' => 'file_get_contents($f4k);',
    'file_get_contents 64k' => 'file_get_contents($f64k);',
    'file_get_contents 700k' => 'file_get_contents($f700k);',
    'file_get_contents 10m' => 'file_get_contents($f10m);',
    'file_get_contents 12, path unknown' => 'clearstatcache(true); file_get_contents($f12);',
    'file_get_contents 12, relative' => 'file_get_contents("12");',
    'file_get_contents 12, path made each time' => 'file_get_contents("$folder/12");',
    'file_get_contents 12, path of 200 bytes' => 'file_get_contents($long12);',
    'file_get_contents 12, both' => 'file_get_contents("$folder/$long/12");',
    'file_get_contents 8191' => 'file_get_contents($f8191);',
    'file_get_contents 8192' => 'file_get_contents($f8192);',
    'file_get_contents, empty' => 'file_get_contents($empty);',
    'file_get_contents of /proc' => 'file_get_contents("/proc/self/limits");',
    'file_get_contents of /sys' => 'file_get_contents("/sys/kernel/mm/transparent_hugepage/enabled");',
    'fread 12 of 64k wanted' => 'rewind($tiny); fread($tiny, 65536);',
    'fread at the end' => 'fread($nothing, 65536);',
    'fread 20000' => 'rewind($large); fread($large, 20000);',
    'fread 700k' => 'rewind($large); fread($large, 716800);',
    'fread 10m' => 'rewind($huge); fread($huge, 10485760);',
    'stream_get_contents at the end' => 'stream_get_contents($nothing);',
    'stream_get_contents 12' => 'rewind($tiny); stream_get_contents($tiny);',
    'stream_get_contents 700k' => 'rewind($large); stream_get_contents($large);',
    'stream_get_contents 10m' => 'rewind($huge); stream_get_contents($huge);',
    'readfile 12' => 'readfile($f12); ob_clean();',
    'readfile 4k' => 'readfile($f4k); ob_clean();',
    'readfile, empty' => 'readfile($empty);',
    'readfile 8191' => 'readfile($f8191); ob_clean();',
    'readfile 8192' => 'readfile($f8192); ob_clean();',
    'readfile 8193' => 'readfile($f8193); ob_clean();',
    'readfile 64k' => 'readfile($f64k); ob_clean();',
    'readfile 700k' => 'readfile($f700k); ob_clean();',
    'fpassthru at the end' => 'fpassthru($nothing);',
    'fpassthru 12' => 'rewind($tiny); fpassthru($tiny); ob_clean();',
    'fpassthru 700k' => 'rewind($large); fpassthru($large); ob_clean();',
    'file 12' => 'file($f12);',
    'file, empty' => 'file($empty);',
    'file 1 line' => 'file($line);',
    'file 1000 lines' => 'file($lines);',
    'copy 12' => 'copy($from12, $to);',
    'copy, empty' => 'copy($fromEmpty, $to);',
    'copy 4k' => 'copy($from4k, $to);',
    'copy 700k' => 'copy($from700k, $to);',
    'passed on: a short fread' => 'fread($memory, 1);',
    'passed on: fread of another stream' => 'fread($memory, 20000);',
    'passed on: a URL' => '@file_get_contents("data:,x");',
    'passed on: an offset' => 'file_get_contents($f12, false, null, 3);',
    'passed on: a directory' => '@file_get_contents($directory);',
    'passed on: no such file' => '@file_get_contents($missing);',
    'passed on: no such file, path made each time' => '@file_get_contents("$folder/missing");',
    'passed on: no such file, path of 200 bytes' => '@file_get_contents("$folder/$long/missing");',
    'passed on: no such file to put out' => '@readfile($missing);',
    'passed on: no such file to copy' => '@copy($missing, $to);',
    'device, opened for PHP' => 'file_get_contents("/dev/null");',
];

ob_start();
$loops = array_map('loop', $cases);
while (($line = fgets(STDIN)) !== false) {
    [$name, $times] = explode("\t", trim($line));
    $took = $loops[$name]((int)$times);
    fwrite(STDOUT, "$took\n");
}
