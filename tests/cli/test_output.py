# SPDX-License-Identifier: BSD-3-Clause
"""The new file: it leaves nothing, and is refused before the copy begins.
Places that are full, read-only or limited; devices as sources."""
import contextlib
import ctypes
import fcntl
import os
import signal
import subprocess
import tempfile

import pytest

from harness import Stalled, assert_same, error_line, snapshot, write
from test_device import attach, loop  # pylint: disable=unused-import
from test_locks import READ, lock, locked, qemu_nbd
from test_qcow2 import xfs  # pylint: disable=unused-import
from without import NO_TMPFILE, Without

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT,
           signal.SIGALRM, signal.SIGUSR2, signal.SIGXCPU, signal.SIGVTALRM,
           signal.SIGPROF, signal.SIGIO, signal.SIGPWR, signal.SIGSTKFLT,
           signal.SIGRTMIN, signal.SIGRTMIN + 1, signal.SIGRTMAX]


@pytest.mark.parametrize("number", SIGNALS, ids=str)
def test_a_signal_leaves_no_temporary_file(either, image, out, number):
    with Stalled(either, "convert", image("filled_ext4"), out / "d") as held:
        held.process.send_signal(number)
        assert held.process.wait(timeout=1000) == -number
    assert not os.listdir(out)


def test_no_file_is_made_among_devices(hone, small, out):
    """It would take memory, and the device would stay as it was."""
    made = "/dev/hone-nosuch"
    (out / "devices").symlink_to("/dev")
    for name in made, out / "devices" / "hone-nosuch":
        try:
            said = hone.fails("convert", small, name)
            assert said == (f"hone: {name}: does not exist; hone makes no "
                            f"file in /dev")
            assert not os.path.lexists(made)
        finally:
            if os.path.lexists(made):
                os.unlink(made)


def test_a_file_is_made_in_shared_memory(hone, small):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        hone.ok("convert", "-q", small, folder + "/d")
        assert_same(small, folder + "/d", "raw")


def test_a_kill_leaves_nothing_where_a_file_needs_no_name(hone, image, out):
    with Stalled(hone, "convert", image("filled_ext4"), out / "d") as held:
        assert not os.listdir(out)
        held.process.kill()
    assert not os.listdir(out)


@pytest.mark.parametrize("name, begin", [
    ("d", ".d.hone-"), ("a" + "€" * 84, ".a€€")], ids=["short", "long"])
def test_a_temporary_file_has_a_name_that_tells_whose_it_is(
        hone, image, out, name, begin):
    """A long name is not cut within a character."""
    with Stalled(Without(hone, NO_TMPFILE), "convert", image("filled_ext4"),
                 out / name) as held:
        found, = os.listdir(os.fsencode(out))
        held.process.kill()
    assert found.decode("utf-8").startswith(begin)


def test_without_proc_a_file_has_a_temporary_name(hone, small, out):
    """linkat() finds a file that has none by way of /proc."""
    with open(hone.path, "rb") as file:
        if b"__asan_init" in file.read():
            pytest.skip("the sanitizer needs /proc")
    before = ["unshare", "-m", "sh", "-c",
              'mount -t tmpfs none /proc && exec "$@"', "sh"]
    if hone.run("--version", before=before).returncode:
        pytest.skip("may not mount, or the library is found by $ORIGIN")
    hone.ok("convert", "-q", small, out / "d", before=before)
    hone.ok("convert", "-q", "--force", small, out / "d", before=before)
    assert os.listdir(out) == ["d"]
    assert_same(small, out / "d", "raw")


@pytest.mark.parametrize("how", ["moved", "replaced"])
def test_a_directory_moved_meanwhile_is_an_error_that_leaves_nothing(
        either, image, work, out, how):
    with Stalled(either, "convert", image("filled_ext4"), out / "d") as held:
        os.rename(out, work / "moved")
        if how == "replaced":
            out.mkdir()
        status, _, error = held.go_on()
    assert status == 1
    assert "its directory" in error_line(error)
    assert not os.listdir(work / "moved")
    assert how == "moved" or not os.listdir(out)


def test_a_signal_after_its_directory_was_moved_leaves_nothing(
        either, image, work, out):
    with Stalled(either, "convert", image("filled_ext4"), out / "d") as held:
        os.rename(out, work / "moved")
        held.process.terminate()
        assert held.process.wait(timeout=1000) == -signal.SIGTERM
    assert not os.listdir(work / "moved")


@contextlib.contextmanager
def appears(hone, source, target, *options):
    """A forced conversion; what appears meanwhile; its status and error."""
    result = {}
    with Stalled(hone, "convert", "--force", *options, source, target) as held:
        yield result
        result["status"], _, result["error"] = held.go_on()


def put(path, mode):
    """A new file in the place of what is there."""
    other = path.with_name("e")
    other.write_bytes(b"new")
    os.chmod(other, mode)
    os.rename(other, path)


# The mode of the file before, what happens to it meanwhile, and its mode then.
MEANWHILE = {
    "appears": (None, lambda path: put(path, 0o640), 0o640),
    "is another one": (0o666, lambda path: put(path, 0o600), 0o600),
    "has another mode": (0o644, lambda path: os.chmod(path, 0o600), 0o600),
    "disappears": (0o640, os.unlink, 0o640),
}


@pytest.mark.parametrize("before, happen, after", MEANWHILE.values(), ids=MEANWHILE)
def test_force_replaces_what_is_there_in_the_end_and_keeps_its_mode(
        either, image, out, before, happen, after):
    source = image("filled_ext4")
    if before:
        put(out / "d", before)
    with appears(either, source, out / "d") as result:
        happen(out / "d")
    assert result == {"status": 0, "error": b""}
    assert os.listdir(out) == ["d"]
    assert os.stat(out / "d").st_mode & 0o777 == after
    assert_same(source, out / "d", "raw")


APPEARANCES = {
    "the source": (lambda source, path: os.link(source, path), "is the source itself"),
    "a directory": (lambda source, path: os.mkdir(path), "is a directory"),
    "a fifo": (lambda source, path: os.mkfifo(path), "is not a regular file"),
    "a link": (lambda source, path: os.symlink(source, path), "symbolic link"),
}


@pytest.mark.parametrize("make, said", APPEARANCES.values(), ids=APPEARANCES)
def test_what_appears_meanwhile_is_judged_before_force_replaces_it(
        either, image, work, out, make, said):
    source = write(work, "source.img", image("filled_ext4").read_bytes())
    with appears(either, source, out / "d") as result:
        make(source, out / "d")
        before = snapshot(out)["d"]
    assert result["status"] == 1
    assert said in error_line(result["error"])
    assert snapshot(out) == {"d": before}


def test_an_image_opened_meanwhile_is_not_replaced(either, image, out):
    with appears(either, image("filled_ext4"), out / "d") as result:
        (out / "d").write_bytes(b"precious")
        fd = os.open(out / "d", os.O_RDWR)
        lock(fd, READ)
    os.close(fd)
    assert result["status"] == 1
    assert "is in use by another process" in error_line(result["error"])
    assert (out / "d").read_bytes() == b"precious"


@pytest.mark.parametrize("byte", [100, 101, 103, 200, 201, 203])
def test_an_image_that_another_process_uses_is_not_replaced(hone, small, out, byte):
    (out / "d").write_bytes(b"precious")
    with locked(out / "d", (byte,)):
        said = hone.fails("convert", "--force", small, out / "d")
        assert "is in use by another process" in said
    assert (out / "d").read_bytes() == b"precious"
    assert os.listdir(out) == ["d"]
    hone.ok("convert", "-q", "--force", small, out / "d")


@pytest.mark.parametrize("options", [[], ["-r"]], ids=str)
def test_an_image_that_qemu_nbd_serves_is_not_replaced(hone, small, work, options):
    folder = work / "vm"
    folder.mkdir()
    path = write(folder, "disk.img", small.read_bytes())
    with qemu_nbd(path, "-f", "raw", *options):
        said = hone.fails("convert", "--force", small, path)
        assert "is in use by another process" in said


def test_what_is_being_replaced_cannot_be_opened_by_qemu(hone, qemu_img, image, out):
    (out / "d").write_bytes(bytes(1 << 20))
    with Stalled(hone, "convert", "-q", "--force", image("filled_ext4"),
                 out / "d") as held:
        for words in (["resize", "-f", "raw", str(out / "d"), "+1M"],
                      ["convert", "-f", "raw", str(out / "d"), str(out / "e")]):
            status, said = qemu_img(*words)
            assert status != 0 and "lock" in said, said
        assert held.go_on()[0] == 0
    assert qemu_img("resize", "-f", "raw", str(out / "d"), "+1M")[0] == 0


def test_a_path_as_long_as_the_kernel_takes_is_fine(either, small, work):
    here = os.open(work, os.O_RDONLY)
    path, limit = str(work), os.pathconf(work, "PC_PATH_MAX")
    while len(path) < limit - 250:
        os.mkdir("x" * 200, dir_fd=here)
        deeper = os.open("x" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
        path += "/" + "x" * 200
    path += "/" + "d" * (limit - 2 - len(path))
    assert len(path) == limit - 1
    either.ok("convert", "-q", small, path)
    either.ok("convert", "-q", "--force", small, path)
    assert_same(small, path, "raw")
    os.close(here)


IOC_GETFLAGS, IOC_SETFLAGS = 0x80086601, 0x40086602
FLAGS = {"immutable": 0x10, "append-only": 0x20}


def change_flags(path, flag, on):
    """What chattr does; a test that cannot is skipped."""
    fd = os.open(path, os.O_RDONLY)
    value = ctypes.c_long(0)
    try:
        fcntl.ioctl(fd, IOC_GETFLAGS, value)
        value.value = value.value | flag if on else value.value & ~flag
        fcntl.ioctl(fd, IOC_SETFLAGS, value)
    except OSError as error:
        pytest.skip(f"no file attributes here: {error}")
    finally:
        os.close(fd)


@contextlib.contextmanager
def flagged(path, name):
    """A file or directory with an attribute of chattr."""
    change_flags(path, FLAGS[name], True)
    try:
        yield
    finally:
        change_flags(path, FLAGS[name], False)


def refused_at_once(hone, image, out, said, *options):
    """The source is longer than what the pipe of Stalled would let pass."""
    before = snapshot(out)
    reader, writer = os.pipe()
    error = hone.fails("convert", *options, image("filled_ext4"), out / "d",
                       "--progress-fd", str(writer), pass_fds=[writer])
    os.close(writer)
    with open(reader, "rb") as pipe:
        assert not pipe.read(), "the copy began"
    assert said in error, error
    assert snapshot(out) == before


@pytest.mark.parametrize("name", FLAGS)
def test_a_file_that_cannot_be_replaced_is_refused_before_the_copy(
        either, image, out, name):
    (out / "d").write_bytes(b"precious")
    with flagged(out / "d", name):
        refused_at_once(either, image, out, name, "--force")


@pytest.mark.parametrize("options", [[], ["--force"]], ids=str)
def test_an_immutable_directory_is_refused_before_the_copy(either, image, out, options):
    with flagged(out, "immutable"):
        refused_at_once(either, image, out, "its directory is immutable", *options)


def test_an_append_only_directory_takes_new_files_alone(hone, image, small, out):
    (out / "d").write_bytes(b"precious")
    with flagged(out, "append-only"):
        refused_at_once(hone, image, out, "append-only", "--force")
        refused_at_once(Without(hone, NO_TMPFILE), image, out, "append-only", "--force")
        hone.ok("convert", "-q", small, out / "e")
        hone.ok("convert", "-q", "--force", small, out / "f")
        Without(hone, NO_TMPFILE).fails("convert", small, out / "g")
        names = sorted(os.listdir(out))
    assert names == ["d", "e", "f"]


def test_the_space_on_disk_is_told_as_it_is_in_the_end(hone, xfs):
    """XFS allocates beyond the end of a file until it is closed."""
    source = xfs / "source"
    source.write_bytes(os.urandom(1 << 20) * 5)
    for fmt in "raw", "qcow2":
        told = hone.json("convert", "--json", "-O", fmt, source, xfs / fmt)
        found = os.stat(xfs / fmt)
        assert told["disk_usage"] == found.st_blocks * 512
        assert told["file_size"] == found.st_size


def mount(*words):
    """Mount for a test, or skip with what mount said."""
    done = subprocess.run(["mount", *words], stderr=subprocess.PIPE, check=False)
    if done.returncode:
        said = done.stderr.decode().splitlines() or ["mount says nothing"]
        pytest.skip("may not mount: " + said[0])


@pytest.fixture
def tiny(work):
    """A file system of 64 KiB."""
    place = work / "tiny"
    place.mkdir()
    mount("-t", "tmpfs", "-o", "size=64k", "none", str(place))
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("fmt", ["raw", "qcow2"])
def test_a_full_file_system_is_an_error_that_leaves_nothing(hone, small, tiny, fmt):
    said = hone.fails("convert", "-O", fmt, small, tiny / "d")
    assert "No space left" in said
    assert not os.listdir(tiny)
    (tiny / "d").write_bytes(b"precious")
    hone.fails("convert", "--force", "-O", fmt, small, tiny / "d")
    assert snapshot(tiny)["d"][2] == b"precious"
    assert os.listdir(tiny) == ["d"]


def test_a_read_only_file_system_is_an_error(hone, small, tiny):
    mount("-o", "remount,ro", str(tiny))
    assert "ead-only" in hone.fails("convert", small, tiny / "d")


@pytest.mark.parametrize("fmt", ["raw", "qcow2"])
def test_a_file_size_limit_is_an_error_that_leaves_nothing(hone, small, out, fmt):
    """Past the limit the kernel writes short, then sends SIGXFSZ."""
    for limit in ("1", "100", "200"):
        hone.fails("convert", "-O", fmt, small, out / "d",
                   before=["sh", "-c", f'ulimit -f {limit}; exec "$@"', "sh"])
        assert not os.listdir(out)


def test_a_file_as_long_as_any_can_be_may_end_with_data(hone):
    """SEEK_HOLE then gives 2^63, which is negative, and no error."""
    try:
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
            os.truncate(file.fileno(), (1 << 63) - 1)
            # Linux 6.18 does not find data that is in the last page alone.
            os.pwrite(file.fileno(), b"x" * 8192, (1 << 63) - 8193)
            found = hone.json("map", "--json", file.name)
            hone.ok("compare", file.name, file.name)
    except OSError as error:
        pytest.skip(f"no file of 8 EiB in /dev/shm: {error}")
    assert [extent["kind"] for extent in found] == ["hole", "data"]
    assert sum(extent["length"] for extent in found) == (1 << 63) - 1


def test_a_block_device_is_opened_as_one_that_must_be_there(hone, strace, loop, work):
    """With O_NONBLOCK some open without a medium."""
    device, log = loop(1 << 20), work / "trace"
    hone.ok("info", "-f", "raw", device,
            before=[*strace, "-o", str(log), "-e", "trace=openat"])
    opened = [line for line in log.read_text().splitlines() if device in line]
    assert len(opened) == 1 and "O_NONBLOCK" not in opened[0]


def test_a_device_that_is_read_only_is_no_destination(hone, loop, small):
    device = loop(1 << 20, "-r")
    assert f"{device}: cannot be written at offset 0: Operation not" in hone.fails(
        "convert", small, device)
