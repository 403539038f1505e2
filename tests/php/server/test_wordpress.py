# SPDX-License-Identifier: BSD-3-Clause
"""docs/examples/wordpress-object-cache.php: with this machine's cache alone, and
as the first tier in front of a real Redis, for two pools of php-fpm that are
like two machines."""
import json
import socket
import time

import pytest

SECONDS = 60  # HoneObjectCache::SECONDS


@pytest.fixture
def machines(start_fpm):
    """A function that calls a machine: (pool, what, key=value...)."""
    pools = {name: {'pm': 'static', 'pm.max_children': 3,
                    'php_admin_value[hone.cache_pool]': name}
             for name in ('one', 'two')}
    # No cache: hone.cache_size is 0.
    pools['off'] = {'pm': 'static', 'pm.max_children': 1}
    master = start_fpm(
        {'hone.cache_size': 0, 'hone.cache_pools': '"one=8M,two=8M"',
         'log_errors': 1, 'display_errors': 1, 'html_errors': 0}, pools)

    def call(pool, what, *, quiet=True, **query):
        if 'value' in query:
            query['value'] = json.dumps(query['value'])
        answer = master.page(pool, 'wordpress.php', do=what,
                             **{key: str(value) for key, value in query.items()})
        assert answer.status == 200, (answer.body, answer.errors)
        assert not quiet or not answer.errors, answer.errors
        return json.loads(answer.body)['result']

    call.in_background = master.in_background
    return call


def check_one(call, **redis):
    """What WordPress expects, of one machine."""
    assert call('one', 'get', **redis) is False
    assert call('one', 'replace', value=1, **redis) is False
    assert call('one', 'set', value=[1, {'a': 'b'}], **redis)
    assert call('one', 'get', **redis) == [1, {'a': 'b'}]
    assert call('one', 'add', value=2, **redis) is False
    assert call('one', 'replace', value=2, **redis)
    assert call('one', 'get', **redis) == 2
    assert call('one', 'incr', value=5, **redis) == 7
    assert call('one', 'decr', value=100, **redis) == 0
    assert call('one', 'get', **redis) == 0
    assert call('one', 'incr', key='none', value=1, **redis) is False
    assert call('one', 'delete', **redis) is True
    assert call('one', 'delete', **redis) is False
    assert call('one', 'get', **redis) is False
    assert call('one', 'add', value='new', **redis)
    assert call('one', 'types', **redis) == []
    assert call('one', 'objects', **redis) is True
    # Groups: of all sites, of one, of a request.
    for group in ('users', 'posts', 'counts'):
        assert call('one', 'set', group=group, value=group, **redis)
    assert call('one', 'get', group='users', **redis) == 'users'
    assert call('one', 'blog', group='users', **redis) == 'users'
    assert call('one', 'blog', group='posts', **redis) is False
    assert call('one', 'get', group='counts', **redis) is False
    assert call('one', 'flush_group', group='posts', **redis)
    assert call('one', 'get', group='posts', **redis) is False
    assert call('one', 'get', group='users', **redis) == 'users'
    assert call('one', 'flush', **redis)
    assert call('one', 'get', group='users', **redis) is False
    assert call('one', 'set', value='short', seconds=2, **redis)
    time.sleep(3.1)
    assert call('one', 'get', **redis) is False
    assert call('one', 'groups', **redis) == [True, False, True, True, 1, 2, 3]
    # A counter keeps its lifetime, also if it begins as a string.
    for value in (1, '1'):
        assert call('one', 'set', value=value, seconds=30, **redis)
        assert call('one', 'incr', value=1, **redis) == 2
        assert call('one', 'decr', value=1, **redis) == 1
        assert call('one', 'get', **redis) == 1
        assert 0 < call('one', 'left', **redis) <= 30
    # Lifetimes that have ended.
    assert call('one', 'set', value='old', **redis)
    assert call('one', 'set', value='ended', seconds=-5, **redis)
    time.sleep(2.1)
    assert call('one', 'get', **redis) is False


def test_objects_are_cloned_as_wordpress_does(machines, redis):
    for query in ({}, {'redis': redis}):
        for name, seen in machines('one', 'shared', **query).items():
            assert seen['here'] == seen['core'], name
            # The outer object is a clone; those in it are shared.
            assert '"own":2' not in seen['core'][1], name
            assert '"n":3' in seen['core'][1], name
            assert seen['next'] is True, name


# add, get, replace, get, get by force, add; in the next request: get;
# set, get, delete, get; after another set: get.
ALONE = [False, 'old', False, True, True, False, False, True, True, False, 'new']


def test_what_cannot_be_stored_is_kept_for_the_request(machines):
    assert machines('one', 'large', quiet=False) == ALONE
    assert machines('one', 'closure', quiet=False) == ALONE
    assert machines('one', 'enum') == [True, True]


def test_what_cannot_be_stored_in_front_of_redis(machines, redis):
    assert machines('one', 'closure', redis=redis, quiet=False) == ALONE
    # Redis has what the first tier is too small for.
    assert machines('one', 'large_in_redis', redis=redis, quiet=False) == [
        True, 9 << 20]


def test_without_a_cache_a_request_has_its_values(machines):
    # The log says that this pool has no cache.
    assert machines('off', 'off', quiet=False) == [
        False, False, True, False, True, 3, 5, 5, True, True, False, False]
    assert machines('off', 'get', quiet=False, key='off') is False


def test_alone(machines):
    check_one(machines)
    machines('one', 'set', value=1)
    assert machines('one', 'left') < 0  # it has no end


def test_in_front_of_redis(machines, redis):
    check_one(machines, redis=redis)
    machines('one', 'set', value=1, redis=redis)
    assert 0 < machines('one', 'left', redis=redis) <= SECONDS
    # The lifetime in Redis is that of the first tier, too.
    machines('one', 'set', value=1, seconds=20, redis=redis)
    assert machines('two', 'get', redis=redis) == 1
    assert 0 < machines('two', 'left', redis=redis) <= 20


def test_redis_with_a_password(machines, redis):
    with socket.socket(socket.AF_UNIX) as plug:
        plug.connect(str(redis))
        plug.sendall(b'CONFIG SET requirepass secret\r\n')
        assert plug.recv(100) == b'+OK\r\n'
    for auth in ('"secret"', '["default", "secret"]'):
        assert machines('one', 'set', value=auth, redis=redis, auth=auth)
        assert machines('two', 'force', redis=redis, auth=auth) == auth
    # With a wrong one, the first tier goes on alone.
    assert machines('one', 'set', value='own', redis=redis, auth='"wrong"', quiet=False)
    assert machines('one', 'get', redis=redis, auth='"wrong"', quiet=False) == 'own'


def test_what_one_machine_changes_the_other_forgets(machines, redis, until_all_listen):
    def call(pool, what, **query):
        return machines(pool, what, redis=redis, **query)

    def comes(pool, what, value, **query):
        while call(pool, what, **query) != value:
            time.sleep(0.01)

    assert call('one', 'set', value='first')
    # The other machine gets it from Redis, and then has it.
    assert call('two', 'first') == 0
    assert call('two', 'get') == 'first'
    assert call('two', 'first') == 1
    # Both agree who was first.
    assert call('two', 'add', value='second') is False
    # Without a listener it is stale, unless it is asked for by force.
    assert call('one', 'set', value='newer')
    assert call('two', 'get') == 'first'
    assert call('two', 'force') == 'newer'

    for pool in ('one', 'two'):
        machines.in_background(lambda pool=pool: call(pool, 'listen', seconds=600))
    until_all_listen(2)
    # To listen begins with an empty first tier; Redis knows the listeners before.
    comes('two', 'first', 0)
    comes('one', 'first', 0)
    assert call('two', 'get') == 'newer'
    assert call('one', 'set', value='newest')
    comes('two', 'get', 'newest')
    # Who changed it keeps it.
    time.sleep(0.2)
    assert call('one', 'first') == 1
    call('one', 'delete')
    comes('two', 'first', 0)
    assert call('two', 'get') is False
    assert call('one', 'set', value='again')
    assert call('two', 'get') == 'again'
    call('one', 'flush')
    comes('two', 'first', 0)
    assert call('two', 'get') is False


def test_without_redis_the_first_tier_goes_on(machines, tmp_path):
    nowhere = tmp_path / 'nowhere.sock'

    def call(what, **query):
        return machines('one', what, redis=nowhere, quiet=False, **query)

    assert call('set', value='kept')
    assert call('get') == 'kept'
    assert call('add', value='no') is False
    assert call('delete') is True
    assert call('get') is False
    assert call('flush') is True
