# SPDX-License-Identifier: BSD-3-Clause
"""Whether php/cache/store is still the code that the model follows."""
import re
from pathlib import Path

from cache_cases import ROWS, SHAPE
from modelled import compare_orders, compare_shape, functions

STORE = Path(__file__).resolve().parents[3] / "php/cache/store"
# Files, and the functions of each that the model follows; None: all.
MODELLED = {
    "epoch.c": None,
    "reclaim.c": ["php_hone_retire", "php_hone_reclaim"],
    "index.h": ["php_hone_follow", "php_hone_link"],
    "index.c": ["php_hone_lookup"],
    "publish.c": ["reserve", "free_reserved", "php_hone_store_publish",
                  "php_hone_publish_locked", "php_hone_remove_locked"],
    "process.c": ["clean", "free_reserved", "php_hone_slots_reap", "mark",
                  "somebody_fills", "forget_finished", "decide",
                  "php_hone_recover"],
}
ORDERED = ["epoch.c", "index.h"]
HEAD = r"(\w+)"
ACCESS = re.compile(r"__atomic_(\w+?)(?:_n)?\(([^;]*?)__ATOMIC_(\w+?)"
                    r"(?:,__ATOMIC_(\w+?))?\)")
WORD = re.compile(r"(?:->|^\(*&?)(\w+)(?:\[i\])?,")


def accesses(name, body):
    """[(function, operation, location, orders...)] in the order of the text."""
    found = []
    for operation, given, order, failed in ACCESS.findall(body):
        operation = {"compare_exchange": "swap",
                     "thread_fence": "fence"}.get(operation, operation)
        word = WORD.search(given if "," in given else given + ",")
        found.append((name.replace("php_hone_", ""), operation,
                      word[1] if word else "-",
                      *(each.lower() for each in (order, failed) if each)))
    return found


def bodies(file):
    chosen = MODELLED[file]
    return {name: body
            for name, body in functions(STORE / file, HEAD).items()
            if chosen is None or name in chosen}


def orders(_directory):
    got = [access for file in ORDERED
           for name, body in bodies(file).items()
           for access in accesses(name, body)]
    want = [tuple(each for i, each in enumerate(row[:5])
                  if each != "-" or i == 2) for row in ROWS]
    return compare_orders("php/cache/store", got, want)


def shape(_directory):
    text = "".join(file + name + body for file in MODELLED
                   for name, body in bodies(file).items())
    return compare_shape("php/cache/store", text, SHAPE, "cache.pml",
                         "cache_cases.py")
