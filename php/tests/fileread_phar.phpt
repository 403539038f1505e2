--TEST--
hone.file_reads: Phar::interceptFileFuncs() still serves relative paths in an archive
--EXTENSIONS--
phar
--INI--
phar.readonly=0
phar.require_hash=0
--FILE--
<?php
$name = __DIR__ . '/fileread_phar.tmp.phar';
chdir(__DIR__);
file_put_contents(__DIR__ . '/fileread_phar.tmp', "outside\n");
$phar = new Phar($name);
$phar['fileread_phar.tmp'] = "inside\n";
$phar['main.php'] = '<?php
foreach ([0, 1] as $on) {
    ini_set("hone.file_reads", $on);
    for ($i = 0; $i < 2; $i++) {
        echo file_get_contents("fileread_phar.tmp");
        readfile("fileread_phar.tmp");
        echo file_get_contents(getcwd() . "/fileread_phar.tmp");
    }
}';
$phar->setStub('<?php Phar::interceptFileFuncs(); include "phar://" . __FILE__ . "/main.php"; __HALT_COMPILER();');
unset($phar);
include $name;
?>
--CLEAN--
<?php
@unlink(__DIR__ . '/fileread_phar.tmp.phar');
@unlink(__DIR__ . '/fileread_phar.tmp');
?>
--EXPECT--
inside
inside
outside
inside
inside
outside
inside
inside
outside
inside
inside
outside
