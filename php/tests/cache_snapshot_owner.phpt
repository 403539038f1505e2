--TEST--
Hone\Cache::load(): a file of another user is refused
--INI--
hone.cache_cli=1
--SKIPIF--
<?php
require __DIR__ . '/cache_snapshot.inc';
touch($file);
$root = @chown($file, 65534);
clean();
if (!$root) die('skip only root can give a file away');
?>
--FILE--
<?php
use Hone\Cache;
require __DIR__ . '/cache_snapshot.inc';
Cache::store('k', 'v');
Cache::save($file);
Cache::clear();
chown($file, 65534);
echo json_encode([@Cache::load($file), str_replace(dirname($file), 'DIR', error_get_last()['message'])]), "\n";
chown($file, 0);
var_dump(Cache::load($file));
?>
--CLEAN--
<?php
require __DIR__ . '/cache_snapshot.inc';
clean();
?>
--EXPECT--
[0,"Hone\\Cache::load(): DIR\/snapshot: its owner is 65534, not 0 or 0, the user of this process"]
int(1)
