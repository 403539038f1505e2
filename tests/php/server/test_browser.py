# SPDX-License-Identifier: BSD-3-Clause
"""php/dashboard.php in a headless Chromium: narrow and wide, light and dark."""
import os
import pathlib
import socket
import subprocess
import time
import urllib.request

import pytest

import browser

PAGES = pathlib.Path(__file__).resolve().parent / 'pages'
TOKEN = 'a token of 24 characters'
SCREENS = [(360, 'light'), (360, 'dark'), (1280, 'light'), (1280, 'dark')]


@pytest.fixture
def serve(server, tmp_path):
    """A function that starts php -S with the dashboard; returns its address."""
    started = []

    def start(**variables):
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            port = free.getsockname()[1]
        command = [f'php{server.version}', '-n',
                   '-d', f'extension={server.module}', '-d', 'hone.cache_size=24M',
                   '-d', 'display_errors=1', '-S',
                   f'127.0.0.1:{port}', str(PAGES / 'router.php')]
        with open(tmp_path / 'php.log', 'wb') as log:
            started.append(subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**server.environment, **variables}))
        address = f'http://127.0.0.1:{port}/'
        for _ in range(100):
            try:
                with urllib.request.urlopen(f'{address}fill') as answer:
                    assert answer.read() == b'filled'
                return address
            except OSError:
                time.sleep(0.1)
        raise AssertionError((tmp_path / 'php.log').read_text())

    yield start
    for each in started:
        each.terminate()
        each.wait(10)


@pytest.fixture
def chromium(server, tmp_path):
    program = server.root / 'usr/lib/chromium/chromium'
    if not program.exists():
        pytest.skip(f'there is no {program}')
    fonts = tmp_path / 'fonts.conf'
    fonts.write_text(f'<fontconfig><dir>{server.root}/usr/share/fonts</dir>'
                     f'<cachedir>{tmp_path}/fonts</cachedir></fontconfig>')
    begun = browser.Browser(str(program), tmp_path, {
        **server.environment, 'HOME': str(tmp_path),
        'FONTCONFIG_FILE': str(fonts)})
    yield begun
    begun.close()


def keep(chromium, tmp_path, name):
    """Where HONE_SCREENSHOTS says, for people to look at."""
    folder = pathlib.Path(os.environ.get('HONE_SCREENSHOTS') or tmp_path)
    chromium.picture(folder / f'{name}.png')
    assert (folder / f'{name}.png').stat().st_size > 10000


def test_every_screen(serve, chromium, tmp_path):
    address = serve()
    backgrounds = set()
    for width, scheme in SCREENS:
        chromium.open(address, width, 900, scheme)
        # Two answers: the chart has begun.
        with urllib.request.urlopen(f'{address}fill'):
            pass
        chromium.until('points.length >= 2 && last.hits > 0')
        chromium.until('document.getElementById("rate").getAttribute("d")')
        assert chromium.value('document.title') == 'Hone cache'
        assert chromium.value('document.documentElement.scrollWidth') <= width
        # Nothing sticks out of its box, unless the box scrolls.
        assert chromium.value('''[...document.querySelectorAll("main *")]
            .filter(e => !e.closest(".wide, svg, .hidden, pre") &&
                e.getBoundingClientRect().right > innerWidth)
            .map(e => e.outerHTML.slice(0, 200)).join()''') == ''
        assert chromium.value('map(last.map), document.querySelectorAll('
                              '"#map rect").length') > 1
        # Text can be read: contrast as WCAG wants it for text.
        assert chromium.value('''(() => {
            const light = c => { const [r, g, b] = c.match(/\\d+/g).map(v =>
                (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
            const back = light(getComputedStyle(document.querySelector("section")).backgroundColor);
            return Math.min(...[".quiet", "h2", "td", "dt", "dd"].map(s => {
                const text = light(getComputedStyle(document.querySelector(s)).color);
                return (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05); }));
        })()''') >= 4.5
        backgrounds.add(chromium.value(
            'getComputedStyle(document.body).backgroundColor'))
        keep(chromium, tmp_path, f'{width}-{scheme}')
    assert len(backgrounds) == 2
    assert chromium.complaints() == []
    assert {each for each in chromium.addresses()
            if not each.startswith((address, 'about:'))} == set()


def test_a_click_sorts_the_keys(serve, chromium):
    address = serve()
    chromium.open(address, 1280, 900, 'light')

    def column(name):
        at = ['key', 'type', 'size', 'hits', 'ends'].index(name)
        return chromium.value(f'''[...document.querySelectorAll(
            "#largest tbody tr")].map(row => row.cells[{at}].dataset.value ??
                row.cells[{at}].textContent)''')

    def click(name):
        chromium.value(f'''[...document.querySelectorAll("#largest th button")]
            .find(e => e.textContent === "{name}").click()''')
        return chromium.value(
            '''[...document.querySelectorAll("#largest th[aria-sort]")]
                .map(e => e.textContent + " " + e.ariaSort).join()''')

    sizes = [int(each) for each in column('size')]
    assert len(sizes) > 2 and sizes == sorted(sizes, reverse=True)
    keys = column('key')
    assert click('Key') == 'Key ascending'
    assert column('key') == sorted(keys) != keys
    assert click('Key') == 'Key descending'
    assert column('key') == sorted(keys, reverse=True)
    assert click('Size') == 'Size descending'
    assert [int(each) for each in column('size')] == sizes
    assert click('Size') == 'Size ascending'
    assert [int(each) for each in column('size')] == sizes[::-1]
    assert chromium.complaints() == []


def test_signing_in_and_deleting(serve, chromium, tmp_path):
    address = serve(HONE_DASHBOARD_TOKEN=TOKEN)
    chromium.open(address, 1280, 900, 'light')
    assert chromium.value('document.querySelector("h2")') is None
    keep(chromium, tmp_path, 'login')
    chromium.value(f'document.querySelector("input").value = "{TOKEN}";'
                   'document.querySelector("button").click()')
    chromium.until('document.querySelector("#largest td")')
    first = '#largest td.key a'
    name = chromium.value(f'document.querySelector("{first}").textContent')
    chromium.value(f'document.querySelector("{first}").click()')
    chromium.until('document.querySelector("#value pre")')
    keep(chromium, tmp_path, 'value')
    chromium.value('document.querySelector("#value button").click()')
    chromium.until('document.querySelector("[role=status]")')
    assert 'was deleted' in chromium.value(
        'document.querySelector("[role=status]").textContent')
    assert chromium.value(f'document.querySelector("{first}").textContent') != name
    # 403 of the page that asks for the token.
    assert [each for each in chromium.complaints() if '403' not in str(each)] == []
