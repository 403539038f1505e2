#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compare the ABI of the library with that of the last release.

The release is the last tag vVERSION before this commit, which is built too.
libabigail compares each exported symbol and the types of the public headers:
a changed or removed function, variable or type fails; additions pass. Before
the first release there is nothing to compare.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Before this version is tagged, the library has no ABI to keep.
FIRST = "0.1.0"
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
    run(*ABIDW, "--suppressions", ROOT / "tools/private.abignore",
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


def last_release():
    """The tag of the last release, or None if there was none."""
    tag = subprocess.run(["git", "describe", "--tags", "--abbrev=0",
                          "--match", "v*"], cwd=ROOT, check=False, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if tag.returncode and version() != FIRST:
        sys.exit("abi: git finds no tag v*: fetch the tags of the releases")
    return tag.stdout.strip() or None


def tree_of(tag):
    """A folder with the tree of a tag."""
    folder = ROOT / "build/abi-release"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = folder / "release.tar"
    run("git", "archive", "-o", archive, tag, cwd=ROOT)
    run("tar", "-xf", archive, "-C", folder)
    return folder


def main():
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    tag = last_release()
    if tag is None:
        print("abi: git finds no tag of a release: nothing to compare")
        return
    old, new = ROOT / f"build/abi-{tag}.xml", ROOT / "build/abi.xml"
    write(tree_of(tag), old)
    write(ROOT, new)
    said = differences(old, new)
    if said:
        sys.exit(f"{said}abi: not that of {tag}: docs/abi.md")
    print(f"abi: that of {tag}, or more")


if __name__ == "__main__":
    main()
