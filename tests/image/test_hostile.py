# SPDX-License-Identifier: BSD-3-Clause
"""Hostile qcow2 images: one sentence, no output, bounded time and memory."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading

import pytest

from harness import ENV, error_line, need
from hostile import DEFECTS, make_image
from qcow2_builder import Builder, KI, MI

# A guard against an endless loop alone, many times what a slow machine takes:
# the bounds are those of memory and of what is read.
WALL_SECONDS = 1000
MEMORY = 400 * MI
READ = 64 * MI
# tmpfs has them, and the largest files of other file systems
FILE_SIZE_ERRORS = ("File too large", "Invalid argument")


def bytes_read(pid):
    """By a process that has ended, and was not waited for."""
    with open(f"/proc/{pid}/io", encoding="ascii") as file:
        return int(file.readline().split()[1])


class Judge:
    """Runs the command on one image, with bounds."""

    def __init__(self, hone, folder, memory=MEMORY, read=READ):
        self.path = hone.path
        self.memory = memory
        # Bytes: by one run at most, and by the last one. A page of a hole
        # counts as one of data: the kernel has to find memory for it.
        self.most_read = read
        self.read = None
        self.folder = folder
        self.image = folder / "image.qcow2"
        self.sanitized = hone.sanitized

    def run(self, *args):
        """(status, stdout, stderr)."""
        # By prlimit: a preexec_fn makes Python fork, which takes 5 ms more.
        limits = ["prlimit", "--core=0:0"]
        if not self.sanitized:
            limits += [f"--as={self.memory}:{self.memory}"]
        # Each arena would count as 64 MiB.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            with subprocess.Popen(
                    [*limits, self.path, *map(str, args)],
                    env=dict(ENV, MALLOC_ARENA_MAX="1"), cwd=self.folder,
                    stdin=subprocess.DEVNULL, stdout=out,
                    stderr=err) as child:
                guard = threading.Timer(WALL_SECONDS, child.kill)
                guard.start()
                os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
                guard.cancel()
                self.read = bytes_read(child.pid)
            out.seek(0)
            err.seek(0)
            found = child.returncode, out.read(), err.read()
        assert found[0] != -signal.SIGKILL, f"{args} is endless"
        assert self.read <= self.most_read, (args, self.read)
        return found

    def refused(self, status, part, *args):
        """One sentence that names the image and has that part."""
        code, out, err = self.run(*args)
        line = error_line(err)
        assert code == status, (args, code, line)
        assert part in line, (args, line)
        assert str(self.folder) in line, line
        return out

    def reads(self, *args):
        """Success without a word on stderr."""
        code, out, err = self.run(*args)
        assert (code, err) == (0, b""), (args, code, err)
        return out

    def calls(self, names, *args):
        """System calls of these names, which strace counts."""
        need("strace")
        log = self.folder / "log"
        subprocess.run(["strace", "-f", "-e", f"trace={names}", "-o", log, self.path,
                        *args], check=True, env=ENV, stdout=subprocess.DEVNULL)
        return len(log.read_text().splitlines())

    def refuses(self, status, part, *forms, reader="map"):
        """convert, the reader and compare, with one sentence and no output."""
        out = self.folder / "out"
        out.mkdir()
        self.refused(status, part, "convert", *forms, self.image, out / "disk.qcow2")
        assert not list(out.iterdir())
        self.refused(status, part, reader, *forms, self.image)
        assert not self.refused(max(status, 2), part, "compare", *forms, self.image,
                                self.image)

    def converts(self, *forms, more=()):
        """convert, map and compare; more: words of convert."""
        copy = self.folder / "copy.qcow2"
        self.reads("convert", "-q", *forms, *more, self.image, copy)
        self.reads("map", *forms, self.image)
        self.reads("compare", *forms, "-F", "qcow2", self.image, copy)

    def failed(self, *forms):
        """{name: text} of the tests of hone check that fail."""
        code, out, err = self.run("check", "--json", *forms, self.image)
        failed = {each["name"]: each["text"] for each in json.loads(out)["checks"]
                  if not each["passed"]}
        assert (code, err) == (1 if failed else 0, b""), (code, out, err)
        return failed

    def info(self, part, works, status):
        """info."""
        if works:
            json.loads(self.reads("info", "--json", "-f", "qcow2", self.image))
        else:
            # The header is shown if the fault is in what follows it.
            out = self.refused(status, part, "info", "--json", "-f", "qcow2",
                               self.image)
            assert not out or part in json.loads(out)["fault"]


@pytest.mark.parametrize("name", DEFECTS)
def test_a_hostile_image(hone, tmp_path, name):
    """Every command refuses it with one sentence, or reads it, as its row
    says. A FIFO lies where the image names a file: whoever opens that,
    waits."""
    one = DEFECTS[name]
    os.mkfifo(tmp_path / "decoy")
    (tmp_path / "small").write_bytes(b"small")
    try:
        make_image(name, tmp_path / "image.qcow2")
    except OSError as error:
        if any(words in str(error) for words in FILE_SIZE_ERRORS):
            pytest.skip(f"no such file here: {error}")
        raise
    before = (tmp_path / "image.qcow2").stat()
    judge = Judge(hone, tmp_path, read=one.read)
    options = [word.replace("{folder}", str(tmp_path)) for word in one.options]
    forms = ["-f", "qcow2", *options]
    if one.part:
        judge.refuses(one.status, one.part, *forms)
    else:
        judge.converts(*forms, more=one.convert)
    judge.info(one.part, one.info, one.status)
    if one.check is None:
        assert not judge.refused(2, "", "check", "--json", "-f", "qcow2", judge.image)
    else:
        assert sorted(judge.failed("-f", "qcow2")) == sorted(one.check)
    after = (tmp_path / "image.qcow2").stat()
    assert (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)
    shutil.rmtree(tmp_path)


@pytest.mark.parametrize("name", [name for name, one in DEFECTS.items() if one.decoy])
def test_what_an_image_names_is_not_opened(hone, tmp_path, name):
    """Seen from the kernel: no system call opens the file."""
    need("strace")
    one = DEFECTS[name]
    os.mkfifo(tmp_path / "decoy")
    (tmp_path / "small").write_bytes(b"small")
    make_image(name, tmp_path / "image.qcow2")
    options = [word.replace("{folder}", str(tmp_path)) for word in one.options]
    for words in (["convert", *options, "image.qcow2", "out.raw"],
                  ["info", "image.qcow2"], ["check", "image.qcow2"]):
        done = subprocess.run(
            ["strace", "-f", "-e", "trace=open,openat,openat2", "-o", "trace",
             hone.path, *words], cwd=tmp_path, env=ENV, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, timeout=1000)
        assert (done.returncode == 0) == (words[0] == "info")
        for line in (tmp_path / "trace").read_text().splitlines():
            opened = "ENOENT" not in line and "O_PATH" not in line
            assert not ("decoy" in line and opened), line
            assert not ("/etc/passwd" in line and opened), line
            assert not ("/dev/zero" in line and opened), line


def test_the_builder_makes_sound_images(hone, tmp_path):
    """What the defects begin with, by hone and by qemu-img."""
    for number, options in enumerate([
            {}, {"version": 2}, {"bits": 16}, {"bits": 9, "size": 16 * KI},
            {"bits": 21}, {"bits": 14, "extended": True}]):
        image = tmp_path / f"{number}.qcow2"
        Builder(**options).write(image)
        hone.ok("check", "-q", image)
        hone.ok("convert", "-q", image, tmp_path / f"{number}.raw")
        if shutil.which("qemu-img"):
            for words in (["check", "-q", image],
                          ["compare", "-q", image, tmp_path / f"{number}.raw"]):
                subprocess.run(["qemu-img", *words], check=True)


def special_files(folder):
    """What is no image by its kind."""
    os.mkfifo(folder / "fifo")
    (folder / "loop").symlink_to("loop")
    (folder / "nowhere").symlink_to("absent")
    (folder / "device").symlink_to("/dev/zero")
    (folder / "folder").mkdir()
    return ["fifo", "loop", "nowhere", "device", "folder"]


def test_files_that_are_no_images(hone, tmp_path):
    """A FIFO without a writer would wait for ever, /dev/zero never end."""
    judge = Judge(hone, tmp_path)
    (tmp_path / "good").write_bytes(bytes(4096))
    for name in special_files(tmp_path):
        path = tmp_path / name
        for fmt in ([], ["-f", "qcow2"], ["-f", "raw"]):
            judge.refused(1, name, "convert", *fmt, path, tmp_path / "out")
            judge.refused(1, name, "info", *fmt, path)
            judge.refused(1, name, "map", *fmt, path)
            judge.refused(2, name, "compare", *fmt, path, tmp_path / "good")
            judge.refused(2, name, "compare", tmp_path / "good", path)
            judge.refused(2, name, "check", *fmt, path)
        assert not (tmp_path / "out").exists()


def test_an_image_that_shrinks_while_it_is_read(hone, tmp_path):
    """Never a crash, never zeros in place of data."""
    image = Builder(bits=16, size=64 * MI)
    for index in range(5, 400):
        image.l2(index, image.allocate() | 1 << 63)
        image.body[(len(image.counts) - 1) * image.cluster] = b"x" * 65536
    judge = Judge(hone, tmp_path)
    for length in (0, 100, 5 * 65536, 200 * 65536):
        image.write(judge.image)
        timer = threading.Timer(0.01, os.truncate, [judge.image, length])
        timer.start()
        code, _, err = judge.run("convert", "-q", "--force", judge.image,
                                 tmp_path / "out.raw")
        timer.join()
        assert code in (0, 1, 3) and code != -signal.SIGBUS
        if code:
            error_line(err)
        else:
            written = (tmp_path / "out.raw").read_bytes()
            assert written[5 * 65536:400 * 65536].count(b"x") == 395 * 65536
