# SPDX-License-Identifier: BSD-3-Clause
"""phpdbg replaces PHP's write of plain streams: reads stay on the fast path,
copy() falls back."""

SCRIPT = '''<?php
$name = $argv[1];
file_put_contents($name, str_repeat("a line\\n", 20000));
realpath($name);
echo md5(file_get_contents($name)), count(file($name)), md5(stream_get_contents(fopen($name, 'r'))),
    md5(fread(fopen($name, 'r'), 100000)), json_encode(copy($name, "$name.copy")), filesize("$name.copy"), "\\n";
ob_start();
readfile($name);
echo md5(ob_get_clean()), "\\n";
ob_start();
(new ReflectionExtension('hone'))->info();
echo strstr(ob_get_clean(), 'on the fast path');
'''


def run(server, tmp_path, options, program, *arguments):
    script = tmp_path / 'script.php'
    script.write_text(SCRIPT)
    done = server.php([*arguments, script, tmp_path / 'file'], options, program)
    assert done.returncode == 0, done
    answers, _, rows = done.stdout.partition('on the fast path')
    rows = dict(line.split(' => ') for line in rows.splitlines()
                if line.count(' => ') == 1)
    return answers.splitlines()[:2], rows


def test_reads_take_the_fast_path(server, tmp_path):
    phpdbg = server.program(f'phpdbg{server.version}')
    off, _ = run(server, tmp_path, ['hone.file_reads=0'], phpdbg, '-qrr')
    answers, rows = run(server, tmp_path, [], phpdbg, '-qrr')
    command_line, usual = run(server, tmp_path, [], f'php{server.version}')
    assert answers == off == command_line
    for name in ('file_get_contents', 'file', 'stream_get_contents', 'fread',
                 'readfile'):
        assert rows[name] == usual[name] != '0', (name, rows)
    assert (rows['copy'], usual['copy']) == ('0', '1')
    assert (rows['another file wrapper'], usual['another file wrapper']) == ('1', '0')
