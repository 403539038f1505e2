#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What makes a comparison fair: the rival has its fastest flags, and a ratio
has a rival with all cores."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import kept  # noqa: E402
import pages_convert  # noqa: E402
import report  # noqa: E402
import rivals  # noqa: E402

# Both folders have a module of this name; what follows needs that of convert.
del sys.modules["cases"]
sys.path.insert(0, str(HERE.parent / "convert"))
import cases  # noqa: E402
import convert  # noqa: E402

sys.path.insert(0, str(HERE.parent / "cache"))
import programs  # noqa: E402


def outcome(seconds, stopped=False):
    return convert.process.Outcome(seconds, 0, 0, 0, "", "", stopped)


class Ways(unittest.TestCase):
    def choose(self, seconds):
        """The flags chosen when each set takes so long, and what was
        recorded."""
        tool = cases.Tool("rival", ["rival", "convert", "image"], head=2,
                          ways=tuple((flag,) for flag in seconds))

        def turn(_, tool, limit=None):
            took = seconds[tool.flags[0]]
            return outcome(took, bool(limit) and took > limit)

        before, convert.turn = convert.turn, turn
        try:
            convert.try_ways(cases.Case("case", None), tool)
        finally:
            convert.turn = before
        return tool

    def test_the_fastest_flags_are_timed(self):
        tool = self.choose({"-a": 3.0, "-b": 1.0, "-c": 2.0})
        self.assertEqual(tool.command, ["rival", "convert", "-b", "image"])

    def test_what_was_tried_is_kept(self):
        tool = self.choose({"-a": 3.0, "-b": 1.0, "-c": 2.0})
        self.assertEqual(tool.tried, {"-a": 3.0, "-b": 1.0, "-c": None})

    def test_qemu_img_compresses_with_all_cores(self):
        for flags in cases.PACKED_WAYS:
            self.assertIn("-W", flags)


class Order(unittest.TestCase):
    def test_every_tool_is_first_once_and_runs_untimed_before(self):
        ran = []

        def turn(_, tool, limit=None):
            ran.append(tool.name)
            return outcome(1.0)

        case = cases.Case("case", None, tools=[
            cases.Tool(name, [name]) for name in "abc"])
        before, convert.turn = convert.turn, turn
        try:
            convert.measure(case, 3)
        finally:
            convert.turn = before
        self.assertEqual("".join(ran), "abc" "abc" "bca" "cab")
        self.assertEqual([len(tool.turns) for tool in case.tools], [3, 3, 3])


def row(tool, command, wall, **more):
    return {"case": "case", "tool": tool, "command": command, "wall": wall,
            "disk_usage": 0, **more}


class Ratios(unittest.TestCase):
    OURS = row("hone", "hone convert", 1.0)

    def test_a_rival_on_one_core_has_no_ratio(self):
        slow = row("qemu-img", "qemu-img convert -c a b", 9.0)
        self.assertEqual(pages_convert.summary("case", [self.OURS, slow]), [])

    def test_a_rival_on_all_cores_has_one(self):
        fair = row("qemu-img", "qemu-img convert -W -c a b", 5.0)
        found, = pages_convert.summary("case", [self.OURS, fair])
        self.assertEqual(found[3], "5.00x")

    def test_in_order_is_fair_where_it_was_the_fastest_way(self):
        fair = row("qemu-img", "qemu-img convert a b", 5.0,
                   tried={"-W": 6.0, "": 5.0}, flags="")
        found, = pages_convert.summary("case", [self.OURS, fair])
        self.assertEqual(found[3], "5.00x")

    def test_a_library_alone_is_not_a_rival(self):
        fair = row("qemu-img", "qemu-img convert -W -c a b", 5.0)
        alone = row("libzstd alone", "codec.py", 0.8, rival=False)
        found, = pages_convert.summary("case", [self.OURS, fair, alone])
        self.assertEqual((found[3], found[6]), ("5.00x", "0.80, libzstd"))

    def test_a_target_is_met_at_the_speed_of_the_codec(self):
        target = cases.Faster("hone", 2)
        fair = row("qemu-img", "qemu-img convert -W", 1.5, rival=True)
        ours = {**self.OURS, "rival": True}
        self.assertFalse(target.judge([ours, fair])[1])
        for wall, met in ((0.85, False), (0.95, True)):
            alone = row("libzstd alone", "codec.py", wall, rival=False)
            self.assertEqual(target.judge([ours, fair, alone])[1], met)

    def test_the_speed_of_reads_alone_does_not_meet_a_target(self):
        target = cases.Faster("hone", 2, enough=False)
        fair = row("qemu-img", "qemu-img compare", 1.5, rival=True)
        alone = row("pread alone", "reads.py", 0.99, rival=False)
        value, met = target.judge([{**self.OURS, "rival": True}, fair, alone])
        self.assertEqual((value, met), (
            "1.50 x of qemu-img, 0.99 of pread alone", False))

    def test_cache_drop_has_a_row_where_the_rival_keeps_nothing(self):
        drop = row("hone --cache drop", "hone convert", 0.5, disk_usage=1)
        ours = {**self.OURS, "disk_usage": 1}
        for left, rows in ((0, 2), (1 << 30, 1)):
            fair = row("nbdcopy", "nbdcopy", 1.5, page_cache_left=left,
                       disk_usage=1)
            found = pages_convert.summary("case", [ours, drop, fair])
            self.assertEqual(len(found), rows)

    def test_a_case_without_a_rival_has_a_table_without_a_ratio(self):
        mine = {**self.OURS, "cpu": 1, "peak_memory": 1, "system_calls": None}
        alone = row("openssl", "openssl", 0.5, rival=False, system_calls=None)
        found = pages_convert.table(lambda header, body: body, [mine, alone])
        self.assertEqual([line[-1] for line in found], ["", ""])


class Kept(unittest.TestCase):
    def test_a_row_is_one_line(self):
        rows = [{"tool": "xz", "tried": {"-T0": 1.5}}, {"tool": "hone"}]
        lines = report.encode({"rows": rows}).splitlines()
        self.assertEqual(len(lines), 6)
        self.assertEqual(json.loads("".join(lines)), {"rows": rows})

    def test_hit_rates_of_a_later_run_count(self):
        with tempfile.TemporaryDirectory() as name:
            before, kept.RESULTS = kept.RESULTS, pathlib.Path(name)
            try:
                for day in 28, 29:
                    about = {"machine": {"date": f"2026-11-{day}"}}
                    (kept.RESULTS / f"cache-hits-zen5-2026-11-{day}.json"
                     ).write_text(json.dumps(about))
                found = [kept.apart("cache", "zen5", f"2026-11-{day}")
                         for day in (28, 29, 30)]
            finally:
                kept.RESULTS = before
        self.assertEqual([run and run[1]["machine"]["date"] for run in found],
                         ["2026-11-29", "2026-11-29", None])

    def test_hone_runs_once_more_with_a_library_of_the_rivals(self):
        tool = cases.Tool("hone", ["hone", "convert"])
        self.assertEqual(cases.with_theirs(tool, "liblzma"), [])
        cases.of_rivals["liblzma"] = "5.8.4", "/folder"
        try:
            found, = cases.with_theirs(tool, "liblzma")
        finally:
            cases.of_rivals.clear()
        self.assertEqual(found.name, "hone with liblzma 5.8.4")
        self.assertEqual(found.command, [
            "env", "LD_LIBRARY_PATH=/folder", "hone", "convert"])


class Wrapped(unittest.TestCase):
    def test_a_program_of_the_root_runs_by_the_loader_of_the_root(self):
        loaders = sorted(pathlib.Path("/usr/lib").glob("*/ld-linux*.so.*"))
        if not loaders:
            self.skipTest("no loader of glibc below /usr/lib")
        with tempfile.TemporaryDirectory() as name:
            root, folder = pathlib.Path(name, "root"), pathlib.Path(name, "p")
            (root / "usr/bin").mkdir(parents=True)
            (root / "usr/lib").mkdir()
            (root / "usr/lib" / loaders[0].parent.name).symlink_to(
                loaders[0].parent)
            (root / "usr/bin/cp").symlink_to("/usr/bin/echo")
            rivals.wrap(root, folder)
            self.assertEqual([path.name for path in folder.iterdir()], ["cp"])
            done = subprocess.run([folder / "cp", "a b", "c"], check=True,
                                  capture_output=True, text=True)
            self.assertEqual(done.stdout, "a b c\n")

    def kit(self, folder, prints, root=None):
        """Where the interpreter of PHP prints a text, whatever it runs."""
        cli = folder / "php"
        cli.write_text(f"#!/bin/sh\necho {prints}\n")
        cli.chmod(0o755)
        made = programs.Kit("cgi", cli, folder, folder, folder, root=root)
        made.enter = []
        return made

    def test_opcache_is_not_loaded_where_it_is_a_part_of_php(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for prints, loaded in ("", True), ("1", False):
                options = self.kit(folder, prints).options("array")
                self.assertEqual("zend_extension=opcache" in options, loaded)
                self.assertIn("opcache.enable=1", options)

    def test_an_extension_of_the_root_has_its_name_there(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "usr/lib/php/20240924").mkdir(parents=True)
            (folder / "usr/lib/php/20240924/apcu.so").touch()
            found = self.kit(folder, "", folder).extension("apcu")
            self.assertEqual(found, "/usr/lib/php/20240924/apcu.so")


class Option(unittest.TestCase):
    def test_a_suite_that_there_is_not_has_one_message(self):
        for part in "zero", "cache", "convert":
            done = subprocess.run(
                [HERE.parents[1] / "dev", "bench", part, "--rivals", "foo"],
                capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (
                1, "dev: bench: --rivals: 'foo' is not newest or debian12\n"))


if __name__ == "__main__":
    unittest.main()
