#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plant bugs in a copy of the sources, one at a time, and run the tests that
have to catch them. Prints TAP.

tests/mutants.toml lists the bugs of each PART, one a line; planting.py describes
the rows. `tests` of a row must fail: `unit` is the Meson test PART_unit,
`tsan:unit` the same built by clang with ThreadSanitizer, `asan:unit` with
AddressSanitizer, and `php:NAME` is php/tests/NAME.phpt with the extension of
the copy. `command:test_map.py` is pytest of tests/PART/test_map.py with the
command of the gcc build, and `command:test_map.py random or total` only of its
tests with such names. A mutant without tests is one that no test can catch;
`why` states the reason, and the mutant must compile. `model` names the case of
model/check.py that finds the same bug.

A mutant is caught if each of its tests fails. A mutant that is missed and has
no `why` is a failure. Before the first mutant, every test must pass. A mutant
is skipped if this machine cannot run one of its tests of the command.
"""
import argparse
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import planting

ROOT = Path(__file__).resolve().parents[2]
ROWS = ROOT / "tests/mutants.toml"
COPIED = ["include", "src", "image", "cli", "php", "integrations", "tests",
          "packaging", "tools", "meson.build", "meson_options.txt", "dev",
          "NEWS.md", "LICENSE"]
SANITIZED = ["-Doptimization=1", "-Db_lundef=false"]
KINDS = {"": ("gcc", ["--buildtype=debugoptimized"]),
         "asan": ("gcc", [*SANITIZED, "-Db_sanitize=address"]),
         "tsan": ("clang", [*SANITIZED, "-Db_sanitize=thread"])}
# A test that takes longer has failed: more than it can take on a busy machine
# before a bug is planted, and with a bug, ten times what it took then.
SECONDS = 600
LEAST_SECONDS = 60
# The harness of tests/cli ends a command that hangs after 100 seconds.
LEAST_COMMAND_SECONDS = 300
# A bug that depends on the timing of threads may hide in one run; tests of the
# command are of no such bugs.
RUNS = 5
PHP_CONFIG = shutil.which("php-config8.2") or shutil.which("php-config")


def is_command(test):
    """Whether pytest runs the command."""
    return test.startswith("command:")


def why_skipped(said):
    """The reason if pytest ran no test, or None."""
    if re.search(r"\d+ passed", said):
        return None
    return next((line for line in said.splitlines()
                 if line.startswith("SKIPPED")), "no test was run")


class Tree:
    """A copy of the sources, with one build for each kind of test."""

    def __init__(self, directory):
        self.directory = directory
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            copy(ROOT / name, directory / name)
        self.tests = {}
        self.seconds = {}  # the limit of each test

    def find(self, test):
        """(build, target, command, environment) of PART_NAME, KIND:PART_NAME,
        php:NAME (without build and target) or command:PART/FILE.py NAMES."""
        kind, _, name = test.rpartition(":")
        if kind == "command":
            build, *_ = self.configure("")
            file, _, names = name.partition(" ")
            return build, "cli/hone", [
                sys.executable, "-B", "-m", "pytest", "-q", "-x",
                f"--basetemp={self.directory}/pytest",
                self.directory / "tests" / file,
                *(["-k", names] if names else [])], {"HONE": str(build / "cli/hone")}
        if kind == "php":
            if kind not in self.tests:
                self.tests[kind] = self.set_up_php()
            return None, None, [*self.tests[kind], f"php/tests/{name}.phpt"], {
                "HONE_JOBS": "1"}
        build, tests = self.configure(kind)
        # If Valgrind or an emulator runs the program, Meson names the program
        # by its path in the build.
        if name not in tests:
            raise RuntimeError(f"{name} is not a test of this build")
        command = [str(build / word) if word.startswith("tests/") else word
                   for word in tests[name]["cmd"]]
        program = next(Path(word) for word in command
                       if Path(word).is_relative_to(build))
        return build, program.relative_to(build), command, tests[name]["env"]

    def configure(self, kind):
        """(build, its tests) of a kind."""
        build = self.directory / f"build-{kind or 'gcc'}"
        if kind not in self.tests:
            compiler, options = KINDS[kind]
            self.run(["meson", "setup", build, "-Dtests=true", *options],
                     {"CC": compiler})
            known = json.loads((build / "meson-info/intro-tests.json").read_text())
            for each in known:
                if "hone:variants" in each["suite"]:  # PART-NAME
                    each["name"] = each["name"].replace("-", "_", 1)
            self.tests[kind] = {each["name"]: each for each in known}
        return build, self.tests[kind]

    def run(self, command, env=None):
        done = subprocess.run(command, cwd=self.directory, check=False,
                              env={**os.environ, **(env or {})}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed:\n{done.stdout[-2000:]}")

    def set_up_php(self):
        """Configure the extension where the copy has its sources, so that make
        finds a mutant. Returns the command that runs tests."""
        build = self.directory / "build-php"
        prefix = build / "installed"
        self.run(["meson", "setup", build, "--buildtype=release",
                  "-Dtools=false", f"--prefix={prefix}", "-Dlibdir=lib"])
        self.run(["meson", "install", "-C", build])
        self.run(["sh", "tools/phpext.sh", "build", ROOT / "php",
                  self.directory / "php", PHP_CONFIG,
                  f"--with-hone={prefix}", "--enable-hone-static"])
        return ["sh", "tools/phpext.sh", "test", "php", PHP_CONFIG,
                str(build / "junit.xml")]

    def build(self, tests):
        for test in tests:
            build, target, *_ = self.find(test)
            if test.startswith("php:"):
                self.run(["make", "-s", "-C", self.directory / "php", "hone.la"])
                shutil.copy2(self.directory / "php/.libs/hone.so",
                             self.directory / "php/modules/hone.so")
                continue
            self.run(["ninja", "-C", build, target])

    def fails(self, test, runs):
        """Whether one of these runs of a test fails."""
        return any(not self.run_once(test, self.seconds[test])[0] for _ in range(runs))

    def run_once(self, test, seconds):
        """(whether a test passes, what it prints)."""
        *_, command, env = self.find(test)
        try:
            done = subprocess.run(command, cwd=self.directory,
                                  env={**os.environ, **env}, text=True,
                                  stdin=subprocess.DEVNULL, check=False,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, errors="replace",
                                  timeout=seconds)
        except subprocess.TimeoutExpired:
            return False, f"it did not end within {seconds} seconds"
        return not done.returncode, done.stdout

    def judge(self, mutant):
        """(whether all is well, one line that says why)."""
        if PHP_CONFIG is None and any(test.startswith("php:")
                                      for test in mutant["tests"]):
            return True, "missed: php-config is not installed"
        for test in mutant["tests"]:
            self.find(test)
        path, before, after = planting.plant(self.directory, mutant)
        path.write_text(after)
        try:
            if not mutant["tests"]:
                self.build(mutant["compiles"])
                return self.judge_untested(mutant)
            self.build(mutant["tests"])
            passed = [test for test in mutant["tests"] if not self.fails(
                test, 1 if is_command(test) else RUNS)]
        finally:
            path.write_text(before)
        if passed:
            return False, f"missed: {', '.join(passed)} passed"
        return True, f"caught by {', '.join(mutant['tests'])}"

    def judge_untested(self, mutant):
        """The same for a bug that no test can catch."""
        if "model" not in mutant:
            reason = " ".join(mutant.get("why", "").split())
            return bool(reason), f"missed: {reason}"
        done = subprocess.run(
            [sys.executable, ROOT / "tests/support/model/check.py",
             self.directory / "model", mutant["model"]],
            stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            return False, f"missed: by the model too, {mutant['model']}"
        return True, "caught by the model"


def mutants(part):
    """All mutants of a part, or of all parts, with full names of tests."""
    found = [mutant for mutant in planting.read(ROWS, ROOT)
             if part in (None, mutant["part"])]
    compiled = {}
    for mutant in found:
        folder = mutant["part"]
        mutant["name"] = f"{folder}: {mutant['name']}"
        mutant["tests"] = [
            f"{kind}:{folder}/{name}" if kind == "command"
            else f"{kind}{colon}{'' if kind == 'php' else folder + '_'}{name}"
            for kind, colon, name in
            (test.rpartition(":") for test in mutant["tests"])]
        compiled.setdefault(folder, set()).update(
            test for test in mutant["tests"] if ":" not in test)
    for mutant in found:
        mutant["compiles"] = sorted(compiled[mutant["part"]])
    return found


def options():
    parser = argparse.ArgumentParser(
        prog="./dev test mutants", description="Plant each bug of tests/"
        "mutants.toml in a copy, and run the tests that have to catch it.")
    parser.add_argument("part", nargs="?", help="of one part only")
    parser.add_argument("--sample", type=int, metavar="N",
                        help="only N mutants, chosen at random")
    parser.add_argument("--seed", type=lambda text: int(text, 0), metavar="S",
                        help="of the sample (default: HONE_SEED, or random)")
    parser.add_argument("--check", action="store_true",
                        help="build nothing: only check that the files have "
                        "the texts that the mutants replace, and that the "
                        "tests exist")
    parser.add_argument("--name", action="append", metavar="TEXT",
                        help="only mutants that have TEXT in their name")
    given = parser.parse_args()
    if given.seed is None:
        seed = os.environ.get("HONE_SEED")
        given.seed = int(seed, 0) if seed else random.SystemRandom().randrange(1 << 32)
    return given


def absent(test):
    """What a test of a row lacks: its file, its name there, or its place in the
    files of Meson. None if it lacks nothing."""
    kind, _, name = test.rpartition(":")
    if kind == "command":
        name, _, names = name.partition(" ")
        file = ROOT / "tests" / name
        if not file.is_file():
            return f"tests/{name} is not a file"
        # A name may be that of a case, which another file may have.
        others = sorted((ROOT / "tests").glob("*/*.py"))
        for each in names.split():
            case = rf"[\"'][^\"'\n]*{re.escape(each)}"
            test = rf"def test_\w*{re.escape(each)}"
            if (not re.search(f"{test}|{case}", file.read_text()) and
                    not any(re.search(case, other.read_text()) for other in others)):
                return f"tests/{name} has no test or case '{each}'"
        return None
    if kind == "php":
        file = f"php/tests/{name}.phpt"
        return None if (ROOT / file).is_file() else f"{file} is not a file"
    part, _, name = name.partition("_")
    variants = ROOT / "src" / part / "variants.def"
    if variants.is_file() and f"({name}, " in variants.read_text():
        return None
    lists = [ROOT / "tests/meson.build", ROOT / "tests" / part / "meson.build"]
    names = f"'({part}_)?{re.escape(name.removeprefix('emulated-'))}'"
    listed = any(re.search(names, file.read_text()) for file in lists if file.is_file())
    file = f"tests/{part}/{name.partition('-')[0]}_test.c"
    if not (ROOT / file).is_file():
        return f"{file} is not a file"
    return None if listed else f"no meson.build of tests has '{name}'"


def check(chosen):
    """Print the mutants that cannot be planted; returns how many."""
    failures = 0
    for mutant in chosen:
        try:
            planting.plant(ROOT, mutant)
        except planting.Wrong as error:
            print(error)
            failures += 1
        for lack in filter(None, map(absent, mutant["tests"])):
            print(f"{mutant['place']}: {mutant['name']}: {lack}")
            failures += 1
    print(f"{len(chosen)} mutants, {failures} cannot be planted")
    return failures


def report_broken(test, said):
    """Of a test that fails before a bug was planted."""
    print(f"not ok 1 - {test} fails without any mutant")
    for line in said.splitlines()[-40:]:
        print(f"# {line}")
    print("Bail out! no mutant was planted")


def judge_all(chosen, jobs):
    """Print a line for each mutant; returns how many are failures."""
    work = ROOT / "build/mutants"
    trees = [Tree(work / str(number)) for number in range(jobs)]
    used = sorted({test for mutant in chosen for test in mutant["tests"]
                   if PHP_CONFIG or not test.startswith("php:")})
    skipped = {}
    for test in used:
        try:
            trees[0].build([test])
            began = time.monotonic()
            passed, said = trees[0].run_once(test, SECONDS)
            took = time.monotonic() - began
        except RuntimeError as error:
            passed, said = False, str(error)
        if not passed:
            report_broken(test, said)
            return len(chosen)
        least = LEAST_COMMAND_SECONDS if is_command(test) else LEAST_SECONDS
        for tree in trees:
            tree.seconds[test] = max(least, 10 * took)
        if is_command(test) and why_skipped(said):
            skipped[test] = f"skipped: {test}: {why_skipped(said)}"
    idle = queue.SimpleQueue()
    for tree in trees:
        idle.put(tree)

    def judge(mutant):
        reasons = [skipped[test] for test in mutant["tests"] if test in skipped]
        if reasons:
            return True, reasons[0]
        tree = idle.get()
        try:
            return tree.judge(mutant)
        except planting.Wrong as error:
            return False, str(error)
        except RuntimeError as error:
            return False, f"does not compile: {error}"
        finally:
            idle.put(tree)

    failures = 0
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(judge, chosen)
        for number, (mutant, (good, reason)) in enumerate(zip(chosen, results), 1):
            first, *rest = reason.splitlines()
            skip = "# SKIP " if good and first.startswith(("missed", "skipped")) else ""
            print(f"{'ok' if good else 'not ok'} {number} - {mutant['name']}"
                  f"{' ' if skip else ': '}{skip}{first}")
            for line in rest:
                print(f"# {line}")
            failures += not good
    shutil.rmtree(work)
    return failures


def main():
    given = options()
    sys.stdout.reconfigure(line_buffering=True)
    try:
        chosen = mutants(given.part)
    except planting.Wrong as error:
        sys.exit(str(error))
    if not chosen:
        have = sorted({mutant["part"] for mutant in mutants(None)})
        sys.exit(f"mutants: no part '{given.part}' with mutants; there are: "
                 f"{', '.join(have)}")
    chosen = [mutant for mutant in chosen if not given.name
              or any(text in mutant["name"] for text in given.name)]
    if given.check:
        return 1 if check(chosen) else 0
    if given.sample is not None:
        print(f"# HONE_SEED={given.seed}: {given.sample} of {len(chosen)} mutants")
        order = random.Random(given.seed)
        chosen = order.sample(chosen, min(given.sample, len(chosen)))
    if not chosen:
        sys.exit("mutants: none has such a name")
    print(f"1..{len(chosen)}")
    # A second tree costs a build of its own.
    jobs = int(os.environ.get("HONE_JOBS") or len(os.sched_getaffinity(0)))
    failures = judge_all(chosen, min(jobs, 1 + len(chosen) // 8))
    print(f"# {len(chosen)} mutants, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
