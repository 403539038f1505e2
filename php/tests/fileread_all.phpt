--TEST--
readfile(), file(), copy(), fread(), stream_get_contents(), fpassthru(): the same with hone.file_reads off and on
--EXTENSIONS--
hone
--INI--
realpath_cache_ttl=3600
--FILE--
<?php
require __DIR__ . '/differential/calls.inc';
// Of this process alone: when its files went between two calls, as they do if
// another run of the test removes its own of the same name, thousands differ.
$folder = __DIR__ . '/fileread_all.' . bin2hex(random_bytes(4)) . '.tmp';
register_shutdown_function('remove_files', $folder);
make_files($folder);
$calls = calls($folder);
// Under valgrind all of them would take minutes.
$step = getenv('USE_ZEND_ALLOC') === '0' ? 11 : 1;
$differ = 0;
foreach ($calls as $i => $call) {
    if ($i % $step > 0) {
        continue;
    }
    ini_set('hone.file_reads', 0);
    $off = outcome($call, $folder);
    ini_set('hone.file_reads', 1);
    $on = outcome($call, $folder);
    if ($off !== $on && ++$differ < 4) {
        var_dump($call, $off, $on);
    }
}
$per = array_count_values(array_column($calls, 0));
ksort($per);
foreach ($per as $function => $count) {
    echo $function, ': ', $count >= 60 ? 'at least 60 calls' : "$count calls", "\n";
}
echo $differ, " differ\n";
foreach (SIZES as $size) {
    if (filesize("$folder/$size") !== $size) {
        echo "$size was written to\n";
    }
}

ob_start();
(new ReflectionExtension('hone'))->info();
$info = ob_get_clean();
foreach (array_keys($per) as $function) {
    if (!preg_match("/^$function => (\\d+)$/m", $info, $count) || $count[1] < 20 / $step) {
        echo "$function: the short way too seldom: ", $count[1] ?? 'none', "\n";
    }
}
?>
--EXPECT--
copy: at least 60 calls
file: at least 60 calls
file_get_contents: at least 60 calls
fpassthru: at least 60 calls
fread: at least 60 calls
readfile: at least 60 calls
stream_get_contents: at least 60 calls
0 differ
