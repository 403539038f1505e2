<?php
/* SPDX-License-Identifier: BSD-3-Clause */
/* An object cache for WordPress on apcu_*, which APCu or Hone has: copied to
 * wp-content. What a request has fetched, it keeps. */
class WP_Object_Cache
{
    private array $values = [];
    private array $transient_groups = [];
    private array $global_groups = [];
    private string $blog = '1';

    private function id($key, $group): string
    {
        $group = $group ?: 'default';
        $blog = isset($this->global_groups[$group]) ? '' : $this->blog;
        return "wp:$blog:$group:$key";
    }

    private function is_shared($group): bool
    {
        return !isset($this->transient_groups[$group ?: 'default']);
    }

    private static function own($value)
    {
        return is_object($value) ? clone $value : $value;
    }

    public function get($key, $group, $force, &$found)
    {
        $id = $this->id($key, $group);
        if (!$force && array_key_exists($id, $this->values)) {
            $found = true;
            return self::own($this->values[$id]);
        }
        $found = false;
        if (!$this->is_shared($group)) {
            return false;
        }
        $value = apcu_fetch($id, $found);
        if ($found) {
            $this->values[$id] = $value;
        }
        return self::own($value);
    }

    public function set($key, $value, $group, $expire): bool
    {
        $id = $this->id($key, $group);
        $this->values[$id] = self::own($value);
        return !$this->is_shared($group) || apcu_store($id, $value, max(0, (int)$expire));
    }

    public function add($key, $value, $group, $expire): bool
    {
        if (wp_suspend_cache_addition()) {
            return false;
        }
        $this->get($key, $group, false, $found);
        return !$found && $this->set($key, $value, $group, $expire);
    }

    public function replace($key, $value, $group, $expire): bool
    {
        $this->get($key, $group, false, $found);
        return $found && $this->set($key, $value, $group, $expire);
    }

    public function delete($key, $group): bool
    {
        $this->get($key, $group, false, $found);
        $id = $this->id($key, $group);
        unset($this->values[$id]);
        if ($this->is_shared($group)) {
            apcu_delete($id);
        }
        return $found;
    }

    public function change($key, $offset, $group)
    {
        $value = $this->get($key, $group, false, $found);
        if (!$found) {
            return false;
        }
        $value = max(0, (is_numeric($value) ? $value : 0) + $offset);
        $this->set($key, $value, $group, 0);
        return $value;
    }

    public function flush(): bool
    {
        $this->values = [];
        return apcu_clear_cache();
    }

    public function flush_runtime(): bool
    {
        $this->values = [];
        return true;
    }

    public function add_groups($groups, bool $global): void
    {
        foreach ((array)$groups as $group) {
            $this->{$global ? 'global_groups' : 'transient_groups'}[$group] = true;
        }
    }

    public function switch_to_blog($blog): void
    {
        $this->blog = (string)$blog;
    }
}

function wp_cache_init()
{
    $GLOBALS['wp_object_cache'] = new WP_Object_Cache();
}

function wp_cache_get($key, $group = '', $force = false, &$found = null)
{
    return $GLOBALS['wp_object_cache']->get($key, $group, $force, $found);
}

function wp_cache_set($key, $data, $group = '', $expire = 0)
{
    return $GLOBALS['wp_object_cache']->set($key, $data, $group, $expire);
}

function wp_cache_add($key, $data, $group = '', $expire = 0)
{
    return $GLOBALS['wp_object_cache']->add($key, $data, $group, $expire);
}

function wp_cache_replace($key, $data, $group = '', $expire = 0)
{
    return $GLOBALS['wp_object_cache']->replace($key, $data, $group, $expire);
}

function wp_cache_delete($key, $group = '')
{
    return $GLOBALS['wp_object_cache']->delete($key, $group);
}

function wp_cache_incr($key, $offset = 1, $group = '')
{
    return $GLOBALS['wp_object_cache']->change($key, $offset, $group);
}

function wp_cache_decr($key, $offset = 1, $group = '')
{
    return $GLOBALS['wp_object_cache']->change($key, -$offset, $group);
}

function wp_cache_flush()
{
    return $GLOBALS['wp_object_cache']->flush();
}

function wp_cache_flush_runtime()
{
    return $GLOBALS['wp_object_cache']->flush_runtime();
}

function wp_cache_supports($feature)
{
    return $feature === 'flush_runtime';
}

function wp_cache_close()
{
    return true;
}

function wp_cache_add_global_groups($groups)
{
    $GLOBALS['wp_object_cache']->add_groups($groups, true);
}

function wp_cache_add_non_persistent_groups($groups)
{
    $GLOBALS['wp_object_cache']->add_groups($groups, false);
}

function wp_cache_switch_to_blog($blog)
{
    $GLOBALS['wp_object_cache']->switch_to_blog($blog);
}
