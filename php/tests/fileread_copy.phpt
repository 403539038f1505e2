--TEST--
copy(): modes, files without room, and copies between filesystems: the same with hone.file_reads off and on
--SKIPIF--
<?php if (!is_dir('/proc/self/fd')) die('skip no /proc/self/fd'); ?>
--FILE--
<?php
$name = __DIR__ . '/fileread_copy.tmp';
file_put_contents($name, str_repeat('x', 700000));
$there = array_filter(['/sys/kernel/mm/transparent_hugepage/enabled', '/proc/self/limits', '/proc/version'], 'is_readable');
$descriptors = count(scandir('/proc/self/fd'));

function modes($name)
{
    foreach ([0, 022, 077, 0777] as $mask) {
        $was = umask($mask);
        realpath($name);
        copy($name, "$name.new");
        umask($was);
        chmod("$name.there", 0604);
        copy($name, "$name.there");
        clearstatcache();
        printf("%o %o\n", fileperms("$name.new"), fileperms("$name.there"));
        unlink("$name.new");
    }
}

foreach ([0, 1] as $on) {
    ini_set('hone.file_reads', $on);
    ob_start();
    touch("$name.there");
    modes($name);
    foreach ($there as $other) {
        realpath($other);
        echo $other, ' ', json_encode(copy($other, "$name.there")), ' ', md5_file("$name.there"), "\n";
    }
    // There is room for a part. Without the trap, the signal would end PHP.
    echo shell_exec("trap '' XFSZ; ulimit -f 1000; exec " . getenv('TEST_PHP_EXECUTABLE') . ' ' . getenv('TEST_PHP_EXTRA_ARGS') .
        " -d hone.file_reads=$on -d html_errors=0 -r " .
        escapeshellarg("realpath('$name'); var_dump(copy('$name', '$name.there')); var_dump(filesize('$name.there'));") . ' 2>&1');
    unlink("$name.there");
    $output[] = ob_get_clean();
}
echo json_encode([$output[0] === $output[1], $output[0] === $output[1] ?: $output], JSON_INVALID_UTF8_SUBSTITUTE), "\n";
echo strstr($output[1], "\n/", true), "\n";
// The target has as many bytes as ulimit allows; PHP before 8.6 reports the rest.
var_dump(preg_match('/Write of \d+ bytes failed with errno=27/', $output[1]) === (int) (PHP_VERSION_ID < 80600), str_contains($output[1], 'int(512000)'));
var_dump(count(scandir('/proc/self/fd')) === $descriptors);
?>
--CLEAN--
<?php
foreach (['', '.new', '.there'] as $end) {
    @unlink(__DIR__ . "/fileread_copy.tmp$end");
}
?>
--EXPECT--
[true,true]
100666 100604
100644 100604
100600 100604
100000 100604
bool(true)
bool(true)
bool(true)
