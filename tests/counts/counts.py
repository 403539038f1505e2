#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compare instructions and system calls with tests/counts/counts.toml.

counts.py STAGED HONE.SO PHP [--accept]

STAGED has the installed libhone and the command (prefix /usr), HONE.SO is the
extension with libhone inside. Prints TAP: a count that is over 2 % higher than
its row fails, and the output has the row that accepts the count. --accept writes
all rows. The last tests plant a slow-down of 3 % in hot.c, which has to fail, and
one of 1 %, which must not.

callgrind counts the instructions: of hot.c by AVX2 and SSE2, and of cache.php.
It emulates one CPU on all machines, so glibc and libhone choose the same code
everywhere. strace counts the system calls between two marks. Memory, futexes and
what runs before main() are left out, since they depend on the system. Files are
on tmpfs: file systems differ.

The rows are of gcc 12, of Debian's PHP 8.2 and of CPUs with AVX2. Others are a
skip.
"""
import argparse
import collections
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROWS = HERE / 'counts.toml'
LIMIT = 1.02
# Of each loop that is counted. A stream looks for the ends of lines ahead, so its
# few first lines are not like the rest.
TURNS = 1000
CACHE_TURNS = 100
SHM = Path('/dev/shm')
MEMORY = {'mmap', 'munmap', 'mremap', 'brk', 'madvise', 'mprotect', 'futex'}
CALL = re.compile(r'(?:\d+ +)?(\w+)\((.*)')
MARK = 'hone-mark'
SIZE = 8 << 20
# One way to read a file: WAY FILE. The names that do not exist mark the first and
# the last call that count.
READS = r'''[, $way, $file] = $argv;
$ways = [
    'file_get_contents' => fn() => file_get_contents($file),
    'file' => fn() => file($file),
    'fread' => fn() => fread(fopen($file, 'r'), 1 << 20),
    'fgets' => function () use ($file) {
        $stream = fopen($file, 'r');
        while (fgets($stream) !== false);
    },
    'readfile' => fn() => readfile($file),
    'copy' => fn() => copy($file, "$file.copy"),
];
file_exists('/hone-mark');
$ways[$way]();
file_exists('/hone-mark');
'''


def pinned(command, **variables):
    """The output of a command in an environment that is the same everywhere."""
    done = subprocess.run(
        ['setarch', '-R', 'env', '-i', 'PATH=/usr/bin:/bin', 'LC_ALL=C',
         # For what runs without callgrind, which emulates a CPU.
         'GLIBC_TUNABLES=glibc.malloc.arena_max=1:'
         'glibc.cpu.x86_data_cache_size=32768:'
         'glibc.cpu.x86_shared_cache_size=1048576:'
         'glibc.cpu.x86_non_temporal_threshold=786432',
         *(f'{name}={value}' for name, value in variables.items()), *command],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f'{command}: status {done.returncode}: '
                           f'{done.stderr[-500:]}')
    return done.stdout


def parts(folder):
    """[(trigger, instructions)] of the dump files of callgrind, in order."""
    found = []
    for path in sorted(folder.glob('out.*'), key=lambda path: int(path.suffix[1:])):
        text = path.read_text()
        trigger = re.search(r'^desc: Trigger: (.*)$', text, re.M)[1]
        total = re.search(r'^(?:totals|summary): (\d+)', text, re.M)[1]
        found.append((trigger, int(total)))
    return found


def callgrind(work, options, command):
    folder = Path(tempfile.mkdtemp(dir=work))
    printed = pinned(['valgrind', '-q', '--tool=callgrind', *options,
                      f'--callgrind-out-file={folder}/out', *command])
    return printed, parts(folder)


def hot_program(args, work):
    """hot.c, linked with the library's archive."""
    archive = next(args.staged.rglob('libhone.a'))
    libraries = subprocess.run(
        ['pkg-config', '--static', '--libs-only-l', 'hone'], check=True,
        stdout=subprocess.PIPE, text=True,
        env={**os.environ, 'PKG_CONFIG_LIBDIR': archive.parent / 'pkgconfig'},
    ).stdout.split()
    program = work / 'hot'
    subprocess.run(
        ['gcc', '-O2', f'-I{args.staged}/usr/include', HERE / 'hot.c', archive,
         '-Wl,--wrap=hone_mempool_watch_begin', '-o', program, '-lpthread',
         *(word for word in libraries if word != '-lhone')], check=True)
    return program


def hot_counts(program, work, feature, turns=TURNS):
    """Instructions of the cases of hot.c."""
    _, found = callgrind(work, ['--collect-atstart=no'], [program, feature, str(turns)])
    for trigger, total in found:
        name = trigger.removeprefix('Client Request: ')
        if name != 'Program termination':
            yield f'{feature}: {name}', total / TURNS


def hot(args, work):
    """Rows of hot.c."""
    program = hot_program(args, work)
    for feature in ('avx2', 'sse2'):
        yield from hot_counts(program, work, feature)


def cache(args, work):
    """Rows of cache.php."""
    printed, found = callgrind(
        work, ['--dump-before=zend_memory_peak_usage'],
        [args.php, '-n', '-d', f'extension={args.module}', '-d',
         'hone.cache_cli=1', '-d', 'hone.cpu_limit=sse2,avx2,bmi2',
         HERE / 'cache.php', str(CACHE_TURNS)])
    # A part ends at each mark; each second one is a loop.
    for i, name in enumerate(printed.splitlines()):
        yield f'cache: {name}', found[2 * i + 1][1] / CACHE_TURNS


def calls_of(log, first, last):
    """The system calls between two lines that have these words, counted."""
    counted, begun = collections.Counter(), False
    for line in log.read_text(errors='replace').splitlines():
        match = CALL.match(line)
        if not match or match[1] in MEMORY:
            continue
        if begun and last and last in line:
            break
        # execve shows arguments up to 32 characters. What the loader does after
        # it depends on the CPU: it looks for libraries of x86-64-v4, for one.
        if begun or first in line and match[1] != 'execve':
            # newfstatat is fstat's name in a newer libc.
            counted[match[1].replace('newfstatat', 'fstat')] += begun or not last
            begun = True
    return +counted


def strace(work, command, first, last='', **variables):
    log = work / 'strace'
    pinned(['strace', '-f', '-qq', '-e', 'signal=none', '-o', log, *command],
           **variables)
    return sum(calls_of(log, first, last).values())


def convert(args, work):
    """Rows of hone convert: from the call that names the source."""
    raw, image = work / 'raw', work / 'qcow2'
    block = random.Random(1).randbytes(65536)
    raw.write_bytes((block + bytes(65536)) * (SIZE // len(block) // 2))
    library = next(args.staged.rglob('libhone.so')).parent
    hone = args.staged / 'usr/bin/hone'
    for name, source, options in (
            ('raw to qcow2', raw, ['-O', 'qcow2']),
            ('raw to compressed qcow2', raw, ['-O', 'qcow2', '-c']),
            ('qcow2 to raw', image, ['-O', 'raw'])):
        target = work / 'target'
        target.unlink(missing_ok=True)
        yield f'calls: convert {name}', strace(
            work, [hone, 'convert', '--threads', '1', *options, source, target],
            str(source), LD_LIBRARY_PATH=library)
        if not image.exists():
            target.rename(image)


def stream(args, work):
    """Rows of stream.py."""
    library = next(args.staged.rglob('libhone.so.0'))
    for case in ('12 bytes', '700 KiB', 'large read', 'lines', 'reply', 'plain batch'):
        yield f'calls: stream {case}', strace(
            work, [sys.executable, '-B', HERE / 'stream.py', case, work],
            'getsid', 'getsid', HONE_LIB=library)


def reads(args, work):
    """Rows of READS."""
    lines = work / 'lines'
    lines.write_bytes(b'x' * 79 + b'\n')
    lines.write_bytes(lines.read_bytes() * 8192)
    for way in ('file_get_contents', 'file', 'fread', 'fgets', 'readfile', 'copy'):
        yield f'calls: php {way}', strace(
            work, [args.php, '-n', '-d', f'extension={args.module}',
                   '-r', READS, '--', way, lines], MARK, MARK)


def obstacle(php):
    """Why nothing can be counted here, or None."""
    version = subprocess.run(['gcc', '-dumpversion'], check=True, text=True,
                             stdout=subprocess.PIPE).stdout.strip()
    if version.split('.')[0] != '12':
        return f'the rows are of gcc 12, and this is gcc {version}'
    if os.uname().machine != 'x86_64':
        return 'the rows are of x86_64'
    if ' avx2 ' not in Path('/proc/cpuinfo').read_text():
        return 'this CPU has no AVX2'
    for tool in ('valgrind', 'strace', 'setarch'):
        if not shutil.which(tool):
            return f'{tool} is not installed'
    if subprocess.run(['strace', '-o', '/dev/null', 'true'],
                      stderr=subprocess.DEVNULL, check=False).returncode:
        return 'strace cannot trace here'
    if not os.access(SHM, os.W_OK):
        return f'{SHM} is not writable'
    version = subprocess.run([php, '-n', '-r', 'echo PHP_VERSION;'],
                             check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    if not version.startswith('8.2.'):
        return f'the rows are of PHP 8.2, and this is PHP {version}'
    return None


def row(name, number):
    return f'"{name}" = {number:g}'


def verdict(name, rows, found):
    """What is wrong with a count, or None."""
    now, before = found.get(name), rows.get(name)
    if now is None:
        return 'there is a row, and no such count'
    if before is not None and now <= before * LIMIT:
        return None
    known = 'no row' if before is None else f'{before:g} in the row'
    return (f'{now:g}, and {known}; to accept the count, write this row to '
            f'tests/counts/counts.toml: {row(name, now)}')


def planted(args, work):
    """(what must be true, whether it is): slow-downs of 3 % and 1 %."""
    program = hot_program(args, work)
    exact, little, much = (
        dict(hot_counts(program, work, 'avx2', TURNS + more))
        for more in (0, TURNS // 100, 3 * TURNS // 100))
    yield ('3 % more instructions fail, in each case',
           all(verdict(name, exact, much) for name in exact))
    yield ('1 % more instructions are accepted',
           not any(verdict(name, exact, little) for name in exact))


def report(results):
    """Print TAP of (name, what is wrong or None); the number of failures."""
    print(f'1..{len(results)}')
    for i, (name, wrong) in enumerate(results, 1):
        print(f'{"not ok" if wrong else "ok"} {i} - {name}')
        if wrong:
            print(f'# {wrong}')
    return sum(1 for _, wrong in results if wrong)


HEADER = '''# SPDX-License-Identifier: BSD-3-Clause
# Instructions and system calls, compared by counts.py. `./dev counts --accept`
# writes this file anew; the commit says why a count rises.
'''


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('staged', type=Path)
    parser.add_argument('module', type=Path)
    parser.add_argument('php')
    parser.add_argument('--accept', action='store_true',
                        help='write the counts to counts.toml')
    args = parser.parse_args()
    args.staged, args.module = args.staged.resolve(), args.module.resolve()
    reason = obstacle(args.php)
    if reason:
        print(f'1..0 # SKIP {reason}')
        return 0
    with tempfile.TemporaryDirectory(dir=SHM, prefix='hone-counts') as folder:
        found = {}
        for group in (hot, convert, stream, cache, reads):
            found.update(group(args, Path(folder)))
        if args.accept:
            ROWS.write_text(HEADER + ''.join(
                row(*each) + '\n' for each in sorted(found.items())))
            return 0
        rows = tomllib.loads(ROWS.read_text())
        return 1 if report(
            [(name, verdict(name, rows, found)) for name in sorted({*rows, *found})] +
            [(name, None if true else 'this is not so')
             for name, true in planted(args, Path(folder))]) else 0


if __name__ == '__main__':
    sys.exit(main())
