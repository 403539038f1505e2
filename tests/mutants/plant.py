#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plant bugs, one at a time, and see whether the tests catch them.

plant.py LIST.toml [NAME...]

A list has a table [build] with the sources of the part, and [tests] with a
source for each test; [[mutant]] names a file, a text that stands in it once,
what to put in its place, and the tests that must fail then. A test written
tsan:NAME is built by clang with ThreadSanitizer. First, everything must pass
as it is. A mutant without tests is one that none of them can catch; `why`
tells the reason, and it must at least compile. If a model has the same bug,
`model` names the case of ../model/check.py that finds it there.
"""
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# What support.c has for other parts' tests is left out, with what that calls.
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-g", "-Iinclude", "-Isrc", "-Itests",
         "-ffunction-sections", "-Wl,--gc-sections"]
SUPPORT = ["tests/support.c", "tests/fence.c"]
COMPILERS = {"": ["gcc", "-O2"],
             "tsan": ["clang", "-O1", "-fsanitize=thread"]}
SECONDS = 60  # a test that takes longer has failed
# A bug that depends on how threads meet may hide in one run.
RUNS = 5


class Tree:
    """A copy of what a part and its tests are compiled from."""

    def __init__(self, directory, plan):
        self.directory, self.plan = directory, plan
        for name in ("include", "src", "tests"):
            shutil.copytree(ROOT / name, directory / name)

    def build(self, test):
        kind, _, name = test.rpartition(":")
        build = self.plan["build"]
        output = self.directory / test.replace(":", "-")
        sources = [path for pattern in build["sources"]
                   for path in sorted(self.directory.glob(pattern))]
        if not sources:
            sys.exit(f"no sources: {build['sources']}")
        command = [*COMPILERS[kind], *FLAGS, *map(str, sources), *SUPPORT,
                   self.plan["tests"][name], "-o", output, "-lcmocka",
                   "-lpthread", *build.get("link_args", {}).get(name, [])]
        subprocess.run(command, cwd=self.directory, check=True)
        return output

    def fails(self, test, runs):
        """Whether one of these runs of a test fails."""
        program = self.build(test)
        for _ in range(runs):
            try:
                done = subprocess.run([program], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL,
                                      timeout=SECONDS, check=False)
            except subprocess.TimeoutExpired:
                return True
            if done.returncode != 0:
                return True
        return False


def plant(tree, mutant):
    """Change the text; returns how to undo it."""
    path = tree.directory / mutant["file"]
    before = path.read_text()
    if before.count(mutant["old"]) != 1:
        sys.exit(f"{mutant['name']}: its text stands {before.count(mutant['old'])}"
                 f" times in {mutant['file']}")
    path.write_text(before.replace(mutant["old"], mutant["new"]))
    return lambda: path.write_text(before)


def judge_by_model(tree, mutant):
    """The same where no test can: whether the model finds it."""
    if "model" not in mutant:
        print(f"known  {mutant['name']}: no test can: {mutant['why']}")
        return True
    done = subprocess.run([sys.executable, ROOT / "tests/model/check.py",
                           tree.directory.parent / "model", mutant["model"]],
                          stdout=subprocess.PIPE, text=True, check=False)
    found = done.returncode == 0
    print(f"{'caught' if found else 'ALIVE '} {mutant['name']}: by the model, "
          f"{mutant['model']}")
    return found


def judge(tree, mutant):
    """Print one line; False if a test let the mutant live."""
    undo = plant(tree, mutant)
    try:
        if not mutant["tests"]:
            for name in tree.plan["tests"]:
                tree.build(name)
            return judge_by_model(tree, mutant)
        alive = [test for test in mutant["tests"]
                 if not tree.fails(test, RUNS)]
    finally:
        undo()
    if alive:
        print(f"ALIVE  {mutant['name']}: not caught by {', '.join(alive)}")
    else:
        print(f"caught {mutant['name']}: {', '.join(mutant['tests'])}")
    return not alive


def main():
    plan = tomllib.loads(Path(sys.argv[1]).read_text())
    chosen = [mutant for mutant in plan["mutant"]
              if not sys.argv[2:] or mutant["name"] in sys.argv[2:]]
    used = sorted({test for mutant in chosen for test in mutant["tests"]})
    sys.stdout.reconfigure(line_buffering=True)
    with tempfile.TemporaryDirectory() as scratch:
        tree = Tree(Path(scratch) / "tree", plan)
        for test in used:
            if tree.fails(test, 1):
                sys.exit(f"{test} fails without any mutant")
        good = [judge(tree, mutant) for mutant in chosen]
    print(f"{len(good)} mutants, {good.count(False)} alive")
    return 1 if not good or not all(good) else 0


if __name__ == "__main__":
    sys.exit(main())
