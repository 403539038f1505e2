<?php
/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A connection to Redis without an extension, for wordpress-object-cache.php.
 * HONE_REDIS_AUTH is the password, or [user, password].
 */
declare(strict_types=1);

final class HoneRedis
{
    /** @var resource */
    private $stream;

    public function __construct(string $address, float $timeout = 1.0)
    {
        $stream = @stream_socket_client($address, $error, $message, $timeout);
        if ($stream === false) {
            throw new RuntimeException("Redis at $address: $message");
        }
        $this->stream = $stream;
        stream_set_timeout($stream, 0, (int)($timeout * 1e6));
        if (defined('HONE_REDIS_AUTH')) {
            $this->call(['AUTH', ...(array)HONE_REDIS_AUTH]);
        }
    }

    /** What Redis sends within so many seconds, or null. */
    public function wait(float $seconds): mixed
    {
        $read = [$this->stream];
        $none = null;
        // PHP's buffer may have it: stream_select() looks there, too.
        return stream_select($read, $none, $none, (int)$seconds, (int)(fmod($seconds, 1) * 1e6))
            ? $this->receive() : null;
    }

    /** Sends commands at once, and returns an answer for each. */
    public function call(array ...$commands): array
    {
        $text = '';
        foreach ($commands as $words) {
            $text .= '*' . count($words) . "\r\n";
            foreach ($words as $word) {
                $text .= '$' . strlen((string)$word) . "\r\n$word\r\n";
            }
        }
        for ($sent = 0; $sent < strlen($text); $sent += $n) {
            $n = @fwrite($this->stream, $sent ? substr($text, $sent) : $text);
            if (!$n) {
                throw new RuntimeException('Redis has closed the connection');
            }
        }
        return array_map(fn() => $this->receive(), $commands);
    }

    private function receive(): mixed
    {
        $line = fgets($this->stream);
        if ($line === false) {
            throw new RuntimeException('Redis has not answered');
        }
        $rest = substr($line, 1, -2);
        return match ($line[0]) {
            '+' => $rest,
            ':' => (int)$rest,
            '$' => $rest === '-1' ? null : substr($this->bytes((int)$rest + 2), 0, -2),
            '*' => $rest === '-1' ? null : array_map(fn() => $this->receive(),
                (int)$rest > 0 ? range(1, (int)$rest) : []),
            default => throw new RuntimeException("Redis: $rest"),
        };
    }

    private function bytes(int $size): string
    {
        $bytes = stream_get_contents($this->stream, $size);
        if ($bytes === false || strlen($bytes) !== $size) {
            throw new RuntimeException('Redis has sent half of an answer');
        }
        return $bytes;
    }
}
