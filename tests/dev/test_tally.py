# SPDX-License-Identifier: BSD-3-Clause
"""What ./dev test counts as a failure."""
import pathlib
import subprocess
import sys

import pytest

TALLY = pathlib.Path(__file__).resolve().parents[1] / "support" / "tally.py"


@pytest.mark.parametrize("reason, options, failed", [
    ("fish is not installed", ["--all"], 1), ("fish is not installed", [], 0),
    ("its headers are not installed", ["--all"], 1),
    ("could not import 'boto3'", ["--all"], 1),
    ("there is no /a/chromium", ["--all"], 1), ("apcu.so is not below /a", ["--all"], 1),
    ("HONE_SERVER is not set: ./dev test --all", ["--all"], 1),
    ("no huge pages", ["--all"], 0)])
def test_with_all_nothing_may_be_missing(tmp_path, reason, options, failed):
    (tmp_path / "tap").write_text(f"1..2\nok 1 - a\nok 2 - b # SKIP {reason}\n")
    (tmp_path / "stages").write_text(f"cli\t0\ttap\t{tmp_path}/tap\n")
    done = subprocess.run([sys.executable, "-B", TALLY, *options, tmp_path / "stages",
                           "cli"], stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == failed
    assert done.stdout.splitlines()[-1] == \
        f"1 passed, {failed} failed, {1 - failed} skipped"


def test_a_stage_may_have_several_results(tmp_path):
    """It fails if one has a failure, or if its status is one."""
    (tmp_path / "one").write_text("1..1\nok 1 - a\n")
    (tmp_path / "two").write_text("1..1\nok 1 - b\n")
    for status, failed in ((0, 0), (1, 1)):
        (tmp_path / "stages").write_text("".join(
            f"cli\t{status}\ttap\t{tmp_path}/{name}\n" for name in ("one", "two")))
        done = subprocess.run([sys.executable, "-B", TALLY, tmp_path / "stages", "cli"],
                              stdout=subprocess.PIPE, text=True, check=False)
        assert done.returncode == failed
        assert done.stdout.splitlines()[-1] == f"2 passed, {failed} failed, 0 skipped"
