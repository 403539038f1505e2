#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The work of ./dev run: make a disk image of this machine's own files, and do
with it what a user does: to raw, to qcow2, to compressed qcow2, and back, each
beside qemu-img where that is installed; then check and compare the results.

The two take turns (A B, B A) after one of each that is not counted, with the
source in the page cache and each output flushed to the disk; figures are
medians. MB/s is the virtual size by the time;
saved is against what the source occupies on the disk.
"""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

MIB = 1 << 20
DISK = 512 * MIB
FILES = 280 * MIB  # of the machine's own, at most
ZEROS = 96 * MIB  # written as data: what a guest leaves that wiped files
ROUNDS = 3
SECONDS = 40  # no turn begins later, but each job has had one
# Flushed at the end, as hone does; several requests at once, out of order. With
# -c, qemu-img compresses on one core without -W.
QEMU_FLAGS = ['-t', 'writeback', '-W', '-m', '16']


def run(*command, good=(0,)):
    """Run a command; (seconds, CPU seconds, stdout, status)."""
    before, began = os.times(), time.monotonic()
    done = subprocess.run([str(word) for word in command],
                          stdout=subprocess.PIPE, text=True, check=False)
    seconds, after = time.monotonic() - began, os.times()
    if done.returncode not in good:
        sys.exit(f'run: {" ".join(str(word) for word in command)}: '
                 f'exit status {done.returncode}')
    cpu = (after.children_user + after.children_system
           - before.children_user - before.children_system)
    return seconds, cpu, done.stdout, done.returncode


def gather(tree):
    """Copy files of /usr below tree until FILES bytes; return the bytes."""
    total = 0
    for folder, folders, names in os.walk('/usr'):
        folders.sort()
        target = tree / folder.lstrip('/')
        target.mkdir(parents=True, exist_ok=True)
        for name in sorted(names):
            path = Path(folder, name)
            try:
                if path.is_symlink():
                    os.symlink(os.readlink(path), target / name)
                    continue
                size = path.stat().st_size
                if not path.is_file() or total + size > FILES:
                    continue
                shutil.copyfile(path, target / name)
            except OSError:
                continue  # not ours to read: there are others
            total += size
    return total


def write_zeros(path):
    """Write ZEROS bytes of zeros into the holes of a file."""
    left, offset = ZEROS, 0
    with open(path, 'r+b') as disk:
        end = disk.seek(0, os.SEEK_END)
        while left and offset < end:
            try:
                hole = os.lseek(disk.fileno(), offset, os.SEEK_HOLE)
                offset = os.lseek(disk.fileno(), hole, os.SEEK_DATA)
            except OSError:
                offset = end  # nothing but a hole to the end
            if hole >= end:
                break
            length = min(left, offset - hole)
            disk.seek(hole)
            for at in range(0, length, MIB):
                disk.write(bytes(min(MIB, length - at)))
            left -= length
        disk.flush()
        os.fsync(disk.fileno())
    return ZEROS - left


def make_disk(directory):
    """An ext4 image at directory/disk.img; (bytes of files, of zeros)."""
    disk, tree = directory / 'disk.img', directory / 'tree'
    files = gather(tree)
    with open(disk, 'wb') as empty:
        empty.truncate(DISK)
    run('mke2fs', '-q', '-F', '-t', 'ext4', '-d', tree, disk)
    shutil.rmtree(tree)
    return files, write_zeros(disk)


def usage(path):
    return path.stat().st_blocks * 512


class Job:
    """One piece of work by one tool: run often, reported by its median."""

    def __init__(self, what, tool, command, output=None, good=(0,)):
        self.what, self.tool, self.command = what, tool, command
        self.output, self.good, self.times, self.cpu = output, good, [], []
        self.stdout, self.status = '', 0

    def turn(self):
        if self.output:
            self.output.unlink(missing_ok=True)
        seconds, cpu, self.stdout, self.status = run(*self.command,
                                                     good=self.good)
        self.times.append(seconds)
        self.cpu.append(cpu)

    def median(self):
        return statistics.median(self.times)


ZSTD = ['-o', 'compression_type=zstd']
# What is done; the options of hone; those of qemu-img; source and output.
STEPS = [
    ('to raw', ['-O', 'raw'], [*QEMU_FLAGS, '-f', 'raw', '-O', 'raw'],
     'disk.img', 'raw'),
    ('to qcow2', ['-O', 'qcow2'], [*QEMU_FLAGS, '-f', 'raw', '-O', 'qcow2'],
     'disk.img', 'qcow2'),
    ('to zlib', ['-c', '-O', 'qcow2'],
     ['-c', *QEMU_FLAGS, '-f', 'raw', '-O', 'qcow2'], 'disk.img', 'zlib'),
    ('to zstd', ['-c', *ZSTD, '-O', 'qcow2'],
     ['-c', *QEMU_FLAGS, *ZSTD, '-f', 'raw', '-O', 'qcow2'], 'disk.img',
     'zstd'),
    ('zlib to raw', ['-O', 'raw'], [*QEMU_FLAGS, '-f', 'qcow2', '-O', 'raw'],
     'hone.zlib', 'back'),
]


def jobs(hone, qemu, directory):
    """Every job, those of the two tools side by side."""
    made = []
    for what, mine, theirs, source, form in STEPS:
        output = directory / f'hone.{form}'
        made.append(Job(what, 'hone', [
            hone, 'convert', '--json', *mine, directory / source, output],
            output))
        if qemu:
            output = directory / f'qemu.{form}'
            made.append(Job(what, 'qemu-img', [
                qemu, 'convert', *theirs, directory / source, output], output))
    pair = [directory / 'disk.img', directory / 'hone.raw']
    made.append(Job('compare', 'hone', [hone, 'compare', '-q', *pair],
                    good=(0, 1)))
    if qemu:
        made.append(Job('compare', 'qemu-img', [
            qemu, 'compare', '-q', '-f', 'raw', '-F', 'raw', *pair],
            good=(0, 1)))
    return made


def measure(work):
    """All turns of a job and its rival before the next: what one job leaves
    is the source of another. Who runs first pays for memory that nobody has
    touched, so the first turn of each does not count."""
    began = time.monotonic()
    for what in dict.fromkeys(job.what for job in work):
        pair = [job for job in work if job.what == what]
        for job in pair:
            job.turn()
            job.times.clear()
            job.cpu.clear()
        for turn in range(ROUNDS):
            if turn and time.monotonic() - began > SECONDS:
                break
            for job in pair[::-1] if turn % 2 else pair:
                job.turn()


def show_table(qemu, work, source):
    occupied = usage(source)
    print(f'\n{"":13}{"":10}{"seconds":>9}{"MB/s":>9}{"CPU s":>8}'
          f'{"on disk":>12}{"saved":>8}{"speed":>8}')
    print(f'{"source":49}{occupied / MIB:8.0f} MiB')
    rival = {job.what: job.median() for job in work if job.tool != 'hone'}
    for job in work:
        seconds = job.median()
        size = saved = speed = ''
        if job.output:
            size = f'{usage(job.output) / MIB:.0f} MiB'
            saved = f'{100 * (1 - usage(job.output) / occupied):.0f} %'
        if job.tool == 'hone' and job.what in rival:
            speed = f'{rival[job.what] / seconds:.2f} x'
        title = job.what if job.tool == 'hone' else ''
        print(f'{title:13}{job.tool:10}{seconds:9.2f}'
              f'{DISK / seconds / 1e6:9.0f}{statistics.median(job.cpu):8.2f}'
              f'{size:>12}{saved:>8}{speed:>8}'.rstrip())
    print(f'medians of up to {ROUNDS} turns after one that is not counted; '
          'source cached, output on the disk')
    if rival:
        print(f'qemu-img: {run(qemu, "--version")[2].splitlines()[0]}\n'
              f'each convert with {" ".join(QEMU_FLAGS)}, also with -c: all '
              'cores; speed: its time by that of hone')


def checks(hone, qemu, directory):
    """(what, good) of all that proves the outputs right."""
    source = directory / 'disk.img'

    def holds(*command):
        return run(*command, good=range(256))[3] == 0

    for form in ('raw', 'qcow2', 'zlib', 'zstd', 'back'):
        yield f'hone compare: {form} equals the source', holds(
            hone, 'compare', '-q', source, directory / f'hone.{form}')
    if not qemu:
        print('qemu-img is not installed: nothing to compare with, and the '
              'qcow2 images are not checked by a second reader')
        return
    for form in ('qcow2', 'zlib', 'zstd'):
        image = directory / f'hone.{form}'
        yield f'qemu-img compare: {form} equals the source', holds(
            qemu, 'compare', '-q', '-f', 'raw', '-F', 'qcow2', source, image)
        yield f'qemu-img check: {form} is consistent', holds(
            qemu, 'check', '-q', '-f', 'qcow2', image)


def show_disk(hone, files, zeros, work):
    result = json.loads(next(job.stdout for job in work if job.output))
    print(f'\nsource    {DISK // MIB} MiB ext4 with {files // MIB} MiB of '
          f'files of /usr, {zeros // MIB} MiB of zeros')
    print('hone      ' + ', '.join(
        f'{result[kind + "_bytes"] / MIB:.0f} MiB {word}' for kind, word in (
            ('data', 'of data'), ('zero', 'read as zeros'),
            ('hole', 'in holes, not read'))))
    print('hone cpu')
    for line in run(hone, 'cpu')[2].splitlines():
        print(f'          {line}')


def show(hone, qemu, directory):
    began = time.monotonic()
    files, zeros = make_disk(directory)
    print(f'{"image":22}ok     {time.monotonic() - began:4.0f} s')
    began = time.monotonic()
    work = jobs(hone, qemu, directory)
    measure(work)
    print(f'{"conversions":22}ok     {time.monotonic() - began:4.0f} s')
    show_disk(hone, files, zeros, work)
    show_table(qemu, work, directory / 'disk.img')
    print()
    failed = 0
    for what, good in checks(hone, qemu, directory):
        print(f'{"ok    " if good else "FAILED"}  {what}')
        failed |= not good
    return int(failed)


def main():
    parser = argparse.ArgumentParser(prog='dev run')
    parser.add_argument('--hone', required=True, help=argparse.SUPPRESS)
    parser.add_argument('--dir', required=True, type=Path,
                        help=argparse.SUPPRESS)
    parser.add_argument('--keep', action='store_true',
                        help='leave the images in place')
    args = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda n, _: sys.exit(128 + n))
    shutil.rmtree(args.dir, ignore_errors=True)
    try:
        args.dir.mkdir(parents=True)
        free = shutil.disk_usage(args.dir).free
        if free < 5 * DISK:
            sys.exit(f'run: {args.dir}: {free // MIB} MiB are free, '
                     f'{5 * DISK // MIB} are needed')
        sys.stdout.reconfigure(line_buffering=True)
        return show(args.hone, shutil.which('qemu-img'), args.dir)
    finally:
        if args.keep:
            print(f'images: {args.dir}')
        else:
            shutil.rmtree(args.dir, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(main())
