#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jumps are found where they are, with their lines, and turned."""
import ctypes
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import jumps  # noqa: E402

SOURCE = """\
int least(int n)
{
\tif (n < 3)
\t\treturn 3;
\treturn n;
}
"""


def answers(code, folder, name):
    """least(1) and least(5) of an object with this code."""
    path = pathlib.Path(folder, name)
    path.with_suffix(".o").write_bytes(code)
    subprocess.run(["gcc", "-shared", "-o", path, path.with_suffix(".o")], check=True)
    least = ctypes.CDLL(str(path)).least
    return least(1), least(5)


class Jumps(unittest.TestCase):
    def test_both_encodings_are_known(self):
        for code, size in ((b"\x6f\0", 0), (b"\x70\0", 2), (b"\x7f\0", 2),
                           (b"\x80\0", 0), (b"\x0f\x7f", 0), (b"\x0f\x80", 6),
                           (b"\x0f\x8f", 6), (b"\x0f\x90", 0)):
            self.assertEqual(jumps.size_of(b"\x90" + code, 1), size, code)

    def test_only_the_jump_changes(self):
        for code in b"\x74\x05", b"\x0f\x85\1\2\3\4":
            around = b"\xcc" + code + b"\xcc"
            turned = jumps.patched(around, 1, jumps.OPPOSITE)
            self.assertEqual(len(turned), len(around))
            self.assertEqual([at for at in range(len(around)) if turned[at] !=
                              around[at]], [1 if len(code) == 2 else 2])
            self.assertEqual(jumps.patched(turned, 1, jumps.OPPOSITE), around)
            never = jumps.patched(around, 1, jumps.NEVER)
            self.assertEqual(len(never), len(around))
            self.assertEqual((never[0], never[-1]), (0xcc, 0xcc))
            self.assertEqual(jumps.size_of(never, 1), 0)

    @unittest.skipUnless(platform.machine() == "x86_64", "x86-64 only")
    def test_a_function_does_what_the_turned_jump_says(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "a.c")
            source.write_text(SOURCE)
            subprocess.run(["gcc", "-O0", "-g", "-fPIC", "-c", "a.c"],
                           cwd=folder, check=True)
            code = pathlib.Path(folder, "a.o").read_bytes()
            (found,), lines = jumps.disassemble(pathlib.Path(folder, "a.o"))
            function, (path, line), at = found
            self.assertEqual((function, os.path.basename(path), line),
                             ("least", "a.c", 3))
            self.assertEqual(sorted(lines["least"][1]), [2, 3, 4, 5, 6])
            self.assertEqual(answers(code, folder, "a"), (3, 5))
            self.assertEqual(answers(jumps.patched(
                code, at, jumps.OPPOSITE), folder, "b"), (1, 3))
            self.assertEqual(answers(jumps.patched(
                code, at, jumps.NEVER), folder, "c"), (3, 3))

    def test_a_statement_has_all_its_lines(self):
        text = ["\tf();", "\tassert(a &&", "\t\tb);", "\tg(1,", "\t\t2);"]
        self.assertIn("assert(", jumps.statement(text, 3))
        self.assertNotIn("assert(", jumps.statement(text, 5))

    def test_a_test_without_an_end_is_told_from_one_that_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            for script, limit, result in (("exit 0", 100, jumps.PASSED),
                                          ("exit 3", 100, jumps.CAUGHT),
                                          ("sleep 100", 0.1, jumps.NO_END)):
                test = jumps.Test("a", "/bin/sh", ["-c", script], {}, [], limit)
                self.assertEqual(jumps.outcome(test, pathlib.Path(folder)), result)

    def test_the_sources_have_the_lines_of_accepted_survivors(self):
        jumps.accepted()


if __name__ == "__main__":
    unittest.main()
