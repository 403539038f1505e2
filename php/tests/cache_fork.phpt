--TEST--
Hone\Cache: processes that were forked share one cache
--EXTENSIONS--
pcntl
--INI--
hone.cache_cli=1
hone.cache_size=4M
--FILE--
<?php
use Hone\Cache;

Cache::store('before', ['of' => 'parent']);
$fetched = Cache::fetch('before');
$pids = [];
for ($i = 0; $i < 4; $i++) {
    $pid = pcntl_fork();
    if ($pid === 0) {
        // A busy machine stops who has a lock: a write is refused, and made again.
        for ($j = 0; $j < 2000; $j++) {
            while (Cache::inc('total') === false);
            $value = ['i' => $i, 'j' => $j, 'text' => str_repeat("$i.$j", 20)];
            while (!Cache::store("child$i", $value));
            $other = Cache::fetch('child' . ($i + 1) % 4);
            if (is_array($other) && $other['text'] !== str_repeat("{$other['i']}.{$other['j']}", 20)) {
                Cache::inc('wrong');
            }
        }
        $result = $fetched === ['of' => 'parent'] && Cache::fetch('before') === $fetched;
        while (!Cache::store("result$i", $result));
        exit(0);
    }
    $pids[] = $pid;
}
foreach ($pids as $pid) {
    pcntl_waitpid($pid, $status);
    var_dump(pcntl_wexitstatus($status));
}
echo json_encode([Cache::fetch('total'), Cache::fetch('wrong'), Cache::fetch_multi(['result0', 'result1', 'result2', 'result3']), Cache::fetch('child3')['j']]), "\n";
echo json_encode([Cache::info()['slots_used'], $fetched]), "\n";

// Values that were fetched before a fork stay valid in the child after the end of the parent.
Cache::clear();
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
int(0)
int(0)
int(0)
int(0)
[8000,null,{"result0":true,"result1":true,"result2":true,"result3":true},1999]
[1,{"of":"parent"}]
kept works
string(5) "child"
