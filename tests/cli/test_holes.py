# SPDX-License-Identifier: BSD-3-Clause
"""No command reads what lies in a hole of a file, whatever the format."""
import os
import struct

import pytest

from extents import cached
from images import MI

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
