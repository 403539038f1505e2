# SPDX-License-Identifier: BSD-3-Clause
"""What check.py checks of the ring."""
import re
from pathlib import Path

from modelled import arguments, compare_orders, compare_shape, functions

# The atomic accesses of src/ring: function, operation, location, order, that
# of a failed compare-and-swap, macro of ring.pml. The same macro stands for
# accesses that the model has once.
MULTI = """
room_after load    head_seen acquire -       ROOM_LOAD_HEAD_SEEN
room_after load    head      acquire -       ROOM_LOAD_HEAD
room_after store   head_seen release -       ROOM_STORE_HEAD_SEEN
write_slots   store   slots     relaxed -       ADD_STORE_SLOT
add_single  load    tail      relaxed -       SINGLE_LOAD_TAIL
add_single  store   tail      release -       ADD_STORE_TAIL
take_places load    tail      acquire -       ADD_LOAD_TAIL
take_places swap    tail      acq_rel acquire ADD_SWAP_TAIL
fill_places load    filled    acquire -       ADD_LOAD_FILLED
fill_places store   filled    release -       ADD_STORE_FILLED
publish_late store  marks     release -       LATE_STORE_MARK
after_marks load    marks     acquire -       FOLLOW_LOAD_MARK
follow_marks load   filled    acquire -       FOLLOW_LOAD_FILLED
follow_marks swap   filled    acq_rel acquire FOLLOW_SWAP_FILLED
leave       store   head      release -       LEAVE_STORE_HEAD
leave       swap    head      acq_rel acquire LEAVE_SWAP_HEAD
filled_until load    tail      acquire -       TAKE_LOAD_TAIL
filled_until load    filled    acquire -       TAKE_LOAD_FILLED
filled_until load    tail      relaxed -       UNTIL_LOAD_TAIL
available_from  load    tail_seen acquire -       TAKE_LOAD_TAIL_SEEN
available_from  store   tail_seen release -       TAKE_STORE_TAIL_SEEN
read_slots    load    slots     relaxed -       TAKE_LOAD_SLOT
why_not     load    tail      acquire -       WHY_LOAD_TAIL
why_not     load    head      acquire -       WHY_LOAD_HEAD
take_slow   load    head      acquire -       TAKE_LOAD_HEAD
take        load    head      acquire -       TAKE_LOAD_HEAD
take        load    tail_seen acquire -       TAKE_LOAD_TAIL_SEEN
take        load    tail      acquire -       TAKE_LOAD_TAIL
take        load    filled    acquire -       TAKE_LOAD_FILLED
take        store   tail_seen release -       TAKE_STORE_TAIL_SEEN
count       load    head      acquire -       COUNT_LOAD_HEAD
count       load    tail      acquire -       COUNT_LOAD_TAIL
count       load    head      acquire -       COUNT_LOAD_AGAIN
"""

# The same of src/ring/few.h, for one producer and one consumer. If a function
# there gives up, MULTI follows.
FEW = """
add_few     load    tail      relaxed -       ADD_LOAD_TAIL
add_few     load    head_seen relaxed -       ROOM_LOAD_HEAD_SEEN
add_few     store   tail      release -       ADD_STORE_TAIL
take_few    load    head      relaxed -       TAKE_LOAD_HEAD
take_few    load    tail_seen relaxed -       TAKE_LOAD_TAIL_SEEN
take_few    load    tail      acquire -       TAKE_LOAD_TAIL
take_few    store   tail_seen relaxed -       TAKE_STORE_TAIL_SEEN
take_few    store   head      release -       LEAVE_STORE_HEAD
"""

# The same of include/hone/detail/ring.h, for one producer and one consumer.
INLINE = """
enqueue     load    tail      relaxed -       ADD_LOAD_TAIL
enqueue     load    head_seen relaxed -       ROOM_LOAD_HEAD_SEEN
enqueue     load    head      acquire -       ROOM_LOAD_HEAD
enqueue     store   head_seen relaxed -       ROOM_STORE_HEAD_SEEN
enqueue     store   slots     relaxed -       ADD_STORE_SLOT
enqueue     store   tail      release -       ADD_STORE_TAIL
dequeue     load    head      relaxed -       TAKE_LOAD_HEAD
dequeue     load    tail_seen relaxed -       TAKE_LOAD_TAIL_SEEN
dequeue     load    tail      acquire -       TAKE_LOAD_TAIL
dequeue     store   tail_seen relaxed -       TAKE_STORE_TAIL_SEEN
dequeue     store   head      release -       LEAVE_STORE_HEAD
"""

# Digest of the code that ring.pml follows; check.py prints a new one.
SHAPE = "2d558025e70bc5e1"

# By the name of the assertion in ring.pml.
PROMISES = {"once": 1, "was_filled": 2, "was_written": 4, "was_read": 8,
            "was_full": 16, "was_empty": 32, "was_busy": 64,
            "count_fits": 128, "is_kept": 256, "is_in_order": 512}


def rows(table):
    return [line.split() for line in table.strip().splitlines()]


def macros(table):
    """{macro of ring.pml: order}, also of failed exchanges."""
    found = {}
    for _, _, _, order, failed, macro in rows(table):
        for name, value in ((macro, order), (macro.replace("SWAP", "FAIL"), failed)):
            if value != "-" and found.setdefault(name, value) != value:
                raise ValueError(f"two orders for {name}")
    return {name: order.upper() for name, order in found.items()}


ORDERS = macros(MULTI)
SINGLE = {"SINGLE_PRODUCER": 1, "ADD_LOAD_TAIL": ORDERS["SINGLE_LOAD_TAIL"]}
SPSC = {**SINGLE, "SINGLE_CONSUMER": 1}


def bounds(producers, consumers, slots, group=1, adds=1, takes=1, told=0,
           counts=0, capacity=None):
    return {"PRODUCERS": producers, "CONSUMERS": consumers, "SLOTS": slots,
            "CAPACITY": capacity or slots, "GROUP": group, "ADDS": adds,
            "TAKES": takes, "TOLD": told, "COUNTS": counts}


# Searched to the end: name, macros. LONG is worth optimising.
LONG = {"LONG": 1}
HOLDS = [
    ("two of each end, a ring of one", {**bounds(2, 2, 1, told=1), **LONG}),
    ("somebody counts", bounds(2, 1, 1, counts=1)),
    ("groups of two", bounds(2, 1, 2, group=2, told=1)),
    ("two calls each, the ring comes round",
     {**bounds(2, 1, 2, adds=2, takes=2), **LONG}),
    ("one producer", {**bounds(1, 2, 2, group=2, adds=2), **SINGLE}),
    ("one consumer", {**bounds(2, 1, 1, adds=2, takes=2), "SINGLE_CONSUMER": 1}),
    ("one of each", {**bounds(1, 1, 2, group=2, adds=3, takes=3), **SPSC}),
    ("few of one of each", {**bounds(1, 1, 2, group=2, adds=3, takes=3),
                            **SPSC, **macros(FEW)}),
    ("inline", {**bounds(1, 1, 2, adds=4, takes=4), **SPSC, **macros(INLINE)}),
]

# Searched only if the word "large" is given.
LARGE = [
    ("two of each end, a ring of two", {**bounds(2, 2, 2, counts=1), **LONG}),
    ("two of each end, groups of two", {**bounds(2, 2, 2, group=2), **LONG}),
    ("two calls each, a ring of one", {**bounds(2, 2, 1, adds=2), **LONG}),
    ("fewer places than slots",
     {**bounds(2, 1, 2, adds=2, takes=2, capacity=1, counts=1), **LONG}),
]

PAIRS = bounds(2, 2, 1)
TOLD = bounds(2, 2, 1, told=1)
LAPS = bounds(2, 1, 1, adds=2, takes=2)
COUNTED = bounds(2, 1, 1, counts=1)
WIDE = {**bounds(2, 1, 2, group=2, adds=2), **LONG}
LATE = bounds(2, 1, 2, takes=2)
ONE = {**bounds(1, 2, 1, adds=2), **SINGLE}

# Name, where, changes, the promise that breaks.
PLANTED = [(name, {**where, **change}, promise)
           for name, where, change, promise in [
    ("tail is taken relaxed", COUNTED,
     {"ADD_SWAP_TAIL": "RELAXED", "ADD_FAIL_TAIL": "RELAXED"}, "count_fits"),
    ("tail is loaded relaxed by a producer", WIDE,
     {"ADD_LOAD_TAIL": "RELAXED"}, "was_full"),
    ("head is moved without release", LAPS, {"LEAVE_SWAP_HEAD": "ACQUIRE"}, "was_read"),
    ("head is moved without release", COUNTED,
     {"LEAVE_SWAP_HEAD": "ACQUIRE"}, "count_fits"),
    ("head is loaded relaxed by a producer", LAPS,
     {"ROOM_LOAD_HEAD": "RELAXED"}, "was_read"),
    ("head_seen is loaded relaxed", LAPS,
     {"ROOM_LOAD_HEAD_SEEN": "RELAXED"}, "was_read"),
    ("head_seen is stored relaxed", LAPS,
     {"ROOM_STORE_HEAD_SEEN": "RELAXED"}, "was_read"),
    ("head is loaded relaxed by a consumer", PAIRS,
     {"TAKE_LOAD_HEAD": "RELAXED"}, "was_busy"),
    ("filled is stored relaxed", PAIRS, {"ADD_STORE_FILLED": "RELAXED"}, "was_filled"),
    ("filled is loaded relaxed by a producer", LATE,
     {"ADD_LOAD_FILLED": "RELAXED"}, "was_written"),
    ("a mark is stored relaxed", LATE, {"LATE_STORE_MARK": "RELAXED"}, "was_filled"),
    ("a mark is loaded relaxed", LATE, {"FOLLOW_LOAD_MARK": "RELAXED"}, "was_filled"),
    ("filled is loaded relaxed, marks are followed", LATE,
     {"FOLLOW_LOAD_FILLED": "RELAXED", "TAKE_LOAD_FILLED": "RELAXED"},
     "was_written"),
    ("filled is moved without release", LATE,
     {"FOLLOW_SWAP_FILLED": "ACQUIRE"}, "was_written"),
    ("filled is loaded relaxed by a consumer", PAIRS,
     {"TAKE_LOAD_FILLED": "RELAXED"}, "was_filled"),
    ("tail_seen is loaded relaxed", PAIRS,
     {"TAKE_LOAD_TAIL_SEEN": "RELAXED"}, "was_filled"),
    ("tail_seen is stored relaxed", PAIRS,
     {"TAKE_STORE_TAIL_SEEN": "RELAXED"}, "was_filled"),
    ("tail is stored relaxed by the only producer", ONE,
     {"ADD_STORE_TAIL": "RELAXED"}, "was_filled"),
    ("tail is loaded relaxed by a consumer", ONE,
     {"TAKE_LOAD_TAIL": "RELAXED"}, "was_filled"),
    ("head is stored relaxed by the only consumer", LAPS,
     {"SINGLE_CONSUMER": 1, "LEAVE_STORE_HEAD": "RELAXED"}, "was_read"),
    ("head is loaded relaxed to count", COUNTED,
     {"COUNT_LOAD_HEAD": "RELAXED", "COUNT_LOAD_AGAIN": "RELAXED"},
     "count_fits"),
    ("tail is loaded relaxed to count", COUNTED,
     {"COUNT_LOAD_TAIL": "RELAXED"}, "count_fits"),
    ("consumers move head before they read", LAPS, {"HEAD_FIRST": 1}, "was_filled"),
    ("filled is stored out of turn", LATE, {"NO_TURN": 1}, "was_filled"),
    ("filled is stored out of turn", LATE, {"NO_TURN": 1}, "is_in_order"),
    ("consumers do not look for marks", {**LATE, "TOLD": 1},
     {"NO_MARKS": 1}, "was_busy"),
    ("more places than slots", LAPS, {"CAPACITY": 2}, "was_read"),
]]

ROOT = Path(__file__).resolve().parents[3]
FILES = ["src/ring/add.c", "src/ring/publish.c", "src/ring/take.c",
         "src/ring/ring.c", "src/ring/few.h", "include/hone/detail/ring.h"]
# Not in the digest: functions that move elements between slots and arrays, or
# only pass on arguments.
NOT_MODELLED = ["copy_slots", "write_slots", "read_slots", "fill_slots", "fill",
                "get_slots", "get", "is_valid", "slots_for", "hone_ring_size",
                "hone_ring_init", "hone_ring_create", "hone_ring_destroy",
                "hone_ring_free_count", "hone_ring_capacity"]
HEAD = r"(\w+)"
LOCATIONS = r"ring->(tail|head|filled|head_seen|tail_seen)\b"


def location(expression):
    known = re.search(LOCATIONS, expression)
    if known:
        return known[1]
    return "marks" if "ends_of(" in expression else "slots"


def accesses(name, body):
    """[(function, operation, location, orders...)] in the order of the text."""
    name = re.sub(r"^hone_(detail_)?ring_", "", name)
    found = []
    for match in re.finditer(r"__atomic_(\w+?)(?:_n)?\(", body):
        given = arguments(body[match.end():])
        operation = {"compare_exchange": "swap"}.get(match[1], match[1])
        orders = [each[len("__ATOMIC_"):].lower() for each in given
                  if each.startswith("__ATOMIC_")]
        found.append((name, operation, location(given[0]), *orders))
    # Every access to a location must be one of these; any other is not atomic.
    mentions = len(re.findall(LOCATIONS + "|" + r"ends_of\(ring\)\[", body))
    atomic = sum(each[2] != "slots" for each in found)
    if mentions != atomic:
        found.append((name, f"{mentions - atomic} accesses without order"))
    return found


def orders(_directory):
    got = [access for path in FILES
           for name, body in functions(ROOT / path, HEAD).items()
           for access in accesses(name, body)]
    want = [tuple(each for each in row[:5] if each != "-")
            for row in rows(MULTI) + rows(FEW) + rows(INLINE)]
    return compare_orders("src/ring", got, want)


def shape(_directory):
    text = "".join(path + name + body for path in FILES
                   for name, body in functions(ROOT / path, HEAD).items()
                   if name not in NOT_MODELLED)
    return compare_shape("src/ring", text, SHAPE, "ring.pml", "ring_cases.py")
