#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run .phpt files with the extension's file reads off and on, and report what
differs.

phpt.py WORK PHP-CONFIG PATH...

WORK is the folder where tools/phpext.sh built the extension. Each PATH is a .phpt
file or a folder of them. run-tests.php leaves the output of a failing test beside
the test, as for PHP's own developers.

The result of each test is compared; if it fails in both runs, so is its output.
A test that differs runs once more in both ways. If its two runs with file reads
off differ from each other, the test is called unstable, and is not counted.

Exits 0 if nothing differs, 1 if something differs, 2 if no test was run.
"""
import argparse
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

SWITCH = 'hone.file_reads'
PHPEXT = Path(__file__).resolve().parent / 'phpext.sh'
WORDS = {'failure': 'failed', 'error': 'broke', 'skipped': 'skipped',
         'warning': 'warned'}


def outcome(case):
    """(word, text) of one testcase of run-tests.php's JUnit file. The text of a
    test that was not run is left out: it may be the text of another test with the
    same condition for a skip."""
    for child in case:
        if child.tag in WORDS:
            word = WORDS[child.tag]
            text = child.text or '' if word == 'failed' else ''
            return word, text.strip()
    return 'passed', ''


def run(args, on, paths):
    """{path: (word, text)} of a run with the switch off or on."""
    with tempfile.TemporaryDirectory() as folder:
        junit = Path(folder) / 'junit.xml'
        done = subprocess.run(
            ['sh', PHPEXT, 'test', args.work, args.php_config, junit,
             '-d', f'{SWITCH}={on}', *paths],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors='replace')
        if not junit.exists():
            sys.stderr.write(done.stdout)
            sys.exit(2)
        # The name of a testcase is its path and, in brackets, its title.
        return {case.get('name').split(' (')[0]: outcome(case)
                for case in ElementTree.parse(junit).iter('testcase')}


def summary(results):
    counts = Counter(word for word, _ in results.values())
    return ', '.join(f'{counts[word]} {word}' for word in
                     ('passed', *sorted(set(counts) - {'passed'})))


def show(name, off, on):
    print(f'differs: {name}: {off[0]} with {SWITCH}=0, {on[0]} with 1')
    for (word, text), value in ((off, 0), (on, 1)):
        for line in text.splitlines()[:20]:
            print(f'    {value}| {line}')


def compare(args):
    """The number of tests, and the number of those that differ."""
    off, on = (run(args, value, args.paths) for value in (0, 1))
    print(f'{SWITCH}=0: {summary(off)}\n{SWITCH}=1: {summary(on)}')
    nothing = ('not run', '')
    suspects = sorted(name for name in {**off, **on}
                      if off.get(name) != on.get(name))
    again = run(args, 0, suspects) if suspects else {}
    once_more = run(args, 1, suspects) if suspects else {}
    differ = 0
    for name in suspects:
        if again.get(name) != off.get(name):
            print(f'unstable, with {SWITCH}=0 too: {name}')
            continue
        differ += 1
        show(name, off.get(name, nothing), on.get(name, nothing))
        if once_more.get(name) != on.get(name):
            print('    not the same in a second run')
    return len({**off, **on}), differ


def main():
    parser = argparse.ArgumentParser(
        description='run .phpt files with file reads off and on')
    parser.add_argument('work', metavar='WORK')
    parser.add_argument('php_config', metavar='PHP-CONFIG')
    parser.add_argument('paths', metavar='PATH', nargs='+')
    args = parser.parse_args()
    tests, differ = compare(args)
    if tests == 0:
        print('no test was run', file=sys.stderr)
        return 2
    print(f'{tests} tests, {differ} differ')
    return 1 if differ else 0


if __name__ == '__main__':
    sys.exit(main())
