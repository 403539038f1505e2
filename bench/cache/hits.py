# SPDX-License-Identifier: BSD-3-Clause
"""Hit rates with half of the memory that all values need.

Keys come by Zipf's law. A key that is not found is stored. Each cache has as
many bytes as half of all values have, with its own data inside; the ideal LRU
has as many bytes for values alone. The first half of the stream warms up.
"""
import bisect
import collections
import itertools
import random
import struct
import sys

from programs import Program, Trouble

SUBJECTS = ('hone', 'apcu-php', 'apcu-ttl', 'yac')
KEYS = 40000
LENGTH = 400000  # keys of the stream
REQUEST = 1000   # keys of a request
SKEW = 0.9       # frequency of the n-th key: n ** -SKEW


def size(number):
    """As the stream() of php/work.php makes it."""
    return 200 + number * 7919 % 1800


def zipf():
    """The stream: numbers of keys. The same in each run."""
    generator = random.Random(1)
    numbers = list(range(KEYS))
    generator.shuffle(numbers)
    sums = list(itertools.accumulate(
        (rank + 1) ** -SKEW for rank in range(KEYS)))
    return [numbers[bisect.bisect(sums, generator.random() * sums[-1])]
            for _ in range(LENGTH)]


def memory():
    """Half of the bytes of all values."""
    return sum(map(size, range(KEYS))) // 2


def ideal(stream, limit):
    """Hits of an LRU without any overhead, in the second half."""
    kept, used, hits = collections.OrderedDict(), 0, 0
    for at, number in enumerate(stream):
        if number in kept:
            kept.move_to_end(number)
            hits += at >= LENGTH // 2
            continue
        used += size(number)
        kept[number] = True
        while used > limit:
            used -= size(kept.popitem(last=False)[0])
    return hits


def of_subject(kit, subject, megabytes):
    """Hits in the second half, and stores that were refused in all."""
    program = Program(kit, subject, megabytes=megabytes)
    hits = refused = 0
    try:
        for begin in range(0, LENGTH, REQUEST):
            found = program.ask({
                'do': 'stream', 'stream': str(kit.work / 'stream'),
                'from': str(begin), 'count': str(REQUEST)})
            hits += found['hits'] if begin >= LENGTH // 2 else 0
            refused += found['refused']
    finally:
        program.end()
    return hits, refused


def measure(kit, skipped, only):
    """(subject -> {rate, refused}, troubles)"""
    if only not in 'hit rate':
        return {}, []
    print('\rhit rate'.ljust(60), end='', file=sys.stderr)
    stream = zipf()
    (kit.work / 'stream').write_bytes(struct.pack(f'<{LENGTH}I', *stream))
    megabytes = memory() >> 20
    measured, troubles = LENGTH // 2, []
    results = {'ideal LRU': {
        'rate': round(ideal(stream, megabytes << 20) / measured, 4)}}
    for subject in SUBJECTS:
        if subject in skipped:
            continue
        try:
            hits, refused = of_subject(kit, subject, megabytes)
            results[subject] = {'rate': round(hits / measured, 4),
                                'refused': refused}
        except Trouble as trouble:
            troubles.append(('hit rate', subject, str(trouble)))
    print('\r'.ljust(61), end='\r', file=sys.stderr)
    return results, troubles
