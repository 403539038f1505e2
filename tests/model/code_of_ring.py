# SPDX-License-Identifier: BSD-3-Clause
"""Whether the ring's code is still what its model was made from."""
import hashlib
import re
from pathlib import Path

from ring_cases import INLINE, MULTI, SHAPE, rows

ROOT = Path(__file__).resolve().parents[2]
FILES = ["src/ring/add.c", "src/ring/publish.c", "src/ring/take.c",
         "src/ring/ring.c", "include/hone/detail/ring.h"]
# Stored to before anybody else may use the ring.
UNSHARED = ["hone_ring_init_at"]
# What moves elements between slots and arrays, and what only passes on
# arguments: no part of the digest.
NOT_MODELLED = ["copy_run", "write_run", "read_run", "fill_run", "fill",
                "get_run", "get", "is_valid", "slots_for", "hone_ring_size",
                "hone_ring_init", "hone_ring_create", "hone_ring_destroy",
                "hone_ring_free_count", "hone_ring_capacity", *UNSHARED]
LOCATIONS = r"ring->(tail|head|filled|head_seen|tail_seen)\b"


def functions(path):
    """{name: body} of a file, without comments and white space."""
    code = re.sub(r"/\*.*?\*/", "", (ROOT / path).read_text(encoding="utf-8"),
                  flags=re.S)
    return {name: re.sub(r"\s+", "", body) for name, body in re.findall(
        r"^(\w+)\(([^;{]*\{.*?)^\}", code, re.M | re.S)}


def arguments(text):
    """What stands between commas in the parentheses that text begins in."""
    depth, start, found = 0, 0, []
    for at, letter in enumerate(text):
        if letter in "([":
            depth += 1
        elif letter in ")]":
            if depth == 0:
                return found + [text[start:at]]
            depth -= 1
        elif letter == "," and depth == 0:
            found.append(text[start:at])
            start = at + 1
    raise ValueError("parentheses do not match")


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
    # Each mention of a location is one of these, or else it is not atomic.
    mentions = len(re.findall(LOCATIONS + "|" + r"ends_of\(ring\)\[", body))
    atomic = sum(each[2] != "slots" for each in found)
    if mentions != atomic:
        found.append((name, f"{mentions - atomic} accesses without order"))
    return found


def orders(_directory):
    got = [access for path in FILES
           for name, body in functions(path).items() if name not in UNSHARED
           for access in accesses(name, body)]
    want = [tuple(each for each in row[:5] if each != "-")
            for row in rows(MULTI) + rows(INLINE)]
    if got == want:
        return None, f"{len(got)} accesses"
    lines = [f"src/ring has {' '.join(each)}" for each in got
             if each not in want]
    lines += [f"the model has {' '.join(each)}" for each in want
              if each not in got]
    return "\n".join(lines or ["they stand in another succession"]), ""


def shape(_directory):
    text = "".join(path + name + body for path in FILES
                   for name, body in functions(path).items()
                   if name not in NOT_MODELLED)
    got = hashlib.sha256(text.encode()).hexdigest()[:16]
    if got == SHAPE:
        return None, ""
    return (f"src/ring has changed: see that ring.pml does the same, then "
            f"write SHAPE = \"{got}\" into ring_cases.py"), ""
