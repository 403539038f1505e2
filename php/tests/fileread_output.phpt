--TEST--
readfile(), fpassthru(): output in PHP's pieces, and the end of file where PHP sees it
--INI--
pcre.jit=0
--FILE--
<?php
$name = __DIR__ . '/fileread_output.tmp';

// Position, size of the file; calls of a callback, and the stream afterwards.
function outcome($function, $stream, $name)
{
    $pieces = [];
    $text = hash_init('md5');
    ob_start(function ($data) use (&$pieces, $text, $name) {
        $pieces[] = strlen($data);
        hash_update($text, $data);
        // The state that a callback could see.
        $pieces[] = count(get_resources('stream'));
        $pieces[] = count(array_filter(glob('/proc/self/fd/*'), fn($fd) => @readlink($fd) === $name));
        return '';
    }, 1);
    $result = $function($stream ?? $name);
    ob_end_clean();
    $seen = [$result, hash_final($text), md5(serialize($pieces)), array_slice($pieces, 0, 3)];
    if ($stream) {
        array_push($seen, ftell($stream), feof($stream), stream_get_meta_data($stream)['unread_bytes'], fread($stream, 10), feof($stream));
    }
    return $seen;
}

function compare($what, $function, $open, $name)
{
    $seen = [];
    foreach ([0, 1] as $on) {
        ini_set('hone.file_reads', $on);
        $stream = $open ? $open() : null;
        $seen[] = outcome($function, $stream, $name);
        $stream && fclose($stream);
    }
    if ($seen[0] !== $seen[1]) {
        echo "$what, $function:\n", json_encode($seen, JSON_INVALID_UTF8_SUBSTITUTE | JSON_PRESERVE_ZERO_FRACTION), "\n";
    }
}

$few = getenv('USE_ZEND_ALLOC') === '0'; // valgrind is slow
$page = 8192; // or a part of one
$most = 4 << 20;
foreach ([[0, [0, 1, 12, 8191, 8192, 8193, 100000, $most, $most + 1, $most + $page]], [$page, [$page, $page + 12, 100000, $most + 1, $most + $page]],
    [$most, [$most + 12, $most + $page]], [$most - $page, [$most - 1, $most, $most + 1]]] as [$position, $sizes]) {
    foreach ($sizes as $size) {
        if ($size > 100000 && $few) {
            continue;
        }
        file_put_contents($name, str_repeat("some text\n", intdiv($size, 10) + 1));
        ftruncate($file = fopen($name, 'r+'), $size);
        fclose($file);
        if ($position === 0) {
            compare("$size", 'readfile', null, $name);
        }
        foreach (['none', 'filter of reads', 'filter of writes', 'buffered'] as $how) {
            compare("from $position of $size, $how", 'fpassthru', function () use ($name, $position, $how) {
                $stream = fopen($name, 'r+');
                fseek($stream, $position);
                match ($how) {
                    'filter of reads' => stream_filter_append($stream, 'string.rot13', STREAM_FILTER_READ),
                    'filter of writes' => stream_filter_append($stream, 'string.rot13', STREAM_FILTER_WRITE),
                    'buffered' => fgets($stream) . fseek($stream, $position),
                    default => null,
                };
                return $stream;
            }, $name);
        }
    }
}

// Files that have a size and cannot be mapped.
foreach (['/sys/kernel/notes', '/sys/kernel/uevent_seqnum', '/proc/self/limits'] as $odd) {
    if (is_readable($odd)) {
        compare($odd, 'readfile', null, $odd);
        compare($odd, 'fpassthru', fn() => fopen($odd, 'r'), $odd);
    }
}

// Without a callback: the output, in order.
foreach ([0, 12, 8191, 8192, 100000, $most, $most + 1] as $size) {
    file_put_contents($name, str_repeat('x', $size));
    foreach ([0, 1] as $on) {
        ini_set('hone.file_reads', $on);
        ob_start();
        echo 'before ';
        $results = [readfile($name)];
        echo ' between ';
        $stream = fopen($name, 'r');
        array_push($results, fpassthru($stream), feof($stream), ftell($stream));
        fclose($stream);
        echo ' after';
        $seen[$on] = [md5(ob_get_clean()), $results];
    }
    if ($seen[0] !== $seen[1]) {
        echo "$size:\n", json_encode($seen, JSON_INVALID_UTF8_SUBSTITUTE | JSON_PRESERVE_ZERO_FRACTION), "\n";
    }
}

// All of it on the fast path, if PHP would have mapped it.
ob_start();
(new ReflectionExtension('hone'))->info();
preg_match_all('/^(readfile|fpassthru) => (\d+)$/m', ob_get_clean(), $counts);
var_dump($counts[2] === ($few ? ['6', '15'] : ['6', '17']));

// Fpassthru(): a callback of the output may close the stream.
ini_set('hone.file_reads', 1);
// Without the extension PHP uses the closed stream, and crashes.
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
    echo json_encode([$done, is_resource($file)]), "\n";
}
?>
--CLEAN--
<?php
@unlink(__DIR__ . '/fileread_output.tmp');
?>
--EXPECT--
bool(true)
[5,false]
[5000,false]
