#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rows of mutants are read, planted where they belong, and reported by line."""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import planting  # noqa: E402

SOURCE = """\
int
first(int n)
{
\tif (n > 0)
\t\treturn call(n,
\t\t\tn + 1);
\treturn 0;
}

int
second(int n)
{
\treturn 0;
}
"""
ROW = "  {name = 'a', old = %s, new = %s, tests = ['unit']%s},\n"


def planted(old, new, more="", source=SOURCE):
    """What becomes of a source, or the complaint."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "a.c").write_text(source)
        (root / "m.toml").write_text(f"[part]\n'a.c' = [\n{ROW % (old, new, more)}]\n")
        try:
            row, = planting.read(root / "m.toml", root)
            _, before, after = planting.plant(root, row)
        except planting.Wrong as error:
            return str(error)
        assert before == source
        return after


class Planting(unittest.TestCase):
    def test_a_piece_is_replaced(self):
        self.assertEqual(planted("'n > 0'", "'n > 1'"),
                         SOURCE.replace("n > 0", "n > 1"))

    def test_a_statement_is_removed(self):
        self.assertEqual(planted("'if (n > 0)'", "''"),
                         SOURCE.replace("if (n > 0)", ""))

    def test_white_space_does_not_count(self):
        self.assertEqual(planted("'return call(n, n + 1);'", "'return 1;'"),
                         SOURCE.replace("return call(n,\n\t\t\tn + 1);", "return 1;"))

    def test_other_lines_may_change(self):
        edited = SOURCE.replace("int n)", "long number,\n\tint n)").replace(
            "\t\t\tn + 1", "\t\t\tn + 2")
        self.assertEqual(
            planted("'if (n > 0)'", "'if (n)'", source=edited),
            edited.replace("if (n > 0)", "if (n)"))

    def test_a_function_has_its_own_piece(self):
        start = SOURCE.index("second")
        self.assertEqual(
            planted("'return 0;'", "'return 1;'", ", in = 'second'"),
            SOURCE[:start] + SOURCE[start:].replace("0;", "1;"))

    def test_several_places_change_at_once(self):
        self.assertEqual(
            planted("['n + 1', 'n > 0']", "['n', 'n > 1']"),
            SOURCE.replace("n + 1", "n").replace("n > 0", "n > 1"))

    def test_complaints_name_the_line(self):
        for old, new, more, complaint in (
                ("'n < 0'", "'n'", "", "'n < 0' is 0 times"),
                ("'return 0;'", "''", "", "'return 0;' is 2 times"),
                ("''", "'x'", "", "'' is 0 times"),
                ("'n > 0'", "'n>0'", "", "it changes nothing"),
                ("'0'", "'1'", ", in = 'third'", "function third is 0 times")):
            self.assertTrue(planted(old, new, more).startswith(
                f"m.toml:3: a.c: {complaint}"), planted(old, new, more))

    def test_a_row_has_known_keys(self):
        self.assertTrue(planted("'n > 0'", "''", ", reason = 'b'").startswith(
            "m.toml:3: a row has name, old, new and tests"))
        self.assertTrue(planted("'n > 0'", "'' name").startswith("m.toml: "))

    def test_a_row_is_a_line(self):
        self.assertIn("a row is a line", planted("'n > 0'", "''", "}, {name = 'b'"))


if __name__ == "__main__":
    unittest.main()
