--TEST--
apcu_*: a value that is not stored gives no warning, and the log has one line a minute
--SKIPIF--
<?php require __DIR__ . '/apcu_served.inc'; ?>
--INI--
hone.cache_cli=1
hone.cache_size=2M
log_errors=1
error_log=
--FILE--
<?php
set_error_handler(fn($level, $text) => throw new ErrorException($text));

$circle = [1];
$circle[] = &$circle;
$large = str_repeat('x', 3 << 20);
$key = str_repeat('k', 65536);
apcu_store('number', 1);

echo json_encode([
    apcu_store('large', $large), apcu_add('large', $large), apcu_store(['large' => $large, 'small' => 1]),
    apcu_store($key, 1), apcu_store('circle', $circle), apcu_store('resource', [STDOUT]), apcu_store('objects', [new stdClass, $large]),
    apcu_inc($key), strlen(apcu_entry('large', fn() => $large)), apcu_fetch('small'), apcu_inc('number'),
]), "\n";

try {
    Hone\Cache::store('large', $large);
} catch (ErrorException $e) {
    echo $e->getMessage(), "\n";
}
?>
--EXPECTF--
PHP Notice:  The shared cache "default": 'large' needs 3.1 MiB; a value of this cache may have 1.8 MiB: raise hone.cache_size, now 2M, to 4M; the log has at most one such line a minute
[false,false,{"large":-1},false,false,false,false,false,3145728,1,2]
Hone\Cache::store(): 'large' needs 3.1 MiB; a value of this cache may have 1.8 MiB: raise hone.cache_size, now 2M, to 4M
