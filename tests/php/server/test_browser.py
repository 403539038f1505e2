# SPDX-License-Identifier: BSD-3-Clause
"""php/dashboard.php in a headless Chromium: narrow and wide, light and dark."""
import base64
import json
import os
import pathlib
import socket
import subprocess
import time
import urllib.request

import pytest

PAGES = pathlib.Path(__file__).resolve().parent / 'pages'
TOKEN = 'a token of 24 characters'
SCREENS = [(360, 'light'), (360, 'dark'), (1280, 'light'), (1280, 'dark')]


class Browser:
    """A headless Chromium, driven by the DevTools protocol over two pipes."""

    def __init__(self, program, folder, environment):
        down, up = os.pipe(), os.pipe()

        def plug():
            os.dup2(down[0], 3)
            os.dup2(up[1], 4)
            for fd in (3, 4):
                os.set_inheritable(fd, True)

        self.log = open(folder / 'chromium.log', 'wb')
        # Without a sandbox: it refuses to run as root. The pages are ours.
        self.process = subprocess.Popen(
            [program, '--headless=new', '--no-sandbox', '--disable-gpu',
             '--disable-dev-shm-usage', '--remote-debugging-pipe',
             '--no-first-run', '--disable-extensions', '--disable-sync',
             '--disable-background-networking', '--disable-component-update',
             f'--user-data-dir={folder}/profile', 'about:blank'],
            preexec_fn=plug, close_fds=False, env=environment,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        os.close(down[0])
        os.close(up[1])
        self.to, self.answers = down[1], os.fdopen(up[0], 'rb', 0)
        self.data, self.number, self.events = b'', 0, []
        self.session = None
        target = self('Target.createTarget', url='about:blank')['targetId']
        self.session = self('Target.attachToTarget', targetId=target,
                            flatten=True)['sessionId']
        for name in ('Page', 'Runtime', 'Log', 'Network'):
            self(f'{name}.enable')

    def message(self):
        while b'\0' not in self.data:
            more = os.read(self.answers.fileno(), 1 << 16)
            if not more:
                raise RuntimeError('chromium ended: see chromium.log')
            self.data += more
        text, _, self.data = self.data.partition(b'\0')
        return json.loads(text)

    def __call__(self, method, **parameters):
        self.number += 1
        call = {'id': self.number, 'method': method, 'params': parameters}
        if self.session:
            call['sessionId'] = self.session
        os.write(self.to, json.dumps(call).encode() + b'\0')
        while True:
            message = self.message()
            if message.get('id') == self.number:
                assert 'error' not in message, message
                return message['result']
            self.events.append(message)

    def value(self, expression):
        result = self('Runtime.evaluate', expression=expression,
                      returnByValue=True, awaitPromise=True)
        assert 'exceptionDetails' not in result, result
        return result['result'].get('value')

    def until(self, expression, seconds=30):
        end = time.monotonic() + seconds
        while not self.value(f'!!({expression})'):
            assert time.monotonic() < end, expression
            time.sleep(0.1)

    def open(self, url, width, height, scheme):
        self('Emulation.setDeviceMetricsOverride', width=width, height=height,
             deviceScaleFactor=1, mobile=False)
        self('Emulation.setEmulatedMedia', features=[
            {'name': 'prefers-color-scheme', 'value': scheme}])
        self('Page.navigate', url=url)
        self.until('document.readyState === "complete" && '
                   f'location.href.startsWith({json.dumps(url)})')

    def picture(self, path):
        # The size that Chromium takes by itself is 0 before the first frame.
        self.value('new Promise(done => requestAnimationFrame('
                   '() => requestAnimationFrame(done)))')
        width, height = self.value('(e => [e.scrollWidth, e.scrollHeight])'
                                   '(document.documentElement)')
        data = self('Page.captureScreenshot', captureBeyondViewport=True,
                    clip={'x': 0, 'y': 0, 'width': width, 'height': height, 'scale': 1})
        path.write_bytes(base64.b64decode(data['data']))

    def complaints(self):
        """Errors of scripts, of the policy of the page, of requests; but for
        those that ended because the page did."""
        self.value('0')
        return [each for each in self.events if each.get('method') in (
            'Runtime.exceptionThrown', 'Runtime.consoleAPICalled',
            'Log.entryAdded', 'Network.loadingFailed')
            and not each['params'].get('canceled')
            and each['params'].get('entry', {}).get('level') != 'verbose']

    def addresses(self):
        return {each['params']['request']['url'] for each in self.events
                if each.get('method') == 'Network.requestWillBeSent'}

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()
        self.answers.close()
        os.close(self.to)


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
    begun = Browser(str(program), tmp_path, {
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
        # The page has the map before the first answer, which waits until disable.
        chromium('Fetch.enable', patterns=[{'urlPattern': '*data=1'}])
        chromium.open(address, width, 900, scheme)
        rects = 'document.querySelectorAll("#map rect").length'
        assert chromium.value(f'{rects} > 1')
        chromium('Fetch.disable')
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
        assert chromium.value(f'{rects} > 1')
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
