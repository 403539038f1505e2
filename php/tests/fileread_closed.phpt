--TEST--
fpassthru(): a callback of the output may close the stream
--EXTENSIONS--
hone
--INI--
hone.file_reads=1
--FILE--
<?php
// Without the extension PHP uses the closed stream, and crashes.
$name = __DIR__ . '/fileread_closed.tmp';
foreach ([5, 5000] as $size) {
    file_put_contents($name, str_repeat('x', $size));
    $file = fopen($name, 'r');
    ob_start(function ($output) use (&$file) {
        if (is_resource($file)) {
            fclose($file);
        }
        return '';
    }, 1);
    $done = fpassthru($file);
    ob_end_clean();
    var_dump($done, is_resource($file));
}
?>
--CLEAN--
<?php
@unlink(__DIR__ . '/fileread_closed.tmp');
?>
--EXPECT--
int(5)
bool(false)
int(5000)
bool(false)
