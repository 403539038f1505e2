--TEST--
Hone\buffer_is_zero(): arguments are converted as in any function of PHP that takes a string
--EXTENSIONS--
hone
--FILE--
<?php
class Zeros
{
    public function __toString(): string
    {
        return "\0\0\0";
    }
}

function attempt(callable $call): void
{
    try {
        var_dump($call());
    } catch (Throwable $error) {
        echo get_class($error), ': ', $error->getMessage(), "\n";
    }
}

attempt(fn() => Hone\buffer_is_zero(data: "\0"));
attempt(fn() => Hone\buffer_is_zero(new Zeros()));
attempt(fn() => Hone\buffer_is_zero(0));
attempt(fn() => Hone\buffer_is_zero(false));
attempt(fn() => Hone\buffer_is_zero(null));
attempt(fn() => Hone\buffer_is_zero([]));
attempt(fn() => Hone\buffer_is_zero());
attempt(fn() => Hone\buffer_is_zero("\0", 1));
attempt(fn() => Hone\buffer_is_zero(nothing: "\0"));
?>
--EXPECTF--
bool(true)
bool(true)
bool(false)
bool(true)

Deprecated: Hone\buffer_is_zero(): Passing null to parameter #1 ($data) of type string is deprecated in %s on line %d
bool(true)
TypeError: Hone\buffer_is_zero(): Argument #1 ($data) must be of type string, array given
ArgumentCountError: Hone\buffer_is_zero() expects exactly 1 argument, 0 given
ArgumentCountError: Hone\buffer_is_zero() expects exactly 1 argument, 2 given
Error: Unknown named parameter $nothing
