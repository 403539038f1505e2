# SPDX-License-Identifier: BSD-3-Clause
"""Rows of tests/mutants.toml, and how a row changes its file.

A table of this file is named after a folder of tests. A key of the table is the
path of a source. Its array has a row a line:

    [ring]
    "src/ring/few.h" = [
      {name = "...", old = 'n > 0', new = 'n > 1', tests = ["unit"]},
    ]

`name` says what the program does then. `old` is a piece of the source, and
`new` replaces it. White space does not count in `old`: a line may be wrapped
or indented in another way. The source has the piece once; if it has the piece
more often, `in` names the function that has it once. `old` and `new` may be
arrays of the same length, if a bug takes changes in several places.
"""
import functools
import re
import tomllib

REQUIRED = {"name", "old", "new", "tests"}
OPTIONAL = {"in", "why", "model"}


class Wrong(Exception):
    """A row that is not valid, or cannot be planted."""


def read(path, root):
    """The rows of a file, each with `part`, its table, `file`, the source, and
    `place`, the file of the row and the line."""
    text = path.read_text()
    shown = path.relative_to(root)
    try:
        parts = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Wrong(f"{shown}: {error}") from None
    lines = [number for number, line in enumerate(text.splitlines(), 1)
             if line.lstrip().startswith("{")]
    rows = [dict(row, part=part, file=file) for part, files in parts.items()
            for file, table in files.items() for row in table]
    if len(lines) != len(rows):
        raise Wrong(f"{shown}: {len(rows)} rows on {len(lines)} lines: "
                    "a row is a line")
    for row, line in zip(rows, lines):
        row["place"] = f"{shown}:{line}"
        keys = row.keys() - {"part", "file", "place"}
        if not REQUIRED <= keys or not keys <= REQUIRED | OPTIONAL:
            raise Wrong(f"{row['place']}: a row has name, old, new and tests; "
                        f"in, why or model; and no other key")
    return rows


def function(text, name):
    """(start, end) of a function of C in the form of clang-format."""
    found = [match.span() for match in re.finditer(
        rf"^{re.escape(name)}\([^;{{]*\n\{{\n.*?^\}}", text, re.M | re.S)]
    if len(found) != 1:
        raise Wrong(f"function {name} is {len(found)} times")
    return found[0]


@functools.lru_cache(maxsize=16)
def without_space(text):
    """The text without white space, and where each character was."""
    at = [i for i, char in enumerate(text) if not char.isspace()]
    return "".join(text[i] for i in at), at


def spots(text, piece):
    """[(start, end)] of each place that has a piece, white space aside."""
    dense, at = without_space(text)
    piece = "".join(piece.split())
    return [(at[match.start()], at[match.start() + len(piece) - 1] + 1)
            for match in re.finditer(f"(?={re.escape(piece)})", dense)
            if piece]


def replace(text, row):
    """The text of row["file"] with the bug. Raises Wrong."""
    old, new = row["old"], row["new"]
    if isinstance(old, str):
        old, new = [old], [new]
    first, last = function(text, row["in"]) if "in" in row else (0, len(text))
    where = []
    for piece in old:
        found = spots(text[first:last], piece)
        if len(found) != 1:
            raise Wrong(f"'{piece}' is {len(found)} times")
        where += found
    changed = text
    for (start, end), put in sorted(zip(where, new, strict=True), reverse=True):
        changed = changed[:first + start] + put + changed[first + end:]
    if "".join(changed.split()) == "".join(text.split()):
        raise Wrong("it changes nothing")
    return changed


def plant(root, row):
    """(path, its text, its text with the bug) of a row's file below root."""
    path = root / row["file"]
    try:
        before = path.read_text()
        return path, before, replace(before, row)
    except (OSError, ValueError, Wrong) as error:
        raise Wrong(f"{row['place']}: {row['file']}: {error}") from None
