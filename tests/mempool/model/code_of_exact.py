# SPDX-License-Identifier: BSD-3-Clause
"""Whether the code of exact pools is still what the model follows."""
import re
from pathlib import Path

from exact_cases import ROWS, SHAPE
from modelled import arguments, compare_orders, compare_shape, functions

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
    return shape_of("src/mempool", MODELLED, SHAPE, "exact.pml",
                    "exact_cases.py")
