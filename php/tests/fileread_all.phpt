--TEST--
readfile(), file(), copy(), fread(), stream_get_contents(), fpassthru(): the same with hone.file_reads off and on
--EXTENSIONS--
hone
--INI--
realpath_cache_ttl=3600
--FILE--
<?php
require __DIR__ . '/differential/calls.inc';
// A folder of this process alone: another run of the test removes its folder,
// and with the same name thousands of calls would differ.
$folder = __DIR__ . '/fileread_all.' . bin2hex(random_bytes(4)) . '.tmp';
register_shutdown_function('remove_files', $folder);
make_files($folder);
$calls = calls($folder);
// Under valgrind all calls would take minutes.
$step = getenv('USE_ZEND_ALLOC') === '0' ? 23 : 1;
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
preg_match_all('/^PHP_HONE_FUNCTION\(\w+, (\w+)/m', file_get_contents(__DIR__ . '/../fileread/functions.def'), $rows);
foreach ($rows[1] as $function) {
    if (($per[$function] ?? 0) < 60) {
        echo "$function: fewer than 60 calls\n";
    }
}
echo count($rows[1]) > 0 && count($rows[1]) === count($per) ? "every function\n" : "not every function\n";
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
        echo "$function: too few calls on the fast path: ", $count[1] ?? 'none', "\n";
    }
}
?>
--EXPECT--
every function
0 differ
