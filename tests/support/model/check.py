#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check src/mempool/deque.h, src/ring and php/cache/store by their models.

Prints TAP.

check.py DIRECTORY [WORD...]: work below DIRECTORY; only the tests whose
names have all the words. Four words are of another kind:

large: only the searches that take minutes, which are left out without it.
record: of these, only those whose model or bounds differ from what was searched
last; searched.toml gets what they find. This is ./dev models.
again: with record, all of them.
code: only whether the code is still what the models follow, and whether the
models are what was searched last. If so, a search would find what it found
before.

- The orders in the code, and the code, are those that the model follows.
- The model of memory allows and forbids what C does (litmus.pml).
- searched.toml has the large searches as the models are now.
- As the code is, the model is searched exhaustively and keeps every promise.
- With a planted bug the promise named breaks, and no other is looked at.
"""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
sys.path += [str(TESTS / part / "model") for part in ("mempool", "ring", "cache")]

# pylint: disable=wrong-import-position
import cache_cases
import code_of_cache
import code_of_deque
import code_of_ring
import deque_cases
import ring_cases
import searched
from litmus_cases import LITMUS

DEQUE, RING = "mempool/model/deque.pml", "ring/model/ring.pml"
CACHE = "cache/model/cache.pml"
# Limit of one run. The longest takes 15 s by itself, of the large ones a minute.
SECONDS, LARGE_SECONDS = 600, 3600
# MiB that a search may use before it gives up, and steps that it may go deep:
# the deepest takes below 400.
MEMORY = 1200
DEPTH = 10000
# The long searches keep states compressed and are worth optimising. At -O2 gcc
# takes up to 2 s longer, and the search is no faster. Most time of the short ones
# is that of the compiler: for a model of the cache gcc takes 3.4 s of CPU time at
# -O0 and 12 s at -O1, clang takes 1.3 s at -O0. A search of 217,347 states then
# takes 4.2 s, 2.4 s and 5.2 s.
SEARCH = ["gcc", "-O1", "-DCOLLAPSE"]
FIND = ["clang", "-O0"]


def run(command, directory, limit=SECONDS):
    done = subprocess.run(command, cwd=directory, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=limit)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: status {done.returncode}: "
                           f"{done.stdout.strip()[-400:]}")
    return done.stdout


class Search:
    """One run of spin's verifier."""

    def __init__(self, directory, model, macros, compiler, limit=SECONDS):
        directory.mkdir(parents=True, exist_ok=True)
        for old in directory.iterdir():
            old.unlink()
        run(["spin", "-a", *(f"-D{name}={macros[name]}" for name in macros),
             TESTS / model], directory)
        run([*compiler, "-w", "-DSAFETY", f"-DMEMLIM={MEMORY}",
             "-o", "pan", "pan.c"], directory)
        self.output = run(["./pan", f"-m{DEPTH}", "-w22"], directory, limit)
        errors = re.search(r"errors: (\d+)", self.output)
        states = re.search(r"(\d+) states, stored", self.output)
        if not errors or not states:
            raise RuntimeError(f"pan: {self.output.strip()[-400:]}")
        self.errors, self.states = int(errors[1]), int(states[1])

    def broken(self):
        """The name of the promise that the search found broken, or None."""
        found = re.findall(r"^pan:\d+: (.*)", self.output, re.M)
        if not found:
            return None
        name = re.match(r"assertion violated \(?(\w+)", found[0])
        return name[1] if name and self.errors == 1 else found[0]

    def incomplete(self):
        """Why an error may have been missed, or None."""
        cut = re.search(r"max search depth too small|Search not completed|"
                        r"out of memory|memory limit", self.output)
        return cut and cut[0]

    def unreached(self):
        """Steps of the model that no run took."""
        return re.findall(r"^\t(\S+:\d+), state \d+", self.output, re.M)


def problem_of(search, model):
    problem = search.broken() or search.incomplete()
    if not problem and search.errors:
        problem = f"{search.errors} errors"
    # ring.pml serves several modes, each of which leaves some steps out.
    if not problem and model == DEQUE and search.unreached():
        problem = f"never reached: {', '.join(search.unreached())}"
    return problem


def compiler_of(model, macros):
    return SEARCH if model == DEQUE or "LONG" in macros else FIND


def holds(directory, model, macros):
    search = Search(directory, model, macros, compiler_of(model, macros))
    return problem_of(search, model), f"{search.states} states"


def holds_large(directory, model, macros, record):
    """`record` is the name in searched.toml, or None."""
    inputs = searched.digest(TESTS / model, macros)
    search = Search(directory, model, macros, compiler_of(model, macros),
                    LARGE_SECONDS)
    problem = problem_of(search, model)
    if record and not problem:
        searched.write(record, inputs, search.states)
    return problem, f"{search.states} states"


def digests(large):
    return {name: searched.digest(TESTS / model, macros)
            for name, model, macros in large}


def is_recorded(_directory, large):
    problem = searched.problem(digests(large))
    return problem, "" if problem else f"{len(large)} searches"


def breaks(directory, model, macros, promise):
    compiler = SEARCH if "LONG" in macros else FIND
    search = Search(directory, model, macros, compiler)
    found = search.broken()
    if found == promise:
        return None, f"{search.states} states"
    return f"expected {promise}, found {found}", ""


def litmus(directory, macros, allowed):
    search = Search(directory, "support/model/litmus.pml", macros, FIND)
    found = search.broken()
    if allowed:
        return (None if found == "forbidden" else f"found {found}"), ""
    problem = found or search.incomplete()
    return problem or (f"{search.errors} errors" if search.errors else None), ""


def searches(model, orders, cases):
    """The tests of one model: `cases` has what is searched, and planted."""
    everything = sum(cases.PROMISES.values())
    for name, bounds in cases.HOLDS:
        yield (f"every promise holds: {name}", holds,
               (model, {**orders, **bounds, "PROMISES": everything}))
    for name, change, promise in cases.PLANTED:
        yield (f"{promise} breaks: {name}", breaks,
               (model, {**orders, **change, "PROMISES": cases.PROMISES[promise]},
                promise))


def models():
    """(prefix of the names, model, orders, cases)."""
    orders = {line[-1]: line[3].upper() for line in deque_cases.ORDERS
              if len(line) > 5}
    yield "", DEQUE, orders, deque_cases
    yield "ring: ", RING, ring_cases.ORDERS, ring_cases
    yield "cache: ", CACHE, cache_cases.ORDERS, cache_cases


def large_searches():
    """(name, model, macros)."""
    return [(f"{prefix}large: {name}", model,
             {**orders, **bounds, "PROMISES": sum(cases.PROMISES.values())})
            for prefix, model, orders, cases in models()
            for name, bounds in cases.LARGE]


def large_tests(words):
    """As tests(), by the words "record" and "again"."""
    large = large_searches()
    if "record" not in words:
        return [(name, holds_large, (model, macros, None))
                for name, model, macros in large]
    wanted = digests(large)
    searched.forget_others(wanted)
    changed = searched.changed(wanted)
    return [(name, holds_large, (model, macros, name))
            for name, model, macros in large
            if "again" in words or name in changed]


def tests():
    """(name, function, its arguments after the directory)."""
    yield "orders in deque.h are the model's", code_of_deque.orders, ()
    yield "code of deque.h is what the model follows", code_of_deque.shape, ()
    yield "orders in src/ring are the model's", code_of_ring.orders, ()
    yield "code of src/ring is what the model follows", code_of_ring.shape, ()
    yield "orders in php/cache/store are the model's", code_of_cache.orders, ()
    yield ("code of php/cache/store is what the model follows",
           code_of_cache.shape, ())
    yield ("the models are those of the last large searches", is_recorded,
           (large_searches(),))
    for prefix, model, orders, cases in models():
        for test in searches(model, orders, cases):
            yield f"{prefix}{test[0]}", *test[1:]
    for shape, chosen, allowed in LITMUS:
        chosen = chosen.split()
        macros = {"TEST": shape, **dict(zip("ABCD", chosen))}
        yield (f"{'allowed' if allowed else 'forbidden'}: {shape} "
               f"{' '.join(chosen)}", litmus, (macros, allowed))


SEARCHES = holds, breaks, litmus
KINDS = "large", "record", "again", "code"


def attempt(directory, function, arguments):
    try:
        return function(directory, *arguments)
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        return str(error), ""


def main():
    work, words = Path(sys.argv[1]).resolve(), sys.argv[2:]
    among = large_tests(words) if {"large", "record"} & set(words) else tests()
    chosen = [test for test in among
              if all(word in test[0] for word in words if word not in KINDS)
              and not ("code" in words and test[1] in SEARCHES)]
    if not chosen and "record" in words:
        print("1..0 # SKIP each model was searched as it is; to search again: "
              "./dev models --all")
        return 0
    print(f"1..{len(chosen)}")
    failed = not chosen
    jobs = int(os.environ.get("HONE_JOBS") or os.cpu_count())
    with ThreadPoolExecutor(jobs) as pool:
        pending = [pool.submit(attempt, work / str(number), function, arguments)
                   for number, (_, function, arguments) in enumerate(chosen)]
        for number, (name, _, _) in enumerate(chosen, 1):
            problem, note = pending[number - 1].result()
            if note:
                name = f"{name} ({note})"
            print(f"{'not ok' if problem else 'ok'} {number} - {name}")
            if problem:
                failed = True
                for line in problem.splitlines():
                    print(f"# {line}")
            sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
