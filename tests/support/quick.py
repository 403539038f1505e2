# SPDX-License-Identifier: BSD-3-Clause
"""Cases that ./dev test leaves out, as does the stage cli-asan."""
import os

# ./dev test --all and ./dev long
ALL = "HONE_TEST_ALL" in os.environ
# ./dev long
LONG = "HONE_TEST_LONG" in os.environ


def some(cases, step):
    """Every step-th case; each one if HONE_TEST_ALL is set."""
    return list(cases)[::1 if ALL else step]
