<?php
/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What test_ends.py asks of a worker: a store or a fetch that ends in a method of
 * the value.
 */
use Hone\Cache;

/** Ends the request, if it is to end in this method. */
function in(string $method): void
{
    if (($_GET['in'] ?? '') !== $method) {
        return;
    }
    echo "in $method\n";
    switch ($_GET['how']) {
    case 'exit':
        exit("exit\n");
    case 'error':
        trigger_error('an error', E_USER_ERROR);
        break;
    case 'compile':
        eval('class Answers {}');
        break;
    case 'memory':
        str_repeat('x', 1 << 40);
        break;
    case 'time':
        set_time_limit(1);
        while (true) {
        }
    }
}

class Answers
{
    public $of;

    function __construct(public string $name) {}

    function __serialize(): array
    {
        $this->of = null;
        in('__serialize');
        return ['name' => $this->name, 'more' => new Plain];
    }

    function __unserialize(array $data): void
    {
        $this->name = $data['name'];
        in('__unserialize');
    }
}

class Sleeps
{
    public $name = 'sleeps', $more = [1, 2], $left;

    function __sleep(): array
    {
        in('__sleep');
        return ['name', 'more'];
    }

    function __wakeup(): void { in('__wakeup'); }
}

class Destroyed
{
    function __destruct() { in('__destruct'); }
}

function value(): array
{
    $answers = new Answers('answers');
    // Removed by __serialize().
    $answers->of = new Destroyed;
    return ['first' => new Plain, 'a' => $answers, 's' => new Sleeps, 'text' => str_repeat('x', 100000), 'again' => [$answers]];
}

// With another property, unserialize() makes the object.
$plain = 'class Plain { public $p = [1]; ' . ($_GET['changed'] ?? '' ? 'public $new;' : '') . ' }';
spl_autoload_register(function () use ($plain) {
    in('autoload');
    eval($plain);
});

switch ($_GET['do']) {
case 'store':
case 'entry':
case 'fetch':
    register_shutdown_function(function () {
        // This would not return if the request held anything.
        $of = Cache::store('shutdown', [new stdClass, 'x']) ? Cache::fetch('shutdown') : [];
        Cache::store('k2', 1);
        echo 'shutdown: ', count($of), "\n";
    });
    ini_set('hone.cache_read', $_GET['read'] ?? 'auto');
    if ($_GET['do'] === 'fetch') {
        Cache::fetch('k');
    } elseif ($_GET['do'] === 'store') {
        Cache::store('k', value());
    } else {
        apcu_entry('k', value(...));
    }
    echo "no end\n";
    return;
case 'check':
    $before = Cache::fetch('k');
    echo json_encode(['pid' => getmypid(), 'before' => $before ? array_keys($before) : null, 'stored' => Cache::store('k', value()),
        'type' => Cache::entries('k')->current()['type'], 'fetched' => Cache::fetch('k') == unserialize(serialize(value())),
        'entry' => apcu_entry('new' . getmypid(), fn() => 'made') === 'made' && Cache::delete('new' . getmypid())]);
    return;
case 'store_many':
    echo json_encode(Cache::store('many', [new Answers('before'), array_map(fn() => [new Plain], range(1, 20000)), new Sleeps]));
    return;
case 'fetch_many':
    // There is memory for a part of the objects.
    gc_mem_caches();
    echo ini_set('memory_limit', memory_get_usage(true) + 1) === false ? "no limit\n" : "begins\n";
    Cache::fetch('many');
    echo "no end\n";
    return;
case 'delete':
    Cache::delete('k');
    echo json_encode(true);
    return;
case 'fill':
    // Several times the size of the cache.
    $stored = 0;
    for ($i = 0; $i < 200; $i++) {
        $stored += Cache::store("fill$i", [new stdClass, str_repeat(chr($i), 300000)]);
    }
    echo json_encode(['stored' => $stored]);
    return;
}
