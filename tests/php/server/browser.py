# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium, driven by the DevTools protocol over two pipes."""
import base64
import json
import os
import subprocess
import time


class Browser:
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
