# SPDX-License-Identifier: BSD-3-Clause
"""Hit rates with a part of the memory that all values need.

Keys come by Zipf's law, each as often as any other, or every second one in turn. A
key that is not found is stored. The first half of the stream warms up.

Values are strings, or arrays of 2 to 41 rows of 5 fields. Each cache has as many
bytes as half of all values have, with its own data inside; the ideal LRU has as many
bytes for values alone. Arrays are also measured with other parts of the bytes. An array
counts as the string of serialize(): so the caches have the same size, and each keeps
the array in its own form.
"""
import argparse
import bisect
import collections
import itertools
import random
import struct
import sys

from programs import Program, Trouble

# What the values are: the subjects, the keys, and the length of the stream.
STREAMS = {
    'texts': (('hone', 'apcu-php', 'apcu-ttl', 'yac'), 40000, 400000),
    'arrays': (('hone', 'hone-warm', 'apcu-php', 'apcu-igbinary'),
               8000, 80000),
}
HALF = min(length for _, _, length in STREAMS.values()) // 2
PARTS = (8, 4, 1)  # of the bytes of all arrays, besides 2
# zipf-S: the frequency of the n-th key is n ** -S; uniform; scan: half of the keys
# come in turn, the others by zipf-0.9.
ORDERS = ('zipf-0.6', 'zipf-0.9', 'zipf-1.1', 'uniform', 'scan')
# Subjects whose first half of the stream is one request, and the second another.
LONG = ('hone', 'apcu-igbinary')


def text_size(number):
    """As the stream() of php/work.php makes it."""
    return 200 + number * 7919 % 1800


def stream_of(order, keys, length):
    """The stream: numbers of keys. The same in each run."""
    generator = random.Random(1)
    if order == 'uniform':
        return [generator.randrange(keys) for _ in range(length)]
    skew = float('0.9' if order == 'scan' else order.split('-')[1])
    numbers = list(range(keys))
    generator.shuffle(numbers)
    sums = list(itertools.accumulate(
        (rank + 1) ** -skew for rank in range(keys)))
    stream = [numbers[bisect.bisect(sums, generator.random() * sums[-1])]
              for _ in range(length)]
    if order == 'scan':
        stream[::2] = [at % keys for at in range(len(stream[::2]))]
    return stream


def ideal(stream, sizes, limit):
    """Hits of an LRU without any overhead, in the second half."""
    kept, used, hits = collections.OrderedDict(), 0, 0
    for at, number in enumerate(stream):
        if number in kept:
            kept.move_to_end(number)
            hits += at >= len(stream) // 2
            continue
        used += sizes[number]
        kept[number] = True
        while used > limit:
            used -= sizes[kept.popitem(last=False)[0]]
    return hits


def of_subject(kit, subject, values, length, megabytes, request):
    """Hits and ns in the second half, and stores that were refused in all."""
    program = Program(kit, subject, megabytes=megabytes)
    hits = refused = time = 0
    try:
        for begin in range(0, length, request):
            found = program.ask({
                'do': 'stream', 'stream': str(kit.work / 'stream'),
                'values': values, 'from': str(begin), 'count': str(request)})
            if begin >= length // 2:
                hits += found['hits']
                time += found['ns']
            refused += found['refused']
    finally:
        program.end()
    return hits, time, refused


def sizes_of(kit, values, keys):
    """The bytes of each value, as a string."""
    if values == 'texts':
        return [text_size(number) for number in range(keys)]
    program = Program(kit, 'array')
    try:
        return program.ask({'do': 'lengths', 'keys': str(keys)})['lengths']
    finally:
        program.end()


def measure(kit, args, skipped, values, part=2):
    """(subject -> {rate, ns, refused}, troubles) with 1/part of the bytes. The ns
    are those of a fetch, with its share of stores: one sample."""
    case = {'texts': 'hit rate', 'arrays': 'hit rate, arrays'}[values]
    if args.only not in case:
        return {}, []
    print(f'\r{case}'.ljust(60), end='', file=sys.stderr)
    subjects, keys, length = STREAMS[values]
    stream = stream_of(args.keys, keys, length)
    (kit.work / 'stream').write_bytes(struct.pack(f'<{length}I', *stream))
    sizes = sizes_of(kit, values, keys)
    megabytes = sum(sizes) // part >> 20
    measured, troubles = length // 2, []
    results = {'ideal LRU': {'rate': round(
        ideal(stream, sizes, megabytes << 20) / measured, 4)}}
    for subject in subjects:
        if subject in skipped:
            continue
        try:
            hits, time, refused = of_subject(kit, subject, values, length,
                                             megabytes, args.request)
            results[subject] = {'rate': round(hits / measured, 4),
                                'ns': time // measured, 'refused': refused}
        except Trouble as trouble:
            troubles.append((case, subject, str(trouble)))
    print('\r'.ljust(61), end='\r', file=sys.stderr)
    return results, troubles


def measure_orders(kit, args, skipped):
    """([{order, part, subject -> {rate, ns, refused}}], troubles) of arrays, each
    printed. "SUBJECT, long": two requests, of which the
    second counts."""
    rows, troubles = [], []
    subjects, _, length = STREAMS['arrays']
    for order in ORDERS:
        for part in sorted({*PARTS, 2}, reverse=True):
            row = {'order': order, 'part': f'1/{part}'}
            for only, request, suffix in ((subjects, args.request, ''),
                                          (LONG, length // 2, ', long')):
                wanted = argparse.Namespace(keys=order, request=request,
                                            only='')
                unwanted = {*skipped, *subjects} - ({*only} - {*skipped})
                found, trouble = measure(kit, wanted, unwanted, 'arrays', part)
                row |= {name + suffix * (name in subjects): figures
                        for name, figures in found.items()}
                troubles += trouble
            rows.append(row)
            print(f'{order:9} {row["part"]:4}', '; '.join(
                f'{name} {100 * of["rate"]:.1f} %' +
                (f' {of["ns"] / 1000:.2f} us' if 'ns' in of else '') +
                (f' {of["refused"]} refused' if of.get('refused') else '')
                for name, of in row.items() if isinstance(of, dict)),
                flush=True)
    return rows, troubles


def measure_parts(kit, args, skipped):
    """(part -> subject -> {rate, ns, refused}, troubles) of arrays."""
    found, troubles = {}, []
    for part in PARTS:
        found[f'1/{part}'], trouble = measure(kit, args, skipped, 'arrays',
                                              part)
        troubles += trouble
    return found, troubles
