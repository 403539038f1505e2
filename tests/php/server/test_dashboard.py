# SPDX-License-Identifier: BSD-3-Clause
"""php/dashboard.php and the metrics page, behind php-fpm."""
import base64
import html
import html.parser
import os
import pathlib
import re
from urllib.parse import parse_qs

import pytest

TOP = pathlib.Path(__file__).resolve().parents[3]
PAGE = str(TOP / 'php/dashboard.php')
METRICS = str(TOP / 'docs/examples/metrics.php')
TOKEN = 'a token of 24 characters'
HOSTILE = ['<script>alert(1)</script>', '"><img src=x onerror=alert(1)>',
           "' onmouseover='alert(1)", '</script><script>alert(2)</script>',
           '&lt;b&gt;', 'zero\0byte', 'line\nbreak', '\u202egnp.exe', '123',
           'x' * 5000, '{{7*7}}', 'javascript:alert(1)', '\x1b[31m', 'ü€𝄞']


class Parts(html.parser.HTMLParser):
    """The tags of a page, and the attributes of each."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def handle_starttag(self, tag, attrs):
        self.seen |= {tag, *(f'{tag} {name}' for name, _ in attrs)}


def start(start_fpm, token=''):
    settings = {'hone.cache_size': '16M', 'display_errors': 1,
                'error_reporting': -1, 'html_errors': 0}
    variables = {'env[HONE_DASHBOARD_TOKEN]': f'"{token}"'} if token else {}
    return start_fpm(settings, {'www': {'pm': 'static', 'pm.max_children': 2,
                                        **variables}})


def page(master, variables=None, form=None, **query):
    answer = master.page('www', PAGE, form, variables, **query)
    assert not answer.errors, answer.errors
    assert b'Warning' not in answer.body and b'Notice' not in answer.body
    return answer


def sign_in(master):
    answer = page(master, form={'token': TOKEN})
    assert answer.status == 303
    cookie = answer.headers['set-cookie']
    assert 'HttpOnly' in cookie and 'SameSite=Strict' in cookie
    assert TOKEN not in cookie
    return {'HTTP_COOKIE': cookie.partition(';')[0]}


def csrf_of(answer):
    return re.search(rb'name="csrf" value="([0-9a-f]{64})"', answer.body)[1].decode()


def has(master, key):
    return master.call('www', do='fetch', key=key)['result'] is not None


def test_without_a_token_it_is_local_and_read_only(start_fpm):
    master = start(start_fpm)
    master.call('www', do='store', key='mine', value='secret value')
    answer = page(master)
    assert answer.status == 200 and b'mine' in answer.body
    assert b'name="delete"' not in answer.body
    name = base64.b64encode(b'mine').decode()
    assert b'secret value' not in page(master, key=name).body
    for variables in (
            {'REMOTE_ADDR': '192.0.2.1'}, {'REMOTE_ADDR': '::ffff:192.0.2.1'},
            {'REMOTE_ADDR': ''}, {'REMOTE_ADDR': '127.0.0.1\n'},
            {'HTTP_X_FORWARDED_FOR': '127.0.0.1'}, {'HTTP_VIA': '1.1 p'},
            {'HTTP_FORWARDED': 'for=192.0.2.1'},
            {'HTTP_HOST': 'rebound.example'}, {'HTTP_HOST': ''}):
        for query in ({}, {'data': '1'}):
            answer = page(master, variables, **query)
            assert answer.status == 403 and b'mine' not in answer.body
            assert b'"hits"' not in answer.body, variables
    for form in ({'delete': name}, {'delete': name, 'csrf': ''},
                 {'token': '', 'delete': name, 'csrf': '0' * 64}):
        assert page(master, form=form).status == 403
    assert has(master, 'mine')


def test_it_shows_the_host_versions_and_how_to_see_values(start_fpm):
    master = start(start_fpm)
    header = re.search(r'<header>.*?</header>', page(master).body.decode(), re.S)[0]
    assert f'host {os.uname().nodename}, Hone ' in header
    assert re.search(r'Hone \d+\.\d+\.\d+, PHP 8\.\S+ \(fpm-fcgi\)', header)
    hint = 'Set HONE_DASHBOARD_TOKEN to see values.'
    assert hint in header
    master.stop()
    master = start(start_fpm, TOKEN)
    assert hint not in page(master, sign_in(master)).body.decode()


def test_the_hottest_keys_are_without_those_that_have_no_hits(start_fpm):
    master = start(start_fpm)
    rows = re.compile(r'<section id="hottest">.*?</section>', re.S)
    assert 'No keys.' in rows.search(page(master).body.decode())[0]
    for key in ('cold', 'hot'):
        master.call('www', do='store', key=key, value='v')
    assert 'No key has hits.' in rows.search(page(master).body.decode())[0]
    # Hits are sampled.
    for _ in range(2000):
        master.call('www', do='fetch', key='hot')
        hottest = rows.search(page(master).body.decode())[0]
        if 'No key' not in hottest:
            break
    assert '>hot<' in hottest and '>cold<' not in hottest
    assert b'>cold<' in page(master).body


def test_the_meter_is_the_share_of_the_memory_in_use(start_fpm):
    master = start(start_fpm)
    assert master.call('www', do='large', key='k', size=4 << 20)['result'] is True
    text = page(master).body.decode()
    info = page(master, data='1').json()
    used = 100 * info['used'] / info['size']
    assert used > 20
    assert f'id="fill" width="{used:.2f}"' in text
    assert f'<span id="f-fill">{used:.1f} %</span> in use' in text


def test_a_token_is_asked_for_and_allows_deleting(start_fpm):
    master = start(start_fpm, TOKEN)
    master.call('www', do='store', key='mine', value='<i>value</i>')
    name = base64.b64encode(b'mine').decode()
    for variables in ({}, {'HTTP_COOKIE': 'hone_dashboard='},
                      {'HTTP_COOKIE': f'hone_dashboard={TOKEN}'},
                      {'HTTP_COOKIE': 'hone_dashboard[]=1'}):
        for query in ({}, {'data': '1'}, {'key': name}):
            answer = page(master, variables, **query)
            assert answer.status == 403 and b'mine' not in answer.body
    assert page(master, form={'token': 'wrong'}).status == 403
    assert page(master, form={'token[]': TOKEN}).status == 403

    cookie = sign_in(master)
    answer = page(master, {**cookie, 'REMOTE_ADDR': '192.0.2.1'}, key=name)
    assert b'&lt;i&gt;value&lt;/i&gt;' in answer.body
    csrf = csrf_of(answer)
    for form in ({'delete': name}, {'delete': name, 'csrf': '0' * 64},
                 {'delete': name, 'csrf[]': csrf}):
        assert page(master, cookie, form).status == 403
    assert page(master, {}, {'delete': name, 'csrf': csrf}).status == 403
    # By GET, nothing changes.
    page(master, cookie, delete=name, csrf=csrf)
    assert has(master, 'mine')
    for bad in ('%%%', base64.b64encode(b'another').decode()):
        answer = page(master, cookie, {'delete': bad, 'csrf': csrf})
        assert answer.headers['location'] == '?done=gone'
    answer = page(master, cookie, {'delete': name, 'csrf': csrf})
    assert (answer.status, answer.headers['location']) == (303, '?done=deleted')
    assert not has(master, 'mine')


def test_a_short_token_is_refused(start_fpm):
    master = start(start_fpm, 'short')
    answer = page(master, form={'token': 'short'})
    assert answer.status == 403 and b'at least 16' in answer.body


@pytest.mark.parametrize('token', ['', TOKEN])
def test_hostile_keys_and_values_are_text(start_fpm, token):
    master = start(start_fpm, token)
    cookie = sign_in(master) if token else {}
    master.call('www', do='store', key='plain', value='plain')
    plain = page(master, cookie, prefix='plain',
                 key=base64.b64encode(b'plain').decode()).body
    known = Parts()
    known.feed(plain.decode())
    parts_of_page = known.seen
    assert not any(' on' in part or 'style ' in part and 'nonce' not in part
                   for part in parts_of_page)
    for key in HOSTILE:
        assert master.call('www', do='store', key=key, value=key)['result']
    pages = [page(master, cookie)]
    pages += [page(master, cookie, prefix=key) for key in HOSTILE]
    pages += [page(master, cookie, key=base64.b64encode(key.encode()).decode())
              for key in HOSTILE]
    for answer in pages:
        assert answer.status == 200
        text = answer.body.decode()
        # Tags of the page itself only: as many scripts as without keys.
        assert text.count('<script') == plain.count(b'<script')
        assert '<img' not in text and '\u202e' not in text
        assert not re.search(r'[\0\x1b]', text)
        parts = Parts()
        parts.feed(text)
        assert parts.seen <= parts_of_page, parts.seen - parts_of_page
        assert len(text) < 200_000
        assert "default-src 'none'" in answer.headers['content-security-policy']
    shown = html.unescape(''.join(each.body.decode() for each in pages))
    for text in (*HOSTILE[:5], 'zero\\x00byte', 'line\\nbreak',
                 '\\xE2\\x80\\xAEgnp.exe', '\\x1B[31m', 'ü€𝄞'):
        assert text in shown, text


def test_a_key_of_any_bytes_is_deleted(start_fpm):
    master = start(start_fpm, TOKEN)
    cookie = sign_in(master)
    for key in HOSTILE:
        master.call('www', do='store', key=key, value=key)
    csrf = csrf_of(page(master, cookie))
    for key in HOSTILE:
        answer = page(master, cookie, {
            'csrf': csrf, 'delete': base64.b64encode(key.encode()).decode()})
        assert answer.headers['location'] == '?done=deleted', key
    assert master.call('www', do='count')['result'] == 0


class Links(html.parser.HTMLParser):
    """The targets of links, and what the forms of a page would delete."""

    def __init__(self, answer):
        super().__init__()
        self.links, self.deletes = [], []
        self.feed(answer.body.decode())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == 'a':
            self.links.append(attrs['href'])
        if tag == 'input' and attrs['name'] == 'delete':
            self.deletes.append(attrs['value'])


def test_long_keys_have_short_links_that_work(start_fpm):
    """400 keys of 60 KB, which begin alike. Memory is for fewer."""
    master = start_fpm(
        {'hone.cache_size': '128M', 'display_errors': 1, 'memory_limit': '24M',
         'error_reporting': -1, 'html_errors': 0},
        {'www': {'pm': 'static', 'pm.max_children': 1,
                 'env[HONE_DASHBOARD_TOKEN]': f'"{TOKEN}"'}})
    cookie = sign_in(master)
    long = {'do': 'long', 'key': '"long<key>', 'times': 6000}
    assert master.call('www', **long, keys=400)['result'] == 400
    answer = page(master, cookie, prefix='"long<key>')
    assert len(answer.body) < 200_000
    found = Links(answer)
    assert len(set(found.links)) >= 60 and max(map(len, found.links)) < 700
    assert set(parse_qs(link[1:])['key'][0] for link in found.links) == set(
        found.deletes)
    shown = page(master, cookie, **{'key': found.deletes[0]}).body
    number = re.search(rb'value (\d+)', shown)[1].decode()
    assert len(shown) < 200_000
    key = '"long<key>' * 6000 + number
    # Of another key that begins alike, and of a key that exists no more.
    csrf = csrf_of(answer)
    begin = found.deletes[0].partition('.')[0]
    for name in (f'{begin}.{"0" * 64}', f'{begin}.', f'%.{"0" * 64}', '.',
                 base64.b64encode(key[:256].encode()).decode()):
        answer = page(master, cookie, {'csrf': csrf, 'delete': name})
        assert answer.headers['location'] == '?done=gone', name
        assert b'key does not exist' in page(master, cookie, key=name).body
    few = found.deletes[:5]
    assert len(set(few)) == 5
    for name in few:
        answer = page(master, cookie, {'csrf': csrf, 'delete': name})
        assert answer.headers['location'] == '?done=deleted', name
        answer = page(master, cookie, {'csrf': csrf, 'delete': name})
        assert answer.headers['location'] == '?done=gone', name
    assert master.call('www', do='count')['result'] == 395


@pytest.mark.parametrize('size', [0, 255, 256, 257, 65535])
def test_a_key_of_any_length_is_deleted(start_fpm, size):
    master = start(start_fpm, TOKEN)
    cookie = sign_in(master)
    # One digit follows.
    assert master.call('www', do='long' if size else 'store', key='k' * (
        size > 0), times=size - 1, keys=1)['result'] == 1
    answer = page(master, cookie)
    name, = set(Links(answer).deletes)
    assert b'The key does not exist' not in page(master, cookie, key=name).body
    answer = page(master, cookie, {'csrf': csrf_of(answer), 'delete': name})
    assert answer.headers['location'] == '?done=deleted'
    assert master.call('www', do='count')['result'] == 0


def value_of(answer):
    """What the page says about a value, and its text."""
    section = re.search(r'<section class="all" id="value">.*?</section>',
                        answer.body.decode(), re.S)[0]
    note, text = re.search(r'<p class="quiet">(.*?)</p><pre>(.*?)</pre>',
                           section, re.S).groups()
    return note, html.unescape(text)


def test_a_value_of_many_levels_or_bytes_is_shown_in_part(start_fpm):
    master = start_fpm(
        {'hone.cache_size': '128M', 'display_errors': 1, 'memory_limit': '8M',
         'error_reporting': -1, 'html_errors': 0},
        {'www': {'pm': 'static', 'pm.max_children': 1,
                 'env[HONE_DASHBOARD_TOKEN]': f'"{TOKEN}"'}})
    cookie = sign_in(master)

    def shown(**how):
        assert master.call('www', key='k', **how)['result'] is True
        answer = page(master, cookie, key=base64.b64encode(b'k').decode())
        assert answer.status == 200 and b'</html>' in answer.body
        return value_of(answer)

    # The page has a part of the value, and says so.
    limits = ': the page shows at most 4,096 bytes and 32 levels'
    note, text = shown(do='nested', levels=4000)
    assert note == 'array' + limits
    assert text.startswith('array (\n    [level] => array (\n        [level]')
    assert text.count('[level]') == 32 and 'innermost' not in text
    note, text = shown(do='large', size=3 << 20)
    assert note == 'string' + limits and text == 'l' * 4096
    note, text = shown(do='wide', n=100_000)
    assert note == 'array' + limits
    assert text.startswith('array (\n    [0] => 0\n    [1] => 1')
    assert len(text) == 4096
    # All of it.
    note, text = shown(do='nested', levels=2)
    assert note == 'array'
    assert text == ('array (\n    [level] => array (\n        [level] => the'
                    ' innermost\n        [beside] => 1)\n    [beside] => 1)')
    note, text = shown(do='large', size=4096)
    assert note == 'string' and text == 'l' * 4096
    # A class that the page does not know, and one of PHP.
    note, text = shown(do='object')
    assert note == '__PHP_Incomplete_Class'
    assert text == ('__PHP_Incomplete_Class (\n'
                    '    [__PHP_Incomplete_Class_Name] => Thing\n'
                    '    [hidden] => ArrayObject (\n'
                    '        [0] => NULL))')


def test_the_page_needs_nothing_from_outside(start_fpm):
    text = page(start(start_fpm)).body.decode()
    assert not re.search(r'(src|href)="(?!\?)', text)
    # A name, not an address: that of SVG.
    assert re.findall(r'https?://[^"\s]+', text) == ['http://www.w3.org/2000/svg']
    assert not re.search(r'url\(|@import', text)


def test_figures_as_the_script_of_the_page_gets_them(start_fpm):
    master = start(start_fpm)
    first = page(master, data='1').json()
    for number in range(20):
        master.call('www', do='store', key=f'k{number}', value='v')
        master.call('www', do='fetch', key=f'k{number}')
        master.call('www', do='fetch', key='none')
    now = page(master, data='1').json()
    assert now['hits'] - first['hits'] == 20
    assert now['misses'] - first['misses'] == 20
    assert now['time'] > first['time'] and set(now['map']) <= set('0123')
    text = page(master).body.decode()
    lists = re.findall(r'for \(const name of \[([^]]*)\]\) set', text)
    assert len(lists) == 2
    for names in lists:
        for name in names.replace('"', '').split(', '):
            assert name in now and f'id="f-{name}"' in text, name
    for form in ('cold_entries', 'cold_bytes', 'cold_hits', 'packed', 'warmed'):
        assert f'id="f-{form}"' in text


def test_the_name_of_a_pool_is_text(start_fpm):
    name = '<b>"&;\\<i>'
    master = start_fpm({'hone.cache_size': 0,
                        'hone.cache_pools': f"'{name}=8M,x\"onload=8M'"},
                       {'www': {'pm': 'static', 'pm.max_children': 1,
                                'php_admin_value[hone.cache_pool]':
                                    f"'{name}'"}})
    text = page(master).body.decode()
    assert text.count(html.escape(name)) == 2 and name not in text
    assert 'x&quot;onload' in text and 'x"onload' not in text
    assert page(master, data='1').json()['pool'] == name


def test_a_process_without_a_cache(start_fpm):
    master = start_fpm({'hone.cache_size': 0}, {'www': {
        'pm': 'static', 'pm.max_children': 1}})
    assert b'hone.cache_size is 0' in page(master).body
    assert master.page('www', METRICS).status == 503


def test_metrics_are_in_the_format_of_prometheus(start_fpm):
    master = start_fpm({'hone.cache_size': 0, 'hone.cache_pools': '"a\\b=16M"'},
                       {'www': {'pm': 'static', 'pm.max_children': 1,
                                'php_admin_value[hone.cache_pool]': 'a\\b'}})
    answer = master.page('www', METRICS)
    assert answer.headers['content-type'] == ('text/plain; version=0.0.4;charset=UTF-8')
    assert answer.body.endswith(b'\n')
    seen = {}
    for line in answer.body.decode().splitlines():
        if line.startswith('# '):
            found = re.fullmatch(r'# (HELP|TYPE) (hone_cache_[a-z_]+) (.+)', line)
            assert found, line
            seen.setdefault(found[2], {})[found[1]] = found[3]
        else:
            found = re.fullmatch(r'(hone_cache_[a-z_]+)\{pool="a\\\\b"\} (\d+)', line)
            assert found, line
            assert 'value' not in seen[found[1]], line
            seen[found[1]]['value'] = int(found[2])
    for name, parts in seen.items():
        assert set(parts) == {'HELP', 'TYPE', 'value'}, name
        assert parts['TYPE'] == (
            'counter' if name.endswith('_total') else 'gauge'), name
    assert seen['hone_cache_size_bytes']['value'] == 16 << 20
