--TEST--
apcu_*: methods of stored objects throw, or change the arguments by reference
--SKIPIF--
<?php require __DIR__ . '/apcu_served.inc'; ?>
--INI--
apc.enable_cli=1
hone.cache_cli=1
--FILE--
<?php
class Thrower
{
    function __serialize(): array { throw new Exception('serialize'); }
}

$keys = ['before', 'throws', 'next', 'last'];
$stored = [];
foreach (['apcu_store', 'apcu_add'] as $function) {
    foreach ([1, 'text', [1, 2], new ArrayObject, fn() => 1, fopen('php://memory', 'r')] as $next) {
        apcu_clear_cache();
        try {
            $function(array_combine($keys, [1, [new Thrower], $next, 1]));
        } catch (Exception $error) {
            $stored[] = [$error->getMessage(), $error->getPrevious(), array_keys(apcu_exists($keys))];
        }
    }
}
echo count($stored), ' times ', json_encode(array_unique($stored, SORT_REGULAR)), "\n";
// Also if the handler of a warning throws.
set_error_handler(fn($number, $message) => throw new Exception($message));
try {
    apcu_store(['resource' => fopen('php://memory', 'r'), 'next' => 2]);
} catch (Exception $error) {
    echo $error->getMessage(), "\n";
}
var_dump(apcu_exists('next'));

// Apcu_fetch() uses the keys as they were passed, also if __wakeup() changes them by reference.
restore_error_handler();
apcu_clear_cache();
class Changes
{
    public function __wakeup() { $GLOBALS['key'] = 0x41414141; }
}

$key = str_repeat('k', 18);
apcu_store($key, new Changes);
var_dump(apcu_fetch([&$key]), $key);
?>
--EXPECTF--
12 times [["serialize",null,["before"]]]
apcu_store(): Cannot store resources in apcu cache
bool(false)
array(1) {
  ["kkkkkkkkkkkkkkkkkk"]=>
  object(Changes)#%d (0) {
  }
}
int(1094795585)
