# SPDX-License-Identifier: BSD-3-Clause
"""The shared cache below php-fpm: pools, reloads, recycled and killed workers."""
import json
import os
import random
import signal
import threading
import time

import fpm
import pytest

SHOP, BLOG = 24 << 20, 40 << 20
SETTINGS = {'hone.cache_size': 0, 'hone.cache_pools': '"shop=24M,blog=40M"'}
STATIC = {'pm': 'static', 'pm.max_children': 3}


def pool(name, **directives):
    return {**STATIC, 'php_admin_value[hone.cache_pool]': name, **directives}


def two_pools(start_fpm, **settings):
    return start_fpm({**SETTINGS, **settings},
                     {'shop': pool('shop'), 'blog': pool('blog')})


def shared_mappings(pid):
    """{(first, end)} of the shared anonymous mappings of a process."""
    found = set()
    with open(f'/proc/{pid}/maps', encoding='utf-8') as file:
        for line in file:
            place, rights, *_ = line.split(None, 5)
            first, end = (int(text, 16) for text in place.split('-'))
            if rights[3] == 's':
                found.add((first, end))
    return found


def covered(mappings, size):
    """Neighbours may be parts of one region: whether size bytes in a row are
    mapped."""
    reach, begun = None, None
    for first, end in sorted(mappings):
        if reach != first:
            begun = first
        reach = end
        if reach - begun >= size:
            return True
    return False


def workers_of(master, name):
    """The workers of a pool: each has answered a request."""
    pids = set()
    for _ in range(400):
        pids.add(master.call(name, do='pid')['pid'])
        if len(pids) == STATIC['pm.max_children']:
            return pids
    raise AssertionError(f'only {pids} answer')


def test_all_workers_of_a_pool_have_a_value(start_fpm):
    master = two_pools(start_fpm)
    assert master.call('shop', do='store', key='k', value='mine')['result']
    seen = set()
    for _ in range(400):
        answer = master.call('shop', do='fetch', key='k')
        assert answer['result'] == 'mine'
        seen.add(answer['pid'])
        if len(seen) == 3:
            break
    assert len(seen) == 3
    assert master.call('shop', do='apcu', key='k')['result'] == 'mine'


def test_another_pool_has_neither_the_value_nor_the_memory(start_fpm):
    master = two_pools(start_fpm)
    master.call('shop', do='store', key='k', value='mine')
    assert master.call('blog', do='fetch', key='k')['result'] is None
    assert master.call('blog', do='info')['result']['pool'] == 'blog'
    shop, blog = workers_of(master, 'shop'), workers_of(master, 'blog')
    assert not shop & blog
    whole = shared_mappings(master.process.pid)
    assert covered(whole, SHOP) and covered(whole, BLOG)
    own = {name: set.intersection(*map(shared_mappings, pids)) & whole
           for name, pids in (('shop', shop), ('blog', blog))}
    assert covered(own['shop'], SHOP) and not covered(own['shop'], BLOG)
    assert covered(own['blog'], BLOG)
    caches = {name: {place for place in own[name]
                     if place[1] - place[0] > 1 << 20} for name in own}
    assert not caches['shop'] & caches['blog']


def test_a_pool_that_does_not_exist_is_off_with_a_warning(start_fpm):
    master = start_fpm({**SETTINGS, 'log_errors': 1, 'html_errors': 0},
                       {'shop': pool('nobody'), 'none': STATIC})
    answer = master.page('shop', do='fetch', key='k')
    assert b'"nobody" is not in hone.cache_pools' in (
        answer.body + answer.errors.encode() +
        master.log.read_bytes()), (answer.body, answer.errors)
    lines = 0
    for _ in range(20):
        answer = master.page('none', do='setting', key='apc.enabled')
        assert json.loads(answer.body)['result'] == '0'
        lines += answer.errors.count(
            'PHP Notice:  hone.cache_pool is empty, and there is no pool of '
            'hone.cache_size; the cache is off in this process')
    assert lines == 1
    assert not master.call('none', do='info')['result']['enabled']
    for worker in workers_of(master, 'none'):
        assert not covered(shared_mappings(worker), SHOP)


def test_opcache_computes_ini_get_once_for_all_pools(start_fpm):
    """The page says so, and which functions to ask instead."""
    master = start_fpm(
        {**SETTINGS, 'zend_extension': 'opcache'},
        {'shop': pool('shop'), 'none': STATIC})
    for name, enabled in (('shop', True), ('none', False)):
        for _ in range(10):
            assert master.page(name, do='enabled').json()['result'] == [
                '1', enabled, enabled, enabled]


def test_a_request_of_another_pool_has_no_cache_and_the_log_says_why(start_fpm):
    """Hosts that tell sites apart by fastcgi_param in one pool of FPM."""
    master = start_fpm(
        {**SETTINGS, 'log_errors': 1, 'html_errors': 0},
        {'www': {'pm': 'static', 'pm.max_children': 1}})

    def ask(name, **query):
        variables = {'PHP_ADMIN_VALUE': f'hone.cache_pool={name}'} if name else {}
        answer = master.page('www', variables=variables, **query)
        return json.loads(answer.body)['result'], answer.errors

    assert ask('shop', do='store', key='k', value='mine') == (True, '')
    for name, shown in (('blog', 'blog'), ('nobody', 'nobody'),
                        # PHP_ADMIN_VALUE stays in the worker.
                        (None, 'nobody')):
        result, errors = ask(name, do='fetch', key='k')
        assert result is None, name
        assert errors.count('PHP Warning:  hone.cache_pool: ') == 1, errors
        assert f'names the pool "{shown}", but its process uses "shop"' in errors
        assert 'a pool of FPM with php_admin_value[hone.cache_pool]' in errors
        info, _ = ask(name, do='info')
        assert not info['enabled']
        assert info['reason'] == 'hone.cache_pool is not the pool of this process'
        assert ask(name, do='apcu', key='k')[0] is False
        assert ask(name, do='store', key='k', value='other')[0] is False
        assert ask(name, do='setting', key='hone.cache_pool')[0] == shown
    assert ask('shop', do='fetch', key='k') == ('mine', '')
    assert ask('shop', do='info')[0]['pool'] == 'shop'


def test_a_worker_whose_first_pool_does_not_exist_says_so(start_fpm):
    master = start_fpm(
        {**SETTINGS, 'log_errors': 1, 'html_errors': 0},
        {'www': {'pm': 'static', 'pm.max_children': 1}})
    for name, reason in (
            ('nobody', 'the pool of hone.cache_pool does not exist'), ('other', 'the pool of hone.cache_pool does not exist'),
            ('shop', 'hone.cache_pool is not the pool of this process')):
        answer = master.page(
            'www', do='info',
            variables={'PHP_ADMIN_VALUE': f'hone.cache_pool={name}'})
        assert json.loads(answer.body)['result']['reason'] == reason
        # Of the names that do not exist, the first one is in the log.
        assert ('PHP Warning' in answer.errors) == (name != 'other')


def test_a_reload_begins_with_an_empty_cache_and_loses_no_request(start_fpm):
    master = two_pools(start_fpm)
    master.call('shop', do='store', key='k', value='old')
    before = len(shared_mappings(master.process.pid))
    done, failed, stop = [0], [], threading.Event()

    def load():
        while not stop.is_set():
            try:
                answer = master.call('shop', do='work', seed=done[0], keys=20, turns=50)
                assert not answer['result']['wrong'], answer
                done[0] += 1
            except Exception as error:  # pylint: disable=broad-except
                failed.append(repr(error))

    def answers_come():
        reached = done[0]
        while done[0] < reached + 10 and not failed:
            time.sleep(0.01)

    threads = [threading.Thread(target=load) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(3):
        answers_come()
        master.process.send_signal(signal.SIGUSR2)
        master.wait_for('ready to handle connections', turn + 2)
    answers_come()
    stop.set()
    for thread in threads:
        thread.join()
    assert not failed
    assert master.call('shop', do='fetch', key='k')['result'] is None
    assert master.call('shop', do='info')['result']['enabled']
    assert len(shared_mappings(master.process.pid)) == before


def test_recycled_workers_leave_their_slots(start_fpm):
    master = start_fpm(
        {'hone.cache_size': '16M', 'hone.cache_slots': 8},
        {'www': {**STATIC, 'pm.max_requests': 3}})
    master.call('www', do='store', key='k', value='kept')
    pids = set()
    for _ in range(150):
        answer = master.call('www', do='fetch', key='k')
        assert answer['result'] == 'kept'
        pids.add(answer['pid'])
    assert len(pids) > 30
    info = master.call('www', do='info')['result']
    assert info['enabled'] and info['slots_used'] <= 4, info


def test_block_copies_end_with_their_request(start_fpm):
    """A worker uses their memory again; each value has its own checksum. The
    table of a request with many copies is not kept."""
    master = start_fpm(
        {'hone.cache_size': '128M', 'hone.cache_read': 'block',
         'hone.cache_block_bytes': '256M'},
        {'www': {**STATIC, 'pm.max_children': 1}})
    sizes = [(400, 300)] * 30 + [(5000, 60000), (5000, 300)] * 2
    found = []
    for seed, (keys, turns) in enumerate(sizes):
        result = master.call('www', do='work', keys=keys, turns=turns,
                             seed=seed)['result']
        assert not result['wrong'], result
        found.append(result['found'])
        info = master.call('www', do='info')['result']
        assert info['block_bytes_used'] == 0
    assert sum(found[:30]) > 500 and found[30] > 4096, found


def kill_at_random(master, times, rand, answers):
    """SIGKILL to one worker after the other, and now and then none until some
    have answered."""
    killed = 0
    while killed < times:
        time.sleep(rand.uniform(0.005, 0.04))
        workers = master.workers()
        if workers:
            try:
                os.kill(rand.choice(workers), signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                continue
            if killed % 10 == 0:
                some_more(answers)


def some_more(answers):
    """Wait for two answers more: the second one was asked for after now."""
    reached = sum(answers)
    while sum(answers) < reached + 2:
        time.sleep(0.01)


@pytest.mark.parametrize('size, keys', [('16M', 3000), ('64M', 300)])
def test_killed_workers_leave_a_consistent_cache(start_fpm, size, keys):
    """Few megabytes and many keys: with evictions and both forms. Large: several
    shards. HONE_CHECKED: at least so many values are fetched and compared."""
    seed = int(os.environ.get('HONE_SEED') or random.randrange(1 << 30))
    print(f'HONE_SEED={seed}')
    master = start_fpm({'hone.cache_size': size, 'hone.cache_slots': 16,
                        'log_errors': 1},
                       {'www': {**STATIC, 'pm.max_children': 4}})
    master.call('www', do='info')
    wrong, full, stopped, stop = [], [], [], threading.Event()
    answers, lost, stored, refused, found = ([0] * 6 for _ in range(5))
    least = int(os.environ.get('HONE_CHECKED', 1))
    began = time.monotonic()

    def load(number):
        rand = random.Random(seed + number)
        while not stop.is_set():
            try:
                answer = master.page('www', do='work', keys=keys, turns=100,
                                     seed=rand.randrange(1 << 30))
                if 'evicts the least used' in answer.errors:
                    full.append(answer.errors)
                    answer.errors = ''
                # A busy machine stops who has a lock; the write is refused.
                elif 'has kept a lock of the cache' in answer.errors:
                    stopped.append(answer.errors)
                    answer.errors = ''
                result = answer.json()['result']
                if result['wrong']:
                    wrong.append(result)
                answers[number] += 1
                stored[number] += result['stored']
                refused[number] += result['refused']
                found[number] += result['found']
            except fpm.Lost:
                lost[number] += 1
            except Exception as error:  # pylint: disable=broad-except
                wrong.append(repr(error))
                answers[number] += 1  # nobody waits for it

    threads = [threading.Thread(target=load, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    rand, kills = random.Random(seed), 0
    while kills == 0 or (sum(found) < least and not wrong):
        kill_at_random(master, 200, rand, answers)
        kills += 200
    some_more(answers)
    stop.set()
    for thread in threads:
        thread.join()
    info = master.call('www', do='info')['result']
    print(f'{kills} workers killed, {sum(lost)} requests lost, {sum(answers)} '
          f'answered; {sum(stored)} stored, {sum(refused)} refused, '
          f'{sum(found)} found; {info["packed"]} packed, {info["warmed"]} made '
          f'warm, {info["cold_hits"]} hits of {info["hits"]} cold')
    assert not wrong, wrong[:5]
    assert len(full) <= 1, 'one process tells for all'
    minutes = (time.monotonic() - began) // 60
    assert len(stopped) <= 1 + minutes, 'one line a minute'
    assert sum(lost) > 10
    # A process that is stopped may cost a write.
    assert sum(refused) <= sum(stored) // 200
    # Not one of a signal that nobody sent.
    assert 'SIGSEGV' not in master.log.read_text()
    assert 'SIGBUS' not in master.log.read_text()
    assert 'SIGABRT' not in master.log.read_text()

    assert info['enabled'] and info['slots_used'] <= 16, info
    assert (0 < info['cold_hits'] < info['hits']) == (size == '16M'), info
    assert info['used'] + info['free'] <= info['size']
    assert master.call('www', do='check')['result'] == []
    # What one worker stores, the others have.
    master.call('www', do='store', key='after', value='all')
    for _ in range(20):
        assert master.call('www', do='fetch', key='after')['result'] == 'all'
    master.call('www', do='clear')
    info = master.call('www', do='info')['result']
    assert info['entries'] == 0
    assert master.call('www', do='count')['result'] == 0
    # What the dead have read is freed when the memory is needed.
    for number in range(8):
        assert master.call('www', do='large', key=f'large{number}',
                           size=info['size'] // 24)['result'], number
