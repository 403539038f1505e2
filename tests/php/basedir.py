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
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).with_name('server')))
import fpm  # noqa: E402

SCRIPT = '<?php echo file_get_contents(__DIR__ . "/link");'


def request(address, script):
    """The body of the response of a script."""
    return fpm.ask(address, {'SCRIPT_FILENAME': str(script),
                             'REDIRECT_STATUS': '200'}).body.decode()


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
