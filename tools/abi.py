#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compare the ABI of the library with that of the last release.

abi.py [--accept]

tests/abi/libhone-VERSION.xml is the ABI of a release for x86-64, as abidw of
libabigail writes it: each exported symbol and the types of the public headers.
A changed or removed function, variable or type fails; additions pass.
--accept writes the ABI of this tree under the version of meson.build instead.
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CPU = "x86_64"
# Nothing that differs between folders or after a change of comments.
ABIDW = ["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs",
         "--no-parameter-names", "--no-elf-needed", "--no-write-default-sizes",
         "--type-id-style", "hash", "--exported-interfaces-only"]


def run(*command, **options):
    """The output of a command, which has to succeed."""
    done = subprocess.run(command, check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **options)
    if done.returncode:
        sys.exit(f"abi: {command[0]} failed:\n{done.stdout}")
    return done.stdout


def build(root):
    """The path of the library of a tree, with debug information. At -O0 it
    has the same ABI."""
    folder = root / "build/abi"
    environment = {**os.environ, "CC": "gcc"}
    if not (folder / "build.ninja").exists():
        run("meson", "setup", folder, root, "--buildtype=debug",
            "-Dtools=false", env=environment)
    jobs = os.environ.get("HONE_JOBS", str(os.cpu_count()))
    run("ninja", "-j", jobs, "-C", folder, env=environment)
    return folder / "src/libhone.so.0"


def write(root, path):
    """Write the ABI of a tree."""
    library = build(root)
    run(*ABIDW, "--suppressions", ROOT / "tests/abi/private.abignore",
        "--out-file", path, library)


def differences(old, new):
    """What abidiff says of the ABI in two files if more than additions; empty
    if not."""
    done = subprocess.run(["abidiff", "--no-added-syms", old, new],
                          check=False, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.stdout or "abidiff failed" if done.returncode else ""


def version():
    """The version of meson.build."""
    text = (ROOT / "meson.build").read_text("utf-8")
    return re.search(r"version: '(.*)'", text)[1]


def accept(recorded):
    """Record the ABI of this tree."""
    path = ROOT / f"tests/abi/libhone-{version()}.xml"
    write(ROOT, path)
    for old in recorded:
        if old != path:
            old.unlink()
    print(f"abi: wrote {path.relative_to(ROOT)}")


def main():
    words = sys.argv[1:]
    if words not in ([], ["--accept"]):
        sys.exit(__doc__)
    if os.uname().machine != CPU:
        print(f"abi: left out: tests/abi has the ABI of {CPU}, "
              f"this machine is {os.uname().machine}")
        return
    recorded = sorted((ROOT / "tests/abi").glob("libhone-*.xml"))
    if words:
        accept(recorded)
        return
    if len(recorded) != 1:
        sys.exit(f"abi: tests/abi has {len(recorded)} files libhone-*.xml")
    new = ROOT / "build/abi.xml"
    write(ROOT, new)
    said = differences(recorded[0], new)
    if said:
        sys.exit(f"{said}abi: not that of {recorded[0].name}; "
                 "CONTRIBUTING.md says how to accept it")
    print(f"abi: that of {recorded[0].name}, or more")


if __name__ == "__main__":
    main()
