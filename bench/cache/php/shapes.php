<?php
// SPDX-License-Identifier: BSD-3-Clause
// The values of ./dev bench cache. They are the same in each process, and made
// at run time: a constant array would lie in opcache's memory already.
declare(strict_types=1);

require __DIR__ . '/metadata.php';

class Node
{
    public ?Node $next = null;
    public array $tags = [];

    public function __construct(public int $id, public string $name, public ?Node $parent)
    {
    }
}

class Graph
{
    /** @var list<Node> */
    public array $nodes = [];
}

/** Text that repeats only if $seed does. */
function text(int $length, int $seed): string
{
    $text = '';
    while (strlen($text) < $length) {
        $text .= md5("$seed " . strlen($text));
    }
    return substr($text, 0, $length);
}

/** Settings of WordPress: most values are short, some are long serialized arrays. */
function options(): array
{
    $options = [];
    for ($i = 0; $i < 600; $i++) {
        $length = match (true) {
            $i % 50 === 0 => 1200,
            $i % 10 === 0 => 200,
            $i % 3 === 0 => 1,
            default => 5 + $i % 30,
        };
        $options['option_' . text(4 + $i % 20, $i)] = text($length, $i);
    }
    return $options;
}

function rows(): array
{
    $rows = [];
    for ($i = 0; $i < 2000; $i++) {
        $rows[] = ['id' => $i, 'name' => "user number $i", 'mail' => "user$i@example.org",
            'visits' => $i * 7 % 1000, 'score' => $i / 3, 'active' => $i % 2 === 0];
    }
    return $rows;
}

/** A part of a value that PHP serializes by a method of its own. */
class Part
{
    public function __construct(public int $id = 0)
    {
    }

    public function __serialize(): array
    {
        return ['id' => $this->id];
    }

    public function __unserialize(array $data): void
    {
        $this->id = $data['id'];
    }
}

/** With typed properties, as a class of a program has them. */
class Record
{
    public int $id = 7;
    public string $name = 'a name';
    public float $score = 1.5;
    public bool $active = true;
    public ?array $tags = null;
}

/** Posts as WordPress has them: objects of 12 properties. */
function posts(int $count): array
{
    $posts = [];
    for ($i = 0; $i < $count; $i++) {
        $posts[] = (object)['ID' => $i, 'post_author' => (string)($i % 9), 'post_date' => '2026-01-02 03:04:05',
            'post_content' => text(100, $i), 'post_title' => "Post $i", 'post_excerpt' => '', 'post_status' => 'publish',
            'post_name' => "post-$i", 'post_parent' => 0, 'menu_order' => $i % 5, 'post_type' => 'post', 'filter' => 'raw'];
    }
    return $posts;
}

/** $count objects that lead to one another in a circle. */
function linked(int $count): array
{
    $nodes = [];
    for ($i = 0; $i < $count; $i++) {
        $nodes[] = $node = new Node($i, "node $i", $nodes[(int)($i / 3)] ?? null);
        $nodes[max(0, $i - 1)]->next = $node;
    }
    end($nodes)->next = $nodes[0];
    return $nodes;
}

/** Plain objects, one of them with a method that serializes it. */
function hooked(): array
{
    $objects = array_map(fn($i) => (object)['id' => $i, 'name' => "object $i", 'score' => $i / 4], range(1, 1000));
    $objects[500] = new Part(500);
    return $objects;
}

/** An object that holds arrays. */
function holder(array ...$arrays): stdClass
{
    return (object)$arrays;
}

function record(): Record
{
    $record = new Record();
    $record->tags = ['a', 'b'];
    return $record;
}

function dates(): array
{
    $zone = new DateTimeZone('Europe/Berlin');
    return array_map(fn($i) => (object)['id' => $i,
        'at' => (new DateTimeImmutable('@' . (1700000000 + $i * 3601)))->setTimezone($zone)], range(1, 200));
}

/** $count arrays in an array. */
function nested(int $count): array
{
    $nested = [];
    for ($i = 0; $i < $count; $i++) {
        $nested["key $i"] = ['id' => $i, 'name' => "element $i"];
    }
    return $nested;
}

/** $count rows of 5 fields, of about 141 bytes in the format of serialize(). */
function fields(int $count, int $from = 0): array
{
    $rows = [];
    for ($i = $from; $i < $from + $count; $i++) {
        $rows[] = ['id' => $i, 'name' => "user $i", 'mail' => "u$i@example.org",
            'state' => 'publish', 'score' => $i / 3];
    }
    return $rows;
}

/** Small arrays in arrays, as the configuration of a program has them. */
function configuration(): array
{
    return ['debug' => false,
        'database' => ['host' => 'localhost', 'port' => 3306, 'options' => ['timeout' => 5, 'persistent' => true]],
        'cache' => ['driver' => 'redis', 'ttl' => 3600],
        'mail' => ['from' => ['name' => 'A shop', 'address' => 'shop@example.org'], 'smtp' => ['port' => 25]],
        'locales' => ['de', 'en'], 'paths' => ['cache' => '/tmp']];
}

/** Objects that lead to one another in a circle, and to their parents. */
function graph(): Graph
{
    $graph = new Graph();
    $parent = $last = null;
    for ($i = 0; $i < 200; $i++) {
        $node = new Node($i, "node $i", $parent);
        $node->tags = ['colour' => $i % 7, 'label' => "label $i"];
        if ($last) {
            $last->next = $node;
        }
        $last = $node;
        $parent = $i % 5 ? $parent : $node;
        $graph->nodes[] = $node;
    }
    $last->next = $graph->nodes[0];
    return $graph;
}

function shape(string $name): mixed
{
    return match ($name) {
        'int' => 42,
        's20' => text(20, 1),
        's1k' => text(1024, 1),
        'ints' => array_map(fn($i) => $i * 1000003 % 65521, range(1, 64)),
        'keys' => array_combine(
            array_map(fn($i) => "key_$i", range(1, 100)),
            array_map(fn($i) => $i % 4 ? text(5 + $i % 30, $i) : $i, range(1, 100))),
        'options' => options(),
        'rows' => rows(),
        'fields' => fields(1000),
        'json' => json_decode(json_encode(fields(1000)), true),
        'config' => configuration(),
        'list' => range(1, 10000),
        'nested' => nested(10000),
        'graph' => graph(),
        'posts' => posts(1000),
        'posts3' => posts(3),
        'posts20' => posts(20),
        'posts200' => posts(200),
        'linked' => linked(1333),
        'hooked' => hooked(),
        'holder' => holder(rows: nested(10000)),
        'mixed' => holder(ints: range(1, 300), rows: array_slice(rows(), 0, 50)),
        'record' => record(),
        'dates' => dates(),
        'metadata' => metadata(),
    };
}

/** PHP that reads all of $v; $n counts what is true in it. */
function reading(string $shape): string
{
    return match ($shape) {
        's20', 's1k' => 'if ($v) { $n++; }',
        'ints', 'keys', 'options' => 'foreach ($v as $x) { if ($x) { $n++; } }',
        'rows', 'nested' => 'foreach ($v as $x) { foreach ($x as $y) { if ($y) { $n++; } } }',
        'graph' => 'foreach ($v->nodes as $x) {
            if ($x->id) { $n++; }
            if ($x->name) { $n++; }
            if ($x->parent) { $n++; }
            if ($x->next) { $n++; }
            foreach ($x->tags as $y) { if ($y) { $n++; } }
        }',
        default => 'foreach ($v as $x) { if ($x) { $n++; } }',
    };
}

/** Objects are the same if they have the same parts. */
function same(mixed $one, mixed $other): bool
{
    return $one === $other || (gettype($one) === gettype($other) &&
        !is_scalar($one) && serialize($one) === serialize($other));
}
