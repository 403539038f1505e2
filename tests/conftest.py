# SPDX-License-Identifier: BSD-3-Clause
"""Shared by all Python tests: one seed, printed and accepted in HONE_SEED."""
import itertools
import os
import random
import sys

import hypothesis
import pytest

sys.dont_write_bytecode = True

if "HONE_SEED" not in os.environ:
    os.environ["HONE_SEED"] = str(random.SystemRandom().randrange(1 << 32))
SEED = int(os.environ["HONE_SEED"], 0)

# No deadline: a shared machine may stop for a while. No data base of found
# cases: a found case is added by hand, and the tree stays clean.
hypothesis.settings.register_profile(
    "hone", deadline=None, database=None, print_blob=False,
    max_examples=int(os.environ.get("HONE_EXAMPLES", "25")))
hypothesis.settings.load_profile("hone")


FOLDERS = itertools.count()


@pytest.fixture
def tmp_path(tmp_path_factory):
    """An empty folder. That of pytest lists all others to find a name."""
    path = tmp_path_factory.getbasetemp() / str(next(FOLDERS))
    path.mkdir(0o700)
    return path


def pytest_configure(config):
    """Seed hypothesis as its --hypothesis-seed does."""
    if getattr(config.option, "hypothesis_seed", None) is None:
        hypothesis.core.global_force_seed = SEED


def pytest_terminal_summary(terminalreporter):
    """Print the seed that repeats this run."""
    terminalreporter.write_line(f"HONE_SEED={SEED}")
