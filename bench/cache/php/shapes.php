<?php
// SPDX-License-Identifier: BSD-3-Clause
// The values of ./dev bench cache. They are the same in each process, and made
// at run time: a constant array would lie in opcache's memory already.
declare(strict_types=1);

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

/** $count arrays in an array. */
function nested(int $count): array
{
    $nested = [];
    for ($i = 0; $i < $count; $i++) {
        $nested["key $i"] = ['id' => $i, 'name' => "element $i"];
    }
    return $nested;
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
        's20' => text(20, 1),
        's1k' => text(1024, 1),
        'ints' => array_map(fn($i) => $i * 1000003 % 65521, range(1, 64)),
        'keys' => array_combine(
            array_map(fn($i) => "key_$i", range(1, 100)),
            array_map(fn($i) => $i % 4 ? text(5 + $i % 30, $i) : $i, range(1, 100))),
        'options' => options(),
        'rows' => rows(),
        'nested' => nested(10000),
        'graph' => graph(),
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
    };
}

/** Objects are the same if they have the same parts. */
function same(mixed $one, mixed $other): bool
{
    return $one === $other ||
        (is_object($one) && is_object($other) && serialize($one) === serialize($other));
}
