--TEST--
file(): auto_detect_line_endings falls back to PHP
--EXTENSIONS--
hone
--FILE--
<?php
$name = __DIR__ . '/fileread_lines.tmp';
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
--CLEAN--
<?php
@unlink(__DIR__ . '/fileread_lines.tmp');
?>
--EXPECT--
3 3 2 2 2 2 2 2
