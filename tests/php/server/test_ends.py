# SPDX-License-Identifier: BSD-3-Clause
"""A request that ends in a method of a value, during a store or a fetch, leaves
the cache as it was, and nothing is held."""
import pytest

MESSAGES = {
    'exit': 'exit\n',
    'error': 'Fatal error: an error',
    'compile': 'Fatal error: Cannot declare class Answers',
    'memory': 'Fatal error: Allowed memory size',
    'time': 'Fatal error: Maximum execution time of 1 second exceeded',
}
ENDS = (
    ('store', '__serialize', {}), ('store', '__sleep', {}),
    ('store', '__destruct', {}), ('entry', '__serialize', {}),
    ('fetch', '__unserialize', {}), ('fetch', '__wakeup', {}),
    ('fetch', '__unserialize', {'read': 'block'}),
    ('fetch', '__unserialize', {'changed': 1}), ('fetch', 'autoload', {}),
    ('fetch', '__wakeup', {'changed': 1}))
KEYS = ['first', 'a', 's', 'text', 'again']


def check(master, found, pids):
    """Both workers use the cache: the first one finds the value or none."""
    seen = set()
    for _ in range(400):
        answer = master.page('www', script='ends.php', do='check').json()
        assert answer == {'pid': answer['pid'], 'before': found, 'stored': True,
                          'type': 'objects', 'fetched': True, 'entry': True}
        found = KEYS
        seen.add(answer['pid'])
        if len(seen) == 2:
            break
    assert len(seen) == 2
    assert pids in (None, seen)
    return seen


def two_workers(start_fpm):
    return start_fpm(
        {'hone.cache_size': '16M', 'display_errors': 1, 'html_errors': 0,
         'log_errors': 0, 'memory_limit': '64M'},
        {'www': {'pm': 'static', 'pm.max_children': 2}})


@pytest.mark.parametrize('how', MESSAGES)
def test_nothing_is_held_after_the_end_in_a_method(start_fpm, how):
    master = two_workers(start_fpm)
    pids = check(master, None, None)
    for do, method, more in ENDS:
        if do == 'entry':
            master.page('www', script='ends.php', do='delete')
        answer = master.page('www', script='ends.php', do=do, how=how,
                             **{'in': method}, **more)
        text = answer.body.decode()
        assert f'in {method}\n' in text, text
        assert MESSAGES[how] in text, text
        assert 'shutdown: 2\n' in text and 'no end' not in text, text
        check(master, None if do == 'entry' else KEYS, pids)
    for _ in range(2):
        filled = master.page('www', script='ends.php', do='fill').json()
        assert filled == {'stored': 200}
    master.page('www', script='ends.php', do='delete')
    check(master, None, pids)
    assert 'exited on signal' not in master.log.read_text()


def test_nothing_is_held_if_memory_ends_in_a_fetch(start_fpm):
    master = two_workers(start_fpm)
    pids = check(master, None, None)
    assert master.page('www', script='ends.php', do='store_many').json() is True
    text = master.page('www', script='ends.php', do='fetch_many').body.decode()
    assert text.startswith('begins\n'), text
    assert MESSAGES['memory'] in text and 'no end' not in text, text
    check(master, KEYS, pids)
    filled = master.page('www', script='ends.php', do='fill').json()
    assert filled == {'stored': 200}
    assert 'exited on signal' not in master.log.read_text()
