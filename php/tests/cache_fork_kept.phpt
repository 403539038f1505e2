--TEST--
Hone\Cache: values that were fetched before a fork stay valid in the child after the end of the parent
--EXTENSIONS--
hone
pcntl
--INI--
hone.cache_cli=1
hone.cache_size=4M
--FILE--
<?php
use Hone\Cache;

$value = [];
for ($i = 0; $i < 5000; $i++) {
    $value["key $i"] = ["text $i", $i];
}
$expected = md5(serialize($value));
Cache::store('k', $value);
[$mine, $its] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);

// A parent fetches, forks, and ends.
$parent = pcntl_fork();
if ($parent === 0) {
    $fetched = Cache::fetch('k');
    if (pcntl_fork() === 0) {
        fgets($its);
        fwrite($its, (md5(serialize($fetched)) === $expected ? 'kept' : 'lost') . ' ' . (Cache::store('from', 'child') ? 'works' : 'fails') . "\n");
    }
    exit(0);
}
pcntl_waitpid($parent, $status);
for ($i = 0; $i < 3000; $i++) {
    Cache::store('k' . $i % 500, str_repeat(chr(65 + $i % 26), 20000));
    Cache::delete('k');
}
fwrite($mine, "go\n");
echo fgets($mine);
var_dump(Cache::fetch('from'));
?>
--EXPECT--
kept works
string(5) "child"
