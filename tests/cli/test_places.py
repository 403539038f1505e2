# SPDX-License-Identifier: BSD-3-Clause
"""Places that are full, read-only or limited; devices as sources."""
import os
import subprocess
import tempfile

import pytest

import extents
from harness import snapshot


def mount(*words):
    """Mount for a test, or skip with what mount said."""
    done = subprocess.run(["mount", *words], stderr=subprocess.PIPE,
                          check=False)
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
def test_a_full_file_system_is_an_error_that_leaves_nothing(
        hone, small, tiny, fmt):
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
def test_a_file_size_limit_is_an_error_that_leaves_nothing(
        hone, small, out, fmt):
    """Past the limit the kernel writes short, then sends SIGXFSZ."""
    for limit in ("1", "100", "200"):
        done = hone.run("convert", "-O", fmt, small, out / "d",
                        before=["sh", "-c", f'ulimit -f {limit}; exec "$@"',
                                "sh"])
        assert done.returncode == 1, done
        assert done.stderr.startswith(b"hone: ")
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


@pytest.fixture
def device(image):
    """A block device, the file behind it, and its size."""
    source = image("mixed")
    size = os.stat(source).st_size // 512 * 512
    done = subprocess.run(
        ["losetup", "--show", "-f", "-r", "--sizelimit", str(size),
         str(source)], check=False, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    if done.returncode:
        pytest.skip("no loop device: " + done.stderr.decode().strip())
    name = done.stdout.decode().strip()
    yield name, source, size
    subprocess.run(["losetup", "-d", name], check=True)


def test_a_block_device_is_a_source(hone, device, out):
    device, source, size = device
    hone.ok("convert", "-q", device, out / "d")
    hone.ok("convert", "-q", device, out / "d.qcow2")
    hone.ok("compare", device, out / "d")
    for force in [], ["--force"]:
        said = hone.fails("convert", *force, out / "d", device)
        # it is read-only
        assert f"{device}: cannot be written at offset 0: Operation not" in said
    assert os.stat(out / "d").st_size == size
    first = extents.first_difference(source, out / "d")
    assert first is None or first >= size


def test_a_block_device_is_opened_as_one_that_must_be_there(
        hone, strace, device, work):
    """With O_NONBLOCK some open without a medium."""
    log = work / "trace"
    hone.ok("info", device[0], before=[*strace, "-o", str(log), "-e",
                                       "trace=openat"])
    opened = [line for line in log.read_text().splitlines()
              if device[0] in line]
    assert len(opened) == 1 and "O_NONBLOCK" not in opened[0]
