# SPDX-License-Identifier: BSD-3-Clause
"""Cases of a test that ./dev test, and every run with sanitizers, leave out."""
import os

# ./dev test --all and ./dev long
ALL = "HONE_TEST_ALL" in os.environ
# ./dev long
LONG = "HONE_TEST_LONG" in os.environ
# The stage cli-asan has half of the cases of ./dev test.
FEWER = 2 if "HONE_TEST_FEWER" in os.environ else 1


def some(cases, step):
    """Every step-th case; each one if HONE_TEST_ALL is set."""
    return list(cases)[::1 if ALL else FEWER * step]
