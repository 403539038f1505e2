# SPDX-License-Identifier: BSD-3-Clause
"""Whether src/mempool/deque.h is still the code that the model follows."""
import re
from pathlib import Path

from deque_cases import ORDERS, SHAPE
from modelled import compare_orders, compare_shape, functions

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
    want = [tuple(line[:5 if line[1].startswith("compare") else 4])
            for line in ORDERS]
    return compare_orders("deque.h", got, want)


def shape(_directory):
    bodies = functions(HEADER, HEAD)
    text = "".join(name + bodies.get(name, "") for name in MODELLED)
    return compare_shape("deque.h", text, SHAPE, "deque.pml", "deque_cases.py")
