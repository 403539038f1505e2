--TEST--
phpinfo() has a section on hone, with a row for each function and reason
--FILE--
<?php
ob_start();
(new ReflectionExtension('hone'))->info();
$info = ob_get_clean();
echo $info;
foreach (['functions' => '/^PHP_HONE_FUNCTION\(\w+, (\w+)/m', 'reasons' => '/^PHP_HONE_REASON\(\w+, "(.*)"\)$/m'] as $name => $row) {
    preg_match_all($row, file_get_contents(__DIR__ . "/../fileread/$name.def"), $rows);
    $table = implode(array_map(fn($first) => "$first => 0\n", $rows[1]));
    echo $name, ': ', count($rows[1]) > 0 && str_contains($info, "=> Calls\n$table\n") ? 'the same' : $table, "\n";
}
?>
--EXPECTREGEX--
hone

Hone => enabled
Version => \d+\.\d+\.\d+
libhone => \d+\.\d+\.\d+
libhone, headers compiled with => \d+\.\d+\.\d+

Part of libhone => CPU variant
(?:[a-z]+ => [a-z0-9]+
)*zero => [a-z0-9]+
[\s\S]*File reads on the fast path => Calls
file_get_contents => 0
[\s\S]*File reads left to PHP => Calls
(?:[a-z_., ()]+ => 0
)+[\s\S]*hone\.cpu_limit => no value => no value[\s\S]*
functions: the same
reasons: the same
