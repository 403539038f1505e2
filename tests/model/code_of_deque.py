# SPDX-License-Identifier: BSD-3-Clause
"""Whether src/mempool/deque.h is still what the model was made from."""
import hashlib
import re
from pathlib import Path

from cases import ORDERS, SHAPE

HEADER = Path(__file__).resolve().parents[2] / "src/mempool/deque.h"
# Functions that the model has, and those whose atomics have no order to check.
MODELLED = ["span", "push", "pop", "steal"]
UNORDERED = ["init"]
ACCESS = re.compile(r"atomic_(load|store|compare_exchange_strong)_explicit\("
                    r"&d->(\w+)(?:\[[^]]*\])?,[^;]*?memory_order_(\w+)"
                    r"(?:,memory_order_(\w+))?\)")


def functions():
    """{name: body} of deque.h, without comments and white space."""
    code = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"),
                  flags=re.S)
    return {name: re.sub(r"\s+", "", body) for name, body in re.findall(
        r"^hone_deque_(\w+)\(([^{]*\{.*?)^\}", code, re.M | re.S)}


def accesses(name, body):
    """[(function, operation, location, orders...)] in the order of the text."""
    found = [(name, *filter(None, match)) for match in ACCESS.findall(body)]
    # Each mention of a location is one of these, or else it is not atomic.
    mentions = len(re.findall(r"d->(?:top|bottom|slots)\b", body))
    if mentions != len(found):
        found.append((name, f"{mentions - len(found)} accesses without order"))
    return found


def orders(_directory):
    got = [access for name, body in functions().items()
           if name not in UNORDERED for access in accesses(name, body)]
    want = [tuple(line[:5 if line[1].startswith("compare") else 4])
            for line in ORDERS]
    if got == want:
        return None, f"{len(got)} accesses"
    lines = [f"deque.h has {' '.join(each)}" for each in got
             if each not in want]
    lines += [f"the model has {' '.join(each)}" for each in want
              if each not in got]
    return "\n".join(lines or ["they stand in another succession"]), ""


def shape(_directory):
    bodies = functions()
    text = "".join(name + bodies.get(name, "") for name in MODELLED)
    got = hashlib.sha256(text.encode()).hexdigest()[:16]
    if got == SHAPE:
        return None, ""
    return (f"deque.h has changed: see that deque.pml does the same, then "
            f"write SHAPE = \"{got}\" into cases.py"), ""
