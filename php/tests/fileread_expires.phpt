--TEST--
hone.file_reads: an expired entry of PHP's realpath cache is not used
--INI--
realpath_cache_ttl=1
--FILE--
<?php
$name = __DIR__ . '/fileread_expires.tmp';
$read = fn($i) => [file_get_contents("$name.link.$i"), file_get_contents("$name.link.$i")];
file_put_contents("$name.old", 'old');
file_put_contents("$name.new", 'new');
foreach ([0, 1] as $i) {
    exec('ln -sf ' . escapeshellarg("$name.old") . ' ' . escapeshellarg("$name.link.$i"));
}
foreach ([0, 1] as $on) {
    ini_set('hone.file_reads', $on);
    echo implode(' ', $read($on)), "\n";
}
foreach ([0, 1] as $i) {
    exec('ln -sf ' . escapeshellarg("$name.new") . ' ' . escapeshellarg("$name.link.$i"));
}
sleep(3);
foreach ([0, 1] as $on) {
    ini_set('hone.file_reads', $on);
    $size = realpath_cache_size();
    echo implode(' ', $read($on)), ' ', realpath_cache_size() - $size, "\n";
}
?>
--CLEAN--
<?php
foreach (['old', 'new', 'link.0', 'link.1'] as $end) {
    @unlink(__DIR__ . "/fileread_expires.tmp.$end");
}
?>
--EXPECTREGEX--
old old
old old
new new (-?\d+)
new new -?\d+
