#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the options of the linker for a program of tests: a --wrap for each
function that it defines by STANDS_FOR().

wraps.py [--short] OPTIONS DEPFILE SOURCE...

--short: the library calls lseek(), not lseek64(), and so on. A function that
stands for lseek64() then stands for lseek() too, unless another one does.

The second argument of STANDS_FOR(), and of a macro whose name begins so, is the
function. Headers in the folder of their source are read too.
"""
import re
import sys
from pathlib import Path

STANDS_FOR = re.compile(r"^STANDS_FOR\w*\((?:[^,()]*,\s*(\w+),)?", re.M)
INCLUDE = re.compile(r'^#include "([^"/]+)"', re.M)


def short(names):
    """The options for the short names of functions that end in 64."""
    pairs = [(name, name[:-2]) for name in names if name.endswith("64")]
    return [f"-Wl,--wrap={to},--defsym=__wrap_{to}=__wrap_{name}"
            for name, to in pairs if to not in names]


def main():
    words = sys.argv[1:]
    is_short = words[0] == "--short"
    options, depfile, *sources = map(Path, words[is_short:])
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
    names = sorted(set(names))
    lines = [f"-Wl,--wrap={name}" for name in names]
    lines += short(names) if is_short else []
    options.write_text("".join(line + "\n" for line in lines))
    depfile.write_text(f"{options}: {' '.join(map(str, read))}\n")


if __name__ == "__main__":
    main()
