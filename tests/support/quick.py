# SPDX-License-Identifier: BSD-3-Clause
"""Cases of a test that ./dev test, and every run with sanitizers, leave out."""
import os

ALL = "HONE_TEST_ALL" in os.environ


def some(cases, step):
    """Every step-th case; each one if HONE_TEST_ALL is set."""
    return list(cases)[::1 if ALL else step]
