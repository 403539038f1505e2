#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hone.c takes as many instructions as libhone.a: single.py STAGED FOLDER

STAGED has the installed libhone, FOLDER hone.c and hone/hone.h. Runs the cases of
hot.c with each, and fails if one takes over 2 % more with hone.c.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import counts


def program_of(folder, work):
    """hot.c, linked with hone.c, whose pools do not inform valgrind."""
    program = work / 'single'
    subprocess.run(['gcc', '-O3', '-DNDEBUG', '-DNVALGRIND', '-c', '-o',
                    work / 'hone.o', folder / 'hone.c'], check=True)
    subprocess.run(['gcc', '-O2', f'-I{folder}', counts.HERE / 'hot.c',
                    work / 'hone.o', '-o', program, '-lpthread'], check=True)
    return program


def main():
    staged, folder = map(Path, sys.argv[1:])
    if os.uname().machine != 'x86_64':
        print('this is not x86_64')
        return 0
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        library = counts.hot_program(SimpleNamespace(staged=staged), work)
        before = dict(counts.hot_counts(library, work, 'sse2'))
        now = dict(counts.hot_counts(program_of(folder, work), work, 'sse2'))
    for name, count in before.items():
        print(f'{name}: libhone.a {count:g}, hone.c {now[name]:g}')
    return any(now[name] > count * counts.LIMIT for name, count in before.items())


if __name__ == '__main__':
    sys.exit(main())
