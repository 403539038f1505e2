# SPDX-License-Identifier: BSD-3-Clause
"""Images that other processes have open: QEMU's locks, QEMU itself."""
import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess

import pytest

from harness import Stalled, assert_same, need, write

# What a process does with an image, and what it forbids: QEMU's bytes.
READ, WRITE, RESIZE = 100, 101, 103
NO_READ, NO_WRITE, NO_RESIZE = 200, 201, 203
WRITER = (READ, WRITE, RESIZE, NO_WRITE, NO_RESIZE)


def lock(fd, byte, kind=fcntl.F_RDLCK, command=fcntl.F_OFD_SETLK):
    """Lock a byte, or ask who has; returns the kind that fcntl gives back."""
    asked = struct.pack("hhqqi", kind, os.SEEK_SET, byte, 1, 0)
    return struct.unpack("hhqqi", fcntl.fcntl(fd, command, asked))[0]


@contextlib.contextmanager
def locked(path, bytes_locked, kind=fcntl.F_RDLCK):
    """The file, with these bytes locked by this process."""
    fd = os.open(path, os.O_RDWR)
    try:
        for byte in bytes_locked:
            lock(fd, byte, kind)
        yield fd
    finally:
        os.close(fd)


def commands(source, out):
    """Every command that reads an image."""
    other = write(out, "other", source.read_bytes())
    return (["convert", source, out / "d"], ["map", source],
            ["info", source], ["compare", source, other],
            ["compare", other, source])


@pytest.mark.parametrize("held", [WRITER, (WRITE,), (RESIZE,), (NO_READ,)], ids=str)
def test_a_source_that_another_process_may_write_is_refused(hone, small, out, held):
    with locked(small, held):
        for words in commands(small, out):
            said = hone.fails(*words)
            assert str(small) in said and "another process" in said, said
            assert "--force-share" in said
        assert os.listdir(out) == ["other"]


@pytest.mark.parametrize("option", ["-U", "--force-share"])
def test_force_share_reads_it_all_the_same(hone, small, out, option):
    with locked(small, WRITER + (NO_READ,)):
        for words in commands(small, out):
            hone.ok(*words, option)
    assert_same(small, out / "d", "raw")


def test_one_image_compared_with_itself_is_no_conflict(hone, small):
    hone.ok("compare", small, small)


@pytest.mark.parametrize("error", ["EINVAL", "ENOLCK", "ENOSYS", "EOPNOTSUPP"])
def test_a_file_system_without_locks_is_no_obstacle(hone, strace, small, error):
    hone.ok("info", small, before=[
        *strace, "-qq", "-o", "/dev/null", "-e", "trace=fcntl", "-e",
        f"inject=fcntl:error={error}:when=4+"])


def test_a_lock_that_fails_otherwise_is_an_error(hone, strace, small):
    said = hone.fails("info", small, before=[
        *strace, "-qq", "-o", "/dev/null", "-e", "trace=fcntl", "-e",
        "inject=fcntl:error=EIO:when=4+"])
    assert "cannot be locked: Input/output error" in said


@contextlib.contextmanager
def qemu_nbd(path, *options):
    """qemu-nbd serving an image."""
    need("qemu-nbd")
    socket, pid = path.with_suffix(".sock"), path.with_suffix(".pid")
    subprocess.run(["qemu-nbd", "--fork", "-t", "-k", str(socket),
                    "--pid-file", str(pid), *options, str(path)], check=True)
    number = int(pid.read_text())
    try:
        yield
    finally:
        watch = os.pidfd_open(number)
        # It loses a SIGTERM that comes early.
        os.kill(number, signal.SIGKILL)
        select.select([watch], [], [])
        os.close(watch)


@pytest.fixture
def qcow2(small, out):
    """A qcow2 image in a directory of its own."""
    path = out.parent / "vm" / "disk.qcow2"
    path.parent.mkdir()
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2",
                    str(small), str(path)], check=True)
    return path


def test_an_image_that_qemu_nbd_serves_for_writing_is_refused(hone, qemu_img, qcow2):
    with qemu_nbd(qcow2, "-f", "qcow2"):
        said = hone.fails("info", qcow2)
        assert "is open for writing in another process" in said
        hone.ok("info", "-U", qcow2)
    hone.ok("info", qcow2)


def test_an_image_that_qemu_nbd_only_reads_is_shared(hone, qemu_img, qcow2):
    with qemu_nbd(qcow2, "-f", "qcow2", "-r"):
        hone.ok("info", qcow2)


def test_an_image_that_qemu_io_writes_is_refused(hone, qemu_img, small):
    need("qemu-io")
    with subprocess.Popen(["qemu-io", "-f", "raw", str(small)],
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        process.stdin.write(b"write 0 512\n")
        process.stdin.flush()
        while b"wrote" not in process.stdout.readline():
            pass
        assert "another process" in hone.fails("map", small)
        process.communicate(b"quit\n")
    hone.ok("map", small)


def test_qemu_does_not_write_what_is_being_read(hone, qemu_img, image, work, out):
    source = write(work, "busy.img", image("filled_ext4").read_bytes())
    with Stalled(hone, "convert", "-q", source, out / "d") as held:
        status, said = qemu_img("resize", "-f", "raw", str(source), "+1M")
        assert status != 0 and "lock" in said, said
        assert held.go_on()[0] == 0
    assert_same(source, out / "d", "raw")
