<?php
// SPDX-License-Identifier: BSD-3-Clause
// The subject php of stream_bench. A line of input is
//     KIND SIZE PIECE TURNS WITH_DIGEST LIST
// The answer is: nanoseconds, involuntary context switches, bytes, digest.

function digest($data) {
    return crc32(substr($data, -(16 << 20)));
}

function whole($paths, $size, $piece, $turns, $check, &$digest) {
    $bytes = 0;
    for (; $turns > 0; $turns--)
        foreach ($paths as $path) {
            $data = file_get_contents($path);
            $bytes += strlen($data);
            if ($check)
                $digest += digest($data);
            unset($data); // before the next one
        }
    return $bytes;
}

function pieces($paths, $size, $piece, $turns, $check, &$digest) {
    $file = fopen($paths[0], 'rb');
    $bytes = 0;
    for (; $turns > 0; $turns--) {
        rewind($file);
        for ($left = $size; $left >= $piece; $left -= $piece) {
            $data = fread($file, $piece);
            $bytes += strlen($data);
            if ($check)
                $digest += digest($data);
        }
        unset($data);
    }
    fclose($file);
    return $bytes;
}

function lines($paths, $size, $piece, $turns, $check, &$digest) {
    $file = fopen($paths[0], 'rb');
    $bytes = 0;
    for (; $turns > 0; $turns--) {
        rewind($file);
        while (($line = fgets($file)) !== false) {
            $bytes += strlen($line);
            if ($check)
                $digest += digest($line);
        }
    }
    fclose($file);
    return $bytes;
}

function exchange($to, $from, $message, $turns, $check, &$digest) {
    $size = strlen($message);
    $bytes = 0;
    for (; $turns > 0; $turns--) {
        fwrite($to, $message);
        for ($left = $size; $left > 0; $left -= strlen($data)) {
            $data = fread($from, $left);
            if ($data === false || $data === '')
                exit(1);
            $bytes += strlen($data);
        }
        if ($check)
            $digest += digest($data);
    }
    return $bytes;
}

function ready($list, $size, $piece, $turns, $check, &$digest) {
    $message = file_get_contents($list);
    [$to, $from] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    return exchange($to, $from, $message, $turns, $check, $digest);
}

function ping($list, $size, $piece, $turns, $check, &$digest) {
    $message = file_get_contents($list);
    $socket = stream_socket_client("unix://$list.echo");
    return exchange($socket, $socket, $message, $turns, $check, $digest);
}

function switches() {
    return getrusage()['ru_nivcsw'];
}

// The list is read before the timing.
$known = [];
echo "ready\n";
while (($command = fgets(STDIN)) !== false) {
    [$kind, $size, $piece, $turns, $check, $list] =
        explode(' ', rtrim($command, "\n"));
    if ($kind === 'ping' || $kind === 'ready')
        $known[$list] = $list;
    $known[$list] ??= explode("\n", rtrim(file_get_contents($list)));
    $digest = 0;
    $switches = switches();
    $began = hrtime(true);
    $bytes = $kind($known[$list], (int)$size, (int)$piece, (int)$turns,
        (bool)$check, $digest);
    $ns = hrtime(true) - $began;
    printf("%d %d %d %d\n", $ns, switches() - $switches, $bytes, $digest);
}
