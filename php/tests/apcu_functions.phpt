--TEST--
The functions of APCu have the results of APCu 5.1.22
--EXTENSIONS--
hone
--SKIPIF--
<?php
require __DIR__ . '/apcu_served.inc';
if (PHP_VERSION_ID >= 80300) die('skip the output was recorded with PHP 8.2');
?>
--INI--
apc.enable_cli=1
apc.shm_size=32M
pcre.jit=0
--FILE--
<?php
require __DIR__ . '/differential/apcu.inc';
?>
--EXPECT--
extension_loaded("apcu") || function_exists("apcu_fetch"): bool(true)
ini_get("apc.enabled"): string(1) "1"
ini_get("apc.enable_cli"): string(1) "1"
ini_get("apc.shm_size"): string(3) "32M"
ini_get("apc.ttl"): string(1) "0"
ini_get("apc.serializer"): string(3) "php"
apcu_enabled(): bool(true)
apcu_clear_cache(): bool(true)
apcu_clear_cache(1): ArgumentCountError: apcu_clear_cache() expects exactly 0 arguments, 1 given
apcu_enabled(1): ArgumentCountError: apcu_enabled() expects exactly 0 arguments, 1 given
apcu_store("a", 1): bool(true)
apcu_fetch("a", $success): int(1) success: bool(true)
apcu_store("a", 2, 10): bool(true)
apcu_fetch("a"): int(2)
apcu_store("a"): bool(false)
apcu_store("a", null): bool(true)
apcu_fetch("a", $success): NULL success: bool(true)
apcu_fetch("absent", $success): bool(false) success: bool(false)
apcu_store("", "empty"): bool(true)
apcu_fetch("", $success): string(5) "empty" success: bool(true)
apcu_store("a\0b", "nul"): bool(true)
apcu_fetch("a\0b"): string(3) "nul"
apcu_fetch("a"): NULL
apcu_store(12, 1): error 2: apcu_store(): apc_store expects key parameter to be a string or an array of key/value pairs. bool(false)
apcu_store(1.5, 1): error 2: apcu_store(): apc_store expects key parameter to be a string or an array of key/value pairs. bool(false)
apcu_store(null, 1): error 2: apcu_store(): apc_store expects key parameter to be a string or an array of key/value pairs. bool(false)
apcu_store(true, 1): error 2: apcu_store(): apc_store expects key parameter to be a string or an array of key/value pairs. bool(false)
apcu_store(new stdClass, 1): error 2: apcu_store(): apc_store expects key parameter to be a string or an array of key/value pairs. bool(false)
apcu_store($resource, 1): error 2: Undefined variable $resource error 2: apcu_store(): apc_store expects key parameter to be a string or an array of key/value pairs. bool(false)
apcu_store(): ArgumentCountError: apcu_store() expects at least 1 argument, 0 given
apcu_store("a", 1, 2, 3): ArgumentCountError: apcu_store() expects at most 3 arguments, 4 given
apcu_store("a", 1, "ttl"): TypeError: apcu_store(): Argument #3 ($ttl) must be of type int, string given
apcu_store("a", 1, []): TypeError: apcu_store(): Argument #3 ($ttl) must be of type int, array given
apcu_store("a", 1, "5"): bool(true)
apcu_store("a", 1, 1.5): error 8192: Implicit conversion from float 1.5 to int loses precision bool(true)
apcu_store("a", 1, null): error 8192: apcu_store(): Passing null to parameter #3 ($ttl) of type int is deprecated bool(true)
apcu_store(key: "named", value: 5, ttl: 6): bool(true)
apcu_fetch(key: "named"): int(5)
apcu_store(ttl: 6, key: "named"): ArgumentCountError: apcu_store(): Argument #2 ($value) must be passed explicitly, because the default value is not known
apcu_store("12", "numeric"): bool(true)
apcu_fetch("12"): string(7) "numeric"
apcu_fetch(12, $success): string(7) "numeric" success: bool(true)
apcu_fetch(12.0): string(7) "numeric"
apcu_fetch(null, $success): string(5) "empty" success: bool(true)
apcu_fetch(true): bool(false)
apcu_fetch(new stdClass): Error: Object of class stdClass could not be converted to string
apcu_store(["a" => 1, "b" => [2], 5 => "five", "" => 0]): array(0) { }
apcu_store([]): array(0) { }
apcu_store(["a" => 1], 99, 100): array(0) { }
apcu_store(["a" => $resource]): error 2: Undefined variable $resource array(0) { }
apcu_store(["r" => &$reference]): array(0) { }
apcu_fetch("r"): NULL
apcu_fetch(["a", "b", "absent", "5", ""], $success): array(4) { ["a"]=> NULL ["b"]=> array(1) { [0]=> int(2) } ["5"]=> string(4) "five" [""]=> int(0) } success: bool(true)
apcu_fetch([], $success): array(0) { } success: bool(true)
apcu_fetch(["absent"], $success): array(0) { } success: bool(true)
apcu_fetch([5, null, "a", ["b"]], $success): error 2: apcu_fetch(): apc_fetch() expects a string or array of strings. error 2: apcu_fetch(): apc_fetch() expects a string or array of strings. error 2: apcu_fetch(): apc_fetch() expects a string or array of strings. array(1) { ["a"]=> NULL } success: bool(true)
apcu_fetch([&$name]): error 2: apcu_fetch(): apc_fetch() expects a string or array of strings. array(0) { }
apcu_fetch(["a", "a"]): array(1) { ["a"]=> NULL }
apcu_fetch(): ArgumentCountError: apcu_fetch() expects at least 1 argument, 0 given
apcu_fetch("a", $success, 1): ArgumentCountError: apcu_fetch() expects at most 2 arguments, 3 given success: string(5) "unset"
apcu_add("a", "other"): bool(false)
apcu_fetch("a"): NULL
apcu_add("new", "value"): bool(true)
apcu_add("new2"): bool(false)
apcu_add(["a" => 1, "new3" => 2, 7 => 3]): array(1) { ["a"]=> int(-1) }
apcu_add(["a" => 1, 7 => 3]): array(2) { ["a"]=> int(-1) [7]=> int(-1) }
apcu_add(12, 1): error 2: apcu_add(): apc_store expects key parameter to be a string or an array of key/value pairs. bool(false)
apcu_add(["x" => 1], null, 1): array(0) { }
apcu_exists("a"): bool(true)
apcu_exists("absent"): bool(false)
apcu_exists(["a", "absent", "b"]): array(2) { ["a"]=> bool(true) ["b"]=> bool(true) }
apcu_exists(["absent"]): array(0) { }
apcu_exists([]): array(0) { }
apcu_exists(12): bool(true)
apcu_exists(null): bool(true)
apcu_exists([12, "a"]): error 2: apcu_exists(): apc_exists() expects a string or array of strings. array(1) { ["a"]=> bool(true) }
apcu_exists(["5"]): array(1) { ["5"]=> bool(true) }
apcu_exists(): ArgumentCountError: apcu_exists() expects exactly 1 argument, 0 given
apcu_store("n", 10): bool(true)
apcu_inc("n"): int(11)
apcu_inc("n", 5, $success): int(16) success: bool(true)
apcu_dec("n", 3, $success): int(13) success: bool(true)
apcu_inc("n", -100): int(-87)
apcu_dec("n", -100): int(13)
apcu_fetch("n"): int(13)
apcu_inc("made", 3, $success): int(3) success: bool(true)
apcu_fetch("made"): int(3)
apcu_dec("made2", 3, $success, 10): int(-3) success: bool(true)
apcu_fetch("made2"): int(-3)
apcu_inc("b", 1, $success): bool(false) success: bool(false)
apcu_fetch("b"): array(1) { [0]=> int(2) }
apcu_store("float", 1.5): bool(true)
apcu_inc("float", 1, $success): bool(false) success: bool(false)
apcu_store("text", "5"): bool(true)
apcu_inc("text", 1, $success): bool(false) success: bool(false)
apcu_store("null", null): bool(true)
apcu_inc("null", 1, $success): bool(false) success: bool(false)
apcu_store("true", true): bool(true)
apcu_dec("true", 1, $success): bool(false) success: bool(false)
apcu_inc("n", "2"): int(15)
apcu_inc("n", 2.0): int(17)
apcu_inc("n", 2.5): error 8192: Implicit conversion from float 2.5 to int loses precision int(19)
apcu_inc("n", "x"): TypeError: apcu_inc(): Argument #2 ($step) must be of type int, string given
apcu_inc(12): bool(false)
apcu_inc([]): TypeError: apcu_inc(): Argument #1 ($key) must be of type string, array given
apcu_inc(): ArgumentCountError: apcu_inc() expects at least 1 argument, 0 given
apcu_store("max", PHP_INT_MAX): bool(true)
apcu_inc("max"): int(-9223372036854775808)
apcu_dec("max"): int(9223372036854775807)
apcu_dec("max", PHP_INT_MIN): int(-1)
apcu_inc("n", PHP_INT_MIN, $success): int(-9223372036854775789) success: bool(true)
apcu_inc(key: "n", success: $success): int(-9223372036854775788) success: bool(true)
apcu_dec("n", 1, $success, "x"): TypeError: apcu_dec(): Argument #4 ($ttl) must be of type int, string given success: string(5) "unset"
apcu_store("c", 1): bool(true)
apcu_cas("c", 1, 2): bool(true)
apcu_cas("c", 1, 3): bool(false)
apcu_fetch("c"): int(2)
apcu_cas("absent", 0, 1): bool(false)
apcu_exists("absent"): bool(false)
apcu_cas("text", 5, 6): bool(false)
apcu_cas("c", "2", "3"): bool(true)
apcu_cas("c", 3): ArgumentCountError: apcu_cas() expects exactly 3 arguments, 2 given
apcu_cas("c", 3, "x"): TypeError: apcu_cas(): Argument #3 ($new) must be of type int, string given
apcu_cas("true", 1, 2): bool(false)
apcu_delete("a"): bool(true)
apcu_delete("a"): bool(false)
apcu_delete(["b", "absent", "5"]): array(1) { [0]=> string(6) "absent" }
apcu_delete(["absent", 12, null, 1.5]): error 2: apcu_delete(): apc_delete() expects a string, array of strings, or APCIterator instance error 2: apcu_delete(): apc_delete() expects a string, array of strings, or APCIterator instance error 2: apcu_delete(): apc_delete() expects a string, array of strings, or APCIterator instance array(4) { [0]=> string(6) "absent" [1]=> int(12) [2]=> NULL [3]=> float(1.5) }
apcu_delete([]): array(0) { }
apcu_delete(12): error 2: apcu_delete(): apc_delete() expects a string, array of strings, or APCIterator instance bool(false)
apcu_delete(null): error 2: apcu_delete(): apc_delete() expects a string, array of strings, or APCIterator instance bool(false)
apcu_delete(1.5): error 2: apcu_delete(): apc_delete() expects a string, array of strings, or APCIterator instance bool(false)
apcu_delete(true): error 2: apcu_delete(): apc_delete() expects a string, array of strings, or APCIterator instance bool(false)
apcu_delete(): ArgumentCountError: apcu_delete() expects exactly 1 argument, 0 given
apcu_exists("b"): bool(false)
apcu_entry("e", fn($key) => "value of $key"): string(10) "value of e"
apcu_entry("e", fn() => "not called"): string(10) "value of e"
apcu_fetch("e"): string(10) "value of e"
apcu_entry("e2", fn() => null): NULL
apcu_exists("e2"): bool(true)
apcu_entry("e3", fn() => throw new Exception("thrown")): Exception: thrown
apcu_exists("e3"): bool(false)
apcu_entry("e4", "no such function"): TypeError: apcu_entry(): Argument #2 ($callback) must be a valid callback, function "no such function" not found or invalid function name
apcu_entry("e4", fn(...$args) => $args, 10): array(1) { [0]=> string(2) "e4" }
apcu_entry("e5", fn() => apcu_entry("e6", fn() => "inner") . apcu_fetch("e6")): string(10) "innerinner"
apcu_fetch(["e5", "e6"]): array(2) { ["e5"]=> string(10) "innerinner" ["e6"]=> string(5) "inner" }
apcu_entry("e7"): ArgumentCountError: apcu_entry() expects at least 2 arguments, 1 given
apcu_entry("e8", "strtoupper"): string(2) "E8"
apcu_entry("e9", function () { apcu_store("e9", "inside"); return "outside"; }): string(7) "outside"
apcu_fetch("e9"): string(6) "inside"
apcu_store("v", [1, "a" => [2, [3.5, null, true]], "" => "x", 10 => []]): bool(true)
apcu_fetch("v"): array(4) { [0]=> int(1) ["a"]=> array(2) { [0]=> int(2) [1]=> array(3) { [0]=> float(3.5) [1]=> NULL [2]=> bool(true) } } [""]=> string(1) "x" [10]=> array(0) { } }
apcu_store("v", []): bool(true)
apcu_fetch("v"): array(0) { }
apcu_store("v", $point): error 2: Undefined variable $point bool(true)
apcu_fetch("v"): NULL
($v = apcu_fetch("v")) === $v->self: error 2: Attempt to read property "self" on null bool(true)
apcu_store("v", [$point, $point]): error 2: Undefined variable $point error 2: Undefined variable $point bool(true)
($v = apcu_fetch("v"))[0] === $v[1]: bool(true)
apcu_store("v", new Sleeper): sleep bool(true)
apcu_fetch("v"): wakeup object(Sleeper)#3 (2) { ["a"]=> int(1) ["b"]=> int(2) }
apcu_store("v", [new Sleeper]): sleep bool(true)
apcu_fetch("v"): wakeup array(1) { [0]=> object(Sleeper)#3 (2) { ["a"]=> int(1) ["b"]=> int(2) } }
apcu_store("v", Suit::Hearts): bool(true)
apcu_fetch("v") === Suit::Hearts: bool(true)
apcu_fetch("v"): enum(Suit::Hearts)
apcu_store("v", [Suit::Spades]): bool(true)
apcu_fetch("v"): array(1) { [0]=> enum(Suit::Spades) }
apcu_store("refused", fn() => 1): Exception: Serialization of 'Closure' is not allowed
apcu_store("refused", [fn() => 1]): Exception: Serialization of 'Closure' is not allowed
apcu_store("refused", $resource): error 2: Undefined variable $resource bool(true)
apcu_store("refused", new Thrower(false)): Exception: serialize
apcu_store("refused", (function () { yield; })()): Exception: Serialization of 'Generator' is not allowed
apcu_exists("refused"): bool(true)
apcu_store(["first" => 1, "throws" => new Thrower(false), "next" => new Sleeper]): Exception: serialize
apcu_add(["throws" => new Thrower(false), "next" => new Sleeper]): Exception: serialize
apcu_exists(["first", "throws", "next"]): array(1) { ["first"]=> bool(true) }
apcu_store("late", new Thrower(true)): bool(true)
apcu_fetch("late", $success): Exception: unserialize success: bool(true)
apcu_exists("late"): bool(true)
apcu_store("v", new ArrayObject([1, 2])): bool(true)
apcu_fetch("v"): object(ArrayObject)#5 (1) { ["storage":"ArrayObject":private]=> array(2) { [0]=> int(1) [1]=> int(2) } }
apcu_store("v", $GLOBALS["reference"]): bool(true)
apcu_fetch("v"): string(10) "referenced"
apcu_store("v", INF): bool(true)
apcu_fetch("v"): float(INF)
apcu_store("v", -0.0): bool(true)
apcu_fetch("v"): float(-0)
apcu_store("v", NAN): bool(true)
apcu_fetch("v"): float(NAN)
apcu_store("v", str_repeat("long", 100000)): bool(true)
md5(apcu_fetch("v")): string(32) "b19d97db8ab172d426b4238927eedaa2"
apcu_clear_cache(): bool(true)
apcu_store(["one" => 1, "two" => str_repeat("2", 10), "three" => [3]], null, 100): array(0) { }
array_map(gettype(...), apcu_cache_info()): array(13) { ["num_slots"]=> string(7) "integer" ["ttl"]=> string(7) "integer" ["num_hits"]=> string(6) "double" ["num_misses"]=> string(6) "double" ["num_inserts"]=> string(6) "double" ["num_entries"]=> string(7) "integer" ["expunges"]=> string(6) "double" ["start_time"]=> string(7) "integer" ["mem_size"]=> string(6) "double" ["memory_type"]=> string(6) "string" ["cache_list"]=> string(5) "array" ["deleted_list"]=> string(5) "array" ["slot_distribution"]=> string(5) "array" }
array_map(gettype(...), apcu_cache_info(true)): array(10) { ["num_slots"]=> string(7) "integer" ["ttl"]=> string(7) "integer" ["num_hits"]=> string(6) "double" ["num_misses"]=> string(6) "double" ["num_inserts"]=> string(6) "double" ["num_entries"]=> string(7) "integer" ["expunges"]=> string(6) "double" ["start_time"]=> string(7) "integer" ["mem_size"]=> string(6) "double" ["memory_type"]=> string(6) "string" }
apcu_cache_info(true)["num_entries"]: int(3)
count(apcu_cache_info()["cache_list"]): int(3)
array_map(gettype(...), apcu_cache_info()["cache_list"][0]): array(9) { ["info"]=> string(6) "string" ["ttl"]=> string(7) "integer" ["num_hits"]=> string(6) "double" ["mtime"]=> string(7) "integer" ["creation_time"]=> string(7) "integer" ["deletion_time"]=> string(7) "integer" ["access_time"]=> string(7) "integer" ["ref_count"]=> string(7) "integer" ["mem_size"]=> string(7) "integer" }
apcu_cache_info([]): TypeError: apcu_cache_info(): Argument #1 ($limited) must be of type bool, array given
apcu_cache_info(true, 1): ArgumentCountError: apcu_cache_info() expects at most 1 argument, 2 given
array_map(gettype(...), apcu_sma_info()): array(4) { ["num_seg"]=> string(7) "integer" ["seg_size"]=> string(6) "double" ["avail_mem"]=> string(6) "double" ["block_lists"]=> string(5) "array" }
array_map(gettype(...), apcu_sma_info(true)): array(3) { ["num_seg"]=> string(7) "integer" ["seg_size"]=> string(6) "double" ["avail_mem"]=> string(6) "double" }
apcu_sma_info(true)["num_seg"]: int(1)
array_map(gettype(...), apcu_sma_info()["block_lists"][0][0]): array(2) { ["size"]=> string(7) "integer" ["offset"]=> string(7) "integer" }
apcu_sma_info([]): TypeError: apcu_sma_info(): Argument #1 ($limited) must be of type bool, array given
array_map(gettype(...), apcu_key_info("one")): array(7) { ["hits"]=> string(7) "integer" ["access_time"]=> string(7) "integer" ["mtime"]=> string(7) "integer" ["creation_time"]=> string(7) "integer" ["deletion_time"]=> string(7) "integer" ["ttl"]=> string(7) "integer" ["refs"]=> string(7) "integer" }
apcu_key_info("one")["ttl"]: int(100)
apcu_key_info("one")["hits"]: int(0)
apcu_key_info("absent"): NULL
apcu_key_info(12): NULL
apcu_key_info([]): TypeError: apcu_key_info(): Argument #1 ($key) must be of type string, array given
apcu_key_info(): ArgumentCountError: apcu_key_info() expects exactly 1 argument, 0 given
apcu_cache_info()["ttl"]: int(0)
apcu_cache_info()["memory_type"]: string(4) "mmap"
apcu_store("ends", 1, 1): bool(true)
apcu_store("negative", 1, -5): bool(true)
apcu_exists("one"): bool(true)
apcu_add("one", 2, 1): bool(false)
usleep(2_300_000): NULL
apcu_fetch("ends", $success): bool(false) success: bool(false)
apcu_exists(["ends", "one"]): array(1) { ["one"]=> bool(true) }
apcu_add("ends", 3): bool(true)
apcu_fetch("ends"): int(3)
apcu_fetch("negative"): bool(false)
count(keys(new APCUIterator)): int(253)
keys(new APCUIterator("/^key1.$/")): array(10) { [0]=> string(5) "key10" [1]=> string(5) "key11" [2]=> string(5) "key12" [3]=> string(5) "key13" [4]=> string(5) "key14" [5]=> string(5) "key15" [6]=> string(5) "key16" [7]=> string(5) "key17" [8]=> string(5) "key18" [9]=> string(5) "key19" }
keys(new APCUIterator("/^KEY24/i")): array(11) { [0]=> string(5) "key24" [1]=> string(6) "key240" [2]=> string(6) "key241" [3]=> string(6) "key242" [4]=> string(6) "key243" [5]=> string(6) "key244" [6]=> string(6) "key245" [7]=> string(6) "key246" [8]=> string(6) "key247" [9]=> string(6) "key248" [10]=> string(6) "key249" }
keys(new APCUIterator(["key3", "other", "absent", 77, "77"])): array(3) { [0]=> string(2) "77" [1]=> string(4) "key3" [2]=> string(5) "other" }
keys(new APCUIterator([])): array(0) { }
count(keys(new APCUIterator(""))): int(253)
count(keys(new APCUIterator(null))): int(253)
count(keys(new APCUIterator(12))): int(253)
count(keys(new APCUIterator(chunk_size: 10))): int(253)
count(keys(new APCUIterator(list: APC_LIST_DELETED))): int(0)
keys(new APCUIterator("/none/")): array(0) { }
iterator_to_array(new APCUIterator("/^key12$/", APC_ITER_KEY | APC_ITER_VALUE)): array(1) { ["key12"]=> array(2) { ["key"]=> string(5) "key12" ["value"]=> int(12) } }
iterator_to_array(new APCUIterator("/^key12$/", APC_ITER_NONE)): array(1) { ["key12"]=> array(0) { } }
iterator_to_array(new APCUIterator("/^o/", APC_ITER_VALUE | APC_ITER_TTL))["other"]: array(2) { ["value"]=> array(1) { [0]=> string(5) "value" } ["ttl"]=> int(50) }
array_map(gettype(...), iterator_to_array(new APCUIterator("/^key12$/"))["key12"]): array(11) { ["type"]=> string(6) "string" ["key"]=> string(6) "string" ["value"]=> string(7) "integer" ["num_hits"]=> string(7) "integer" ["mtime"]=> string(7) "integer" ["creation_time"]=> string(7) "integer" ["deletion_time"]=> string(7) "integer" ["access_time"]=> string(7) "integer" ["ref_count"]=> string(7) "integer" ["mem_size"]=> string(7) "integer" ["ttl"]=> string(7) "integer" }
iterator_to_array(new APCUIterator("/^object/", APC_ITER_VALUE)): array(1) { ["object"]=> array(1) { ["value"]=> object(ArrayObject)#7 (1) { ["storage":"ArrayObject":private]=> array(1) { [0]=> int(1) } } } }
iterator_to_array(new APCUIterator("/^key12$/", APC_ITER_TYPE | APC_ITER_TTL)): array(1) { ["key12"]=> array(2) { ["type"]=> string(4) "user" ["ttl"]=> int(0) } }
new APCUIterator(null, APC_ITER_ALL, 0, 5): error 2: APCUIterator::__construct(): APCUIterator invalid list type object(APCUIterator)#7 (0) { }
new APCUIterator(null, []): TypeError: APCUIterator::__construct(): Argument #2 ($format) must be of type int, array given
new APCUIterator(null, 1, "x"): TypeError: APCUIterator::__construct(): Argument #3 ($chunk_size) must be of type int, string given
new APCUIterator(1, 2, 3, 1, 5): ArgumentCountError: APCUIterator::__construct() expects at most 4 arguments, 5 given
(new APCUIterator("/^key1/"))->getTotalCount(): int(111)
(new APCUIterator)->getTotalCount(): int(253)
gettype((new APCUIterator)->getTotalHits()): string(7) "integer"
(new APCUIterator)->getTotalSize() > 0: bool(true)
(new APCUIterator("/none/"))->getTotalSize(): int(0)
(new APCUIterator(list: APC_LIST_DELETED))->getTotalCount(): int(253)
($i = new APCUIterator("/^key5$/"))->valid(): bool(true)
($i = new APCUIterator("/^key5$/"))->key(): string(4) "key5"
($i = new APCUIterator("/^key5$/", APC_ITER_VALUE))->current(): array(1) { ["value"]=> int(5) }
($i = new APCUIterator("/^key5$/"))->next(): NULL
($i = new APCUIterator("/^key5$/"))->rewind(): NULL
(function () { $i = new APCUIterator("/^key5$/"); $i->rewind(); $r[] = $i->valid(); $r[] = $i->key(); $i->next(); $r[] = $i->valid(); $i->rewind(); $r[] = $i->key(); return $r; })(): array(4) { [0]=> bool(true) [1]=> string(4) "key5" [2]=> bool(false) [3]=> string(4) "key5" }
(function () { $i = new APCUIterator("/^none$/"); $i->rewind(); $r[] = $i->valid(); $r[] = $i->next(); return $r; })(): array(2) { [0]=> bool(false) [1]=> NULL }
(new APCUIterator("/^none$/"))->key(): Error: Cannot call key() on invalid iterator
(new APCUIterator("/^none$/"))->current(): Error: Cannot call current() on invalid iterator
clone new APCUIterator: Error: Trying to clone an uncloneable object of class APCUIterator
(new ReflectionClass("APCUIterator"))->newInstanceWithoutConstructor()->valid(): Error: Trying to use uninitialized APCUIterator
(new Unfinished)->valid(): Error: Trying to use uninitialized APCUIterator
(new Unfinished)->valid(1): ArgumentCountError: APCUIterator::valid() expects exactly 0 arguments, 1 given
(new Unfinished)->rewind(): Error: Trying to use uninitialized APCUIterator
(new Unfinished)->getTotalCount(): Error: Trying to use uninitialized APCUIterator
keys(new Unfinished): Error: Trying to use uninitialized APCUIterator
apcu_delete(new Unfinished): Error: Trying to use uninitialized APCUIterator
apcu_exists("key1"): bool(true)
(new ReflectionClass("APCUIterator"))->isFinal(): bool(false)
new APCUIterator instanceof Iterator: bool(true)
class_implements("APCUIterator"): array(2) { ["Iterator"]=> string(8) "Iterator" ["Traversable"]=> string(11) "Traversable" }
get_class_methods("APCUIterator"): array(9) { [0]=> string(11) "__construct" [1]=> string(6) "rewind" [2]=> string(4) "next" [3]=> string(5) "valid" [4]=> string(3) "key" [5]=> string(7) "current" [6]=> string(12) "getTotalHits" [7]=> string(12) "getTotalSize" [8]=> string(13) "getTotalCount" }
apcu_delete(new APCUIterator("/^key1/")): bool(true)
apcu_exists("key1"): bool(false)
apcu_exists("key2"): bool(true)
apcu_delete(new APCUIterator("/none/")): bool(true)
count(keys(new APCUIterator)): int(142)
apcu_delete(new APCUIterator): bool(true)
apcu_cache_info(true)["num_entries"]: int(0)
[APC_LIST_ACTIVE, APC_LIST_DELETED, APC_ITER_TYPE, APC_ITER_KEY, APC_ITER_VALUE, APC_ITER_NUM_HITS, APC_ITER_MTIME, APC_ITER_CTIME, APC_ITER_DTIME, APC_ITER_ATIME, APC_ITER_REFCOUNT, APC_ITER_MEM_SIZE, APC_ITER_TTL, APC_ITER_NONE, APC_ITER_ALL]: array(15) { [0]=> int(1) [1]=> int(2) [2]=> int(1) [3]=> int(2) [4]=> int(4) [5]=> int(8) [6]=> int(16) [7]=> int(32) [8]=> int(64) [9]=> int(128) [10]=> int(256) [11]=> int(512) [12]=> int(1024) [13]=> int(0) [14]=> int(4294967295) }
Function [ <internal> function apcu_store ] { - Parameters [3] { Parameter #0 [ <required> $key ] Parameter #1 [ <optional> mixed $value = <default> ] Parameter #2 [ <optional> int $ttl = 0 ] } - Return [ array|bool ] }
Function [ <internal> function apcu_add ] { - Parameters [3] { Parameter #0 [ <required> $key ] Parameter #1 [ <optional> mixed $value = <default> ] Parameter #2 [ <optional> int $ttl = 0 ] } - Return [ array|bool ] }
Function [ <internal> function apcu_fetch ] { - Parameters [2] { Parameter #0 [ <required> $key ] Parameter #1 [ <optional> &$success = null ] } - Return [ mixed ] }
Function [ <internal> function apcu_exists ] { - Parameters [1] { Parameter #0 [ <required> $key ] } - Return [ array|bool ] }
Function [ <internal> function apcu_delete ] { - Parameters [1] { Parameter #0 [ <required> $key ] } - Return [ array|bool ] }
Function [ <internal> function apcu_inc ] { - Parameters [4] { Parameter #0 [ <required> string $key ] Parameter #1 [ <optional> int $step = 1 ] Parameter #2 [ <optional> &$success = null ] Parameter #3 [ <optional> int $ttl = 0 ] } - Return [ int|false ] }
Function [ <internal> function apcu_dec ] { - Parameters [4] { Parameter #0 [ <required> string $key ] Parameter #1 [ <optional> int $step = 1 ] Parameter #2 [ <optional> &$success = null ] Parameter #3 [ <optional> int $ttl = 0 ] } - Return [ int|false ] }
Function [ <internal> function apcu_cas ] { - Parameters [3] { Parameter #0 [ <required> string $key ] Parameter #1 [ <required> int $old ] Parameter #2 [ <required> int $new ] } - Return [ bool ] }
Function [ <internal> function apcu_entry ] { - Parameters [3] { Parameter #0 [ <required> string $key ] Parameter #1 [ <required> callable $callback ] Parameter #2 [ <optional> int $ttl = 0 ] } - Return [ mixed ] }
Function [ <internal> function apcu_clear_cache ] { - Parameters [0] { } - Return [ bool ] }
Function [ <internal> function apcu_cache_info ] { - Parameters [1] { Parameter #0 [ <optional> bool $limited = false ] } - Return [ array|false ] }
Function [ <internal> function apcu_key_info ] { - Parameters [1] { Parameter #0 [ <required> string $key ] } - Return [ ?array ] }
Function [ <internal> function apcu_sma_info ] { - Parameters [1] { Parameter #0 [ <optional> bool $limited = false ] } - Return [ array|false ] }
Function [ <internal> function apcu_enabled ] { - Parameters [0] { } - Return [ bool ] }
Class [ <internal> <iterateable> class APCUIterator implements Iterator, Traversable ] {
- Constants [0] { }
- Static properties [0] { }
- Static methods [0] { }
- Properties [0] { }
- Methods [9] { Method [ <internal, ctor> public method __construct ] {
- Parameters [4] { Parameter #0 [ <optional> $search = null ] Parameter #1 [ <optional> int $format = APC_ITER_ALL ] Parameter #2 [ <optional> int $chunk_size = 0 ] Parameter #3 [ <optional> int $list = APC_LIST_ACTIVE ] } }
Method [ <internal, prototype Iterator> public method rewind ] {
- Parameters [0] { } - Return [ void ] }
Method [ <internal, prototype Iterator> public method next ] {
- Parameters [0] { } - Return [ void ] }
Method [ <internal, prototype Iterator> public method valid ] {
- Parameters [0] { } - Return [ bool ] }
Method [ <internal, prototype Iterator> public method key ] {
- Parameters [0] { } - Return [ string|int ] }
Method [ <internal, prototype Iterator> public method current ] {
- Parameters [0] { } - Return [ mixed ] }
Method [ <internal> public method getTotalHits ] {
- Parameters [0] { } - Return [ int ] }
Method [ <internal> public method getTotalSize ] {
- Parameters [0] { } - Return [ int ] }
Method [ <internal> public method getTotalCount ] {
- Parameters [0] { } - Return [ int ] } } }
