# SPDX-License-Identifier: BSD-3-Clause
"""Progress for programs; signals in the midst of work."""
import contextlib
import fcntl
import hashlib
import json
import os
import pty
import random
import re
import signal
import struct
import subprocess
import termios
import time

import pytest

import images
from harness import (
    ENV, TIMEOUT, Stalled, assert_same, error_line, failure, listening, write)
from qcow2_reader import Qcow2

# Files of at most 2 MiB.
LIMITED = ["sh", "-c", 'ulimit -f 4096; exec "$@"', "sh"]


def lines_of(hone, *words, **kwargs):
    """Exit code and lines that --progress-fd carries."""
    reader, writer = os.pipe()
    done = hone.run(*words, "--progress-fd", str(writer), pass_fds=[writer], **kwargs)
    os.close(writer)
    with open(reader, "rb") as pipe:
        return done, pipe.read().decode().splitlines()


@pytest.mark.parametrize("name", ["all_data", "mixed", "sparse_5_gib",
                                  "1_bytes", "empty_8_tib"])
@pytest.mark.parametrize("fmt", ["raw", "qcow2"])
def test_progress_rises_to_100_and_tells_each_value_once(hone, image, out, name, fmt):
    done, lines = lines_of(hone, "convert", "-q", "-O", fmt, image(name), out / "d")
    assert done.returncode == 0
    assert all(re.fullmatch(r"\d+/100", line) for line in lines)
    values = [int(line[:-4]) for line in lines]
    assert values == sorted(set(values)) and values[-1] == 100


def test_verify_has_no_percentages(hone, image, out):
    """Each value comes once, and the second pass is not the work."""
    done, lines = lines_of(hone, "convert", "-q", "--verify",
                           image("all_data"), out / "d")
    assert done.returncode == 0
    assert lines == [f"{i}/100" for i in range(101)]


def json_lines(hone, *words):
    """Exit code and objects of --progress-json."""
    done, lines = lines_of(hone, *words, "--progress-json")
    found = [json.loads(line) for line in lines]
    for each in found:
        assert {"phase", "store", "bytes", "rate"} <= each.keys()
        assert each.keys() <= {"phase", "store", "bytes", "total", "rate", "eta"}
        assert 0 <= each["bytes"] <= each["total"]
    return done, found


@pytest.mark.parametrize("name", ["all_data", "mixed", "1_bytes"])
def test_lines_of_json_have_each_phase_and_rise(hone, image, out, name):
    source, target = str(image(name)), str(out / "d")
    done, found = json_lines(hone, "convert", "-q", "--verify", source, target)
    assert done.returncode == 0 and not done.stderr
    phases = [each["phase"] for each in found]
    assert sorted(set(phases), key=phases.index) == ["read", "flush", "verify", "done"]
    assert phases.count("done") == phases.count("flush") == 1
    for phase in "read", "verify":
        of = [each for each in found if each["phase"] == phase]
        values = [each["bytes"] for each in of]
        assert values == sorted(values) and values[0] == 0
        # Each percentage once, and a line a second.
        assert len(of) <= 102 + found[-1].get("eta", 0)
    assert {each["store"] for each in found if each["phase"] == "read"} == {source}
    assert {each["store"] for each in found if each["phase"] != "read"} == {target}
    size = os.stat(source).st_size
    assert {each["total"] for each in found} == {size}
    assert found[-1]["bytes"] == size
    # The average, in a run of any length.
    assert found[-1]["rate"] > 0 or size == 1


def test_lines_of_json_are_few(hone, work, out):
    """One for each percentage, whatever the number of chunks is."""
    source = work / "thin.img"
    images.pieces(source, (399 << 20) + 1, *((chunk << 20, b"x") for chunk in range(400)))
    _, found = json_lines(hone, "convert", "-q", source, out / "d")
    seconds = sum(1 for one, two in zip(found, found[1:])
                  if one["bytes"] * 100 // one["total"] ==
                  two["bytes"] * 100 // two["total"])
    # A slow machine has one more for each second, in which nothing else came.
    assert len(found) - seconds <= 103
    assert seconds < 100


@pytest.mark.parametrize("command", ["compare", "digest"])
def test_other_commands_have_lines_of_json(hone, image, command):
    if command == "digest":
        hone.need("OpenSSL")
    source = image("all_data")
    words = [command, *[source] * (1 + (command == "compare"))]
    done, found = json_lines(hone, *words)
    assert done.returncode == 0
    assert [found[0]["phase"], found[-1]["phase"]] == ["read", "done"]
    assert found[0]["store"] == str(source)
    done, lines = lines_of(hone, *words)
    assert done.returncode == 0 and lines[-1] == "100/100"


@pytest.mark.parametrize("command", ["convert", "compare", "digest"])
def test_a_limit_of_the_rate_is_kept(hone, image, out, command):
    """The last chunk is read when it is due, and is not waited for."""
    if command == "digest":
        hone.need("OpenSSL")
    source = image("all_data")
    last = {"convert": [out / "d"], "compare": [source], "digest": []}[command]
    _, found = json_lines(hone, command, "--rate-limit", "16M", source, *last)
    assert found[-1]["rate"] < 32 << 20


def test_lines_of_json_go_to_stderr_without_a_descriptor(hone, image, out):
    done = hone.run("convert", "-q", "--progress-json", image("mixed"), out / "d")
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 0 and not done.stdout
    assert json.loads(lines[0])["bytes"] == 0
    assert json.loads(lines[-1])["phase"] == "done"


def test_lines_of_json_of_a_failure_are_never_done(hone, image, out):
    done = hone.run("convert", "--progress-json", image("all_data"), out / "d",
                    before=LIMITED)
    *lines, said = done.stderr.decode().splitlines()
    assert done.returncode == 1 and said.startswith("hone: ")
    assert lines and "done" not in {json.loads(line)["phase"] for line in lines}


@pytest.mark.parametrize("times", [1, 3])
def test_a_question_by_signal_is_answered_by_a_line(hone, image, out, times):
    """SIGUSR1, as with dd. The work goes on."""
    source = image("filled_ext4")
    with Stalled(hone, "convert", "-q", source, out / "d") as held:
        answers = b""
        for number in range(times):
            held.process.send_signal(signal.SIGUSR1)
            while answers.count(b"\n") <= number:
                part = os.read(held.process.stderr.fileno(), 4096)
                assert part, held.process.poll()
                answers += part
        assert held.go_on() == (0, b"", b"")
    lines = answers.decode().splitlines()
    assert len(lines) == times
    for line in lines:
        assert re.fullmatch(
            r"hone: read: \d+(\.\d)? [KM]?i?[Bb]y?t?e?s? of [\d.]+ MiB "
            r"\(\d+ %\)(, [\d.]+ [KMG]iB/s(, [\d:]+ left)?)?", line), line
    assert_same(source, out / "d", "raw")


@pytest.mark.parametrize("command", ["convert", "compare", "digest"])
def test_a_question_before_the_first_answer_is_answered(hone, small, out, command):
    """Of a server that never answers, perhaps."""
    hone.need("libcurl")
    if command == "digest":
        hone.need("OpenSSL")
    others = {"convert": [out / "d"], "compare": [small], "digest": []}
    with listening() as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/a"
        process = hone.start(command, url, *others[command])
        with process, listener.accept()[0]:
            process.send_signal(signal.SIGUSR1)
            assert process.stderr.readline() == b"hone: open: 0 bytes\n"
            process.kill()


@pytest.mark.parametrize("command", ["info", "check", "map", "digest"])
def test_a_question_ends_no_other_command(hone, small, command):
    if command == "digest":
        hone.need("OpenSSL")
    data = small.read_bytes()
    reader, writer = os.pipe()
    with subprocess.Popen([hone.path, command, "-"],
                          stdin=reader, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=ENV) as process:
        os.write(writer, data[:100])
        # A command that has read from the pipe has begun.
        while fcntl.ioctl(reader, termios.FIONREAD, b"\0" * 4) != b"\0" * 4:
            assert process.poll() is None
            time.sleep(0.001)
        os.close(reader)
        process.send_signal(signal.SIGUSR1)
        try:
            with open(writer, "wb") as pipe:
                pipe.write(data[100:])
        except BrokenPipeError:
            pass
        said, error = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0 and said
    assert re.fullmatch(rb"(hone: [^\n]+\n)?", error), error


def test_compare_of_what_differs_never_reaches_100(hone, image, work):
    other = write(work, "other", image("all_data").read_bytes()[:-1] + b"x")
    done, lines = lines_of(hone, "compare", image("all_data"), other)
    assert done.returncode == 1 and done.stdout
    assert lines and "100/100" not in lines


@pytest.mark.parametrize("options", [[], ["--json"]], ids=str)
@pytest.mark.parametrize("command", ["convert", "compare"])
def test_100_means_that_the_report_is_written_too(hone, image, out, command, options):
    source = image("all_data")
    with open("/dev/full", "wb") as full:
        done, lines = lines_of(
            hone, command, *options, source,
            out / "d" if command == "convert" else source, stdout=full)
    assert done.returncode == failure(command)
    assert done.stderr.startswith(b"hone: ")
    assert lines and "100/100" not in lines
    if command == "convert":
        assert_same(source, out / "d", "raw")


def test_progress_of_a_failure_never_reaches_100(hone, image, out):
    done, lines = lines_of(hone, "convert", image("all_data"), out / "d", before=LIMITED)
    assert done.returncode == 1 and "100/100" not in lines
    assert not os.listdir(out)


@pytest.mark.parametrize("call", ["fsync", "linkat"])
def test_100_means_that_all_is_on_disk(hone, strace, small, out, call):
    """Not that the last byte was handed to the kernel."""
    done, lines = lines_of(hone, "convert", small, out / "d", before=[
        *strace, "-qq", "-o", "/dev/null", "-e", f"inject={call}:error=EIO"])
    assert done.returncode == 1 and lines
    assert "100/100" not in lines


def test_a_file_that_may_not_be_so_long_fails_before_the_copy(hone, image, out):
    done, lines = lines_of(hone, "convert", image("empty_8_tib_but_its_end"),
                           out / "d", before=LIMITED)
    assert done.returncode == 1 and not lines
    assert b"bytes: File too large" in done.stderr
    assert not os.listdir(out)


def test_a_descriptor_that_is_not_open_is_refused(hone, small, out):
    done = hone.run("convert", "--progress-fd", "777", small, out / "d")
    assert done.returncode in (1, 2)
    assert done.stderr.startswith(b"hone: ")
    assert not os.listdir(out)


def test_a_descriptor_that_cannot_be_written_does_no_harm(hone, small, out):
    for number in range(3, 10):
        hone.misused("convert", "--progress-fd", str(number), small, out / "d")
    with open(small, "rb") as reader:
        hone.misused("convert", "--progress-fd", str(reader.fileno()),
                     small, out / "d", pass_fds=[reader.fileno()])
    assert not os.listdir(out)


def test_a_reader_of_progress_who_leaves_does_no_harm(hone, image, out):
    """The work goes on without."""
    reader, writer = os.pipe()
    os.close(reader)
    hone.ok("convert", "-q", image("all_data"), out / "d",
            "--progress-fd", str(writer), pass_fds=[writer])
    os.close(writer)
    assert_same(image("all_data"), out / "d", "raw")


def test_a_signal_in_the_midst_keeps_what_force_would_replace(hone, image, out):
    (out / "d").write_bytes(b"precious")
    with Stalled(hone, "convert", "--force", image("filled_ext4"), out / "d") as held:
        held.process.send_signal(signal.SIGTERM)
        assert held.process.wait(timeout=1000) == -signal.SIGTERM
    assert os.listdir(out) == ["d"]
    assert (out / "d").read_bytes() == b"precious"


class Deaf:
    """The command, started with a signal ignored."""

    def __init__(self, hone, number):
        self.hone, self.number = hone, number

    def start(self, *args, **kwargs):
        """As Hone.start()."""
        return self.hone.start(*args, preexec_fn=lambda: signal.signal(
            self.number, signal.SIG_IGN), **kwargs)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_ignored_by_the_parent_stays_ignored(hone, image, out, number):
    """As SIGHUP under nohup. The question of SIGUSR1 gets no answer."""
    source = image("filled_ext4")
    with Stalled(Deaf(hone, number), "convert", "-q", source, out / "d") as held:
        held.process.send_signal(number)
        assert held.go_on() == (0, b"", b"")
    assert_same(source, out / "d", "raw")


@pytest.mark.parametrize("fmt", ["raw", "qcow2"])
@pytest.mark.parametrize("left", [0, 1, 5000, 1 << 20])
def test_a_source_cut_meanwhile_is_an_error_and_no_crash(
        hone, image, out, work, fmt, left, threads):
    source = write(work, "cut.img", image("filled_ext4").read_bytes())
    with Stalled(hone, "convert", "--threads", threads, "-O", fmt, source,
                 out / "d") as held:
        os.truncate(source, left)
        status, said, error = held.go_on()
    assert (status, said) == (1, b"")
    assert str(source) in error_line(error)
    assert not os.listdir(out)


def change_meanwhile(hone, out, path, change, command, *words):
    """The file is changed while the command is held: that is an error."""
    with Stalled(hone, command, *words) as held:
        with held.stopped():
            change(path)
        status, said, error = held.go_on()
    assert (status, said) == (failure(command), b""), error
    assert f"{path}: changed while it was read" in error_line(error)
    assert not os.listdir(out)


def cut(path):
    """Cut a file."""
    os.truncate(path, 5000)


def regrow(path):
    """Cut a file, and make it as long as before: what was cut off is zeros."""
    size = os.stat(path).st_size
    cut(path)
    os.truncate(path, size)


def grow(path):
    """Make a file longer."""
    os.truncate(path, os.stat(path).st_size + 4096)


def touch(path):
    """Write the first byte, which was read, and the last one."""
    with open(path, "r+b") as file:
        file.write(b"x")
        file.seek(-1, os.SEEK_END)
        file.write(b"x")


@pytest.mark.parametrize("change", [cut, regrow, grow, touch])
@pytest.mark.parametrize("words", [
    ["convert", "-m", "1", "SRC", "DST"],
    ["convert", "-m", "3", "-O", "qcow2", "SRC", "DST"],
    ["convert", "-m", "1", "--expect", "SUM", "SRC", "DST"],
    ["compare", "SRC", "OTHER"], ["compare", "OTHER", "SRC"], ["digest", "SRC"]],
    ids=" ".join)
def test_a_source_that_changes_meanwhile_is_an_error(
        hone, image, out, work, words, change):
    if "SUM" in words or "digest" in words:
        hone.need("OpenSSL")
    source, other = work / "busy.img", image("filled_ext4")
    source.write_bytes(other.read_bytes())
    right = hashlib.sha256(source.read_bytes()).hexdigest()
    names = {"SRC": source, "DST": out / "d", "OTHER": other, "SUM": f"sha256:{right}"}
    with Stalled(hone, *(names.get(word, word) for word in words)) as held:
        with held.stopped():
            change(source)
        status, said, error = held.go_on()
    line = error_line(error)
    assert said == b"" and str(source) in line
    # The file of another digest is refused.
    assert status in (failure(words[0]), 3 if "SUM" in words else None), line
    if change is not cut and "SUM" not in words:
        assert f"{source}: changed while it was read" in line
    assert not os.listdir(out)


def spoil_tables(path):
    """Overwrite all L2 tables of a qcow2 image."""
    with open(path, "r+b") as file:
        for table in Qcow2(path).l2_at:
            os.pwrite(file.fileno(), b"\xff" * 4096, table)


def spoil_end(path):
    """Overwrite the last two thirds of a file."""
    with open(path, "r+b") as file:
        size = os.fstat(file.fileno()).st_size
        os.pwrite(file.fileno(), b"\xff" * (size - size // 3), size // 3)


@pytest.mark.parametrize("command", ["convert", "digest", "compare"])
def test_tables_that_change_meanwhile_are_no_damage(hone, image, out, work, command):
    """A table is read when the disk has reached it."""
    source = work / "busy.qcow2"
    hone.ok("convert", "-q", "-O", "qcow2", "-o", "cluster_size=4096",
            image("filled_ext4"), source)
    more = {"convert": [out / "d"], "compare": [image("filled_ext4")]}
    change_meanwhile(hone, out, source, spoil_tables, command, "-m", "1", source,
                     *more.get(command, ()))


@pytest.mark.parametrize("kind", ["backing", "xz", "tar.xz"])
def test_files_below_that_change_meanwhile_are_no_damage(hone, out, work, kind):
    """The packed file has changed, or the file that the image names."""
    plain = write(work, "disk.raw", random.Random(7).randbytes(128 << 10) * 64)
    words = []
    if kind == "backing":
        changed = work / "base.qcow2"
        hone.ok("convert", "-q", "-O", "qcow2", "-o", "cluster_size=4096",
                plain, changed)
        source = work / "top.qcow2"
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-F",
                        "qcow2", "-b", changed, source], check=True)
        words = ["--allow-backing", work]
    else:
        source = changed = work / f"disk.raw.{kind}"
        if kind == "tar.xz":
            source = changed = work / "disk.tar.xz"
            subprocess.run(["tar", "-C", work, "-cf", work / "disk.tar",
                            plain.name], check=True)
            plain = work / "disk.tar"
        subprocess.run(["xz", "-0", "-T2", "--block-size=1MiB", "-k", plain],
                       check=True)
    change_meanwhile(hone, out, changed,
                     spoil_tables if kind == "backing" else spoil_end,
                     "convert", "-m", "1", *words, source, out / "d")


# The progress bar on a terminal.


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
        # A terminal that nobody has open any more ends with EIO.
        with contextlib.suppress(OSError):
            while part := os.read(self.master, 65536):
                self.shown += part

    def close(self):
        """Read the rest; all that was shown."""
        os.close(self.slave)
        self.drain()
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


def test_an_error_stands_on_a_line_of_its_own_after_the_bar(hone, image, out):
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
def test_a_bar_never_fills_a_line_of_the_terminal(hone, image, out, columns):
    """In the last column some terminals go to the next line already."""
    shown = on_terminal(hone, "convert", image("filled_ext4"), out / "d",
                        columns=columns)
    parts = [part for part in shown.decode().split("\n")[0].split("\r") if part.strip()]
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


@pytest.fixture
def held_at_the_end(hone, strace, image, out, tmp_path):
    """A terminal with the bar of a command that has stopped in its fsync; the process
    of strace, and that of the command."""
    terminal, log = Terminal(60), tmp_path / "log"
    process = subprocess.Popen(
        [*strace, "-qq", "-o", log, "-e", "trace=fsync", "-e",
         "inject=fsync:signal=SIGSTOP:when=1", hone.path, "convert",
         image("filled_ext4"), out / "d"],
        env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=terminal.slave)
    terminal.read_until(b"%")
    while not log.exists() or b"stopped by SIGSTOP" not in log.read_bytes():
        assert process.poll() is None
        time.sleep(0.001)
    with open(f"/proc/{process.pid}/task/{process.pid}/children",
              encoding="ascii") as children:
        return terminal, process, int(children.read().split()[0])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT,
                                    signal.SIGRTMIN], ids=str)
def test_a_signal_clears_the_bar(held_at_the_end, out, number):
    terminal, process, child = held_at_the_end
    os.kill(child, number)
    os.kill(child, signal.SIGCONT)
    assert process.wait(timeout=1000) == -number
    shown = terminal.close()
    assert b"%" in shown
    assert seen(shown) == [""]
    assert not os.listdir(out)


def test_a_bar_in_a_window_that_became_narrow_is_cleared_within_it(held_at_the_end):
    terminal, process, child = held_at_the_end
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


def test_a_wide_terminal_has_the_rate_and_the_time_that_is_left(hone, image, out):
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
