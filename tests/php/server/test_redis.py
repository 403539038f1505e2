# SPDX-License-Identifier: BSD-3-Clause
"""docs/examples/chain.php: the cache as the first tier in front of a real Redis,
for two pools of php-fpm that are like two machines."""
import time


def test_what_one_machine_changes_the_other_forgets(
        server, start_fpm, redis, until_all_listen):
    pools = {name: {'pm': 'static', 'pm.max_children': 3,
                    'php_admin_value[hone.cache_pool]': name}
             for name in ('one', 'two')}
    master = start_fpm(
        {'hone.cache_size': 0, 'hone.cache_pools': '"one=8M,two=8M"',
         'include_path': f'"{server.root}/usr/share/php:/usr/share/php"',
         'extension_dir': f'"{server.root}"',
         'zend.assertions': -1, 'error_reporting': 8191,
         'extension ': server.extension('igbinary'),
         'extension  ': server.extension('redis')}, pools)

    def call(pool, what, **query):
        answer = master.page(pool, 'chain.php', do=what, redis=str(redis), **query)
        assert answer.status == 200, (answer.body, answer.errors)
        return answer.json()

    def becomes_none(pool):
        while call(pool, 'first')['result'] is not None:
            time.sleep(0.01)

    assert call('one', 'get', value='first') == {'result': 'first', 'computed': True}
    assert call('one', 'first')['result'] == 'first'
    # The other machine gets it from Redis, and then has it.
    assert call('two', 'first')['result'] is None
    assert call('two', 'get', value='other') == {'result': 'first', 'computed': False}
    assert call('two', 'first')['result'] == 'first'

    # Without a listener the other machine keeps it, even without Redis.
    call('one', 'forget')
    assert call('one', 'first')['result'] is None
    assert call('two', 'first')['result'] == 'first'

    for pool in pools:
        master.in_background(lambda pool=pool: call(pool, 'listen'))
    until_all_listen(2)
    # To listen begins with an empty first tier.
    assert call('two', 'first')['result'] is None
    assert call('one', 'get', value='second')['result'] == 'second'
    assert call('two', 'get', value='other')['result'] == 'second'
    assert call('two', 'first')['result'] == 'second'
    call('one', 'forget')
    becomes_none('two')
    assert call('two', 'get', value='third')['result'] == 'third'
    assert call('one', 'get', value='other')['result'] == 'third'
