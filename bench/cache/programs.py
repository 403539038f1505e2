# SPDX-License-Identifier: BSD-3-Clause
"""The programs of ./dev bench cache: a php-cgi for each subject, and the
servers that some rivals need. All listen on sockets in the folder of the run,
and none on a network. They end with the benchmark."""
import contextlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from urllib.parse import urlencode

import fastcgi

PHP = Path(__file__).resolve().parent / 'php'
MEGABYTES = 256

# Subject: extensions, settings. {n} is the size of the cache in MB.
HONE = {'hone.cache_size': '{n}M'}
APCU = {'apc.enabled': '1', 'apc.shm_size': '{n}M', 'apc.ttl': '0',
        'apc.slam_defense': '0'}
SUBJECTS = {
    'hone': ('hone', HONE),
    'hone-igbinary': ('igbinary hone',
                      {**HONE, 'hone.cache_serializer': 'igbinary'}),
    'hone-block': ('hone', {**HONE, 'hone.cache_read': 'block',
                            'hone.cache_block_bytes': '256M'}),
    'hone-cold': ('hone', HONE),
    'hone-warm': ('hone', {**HONE, 'hone.cache_cold': 'off'}),
    'hone-copy': ('hone', {**HONE, 'hone.cache_read': 'copy'}),
    'hone-apcu': ('hone', {**HONE, 'hone.apcu_compat': '1'}),
    'apcu-php': ('apcu', {**APCU, 'apc.serializer': 'php'}),
    'apcu-igbinary': ('apcu igbinary', {**APCU, 'apc.serializer': 'igbinary'}),
    'apcu-default': ('apcu', {**APCU, 'apc.serializer': 'default'}),
    # What is older than a second makes room, before everything is thrown away.
    'apcu-ttl': ('apcu', {**APCU, 'apc.serializer': 'php', 'apc.ttl': '1'}),
    'yac': ('igbinary msgpack yac',
            {'yac.enable': '1', 'yac.keys_memory_size': '16M',
             'yac.values_memory_size': '{n}M', 'yac.serializer': 'igbinary'}),
    'include': ('', {}),
    'memcached': ('igbinary msgpack memcached', {}),
    'redis': ('igbinary redis', {}),
    'array': ('', {}),
}
APCU_SUBJECTS = ('apcu-php', 'apcu-igbinary', 'apcu-default')
SERVERS = ('memcached', 'redis')
OPCACHE = {'on': ['zend_extension=opcache', 'opcache.enable=1',
                  'opcache.file_update_protection=0',
                  'opcache.revalidate_freq=86400',
                  'opcache.memory_consumption=256',
                  'opcache.interned_strings_buffer=16'],
           'off': []}


class Trouble(Exception):
    """Why a subject has no figure in a case."""


class Kit:
    """Where PHP, the extensions and the servers are: in this system, or all of
    them in a root, where the folder `work` and this one have the same names."""

    def __init__(self, cgi, cli, module, unpacked, work, real=None,
                 root=None):
        self.cgi, self.cli, self.module = cgi, cli, module
        self.unpacked, self.work, self.root = unpacked, work, root
        self.enter = ['chroot', str(root)] if root else []
        # Where Doctrine is found.
        self.real = [] if real is None else [
            f'include_path={real}/usr/share/php', 'extension=ctype']
        libraries = [self.inside(path) for path in
                     unpacked.glob('usr/lib/*-linux-gnu*')]
        self.environment = {
            'PATH': os.environ['PATH'], 'LC_ALL': 'C.UTF-8',
            'LD_LIBRARY_PATH': ':'.join(libraries)}
        self.opcache = OPCACHE
        if self.php('echo extension_loaded("Zend OPcache");'):
            # A part of PHP since 8.5: always loaded.
            self.opcache = {'on': OPCACHE['on'][1:],
                            'off': ['opcache.enable=0']}

    def inside(self, path):
        """What the name of a file is in the root."""
        return f'/{path.relative_to(self.root)}' if self.root else str(path)

    def php(self, code, extensions=()):
        """What code prints."""
        options = [word for name in extensions
                   for word in ('-d', f'extension={self.extension(name)}')]
        return subprocess.run(
            [*self.enter, self.cli, '-n', *options, '-r', code],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            env=self.environment, check=False).stdout.strip()

    def versions(self):
        """Name -> version, of PHP and of the rivals that there are."""
        found = {'php': self.php('echo PHP_VERSION;')}
        for extensions, _ in SUBJECTS.values():
            for name in extensions.split():
                with contextlib.suppress(Trouble):
                    found[name] = self.php(f'echo phpversion("{name}");',
                                           extensions.split())
        return found

    def extension(self, name):
        """The file of an extension, or Trouble."""
        if name == 'hone':
            found = [self.module] if self.module.exists() else []
        else:
            found = list(self.unpacked.glob(f'usr/lib/php/2*/{name}.so'))
        if not found:
            raise Trouble(f'the extension {name} is not there')
        return self.inside(found[0])

    def tool(self, name):
        """A server's program, or Trouble."""
        found = self.unpacked / 'usr/bin' / name
        found = found if found.exists() else shutil.which(name)
        if not found:
            raise Trouble(f'{name} is not there')
        return self.inside(Path(found))

    def options(self, subject, opcache='on', megabytes=MEGABYTES):
        """The options of a php-cgi."""
        extensions, settings = SUBJECTS[subject]
        if subject == 'include' and opcache == 'off':
            raise Trouble('it needs opcache')
        options = ['-n']
        for line in [*self.opcache[opcache], 'memory_limit=-1',
                     'max_execution_time=0', 'display_errors=stderr',
                     *self.real,
                     *(f'extension={self.extension(each)}'
                       for each in extensions.split()),
                     *(f'{name}={value.format(n=megabytes)}'
                       for name, value in settings.items())]:
            options += ['-d', line]
        return options

    def variables(self, subject, query):
        """What a web server sets for a request of worker.php."""
        query = {'subject': subject, 'work': str(self.work), **query}
        if subject in SERVERS:
            query[subject] = str(self.work / subject)
        return {'REQUEST_METHOD': 'GET', 'REDIRECT_STATUS': '200',
                'SCRIPT_FILENAME': str(PHP / 'worker.php'),
                'QUERY_STRING': urlencode(query)}


class Program:
    """php-cgi for one subject, on a socket; children answer if there are any.
    A connection belongs to one process until it is closed."""

    def __init__(self, kit, subject, opcache='on', megabytes=MEGABYTES,
                 children=0):
        self.kit, self.subject = kit, subject
        options = kit.options(subject, opcache, megabytes)
        self.name = f'{subject}-{opcache}-{megabytes}-{children}'
        path = kit.work / f'{self.name}.socket'
        path.unlink(missing_ok=True)
        environment = {**kit.environment, 'PHP_FCGI_MAX_REQUESTS': '0'}
        if children:
            environment['PHP_FCGI_CHILDREN'] = str(children)
        self.log = kit.work / f'{self.name}.log'
        with self.log.open('wb') as log:
            self.process = subprocess.Popen(
                [*kit.enter, kit.cgi, *options, '-b', str(path)],
                env=environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.connections = []
        try:
            for _ in range(max(1, children)):
                self.connections.append(self.connect(path))
                self.ask({'do': 'hello'}, len(self.connections) - 1)
        except BaseException:
            self.end()
            raise

    def connect(self, path):
        """A connection; PHP may not listen yet."""
        until = time.monotonic() + 20
        while True:
            try:
                return fastcgi.Connection(path)
            except OSError:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise Trouble('php-cgi does not start: '
                                  f'{self.tail()}') from None
            time.sleep(0.01)

    def tail(self):
        return self.log.read_text(errors='replace').strip()[-300:]

    def send(self, query, connection=0):
        self.connections[connection].send(
            self.kit.variables(self.subject, query))

    def receive(self, connection=0):
        """The answer of worker.php, a dict."""
        try:
            body, errors = self.connections[connection].receive()
        except fastcgi.Ended:
            try:
                status = self.process.wait(5)
            except subprocess.TimeoutExpired:
                status = 'unknown: a child ended'
            raise Trouble(
                f'php-cgi ended with status {status} {self.tail()}') from None
        try:
            answer = json.loads(body)
        except ValueError:
            raise Trouble(f'the answer is {body[-300:]!r} '
                          f'{errors[-300:]!r}') from None
        for reason in ('wrong', 'refused'):
            if isinstance(answer.get(reason), str):
                raise Trouble(f'{reason}: {answer[reason]}')
        return answer

    def ask(self, query, connection=0):
        self.send(query, connection)
        return self.receive(connection)

    def alive(self):
        return self.process.poll() is None

    def end(self):
        for connection in self.connections:
            connection.close()
        stop(self.process)


def stop(process):
    """End a process that we started."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Servers:
    """A context with memcached and redis-server on local sockets. `skipped` has
    the reason for each that does not run."""

    def __init__(self, kit):
        self.kit, self.running, self.skipped = kit, [], {}

    def command(self, name):
        socket = str(self.kit.work / name)
        if name == 'memcached':
            user = ['-u', 'root'] if os.geteuid() == 0 else []
            # With a socket file, memcached opens no port.
            return [self.kit.tool('memcached'), '-s', socket, '-t', '1', '-I',
                    '32m', '-m', str(MEGABYTES), *user]
        return [self.kit.tool('redis-server'), '--port', '0', '--unixsocket',
                socket, '--save', '', '--appendonly', 'no', '--maxmemory',
                f'{MEGABYTES}mb', '--maxmemory-policy', 'allkeys-lru', '--dir',
                str(self.kit.work)]

    def __enter__(self):
        for name in SERVERS:
            try:
                self.start(name)
            except Trouble as trouble:
                self.skipped[name] = str(trouble)
            except BaseException:
                self.__exit__()
                raise
        return self

    def start(self, name):
        log = self.kit.work / f'{name}.log'
        with log.open('wb') as output:
            process = subprocess.Popen(
                [*self.kit.enter, *self.command(name)],
                env=self.kit.environment,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                cwd=self.kit.work)
        self.running.append(process)
        # Not on the CPU of the PHP that is timed, if there is another one.
        cpus = os.sched_getaffinity(0)
        os.sched_setaffinity(process.pid, cpus - {max(cpus)} or cpus)
        until = time.monotonic() + 10
        while not (self.kit.work / name).exists():
            if process.poll() is not None or time.monotonic() > until:
                text = log.read_text(errors='replace').strip()[-300:]
                raise Trouble(f'{name} does not start: {text}')
            time.sleep(0.02)

    def __exit__(self, *_):
        for process in self.running:
            stop(process)
