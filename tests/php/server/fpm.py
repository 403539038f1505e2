# SPDX-License-Identifier: BSD-3-Clause
"""php-fpm on Unix sockets below a folder, and requests to it."""
import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import threading
import time
from urllib.parse import urlencode

PAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'pages')

BEGIN, END, PARAMS, STDIN, STDOUT, STDERR = 1, 3, 4, 5, 6, 7
HEADER = struct.Struct('>BBHHBx')  # version, type, request, length, padding


class Lost(Exception):
    """The worker ended before its answer did."""


class Answer:
    """What a worker returned: status, headers, body, messages."""

    def __init__(self, out, errors):
        head, _, self.body = out.partition(b'\r\n\r\n')
        self.headers = {}
        for line in head.decode('latin-1').split('\r\n'):
            name, _, value = line.partition(':')
            self.headers[name.lower()] = value.strip()
        self.status = int(self.headers.get('status', '200').split()[0])
        self.errors = errors.decode(errors='replace')

    def json(self):
        assert not self.errors, self.errors
        return json.loads(self.body)


def records(kind, content):
    """The records of a stream, with the empty one at its end."""
    pieces = [content[at:at + 65535] for at in range(0, len(content), 65535)]
    return b''.join(HEADER.pack(1, kind, 1, len(piece), 0) + piece
                    for piece in (*pieces, b''))


def pairs(variables):
    encoded = b''
    for name, value in variables.items():
        for text in (name.encode(), value.encode()):
            encoded += (bytes([len(text)]) if len(text) < 128 else
                        struct.pack('>I', len(text) | 1 << 31))
        encoded += name.encode() + value.encode()
    return encoded


def ask(path, variables, body=b'', timeout=120):
    """One request by FastCGI, on a connection of its own."""
    variables = {
        'GATEWAY_INTERFACE': 'CGI/1.1', 'SERVER_PROTOCOL': 'HTTP/1.1',
        'REQUEST_METHOD': 'POST' if body else 'GET',
        'CONTENT_LENGTH': str(len(body)) if body else '',
        'CONTENT_TYPE': 'application/x-www-form-urlencoded' if body else '',
        'REMOTE_ADDR': '127.0.0.1', 'SERVER_NAME': 'localhost',
        'HTTP_HOST': 'localhost', **variables}
    out, errors = b'', b''
    with socket.socket(socket.AF_UNIX) as plug:
        plug.settimeout(timeout)
        try:
            plug.connect(str(path))
            begin = HEADER.pack(1, BEGIN, 1, 8, 0) + struct.pack('>HB5x', 1, 0)
            plug.sendall(begin + records(PARAMS, pairs(variables)) +
                         records(STDIN, body))
            with plug.makefile('rb') as stream:
                while True:
                    head = stream.read(HEADER.size)
                    if len(head) < HEADER.size:
                        raise Lost
                    _, kind, _, size, padding = HEADER.unpack(head)
                    content = stream.read(size + padding)[:size]
                    if kind == STDOUT:
                        out += content
                    elif kind == STDERR:
                        errors += content
                    elif kind == END:
                        return Answer(out, errors)
        except (BrokenPipeError, ConnectionError) as error:
            raise Lost from error


class Fpm:
    """A master with pools of workers: {name: {directive: value}}."""

    def __init__(self, program, folder, settings, pools, environment):
        self.folder, self.log = folder, folder / 'fpm.log'
        ini = folder / 'php.ini'
        ini.write_text(''.join(f'{name} = {value}\n'
                               for name, value in settings.items()))
        text = [f'[global]\nerror_log = {self.log}\ndaemonize = no\n'
                f'pid = {folder}/fpm.pid\nprocess_control_timeout = 10s\n'
                'log_level = notice\n']
        for name, directives in pools.items():
            # A worker of root needs the name of a user.
            text.append(f'[{name}]\nlisten = {self.path(name)}\n'
                        'listen.backlog = 511\nclear_env = no\n'
                        + ('user = root\ngroup = root\n' if os.getuid() == 0 else ''))
            text += [f'{key} = {value}\n' for key, value in directives.items()]
        conf = folder / 'fpm.conf'
        conf.write_text(''.join(text))
        # An earlier server in this folder was ready, too.
        self.log.unlink(missing_ok=True)
        # What the master reports before it has a log.
        self.early = folder / 'fpm.stderr'
        with self.early.open('wb') as early:
            self.process = subprocess.Popen(
                [program, '-R', '-F', '-c', str(ini), '-y', str(conf)],
                stdin=subprocess.DEVNULL, stdout=early, stderr=early,
                env=environment, cwd=folder)
        try:
            self.wait_for('ready to handle connections', 1, 120)
        except AssertionError:
            self.stop()
            raise

    def path(self, pool):
        return self.folder / f'{pool}.sock'

    def wait_for(self, text, times, seconds=30):
        """Until the log has the text so many times."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            written = self.log.read_text() if self.log.exists() else ''
            if written.count(text) >= times:
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f'no "{text}" in the log:\n' + self.log.read_text()
                             if self.log.exists() else 'php-fpm did not start')

    def page(self, pool, script='page.php', form=None, variables=None, **query):
        path = (script if os.path.isabs(script) else os.path.join(PAGES, script))
        text = urlencode(query)
        return ask(self.path(pool), {
            'SCRIPT_FILENAME': path, 'SCRIPT_NAME': '/' + os.path.basename(path),
            'QUERY_STRING': text,
            'REQUEST_URI': f'/{os.path.basename(path)}?{text}',
            **(variables or {})}, urlencode(form).encode() if form else b'')

    def call(self, pool, **query):
        """What page.php returns."""
        return self.page(pool, **query).json()

    def workers(self):
        """The process numbers of the workers."""
        path = f'/proc/{self.process.pid}/task/{self.process.pid}/children'
        with open(path, encoding='ascii') as file:
            return [int(word) for word in file.read().split()]

    @staticmethod
    def in_background(request):
        """Make a request that ends with the servers, or before."""
        def make():
            with contextlib.suppress(AssertionError, Lost, OSError):
                request()
        threading.Thread(target=make, daemon=True).start()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            for worker in self.workers():
                os.kill(worker, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
