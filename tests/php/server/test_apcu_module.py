# SPDX-License-Identifier: BSD-3-Clause
"""The extension apcu that hone registers: programs get the answers of APCu, in
each way to run PHP, and beside APCu itself."""
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess

import fpm
import pytest

TOP = pathlib.Path(__file__).resolve().parents[3]
PAGE = os.path.join(fpm.PAGES, 'apcu.php')
VERSION = '5.1.22'
LOADED = 'Module "apcu" is already loaded'


def run(server, extensions, *arguments, program=None, options=(), **more):
    """PHP with these extensions, in this order."""
    command = [program or f'php{server.version}', '-n', '-d', 'apc.enable_cli=1']
    for option in [f'extension={each}' for each in extensions] + [*options]:
        command += ['-d', option]
    return subprocess.run(
        [*command, *map(str, arguments)],
        env={**server.environment, **more}, text=True, check=False,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=300)


def answer_of(done):
    """What apcu.php printed."""
    assert (done.returncode, done.stderr) == (0, ''), done
    return json.loads(done.stdout)


@pytest.fixture(scope='module')
def apcu(server):
    """The path of the real extension."""
    path = server.extension('apcu')
    if path == 'apcu':
        pytest.skip(f'apcu.so is not below {server.root}')
    return path


@pytest.fixture(scope='module')
def expected(server, apcu):
    """The answers of APCu itself."""
    answer = answer_of(run(server, [apcu], PAGE))
    assert not answer['served']
    return answer


def check(answer, expected, sapi):
    assert answer['served'] and answer['sapi'] == sapi
    for name in ('answers', 'functions', 'classes', 'constants', 'info', 'memory'):
        assert answer[name] == expected[name], name
    settings = {name: row['access'] for name, row in answer['settings'].items()}
    assert settings == {name: row['access']
                        for name, row in expected['settings'].items()}


def test_the_answers_on_the_command_line_are_those_of_apcu(server, expected):
    answer = answer_of(run(server, [server.module], PAGE))
    check(answer, expected, 'cli')
    assert answer['settings'] == expected['settings']


def test_the_answers_of_phpdbg_are_those_of_apcu(server, expected):
    done = run(server, [server.module], '-qrr', PAGE,
               program=server.program(f'phpdbg{server.version}'))
    check(answer_of(done), expected, 'phpdbg')


def test_the_answers_of_cgi_are_those_of_apcu(server, expected):
    done = run(server, [server.module], PAGE, options=['html_errors=0'],
               program=server.program(f'php-cgi{server.version}'))
    head, _, body = done.stdout.replace('\r', '').partition('\n\n')
    assert head.startswith('X-Powered-By'), done
    done.stdout = body
    check(answer_of(done), expected, 'cgi-fcgi')


def test_the_answers_of_fpm_are_those_of_apcu_after_each_reload(start_fpm, expected):
    master = start_fpm({'hone.cache_size': '16M'}, {'www': {
        'pm': 'static', 'pm.max_children': 2}})
    for reloads in range(3):
        seen = set()
        for turn in range(1, 401):
            answer = master.page('www', script=PAGE).json()
            check(answer, expected, 'fpm-fcgi')
            # Both workers have one cache, and a reload begins with an empty one.
            assert answer['turn'] == turn
            seen.add(answer['pid'])
            if len(seen) == 2:
                break
        assert len(seen) == 2
        master.process.send_signal(signal.SIGUSR2)
        master.wait_for('ready to handle connections', reloads + 2)
    assert 'exited on signal' not in master.log.read_text()


def test_php_that_starts_twice_in_a_process_has_it_twice(server, expected, tmp_path):
    libraries = list(server.root.glob(f'usr/lib/libphp{server.version}.so'))
    if not libraries:
        pytest.skip(f'libphp{server.version}.so is not below {server.root}')
    # Its name for the loader; Debian makes the link at the installation.
    (tmp_path / 'libphp.so').symlink_to(libraries[0])
    includes = subprocess.run([f'php-config{server.version}', '--includes'], text=True,
                              check=True, capture_output=True).stdout
    program = tmp_path / 'embed'
    subprocess.run(
        ['cc', '-O1', '-D_GNU_SOURCE', '-o', program,
         pathlib.Path(__file__).with_name('embed.c'), *shlex.split(includes),
         tmp_path / 'libphp.so', f'-Wl,-rpath,{tmp_path}'], check=True)
    ini = tmp_path / 'php.ini'
    ini.write_text(f'extension = {server.module}\napc.enable_cli = 1\n')
    done = subprocess.run(
        [program, ini, PAGE], text=True, check=False, timeout=300,
        env={**server.environment, 'PHP_INI_SCAN_DIR': ''},
        capture_output=True)
    assert (done.returncode, done.stderr) == (0, ''), done
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == 2
    for answer in answers:
        check(answer, expected, 'embed')
        assert answer['turn'] == 1


def test_apcu_of_php_ini_has_priority_in_either_order(server, apcu):
    for order in ([apcu, server.module], [server.module, apcu]):
        answer = answer_of(run(server, order, PAGE))
        assert not answer['served'] and answer['turn'] == 1
        done = run(server, order, '-r', '''
            Hone\\Cache::store("k", 1);
            echo json_encode([apcu_fetch("k"), Hone\\Cache::info()["apcu"]]);''',
                   options=['hone.cache_cli=1'])
        assert (done.stdout, done.stderr) == ('[false,false]', '')


LOADED_LINE = 'hone: apcu is loaded: phpdismod apcu'


def test_a_server_with_apcu_itself_says_so_once_in_its_log(start_fpm, apcu):
    for settings, lines in (({}, 1), ({'hone.apcu_compat': 0}, 0),
                            ({'hone.cache_size': 0}, 0)):
        master = start_fpm({'log_errors': f'1\nextension = {apcu}', **settings},
                           {'www': {'pm': 'static', 'pm.max_children': 2}})
        assert not master.page('www', script=PAGE).json()['served']
        master.stop()
        assert master.log.read_text().count(LOADED_LINE) == lines
        assert master.early.read_text().count(LOADED_LINE) == lines


def test_phpinfo_has_what_to_do_and_a_command_has_no_line(server, apcu):
    done = run(server, [apcu, server.module], '-r',
               '(new ReflectionExtension("hone"))->info();',
               options=['hone.cache_cli=1', 'log_errors=1'])
    assert done.stderr == ''
    assert ('\nFunctions of APCu => not offered, '
            'apcu is loaded: phpdismod apcu\n') in done.stdout


def test_apcu_by_dl_is_refused_by_one_sentence(server, apcu):
    folder, name = os.path.split(apcu)
    done = run(server, [server.module], '-r', f'''
        apcu_store("k", [1]);
        var_dump(dl("{name}"), apcu_fetch("k") === [1]);
        echo (new ReflectionFunction("apcu_fetch"))->getExtensionName();''',
               options=[f'extension_dir={folder}', 'html_errors=0'])
    assert (done.returncode, done.stderr) == (0, ''), done
    assert re.fullmatch(r'\nWarning: ' + re.escape(LOADED) + r' in \S+ on line \d+\n'
                        r'bool\(false\)\nbool\(true\)\napcu', done.stdout), done


def test_hone_by_dl_has_no_extension_apcu(server, apcu):
    folder, name = os.path.split(server.module)
    script = f'''
        var_dump(dl("{name}"), extension_loaded("apcu"),
            function_exists("apcu_fetch"));'''
    for extensions, there in (([], 'false'), ([apcu], 'true')):
        done = run(server, extensions, '-r', script,
                   options=[f'extension_dir={folder}'])
        assert (done.returncode, done.stderr) == (0, ''), done
        assert done.stdout == f'bool(true)\nbool({there})\nbool({there})\n'


def test_opcaches_files_keep_the_answer_of_their_time(server, tmp_path):
    """The page says which folder to empty after a removal."""
    script = tmp_path / 'script.php'
    script.write_text('<?php var_dump(extension_loaded("apcu"));')
    files = tmp_path / 'files'
    files.mkdir()
    options = ['zend_extension=opcache', 'opcache.enable_cli=1',
               f'opcache.file_cache={files}', 'opcache.file_cache_only=1',
               'opcache.file_update_protection=0']
    for extensions, shown in (([server.module], 'true'), ([], 'true')):
        done = run(server, extensions, script, options=options)
        assert (done.stdout, done.stderr) == (f'bool({shown})\n', '')
    assert list(files.rglob('*.bin'))
    subprocess.run(['find', files, '-name', '*.bin', '-delete'], check=True)
    assert run(server, [], script, options=options).stdout == 'bool(false)\n'


def test_the_page_has_each_question_with_its_answer(expected):
    text = (TOP / 'docs/php-cache.md').read_text(encoding='utf-8')
    table = text.split('| program | test | result |\n', 1)[1]
    rows = [[cell.strip() for cell in line.strip('|').split(' | ')]
            for line in table.split('\n\n', 1)[0].splitlines()[1:]]
    assert rows == [[program, f'`{question}`', f'`{json.dumps(answer)}`']
                    for program, question, answer in expected['answers']]


def test_the_version_is_that_of_the_apcu_of_the_tests(expected):
    assert ['Composer, `ext-apcu`', "(new ReflectionExtension('apcu'))->getVersion()",
            VERSION] in expected['answers']
