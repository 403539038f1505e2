--TEST--
Hone\buffer_is_zero(): true for zeros and for an empty string, false for one other byte
--EXTENSIONS--
hone
--FILE--
<?php
var_dump(Hone\buffer_is_zero(''));
var_dump(Hone\buffer_is_zero("\0"));
var_dump(Hone\buffer_is_zero('0'));

$wrong = 0;
foreach ([1, 2, 7, 8, 9, 63, 64, 65, 255, 256, 257, 511, 4096, 10007] as $len) {
    $zeros = str_repeat("\0", $len);
    $wrong += !Hone\buffer_is_zero($zeros);
    foreach ([0, 1, $len >> 2, $len >> 1, $len - 2, $len - 1] as $at) {
        if ($at >= 0 && $at < $len) {
            $data = $zeros;
            $data[$at] = "\x80";
            $wrong += Hone\buffer_is_zero($data);
        }
    }
}
echo "wrong answers: $wrong\n";
?>
--EXPECT--
bool(true)
bool(true)
bool(false)
wrong answers: 0
