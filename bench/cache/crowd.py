# SPDX-License-Identifier: BSD-3-Clause
"""One and two processes that read 1,000 keys at random, without and with a
process that stores them again and again.

Each reader has a CPU. The writer has a third one, or on a machine with two CPUs
that of the second reader. For this reason a figure is there the CPU time that
the readers used, in all cases, and elapsed time otherwise. CPU time leaves out
how long a reader waits for a lock: "elapsed_ns" in the JSON has it. A figure is
the time of a fetch of all readers together: half of a reader's time if there
are two. On a noisy machine it is the least of all samples.

The writer of "a writer" stores without a pause, that of "a slow writer" sleeps
for 100 us after each store.
"""
import os
import statistics
import sys
import time

from programs import APCU_SUBJECTS, Program, Trouble

SUBJECTS = ('hone', *APCU_SUBJECTS, 'yac', 'array')
SHAPES = {'s20': '20 B', 'keys': '100 keys'}
KEYS = 1000
TURN = 60e6  # nanoseconds
ALONE, PAIR = '1 reader', '2 readers'
# Title: readers, and the writer's pause in microseconds.
CROWDS = {ALONE: (1, None), PAIR: (2, None),
          f'{ALONE}, a writer': (1, 0), f'{PAIR}, a writer': (2, 0),
          f'{ALONE}, a slow writer': (1, 100),
          f'{PAIR}, a slow writer': (2, 100)}


def place(program, cpus):
    """Give each process its CPU."""
    for index in range(3):
        pid = program.ask({'do': 'hello'}, index)['pid']
        os.sched_setaffinity(pid, {cpus[min(index, len(cpus) - 1)]})


def turn(program, shape, readers, pause):
    """(elapsed, CPU) nanoseconds of a fetch, of all readers together."""
    begin = time.monotonic_ns() + 3_000_000
    roles = [('reader', index) for index in range(readers)]
    if pause is not None:
        roles.append(('writer', 2))
    for role, index in roles:
        program.send({'do': 'crowd', 'shape': shape, 'keys': str(KEYS),
                      'role': role, 'begin': str(begin),
                      'end': str(begin + int(TURN)),
                      'pause': str(pause or 0)}, index)
    found = [program.receive(index) for _, index in roles][:readers]
    return [1 / sum(each['calls'] / max(1, each[what]) for each in found)
            for what in ('ns', 'cpu')]


def start(kit, skipped):
    """Subject -> program, with a process for each reader and the writer."""
    cpus = sorted(os.sched_getaffinity(0))
    programs = {}
    for subject in SUBJECTS:
        if subject in skipped:
            continue
        try:
            programs[subject] = Program(kit, subject, children=3)
            place(programs[subject], cpus)
        except Trouble as trouble:
            skipped[subject] = str(trouble)
    return programs, cpus


def one_shape(programs, shape, rounds, troubles):
    """(title, subject) -> samples"""
    for subject, program in list(programs.items()):
        try:
            program.ask({'do': 'prepare', 'shape': shape, 'keys': str(KEYS)})
        except Trouble as trouble:
            troubles.append((f'crowd {SHAPES[shape]}', subject, str(trouble)))
            programs.pop(subject).end()
    samples = {}
    for number in range(rounds):
        for title, (readers, pause) in CROWDS.items():
            order = list(programs)
            for subject in order if number % 2 else order[::-1]:
                if subject == 'array' and pause is not None:
                    continue
                try:
                    took = turn(programs[subject], shape, readers, pause)
                except Trouble as trouble:
                    troubles.append((f'{title}, {SHAPES[shape]}', subject,
                                     str(trouble)))
                    programs.pop(subject).end()
                    continue
                samples.setdefault((title, subject), []).append(took)
    return samples


def figures(took, crowded, noisy):
    """What the report has of one subject."""
    elapsed, cpu = zip(*took)
    what = cpu if crowded else elapsed
    return {'median_ns': round((min if noisy else statistics.median)(what), 3),
            'least_ns': round(min(what), 3),
            'elapsed_ns': round(statistics.median(elapsed), 3),
            'repetitions': len(took)}


def measure(kit, skipped, rounds, only, noisy):
    """(case -> subject -> figures, troubles)"""
    results, troubles = {}, []
    if len(os.sched_getaffinity(0)) < 2:
        return {}, [('crowd', 'all', 'one CPU: no two processes at a time')]
    programs, cpus = start(kit, skipped)
    try:
        for shape, words in SHAPES.items():
            if only not in f'crowd reader writer {words}':
                continue
            print(f'\rreaders and a writer, {words}'.ljust(60), end='',
                  file=sys.stderr)
            found = one_shape(programs, shape, rounds, troubles)
            for (title, subject), took in found.items():
                results.setdefault(f'{title}, {words}', {})[subject] = \
                    figures(took, len(cpus) < 3, noisy)
    finally:
        for program in programs.values():
            program.end()
        print('\r'.ljust(61), end='\r', file=sys.stderr)
    return results, troubles
