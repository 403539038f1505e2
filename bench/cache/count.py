# SPDX-License-Identifier: BSD-3-Clause
"""Instructions of one call, counted by valgrind: the difference between a run
of few calls and one of more. They do not depend on what else the machine does.
"""
import re
import subprocess

import calls
from programs import SERVERS, Trouble

INSTRUCTIONS = re.compile(r'I +refs: +([\d,]+)')
# Calls of the two runs; fewer for what takes long under valgrind.
FEW, MORE = 10, 2010
SLOW = {'rows': (1, 11), 'nested': (1, 6), 'graph': (1, 11),
        'options': (2, 22), 'metadata': (1, 11)}


def run(kit, case, subject, times, tool):
    """The error output of a php-cgi for one request."""
    query = {**case.query, 'do': 'count', 'times': str(times)}
    done = subprocess.run(
        [*tool, kit.cgi, *kit.options(subject, case.opcache)],
        env={**kit.environment, **kit.variables(subject, query)},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    if done.returncode or b'"ns"' not in done.stdout:
        raise Trouble(f'status {done.returncode}: '
                      f'{done.stdout[-200:]!r} {done.stderr[-300:]!r}')
    return done.stderr.decode(errors='replace')


def instructions(kit, case, subject):
    """Instructions of one call."""
    tool = ['valgrind', '--tool=cachegrind', '--cache-sim=no',
            '--cachegrind-out-file=/dev/null']

    def total(times):
        found = INSTRUCTIONS.search(run(kit, case, subject, times, tool))
        return int(found[1].replace(',', ''))

    few, more = SLOW.get(case.shape, (FEW, MORE))
    run(kit, case, subject, few, [])  # writes the loop
    return (total(more) - total(few)) / (more - few)


def profile(kit, case, subject, path):
    """Write callgrind's file of a run of one request."""
    times = SLOW.get(case.shape, (FEW, MORE))[1] * 10
    run(kit, case, subject, times, [])
    run(kit, case, subject, times,
        ['valgrind', '--tool=callgrind', f'--callgrind-out-file={path}'])


def measure(kit, only):
    """(case -> subject -> instructions, troubles) of Doctrine's metadata."""
    results, troubles = {}, []
    for case in calls.cases(['off'], only):
        if case.kind != 'list':
            continue
        name = case.name.removesuffix(', no opcache')
        results[name] = {}
        for subject in case.subjects:
            try:
                results[name][subject] = round(
                    instructions(kit, case, subject))
            except Trouble as trouble:
                troubles.append((name, subject, str(trouble)))
    return results, troubles


def table(kit, only, subjects):
    """Print a line for each case: instructions of each subject."""
    print('instructions a call'.ljust(34) +
          ''.join(subject.rjust(14) for subject in subjects))
    for case in calls.cases(['off'], only):
        # The counts of block copies and of mixed calls are not differences.
        if case.kind in ('once', 'mix'):
            continue
        cells = []
        for subject in subjects:
            try:
                if subject not in case.subjects or subject in SERVERS:
                    raise Trouble('not a subject of this case')
                cells.append(f'{instructions(kit, case, subject):.0f}')
            except Trouble as trouble:
                cells.append('-')
                if subject == 'hone':
                    print(f'{case.name}: {trouble}')
        print(case.name.ljust(34) + ''.join(c.rjust(14) for c in cells),
              flush=True)
