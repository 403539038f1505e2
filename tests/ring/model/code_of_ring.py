# SPDX-License-Identifier: BSD-3-Clause
"""Whether src/ring is still the code that the model follows."""
import re
from pathlib import Path

from modelled import arguments, compare_orders, compare_shape, functions
from ring_cases import FEW, INLINE, MULTI, SHAPE, rows

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
