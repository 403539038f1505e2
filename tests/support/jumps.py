#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Turn conditional jumps of compiled objects, one at a time, and report which
of them no test in C notices. For x86-64.

In a copy of a build at -O0, a jump becomes its opposite or a no-op. Each test
of the part whose program has the function is linked again and runs, until one
fails: first those named like the file, then the quickest. A test that takes ten
times as long as without the jump, and ten seconds, is ended, and counted apart
from those that fail. Jumps of assertions and of inline functions in include/ are
left out. tests/survivors.toml has the lines whose jumps no test in C can notice.
A survivor is reported, and is no failure.
"""
import argparse
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter, namedtuple
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from json import loads
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/jumps"
ACCEPTED = ROOT / "tests/survivors.toml"
SECONDS = 10
OPPOSITE, NEVER = "the opposite", "never"
NO_OPS = {2: b"\x66\x90", 6: b"\x66\x0f\x1f\x44\x00\x00"}

# A conditional jump: its object below the build, its function, file and line,
# its number in the line, its place in the object, and what becomes of it.
Jump = namedtuple("Jump", "object function file line number at how")
# A program below the build, its arguments and environment, its functions, and
# the seconds after which it is ended.
Test = namedtuple("Test", "name program words env functions limit")
PASSED, CAUGHT, NO_END = "passed", "caught by", "no end of"


def output(*words):
    return subprocess.run(words, cwd=ROOT, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def size_of(code, at):
    """The length of the conditional jump at this place, or 0: 70 to 7f have 8
    bits of distance, 0f 80 to 0f 8f have 32."""
    if 0x70 <= code[at] <= 0x7f:
        return 2
    return 6 if code[at] == 0x0f and 0x80 <= code[at + 1] <= 0x8f else 0


def patched(code, at, how):
    """The code with another jump. The lowest bit of the opcode is the sense."""
    size = size_of(code, at)
    if how == NEVER:
        return code[:at] + NO_OPS[size] + code[at + size:]
    last = at + (size == 6)
    return code[:last] + bytes([code[last] ^ 1]) + code[last + 1:]


def disassemble(path):
    """([(function, (file, line), offset in the object)] of the conditional
    jumps, {function: (its file, its lines)}) of an object."""
    code = path.read_bytes()
    starts, found, lines = {}, [], {}
    for line in output("objdump", "-h", "-dlr", "--no-show-raw-insn",
                       path).splitlines():
        if match := re.match(r" +\d+ (\S+)(?: +[0-9a-f]+){3} +([0-9a-f]+) ", line):
            starts[match[1]] = int(match[2], 16)
        elif line.startswith("Disassembly of section "):
            start = starts[line[23:-1]]
        elif match := re.fullmatch(r"[0-9a-f]+ <(\S+)>:", line):
            function, where = match[1], None
        elif match := re.match(r"(/.*):(\d+)(?: \(discriminator \d+\))?$", line):
            where = os.path.normpath(match[1]), int(match[2])
            own = lines.setdefault(function, (where[0], set()))
            own[1].update([where[1]] if own[0] == where[0] else [])
        elif match := re.match(r"\s+([0-9a-f]+): R_X86_64", line):
            # The linker writes here: a no-op would not remain one.
            at = start + int(match[1], 16)
            if found and found[-1][2] <= at < found[-1][2] + 6:
                found.pop()
        elif match := re.match(r"\s+([0-9a-f]+):\tj(?!mp)", line):
            at = start + int(match[1], 16)
            if where and size_of(code, at):
                found.append((function, where, at))
    return found, lines


def statement(text, line):
    """The lines of a source from the begin of a statement to this one."""
    first = line - 1
    while first > 0 and not re.search(r"[;{}:/]\s*$", text[first - 1]):
        first -= 1
    return " ".join(text[first:line])


def jumps(objects, chosen):
    """Both forms of each jump of these objects that `chosen(file, lines of
    the function)` takes."""
    for name in sorted(objects):
        found, lines = disassemble(BUILD / name)
        count = Counter()
        for function, (path, line), at in found:
            file = os.path.relpath(path, ROOT)
            count[(function, line)] += 1
            own, span = lines[function]
            if file.startswith(("..", "include/")) or not chosen(
                    file, range(min(span), max(span) + 1)
                    if own == path else [line]):
                continue
            text = Path(path).read_text().splitlines()
            if "assert(" not in statement(text, line):
                for how in OPPOSITE, NEVER:
                    yield Jump(name, function, file, line,
                               count[(function, line)], at, how)


def changed_since(commit):
    """{file: lines that differ from the common ancestor with a commit}."""
    found = {}
    for line in output("git", "diff", "-U0", output(
            "git", "merge-base", commit, "HEAD").strip()).splitlines():
        if line.startswith("+++ "):
            lines = found.setdefault(line[6:], set())
        elif match := re.match(r"@@ \S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(match[1]), int(match[2] or 1)
            lines.update(range(first, first + max(count, 1)))
    return found


def source_line(jump):
    return (ROOT / jump.file).read_text().splitlines()[jump.line - 1].strip()


def accepted():
    """{(file, function, text of the line)} of the survivors with a reason. The
    function may have the line of another one that is inline in it."""
    found = set()
    for row in tomllib.loads(ACCEPTED.read_text())["survivor"]:
        text = (ROOT / row["file"]).read_text()
        assert f"\n{row['function']}(" in text and row["why"], row
        assert row["line"] in map(str.strip, text.splitlines()), row
        found.add((row["file"], row["function"], row["line"]))
    return found


def outcome(test, build):
    """PASSED, CAUGHT or NO_END, in this copy of the build."""
    ended = False
    with tempfile.TemporaryDirectory(dir=build) as folder, subprocess.Popen(
            [build / test.program, *test.words], cwd=build,
            env={**os.environ, **test.env, "TMPDIR": folder},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True) as run:
        with suppress(subprocess.TimeoutExpired):
            run.wait(test.limit)
            ended = True
        with suppress(ProcessLookupError):  # what it forked too
            os.killpg(run.pid, signal.SIGKILL)
        status = run.wait()
        return NO_END if not ended else CAUGHT if status else PASSED


def tests_of(files):
    """The tests of these sources' parts that pass and are quick, quickest
    first. Those that an emulator or Valgrind runs are left out."""
    words = [file.split("/") for file in files]
    parts = {"hone:" + word[word[0] in ("src", "php")] for word in words}
    found = []
    for each in loads((BUILD / "meson-info/intro-tests.json").read_text()):
        program, *words = each["cmd"]
        if parts.isdisjoint(each["suite"]) or str(BUILD) not in program:
            continue
        test = Test(each["name"], os.path.relpath(program, BUILD), words,
                    each["env"], output("nm", "-P", program).split(), SECONDS)
        began = time.monotonic()
        result, took = outcome(test, BUILD), time.monotonic() - began
        if result == PASSED and took < SECONDS / 2:
            found.append((took, test._replace(limit=max(SECONDS, 10 * took))))
        else:
            print(f"# left out: {test.name} fails without a bug or takes long")
    return [test for _, test in sorted(found)]


def ninja(build, target="all"):
    done = subprocess.run(["ninja", "-C", build, target], check=False,
                          stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stdout[-3000:])


def catch(jump, tests, build):
    """What the first test that fails with this jump does, and its name."""
    path = build / jump.object
    before, status = path.read_bytes(), path.stat()

    def put(code):
        # Ninja would compile an object that has another time. It makes the
        # archives and programs again because they are gone.
        path.write_bytes(code)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        for gone in path.parents[1].glob("*.a"):
            gone.unlink()

    put(patched(before, jump.at, jump.how))
    try:
        for test in tests:
            (build / test.program).unlink(missing_ok=True)
            ninja(build, test.program)
            result = outcome(test, build)
            if result != PASSED:
                return f"{result} {test.name}"
    finally:
        put(before)
    return ""


def plant(chosen, jobs):
    """Report each jump; returns {what became of it: how many}."""
    known, tests = accepted(), tests_of({jump.file for jump in chosen})
    copies = queue.SimpleQueue()
    for number in range(jobs):
        copy = BUILD.with_name(f"jumps-{number}")
        shutil.rmtree(copy, ignore_errors=True)
        output("cp", "-a", BUILD, copy)
        copies.put(copy)

    def judge(jump):
        having = [test for test in tests if jump.function in test.functions]
        having.sort(key=lambda test: Path(jump.file).stem not in test.name)
        if not having:
            return "in no test"
        copy = copies.get()
        try:
            caught = catch(jump, having, copy)
        finally:
            copies.put(copy)
        if caught:
            return caught
        return ("accepted" if (jump.file, jump.function, source_line(jump))
                in known else "survived")

    counts = Counter()
    with ThreadPoolExecutor(jobs) as pool:
        for jump, verdict in zip(chosen, pool.map(judge, chosen)):
            print(f"{verdict}: {jump.file}:{jump.line}: {jump.function}(): jump "
                  f"{jump.number}, {jump.how}: {source_line(jump)}", flush=True)
            counts[re.split(" (?:by|of) ", verdict)[0]] += 1
    while not copies.empty():
        shutil.rmtree(copies.get())
    return counts


def main():
    parser = argparse.ArgumentParser(
        prog="./dev test mutants jumps", description="Turn conditional jumps of the "
        "functions that this branch changed; report those that no C test sees.")
    add = parser.add_argument
    add("path", nargs="*", help="a file or folder, changed or not: src/ring")
    add("--all", action="store_true", help="all files")
    add("--since", metavar="COMMIT", default="main",
        help="changed since this commit (default: main)")
    add("--sample", type=int, metavar="N", help="only N, chosen at random")
    add("--seed", type=int, metavar="S", help="of the sample (default: random)",
        default=random.SystemRandom().randrange(1 << 32))
    given = parser.parse_args()
    if not (BUILD / "build.ninja").exists():
        # objdump gives some functions another file if DWARF has version 5.
        output("meson", "setup", BUILD, "--buildtype=debug", "-Dtests=true",
               "-Dc_args=-gdwarf-4")
    ninja(BUILD)
    objects = {each["output"] for each in
               loads((BUILD / "compile_commands.json").read_text())
               if not each["file"].startswith("../../tests/")}
    changed = changed_since(given.since)

    def chosen(file, lines):
        if given.all or given.path:
            return given.all or any(f"{file}/".startswith(
                path.rstrip("/") + "/") for path in given.path)
        return not changed.get(file, set()).isdisjoint(lines)
    found = list(jumps(objects, chosen))
    if given.sample and given.sample < len(found):
        print(f"# --seed {given.seed}: {given.sample} of {len(found)}")
        found = random.Random(given.seed).sample(found, given.sample)
    jobs = int(os.environ.get("HONE_JOBS") or len(os.sched_getaffinity(0)))
    counts = plant(found, min(jobs, len(found))) if found else {}
    print(f"# {len(found)} jumps", *sorted(counts.items()))


if __name__ == "__main__":
    main()
