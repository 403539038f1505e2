# SPDX-License-Identifier: BSD-3-Clause
"""A cgroup with a limit of memory, page cache included."""
import contextlib
import itertools
import os
import pathlib
import re

import pytest

ROOT = pathlib.Path("/sys/fs/cgroup")
# The same files in version 1 and in version 2.
NAMES = {1: ("memory.limit_in_bytes", "memory.oom_control"),
         2: ("memory.max", "memory.events")}
NUMBERS = itertools.count()


class Group:
    """A cgroup directly below the root of the mount."""

    def __init__(self):
        self.version = 1 if (ROOT / "memory").is_dir() else 2
        top = ROOT / "memory" if self.version == 1 else ROOT
        self.path = top / f"hone-test-{os.getpid()}-{next(NUMBERS)}"
        self.limit, self.events = NAMES[self.version]

    def make(self, limit):
        """Make it, or raise OSError."""
        self.path.mkdir()
        try:
            self.write(self.limit, limit)
            for name, value in (("memory.swap.max", 0), ("memory.swappiness", 0)):
                if (self.path / name).exists():
                    self.write(name, value)
        except OSError:
            self.path.rmdir()
            raise

    def write(self, name, value):
        """Set one of its files, which exists."""
        with open(self.path / name, "r+", encoding="ascii") as file:
            file.write(str(value))

    def kills(self):
        """How many of its processes the kernel has killed for memory."""
        text = (self.path / self.events).read_text(encoding="ascii")
        return int(re.search(r"^oom_kill (\d+)$", text, re.MULTILINE)[1])

    def words(self):
        """The words before a command that runs in it."""
        return ["sh", "-c", 'echo $$ >"$0" && exec "$@"',
                str(self.path / "cgroup.procs")]


@contextlib.contextmanager
def limited(limit):
    """A cgroup in which the kernel kills what needs more bytes."""
    group = Group()
    try:
        group.make(limit)
    except OSError as reason:
        pytest.skip(f"no cgroup with a limit of memory can be made here: {reason}")
    try:
        yield group
    finally:
        group.path.rmdir()
