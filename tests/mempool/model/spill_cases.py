# SPDX-License-Identifier: BSD-3-Clause
"""What check.py checks of the stacks of magazines that spill."""
from exact_cases import orders_in, shape_of
from modelled import orders_of

# The atomic accesses of mempool.h and spill.c: function, operation, location,
# order, that of a failed compare-and-swap, macro of spill.pml.
TABLE = """
take_spilled load  stack   acquire -       TAKE_LOAD
below        load  hidden  relaxed -       BELOW_LOAD
put_on       store hidden  relaxed -       PUT_ON_STORE
spill        load  stack   relaxed -       SPILL_LOAD
spill        compare_exchange_weak stack release relaxed SPILL_SWAP
pop_spilled  compare_exchange_weak stack acq_rel acquire POP_SWAP
"""

# Digest of the code that spill.pml follows; check.py prints a new one.
SHAPE = "73d973b389a090dd"

# By the name of the assertion in spill.pml.
PROMISES = {"once": 1, "was_written": 2, "was_emptied": 4, "is_kept": 8}

ROWS = [line.split() for line in TABLE.strip().splitlines()]
ORDERS = orders_of(ROWS) | {row[5].replace("SWAP", "FAIL"): row[4].upper()
                            for row in ROWS if row[4] != "-"}


def bounds(threads, items, calls, **more):
    return {"THREADS": threads, "ITEMS": items, "CALLS": calls, **more}


PAIR = bounds(2, 2, 3)

# Searched to the end: name, macros. LONG is worth optimising.
HOLDS = [
    ("two threads, three magazines, four calls each", bounds(2, 3, 4, LONG=1)),
    ("three threads, three magazines, two calls each", bounds(3, 3, 2, LONG=1)),
]

# Searched only if the word "large" is given.
LARGE = []

# Name, changes, the promise that breaks.
PLANTED = [(name, {**PAIR, **change}, promise) for name, change, promise in [
    ("a change leaves the tag as it is", {"NO_TAG": 1}, "once"),
    ("a change leaves the tag as it is", {"NO_TAG": 1}, "is_kept"),
    ("a push swaps relaxed", {"SPILL_SWAP": "RELAXED"}, "was_written"),
    ("a pop loads the word relaxed", {"TAKE_LOAD": "RELAXED"}, "is_kept"),
    ("a pop loads the word relaxed", {"TAKE_LOAD": "RELAXED"}, "was_emptied"),
    ("a pop that fails to swap loads relaxed", {"POP_FAIL": "RELAXED"}, "is_kept"),
    ("a pop swaps by acquire", {"POP_SWAP": "ACQUIRE"}, "was_emptied"),
]]

# The functions of each file that the model has.
MODELLED = {
    "src/mempool/mempool.h": ["take_spilled"],
    "src/mempool/spill.c": ["top_of", "changed", "magazine", "below", "put_on",
                            "spill", "pop_spilled"],
}


def orders(_directory):
    return orders_in("spill.c", MODELLED, ROWS)


def shape(_directory):
    return shape_of("spill.c", MODELLED, SHAPE, "spill.pml", "spill_cases.py")
