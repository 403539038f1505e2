#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the options of the linker for a program of tests: a --wrap for each
function that it defines by STANDS_FOR().

wraps.py OPTIONS DEPFILE SOURCE...

The second argument of STANDS_FOR(), and of a macro whose name begins so, is the
function. Headers in the folder of their source are read too.
"""
import re
import sys
from pathlib import Path

STANDS_FOR = re.compile(r"^STANDS_FOR\w*\((?:[^,()]*,\s*(\w+),)?", re.M)
INCLUDE = re.compile(r'^#include "([^"/]+)"', re.M)


def main():
    options, depfile, *sources = map(Path, sys.argv[1:])
    names = []
    read = []
    while sources:
        path = sources.pop()
        if path in read or not path.exists():
            continue
        read.append(path)
        text = path.read_text()
        names += STANDS_FOR.findall(text)
        if "" in names:
            sys.exit(f"{path}: STANDS_FOR() without a plain type and name")
        sources += [path.parent / name for name in INCLUDE.findall(text)]
    options.write_text("".join(
        f"-Wl,--wrap={name}\n" for name in sorted(set(names))))
    depfile.write_text(f"{options}: {' '.join(map(str, read))}\n")


if __name__ == "__main__":
    main()
