# SPDX-License-Identifier: BSD-3-Clause
"""Whether src/ring/queue.c is still the code that the model follows."""
import re

from code_of_ring import HEAD, ROOT
from modelled import arguments, compare_orders, compare_shape, functions
from wait_cases import ROWS, SHAPE

SOURCE = ROOT / "src/ring/queue.c"
# Not in the digest: what only passes on arguments, or creates and counts.
NOT_MODELLED = ["queue_rare", "queue_add", "queue_try", "queue_spin",
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
        yield (re.sub(r"^(hone_)?queue_", "", name), operation, *location,
               *orders_of)


def orders(_directory):
    got = [access for name, body in functions(SOURCE, HEAD).items()
           for access in accesses(name, body)]
    want = [tuple(each for each in row[:5] if each != "-") for row in ROWS]
    return compare_orders("src/ring/queue.c", got, want)


def shape(_directory):
    text = "".join(name + body for name, body in functions(SOURCE, HEAD).items()
                   if name not in NOT_MODELLED)
    return compare_shape("src/ring/queue.c", text, SHAPE, "wait.pml",
                         "wait_cases.py")
