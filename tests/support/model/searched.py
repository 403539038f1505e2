# SPDX-License-Identifier: BSD-3-Clause
"""The record of the searches: when each last had the expected result.

searched.toml has one line for each search, written by ./dev test models. A line has
a digest of everything that decides what the search finds: the model, the files
that it includes, and its macros; and of the expected result. If the digest is
that of now, a search would find what it found before.
"""
import datetime
import hashlib
import re
import threading
import tomllib
from pathlib import Path

RECORD = Path(__file__).with_name("searched.toml")
HEAD = """\
# SPDX-License-Identifier: BSD-3-Clause
# Written by ./dev test models: the last run of each search, its states, and a digest
# of the model, its bounds and the expected result.
"""
# Searches end in several threads.
WRITING = threading.Lock()


def text_of(path):
    """A model and what it includes, without comments and white space."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
    parts = re.split(r'^#include "(.*)"$', text, flags=re.M)
    return "".join(text_of(path.parent / part) if number % 2
                   else re.sub(r"\s+", " ", part)
                   for number, part in enumerate(parts))


def digest(model, macros, expected=""):
    """`model` is a path, `macros` what spin gets by -D, `expected` the promise
    that breaks, if one does."""
    text = text_of(model) + "".join(f"\n{name}={macros[name]}"
                                    for name in sorted(macros)) + expected
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read(path=RECORD):
    if not path.exists():
        return {}
    return tomllib.loads(path.read_text(encoding="utf-8"))


def write(name, inputs, states, path=RECORD):
    """Record a search that ended today."""
    today = datetime.datetime.now(datetime.timezone.utc).date()
    with WRITING:
        lines = read(path)
        lines[name] = {"date": today, "states": states, "digest": inputs}
        save(lines, path)


def save(lines, path=RECORD):
    path.write_text(HEAD + "".join(
        f'"{name}" = {{ date = {line["date"]}, states = {line["states"]}, '
        f'digest = "{line["digest"]}" }}\n'
        for name, line in sorted(lines.items())), encoding="utf-8")


def forget_others(wanted, path=RECORD):
    """Leave only the lines of the searches in `wanted`, {name: digest}."""
    lines = read(path)
    if set(lines) - set(wanted):
        save({name: lines[name] for name in lines if name in wanted}, path)


def changed(wanted, path=RECORD):
    """The names of `wanted` whose search differs from the one recorded."""
    lines = read(path)
    return sorted(name for name in wanted
                  if lines.get(name, {}).get("digest") != wanted[name])


def problem(wanted, path=RECORD):
    """Why the record is not that of `wanted`, or None."""
    differ = changed(wanted, path)
    if differ:
        return ("The model or the bounds differ from those last searched; run "
                f"./dev test models and commit {path.name}: " + "; ".join(differ))
    gone = sorted(set(read(path)) - set(wanted))
    if gone:
        return (f"{path.name} has searches that no model has; run ./dev test models "
                "and commit it: " + "; ".join(gone))
    return None
