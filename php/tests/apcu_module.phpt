--TEST--
The extension apcu: programs that ask for its name get the answers of APCu
--SKIPIF--
<?php require __DIR__ . '/apcu_served.inc'; ?>
--INI--
apc.enable_cli=1
--FILE--
<?php
foreach (require __DIR__ . '/apcu_module.inc' as [$program, $question]) {
    echo "$program: ", json_encode(eval("return $question;")), "\n";
}
echo "\n";
$module = new ReflectionExtension('apcu');
$functions = array_keys($module->getFunctions());
sort($functions);
echo implode(' ', $functions), "\n";
var_dump(get_extension_funcs('apcu') == array_keys($module->getFunctions()), $module->getClassNames(), $module->getDependencies(), $module->isPersistent());
echo implode(' ', array_keys(get_defined_constants(true)['apcu'])), "\n";
echo json_encode($module->getINIEntries()), "\n";
echo json_encode(array_unique(array_map(fn($name) => (new ReflectionFunction($name))->getExtensionName(), $functions))), (new ReflectionClass('APCUIterator'))->getExtensionName(), "\n";
// What belongs to hone is without them.
$hone = new ReflectionExtension('hone');
echo json_encode(preg_grep('/^apc/i', [...array_keys($hone->getFunctions()), ...$hone->getClassNames(), ...array_keys($hone->getINIEntries())])), isset(get_defined_constants(true)['hone']) ? ' and constants' : '', "\n";
$module->info();
?>
--EXPECTF--
CakePHP: true
Yii 2: true
Prometheus client of PromPHP: true
phpfastcache: true
WordPress drop-in object-cache-apcu: true
rate-limit: true
Moodle: true
Nextcloud: true
ownCloud: true
Cache of Laminas: true
Diagnostics of Laminas: true
Composer, `ext-apcu`: "5.1.22"
Symfony, Composer's class loader: true
MediaWiki, Laravel: true
`apc.php`: 14

apcu_add apcu_cache_info apcu_cas apcu_clear_cache apcu_dec apcu_delete apcu_enabled apcu_entry apcu_exists apcu_fetch apcu_inc apcu_key_info apcu_sma_info apcu_store
bool(true)
array(1) {
  [0]=>
  string(12) "APCUIterator"
}
array(0) {
}
bool(true)
APC_LIST_ACTIVE APC_LIST_DELETED APC_ITER_TYPE APC_ITER_KEY APC_ITER_VALUE APC_ITER_NUM_HITS APC_ITER_MTIME APC_ITER_CTIME APC_ITER_DTIME APC_ITER_ATIME APC_ITER_REFCOUNT APC_ITER_MEM_SIZE APC_ITER_TTL APC_ITER_NONE APC_ITER_ALL
{"apc.coredump_unmap":"0","apc.enable_cli":"1","apc.enabled":"1","apc.entries_hint":"4096","apc.gc_ttl":"3600","apc.mmap_file_mask":null,"apc.preload_path":null,"apc.serializer":"php","apc.shm_segments":"1","apc.shm_size":"32M","apc.slam_defense":"0","apc.smart":"0","apc.ttl":"0","apc.use_request_time":"0"}
["apcu"]apcu
[]

apcu

APCu Support => Enabled
Version => 5.1.22
Served by => Hone %d.%d.%d, not by APCu itself

Directive => Local Value => Master Value
apc.coredump_unmap => 0 => 0
apc.enable_cli => On => On
apc.enabled => On => On
%a
