# SPDX-License-Identifier: BSD-3-Clause
"""Time of one call: fetch, fetch and read, store, 99 fetches to a store, and
the first fetch of a key in a request.

Each subject has a php-cgi, and all of them run on one CPU. A sample is one
request; in each round each subject has one, in reverse order every second
round. A sample with an involuntary context switch is thrown away. A fetch
includes what frees the value before it, the call of PHP, and a tenth of a turn
of the loop (under 1 ns), for all subjects alike.
"""
import os
import statistics
import sys

from programs import APCU_SUBJECTS, Program, Trouble

SLICE = 3e6  # nanoseconds of a sample
FEWEST = 5   # samples without a switch that a median needs
ATTEMPTS = 3  # rounds for each that is wanted, at most

SHAPES = {'s20': '20 B', 's1k': '1 KB', 'ints': '64 integers',
          'keys': '100 keys', 'options': '600 options', 'rows': '2,000 rows',
          'nested': '10,000 nested', 'graph': 'object graph'}
OBJECTS = {'posts': '1,000 posts', 'linked': '1,333 linked objects',
           'hooked': '1,000 objects, one hooked',
           'holder': 'an object with 10,000 rows',
           'mixed': 'an object, 300 ints, 50 rows',
           'record': 'an object of 5 properties', 'dates': '200 dates'}
# Posts by their number, for the chart of README.md; 'posts' has 1,000.
SIZES = {'posts3': '3 posts', 'posts20': '20 posts', 'posts200': '200 posts'}
# One key for each entity.
ENTITIES = {'metadata': "Doctrine's metadata of 50 entities"}
NAMES = {**SHAPES, **OBJECTS, **SIZES, **ENTITIES}
ARRAYS = ('ints', 'keys', 'options', 'rows', 'nested')
# Keys of a request that fetches each once: up to 10 MB of values, which are then
# in no cache of the processor that is private to a core.
ONCE = {'s20': 1000, 's1k': 1000, 'ints': 1000, 'keys': 500, 'options': 100, 'rows': 10, 'nested': 4}
# The same of values that the request before has left there, where they fit.
AGAIN = {'ints': 200, 'keys': 25, 'options': 4, 'rows': 1, 'nested': 1}
BLOCKS = ('hone-block', 'hone-copy', 'hone', *APCU_SUBJECTS, 'yac')

RIVALS = (*APCU_SUBJECTS, 'yac', 'memcached', 'redis')
ALL = ('hone', 'hone-apcu', *RIVALS, 'include', 'array')
# Title of the work: kind, shapes, subjects, keys.
WORKS = {
    'fetch': ('fetch', SHAPES, ALL, lambda shape: 1),
    'one fetch': ('once', ('s20', 's1k'), ('hone', *APCU_SUBJECTS, 'yac', 'array'),
                  ONCE.get),
    'fetch and read': ('read', SHAPES, ALL, lambda shape: 1),
    'fetch object': ('fetch', OBJECTS, ('hone', *APCU_SUBJECTS[:2]),
                     lambda shape: 1),
    'store object': ('store', OBJECTS, ('hone', *APCU_SUBJECTS[:2]),
                     lambda shape: 1),
    'fetch posts': ('fetch', SIZES, ('hone', *APCU_SUBJECTS[:2]),
                    lambda shape: 1),
    'fetch entities': ('list', ENTITIES, ('hone', *APCU_SUBJECTS[:2]),
                       lambda shape: 50),
    'store': ('store', SHAPES, ('hone', 'hone-apcu', *RIVALS), lambda shape: 1),
    '99 fetches, 1 store': ('mix', ('s20', 's1k', 'keys', 'options'),
                            ('hone', *RIVALS), lambda shape: 100),
    'block copy': ('once', ARRAYS, BLOCKS, AGAIN.get),
    'first fetch': ('once', ARRAYS, BLOCKS, ONCE.get),
}


class Call:
    """One case."""

    def __init__(self, work, shape, opcache):
        self.kind, _, self.subjects, keys = WORKS[work]
        if shape == 'graph':
            self.subjects = ('hone-igbinary', *self.subjects)
        self.shape, self.opcache = shape, opcache
        self.query = {'work_kind': self.kind, 'shape': shape,
                      'keys': str(keys(shape))}
        if shape not in SHAPES:
            work = 'store' if self.kind == 'store' else 'fetch'
        self.name = f'{work} {NAMES[shape]}'
        if opcache == 'off':
            self.name += ', no opcache'

    def run(self, program, times):
        return program.ask({**self.query, 'do': 'run', 'times': str(times)})

    def times(self, program):
        """Calls of a sample."""
        if self.kind == 'once':
            return 1
        took = self.run(program, 1)['ns']
        took = min(took, self.run(program, 10)['ns'])
        times = max(1, round(SLICE / took))
        # One request holds back what it stored over.
        return min(times, 20000) if self.kind == 'mix' else times


def cases(opcaches, only):
    """The cases whose name has the text `only`."""
    made = [Call(work, shape, opcache) for opcache in opcaches
            for work, (_, shapes, _, _) in WORKS.items() for shape in shapes]
    return [case for case in made if only in case.name]


class Programs:
    """A context: started when they are first used."""

    def __init__(self, kit, skipped):
        self.kit, self.skipped, self.started = kit, skipped, {}

    def __enter__(self):
        return self

    def get(self, subject, opcache):
        """The program, or None with the reason in `skipped`."""
        key = subject, opcache
        if key not in self.started and subject not in self.skipped:
            try:
                self.started[key] = Program(self.kit, subject, opcache)
            except Trouble as trouble:
                if subject != 'include':
                    self.skipped[subject] = str(trouble)
                self.started[key] = None
        return self.started.get(key)

    def drop(self, program):
        """A program that ended: the next case starts another."""
        for key, each in list(self.started.items()):
            if each is program:
                program.end()
                del self.started[key]

    def __exit__(self, *_):
        for program in self.started.values():
            if program:
                program.end()


def prepared(case, programs, troubles):
    """Subject -> (program, calls of a sample): whose answers are right."""
    found = {}
    for subject in case.subjects:
        program = programs.get(subject, case.opcache)
        if not program:
            continue
        try:
            program.ask({**case.query, 'do': 'prepare'})
            found[subject] = program, case.times(program)
        except Trouble as trouble:
            troubles.append((case.name, subject, str(trouble)))
            if not program.alive():
                programs.drop(program)
    return found


def sample_all(case, programs, rounds, noisy, troubles):
    """Subject -> (samples in ns, samples thrown away)."""
    ready = prepared(case, programs, troubles)
    samples = {subject: ([], []) for subject in ready}
    for turn in range(rounds * (1 if noisy else ATTEMPTS)):
        wanted = [s for s in ready if len(samples[s][0]) < rounds]
        for subject in wanted if turn % 2 else wanted[::-1]:
            program, times = ready[subject]
            try:
                found = case.run(program, times)
            except Trouble as trouble:
                troubles.append((case.name, subject, str(trouble)))
                del ready[subject], samples[subject]
                if not program.alive():
                    programs.drop(program)
                continue
            samples[subject][found['switches'] > 0].append(found['ns'])
    return samples


def figures(kept, thrown, noisy):
    """What the report has of one subject, or None. On a noisy machine it is the
    least of all samples."""
    if noisy and kept + thrown:
        least = round(min(kept + thrown), 3)
        return {'median_ns': least, 'least_ns': least,
                'repetitions': len(kept), 'thrown_away': 0}
    if len(kept) < FEWEST:
        return None
    low, middle, high = statistics.quantiles(kept, n=4)
    return {'median_ns': round(middle, 3),
            'quartiles_ns': [round(low, 3), round(high, 3)],
            'least_ns': round(min(kept), 3), 'repetitions': len(kept),
            'thrown_away': len(thrown)}


def measure(kit, skipped, opcaches, rounds, only, noisy):
    """(case -> subject -> figures, [(case, subject, trouble)])"""
    results, troubles = {}, []
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cpus)})
    try:
        with Programs(kit, skipped) as programs:
            for case in cases(opcaches, only):
                if case.shape in ENTITIES and not kit.real:
                    print(f'left out: {case.name}, which needs --rivals '
                          'debian12')
                    continue
                print(f'\r{case.name}'.ljust(60), end='', file=sys.stderr)
                found = sample_all(case, programs, rounds, noisy, troubles)
                results[case.name] = {}
                for subject, (kept, thrown) in found.items():
                    figure = figures(kept, thrown, noisy)
                    if figure:
                        results[case.name][subject] = figure
                    else:
                        troubles.append((case.name, subject, f'no figure: '
                                         f'{len(thrown)} samples had a '
                                         'context switch'))
    finally:
        os.sched_setaffinity(0, cpus)
        print('\r'.ljust(61), end='\r', file=sys.stderr)
    return results, troubles
