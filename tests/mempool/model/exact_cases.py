# SPDX-License-Identifier: BSD-3-Clause
"""What check.py checks of the exact search."""
import re
from pathlib import Path

from modelled import (arguments, compare_orders, compare_shape, functions, orders_of)

# The atomic accesses of exact.c, exact.h, get_put.c and mempool.h: function,
# operation, location, order, that of a failed compare-and-swap, macro of
# exact.pml. "-" is no macro: the model does not need the access, or has it in
# another way.
TABLE = """
wait_for_search load     claimed acquire - WAIT_LOAD_CLAIMED
wait_for_search store    claimed relaxed - -
enter_ordered   exchange calls   seq_cst - -
enter_ordered   load     claimed seq_cst - -
calls_of        load     calls   seq_cst - VISIT_LOAD_CALLS
calls_of        load     given_up relaxed - -
calls_of        store    given_up relaxed - -
changes         load     n_used  relaxed - -
changes         load     refills acquire - VISIT_LOAD_CHANGES
changes         load     flushes acquire - VISIT_LOAD_CHANGES
changes         load     puts    acquire - VISIT_LOAD_CHANGES
loaded_between_calls load len    acquire - VISIT_LOAD_LEN
loaded_between_calls load calls  relaxed - AGAIN_LOAD_CALLS
claim           store    claimed seq_cst - CLAIM_STORE_CLAIMED
take_loaded     store    claimed release - DROP_STORE_CLAIMED
seize           load     n_used  relaxed - -
next_call       load     calls   relaxed - -
enter_quickly   load     hone_mempool_barriers relaxed - -
enter_quickly   store    calls   relaxed - ENTER_STORE_CALLS
enter_quickly   load     claimed acquire - ENTER_LOAD_CLAIMED
enter_quickly   store    calls   release - LEAVE_STORE_CALLS
enter_locked    store    calls   relaxed - ENTER_STORE_CALLS
leave           store    calls   release - LEAVE_STORE_CALLS
leave           load     calls   relaxed - -
take_full       load     partial acquire - PARTIAL_LOAD
take_full       exchange partial acq_rel - PARTIAL_EXCHANGE
complete        load     n_reserved relaxed - -
add             store    counter release - ADD_STORE_CHANGES
add             load     counter relaxed - -
set_len         store    len     release - SET_LEN_STORE
"""

# Digest of the code that exact.pml follows; check.py prints a new one.
SHAPE = "ee93e55038968a36"

# By the name of the assertion in exact.pml.
PROMISES = {"once": 1, "was_written": 2, "was_found": 4, "is_kept": 8}

ROWS = [line.split() for line in TABLE.strip().splitlines()]
ORDERS = orders_of(ROWS)


def loaded(thread):
    return 10 + thread


def in_deque(thread):
    return 20 + thread


PARTIAL = 30


# pylint: disable-next=too-many-arguments
def bounds(searchers, places, searches=1, calls=1, told=0, most=10, **more):
    return {"THREADS": 2, "SEARCHERS": searchers, "SEARCHES": searches,
            "CALLS": calls, "ITEMS": len(places), "LOADS": 1, "TOLD": told,
            "GIVES_UP": 0, "MOST": most,
            **{f"PLACE{i}": place for i, place in enumerate(places, 1)}, **more}


# One thread searches; the other one gets and puts meanwhile.
ONE = bounds(1, [loaded(1), 1])
TWO = bounds(1, [loaded(1), 1], calls=2)
THREE = bounds(1, [loaded(1), 1], calls=3, most=12)
# The cache of the other one loads two objects, and passes one on.
ABOVE = bounds(1, [loaded(1), loaded(1), 1], calls=2, LOADS=2, LONG=1)
# Both search.
BOTH = bounds(2, [in_deque(1), 0], told=1)
REST = bounds(2, [PARTIAL, 0])

# Searched to the end: name, macros.
HOLDS = [
    ("one search, another thread calls twice", TWO),
    ("one search, caches that load more than a full magazine has", ABOVE),
    ("two threads that search", BOTH),
    ("two threads that search for a partial magazine", REST),
]

# Searched only if the word "large" is given.
LARGE = []

# Name, where, changes, the promise that breaks.
PLANTED = [(name, {**where, **change}, promise)
           for name, where, change, promise in [
    ("a claim makes no barrier", TWO, {"NO_BARRIER": 1}, "once"),
    ("an owner does not look whether its cache is claimed", TWO,
     {"CLAIM_IGNORED": 1}, "once"),
    ("a claim does not wait for a call that has begun", TWO,
     {"CLAIM_HURRIED": 1}, "once"),
    ("a search does not look whether anything changed", THREE,
     {"NO_RESCAN": 1}, "was_found"),
    ("a search does not wait for the calls of others", TWO,
     {"NO_WAIT": 1}, "was_found"),
    ("a search trusts the length in the middle of a call", TWO,
     {"LENGTH_IN_CALL": 1}, "was_found"),
    ("a magazine that is passed on has what is above, too", ABOVE,
     {"COUNT_STALE": 1}, "once"),
    ("a search takes no more than a full magazine has", ABOVE,
     {"TAKES_FULL": 1}, "is_kept"),
    ("a call ends by a relaxed store", TWO,
     {"LEAVE_STORE_CALLS": "RELAXED"}, "was_written"),
    ("the number of calls is loaded relaxed", TWO,
     {"VISIT_LOAD_CALLS": "RELAXED"}, "was_written"),
    ("an owner loads the claim relaxed", TWO,
     {"ENTER_LOAD_CLAIMED": "RELAXED"}, "was_written"),
    ("a claim ends by a relaxed store", TWO,
     {"DROP_STORE_CLAIMED": "RELAXED"}, "was_written"),
    ("a length is stored relaxed", TWO, {"SET_LEN_STORE": "RELAXED"}, "was_found"),
    ("a search loads a length relaxed", TWO,
     {"VISIT_LOAD_LEN": "RELAXED"}, "was_found"),
    ("the number of changes is stored relaxed", BOTH,
     {"ADD_STORE_CHANGES": "RELAXED"}, "was_found"),
    ("a search loads the number of changes relaxed", BOTH,
     {"VISIT_LOAD_CHANGES": "RELAXED"}, "was_found"),
    ("a search pops its own magazines", BOTH, {"OWN_POPPED": 1}, "was_found"),
    ("a get keeps what it has while it waits for the mutex", BOTH,
     {"KEPT_IN_HAND": 1}, "was_found"),
    ("the partial magazine is looked at relaxed", REST,
     {"PARTIAL_LOAD": "RELAXED"}, "was_found"),
    ("the partial magazine is taken by acquire", REST,
     {"PARTIAL_EXCHANGE": "ACQUIRE"}, "was_found"),
]]

ROOT = Path(__file__).resolve().parents[3]
# The functions of each file that the model has.
MODELLED = {
    "src/mempool/exact.c": ["wait_for_search", "enter_ordered", "calls_of",
                            "changes", "loaded_between_calls", "claim",
                            "take_loaded", "seize", "take_all"],
    "src/mempool/exact.h": ["next_call", "enter_quickly", "enter",
                            "enter_locked", "leave"],
    "src/mempool/get_put.c": ["take_full", "load", "replace", "refill",
                              "pass_full", "take", "put_all", "complete",
                              "get_exact", "get_quickly", "put_exact",
                              "put_quickly"],
    "src/mempool/mempool.h": ["add", "set_len"],
}
ORDER = re.compile(r"(?:memory_order|__ATOMIC)_(\w+)")
HEAD = r"(?:hone_mempool_)?(\w+)"


def bodies(modelled):
    """[(file, function, body)] of {file: functions}, in that order."""
    for path, names in modelled.items():
        found = functions(ROOT / path, HEAD)
        yield from ((path, name, found.get(name, "")) for name in names)


def accesses(name, body):
    """[(function, operation, location, orders...)] in the order of the text."""
    for match in re.finditer(
            r"atomic_(load|store|exchange|compare_exchange_weak)"
            r"(?:_explicit|_n)\(", body):
        given = arguments(body[match.end():])
        orders_of = [ORDER.fullmatch(each) for each in given]
        yield (name, match[1], re.findall(r"[a-z]\w*", given[0])[-1],
               *(found[1].lower() for found in orders_of if found))


def orders_in(where, modelled, rows):
    got = [access for _, name, body in bodies(modelled)
           for access in accesses(name, body)]
    want = [tuple(each for each in row[:5] if each != "-") for row in rows]
    return compare_orders(where, got, want)


def shape_of(where, modelled, *known):
    text = "".join(path + name + body for path, name, body in bodies(modelled))
    return compare_shape(where, text, *known)


def orders(_directory):
    return orders_in("src/mempool", MODELLED, ROWS)


def shape(_directory):
    return shape_of("src/mempool", MODELLED, SHAPE, "exact.pml", "exact_cases.py")
