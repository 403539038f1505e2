# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures: the command, an empty directory, QEMU's tools."""
import os
import shutil
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cli"))
# pylint: disable=wrong-import-position
from harness import Hone, need  # noqa: E402
import qemu  # noqa: E402


@pytest.fixture(scope="session")
def hone():
    """The command that HONE names."""
    path = os.environ.get("HONE")
    if not path:
        pytest.fail("set HONE to the path of the hone command")
    return Hone(os.path.realpath(path))


@pytest.fixture
def work(tmp_path):
    """An empty directory that is gone after the test."""
    for tool in ("qemu-img", "qemu-io"):
        need(tool)
    yield tmp_path
    shutil.rmtree(tmp_path)


@pytest.fixture
def assert_reads(hone, tmp_path):
    """Call it with an image: the command and qemu-img read the same."""
    def check(image, *options, qemu_options=()):
        ours, theirs = tmp_path / "ours.raw", tmp_path / "theirs.raw"
        qemu.img("convert", "-O", "raw", *qemu_options, image, theirs)
        hone.ok("convert", "-q", "--force", "-O", "raw", *options, image, ours)
        assert qemu.first_difference(ours, theirs) is None
        ours.unlink()
        theirs.unlink()
    return check
