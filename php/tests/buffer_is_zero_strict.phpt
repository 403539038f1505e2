--TEST--
Hone\buffer_is_zero(): with strict_types, only a string is accepted
--EXTENSIONS--
hone
--FILE--
<?php
declare(strict_types=1);

foreach ([0, 1.5, null, new ArrayObject()] as $value) {
    try {
        var_dump(Hone\buffer_is_zero($value));
    } catch (TypeError $error) {
        echo $error->getMessage(), "\n";
    }
}
?>
--EXPECT--
Hone\buffer_is_zero(): Argument #1 ($data) must be of type string, int given
Hone\buffer_is_zero(): Argument #1 ($data) must be of type string, float given
Hone\buffer_is_zero(): Argument #1 ($data) must be of type string, null given
Hone\buffer_is_zero(): Argument #1 ($data) must be of type string, ArrayObject given
