--TEST--
Hone\Cache::save() and load(): values, lifetimes, tags, and files that are refused
--INI--
hone.cache_cli=1
--FILE--
<?php
use Hone\Cache;
require __DIR__ . '/cache_snapshot.inc';

$values = ['null' => null, 'bool' => true, 'int' => -5, 'float' => 2.5, 'string' => 'text', 'empty' => [], 'list' => range(1, 5000),
    'nested' => ['a' => ['b' => [1, 2, ['c' => 'd']], 'e' => 'f'], 7 => [], 'g' => null], 'object' => unserialize('O:8:"stdClass":2:{s:1:"a";i:1;s:1:"b";R:2;}'),
    'long' => str_repeat('x', 300000), '' => 'empty key', "a\0b" => 'zero'];
$begin = time();
foreach ($values as $key => $value) {
    Cache::store($key, $value, 100, ['all', "tag of $key"]);
}
Cache::store('always', 1);
for ($i = 0; $i < 64; $i++) {
    Cache::fetch('always');
}
$hits = iterator_to_array(Cache::entries('always'))['always']['hits'];
echo json_encode([Cache::save($file), $hits > 0, decoct(fileperms($file))]), "\n";

echo "-- all of it returns\n";
Cache::clear();
var_dump(Cache::load($file));
foreach ($values as $key => $value) {
    if (serialize(Cache::fetch($key)) !== serialize($value)) {
        echo "another value: ", var_export($key), "\n";
    }
}
echo json_encode([iterator_to_array(Cache::entries('always'))['always']['hits'] >= $hits, Cache::inc('always')]), "\n";
$entry = iterator_to_array(Cache::entries('int'))['int'];
echo json_encode([$entry['tags'], $entry['expires'] >= $begin + 98, $entry['expires'] - time() <= 100]), "\n";
Cache::invalidate_tag('tag of int');
echo json_encode([Cache::exists('int'), Cache::exists('float')]), "\n";
Cache::invalidate_tag('all');
echo json_encode([Cache::exists('float'), Cache::fetch('always')]), "\n";

echo "-- what exists stays\n";
Cache::clear();
Cache::store('int', 'newer');
echo json_encode([Cache::load($file), Cache::fetch('int'), Cache::fetch('float')]), "\n";

echo "-- time passes, and clocks are set back\n";
$bytes = file_get_contents($file);
foreach ([50, 90, 101, -1000] as $seconds) {
    Cache::clear();
    write(substr_replace($bytes, pack('q', time() - $seconds), 32, 8));
    $n = Cache::load($file);
    $left = $n > 1 ? iterator_to_array(Cache::entries('int'))['int']['expires'] - time() : 0;
    echo "$seconds: $n, ", $left <= max(0, 100 - max(0, $seconds)) ? 'good' : "too long: $left", "\n";
}

echo "-- refused\n";
/** The message of the last call, without the folder. */
function message(): string
{
    $error = error_get_last()['message'] ?? 'no error';
    error_clear_last();
    return str_replace([dirname($GLOBALS['file']), str_repeat('n', 246)], ['DIR', 'n...'], $error);
}

function refused(string $path): void
{
    Cache::clear();
    echo @Cache::load($path), ' ', Cache::info()['entries'], ' ', message(), "\n";
}
file_put_contents($file, $bytes);
refused("$file.missing");
refused(dirname($file));
symlink($file, "$file.link");
refused("$file.link");
foreach ([0620, 0602, 0666] as $mode) {
    chmod($file, $mode);
    refused($file);
}
chmod($file, 0600);
refused('/dev/zero');
shell_exec('mkfifo -m 600 ' . escapeshellarg("$file.fifo"));
refused("$file.fifo");
write('', false);
refused($file);
write('Hello', false);
refused($file);
write(str_repeat('Hello', 100), false);
refused($file);
write(substr($bytes, 0, 1000), false);
refused($file);
foreach ([8 => 'format', 12 => 'zero', 24 => 'entries', 40 => 'sum', 56 => 'length of the first key'] as $at => $what) {
    write(substr_replace($bytes, pack('V', $at === 56 ? 70000 : 9), $at, 4), $at !== 40);
    refused($file);
}
$fp = fopen($file, 'w');
ftruncate($fp, 129 << 20);
refused($file);

echo "-- written beside and renamed\n";
symlink("$file.absent", "$file.planted");
foreach (["$file.planted", "$file.fifo", '/dev/null', dirname($file), dirname($file) . '/', dirname($file) . '/absent/x', '/proc/self/x', dirname($file) . '/' . str_repeat('n', 246)] as $path) {
    echo json_encode(@Cache::save($path)), ' ', message(), "\n";
}
echo json_encode([is_link("$file.planted"), file_exists("$file.absent")]), "\n";
echo json_encode(@Cache::save()), ' ', message(), "\n";
chdir(dirname($file));
echo json_encode([Cache::store('k', 1), Cache::save('relative'), Cache::clear(), Cache::load('./relative')]), "\n";
$longest = str_repeat('n', 245);
echo json_encode([Cache::save($longest), unlink($longest)]), "\n";
mkdir('gone');
chdir('gone');
rmdir(dirname($file) . '/gone');
echo json_encode([@Cache::save('relative'), @Cache::load('relative')]), "\n";
chdir(dirname($file));
// A link in the path changes all the time: each save has one folder.
mkdir('one');
mkdir('two');
symlink('one', 'link');
$php = getenv('TEST_PHP_EXECUTABLE') . ' ' . getenv('TEST_PHP_EXTRA_ARGS');
$child = proc_open("exec $php -d hone.cache_cli=1 -r " . escapeshellarg('
    Hone\Cache::store("k", str_repeat("x", 1 << 20));
    for ($saves = $i = 0; $i < 20; $i++) {
        $saves += @Hone\Cache::save("link/file");
    }
    echo $saves, " saves\n";'), [1 => ['pipe', 'w']], $pipes, dirname($file));
for ($i = 0; proc_get_status($child)['running']; $i++) {
    symlink($i % 2 ? 'one' : 'two', 'new');
    rename('new', 'link');
    usleep(200);
}
echo stream_get_contents($pipes[1]), json_encode(glob('{one,two}/.[!.]*', GLOB_BRACE)), "\n";
array_map('unlink', ['link', ...glob('{one,two}/{,.[!.]}*', GLOB_BRACE)]);
array_map('rmdir', ['one', 'two']);
ini_set('open_basedir', dirname($file));
echo json_encode([@Cache::save('/tmp/hone-outside'), @Cache::load('/dev/zero'), Cache::save($file), Cache::load($file)]), "\n";
foreach (["a\0b", ''] as $path) {
    try {
        Cache::load($path);
    } catch (ValueError $e) {
        echo $e->getMessage(), "\n";
    }
}
print_r(array_values(array_diff(scandir(dirname($file)), ['.', '..'])));
?>
--CLEAN--
<?php
require __DIR__ . '/cache_snapshot.inc';
clean();
?>
--EXPECTF--
[true,true,"100600"]
-- all of it returns
int(13)
[true,2]
[2,true,true]
[false,true]
[false,2]
-- what exists stays
[12,"newer",2.5]
-- time passes, and clocks are set back
50: 13, good
90: 13, good
101: 1, good
-1000: 13, good
-- refused
0 0 Hone\Cache::load(): DIR/snapshot.missing: No such file or directory
0 0 Hone\Cache::load(): DIR: it is not a regular file
0 0 Hone\Cache::load(): DIR/snapshot.link: it is a symbolic link
0 0 Hone\Cache::load(): DIR/snapshot: its mode is 620: others may write to the file
0 0 Hone\Cache::load(): DIR/snapshot: its mode is 602: others may write to the file
0 0 Hone\Cache::load(): DIR/snapshot: its mode is 666: others may write to the file
0 0 Hone\Cache::load(): /dev/zero: it is not a regular file
0 0 Hone\Cache::load(): DIR/snapshot.fifo: it is not a regular file
0 0 Hone\Cache::load(): DIR/snapshot: size is 0 bytes, less than a head
0 0 Hone\Cache::load(): DIR/snapshot: size is 5 bytes, less than a head
0 0 Hone\Cache::load(): DIR/snapshot: magic is 48656c6c..., this is not a snapshot
0 0 Hone\Cache::load(): DIR/snapshot: size is 1000, not %d
0 0 Hone\Cache::load(): DIR/snapshot: format is 9, not 2
0 0 Hone\Cache::load(): DIR/snapshot: zero is 9, not 0
0 0 Hone\Cache::load(): DIR/snapshot: count of entries is 9, not 13
0 0 Hone\Cache::load(): DIR/snapshot: checksum of the head is %d, not %d
0 0 Hone\Cache::load(): DIR/snapshot: entry 0: key length is 70000
0 0 Hone\Cache::load(): DIR/snapshot: size is 135266304 bytes, more than four times the size of the cache
-- written beside and renamed
false Hone\Cache::save(): DIR/snapshot.planted: this path exists and is not a regular file
false Hone\Cache::save(): DIR/snapshot.fifo: this path exists and is not a regular file
false Hone\Cache::save(): /dev/null: this path exists and is not a regular file
false Hone\Cache::save(): DIR: this path exists and is not a regular file
false Hone\Cache::save(): DIR/: Invalid argument
false Hone\Cache::save(): DIR/absent/x: No such file or directory
false Hone\Cache::save(): /proc/self/x: No such file or directory
false Hone\Cache::save(): DIR/n...: File name too long
[true,false]
false Hone\Cache::save(): hone.cache_snapshot: it is not set
[true,true,true,1]
[true,true]
[false,0]
20 saves
[]
[false,0,true,0]
Hone\Cache::load(): Argument #1 ($path) must not contain any null bytes
Hone\Cache::load(): Argument #1 ($path) cannot be empty
Array
(
    [0] => relative
    [1] => snapshot
    [2] => snapshot.fifo
    [3] => snapshot.link
    [4] => snapshot.planted
)
