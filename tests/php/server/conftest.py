# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of this folder run: Debian's packages as tools/php-debs.sh
unpacks them in HONE_SERVER, and the extension, HONE_MODULE."""
import os
import pathlib
import subprocess
import time

import pytest

import fpm


def path_of(variable):
    if not os.environ.get(variable):
        pytest.skip(f'{variable} is not set: ./dev test --all')
    return pathlib.Path(os.environ[variable])


class Server:
    """Programs and extensions that are unpacked below a folder."""

    def __init__(self, root, module):
        self.root, self.module = root, module
        # That of the distribution.
        self.version = os.environ.get('HONE_PHP_VERSION', '8.2')
        libraries = [path for name in (
            'lib/*-linux-gnu*', 'usr/lib/*-linux-gnu*',
            'usr/lib/*-linux-gnu*/pulseaudio') for path in root.glob(name)]
        self.environment = {
            'PATH': os.environ['PATH'], 'LC_ALL': 'C.UTF-8',
            'LD_LIBRARY_PATH': ':'.join(map(str, libraries)),
            # php-fpm has no -n: a php-fpm of the system has its own settings.
            'PHP_INI_SCAN_DIR': ''}

    def program(self, name):
        found = [*self.root.glob(f'usr/bin/{name}'),
                 *self.root.glob(f'usr/sbin/{name}')]
        if not found:
            pytest.skip(f'{name} is not below {self.root}')
        return str(found[0])

    def extension(self, name):
        """The path of an extension, or its name if PHP has it."""
        found = list(self.root.glob(f'usr/lib/php/2*/{name}.so'))
        return str(found[0]) if found else name

    def php(self, arguments, options=(), program=None, **more):
        """The output of a script on the command line."""
        command = [program or f'php{self.version}', '-n',
                   '-d', f'extension={self.module}',
                   '-d', f'include_path={self.root}/usr/share/php:/usr/share/php']
        for option in options:
            command += ['-d', option]
        return subprocess.run([*command, *map(str, arguments)],
                              env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, timeout=300, **more)


@pytest.fixture(scope='session')
def server():
    return Server(path_of('HONE_SERVER'), path_of('HONE_MODULE'))


@pytest.fixture
def start_fpm(server, tmp_path):
    """A function that starts php-fpm: settings of php.ini, and pools."""
    started = []

    def start(settings, pools):
        # The path of a socket has at most 107 characters.
        folder = pathlib.Path(os.path.relpath(tmp_path))
        folder = tmp_path if len(str(tmp_path)) < 80 else folder
        begun = fpm.Fpm(server.program(f'php-fpm{server.version}'), folder,
                        {'extension': server.module, **settings}, pools,
                        server.environment)
        started.append(begun)
        return begun

    yield start
    for each in started:
        each.stop()


@pytest.fixture
def redis(server, tmp_path):
    """The socket of a real Redis."""
    socket = tmp_path / 'redis.sock'
    with open(tmp_path / 'redis.log', 'wb') as log:
        process = subprocess.Popen(
            [server.program('redis-server'), '--port', '0', '--unixsocket',
             str(socket), '--save', '', '--dir', str(tmp_path)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env=server.environment)
    for _ in range(200):
        if socket.exists():
            break
        time.sleep(0.05)
    else:
        raise AssertionError((tmp_path / 'redis.log').read_text())
    yield socket
    process.terminate()
    process.wait(20)


@pytest.fixture
def until_all_listen(server, redis):
    """A function that returns once so many clients of Redis have subscribed."""
    def wait(n):
        while subprocess.run(
                [server.program('redis-cli'), '-s', str(redis), 'client',
                 'list'], env=server.environment, text=True, check=True,
                capture_output=True).stdout.count(' sub=1 ') < n:
            time.sleep(0.01)

    return wait
