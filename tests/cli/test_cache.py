# SPDX-License-Identifier: BSD-3-Clause
"""What is in the page cache: --cache chooses what a conversion leaves there, and no
command reads what lies in a hole of a file."""
import os
import struct

import pytest

from harness import write
from extents import cached, uncache
from images import MI
from without import Without, rule

SIZE = 72 * MI
# Readahead and the last window may stay: far less than the file.
LITTLE = 16 * MI

# As on Linux before 6.14, and on file systems without RWF_DONTCACHE.
OLD_KERNEL = (rule("preadv2", "EOPNOTSUPP"), rule("pwritev2", "EOPNOTSUPP"))


@pytest.fixture(name="source")
def fixture_source(work):
    """A file of data on a file system that has a page cache."""
    path = write(work, "disk.img", os.urandom(MI) * (SIZE // MI))
    uncache(path)
    if cached(path):
        pytest.skip("the pages of this file system cannot be dropped")
    return path


@pytest.fixture
def sampled(source):
    """--cache auto finds out here which pages of the source are cached."""
    with source.open("rb") as file:
        try:
            os.preadv(file.fileno(), [bytearray(1)], 0, os.RWF_NOWAIT)
        except BlockingIOError:
            pass
        except OSError as error:
            pytest.skip(f"RWF_NOWAIT on this file system: {error.strerror}")
    uncache(source)


@pytest.fixture(name="tool", params=["this kernel", "an old kernel"])
def fixture_tool(request, hone):
    """The command, also where the kernel does not know RWF_DONTCACHE."""
    return hone if request.param == "this kernel" else Without(hone, *OLD_KERNEL)


@pytest.mark.parametrize("form", ["raw", "qcow2"])
def test_drop_leaves_little(tool, work, source, form):
    """Neither of the source nor of the output."""
    out = work / "out"
    tool.ok("convert", "--cache", "drop", "-O", form, source, out)
    assert cached(out) <= LITTLE
    assert cached(source) <= LITTLE


def test_drop_leaves_a_source_that_was_cached(tool, work, source):
    """Other programs may need its pages."""
    source.read_bytes()
    assert cached(source) >= SIZE - LITTLE
    tool.ok("convert", "--cache", "drop", "-O", "qcow2", source, work / "out")
    assert cached(source) >= SIZE - LITTLE


def test_keep_leaves_all(tool, work, source):
    """A program that reads the output next finds it in memory."""
    out = work / "out"
    tool.ok("convert", "--cache", "keep", "-O", "raw", source, out)
    assert cached(out) >= SIZE - LITTLE


@pytest.mark.usefixtures("sampled")
def test_auto_passes_the_cache_by_if_the_source_is_cold(hone, work, source):
    """A plain copy then reads and writes with O_DIRECT.

    The header was read before, as by a program that looked at the format.
    """
    out = work / "out"
    with source.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        file.read(4096)
    hone.ok("convert", "-O", "raw", source, out)
    assert cached(out) <= LITTLE and cached(source) <= LITTLE
    out.unlink()
    source.read_bytes()
    hone.ok("convert", "-O", "raw", source, out)
    assert cached(out) >= SIZE - LITTLE


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("places,cold", [(1, True), (3, True), (8, False)])
def test_auto_goes_by_most_places_of_the_source(hone, work, source, places, cold):
    """A few pages may be there, as those that the check itself made the kernel
    read. The command looks at 16 places."""
    out = work / "out"
    with source.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for place in range(places):
            file.seek(SIZE // 16 * place + SIZE // 32)
            file.read(4096)
    hone.ok("convert", "-O", "raw", source, out)
    if cold:
        assert cached(out) <= LITTLE
    else:
        assert cached(out) >= SIZE - LITTLE


# A file system may read ahead, and give what was written to the page cache.
MOST = 4 * MI


def qcow2(path):
    """64 KiB of an L1 table name 512 MiB of L2 tables in holes: 4 TiB."""
    count = 8192
    header = struct.pack(">4sIQIIQIIQQIIQQQQII", b"QFI\xfb", 3, 0, 0, 16,
                         count << 29, 0, count, 3 << 16, 1 << 16, 1, 0, 0, 0,
                         0, 0, 4, 104)
    tables = [(4 << 16) + (index << 16) for index in range(count)]
    with open(path, "wb") as file:
        file.write(header)
        file.seek(3 << 16)
        file.write(struct.pack(f">{count}Q", *(at | 1 << 63 for at in tables)))
        file.truncate(tables[-1] + (1 << 16))


def vhd_tables(path):
    """Blocks of 2 MiB, whose bitmaps and data lie in holes: 8 GiB."""
    count = 4096
    size = count << 21

    def summed(text, at):
        text = bytearray(text)
        text[at:at + 4] = struct.pack(">I", ~sum(text) & 0xffffffff)
        return bytes(text)
    footer = summed(struct.pack(
        ">8sIIQI4sIIQQHBBII16sB427x", b"conectix", 2, 0x10000, 512, 0, b"win ",
        0x60003, 0x5769326b, size, size, 65535, 16, 255, 3, 0, bytes(16), 0),
        64)
    header = summed(struct.pack(
        ">8sQQIIII16sII512x192x256x", b"cxsparse", (1 << 64) - 1, 1536,
        0x10000, count, 1 << 21, 0, bytes(16), 0, 0), 36)
    first = (1536 + 4 * count) // 512
    with open(path, "wb") as file:
        file.write(footer + header)
        file.write(struct.pack(f">{count}I", *(
            first + index * 4097 for index in range(count))))
        file.seek((first + count * 4097) * 512)
        file.write(footer)


def raw(path):
    """One hole."""
    with open(path, "wb") as file:
        file.truncate(4 << 30)


COMMANDS = [["map"], ["info"], ["check"], ["convert", "-q"], ["compare", "-q"],
            ["convert", "-q", "-O", "qcow2"]]


@pytest.mark.parametrize("make", [qcow2, vhd_tables, raw])
def test_holes_are_not_read(hone, work, make):
    """Counted in the page cache, where reads leave their pages."""
    path = work / ("disk.vhd" if make == vhd_tables else "disk.img")
    make(path)
    os.sync()
    before = cached(path)
    for command, *options in COMMANDS:
        more = {"convert": [work / "out"], "compare": [path]}.get(command, [])
        done = hone.run(command, *options, path, *more)
        assert done.returncode in (0, 1) and not done.stderr, done
        assert cached(path) - before < MOST, command
        (work / "out").unlink(missing_ok=True)
