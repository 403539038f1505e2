#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check src/mempool, src/ring and php/cache/store by their models.

Prints TAP.

check.py DIRECTORY [WORD...]: work below DIRECTORY; only the tests whose
names have all the words. Five words are of another kind:

large: only the searches that take minutes, which are left out without it.
record: of all searches, only those whose model, bounds or expected result differ
from what was searched last; searched.toml gets what they find. This is ./dev
models.
again: with record, all of them.
code: only whether the code is still what the models follow, and whether the
models are what was searched last. If so, a search would find what it found
before.
some: a few of the searches, at random by HONE_SEED. If searched.toml has them,
each must find as many states as before.

- The orders in the code, and the code, are those that the model follows.
- The model of memory allows and forbids what C does (litmus.pml).
- searched.toml has all searches as the models are now.
- As the code is, the model is searched exhaustively and keeps every promise.
- With a planted bug the promise named breaks, and no other is looked at.
"""
import os
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
sys.path += [str(TESTS / part / "model") for part in ("mempool", "ring", "cache")]

# pylint: disable=wrong-import-position
import cache_cases
import deque_cases
import exact_cases
import ring_cases
import searched
import spill_cases
import wait_cases

DEQUE, RING = "mempool/model/deque.pml", "ring/model/ring.pml"
WAIT = "ring/model/wait.pml"
EXACT, CACHE = "mempool/model/exact.pml", "cache/model/cache.pml"
SPILL = "mempool/model/spill.pml"
MEMORY_MODEL = "support/model/litmus.pml"
# Shape of litmus.pml, orders, whether C allows the outcome.
LITMUS = [
    ("MESSAGE_PASSING", "RELEASE ACQUIRE", False),
    ("MESSAGE_PASSING", "RELAXED ACQUIRE", True),
    ("MESSAGE_PASSING", "RELEASE RELAXED", True),
    ("STORE_BUFFERING", "SEQ_CST SEQ_CST SEQ_CST SEQ_CST", False),
    ("STORE_BUFFERING", "RELEASE SEQ_CST SEQ_CST SEQ_CST", True),
    ("STORE_BUFFERING", "SEQ_CST ACQUIRE SEQ_CST SEQ_CST", True),
    ("INDEPENDENT_READS", "SEQ_CST SEQ_CST SEQ_CST", False),
    ("INDEPENDENT_READS", "RELEASE ACQUIRE ACQUIRE", True),
    ("INDEPENDENT_READS", "SEQ_CST ACQUIRE SEQ_CST", True),
    ("INDEPENDENT_READS", "SEQ_CST SEQ_CST ACQUIRE", True),
    ("COHERENCE", "RELAXED RELAXED RELAXED", False),
    ("CAUSALITY", "RELEASE ACQUIRE RELEASE ACQUIRE", False),
    ("CAUSALITY", "RELEASE ACQUIRE RELAXED ACQUIRE", True),
    # The reader between has seen the store, so later readers see it too.
    ("CAUSALITY", "RELAXED RELAXED RELEASE ACQUIRE", False),
    ("READ_TO_WRITE", "SEQ_CST SEQ_CST SEQ_CST SEQ_CST", False),
    # The case of an acquire load of top in steal.
    ("READ_TO_WRITE", "ACQUIRE SEQ_CST SEQ_CST SEQ_CST", True),
    ("READ_TO_WRITE", "SEQ_CST ACQUIRE SEQ_CST SEQ_CST", True),
    ("TOLD_OF_WRITE", "RELEASE ACQUIRE", False),
    ("TOLD_OF_WRITE", "RELAXED ACQUIRE", True),
    ("TOLD_OF_WRITE", "RELEASE RELAXED", True),
    ("THREE_BUFFERS", "SEQ_CST SEQ_CST SEQ_CST SEQ_CST", False),
    ("THREE_BUFFERS", "SEQ_CST SEQ_CST RELEASE SEQ_CST", True),
    ("THREE_BUFFERS", "SEQ_CST SEQ_CST SEQ_CST ACQUIRE", True),
    ("SWAP", "RELAXED", False),
    ("SEQUENCE", "RELEASE RELAXED ACQUIRE", False),
    ("SEQUENCE", "RELAXED RELEASE ACQUIRE", True),
    # A limit of the model: C alone would allow this one.
    ("LOAD_BUFFERING", "RELAXED RELAXED", False),
]
# Limit of one run. The longest takes 15 s by itself, of the large ones a minute.
SECONDS, LARGE_SECONDS = 600, 3600
# MiB that a search may use before it gives up; steps that it may go deep: the
# deepest takes below 400; and bytes of a state.
MEMORY = 1200
DEPTH = 10000
STATE = 4096
# How many searches the word "some" takes: 10 s of CPU time.
SOME = 6
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
             f"-DVECTORSZ={STATE}", "-o", "pan", "pan.c"], directory)
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


def holds(directory, model, macros, limit=SECONDS):
    search = Search(directory, model, macros, compiler_of(model, macros), limit)
    return problem_of(search, model), f"{search.states} states"


def is_recorded(_directory, inputs):
    problem = searched.problem(inputs)
    return problem, "" if problem else f"{len(inputs)} searches"


def breaks(directory, model, macros, promise):
    compiler = SEARCH if "LONG" in macros else FIND
    search = Search(directory, model, macros, compiler)
    found = search.broken()
    if found == promise:
        return None, f"{search.states} states"
    return f"expected {promise}, found {found}", ""


def litmus(directory, macros, allowed):
    search = Search(directory, MEMORY_MODEL, macros, FIND)
    states = f"{search.states} states"
    found = search.broken()
    if allowed:
        return (None if found == "forbidden" else f"found {found}"), states
    problem = found or search.incomplete()
    return problem or (f"{search.errors} errors" if search.errors else None), states


def recorded(directory, name, function, arguments):
    """A search, whose result goes to searched.toml."""
    problem, states = function(directory, *arguments)
    if not problem:
        searched.write(name, inputs_of(function, arguments), int(states.split()[0]))
    return problem, states


def repeated(directory, name, function, arguments):
    """A search that must find what it found before, if it is the same one."""
    problem, states = function(directory, *arguments)
    line = searched.read().get(name, {})
    if not problem and line.get("digest") == inputs_of(function, arguments) and \
            states != f"{line['states']} states":
        problem = f"{states}, and {line['states']} on {line['date']}"
    return problem, states


def inputs_of(function, arguments):
    """A digest of what decides the result of a search."""
    if function is litmus:
        macros, allowed = arguments
        return searched.digest(TESTS / MEMORY_MODEL, macros,
                               "allowed" if allowed else "forbidden")
    expected = arguments[2] if function is breaks else ""
    return searched.digest(TESTS / arguments[0], arguments[1], expected)


def searches_of(prefix, model, orders, cases):
    """The searches of one model: `cases` has what is searched, and planted."""
    everything = sum(cases.PROMISES.values())
    for name, bounds in cases.HOLDS:
        yield (f"{prefix}every promise holds: {name}", holds,
               (model, {**orders, **bounds, "PROMISES": everything}))
    for name, change, promise in cases.PLANTED:
        yield (f"{prefix}{promise} breaks: {name}", breaks,
               (model, {**orders, **change, "PROMISES": cases.PROMISES[promise]},
                promise))
    for name, bounds in cases.LARGE:
        yield (f"{prefix}large: {name}", holds,
               (model, {**orders, **bounds, "PROMISES": everything}, LARGE_SECONDS))


def searches():
    """(name, function, its arguments after the directory) of each search."""
    orders = {line[-1]: line[3].upper() for line in deque_cases.ORDERS if len(line) > 5}
    yield from searches_of("", DEQUE, orders, deque_cases)
    yield from searches_of("exact: ", EXACT, exact_cases.ORDERS, exact_cases)
    yield from searches_of("spill: ", SPILL, spill_cases.ORDERS, spill_cases)
    yield from searches_of("ring: ", RING, ring_cases.ORDERS, ring_cases)
    yield from searches_of("wait: ", WAIT, wait_cases.ORDERS, wait_cases)
    yield from searches_of("cache: ", CACHE, cache_cases.ORDERS, cache_cases)
    for shape, chosen, allowed in LITMUS:
        chosen = chosen.split()
        macros = {"TEST": shape, **dict(zip("ABCD", chosen))}
        yield (f"{'allowed' if allowed else 'forbidden'}: {shape} "
               f"{' '.join(chosen)}", litmus, (macros, allowed))


def is_large(name):
    return "large: " in name


def record_tests(all_searches, again):
    """Of those that have changed, or all."""
    inputs = {name: inputs_of(function, arguments)
              for name, function, arguments in all_searches}
    searched.forget_others(inputs)
    changed = searched.changed(inputs)
    return [(name, recorded, (name, function, arguments))
            for name, function, arguments in all_searches
            if again or name in changed]


def some_tests(all_searches):
    seed = int(os.environ.get("HONE_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"# HONE_SEED={seed}")
    small = [search for search in all_searches if not is_large(search[0])]
    return [(name, repeated, (name, function, arguments))
            for name, function, arguments in random.Random(seed).sample(small, SOME)]


def code_tests(all_searches):
    """(name, function, its arguments after the directory) of what needs no search."""
    yield "orders in deque.h are the model's", deque_cases.orders, ()
    yield "code of deque.h is what the model follows", deque_cases.shape, ()
    yield "orders of exact pools are the model's", exact_cases.orders, ()
    yield "code of exact pools is what the model follows", exact_cases.shape, ()
    yield "orders of spilled magazines are the model's", spill_cases.orders, ()
    yield "code of spilled magazines is what the model follows", spill_cases.shape, ()
    yield "orders in src/ring are the model's", ring_cases.orders, ()
    yield "code of src/ring is what the model follows", ring_cases.shape, ()
    yield "orders of queues are the model's", wait_cases.orders, ()
    yield "code of queues is what the model follows", wait_cases.shape, ()
    yield "orders in php/cache/store are the model's", cache_cases.orders, ()
    yield ("code of php/cache/store is what the model follows", cache_cases.shape, ())
    yield ("the models are those of the last searches", is_recorded,
           ({name: inputs_of(function, arguments)
             for name, function, arguments in all_searches},))


KINDS = "large", "record", "again", "code", "some"


def tests(words):
    """The tests that the words of KINDS among `words` choose."""
    all_searches = list(searches())
    assert len({name for name, _, _ in all_searches}) == len(all_searches)
    if "record" in words:
        return record_tests(all_searches, "again" in words)
    if "some" in words:
        return some_tests(all_searches)
    if "large" in words:
        return [search for search in all_searches if is_large(search[0])]
    code = list(code_tests(all_searches))
    if "code" in words:
        return code
    return code + [search for search in all_searches if not is_large(search[0])]


def attempt(directory, function, arguments):
    try:
        return function(directory, *arguments)
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        return str(error), ""


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    work, words = Path(sys.argv[1]).resolve(), sys.argv[2:]
    chosen = [test for test in tests(words)
              if all(word in test[0] for word in words if word not in KINDS)]
    if not chosen and "record" in words:
        print("1..0 # SKIP each model was searched as it is; to search again: "
              "./dev test models --all")
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
