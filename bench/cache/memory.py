# SPDX-License-Identifier: BSD-3-Clause
"""Bytes that a value takes in each cache, with its key and what the cache adds.

Each case stores its value under some keys in an empty cache. The figure is the
growth of the used memory for each key. It is exact: nothing is timed.
"""
import sys

from programs import Program, Trouble

# With the megabytes of the cache. A small one is full soon: then the values are
# cold.
SUBJECTS = {'hone': 256, 'hone-cold': 16, 'apcu-php': 256,
            'apcu-igbinary': 256}
# Case: the shape of php/shapes.php, and the number of keys.
CASES = {
    'an int': ('int', 1000),
    'a string of 20 bytes': ('s20', 1000),
    'a string of 1,024 bytes': ('s1k', 1000),
    'a configuration of 9 small arrays': ('config', 1000),
    '1,000 rows of 5 fields': ('fields', 10),
    '1,000 rows of 5 fields, from JSON': ('json', 10),
    'a list of 10,000 ints': ('list', 10),
    '1,000 posts, each a stdClass of 12 properties': ('posts', 10),
}


def measure(kit, skipped, only):
    """(case -> subject -> bytes, troubles)"""
    found, troubles = {}, []
    for case, (shape, keys) in CASES.items():
        if only not in case:
            continue
        print(f'\rbytes: {case}'.ljust(60), end='', file=sys.stderr)
        for subject, megabytes in SUBJECTS.items():
            if subject in skipped:
                continue
            try:
                program = Program(kit, subject, megabytes=megabytes)
                try:
                    answer = program.ask({'do': 'bytes', 'shape': shape,
                                          'keys': str(keys)})
                finally:
                    program.end()
                found.setdefault(case, {})[subject] = answer['bytes']
            except Trouble as trouble:
                troubles.append((case, subject, str(trouble)))
    print('\r'.ljust(61), end='\r', file=sys.stderr)
    return found, troubles
