#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Conversions of disk images by hone and by its rivals, in one run.

convert.py --hone PROGRAM --dir DIRECTORY [--json FILE] [--rounds N]
           [--scale X] [--only REGEX] [--reach]

The tools take turns, each time from another one, after one turn of each that
is not counted and whose output is compared with the source; printed are
medians. Of a rival with several sets of flags the fastest is timed: each set is
tried in this run. Sources are in the page cache; every output is on the disk
when its turn ends. Memory is touched and freed before the first turn, since a
virtual machine may have to get it back from its host. Exits 1 if a target is
missed.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import cases  # noqa: E402
import images  # noqa: E402
import process  # noqa: E402
import reach  # noqa: E402

sys.path.insert(0, str(HERE.parent / 'support'))
import report  # noqa: E402 (from bench/support)
import rivals  # noqa: E402


TOUCH = """
import mmap, sys
area = mmap.mmap(-1, int(sys.argv[1]))
for at in range(0, len(area), 4096):
    area[at] = 1
"""


def touch_memory(size):
    """Have the host give this machine its memory before anything is timed.

    By another process: Linux counts what this one had at its most for every
    process that it starts.
    """
    subprocess.run([sys.executable, '-c', TOUCH, str(size)], check=True)


def turn(case, tool, limit=None):
    """One run of a tool, from cached sources."""
    for source in tool.sources():
        process.warm(source)
    outcome = process.run(tool.command, tool.outputs, limit)
    if outcome.status not in tool.good and not outcome.stopped:
        fail(case, tool, outcome)
    if tool.prints:
        outcome.seconds = float(outcome.stdout)
    return outcome


def fail(case, tool, outcome, what=''):
    sys.exit(f'convert.py: {case.name}: {tool.name}{what}: exit status '
             f'{outcome.status}: {outcome.stderr.strip()}')


def try_ways(case, tool):
    """Choose the fastest of a tool's sets of flags: each has one run, which is
    stopped when it takes longer than another did."""
    best = None
    for flags in tool.ways:
        tool.choose(flags)
        outcome = turn(case, tool, best and best[0])
        tool.tried[' '.join(flags)] = (None if outcome.stopped
                                       else outcome.seconds)
        if not outcome.stopped and (not best or outcome.seconds < best[0]):
            best = outcome.seconds, flags
    tool.choose(best[1])


def measure(case, rounds):
    """Run every tool of a case in turns; fills in tool.turns.

    Each has a run before that is not counted: who runs first pays for memory
    that nobody has touched. Its output is compared with the source.
    """
    for tool in case.tools:
        turn(case, tool)
        if tool.check:
            outcome = process.run(tool.check, [])
            if outcome.status:
                fail(case, tool, outcome, ': the output is not the source')
    for tool in case.tools:
        if tool.ways:
            try_ways(case, tool)
    for number in range(rounds):
        first = number % len(case.tools)
        for tool in case.tools[first:] + case.tools[:first]:
            tool.turns.append(turn(case, tool))
            tool.size = sum(process.disk_usage(p) for p in tool.outputs)
            tool.cached = sum(map(process.page_cache, tool.outputs))
    counted = [name for target in case.targets
               if getattr(target, 'what', '') == 'system_calls'
               for name in (target.name, target.other)]
    for tool in case.tools:
        if tool.name in counted:
            tool.calls = process.system_calls(tool.command, tool.outputs)


def median(tool, what):
    return statistics.median(getattr(turn, what) for turn in tool.turns)


def shown(command):
    """The command without the folder in which this machine has the sources."""
    return ' '.join(map(str, command)).replace(f'{Path.cwd()}/', '')


def rows_of(case):
    for tool in case.tools:
        yield {
            'case': case.name, 'tool': tool.name,
            'command': shown(tool.command),
            'seconds': [turn.seconds for turn in tool.turns],
            'wall': median(tool, 'seconds'), 'cpu': median(tool, 'cpu'),
            'peak_memory': max(turn.memory for turn in tool.turns),
            'disk_usage': tool.size, 'page_cache_left': tool.cached,
            'system_calls': tool.calls, 'rival': tool.rival,
            # Of the packer, if tar runs it.
            'version': rivals.version(tool.name.split()[0]),
            'flags': ' '.join(tool.flags), 'tried': tool.tried,
        }


def show(case, rows):
    print(f'\n{case.name}')
    print(f'  {"":28}{"seconds":>9}{"CPU s":>8}{"peak MB":>9}'
          f'{"on disk MiB":>13}{"cached MiB":>12}{"calls":>9}')
    for row in rows:
        calls = '' if row['system_calls'] is None else row['system_calls']
        print(f'  {row["tool"]:28}{row["wall"]:9.2f}{row["cpu"]:8.2f}'
              f'{row["peak_memory"] / 1e6:9.0f}'
              f'{row["disk_usage"] / images.MIB:13.0f}'
              f'{row["page_cache_left"] / images.MIB:12.0f}{calls:>9}')
        if row['version']:
            print(f'    {row["version"]}')
        for flags, seconds in row['tried'].items():
            took = 'stopped' if seconds is None else f'{seconds:.2f} s'
            mark = '*' if flags == row['flags'] else ' '
            print(f'    {mark} {flags or "no flags"}: {took}')


def judge(case, rows):
    """(text, met) for each target of a case."""
    for target in case.targets:
        value, met = target.judge(rows)
        yield f'{case.name}: {target.text}: {value}', met


def seconds_before(old):
    """Case -> tool -> seconds, of an earlier run."""
    found = {}
    for row in old['rows']:
        found.setdefault(row['case'], {})[row['tool']] = row['wall']
    return found


def others(old, args):
    """The cases of an earlier run that this one does not make again."""
    if old['scale'] != args.scale:
        sys.exit(f'convert.py: {args.json}: scale {old["scale"]} is not '
                 f'{args.scale}')
    here = report.machine()
    for what in 'cpu', 'family', 'model', 'cpus':
        if old['machine'][what] != here[what]:
            sys.exit(f'convert.py: {args.json}: {what} '
                     f'{old["machine"][what]} is not {here[what]}')
    for what, key in ('rows', 'case'), ('targets', 'text'):
        old[what] = [entry for entry in old[what] if not
                     re.search(args.only, entry[key].split(': ')[0])]
    return old


def save(path, result, planned):
    """Write what was measured, also if a case has failed since. Cases of an
    earlier run that are no longer planned come last."""
    place = {name: i for i, name in enumerate(planned)}
    last = len(place)
    result['rows'].sort(key=lambda row: place.get(row['case'], last))
    result['targets'].sort(
        key=lambda t: place.get(t['text'].split(': ')[0], last))
    report.save(path, result)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--hone', required=True, type=Path)
    parser.add_argument('--dir', required=True, type=Path)
    parser.add_argument('--json', type=Path)
    parser.add_argument('--images', type=Path,
                        help='make the images in this folder and keep them, '
                        'or take those that an earlier run made there')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--scale', type=float, default=1,
                        help='part of the sizes that the targets are for')
    parser.add_argument('--only', default='',
                        help='cases whose name matches this regular '
                        'expression; a file of --json keeps its other cases, '
                        'and names the commit and date of these')
    parser.add_argument('--rivals', choices=('newest', 'debian12'),
                        default='newest',
                        help='the rivals of Debian sid, in a chroot (needs '
                        'root), or those of this system')
    parser.add_argument('--root', type=Path, help=argparse.SUPPRESS)
    parser.add_argument('--reach', action='store_true',
                        help='images by HTTP and NBD, packed ones, pipes')
    args = parser.parse_args()
    shutil.rmtree(args.dir, ignore_errors=True)
    args.dir.mkdir(parents=True)
    if args.images:
        args.images.mkdir(parents=True, exist_ok=True)
    made = images.Images(args.images or args.dir, args.scale)
    if args.root:
        wrapped = args.dir / 'programs'
        rivals.wrap(args.root.resolve(), wrapped)
        os.environ['PATH'] = f'{wrapped.resolve()}:{os.environ["PATH"]}'
        for library in 'libzstd.so.1', 'liblzma.so.5':
            name = library.split('.')[0]
            folder = args.dir.resolve() / name
            cases.of_rivals[name] = rivals.find_library(
                args.root.resolve(), library, folder).split('.so.')[1], folder
    result = {'machine': report.machine(), 'scale': args.scale,
              'large': images.LARGE, 'rivals': rivals.about(args.root),
              'rows': [], 'targets': []}
    for what, value in result['rivals'].items():
        print(f'{what}: {value}')
    again, libzstd = None, result['rivals']['libzstd_here']
    if args.only and args.json and args.json.exists():
        again = {what: result['machine'][what] for what in ('commit', 'date')}
        again['rivals'] = result['rivals']['suite']
        result = json.loads(args.json.read_text())
        before = seconds_before(result)
        result = others(result, args)
        if 'rivals' in result:
            result['rivals'].setdefault('libzstd_here', libzstd)
    failed = False
    chosen = reach if args.reach else cases
    planned = chosen.all_cases(args.hone, made, args.dir)
    try:
        touch_memory(int(10 * images.GIB * min(1, args.scale)))
        for case in planned:
            if not re.search(args.only, case.name):
                continue
            reason = case.prepare()
            if reason:
                print(f'\n{case.name}\n  skipped: {reason}')
                continue
            try:
                measure(case, args.rounds)
            finally:
                case.clean()
            rows = list(rows_of(case))
            if again and case.name in before:
                for row in rows:
                    row['again'] = again
                    row['before'] = before.get(case.name, {}).get(row['tool'])
            show(case, rows)
            for text, met in judge(case, rows):
                print(f'  {"ok   " if met else "SHORT"} {text}')
                failed |= not met
                result['targets'].append({'text': text, 'met': met})
            result['rows'] += rows
    finally:
        shutil.rmtree(args.dir, ignore_errors=True)
        if args.json:
            save(args.json, result, [case.name for case in planned])
    return int(failed)


if __name__ == '__main__':
    sys.exit(main())
