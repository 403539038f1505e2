--TEST--
Hone\Cache, apcu_*: a process that is stopped while it stores does not stop others
--EXTENSIONS--
pcntl
posix
--INI--
hone.cache_cli=1
hone.cache_size=4M
apc.enable_cli=1
; A stopped process may have a lock of opcache, too.
opcache.enable_cli=0
opcache.jit=disable
opcache.jit_buffer_size=0
log_errors=1
error_log=
--FILE--
<?php
use Hone\Cache;

const VALUE = 32000; // filled while the lock is kept

/** Stores for ever. */
function writer(): int
{
    $pid = pcntl_fork();
    if ($pid === 0) {
        pcntl_alarm(300);
        $value = str_repeat('x', VALUE);
        while (true) {
            apcu_store('writer', $value);
        }
    }
    return $pid;
}

/** Stops it until it has the lock, which is likely at each try. */
function stop(int $pid): bool
{
    for ($try = 0; $try < 500; $try++) {
        posix_kill($pid, SIGSTOP);
        pcntl_waitpid($pid, $status, WUNTRACED);
        if (!apcu_store('key', 'new')) {
            return true;
        }
        posix_kill($pid, SIGCONT);
        usleep(1000);
    }
    return false;
}

set_error_handler(fn($level, $text) => throw new ErrorException($text));
Cache::store('key', 'old', 0, ['tag']);
Cache::store('number', 1);

foreach (['goes on' => SIGCONT, 'is killed' => SIGKILL] as $name => $signal) {
    $pid = writer();
    echo stop($pid) ? "stopped\n" : "never in the lock\n";
    echo json_encode([
        Cache::store('a', 1), Cache::store('a', str_repeat('x', 100000)), Cache::store('a', 1, 0, ['tag']),
        Cache::add('b', 1), Cache::delete('key'), Cache::inc('number'), Cache::cas('number', 1, 2), Cache::clear(),
        Cache::invalidate_tag('tag'), Cache::delete_prefix('key'), apcu_store(['a' => 1, 'b' => 2]), apcu_add('a', 1),
        apcu_delete('key'), apcu_inc('number'),
    ]), "\n";
    echo json_encode([
        apcu_entry('computed', fn() => 'computed'), Cache::remember('too', 10, fn() => 'too'),
        Cache::fetch('number'), is_string(apcu_fetch('key')), Cache::info()['enabled'], apcu_exists('a'),
    ]), "\n";
    posix_kill($pid, $signal);
    if ($signal === SIGCONT) {
        for ($try = 0; $try < 1000 && !($stored = apcu_store('key', 'newer')); $try++) {
            usleep(1000);
        }
        echo 'a store succeeds: ', json_encode($stored), "\n";
        posix_kill($pid, SIGKILL);
    }
    pcntl_waitpid($pid, $status);
    echo 'then: ', json_encode([apcu_store('key', 'newest'), apcu_fetch('key'), Cache::inc('number', 0)]), "\n";
}
?>
--EXPECT--
PHP Warning:  The shared cache "default": a write fails, because a process has kept a lock of the cache for 0.1 s; is a process stopped, by a signal, a debugger or a paused container?; the log has at most one such line a minute
stopped
[false,false,false,false,false,false,false,false,false,0,{"a":-1,"b":-1},false,false,false]
["computed","too",1,true,true,false]
a store succeeds: true
then: [true,"newest",1]
stopped
[false,false,false,false,false,false,false,false,false,0,{"a":-1,"b":-1},false,false,false]
["computed","too",1,true,true,false]
then: [true,"newest",1]
