# SPDX-License-Identifier: BSD-3-Clause
"""The progress bar on a terminal."""
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time

import pytest

from harness import ENV


class Terminal:
    """A terminal of so many columns, and what is written to it."""

    def __init__(self, columns=0):
        self.master, self.slave = pty.openpty()
        self.resize(columns)
        self.shown = b""

    def resize(self, columns):
        """Make the window that wide; 0: it does not tell."""
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 24, columns, 0, 0))

    def read_until(self, text):
        """Read on until these bytes have come."""
        while text not in self.shown:
            self.shown += os.read(self.master, 65536)

    def drain(self):
        """Read what is there."""
        os.set_blocking(self.master, False)
        try:
            while True:
                self.shown += os.read(self.master, 65536)
        except BlockingIOError:
            os.set_blocking(self.master, True)

    def close(self):
        """Read the rest; all that was shown."""
        os.close(self.slave)
        while True:
            try:
                part = os.read(self.master, 65536)
            except OSError:
                break
            if not part:
                break
            self.shown += part
        os.close(self.master)
        return self.shown


def on_terminal(hone, *words, code=0, columns=0, **kwargs):
    """What a command writes to a terminal on stderr."""
    terminal = Terminal(columns)
    done = hone.run(*words, stderr=terminal.slave, **kwargs)
    shown = terminal.close()
    assert done.returncode == code, shown
    return shown


def seen(shown):
    """The lines that stay on the screen."""
    lines = []
    for line in shown.decode().split("\n"):
        cells, at = [], 0
        for char in line.replace("\x1b[K", ""):
            if char == "\r":
                at = 0
                continue
            cells[at:at + 1] = [char]
            at += 1
        lines.append("".join(cells).rstrip())
    return lines


def test_a_terminal_gets_a_bar_that_is_finished_or_cleared(hone, image, out):
    shown = on_terminal(hone, "convert", image("filled_ext4"), out / "d")
    assert b"\r" in shown and b"%" in shown
    assert shown.endswith((b"\r\n", b"\r", b"\x1b[K"))


def test_an_error_stands_on_a_line_of_its_own_after_the_bar(
        hone, image, out):
    before = ["sh", "-c", 'ulimit -f 40000; exec "$@"', "sh"]
    shown = on_terminal(hone, "convert", "-O", "qcow2",
                        image("filled_ext4"), out / "d", code=1,
                        before=before)
    assert b"%" in shown
    lines = seen(shown)
    assert lines[-1] == ""
    assert lines[-2].startswith("hone: ") and "%" not in lines[-2]


@pytest.mark.parametrize("columns", [
    0, 1, 2, 5, 6, 7, 8, 9, 10, 11, 20, 47, 48, 49, 50, 80, 500])
def test_a_bar_never_fills_a_line_of_the_terminal(
        hone, image, out, columns):
    """In the last column some terminals go to the next line already."""
    shown = on_terminal(hone, "convert", image("filled_ext4"), out / "d",
                        columns=columns)
    parts = [part for part in shown.decode().split("\n")[0].split("\r")
             if part.strip()]
    limit = columns or 80
    assert max(len(part) for part in shown.decode().split("\r")) < limit
    # Spaces may follow, which overwrite a longer line.
    for part in parts:
        bar = re.fullmatch(r"((?:\[=* *\] )? *\d+ %)"
                           r"(?:, [\d.]+ \w+/s)?(?:, [\d:]+ left)? *", part)
        assert bar, part
        assert len(bar[1]) == min(48, limit - 1) or limit < 10
    assert (b"%" in shown) == (limit > 5)
    assert (b"[" in shown) == (limit > 9)
    assert seen(shown)[-1] == ""


def held_at_the_end(hone, strace, log, terminal, *words):
    """A command that has stopped in its fsync, with its bar on the terminal,
    and the process to go on."""
    process = subprocess.Popen(
        [*strace, "-qq", "-o", log, "-e", "trace=fsync", "-e",
         "inject=fsync:signal=SIGSTOP:when=1", hone.path, *words],
        env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=terminal.slave)
    terminal.read_until(b"%")
    while not log.exists() or b"stopped by SIGSTOP" not in log.read_bytes():
        assert process.poll() is None
        time.sleep(0.001)
    with open(f"/proc/{process.pid}/task/{process.pid}/children",
              encoding="ascii") as children:
        return process, int(children.read().split()[0])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT,
                                    signal.SIGRTMIN], ids=str)
def test_a_signal_clears_the_bar(hone, strace, image, out, tmp_path, number):
    terminal = Terminal(60)
    process, child = held_at_the_end(hone, strace, tmp_path / "log", terminal,
                                     "convert", image("filled_ext4"),
                                     out / "d")
    os.kill(child, number)
    os.kill(child, signal.SIGCONT)
    assert process.wait(timeout=1000) == -number
    shown = terminal.close()
    assert b"%" in shown
    assert seen(shown) == [""]
    assert not os.listdir(out)


def test_a_bar_in_a_window_that_became_narrow_is_cleared_within_it(
        hone, strace, image, out, tmp_path):
    terminal = Terminal(60)
    process, child = held_at_the_end(hone, strace, tmp_path / "log", terminal,
                                     "convert", image("filled_ext4"),
                                     out / "d")
    terminal.resize(20)
    terminal.drain()
    before = len(terminal.shown)
    os.kill(child, signal.SIGCONT)
    assert process.wait(timeout=1000) == 0
    after = terminal.close()[before:].decode()
    assert max(len(part) for part in after.split("\r")) == 19


@pytest.mark.parametrize("option", ["-q", "--json"])
def test_no_bar_for_programs_and_the_quiet(hone, image, out, option):
    assert not on_terminal(hone, "convert", option, image("mixed"), out / "d")


def test_no_bar_where_stderr_is_no_terminal(hone, image, out):
    assert not hone.run("convert", image("mixed"), out / "d").stderr


def test_a_wide_terminal_has_the_rate_and_the_time_that_is_left(
        hone, image, out):
    """Nothing is coloured, with or without NO_COLOR."""
    for number, more in enumerate(({}, {"NO_COLOR": "1"})):
        shown = on_terminal(hone, "convert", "--force",
                            "--rate-limit", "16M", image("all_data"),
                            out / "d", columns=80, env=more)
        assert re.search(rb"\[=* *\] +\d+ %, [\d.]+ [KMG]iB/s, \d+:\d\d left",
                         shown), number
        assert b"\x1b" not in shown
    shown = on_terminal(hone, "convert", "--force", "--rate-limit", "16M",
                        image("all_data"), out / "d", columns=60)
    assert b"left" not in shown and b"%" in shown
