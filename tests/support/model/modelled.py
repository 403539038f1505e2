# SPDX-License-Identifier: BSD-3-Clause
"""Code that a model follows: its functions, and whether the code changed."""
import hashlib
import re


def functions(path, head):
    """{name: body} of a file, without comments and white space. Where a
    function begins is told by `head`, of which the first group is its name."""
    code = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
    return {name: re.sub(r"\s+", "", body) for name, body in re.findall(
        rf"^{head}\(([^;{{]*\{{.*?)^\}}", code, re.M | re.S)}


def arguments(text):
    """The arguments of the call whose opening parenthesis precedes text."""
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


def orders_of(rows):
    """{macro of the model: order} of the rows of a table of accesses."""
    found = {}
    for row in rows:
        if row[5] != "-" and found.setdefault(row[5], row[3]) != row[3]:
            raise ValueError(f"two orders for {row[5]}")
    return {name: order.upper() for name, order in found.items()}


def compare_orders(where, got, want):
    """The result of a test that accesses have the orders of the model."""
    if got == want:
        return None, f"{len(got)} accesses"
    lines = [f"{where} has {' '.join(each)}" for each in got if each not in want]
    lines += [f"the model has {' '.join(each)}" for each in want if each not in got]
    return "\n".join(lines or ["they stand in another succession"]), ""


def compare_shape(where, text, shape, model, cases):
    """The result of a test that the text has that digest."""
    got = hashlib.sha256(text.encode()).hexdigest()[:16]
    if got == shape:
        return None, ""
    return (f"{where} has changed: see that {model} does the same, then "
            f"write SHAPE = \"{got}\" into {cases}"), ""
