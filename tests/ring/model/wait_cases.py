# SPDX-License-Identifier: BSD-3-Clause
"""What check.py checks of a queue, whose threads wait."""
import re

from modelled import (arguments, compare_orders, compare_shape, functions, orders_of)
from ring_cases import HEAD, ROOT

# The atomic accesses of src/ring/queue.c: function, operation, location, order,
# that of a failed compare-and-swap, macro of wait.pml.
TABLE = """
wake       fetch_add    sequence release -       WAKE_ADD
order      fetch_add    order    acq_rel -       ORDER_ADD
light      signal_fence -        seq_cst -       -
wake_one   load         state    relaxed -       LOOK_LOAD
wake_one   swap         state    acq_rel relaxed WOKEN_SWAP
wake_one   store        cpu      relaxed -       -
look       load         state    relaxed -       LOOK_LOAD
settle     swap         closed   acq_rel relaxed SETTLE_SWAP
put_single store        putting  relaxed -       ENTER_STORE
put_single load         closed   relaxed -       ENTER_LOAD
put_single store        putting  release -       EXIT_STORE
put_single load         closed   relaxed -       EXIT_LOAD
is_over    load         closed   acquire -       OVER_LOAD
may_spin   load         cpu      relaxed -       -
give_way   load         brief    relaxed -       -
give_way   load         resume   relaxed -       -
give_way   store        resume   relaxed -       -
give_way   store        resume   relaxed -       -
spin       load         brief    relaxed -       -
note       load         brief    relaxed -       -
note       store        brief    relaxed -       -
leave      load         state    relaxed -       -
leave      swap         state    acq_rel relaxed LEAVE_SWAP
park       load         sequence acquire -       PARK_LOAD
park       fetch_add    state    acq_rel -       PARK_ADD
close      swap         closed   acq_rel relaxed CLOSE_SWAP
close      load         putting  acquire -       CLOSE_LOAD
close      fetch_or     tail     acq_rel -       CLOSE_OR
"""

# Digest of the code that wait.pml follows; check.py prints a new one.
SHAPE = "045b9beda833cffd"

# By the name of the assertion in wait.pml.
PROMISES = {"is_woken": 1, "is_drained": 2}

ROWS = [line.split() for line in TABLE.strip().splitlines()]
ORDERS = orders_of(ROWS)


def bounds(putters, getters, adds, takes, hurried=0, closer=0, **more):
    return {"PUTTERS": putters, "GETTERS": getters, "ADDS": adds,
            "TAKES": takes, "HURRIED": hurried, "CLOSER": closer,
            "PARKS": 4 // getters, **more}


BARRIERS = {"BARRIERS": 1}
SINGLE = {"SINGLE": 1}
LONG = {"LONG": 1}
LONE = bounds(1, 1, 1, 1, **SINGLE)
PAIR = bounds(1, 2, 2, 1, **SINGLE)
HURRY = bounds(1, 2, 1, 1, hurried=1, **SINGLE)
CLOSED = bounds(1, 1, 1, 1, closer=1, **SINGLE)
CLOSED_PUTS = bounds(2, 1, 1, 1, closer=1)

# Searched to the end: name, macros. LONG is worth optimising.
HOLDS = [
    ("one waits for one", {**LONE, **BARRIERS}),
    ("one waits for one, no barriers", LONE),
    ("two wait for two", {**PAIR, **BARRIERS}),
    ("one of two hurries", {**HURRY, **BARRIERS}),
    ("one of two hurries, no barriers", HURRY),
    ("closed", {**CLOSED, **BARRIERS})]

# Searched only if the word "large" is given.
LARGE = []

# Name, where, changes, the promise that breaks.
PLANTED = [(name, {**where, **change}, promise)
           for name, where, change, promise in [
    ("nobody looks again before a sleep", {**LONE, **BARRIERS},
     {"NO_SECOND_LOOK": 1}, "is_woken"),
    ("no barrier before a sleep", {**LONE, **BARRIERS}, {"NO_BARRIER": 1}, "is_woken"),
    ("no order in place of barriers", LONE, {"ORDER_ADD": "RELAXED"}, "is_woken"),
    ("the sequence number is read after the look", {**LONE, **BARRIERS},
     {"SEQUENCE_LATE": 1}, "is_woken"),
    ("a wake does not change the sequence number", {**LONE, **BARRIERS},
     {"NO_SEQUENCE": 1}, "is_woken"),
    ("a woken thread does not look for others", {**PAIR, **BARRIERS},
     {"NO_PASS": 1}, "is_woken"),
    ("a thread that leaves stays woken", {**PAIR, **BARRIERS},
     {"KEEPS_WOKEN": 1}, "is_woken"),
    ("closing does not look whether a put is inside", {**CLOSED, **BARRIERS},
     {"NOT_INSIDE": 1}, "is_drained"),
    ("closing makes no barrier", {**CLOSED, **BARRIERS}, {"NO_BARRIER": 1},
     "is_drained"),
    ("a put that was inside does not finish closing", {**CLOSED, **BARRIERS},
     {"NO_SETTLE": 1}, "is_woken"),
    ("closing leaves places to producers", {**CLOSED_PUTS, **BARRIERS},
     {"PLACES_LEFT": 1}, "is_drained"),
    ("a put leaves relaxed", {**CLOSED, **BARRIERS},
     {"EXIT_STORE": "RELAXED"}, "is_drained"),
    ("a get sees the end relaxed", {**CLOSED, **BARRIERS},
     {"OVER_LOAD": "RELAXED"}, "is_drained"),
]]

SOURCE = ROOT / "src/ring/queue.c"
# Not in the digest: what only passes on arguments, decides how long a thread looks
# before it sleeps, creates or counts.
NOT_MODELLED = ["queue_rare", "queue_add", "queue_try", "queue_now",
                "queue_may_spin", "queue_looks", "queue_spin", "queue_note",
                "queue_give_way",
                "hone_queue_put", "hone_queue_put_burst", "hone_queue_get",
                "hone_queue_get_burst", "hone_queue_count",
                "hone_queue_deadline", "hone_queue_create",
                "hone_queue_destroy"]


def accesses(name, body):
    """[(function, operation, location, orders...)] in the order of the text."""
    for match in re.finditer(r"__atomic_(\w+?)(?:_n)?\(", body):
        given = arguments(body[match.end():])
        operation = {"compare_exchange": "swap"}.get(match[1], match[1])
        orders_of = [each[len("__ATOMIC_"):].lower() for each in given
                     if each.startswith("__ATOMIC_")]
        location = re.findall(r"\b[a-z]\w*", given[0])[-1:]
        yield (re.sub(r"^(hone_)?queue_", "", name), operation, *location, *orders_of)


def orders(_directory):
    got = [access for name, body in functions(SOURCE, HEAD).items()
           for access in accesses(name, body)]
    want = [tuple(each for each in row[:5] if each != "-") for row in ROWS]
    return compare_orders("src/ring/queue.c", got, want)


def shape(_directory):
    text = "".join(name + body for name, body in functions(SOURCE, HEAD).items()
                   if name not in NOT_MODELLED)
    return compare_shape("src/ring/queue.c", text, SHAPE, "wait.pml", "wait_cases.py")
