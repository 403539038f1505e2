#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check what no formatter checks, for each path on standard input: one SPDX
line near the top of a source, clean line ends."""

import sys
from pathlib import Path

SOURCES = {'.c', '.h', '.cc', '.def', '.py', '.sh', '.ini', '.cmake', '.in',
           '.wrap', '.pml', '.m4', '.php'}
NAMES = {'dev', 'meson.build', 'meson_options.txt', 'CMakeLists.txt'}
GENERATED = '_arginfo.h'
SPDX = 'SPDX-License-Identifier: BSD-3-Clause'


def complaints(path):
    text = path.read_text(encoding='utf-8')
    lines = text.splitlines()
    if not lines:
        return
    if sum(SPDX in line for line in lines[:3]) != 1:
        yield f'no line "{SPDX}" among the first three'
    if not text.endswith('\n') or text.endswith('\n\n'):
        yield 'does not end with exactly one newline'
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield f'white space at the end of line {number}'


def main():
    paths = [Path(line) for line in sys.stdin.read().splitlines()]
    sources = [path for path in paths
               if not path.name.endswith(GENERATED)
               and (path.suffix in SOURCES or path.name in NAMES
                    or path.parts[0] == '.ci')]
    bad = 0
    for path in sources:
        for complaint in complaints(path):
            print(f'{path}: {complaint}')
            bad += 1
    print(f'{len(sources)} sources, {bad} complaints')
    return 1 if bad or not sources else 0


if __name__ == '__main__':
    sys.exit(main())
