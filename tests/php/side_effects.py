#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What PHP's file functions do to the system, with hone.file_reads off and on.

side_effects.py WORK PHP

WORK is where tools/phpext.sh built the extension. One process for each mode
makes every call of php/tests/differential under strace. Both must have the same
events in the same order: each file that was opened, how, and how many bytes were
written to it; and each call that changes a directory or a file in another way.
No descriptor may stay open. Then bytes are appended to a file while it is read.
Exits 0 if the events are equal and no byte was lost.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHANGES = ('unlink', 'unlinkat', 'rename', 'renameat', 'mkdir', 'rmdir',
           'symlink', 'symlinkat', 'link', 'chmod', 'fchmod', 'chown',
           'truncate', 'ftruncate', 'fallocate', 'utimensat', 'flock')
WATCHED = ('openat', 'open', 'creat', 'close', 'write', 'pwrite64', 'chdir',
           'copy_file_range', 'sendfile', *CHANGES)
# Every call once. Arguments: the file with the calls; a folder to make and remove.
CALLS = r'''require $argv[1];
make_files($argv[2]);
$calls = calls($argv[2]);
chdir('/');
chdir($argv[2]);
foreach ($calls as $call) {
    outcome($call, $argv[2]);
}
chdir('/');
ob_start();
phpinfo(INFO_MODULES);
preg_match_all('/^(\w+) => (\d+)$/m', strstr(strstr(ob_get_clean(), 'on the fast path'), "\n\n", true), $counts);
remove_files($argv[2]);
echo count($calls), ' ', array_sum($counts[2]), "\n";
'''
LINE = re.compile(r'(\w+)\((.*)\) += (-?\d+)')
# The process number, to which /proc/self leads.
SELF = re.compile(r'/proc/\d+/')


class Process:
    """The events of one process between its two chdir("/")."""

    def __init__(self):
        self.events = []
        self.open = {}
        self.watching = False

    def line(self, text):
        match = LINE.match(text)
        if not match:
            return
        call, args, result = match[1], match[2], int(match[3])
        if call == 'chdir' and args == '"/"':
            self.watching = not self.watching
        elif self.watching:
            self.event(call, args, result)

    def event(self, call, args, result):
        if call in ('open', 'openat', 'creat'):
            if result >= 0:
                self.open[result] = [SELF.sub('/proc/self/', args), 0]
                self.opened(self.open[result])
        elif call == 'close':
            self.open.pop(int(args), None)
        elif call in CHANGES:
            self.events.append([f'{call} {args}', result])
        elif result > 0:
            at = 2 if call == 'copy_file_range' else 0
            descriptor = int(args.split(',')[at])
            if descriptor in self.open:
                self.open[descriptor][1] += result

    def opened(self, event):
        """A file that is opened for reading twice in a row counts once: copy()
        does so if its target cannot be opened."""
        if event[0].endswith(' O_RDONLY') and event in self.events[-1:]:
            return
        self.events.append(event)


def watch(work, php, on, folder):
    log = folder / f'strace{on}'
    command = ['strace', '-o', log, '-s', '4096', '-e',
               f'trace={",".join(WATCHED)}', php, '-n', '-d',
               f'extension={work}/modules/hone.so', '-d',
               f'hone.file_reads={on}', '-r', CALLS, '--',
               f'{work}/tests/differential/calls.inc', str(folder / 'files')]
    output = subprocess.run(command, check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    process = Process()
    with log.open(errors='replace') as lines:
        for line in lines:
            process.line(line)
    calls, taken = (int(word) for word in output.split()[-2:])
    return process, calls, taken


class Reading:
    """PHP reads a file by three equal calls, as strace sees them."""

    def __init__(self, work, php, folder, before, call):
        self.name, self.log = folder / 'grows', folder / 'log'
        self.before = before
        code = f'chdir("{folder}"); $n = "{self.name}"; {call}; {call}; '
        code += f'echo "\\ngo\\n"; {call};'
        self.trace = ['strace', '-o', self.log, '-P', self.name, '-e',
                      'trace=openat,read,%fstat']
        self.php = [php, '-n', '-d', f'extension={work}/modules/hone.so', '-r', code]
        self.name.write_bytes(before)
        subprocess.run([*self.trace, *self.php], check=True, stdout=subprocess.DEVNULL)
        self.calls = re.findall(r'^(\w+)\(', self.log.read_text(), re.M)
        # The reads of the last call.
        opened = max(i for i, name in enumerate(self.calls) if name == 'openat')
        self.reads = [i for i, name in enumerate(self.calls)
                      if name == 'read' and i > opened]

    def grows_before(self, read):
        """What the last call returns if the file grows before that read."""
        last = self.calls[self.reads[read] - 1]
        when = self.calls[:self.reads[read]].count(last)
        self.name.write_bytes(self.before)
        self.log.write_text('')
        with subprocess.Popen(
                [*self.trace, '-e', f'inject={last}:signal=SIGSTOP:when={when}',
                 *self.php], stdout=subprocess.PIPE) as process:
            while 'stopped by SIGSTOP' not in self.log.read_text():
                time.sleep(0.001)
            with self.name.open('ab') as file:
                file.write(b'after' * 3000)
            children = f'/proc/{process.pid}/task/{process.pid}/children'
            os.kill(int(Path(children).read_text(encoding='ascii')), signal.SIGCONT)
            return process.stdout.read().partition(b'\ngo\n')[2]


def growing(work, php, folder):
    """Calls that lost bytes, or never met the file while it grew."""
    short, long = b'before ', b'before ' * 3000
    for before, call, reads in (
            (short, 'echo file_get_contents($n)', (0, 1)),
            (short, 'echo implode(file($n))', (0, 1)),
            (short, 'readfile($n)', (0,)),
            (long, 'echo file_get_contents($n)', (0,)),
            (long, 'echo stream_get_contents(fopen($n, "r"))', (0,)),
            (long, 'echo fread(fopen($n, "r"), 100000)', (1,))):
        reading = Reading(work, php, folder, before, call)
        for read in reads:
            got = reading.grows_before(read)
            if got != before + b'after' * 3000:
                yield f'{call}, read {read}: {len(got)} bytes, {got[:20]}'


def main():
    work, php = Path(sys.argv[1]).resolve(), sys.argv[2]
    with tempfile.TemporaryDirectory() as name:
        runs = [watch(work, php, on, Path(name)) for on in (0, 1)]
        lost = list(growing(work, php, Path(name)))
    (off, calls, never), (on, _, taken) = runs
    different = [pair for pair in zip(off.events, on.events) if pair[0] != pair[1]]
    for before, after in different[:5]:
        print(f'off: {before}\non:  {after}')
    left = [event for process, *_ in runs for event in process.open.values()]
    for event in left:
        print(f'left open: {event}')
    for text in lost:
        print(f'while it grows: {text}')
    print(f'{calls} calls, {taken} of them on the fast path; '
          f'{len(off.events)} events off, {len(on.events)} on, '
          f'{len(different)} different')
    good = (not different and not left and not lost and never == 0
            and taken > 500 and len(off.events) == len(on.events) > 1000)
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
