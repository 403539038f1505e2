--TEST--
file_get_contents(): the same with hone.file_reads off and on
--EXTENSIONS--
hone
--FILE--
<?php
$folder = __DIR__ . '/fileread_contents.tmp';
mkdir($folder);
chdir($folder);
foreach ([0, 1, 12, 4095, 4096, 4097, 8192, 100000, 3000000] as $size) {
    file_put_contents("$folder/$size", substr(str_repeat("line\r\n\0", $size), 0, $size));
}
symlink('12', "$folder/link");
symlink('nowhere', "$folder/dangling");

function outcome($call, $args)
{
    error_clear_last();
    try {
        $result = @$call(...$args);
        if (is_string($result)) {
            $result = strlen($result) . ' ' . md5($result);
        }
    } catch (Throwable $thrown) {
        $result = get_class($thrown) . ': ' . $thrown->getMessage();
    }
    $error = error_get_last();
    return [$result, $error['type'] ?? 0, $error['message'] ?? '', get_debug_type($result)];
}

$calls = [];
foreach (scandir($folder) as $name) {
    foreach (["$folder/$name", $name, "./$name", "$folder//$name", "$folder/../fileread_contents.tmp/$name", "file://$folder/$name"] as $path) {
        $calls[] = [$path];
    }
}
foreach (["$folder/12\0", '', '/nonexistent/x', "$folder/12/", "$folder/12/.", '/proc/self/cmdline', 'data:,hello', 'data://text/plain,x', 'nosuch://x',
        str_repeat('/', 5000), str_repeat('x', 300), 12, 1.5, null, false, [], '/sys/kernel/mm/transparent_hugepage/enabled'] as $path) {
    $calls[] = [$path];
}
$file = "$folder/12";
foreach ([[false], [true], [false, null], [false, null, 0], [false, null, 0, null], [false, null, 3], [false, null, -3], [false, null, 0, 5],
        [false, null, 0, 0], [false, null, 0, -1], [false, null, 99], [false, null, -99], [0], [null], ['', null, '0', null],
        [false, stream_context_create()], [false, 5], [false, null, 0, null, 5]] as $more) {
    $calls[] = [$file, ...$more];
}
$differ = 0;
foreach ($calls as $args) {
    ini_set('hone.file_reads', 0);
    $off = outcome('file_get_contents', $args);
    ini_set('hone.file_reads', 1);
    $on = outcome('file_get_contents', $args);
    if ($off !== $on) {
        $differ++;
        var_dump($args, $off, $on);
    }
}
var_dump(count($calls) > 100, $differ);

// Either way takes the number of a stream.
ini_set('hone.file_reads', 0);
$a = (int)fopen($file, 'r');
file_get_contents($file);
$b = (int)fopen($file, 'r');
ini_set('hone.file_reads', 1);
file_get_contents($file);
$c = (int)fopen($file, 'r');
var_dump($b - $a === $c - $b);

// The string belongs to the caller.
$one = file_get_contents($file);
$two = file_get_contents($file);
$one[0] = 'X';
var_dump($one[0], $two[0]);
?>
--CLEAN--
<?php
$folder = __DIR__ . '/fileread_contents.tmp';
foreach (glob("$folder/*") as $file) {
    unlink($file);
}
@unlink("$folder/dangling");
rmdir($folder);
?>
--EXPECT--
bool(true)
int(0)
bool(true)
string(1) "X"
string(1) "l"
