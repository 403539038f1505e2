--TEST--
hone.cpu_limit: the results are the same with each set of features
--EXTENSIONS--
hone
--SKIPIF--
<?php
if (!function_exists('exec')) die('skip no exec() to start PHP once more');
if (Hone\cpu()['features'] === []) die('skip libhone uses no feature of this CPU');
?>
--FILE--
<?php
$code = <<<'PHP'
$zeros = str_repeat("\0", 5000);
$right = Hone\buffer_is_zero($zeros);
for ($at = 0; $at < 5000; $at += 7) {
    $data = $zeros;
    $data[$at] = 'x';
    $right = $right && !Hone\buffer_is_zero($data);
}
echo json_encode([Hone\cpu()['features'], $right]);
PHP;

$all = Hone\cpu()['features'];
for ($n = 1; $n <= count($all); $n++) {
    $some = array_slice($all, 0, $n);
    $command = getenv('TEST_PHP_EXECUTABLE') . ' ' . getenv('TEST_PHP_EXTRA_ARGS')
        . ' -d ' . escapeshellarg('hone.cpu_limit="' . implode(', ', $some) . '"')
        . ' -r ' . escapeshellarg($code);
    $output = [];
    exec($command, $output);
    if ($output !== [json_encode([$some, true])]) {
        var_dump($some, $output);
    }
}
echo "done\n";
?>
--EXPECT--
done
