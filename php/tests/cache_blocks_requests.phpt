--TEST--
hone.cache_read=block: the next request uses the memory of copies again
--SKIPIF--
<?php if (!getenv('TEST_PHP_CGI_EXECUTABLE')) die('skip php-cgi is not installed'); ?>
--INI--
hone.cache_cli=1
hone.cache_read=block
--FILE--
<?php
// The next request uses the memory of this one again, also for values in the cold form.
// Values that many requests make are shared again.
$file = __DIR__ . '/cache_blocks_requests.tmp';
file_put_contents($file, '<?php
    use Hone\Cache;
    $value = fn(int $n) => array_map(fn($i) => ["id" => $i, "name" => md5("$n $i"), "on" => true], range(0, 800));
    if (!Cache::exists("requests")) {
        for ($fill = 0; Cache::info()["packed"] === 0; $fill++) { Cache::store("fill$fill", $value($fill)); }
        for ($n = 0; $n < 40; $n++) { Cache::store("key$n", $value($n)); }
        while ($fill-- > 0) { Cache::delete("fill$fill"); }
    }
    $request = Cache::inc("requests");
    $before = getrusage()["ru_minflt"];
    for ($n = 0; $n < 40; $n++) { $values[] = Cache::fetch("key$n"); }
    $faults = getrusage()["ru_minflt"] - $before;
    if ($values !== array_map($value, range(0, 39))) { echo "another value\n"; }
    $info = Cache::info();
    if ($request < 4) { echo $info["block_bytes_used"] > 8 << 20 ? "copies " : "no copies ", $info["cold_hits"] % 40, $faults < 40 ? " kept" : " new", "\n"; }
    if ($request === 20) { echo $info["warmed"] > 8 ? "warm\n" : "cold\n"; }');
echo shell_exec('env -i LD_LIBRARY_PATH=' . escapeshellarg((string)getenv('LD_LIBRARY_PATH')) . ' ' . getenv('TEST_PHP_CGI_EXECUTABLE') . ' ' . getenv('TEST_PHP_EXTRA_ARGS')
    . " -q -T 20 -d hone.cache_size=8M -d hone.cache_block_bytes=16M $file 2>/dev/null");
unlink($file);
?>
--EXPECT--
copies 0 new
copies 0 kept
copies 0 kept
warm
