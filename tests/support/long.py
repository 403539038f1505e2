#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The record of ./dev long: when all its stages last passed, and with what.

long.py: print the date, and which folders have changed since.
long.py record: write long.toml. ./dev long does so if nothing failed.
"""
import datetime
import hashlib
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).with_name("long.toml")
# What the stages compile and run.
FOLDERS = "include", "src", "image", "php", "tests"
HEAD = """\
# SPDX-License-Identifier: BSD-3-Clause
# Written by ./dev long: when all its stages last passed, and digests of the folders
# that they tested.
"""


def digest(folder):
    """Of the names and bytes of the files in a folder, but for records."""
    hashed = hashlib.sha256()
    for path in sorted((ROOT / folder).rglob("*")):
        if path.is_file() and path.suffix not in (".pyc", ".md") and \
                path not in (RECORD, RECORD.with_name("model") / "searched.toml"):
            hashed.update(f"{path.relative_to(ROOT)}\n".encode())
            hashed.update(hashlib.sha256(path.read_bytes()).digest())
    return hashed.hexdigest()[:16]


def record():
    today = datetime.datetime.now(datetime.timezone.utc).date()
    lines = [f"date = {today}", *(f'{folder} = "{digest(folder)}"'
                                  for folder in FOLDERS)]
    RECORD.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def report():
    """One line."""
    if not RECORD.exists():
        return "./dev long never passed"
    last = tomllib.loads(RECORD.read_text(encoding="utf-8"))
    changed = [folder for folder in FOLDERS if last.get(folder) != digest(folder)]
    since = f"since then these folders have changed: {' '.join(changed)}"
    return (f"./dev long last passed on {last['date']}; "
            f"{since if changed else 'nothing has changed since'}")


if __name__ == "__main__":
    if sys.argv[1:] == ["record"]:
        record()
    print(report())
