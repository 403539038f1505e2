<?php
/* SPDX-License-Identifier: BSD-3-Clause */
// docs/examples/wordpress-object-cache.php in a worker, as WordPress calls it;
// each pool is a machine of its own.
use Hone\Cache;

if (isset($_GET['redis'])) {
    define('HONE_REDIS', 'unix://' . $_GET['redis']);
}
if (isset($_GET['auth'])) {
    define('HONE_REDIS_AUTH', json_decode($_GET['auth']));
}
define('DB_NAME', 'site');
require __DIR__ . '/../../../../docs/examples/wordpress-object-cache.php';

wp_cache_init();
wp_cache_add_non_persistent_groups(['counts']);
wp_cache_add_global_groups(['users']);
$key = $_GET['key'] ?? 'k';
$group = $_GET['group'] ?? '';
$value = json_decode($_GET['value'] ?? 'null', true);
$seconds = $_GET['seconds'] ?? 0;

enum Seed
{
    case One;
}

/** The same values after Redis and after the first tier, with their types. */
function types(): array
{
    $object = new ArrayObject(['a' => [1, 2.5]]);
    $values = [0, 1, -5, 1.5, '1', '', "a\0\r\nb", true, false, null, [], ['x' => [1, null]], $object];
    $wrong = [];
    foreach ($values as $i => $value) {
        wp_cache_set("type$i", $value, 'types');
        wp_cache_flush_runtime();
        foreach ([false, true] as $force) {
            $got = wp_cache_get("type$i", 'types', $force, $found);
            if (!$found || serialize($got) !== serialize($value)) {
                $wrong[] = [$i, $force];
            }
        }
    }
    return $wrong;
}

/** What a request changes of an object stays its own. */
function objects(): bool
{
    $given = new ArrayObject([1]);
    wp_cache_set('object', $given);
    $given[] = 2;
    $got = wp_cache_get('object');
    $got[] = 3;
    return count(wp_cache_get('object')) === 1 && count($got) === 2;
}

/** What WP_Object_Cache of WordPress does with an object: it clones the outer one. */
final class Core
{
    private array $values = [];

    public function set(string $key, mixed $value): void
    {
        $this->values[$key] = is_object($value) ? clone $value : $value;
    }

    public function get(string $key): mixed
    {
        $value = $this->values[$key];
        return is_object($value) ? clone $value : $value;
    }
}

/** What two who fetch a value in one request share: of WordPress, and of this cache. */
function shared(): array
{
    $core = new Core();
    $make = fn() => (object)['own' => 1, 'array' => [1], 'inner' => (object)['n' => 1], 'list' => [(object)['n' => 1]]];
    $change = function (mixed $value): void {
        if (is_object($value)) {
            $value->own++;
            $value->array[] = 2;
            $value->inner->n++;
            $value->list[0]->n++;
        } else {
            $value['object']->n++;
            $value['list'][0]->n++;
            $value['new'] = 1;
        }
    };
    $results = [];
    foreach (['object' => $make, 'array' => fn() => ['object' => (object)['n' => 1], 'list' => [(object)['n' => 1]]]] as $name => $value) {
        foreach (['core', 'here'] as $who) {
            $set = $who === 'core' ? $core->set(...) : fn($key, $value) => wp_cache_set($key, $value, 'shared');
            $get = $who === 'core' ? $core->get(...) : fn($key) => wp_cache_get($key, 'shared');
            $given = $value();
            $set($name, $given);
            $change($given);
            $seen = [json_encode($get($name))];
            $change($get($name));
            $seen[] = json_encode($get($name));
            $set($name, $get($name));
            $seen[] = json_encode($get($name));
            $results[$name][$who] = $seen;
        }
        // The next request has what was stored, whatever this one changes.
        wp_cache_flush_runtime();
        $change(wp_cache_get($name, 'shared'));
        wp_cache_flush_runtime();
        $results[$name]['next'] = json_encode(wp_cache_get($name, 'shared')) === end($seen);
    }
    return $results;
}

/** A value that cannot be stored: the request has it, and no other finds the old one. */
function alone(mixed $value): array
{
    wp_cache_set('alone', 'old', 'alone');
    $results = [@wp_cache_add('alone', $value, 'alone'), wp_cache_get('alone', 'alone'),
        @wp_cache_replace('alone', $value, 'alone'), wp_cache_get('alone', 'alone') == $value,
        wp_cache_get('alone', 'alone', true) == $value, wp_cache_add('alone', 1, 'alone')];
    wp_cache_flush_runtime();
    $results[] = wp_cache_get('alone', 'alone');
    @wp_cache_set('alone', $value, 'alone');
    $results[] = wp_cache_get('alone', 'alone') == $value;
    $results[] = wp_cache_delete('alone', 'alone');
    $results[] = wp_cache_get('alone', 'alone');
    wp_cache_set('alone', 'new', 'alone');
    wp_cache_flush_runtime();
    $results[] = wp_cache_get('alone', 'alone');
    return $results;
}

$result = match ($_GET['do']) {
    'get' => wp_cache_get($key, $group, false, $found),
    'force' => wp_cache_get($key, $group, true, $found),
    'first' => count(iterator_to_array(Cache::entries("wp:site:1:default:$key"))),
    'left' => [...Cache::entries("wp:site:1:default:$key")]["wp:site:1:default:$key"]['expires'] - time(),
    'set' => wp_cache_set($key, $value, $group, $seconds),
    'add' => wp_cache_add($key, $value, $group, $seconds),
    'replace' => wp_cache_replace($key, $value, $group, $seconds),
    'delete' => wp_cache_delete($key, $group),
    'incr' => wp_cache_incr($key, $value, $group),
    'decr' => wp_cache_decr($key, $value, $group),
    'flush' => wp_cache_flush(),
    'flush_group' => wp_cache_flush_group($group),
    'blog' => (function () use ($key, $group) {
        wp_cache_switch_to_blog(2);
        return wp_cache_get($key, $group);
    })(),
    'types' => types(),
    'objects' => objects(),
    'shared' => shared(),
    'closure' => alone((object)['call' => fn() => 1]),
    'large' => alone(str_repeat('x', 9 << 20)),
    'enum' => [wp_cache_set('enum', Seed::One), wp_cache_get('enum') === Seed::One],
    'large_in_redis' => (function () {
        wp_cache_set('large', 'old');
        $stored = @wp_cache_set('large', str_repeat('x', 9 << 20));
        wp_cache_flush_runtime();
        return [$stored, strlen(@wp_cache_get('large'))];
    })(),
    'off' => [wp_cache_get('off'), wp_cache_replace('off', 1), wp_cache_add('off', 1, '', 60),
        wp_cache_add('off', 2), wp_cache_replace('off', 3), wp_cache_get('off', '', true),
        wp_cache_incr('off', 2), wp_cache_get('off'), wp_cache_set('off', 1, '', -5),
        wp_cache_delete('off'), wp_cache_delete('off'), wp_cache_get('off')],
    'groups' => [wp_cache_set('b:c', 1, 'a'), wp_cache_get('c', 'a:b'),
        wp_cache_set('c', 2, 'a:b'), wp_cache_set('c', 3, 'a%3Ab'),
        wp_cache_get('b:c', 'a'), wp_cache_get('c', 'a:b'), wp_cache_get('c', 'a%3Ab')],
    'listen' => HoneObjectCache::listen((int)$seconds),
};
echo json_encode(['result' => $result, 'found' => $found ?? null]);
