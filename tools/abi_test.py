#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""abi.py finds planted breaks, and permits additions and what is private."""
import pathlib
import shutil
import sys
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] /
                       "tests/support"))

# pylint: disable=wrong-import-position
import abi  # noqa: E402
import planting  # noqa: E402

# Of the tree, what the library is built from.
COPIED = ["include", "src", "packaging", "meson.build", "meson_options.txt"]
COPY = abi.ROOT / "build/abi-test"

# Changes of the copy, one after another: (file, old, new).
BREAKS = {
    "a member of a public struct has another size": [
        ("include/hone/stream.h", "size_t bypass_size;",
         "unsigned bypass_size;")],
    "a function has a parameter less": [
        ("include/hone/read_file.h", "int fd, void *data, size_t size);",
         "int fd, void *data);"),
        ("src/stream/read_into.c",
         "hone_read_sized(int fd, void *data, size_t size) {",
         "hone_read_sized(int fd, void *data) { size_t size = 1;")],
    "a symbol is removed": [
        ("src/libhone.map", "hone_socket_alive;", "")]}
PERMITTED = {
    "a function is added": [
        ("src/libhone.map", "hone_cpu_trait_name;",
         "hone_cpu_trait_name; hone_added;"),
        ("src/api.c", "const char *hone_version(void)",
         "HONE_API int hone_added(void); int hone_added(void) { return 1; } "
         "const char *hone_version(void)")],
    "a private struct has a member more": [
        ("src/mempool/mempool.h", "char *objects; size_t capacity;",
         "int added; char *objects; size_t capacity;")]}


def plant(file, old, new):
    """Change the copy."""
    path = COPY / file
    path.write_text(planting.replace(
        path.read_text("utf-8"),
        {"file": file, "old": old, "new": new}), "utf-8")


class Abi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(COPY, ignore_errors=True)
        COPY.mkdir(parents=True)
        for name in COPIED:
            if (abi.ROOT / name).is_dir():
                shutil.copytree(abi.ROOT / name, COPY / name)
            else:
                shutil.copy2(abi.ROOT / name, COPY / name)
        cls.before = COPY / "before.xml"
        abi.write(COPY, cls.before)

    def said_of(self, changes):
        """What is said of these changes, beside the tree before them."""
        for change in changes:
            plant(*change)
        after = COPY / "after.xml"
        abi.write(COPY, after)
        said = abi.differences(self.before, after)
        after.rename(self.before)
        return said

    def test_a_break_is_found(self):
        for what, changes in BREAKS.items():
            self.assertNotEqual(self.said_of(changes), "", what)

    def test_what_programs_do_not_use_may_change(self):
        for what, changes in PERMITTED.items():
            self.assertEqual(self.said_of(changes), "", what)

    @unittest.mock.patch.dict("os.environ", GIT_DIR="/dev/null")
    def test_a_later_version_needs_the_tags(self):
        with unittest.mock.patch("abi.version", lambda: abi.FIRST):
            self.assertIsNone(abi.last_release())
        with unittest.mock.patch("abi.version", lambda: "0.2.0"):
            self.assertRaises(SystemExit, abi.last_release)

    def test_the_folder_leaves_no_trace(self):
        text = self.before.read_text("utf-8")
        self.assertIn("hone_mempool_create", text)
        self.assertNotIn("build/abi", text)
        self.assertNotIn("/usr", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
