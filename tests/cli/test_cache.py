# SPDX-License-Identifier: BSD-3-Clause
"""--cache: what a conversion leaves in the page cache."""
import os
import subprocess

import pytest

from without import Without, rule

MI = 1 << 20
SIZE = 72 * MI
# Readahead and the last window may stay: far less than the file.
LITTLE = 16 * MI

# As on Linux before 6.14: RWF_DONTCACHE is not known.
OLD_KERNEL = (rule("preadv2", "EOPNOTSUPP"), rule("pwritev2", "EOPNOTSUPP"))


def cached(path):
    """Bytes of a file that are in the page cache."""
    done = subprocess.run(["fincore", "-b", "-n", "-o", "RES", path],
                          check=True, stdout=subprocess.PIPE)
    return int(done.stdout)


def uncache(path):
    """Remove a file from the page cache."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.fixture(name="source")
def fixture_source(work):
    """A file of data on a file system that has a page cache."""
    path = work / "disk.img"
    path.write_bytes(os.urandom(MI) * (SIZE // MI))
    uncache(path)
    if cached(path):
        pytest.skip("the pages of this file system cannot be dropped")
    return path


@pytest.fixture(name="tool", params=["this kernel", "an old kernel"])
def fixture_tool(request, hone):
    """The command, also where the kernel does not know RWF_DONTCACHE."""
    return hone if request.param == "this kernel" else Without(hone,
                                                               *OLD_KERNEL)


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


@pytest.mark.parametrize("places,cold", [(1, True), (3, True), (8, False)])
def test_auto_goes_by_most_places_of_the_source(hone, work, source, places,
                                                cold):
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
