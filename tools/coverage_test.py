#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""coverage.py counts the branches of the source alone, and finds what makes
tests/coverage.toml wrong."""
import contextlib
import io
import sys
import tomllib
import unittest

sys.dont_write_bytecode = True

import coverage  # noqa: E402

PLACE = {"file": "src/part.c", "why": "because",
         "text": "hone_part_choose(const struct hone_part *part)\n"}


def branch(count, throw=False):
    return {"count": count, "throw": throw, "fallthrough": not throw}


def complaints_about(lines, run, branches, taken):
    """What is said of a library with these sums."""
    with contextlib.redirect_stdout(io.StringIO()):
        return coverage.show_table({
            "src/zero": [lines, run, branches, taken],
            "include": [100, 0, 100, 0]})


class Coverage(unittest.TestCase):
    def test_a_call_that_can_throw_is_no_branch(self):
        self.assertEqual(coverage.directions(
            [branch(3), branch(0), branch(3), branch(0, throw=True)]), [3, 0])

    def test_a_place_exists_once(self):
        for text in "not there", "const":
            _, said = coverage.judge_places([PLACE | {"text": text}], {})
            self.assertIn("once", said[0])

    def test_a_place_that_is_reached_is_wrong(self):
        number = coverage.located(PLACE)[0]
        reasons, said = coverage.judge_places([PLACE], {})
        self.assertEqual(len(said), 1)
        self.assertEqual(reasons, {("src/part.c", number): "because"})
        for missing, more in (({("src/part.c", number): []}, {}),
                              ({}, {"sometimes": True})):
            _, said = coverage.judge_places([PLACE | more], missing)
            self.assertEqual(said, [])

    def test_src_alone_has_to_reach_the_limits(self):
        self.assertEqual(complaints_about(100, 95, 100, 90), [])
        for sums in (100, 94, 100, 100), (100, 100, 100, 89), (0, 0, 0, 0):
            self.assertEqual(len(complaints_about(*sums)), 1)

    def test_each_listed_place_and_file_exists(self):
        known = tomllib.loads((coverage.ROOT / "tests/coverage.toml")
                              .read_text())
        for row in known["place"]:
            self.assertIsNotNone(coverage.located(row), row)
        for row in known["file"]:
            self.assertTrue((coverage.ROOT / row["file"]).exists(), row)


if __name__ == "__main__":
    unittest.main()
