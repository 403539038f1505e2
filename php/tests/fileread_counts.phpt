--TEST--
fread(): the fast path from four chunks on, and up to the end of the file
--EXTENSIONS--
hone
--INI--
hone.file_reads=1
memory_limit=-1
pcre.jit=0
--FILE--
<?php
$name = __DIR__ . '/fileread_counts.tmp';
file_put_contents($name, str_repeat('some text ', 10000));

function counts()
{
    ob_start();
    (new ReflectionExtension('hone'))->info();
    preg_match_all('/^(?:fread|too little to gain|too large for one read) => (\d+)$/m', ob_get_clean(), $counts);
    return $counts[1];
}

// Bytes that are read before, bytes that are requested, the length of a chunk.
foreach ([[0, 32767, 8192], [0, 32768, 8192], [0, 40960, 8192], [10, 32768, 8192], [10, 40959, 8192], [10, 40961, 8192], [0, 99999, 8192], [0, 200000, 8192],
    [0, 40000, 10000], [0, 50000, 10000], [0, 39999, 10000], [0, 50000, 60000], [0, 99999, 200000], [0, 200000, 200000], [0, 1 << 31, 8192]] as [$before, $n, $chunk]) {
    $stream = fopen($name, 'r');
    stream_set_chunk_size($stream, $chunk);
    if ($before > 0) {
        fgets($stream, $before + 1);
    }
    $counts = counts();
    $length = strlen(fread($stream, $n));
    echo "$before $n $chunk: $length, ", implode(' ', array_map(fn($after, $was) => $after - $was, counts(), $counts)), "\n";
    fclose($stream);
}
?>
--CLEAN--
<?php
@unlink(__DIR__ . '/fileread_counts.tmp');
?>
--EXPECT--
0 32767 8192: 32767, 0 1 0
0 32768 8192: 32768, 0 1 0
0 40960 8192: 40960, 1 0 0
10 32768 8192: 32768, 0 1 0
10 40959 8192: 40959, 1 0 0
10 40961 8192: 40961, 1 0 0
0 99999 8192: 99999, 1 0 0
0 200000 8192: 100000, 1 0 0
0 40000 10000: 40000, 0 1 0
0 50000 10000: 50000, 1 0 0
0 39999 10000: 39999, 0 1 0
0 50000 60000: 50000, 0 1 0
0 99999 200000: 99999, 0 1 0
0 200000 200000: 100000, 0 1 0
0 2147483648 8192: 100000, 0 0 1
