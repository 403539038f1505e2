--TEST--
Hone\cpu(): features, caches and the variant of each part
--EXTENSIONS--
hone
--FILE--
<?php
$cpu = Hone\cpu();
var_dump(array_keys($cpu));

var_dump(array_is_list($cpu['features']));
foreach ($cpu['features'] as $name) {
    if (!preg_match('/^[a-z][a-z0-9]+$/', $name)) {
        var_dump($name);
    }
}

var_dump(array_keys($cpu['cache_bytes']));
foreach ($cpu['cache_bytes'] as $bytes) {
    if (!is_int($bytes) || $bytes < 0) {
        var_dump($bytes);
    }
}

foreach (['copy', 'zero'] as $part) {
    echo $part, ': ', strlen($cpu['variants'][$part]) > 0 ? 'a name' : 'none', "\n";
}

// The next call returns a new array.
$cpu['features'][] = 'changed';
var_dump(in_array('changed', Hone\cpu()['features'], true));
try {
    Hone\cpu(1);
} catch (ArgumentCountError $error) {
    echo $error->getMessage(), "\n";
}
?>
--EXPECT--
array(3) {
  [0]=>
  string(8) "features"
  [1]=>
  string(11) "cache_bytes"
  [2]=>
  string(8) "variants"
}
bool(true)
array(3) {
  [0]=>
  int(1)
  [1]=>
  int(2)
  [2]=>
  int(3)
}
copy: a name
zero: a name
bool(false)
Hone\cpu() expects exactly 0 arguments, 1 given
