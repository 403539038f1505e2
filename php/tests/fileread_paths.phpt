--TEST--
Paths that fail, appear, disappear and change their kind: the same with hone.file_reads off and on
--FILE--
<?php
require __DIR__ . '/differential/calls.inc';

// Changes by another process, which PHP does not see.
function sh($command)
{
    $process = proc_open(['sh', '-c', $command], [], $pipes, getcwd());
    if (proc_close($process) !== 0) {
        echo "$command: failed\n";
    }
}

// Every way to read a path, twice: the second time the path is known.
function read($step, $path, &$seen)
{
    foreach ([1, 2] as $time) {
        foreach (['file_get_contents', 'readfile', 'file', 'copy'] as $function) {
            // A new string without a hash; a relative path; one through a folder.
            foreach ([implode('/', explode('/', $path)), basename($path), '../' . basename(getcwd()) . '/' . basename($path)] as $i => $name) {
                $args = $function === 'copy' ? [$name, getcwd() . '/target'] : [$name];
                $seen["$step $time $function $i"] = outcome([$function, null, 0, $args], getcwd());
            }
        }
    }
    // A literal has its hash from the start.
    $seen["$step literal"] = eval('return [@file_get_contents(' . var_export($path, true) . '), @filesize(' . var_export($path, true) . ')];');
}

$steps = [
    'never there' => [fn() => 0],
    'written by PHP' => [fn() => file_put_contents('x', "one\n")],
    'removed by another' => [fn() => sh('rm x')],
    'back again' => [fn() => sh('echo two >x')],
    'removed by PHP' => [fn() => unlink('x')],
    'written by another' => [fn() => sh('echo three >x')],
    'a link' => [fn() => sh('mv x a; echo four >b; ln -s a x')],
    'a link elsewhere' => [fn() => sh('ln -sf b x')],
    'a link to nowhere' => [fn() => sh('ln -sf nowhere x')],
    'a link that PHP has not resolved' => [fn() => [clearstatcache(true), sh('ln -sf b x')]],
    'a link to a folder' => [fn() => [clearstatcache(true), sh('mkdir d; ln -sfn d x')]],
    'a folder' => [fn() => [clearstatcache(true), sh('rm x; mkdir x')]],
    'a file in its place' => [fn() => sh('rmdir x; echo five >x')],
    'a file that PHP has resolved' => [fn() => clearstatcache(true)],
    'a folder in its place' => [fn() => sh('rm x; mkdir x')],
    'an empty file' => [fn() => [clearstatcache(true), sh('rmdir x; : >x')]],
    'no more empty' => [fn() => sh('echo six >x')],
    'a FIFO' => [fn() => [sh('rm x; mkfifo x'), $GLOBALS['writer'] = popen('(printf %100s y; sleep 0.2; printf %9000s z) >x', 'r')], 'once'],
    'a small file' => [fn() => sh('rm x; echo seven >x')],
    'a long file' => [fn() => sh('head -c 100000 /dev/zero >x')],
    'empty again' => [fn() => sh(': >x')],
    'small again' => [fn() => sh('echo eight >x')],
    'a device' => [fn() => sh('rm x; ln -s /dev/null x')],
    'a device that PHP has resolved' => [fn() => clearstatcache(true)],
    'of size 0' => [fn() => [sh('ln -sf /proc/self/limits x'), clearstatcache(true)]],
    'of size 0 with more than a chunk' => [fn() => [sh('ln -sf /proc/crypto x'), clearstatcache(true)]],
    'of the size of a page' => [fn() => [sh('ln -sf /sys/kernel/mm/transparent_hugepage/enabled x'), clearstatcache(true)]],
];
foreach ([0, 1] as $on) {
    ini_set('hone.file_reads', $on);
    $folder = __DIR__ . "/fileread_paths.tmp.$on";
    @mkdir($folder);
    chdir($folder);
    $all[$on] = [];
    foreach ($steps as $step => $what) {
        $what[0]();
        if (isset($what[1])) {
            $all[$on][$step] = outcome(['file_get_contents', null, 0, ["$folder/x"]], $folder);
        } else {
            read($step, "$folder/x", $all[$on]);
        }
    }
    // So many paths share chains of PHP's cache and places of our table.
    $end = getenv('USE_ZEND_ALLOC') === '0' ? 1050 : 2500; // valgrind is slow
    foreach ([0, 1, 2] as $time) {
        for ($i = 1000; $i < $end; $i++) {
            $time > 0 || file_put_contents("n$i", $i);
            $all[$on]["number $time"][] = (int)file_get_contents("$folder/n$i") - $i;
        }
    }
    // The same relative name in two folders; one folder does not have it.
    mkdir('left');
    mkdir('right');
    file_put_contents('right/y', 'right');
    for ($i = 0; $i < 4; $i++) {
        foreach (['left', 'right'] as $side) {
            chdir("$folder/$side");
            $all[$on]["$side $i"] = outcome(['file_get_contents', null, 0, ['y']], $folder);
        }
    }
    array_walk_recursive($all[$on], function (&$seen) use ($on) {
        $seen = is_string($seen) ? str_replace("fileread_paths.tmp.$on", 'fileread_paths.tmp', $seen) : $seen;
    });
}
$differ = 0;
foreach ($all[0] as $step => $off) {
    if ($off !== $all[1][$step] && ++$differ < 6) {
        echo json_encode([$step, $off, $all[1][$step]], JSON_INVALID_UTF8_SUBSTITUTE | JSON_PRESERVE_ZERO_FRACTION), "\n";
    }
}
echo json_encode([count($all[0]) > 300, $differ]), "\n";
?>
--CLEAN--
<?php
require __DIR__ . '/differential/calls.inc';
foreach ([0, 1] as $on) {
    remove_files(__DIR__ . "/fileread_paths.tmp.$on");
}
?>
--EXPECT--
[true,0]
