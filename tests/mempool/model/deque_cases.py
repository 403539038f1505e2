# SPDX-License-Identifier: BSD-3-Clause
"""What check.py checks of the deque."""
import re
from pathlib import Path

from modelled import compare_orders, compare_shape, functions

# The atomic accesses of src/mempool/deque.h: function, operation, location,
# order, that of a failed compare-and-swap, macro of deque.pml. hone_deque_count
# promises nothing and is not in the model.
ORDERS = [line.split() for line in """
push   load   bottom  relaxed  -  PUSH_LOAD_BOTTOM
push   load   top     acquire  -  PUSH_LOAD_TOP
push   store  slots   relaxed  -  PUSH_STORE_SLOT
push   store  bottom  release  -  PUSH_STORE_BOTTOM
pop    load   bottom  relaxed  -  POP_LOAD_BOTTOM
pop    load   top     relaxed  -  POP_LOAD_TOP_EARLY
pop    store  bottom  seq_cst  -  POP_STORE_BOTTOM
pop    load   top     seq_cst  -  POP_LOAD_TOP
pop    load   slots   relaxed  -  POP_LOAD_SLOT
pop    compare_exchange_strong  top  seq_cst  relaxed  POP_SWAP_TOP
pop    store  bottom  release  -  POP_STORE_BOTTOM_BACK
steal  load   top     seq_cst  -  STEAL_LOAD_TOP
steal  load   bottom  seq_cst  -  STEAL_LOAD_BOTTOM
steal  load   slots   relaxed  -  STEAL_LOAD_SLOT
steal  compare_exchange_strong  top  seq_cst  relaxed  STEAL_SWAP_TOP
count  load   top     relaxed
count  load   bottom  relaxed
""".strip().splitlines()]

# Digest of the code that deque.pml follows; check.py prints a new one.
SHAPE = "59344e7282572726"

# By the name of the assertion in deque.pml.
PROMISES = {"once": 1, "was_pushed": 2, "was_written": 4, "was_empty": 8, "is_kept": 16}


def bounds(slots, items, pushes, calls, steals, told=0, thieves=2):
    return {"SLOTS": slots, "ITEMS": items, "PUSHES": pushes, "CALLS": calls,
            "STEALS": steals, "TOLD": told, "THIEVES": thieves}


# Searched to the end. A ring of three is none that deque.h can have, but the
# smallest that has three items in it and wraps around soon.
HOLDS = [
    ("two thieves, three items at a time, the ring wraps around",
     bounds(slots=3, items=3, pushes=4, calls=6, steals=1)),
    ("two thieves that come twice",
     bounds(slots=2, items=2, pushes=3, calls=4, steals=2)),
    ("two thieves, pushes into a full deque",
     bounds(slots=2, items=3, pushes=4, calls=5, steals=1)),
    ("two thieves that were told what was pushed",
     bounds(slots=2, items=2, pushes=3, calls=4, steals=1, told=1)),
]

# Searched only if the word "large" is given.
LARGE = [
    ("two thieves, three items at a time, seven calls",
     bounds(slots=3, items=3, pushes=4, calls=7, steals=1)),
    ("two thieves that come twice, five calls",
     bounds(slots=2, items=2, pushes=3, calls=5, steals=2)),
    ("three thieves", bounds(slots=2, items=2, pushes=3, calls=4, steals=1, thieves=3)),
    ("two thieves, a ring of two, five pushes",
     bounds(slots=2, items=2, pushes=5, calls=8, steals=1)),
    ("two thieves that come twice and were told",
     bounds(slots=2, items=2, pushes=3, calls=4, steals=2, told=1)),
]

SMALL = bounds(slots=2, items=2, pushes=3, calls=5, steals=1)

# Name, changes, the promise that breaks.
PLANTED = [(name, {**SMALL, **change}, promise) for name, change, promise in [
    ("steal loads top by acquire", {"STEAL_LOAD_TOP": "ACQUIRE"}, "once"),
    ("steal loads bottom by acquire", {"STEAL_LOAD_BOTTOM": "ACQUIRE"}, "once"),
    ("steal loads bottom relaxed", {"STEAL_LOAD_BOTTOM": "RELAXED"}, "was_pushed"),
    ("steal loads bottom relaxed", {"STEAL_LOAD_BOTTOM": "RELAXED"}, "was_written"),
    ("steal swaps top by acq_rel", {"STEAL_SWAP_TOP": "ACQ_REL"}, "once"),
    ("pop stores bottom by release", {"POP_STORE_BOTTOM": "RELEASE"}, "once"),
    ("pop loads top by acquire", {"POP_LOAD_TOP": "ACQUIRE"}, "once"),
    ("pop swaps top relaxed", {"POP_SWAP_TOP": "RELAXED"}, "once"),
    ("pop takes the last one by a store", {"LAST_BY_STORE": 1}, "once"),
    ("push stores bottom relaxed", {"PUSH_STORE_BOTTOM": "RELAXED"}, "was_pushed"),
    ("push stores bottom relaxed", {"PUSH_STORE_BOTTOM": "RELAXED"}, "was_written"),
    ("pop leaves bottom below top", {"BOTTOM_STAYS": 1}, "was_empty"),
    ("pop leaves bottom below top", {"BOTTOM_STAYS": 1}, "is_kept"),
    ("steal gives up when another was faster", {"NO_RETRY": 1, "TOLD": 1}, "was_empty"),
    ("push does not look whether there is room",
     {"NO_LIMIT": 1, "ITEMS": 3}, "is_kept"),
]]

HEADER = Path(__file__).resolve().parents[3] / "src/mempool/deque.h"
# Functions of the model, and functions whose atomics have no order to check.
MODELLED = ["span", "push", "pop", "steal"]
UNORDERED = ["init"]
HEAD = r"hone_deque_(\w+)"
ACCESS = re.compile(r"atomic_(load|store|compare_exchange_strong)_explicit\("
                    r"&d->(\w+)(?:\[[^]]*\])?,[^;]*?memory_order_(\w+)"
                    r"(?:,memory_order_(\w+))?\)")


def accesses(name, body):
    """[(function, operation, location, orders...)] in the order of the text."""
    found = [(name, *filter(None, match)) for match in ACCESS.findall(body)]
    # Every access to a location must be one of these; any other is not atomic.
    mentions = len(re.findall(r"d->(?:top|bottom|slots)\b", body))
    if mentions != len(found):
        found.append((name, f"{mentions - len(found)} accesses without order"))
    return found


def orders(_directory):
    got = [access for name, body in functions(HEADER, HEAD).items()
           if name not in UNORDERED for access in accesses(name, body)]
    want = [tuple(line[:5 if line[1].startswith("compare") else 4]) for line in ORDERS]
    return compare_orders("deque.h", got, want)


def shape(_directory):
    bodies = functions(HEADER, HEAD)
    text = "".join(name + bodies.get(name, "") for name in MODELLED)
    return compare_shape("deque.h", text, SHAPE, "deque.pml", "deque_cases.py")
