--TEST--
A signal interrupts the open of a FIFO, as in PHP
--EXTENSIONS--
pcntl
posix
--SKIPIF--
<?php
if (!is_readable('/proc/self/stat')) {
    die('skip /proc is not mounted, and has the state of a process');
}
?>
--FILE--
<?php
// The last argument: system calls are not restarted after this handler.
pcntl_async_signals(true);
pcntl_signal(SIGALRM, function () {
}, false);
$name = __DIR__ . '/fileread_signal.tmp';
posix_mkfifo($name, 0600);
set_error_handler(function ($level, $message) {
    echo strstr($message, '(', true), strrchr($message, ':'), "\n";
});

function sleeps($process) { return preg_match('/\) S /', file_get_contents("/proc/$process/stat")); }

// PHP's realpath cache has the name from here on.
fclose(fopen($name, 'r+'));
foreach ([0, 1] as $on) {
    ini_set('hone.file_reads', $on);
    foreach (['file_get_contents', 'file', 'readfile'] as $function) {
        if (($helper = pcntl_fork()) === 0) {
            // If the parent is gone, there is nothing to wait for.
            pcntl_signal(SIGALRM, SIG_DFL);
            pcntl_alarm(50);
            // If the parent has slept for some time, it waits in open().
            for ($asleep = $asked = 0; $asleep < 10 && $asked < 1000; $asked++) {
                $asleep = sleeps(posix_getppid()) ? $asleep + 1 : 0;
                usleep(5000);
            }
            if ($asleep < 10) {
                echo "not asleep after $asked looks\n";
            } else {
                posix_kill(posix_getppid(), SIGALRM);
            }
            // If the parent opened the FIFO again, only this ends its wait.
            sleep(2);
            fwrite(fopen($name, 'w'), "late\n");
            posix_kill(getmypid(), SIGKILL);
        }
        var_dump($function($name));
        posix_kill($helper, SIGKILL);
        pcntl_waitpid($helper, $status);
    }
}
?>
--CLEAN--
<?php
@unlink(__DIR__ . '/fileread_signal.tmp');
?>
--EXPECT--
file_get_contents: Interrupted system call
bool(false)
file: Interrupted system call
bool(false)
readfile: Interrupted system call
bool(false)
file_get_contents: Interrupted system call
bool(false)
file: Interrupted system call
bool(false)
readfile: Interrupted system call
bool(false)
