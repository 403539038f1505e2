#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pages of WordPress, MediaWiki and Symfony with the PHP extension off and on.

real.py --real DIRECTORY --module hone.so [--php-cgi PROGRAM] [--json FILE]

DIRECTORY holds Debian's packages, unpacked (tools/php-debs.sh). The programs
are set up in a temporary folder, with MariaDB on a socket there and SQLite.

For each page, compares the bytes, and measures a request under "php-cgi -T"
with a warm opcache. valgrind counts instructions, strace counts system calls.
Both counts are the difference between a run of few requests and a run of more:
the start of PHP is not in them. Times are medians of interleaved runs.

Exits 1 if a page is not the same.
"""
import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / 'real'))
import sites  # noqa: E402 (beside this file, in real/)

sys.path.append(str(Path(__file__).resolve().parents[1] / 'support'))
import report  # noqa: E402 (from bench/support)

FEW, MORE = 2, 5
ELAPSED = re.compile(r'Elapsed time: ([\d.]+) sec')
INSTRUCTIONS = re.compile(r'I +refs: +([\d,]+)')


class Trouble(Exception):
    """The reason why a page cannot be measured."""


class Cgi:
    """php-cgi for one page, with the extension or without."""

    warm = 1  # requests before those that count

    def __init__(self, php, module, page):
        extension = ['-d', f'extension={module}'] if module else []
        self.command = [*php.cgi, *extension, *page.options]
        self.environment = {**php.environment, **page.environment()}
        self.folder = page.folder

    def run(self, requests, tool=()):
        """(standard output, error output) of `warm` requests and `requests`
        more."""
        done = subprocess.run(
            [*tool, *self.command, '-T', f'{self.warm},{requests}'],
            env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        errors = done.stderr.decode(errors='replace')
        if done.returncode:
            raise Trouble(f'{tool or self.command[:1]}: exit status '
                          f'{done.returncode}: {errors.strip()[-500:]}')
        return done.stdout, errors

    def seconds(self, requests):
        return float(ELAPSED.search(self.run(requests)[1])[1]) / requests

    def instructions(self):
        def total(requests):
            # The same count as callgrind's, in less than half the time.
            tool = ['valgrind', '--tool=cachegrind', '--cache-sim=no',
                    '--cachegrind-out-file=/dev/null']
            found = INSTRUCTIONS.search(self.run(requests, tool)[1])[1]
            return int(found.replace(',', ''))
        return (total(MORE) - total(FEW)) / (MORE - FEW)

    def system_calls(self):
        """{name: calls a request}"""
        few, more = self.traced(FEW), self.traced(MORE)
        each = {name: (more.get(name, 0) - few.get(name, 0)) / (MORE - FEW)
                for name in {**few, **more}}
        return {name: calls for name, calls in each.items() if calls}

    def traced(self, requests):
        with tempfile.NamedTemporaryFile('r') as table:
            self.run(requests, ['strace', '-f', '-c', '-o', table.name])
            rows = [line.split() for line in table.read().splitlines()]
        # The columns: time, seconds, microseconds a call, calls, errors
        # (may be empty), name.
        return {row[-1]: int(row[3]) for row in rows
                if len(row) >= 5 and row[3].isdigit() and row[-1] != 'total'}


def difference(one, other):
    """The first lines that differ, or the lengths if no line differs."""
    for pair in zip(one.splitlines(), other.splitlines()):
        if pair[0] != pair[1]:
            return f'{pair[0]!r}, then {pair[1]!r}'
    return f'{len(one)} bytes, then {len(other)}'


def same_bytes(page, off, on):
    """Is a page the same with the extension? Raises Trouble if two runs without
    the extension differ."""
    first, other, last = (page.masked(cgi.run(FEW)[0])
                          for cgi in (off, on, off))
    if len(first) < page.at_least:
        raise Trouble(f'only {len(first)} bytes: {first[:300]!r}')
    if first != last:
        raise Trouble('two runs without the extension differ: '
                      f'{difference(first, last)}')
    if first != other:
        print(f'    {difference(first, other)}')
    return first == other


def timed(off, on, rounds, requests):
    """Medians, in seconds, of interleaved runs."""
    pairs = [(off.seconds(requests), on.seconds(requests))
             for _ in range(rounds)]
    return [statistics.median(side) for side in zip(*pairs)]


def measure(php, module, page, args):
    off, on = Cgi(php, None, page), Cgi(php, module, page)
    off.run(1)  # fills the caches of the program
    result = {'page': page.name, 'same': same_bytes(page, off, on)}
    for what in ('instructions', 'system_calls'):
        result[what] = [getattr(cgi, what)() for cgi in (off, on)]
    if args.rounds:
        result['seconds'] = timed(off, on, args.rounds, args.requests)
    return result


def change(off, on):
    return f'{(on - off) / off * 100:+.2f} %' if off else '-'


def show(result):
    print(f"{result['page']}: the page is "
          f"{'the same' if result['same'] else 'NOT THE SAME'}")
    off, on = result['instructions']
    print(f'    instructions  {off:12.0f} {on:12.0f}  {change(off, on)}')
    off, on = (sum(calls.values()) for calls in result['system_calls'])
    print(f'    system calls  {off:12.1f} {on:12.1f}  {change(off, on)}')
    calls_off, calls_on = result['system_calls']
    for name in sorted({**calls_off, **calls_on}):
        pair = calls_off.get(name, 0), calls_on.get(name, 0)
        if pair[0] != pair[1]:
            print(f'        {name:18}{pair[0]:4.1f} {pair[1]:12.1f}')
    if 'seconds' in result:
        off, on = (each * 1e3 for each in result['seconds'])
        print(f'    milliseconds  {off:12.2f} {on:12.2f}  {change(off, on)}')


def arguments():
    parser = argparse.ArgumentParser(
        description='real PHP programs with the extension off and on')
    parser.add_argument('--real', type=Path, required=True,
                        help="Debian's packages, unpacked")
    parser.add_argument('--module', type=Path, required=True, help='hone.so')
    parser.add_argument('--php-cgi', default='php-cgi8.2')
    parser.add_argument('--php', default='php8.2')
    parser.add_argument('--rounds', type=int, default=7,
                        help='times: runs of each kind (7; 0 for none)')
    parser.add_argument('--requests', type=int, default=10,
                        help='times: requests a run (10)')
    parser.add_argument('--only', default='', help='pages whose name has this')
    parser.add_argument('--json', type=Path, help='write the results there')
    return parser.parse_args()


def main():
    args = arguments()
    for tool in ('valgrind', 'strace', args.php_cgi, args.php):
        if not shutil.which(tool):
            sys.exit(f'real.py: {tool} is not installed')
    results, failed = [], False
    with tempfile.TemporaryDirectory(prefix='hone-php-real-') as folder:
        php = sites.Php(args.real.resolve(), args.php, args.php_cgi)
        with sites.Sites(php, Path(folder)) as pages:
            print('a request, opcache warm: off, on, change')
            for page in pages:
                if args.only not in page.name:
                    continue
                try:
                    results.append(
                        measure(php, args.module.resolve(), page, args))
                    show(results[-1])
                    failed = failed or not results[-1]['same']
                except Trouble as trouble:
                    print(f'{page.name}: {trouble}')
                    failed = True
                sys.stdout.flush()
    if args.json:
        report.save(args.json, results)
    return 1 if failed or not results else 0


if __name__ == '__main__':
    sys.exit(main())
