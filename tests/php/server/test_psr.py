# SPDX-License-Identifier: BSD-3-Clause
"""php-cache-integration-tests, with docs/examples/psr6.php and psr16.php and with
Symfony's ApcuAdapter on the functions of APCu that this extension has."""
import pathlib
import re
import xml.etree.ElementTree as tree

import pytest

PSR = pathlib.Path(__file__).resolve().with_name('psr.php')

# Tests that must run, and what they may skip.
LEAST = {'Psr6Test': 70, 'Psr16Test': 150, 'ApcuAdapterTest': 70, 'ApcuPsr16Test': 150}


@pytest.mark.parametrize('name, read', [
    *((name, 'auto') for name in LEAST), ('Psr6Test', 'block'),
    ('Psr16Test', 'copy')])
def test_integration(server, tmp_path, name, read):
    report = tmp_path / 'junit.xml'
    # PHPUnit runs the class of this name.
    empty = tmp_path / f'{name}.php'
    empty.touch()
    extensions = [f'extension={server.extension(each)}' for each in
                  ('dom', 'mbstring', 'tokenizer', 'xml', 'xmlwriter')]
    done = server.php(
        [server.program('phpunit'), '--no-configuration', '--bootstrap',
         PSR, '--log-junit', report, '--do-not-cache-result', empty],
        ['hone.cache_cli=1', 'apc.enable_cli=1', 'apc.enabled=1',
         f'hone.cache_read={read}',
         # The tests are written for older versions of PHP.
         'error_reporting=8191', *extensions], cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r'^OK', done.stdout, re.M), done.stdout
    suite = tree.parse(report).getroot()[0]
    assert int(suite.get('tests')) >= LEAST[name], suite.attrib
    assert suite.get('skipped') == '0', done.stdout
