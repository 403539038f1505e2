#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""After one request with open_basedir, PHP's realpath cache is off for good.

basedir.py MODULE PHP-CGI

php-cgi serves requests over FastCGI in one process. The first script reads a
file through a symbolic link. The second one does nothing; it is in a folder for
which php.ini sets open_basedir, and one of two runs leaves it out. Then the link
is changed, and the first script runs again: PHP reads what its cache has, if the
cache is still on. Exits 0 if each run reads the same with hone.file_reads off
and on, and the second script makes the difference.
"""
import os
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

BEGIN, END, PARAMS, STDIN, STDOUT = 1, 3, 4, 5, 6
SCRIPT = '<?php echo file_get_contents(__DIR__ . "/link");'


def record(kind, content=b''):
    return struct.pack('>BBHHBx', 1, kind, 1, len(content), 0) + content


def pair(name, value):
    name, value = name.encode(), value.encode()
    return struct.pack('>BI', len(name), len(value) | 1 << 31) + name + value


def request(address, script):
    """The body of the response of a script."""
    params = b''.join(pair(name, str(value)) for name, value in {
        'SCRIPT_FILENAME': script, 'REQUEST_METHOD': 'GET',
        'REDIRECT_STATUS': 200, 'GATEWAY_INTERFACE': 'CGI/1.1'}.items())
    body = b''
    with socket.socket(socket.AF_UNIX) as to:
        to.connect(str(address))
        # Role 1, a responder; no flag: the connection ends with the request.
        to.sendall(record(BEGIN, struct.pack('>HB5x', 1, 0)) +
                   record(PARAMS, params) + record(PARAMS) + record(STDIN))
        answer = to.makefile('rb')
        while True:
            _, kind, _, length, padding = struct.unpack('>BBHHBx', answer.read(8))
            content = answer.read(length)
            answer.read(padding)
            if kind == STDOUT:
                body += content
            elif kind == END:
                return body.partition(b'\r\n\r\n')[2].decode()


def answers(module, cgi, folder, on, between):
    free, closed = folder / 'free', folder / 'closed'
    link = free / 'link'
    for each in (free, closed):
        each.mkdir(parents=True)
        (each / 'script.php').write_text(SCRIPT if each == free else '')
    for name in ('one', 'two'):
        (free / name).write_text(name)
    link.symlink_to('one')
    (folder / 'php.ini').write_text(
        f'extension={module}\nhone.file_reads={on}\n'
        f'[PATH={closed}]\nopen_basedir={closed}\n')
    address = folder / 'socket'
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(address))
        listening.listen()
        # php-cgi listens on its standard input.
        php = subprocess.Popen(
            [cgi, '-c', folder / 'php.ini'], stdin=listening,
            env={**os.environ, 'PHP_INI_SCAN_DIR': '', 'PHP_FCGI_CHILDREN': '0'})
    try:
        bodies = [request(address, free / 'script.php')]
        if between:
            bodies.append(request(address, closed / 'script.php'))
        link.unlink()
        link.symlink_to('two')
        bodies.append(request(address, free / 'script.php'))
    finally:
        php.kill()
        php.wait()
    return bodies


def main():
    module, cgi = Path(sys.argv[1]).resolve(), sys.argv[2]
    good = True
    with tempfile.TemporaryDirectory() as name:
        for between, expected in ((False, ['one', 'one']), (True, ['one', '', 'two'])):
            for on in (0, 1):
                bodies = answers(module, cgi, Path(name) / f'{between}{on}', on,
                               between)
                if bodies != expected:
                    print(f'hone.file_reads={on}: read {bodies}, not {expected}')
                    good = False
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
