--TEST--
readfile(), file(), copy(), fread(), stream_get_contents(), fpassthru(): the same with hone.file_reads off and on
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

// The string belongs to the caller.
$one = file_get_contents("$folder/4095");
$two = file_get_contents("$folder/4095");
$one[0] = 'X';
var_dump($one[0], $two[0]);

// Longer and shorter than before, under the same stream. No descriptor is left.
$name = "$folder/changes";
$descriptors = count(@scandir('/proc/self/fd') ?: []);
foreach ([0, 1] as $on) {
    ini_set('hone.file_reads', $on);
    file_put_contents($name, str_repeat('a', 50000));
    $stream = fopen($name, 'r');
    $got = [strlen(fread($stream, 20000))];
    file_put_contents($name, str_repeat('b', 70000), 0);
    $got[] = strlen(stream_get_contents($stream));
    $got[] = feof($stream);
    file_put_contents($name, 'more', FILE_APPEND);
    $got[] = stream_get_contents($stream);
    rewind($stream);
    file_put_contents($name, 'short');
    $got[] = fread($stream, 30000);
    $got[] = feof($stream);
    echo json_encode($got), "\n";
    fclose($stream);
}
var_dump(count(@scandir('/proc/self/fd') ?: []) === $descriptors);

// auto_detect_line_endings falls back to PHP.
@ini_set('auto_detect_line_endings', '1');
foreach (["a\rb\rc", "a\r\nb\rc\n", "a\nb\rc", "\r\r"] as $text) {
    file_put_contents($name, $text);
    foreach ([0, FILE_IGNORE_NEW_LINES] as $flags) {
        foreach ([0, 1, 1] as $on) {
            ini_set('hone.file_reads', $on);
            $lines[$on] = file($name, $flags);
        }
        echo $lines[0] === $lines[1] ? count($lines[1]) : json_encode($lines), ' ';
    }
}
?>
--EXPECT--
every function
0 differ
string(1) "X"
string(1) "l"
[20000,50000,true,"more","short",true]
[20000,50000,true,"more","short",true]
bool(true)
3 3 2 2 2 2 2 2
