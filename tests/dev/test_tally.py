# SPDX-License-Identifier: BSD-3-Clause
"""What ./dev test counts as a failure."""
import os
import pathlib
import subprocess
import sys

import pytest

TALLY = pathlib.Path(__file__).resolve().parents[1] / "support" / "tally.py"


@pytest.mark.parametrize("reason, every, failed", [
    ("fish is not installed", "1", 1), ("fish is not installed", None, 0),
    ("its headers are not installed", "1", 1),
    ("could not import 'boto3'", "1", 1), ("no huge pages", "1", 0)])
def test_with_all_nothing_may_be_missing(tmp_path, reason, every, failed):
    (tmp_path / "tap").write_text(f"1..2\nok 1 - a\nok 2 - b # SKIP {reason}\n")
    (tmp_path / "stages").write_text(f"cli\t0\ttap\t{tmp_path}/tap\n")
    environment = {key: value for key, value in os.environ.items()
                   if key != "HONE_TEST_ALL"}
    if every:
        environment["HONE_TEST_ALL"] = every
    done = subprocess.run([sys.executable, "-B", TALLY, tmp_path / "stages", "cli"],
                          env=environment, stdout=subprocess.PIPE, text=True,
                          check=False)
    assert done.returncode == failed
    assert done.stdout.splitlines()[-1] == \
        f"1 passed, {failed} failed, {1 - failed} skipped"
