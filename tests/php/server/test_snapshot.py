# SPDX-License-Identifier: BSD-3-Clause
"""hone.cache_snapshot below php-fpm: written by the master at its end and at a
reload, read at its begin, and refused in one line if it is damaged."""
import os
import select
import signal
import subprocess
import time
from urllib.parse import urlencode

import fpm
import pytest


def settings(path):
    # What a start writes to the log is one line: no colours, no page.
    return {'hone.cache_size': '16M', 'hone.cache_snapshot': path,
            'log_errors': 1, 'html_errors': 0, 'display_startup_errors': 0}


WWW = {'www': {'pm': 'static', 'pm.max_children': 2}}


def end(master, number):
    master.process.send_signal(number)
    assert master.process.wait(30) == 0


def fetch(master, key):
    return master.call('www', do='fetch', key=key)['result']


def store(master, key, value, **more):
    assert master.call('www', do='store', key=key, value=value, **more)['result']


def complaints(master):
    """The lines of the log of FPM. Each is also on the stderr of the start."""
    early, log = ([line for line in file.read_text().splitlines()
                   if 'hone.cache_snapshot' in line]
                  for file in (master.early, master.log))
    assert [line.split('hone.', 1)[1].split(' in Unknown')[0] for line in early
            ] == [line.split('hone.', 1)[1] for line in log]
    return log


@pytest.mark.parametrize('number', [signal.SIGQUIT, signal.SIGTERM])
def test_what_a_server_had_at_its_end_the_next_one_has(start_fpm, tmp_path, number):
    path = tmp_path / 'snapshot'
    master = start_fpm(settings(path), WWW)
    assert not complaints(master)  # a file that is missing is none
    store(master, 'k', 'kept')
    store(master, 'long', 'kept too', ttl=1000)
    store(master, 'short', 'gone', ttl=1)
    assert not path.exists()
    end(master, number)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.glob('*snapshot*')] == ['snapshot']

    master = start_fpm(settings(path), WWW)
    assert fetch(master, 'k') == 'kept'
    assert fetch(master, 'long') == 'kept too'
    info = master.call('www', do='info')['result']
    assert info['entries'] <= 3
    # What it has then is in the next file.
    store(master, 'k', 'newer')
    end(master, number)
    master = start_fpm(settings(path), WWW)
    assert fetch(master, 'k') == 'newer'
    assert not complaints(master)


def test_a_reload_keeps_the_cache(start_fpm, tmp_path):
    master = start_fpm(settings(tmp_path / 'snapshot'), WWW)
    for turn in range(3):
        store(master, f'k{turn}', f'v{turn}')
        master.process.send_signal(signal.SIGUSR2)
        master.wait_for('ready to handle connections', turn + 2)
        for key in range(turn + 1):
            assert fetch(master, f'k{key}') == f'v{key}'
    assert not complaints(master)


def test_a_damaged_file_is_refused_in_one_line(start_fpm, tmp_path):
    path = tmp_path / 'snapshot'
    master = start_fpm(settings(path), WWW)
    store(master, 'k', 'lost')
    end(master, signal.SIGQUIT)
    old = path.read_bytes()
    path.write_bytes(old[:-1] + bytes([old[-1] ^ 1]))

    master = start_fpm(settings(path), WWW)
    lines = complaints(master)
    assert len(lines) == 1, lines
    assert f'hone.cache_snapshot: {path}: ' in lines[0], lines
    assert 'checksum is' in lines[0] and 'the cache is empty' in lines[0], lines
    assert fetch(master, 'k') is None
    assert master.call('www', do='info')['result']['entries'] == 0
    # It serves, and the next file is good.
    store(master, 'k', 'new')
    end(master, signal.SIGQUIT)
    master = start_fpm(settings(path), WWW)
    assert fetch(master, 'k') == 'new' and not complaints(master)


def ended(pid):
    """Until a process that is not our child has ended."""
    while os.path.exists(f'/proc/{pid}'):
        time.sleep(0.02)


def test_a_daemon_writes_and_reads_its_file(server, tmp_path):
    """Its master is not the process in which the modules have started."""
    path, log, pid = (tmp_path / name for name in ('snapshot', 'log', 'pid'))
    ini, conf = tmp_path / 'php.ini', tmp_path / 'fpm.conf'
    ini.write_text(f'extension = {server.module}\n' + ''.join(
        f'{name} = {value}\n' for name, value in settings(path).items()))
    conf.write_text(f'[global]\nerror_log = {log}\npid = {pid}\n[www]\n'
                    f'listen = {tmp_path}/www.sock\npm = static\n'
                    'pm.max_children = 2\n'
                    + ('user = root\ngroup = root\n' if os.getuid() == 0 else ''))
    command = [server.program(f'php-fpm{server.version}'), '-R', '-c', ini, '-y', conf]

    begins = []

    def once(**query):
        run = subprocess.run([*command, '-D'], env=server.environment, text=True,
                             capture_output=True, check=True, timeout=1000)
        master = int(pid.read_text())
        page = os.path.join(fpm.PAGES, 'page.php')
        # The process that was started has ended, and is not the server.
        begins.append(path.read_bytes() if path.exists() else None)
        try:
            answer = fpm.ask(tmp_path / 'www.sock', {
                'SCRIPT_FILENAME': page, 'QUERY_STRING': urlencode(query)})
        finally:
            os.kill(master, signal.SIGQUIT)
            ended(master)
        return answer.json()['result'], run.stderr

    assert once(do='store', key='k', value='kept') == (True, '')
    assert once(do='fetch', key='k') == ('kept', '')
    path.write_bytes(b'damaged')
    # A check of the configuration tells of it, too, and writes nothing.
    check = subprocess.run([*command, '-t'], env=server.environment, text=True,
                           capture_output=True, check=True, timeout=1000)
    assert 'the cache is empty' in check.stderr
    assert path.read_bytes() == b'damaged'
    result, errors = once(do='fetch', key='k')
    assert result is None and errors.count('the cache is empty') == 1
    assert log.read_text().count('the cache is empty') == 1
    assert begins[0] is None and begins[2] == b'damaged'
    assert path.read_bytes() != b'damaged'


def test_a_killed_master_leaves_the_older_file(start_fpm, tmp_path):
    path = tmp_path / 'snapshot'
    master = start_fpm(settings(path), WWW)
    store(master, 'k', 'older')
    end(master, signal.SIGQUIT)
    master = start_fpm(settings(path), WWW)
    store(master, 'k', 'newer')
    workers = master.workers()
    master.process.kill()
    master.process.wait()
    for worker in workers:
        process = os.pidfd_open(worker)
        signal.pidfd_send_signal(process, signal.SIGKILL)
        # It listens until then, and another master is refused.
        select.select([process], [], [])
        os.close(process)
    master = start_fpm(settings(path), WWW)
    assert fetch(master, 'k') == 'older'
