# SPDX-License-Identifier: BSD-3-Clause
"""The marker of tests/pytest.ini."""


def pytest_configure(config):
    config.addinivalue_line("markers", "all: only ./dev test --all runs it")
