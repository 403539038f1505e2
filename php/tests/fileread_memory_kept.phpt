--TEST--
hone.file_reads: memory of strings: huge pages if they are on, and no leak
--INI--
memory_limit=-1
hone.file_reads=1
--SKIPIF--
<?php
if (!is_readable('/proc/self/smaps')) die('skip no /proc/self/smaps');
if (!is_dir('/sys/kernel/mm/transparent_hugepage')) die('skip the kernel has no transparent huge pages');
if (getenv('USE_ZEND_ALLOC') === '0') die('skip another allocator');
if (getenv('USE_ZEND_ALLOC_HUGE_PAGES')) die('skip PHP itself requests huge pages');
?>
--FILE--
<?php
$name = __DIR__ . '/fileread_memory_kept.tmp';
file_put_contents($name, str_repeat('x', 10 << 20));

// Mappings for which huge pages were requested.
function advised()
{
    return preg_match_all('/^VmFlags:.* hg\b/m', file_get_contents('/proc/self/smaps', false, null, 0, 10 << 20));
}

foreach (['0', '1'] as $on) {
    ini_set('hone.file_reads_huge_pages', $on);
    foreach ([fn() => file_get_contents($name), fn() => stream_get_contents(fopen($name, 'r')), fn() => fread(fopen($name, 'r'), 10 << 20)] as $read) {
        $before = advised();
        $string = $read();
        echo advised() - $before, ' ';
        unset($string);
    }
    echo "\n";
}

// Such a string is like any other: the garbage collector ignores it.
gc_collect_cycles();
$roots = gc_status()['roots'];
$string = file_get_contents($name);
$other = $string;
unset($other);
var_dump(gc_status()['roots'] - $roots);
unset($string);

// A file of size 0 that has bytes, of which some are read first.
$used = [];
for ($i = 0; $i < 4; $i++) {
    $stream = fopen('/proc/self/smaps', 'r');
    fgets($stream);
    $long = strlen(stream_get_contents($stream)) > 8192;
    fclose($stream);
    $used[] = memory_get_usage();
}
echo json_encode([$long, $used[3] - $used[1]]), "\n";
?>
--CLEAN--
<?php
@unlink(__DIR__ . '/fileread_memory_kept.tmp');
?>
--EXPECT--
0 0 0 
1 1 1 
int(0)
[true,0]
