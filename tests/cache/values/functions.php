<?php
// SPDX-License-Identifier: BSD-3-Clause
// Every function of PHP that takes an array or a string gets values in memory
// that cannot be written. A write ends the process.
require __DIR__ . '/support.php';

// What ends the script, waits, needs a terminal, changes the machine or the
// process, or prints pages.
const SKIPPED = ['exit', 'die', 'sleep', 'usleep', 'time_nanosleep',
    'time_sleep_until', 'pcntl_*', 'posix_*', 'proc_*', 'exec', 'system',
    'passthru', 'shell_exec', 'popen', 'mail', 'mb_send_mail', 'unlink', 'rmdir', 'rename',
    'mkdir', 'chmod', 'chown', 'chgrp', 'lchown', 'lchgrp', 'link', 'symlink',
    'touch', 'copy', 'file_put_contents', 'fopen', 'tempnam', 'tmpfile',
    'move_uploaded_file', 'readline*', 'dl', 'value_*', 'set_time_limit',
    'ob_*', 'output_*', 'header*', 'http_response_code', 'setcookie',
    'setrawcookie', 'phpinfo', 'phpcredits', 'php_strip_whitespace',
    'highlight_*', 'show_source', 'opcache_*', 'set_error_handler',
    'set_exception_handler', 'restore_*', 'register_shutdown_function',
    'register_tick_function', 'spl_autoload*', 'error_reporting', 'ini_*',
    'set_include_path', 'putenv', 'setlocale', 'chdir', 'chroot', 'umask',
    'fsockopen', 'pfsockopen', 'stream_socket_*', 'stream_select',
    'gethostby*', 'dns_*', 'checkdnsrr', 'getmxrr', 'openlog', 'syslog',
    'error_log', 'trigger_error', 'user_error',
    'gc_*', 'mt_srand', 'srand', 'cli_set_process_title', 'expect', 'store',
    'short', 'same', 'has_nan', 'random_*', 'assert*', 'get_browser',
    'ftok', 'shm_*', 'sem_*', 'msg_*', 'socket_*', 'ftp_*', 'apcu_*',
    'call_user_func*', 'forward_static_call*', 'func_get_arg*', 'sapi_*',
    'stream_wrapper_*', 'stream_filter_register', 'date_default_timezone_set',
    'array_fill', 'str_repeat', 'range', 'str_pad', 'array_pad', 'hash_pbkdf2',
    'password_hash', 'crypt', 'fpassthru', 'readfile', 'print_r', 'var_dump',
    'var_export', 'define', 'libxml_*', 'dir',
    'opendir', 'scandir', 'glob', 'zend_*', 'memory_reset_peak_usage',
    'sodium_crypto_pwhash*', 'openssl_*', 'try_one',
    'tries_of', 'is_skipped', 'callback_for', 'fetch_all', 'debug_print*',
    'extract', 'parse_str', 'ignore_user_abort', 'chop_*', 'link*'];

function is_skipped(string $name): bool
{
    foreach (SKIPPED as $pattern) {
        if (fnmatch($pattern, $name)) {
            return true;
        }
    }
    return false;
}

$sources = [
    'list' => ['pear', 'apple', 'fig', 'apple', '10', 9, 1.5, null, true],
    'map' => ['b' => 'text', 'a' => 2, 'c' => ['x' => 1, 'y' => [2, 'z']],
        5 => 'five', '' => 'none'],
    'rows' => array_map(fn ($i) => ['id' => $i, 'name' => "name $i",
        'tags' => ['a', "t$i"]], range(0, 9)),
    'strings' => ['one' => 'alpha', 'two' => 'beta', 'three' => 'gamma'],
    'numbers' => [3, 1, 2, 5, 4],
    'nested' => [[3, 1], [2, 4]],
    'none' => [],
    'text' => 'The quick brown fox, 123 times: <b>"a\'b"</b> %s &amp; end',
    'word' => 'word', 'letter' => 'a', 'nothing' => '', 'digits' => '42',
    'utf8' => "gr\u{fc}\u{df}e \u{65e5}\u{672c} \u{1f600}", 'bytes' => "\xff\0\x80",
    'pattern' => '/(\w+) (\w+)/u', 'format' => '%s-%05d-%x', 'json' =>
        '{"a":[1,2,{"b":null}],"c":"\u00e9"}', 'serialized' =>
        'a:2:{i:0;s:1:"x";i:1;a:1:{s:1:"k";d:0.5;}}', 'date' => '2024-02-29',
    'url' => 'http://user:pw@host:80/p/a.php?x=1&y[]=2#f', 'name' => 'strtolower',
    'number' => 7, 'half' => 0.5, 'yes' => true,
];
$ids = [];
foreach ($sources as $name => $value) {
    $ids[$name] = store($value);
}
$wanted = serialize($sources);

function fetch_all(): array
{
    global $ids;
    return array_map('value_fetch', $ids);
}

// Callbacks that look at what they get and change their copies.
function callback_for(int $i): callable
{
    return [
        fn (...$a) => count($a),
        function (&$a = null, &$b = null) {
            if (is_array($a)) {
                $a[] = 1;
            }
            return $b <=> $a;
        },
        fn ($a = null, $b = null) => $a <=> $b,
        'strlen', 'is_string',
    ][$i % 5];
}

// Arguments for a function: by the types that it declares, each in turn.
function tries_of(ReflectionFunction $function, int $turn): ?array
{
    static $texts = ['text', 'word', 'letter', 'nothing', 'digits', 'utf8',
        'bytes', 'pattern', 'format', 'json', 'serialized', 'date', 'url',
        'name'];
    static $arrays = ['list', 'map', 'rows', 'strings', 'numbers', 'nested',
        'none'];
    $all = fetch_all();
    $arguments = [];
    foreach ($function->getParameters() as $i => $parameter) {
        $type = (string)$parameter->getType();
        if ($parameter->isOptional() && $i > $turn % 4) {
            break;
        }
        $j = $turn * ($i + 1) + $i * 3;
        if (preg_match('/array|iterable|Traversable/', $type) &&
            (!str_contains($type, 'string') || $turn % 2)) {
            $arguments[] = $all[$arrays[$j % count($arrays)]];
        } elseif (preg_match('/callable/', $type)) {
            $arguments[] = callback_for($j);
        } elseif (preg_match('/string/', $type)) {
            $arguments[] = $all[$texts[$j % count($texts)]];
        } elseif (preg_match('/mixed/', $type) || $type == '') {
            $names = array_keys($all);
            $arguments[] = $all[$names[$j % count($names)]];
        } elseif (preg_match('/int|float/', $type)) {
            $arguments[] = [0, 1, 2, -1, 3, 4][$j % 6];
        } elseif (preg_match('/bool|null/', $type)) {
            $arguments[] = (bool)($j % 2);
        } else {
            return null;
        }
    }
    return $arguments;
}

// Whether the function took the arguments.
function try_one(string $name, array $arguments): bool
{
    $returned = false;
    ob_start();
    try {
        $function = $name;
        $result = @$function(...$arguments);
        $returned = true;
        if (is_array($result)) {
            $result[] = 1;
        } elseif (is_object($result) && $result instanceof Traversable) {
            foreach ($result as $each) {
            }
        }
    } catch (Throwable $e) {
    }
    if (ob_get_level() > 0) {
        ob_end_clean();
    }
    return $returned;
}

chdir(sys_get_temp_dir());
$called = $returned = 0;
$never = [];
$names = get_defined_functions()['internal'];
foreach ($names as $name) {
    if (is_skipped($name)) {
        continue;
    }
    if (getenv('VERBOSE')) {
        fwrite(STDERR, "$name\n");
    }
    $function = new ReflectionFunction($name);
    $before = $returned;
    for ($turn = 0; $turn < ($rounds ?: 28); $turn++) {
        $arguments = tries_of($function, $turn);
        if ($arguments === null) {
            continue 2;
        }
        if (!$arguments) {
            continue 2;
        }
        $returned += try_one($name, $arguments);
        $called++;
    }
    if ($returned == $before) {
        $never[] = $name;
    }
    expect(serialize(fetch_all()) === $wanted, "unchanged by $name()");
}

// What needs more than its types say. Each gets its values anew.
$file = tempnam(sys_get_temp_dir(), 'hone');
$compare = fn ($a, $b) => $a <=> $b;
$cases = [
    fn ($v) => array_diff_ukey($v['map'], $v['strings'], 'strcmp'),
    fn ($v) => array_udiff($v['list'], $v['numbers'], $compare),
    fn ($v) => array_udiff_assoc($v['list'], $v['numbers'], $compare),
    fn ($v) => array_udiff_uassoc($v['list'], $v['map'], $compare, $compare),
    fn ($v) => array_diff_uassoc($v['map'], $v['strings'], $compare),
    fn ($v) => array_uintersect($v['list'], $v['list'], $compare),
    fn ($v) => array_uintersect_assoc($v['list'], $v['list'], $compare),
    fn ($v) => array_uintersect_uassoc($v['map'], $v['map'], $compare, $compare),
    fn ($v) => array_intersect_ukey($v['map'], $v['map'], $compare),
    fn ($v) => array_intersect_uassoc($v['map'], $v['map'], $compare),
    fn ($v) => hash('sha256', $v['text']) . hash_hmac('md5', $v['text'], $v['word']),
    fn ($v) => hash_update(hash_init('sha1'), $v['text']),
    fn ($v) => hash_equals($v['text'], $v['text']) . hash_hkdf('md5', $v['text']),
    fn ($v) => base_convert($v['digits'], 10, 2) . bin2hex($v['bytes']),
    fn ($v) => file_put_contents($file, $v['text']) .
        file_put_contents($file, $v['strings'], FILE_APPEND),
    fn ($v) => fputcsv(fopen('php://memory', 'w+'), $v['numbers'] + $v['list']),
    fn ($v) => fwrite(fopen('php://memory', 'w+'), $v['text']),
    fn ($v) => fprintf(fopen('php://memory', 'w+'), $v['format'], $v['text'], 1, 2),
    fn ($v) => vfprintf(fopen('php://memory', 'w+'), $v['format'], $v['numbers']),
    fn ($v) => vsprintf($v['format'], $v['numbers']),
    fn ($v) => sscanf($v['date'], '%d-%d-%d'),
    fn ($v) => stream_context_create(['http' => $v['strings']], $v['map']),
    fn ($v) => stream_context_set_option(stream_context_create(), ['x' => $v['map']]),
    fn ($v) => stream_get_contents(fopen('data:,' . $v['word'], 'r')),
    fn ($v) => stream_filter_append(fopen('php://memory', 'w'), 'string.rot13',
        STREAM_FILTER_WRITE, $v['map']),
    fn ($v) => preg_replace(['/a/', '/e/u'], $v['strings'], $v['text']),
    fn ($v) => preg_replace($v['pattern'], $v['word'], $v['rows'][0]),
    fn ($v) => preg_replace($v['pattern'], $v['word'], $v['strings']),
    fn ($v) => preg_replace_callback_array(
        [$v['pattern'] => fn ($m) => $m[1]], $v['strings']),
    fn ($v) => preg_match_all($v['pattern'], $v['text'], $v['list']),
    fn ($v) => preg_split('//u', $v['utf8']) + preg_grep('/a/', $v['strings']),
    fn ($v) => str_replace($v['strings'], $v['list'], $v['strings'], $v['map']),
    fn ($v) => strtr($v['text'], $v['strings']) . strtr($v['text'], 'abc', 'xyz'),
    fn ($v) => http_build_query($v['map']) . implode($v['word'], $v['strings']),
    fn ($v) => settype($v['list'], 'string') + settype($v['map'], 'object'),
    fn ($v) => settype($v['text'], 'array') + settype($v['digits'], 'int'),
    fn ($v) => iterator_apply(new ArrayIterator($v['map']), 'count', $v['list']),
    fn ($v) => iterator_to_array(new LimitIterator(new ArrayIterator($v['rows']), 2)),
    fn ($v) => array_multisort($v['list'], SORT_DESC, SORT_STRING),
    fn ($v) => array_multisort($v['numbers'], $v['numbers']),
    fn ($v) => array_walk($v['rows'], function (&$row, $key, $more) {
        $row['id'] = $more;
        $row['tags'][] = $key;
    }, $v['map']),
    fn ($v) => usort($v['rows'], fn ($a, $b) => $b['id'] <=> $a['id']),
    fn ($v) => array_splice($v['rows'], 1, 3, $v['map']) + $v['rows'],
    fn ($v) => array_map(null, $v['list'], $v['numbers'], $v['rows']),
    fn ($v) => array_map(fn (array $row) => $row['id']++, $v['rows']),
    fn ($v) => array_merge_recursive($v['map'], $v['map'], $v['strings']),
    fn ($v) => array_replace_recursive($v['map'], ['c' => ['y' => [9]]]),
    fn ($v) => array_push($v['list'], ...$v['list']) + array_unshift($v['map'], 1),
    fn ($v) => [array_pop($v['rows']), array_shift($v['rows']), $v['rows'][] = 1],
    fn ($v) => [reset($v['map']), next($v['map']), end($v['map']), key($v['map'])],
    fn ($v) => unserialize(serialize($v)) === $v,
    fn ($v) => json_decode(json_encode($v, JSON_PARTIAL_OUTPUT_ON_ERROR), true),
    fn ($v) => call_user_func_array('max', $v['numbers']) . max(...$v['numbers']),
    fn ($v) => (new ReflectionFunction('max'))->invokeArgs($v['numbers']),
    fn ($v) => $v['text'] === ucfirst($v['text']) . ucwords($v['text']),
    fn ($v) => (new DateTimeImmutable($v['date']))->format($v['format']),
    fn ($v) => date_create_from_format('Y-m-d', $v['date']),
    fn ($v) => constant('PHP_' . strtoupper($v['word'])),
    fn ($v) => new stdClass($v['list']),
    fn ($v) => mb_convert_encoding($v['map'], 'UTF-8', 'ISO-8859-1'),
    fn ($v) => mb_convert_variables('UTF-8', 'ISO-8859-1', $v['map'], $v['text']),
    fn ($v) => mb_detect_encoding($v['utf8'], $v['strings']),
    fn ($v) => igbinary_unserialize(igbinary_serialize($v)) === $v,
    fn ($v) => apcu_store('fetched', $v) && apcu_fetch('fetched') === $v,
    fn ($v) => apcu_store($v['strings']) + apcu_fetch($v['strings']),
    fn ($v) => session_id($v['word']) . session_set_cookie_params($v['strings']),
    fn ($v) => (function () use ($v) {
        session_start();
        $_SESSION = $v;
        $_SESSION['list'][] = 1;
        session_encode();
        session_destroy();
    })(),
    fn ($v) => (new SplObjectStorage())->attach(new ArrayObject($v['map']), $v),
    fn ($v) => iterator_to_array((function () use ($v) {
        yield from $v['list'];
        yield $v['map'] => $v['rows'];
    })(), false),
    fn ($v) => (static fn (array &$by) => $by['c']['y'][0] = 5)($v['map']),
    fn ($v) => $v['nested'][0][1]++ + --$v['nested'][1][0] . $v['nested'][] = 1,
    fn ($v) => $v['map']['c']['y'][] = $v['map']['c']['y'],
    fn ($v) => [$v['word'][0] = 'x', $v['word'] .= $v['word'], $v['digits']++],
    fn ($v) => sodium_memzero($v['text']) . sodium_increment($v['bytes']),
];
$failed = [];
foreach ($cases as $i => $case) {
    for ($turn = 0; $turn < 3; $turn++) {
        try {
            @$case(fetch_all());
        } catch (Throwable $e) {
            $failed[$i] = $e->getMessage();
        }
    }
    expect(serialize(fetch_all()) === $wanted, "unchanged by case $i");
}
unlink($file);
expect(count($failed) < 12, 'the cases run', $failed);

// What is no function.
$all = fetch_all();
foreach ($all as $key => $value) {
    if (is_array($value)) {
        foreach ($value as $k => &$by) {
            $by = [$by];
        }
        unset($by);
        foreach (['ArrayObject', 'ArrayIterator', 'RecursiveArrayIterator'] as
            $class) {
            $object = new $class($value);
            $object['new'] = 1;
            unset($object['new']);
            foreach ($object as $k => $v) {
                $object[$k] = 'x';
            }
            $object->uasort(fn ($a, $b) => $a <=> $b);
            $object->ksort();
            $copy = $object->getArrayCopy();
            serialize($object);
            $object = unserialize(serialize(new $class(
                value_fetch($ids[$key]))));
        }
        foreach (new RecursiveIteratorIterator(
            new RecursiveArrayIterator(value_fetch($ids[$key]))) as $v) {
        }
        $fixed = SplFixedArray::fromArray(array_values(
            value_fetch($ids[$key])));
        foreach ($fixed as $i => $v) {
            $fixed[$i] = 'x';
        }
        $heap = new SplObjectStorage();
        $list = new SplDoublyLinkedList();
        foreach (value_fetch($ids[$key]) as $v) {
            $list->push($v);
        }
        [, $second] = value_fetch($ids['list']);
        ['a' => $a, 'c' => ['y' => [, $z]]] = value_fetch($ids['map']);
        [&$p] = $value;
        $p = 1;
        unset($p);
        $spread = [...value_fetch($ids[$key]), ...[1]];
        $merged = value_fetch($ids[$key]) + ['k' => 1];
        $object = (object)value_fetch($ids[$key]);
        $object->added = 1;
        $object->{'b'} = 2;
        $generator = (function () use ($value) {
            yield from $value;
        })();
        foreach ($generator as $v) {
        }
        (function () use ($ids, $key) {
            $first = 1;
            extract(value_fetch($ids[$key]), EXTR_PREFIX_ALL, 'p');
            @compact(value_fetch($ids['strings']));
            parse_str(value_fetch($ids['url']), $r);
            return get_defined_vars();
        })();
        ob_start();
        var_dump(value_fetch($ids[$key]));
        print_r(value_fetch($ids[$key]));
        var_export(value_fetch($ids[$key]));
        debug_zval_dump(value_fetch($ids[$key]));
        ob_end_clean();
        $GLOBALS['fetched'] = value_fetch($ids[$key]);
        array_walk_recursive($GLOBALS['fetched'], fn (&$v) => $v = 1);
        unset($GLOBALS['fetched']);
        $static = new class (value_fetch($ids[$key])) {
            public function __construct(public array $a)
            {
                $this->a['more'] = 1;
            }
        };
    } elseif (is_string($value)) {
        $value .= 'x';
        $value[0] = 'y';
        $other = value_fetch($ids[$key]);
        if ($other !== '') {
            $other[0] = 'z';
            $other[strlen($other) - 1] = 'z';
        }
        $other = value_fetch($ids[$key]) . $other;
        @$other++;
        $list = [value_fetch($ids[$key]) => 1];
        $list[value_fetch($ids[$key]) . 'k'] = 2;
        ${$variable = value_fetch($ids[$key])} = 1;
        $object = new stdClass();
        if ($variable !== '' && $variable[0] !== "\0") {
            $object->$variable = 2;
        }
        $exception = new Exception(value_fetch($ids[$key]));
        @ini_set('user_agent', value_fetch($ids[$key]));
        @putenv('HONE_TEST=' . value_fetch($ids['word']));
        try {
            preg_match(value_fetch($ids['pattern']), $variable);
            preg_replace_callback('/./u', fn ($m) => $m[0], $variable);
            $date = new DateTime(value_fetch($ids['date']));
            constant(value_fetch($ids[$key]));
        } catch (Throwable $e) {
        }
        @define('HONE_' . $key, value_fetch($ids[$key]));
        @trigger_error(value_fetch($ids[$key]));
    }
    expect(serialize(fetch_all()) === $wanted, "unchanged by the rest ($key)");
}
echo "$called calls, $returned returned; ", count($never), " functions never\n";
expect($returned > $called / 3, 'functions take their arguments');
