# SPDX-License-Identifier: BSD-3-Clause
"""streamOptimized images through a pipe: by their markers, in one pass, and
not one byte otherwise than from a file."""
import gzip
import os
import random
import struct
import zlib

import pytest

import qemu
from harness import piped
from qemu import KI, MI, SECTOR
from test_hostile import Judge
from test_vmdk_hostile import changed
from vmdk_builder import ENTRIES, GRAIN, Builder, marker

COVERED = ENTRIES * GRAIN * SECTOR
DATA = b"data" * (GRAIN * SECTOR // 4)


@pytest.mark.parametrize("size", [0, 1, 64 * KI, COVERED + MI + 1])
def test_what_we_wrote_is_read_from_a_pipe(hone, work, size):
    raw, image = work / "disk.raw", work / "disk.vmdk"
    qemu.pattern_file(raw, size, 3)
    hone.ok("convert", "-q", raw, image)
    os.truncate(raw, -(-size // SECTOR) * SECTOR)
    out = work / "out.raw"
    for threads in 1, 2, 5:
        piped(hone.ok, image, "convert", "-q", "--force", "--threads",
              str(threads), "-O", "raw", "-", out)
        assert qemu.first_difference(raw, out) is None
        assert out.stat().st_size == raw.stat().st_size
    one = piped(hone.ok, image, "digest", "-").stdout.split()[0]
    assert one == hone.ok("digest", raw, "-f", "raw").stdout.split()[0]
    piped(hone.ok, image, "compare", "-", "-F", "raw", raw)
    for words in ["map"], ["map", "--json"]:
        there = hone.ok(*words, image).stdout
        assert piped(hone.ok, image, *words, "-").stdout == there


def test_no_scratch_space_is_needed(hone, work):
    """More bytes than fit in memory pass; the tables are behind them."""
    raw, image = work / "disk.raw", work / "disk.vmdk"
    raw.write_bytes(random.Random(1).randbytes(90 * MI))
    hone.ok("convert", "-q", "--level", "1", raw, image)
    out = work / "out.raw"
    piped(hone.ok, image, "convert", "-q", "--scratch", work / "none", "-O",
          "raw", "-", out)
    assert qemu.first_difference(raw, out) is None


def test_the_check_of_a_stream_finds_the_tables(hone, work):
    """Two tables lie among grains that were forgotten when the check reads
    them."""
    raw, image = work / "disk.raw", work / "disk.vmdk"
    raw.write_bytes(random.Random(2).randbytes(40 * MI))
    hone.ok("convert", "-q", "--level", "1", raw, image)
    assert piped(hone.ok, image, "check", "-").stdout.endswith(b"is safe\n")
    out = work / "out.raw"
    piped(hone.ok, image, "convert", "-q", "--untrusted", "-O", "raw", "-", out)
    assert qemu.first_difference(raw, out) is None


def built():
    """A disk of three tables, the second without grains."""
    image = Builder(3 * ENTRIES * GRAIN, True, True)
    image.grains = {0: DATA, 7: DATA, 511: DATA, 1024: DATA, 1535: DATA}
    return image


def test_gaps_of_tables_and_grains(hone, work):
    image = built().write(work / "disk.vmdk")
    piped(hone.ok, image, "compare", "-", image)
    out = work / "out.qcow2"
    piped(hone.ok, image, "convert", "-q", "-", out)
    qemu.img("compare", "-f", "vmdk", "-F", "qcow2", image, out)


@pytest.mark.parametrize("cut, said", [
    (GRAIN * SECTOR + 3, "in front of its first grain"),
    (GRAIN * SECTOR + SECTOR - 1, "inside the grain of disk offset 0x0:"),
    (GRAIN * SECTOR + SECTOR, "behind the grain of disk offset 0x0:"),
    (GRAIN * SECTOR + 2 * SECTOR - 1, "inside the grain of disk offset 0x70000:")])
def test_a_stream_that_is_cut_names_the_grain(hone, work, cut, said):
    """Each grain has one sector in the file."""
    image = built().write(work / "disk.vmdk")
    os.truncate(image, cut)
    done = piped(hone.run, image, "convert", "-f", "vmdk", "-", work / "out")
    assert done.returncode == 3
    assert f"ends at offset {cut}" in done.stderr.decode(), done
    assert said in done.stderr.decode(), done
    assert not (work / "out").exists()


def late_grain():
    """A grain behind its table, which does not have it."""
    image = built()
    image.extra = image.grain_bytes(1535, image.grains.pop(1535))
    return image


def of_grain(number, size):
    """A marker in front of the footer."""
    return struct.pack("<QI", number, size).ljust(SECTOR, b"\0")


HOSTILE = {
    "swapped": (changed(built, order=lambda grains: [7, 0, 511, 1024, 1535]),
                "grains are not in the order of the disk; write it "
                "to a file first"),
    "first_entry": (changed(built, change_table=lambda index, table: table[4:] + table[:4]),
                    "grain table 0 differs from the markers"),
    "missing_grain": (changed(built, change_table=lambda index, table: bytes(4) + table[4:]),
                      "grain table 0 differs from the mark"),
    "other_place": (changed(built, change_table=lambda index, table: table[28:32] + table[4:]),
                    "grain table 0 differs from the markers"),
    "late_grain": (late_grain(), "grain table 2 differs from the markers"),
    "no_table": (changed(built, directory={0: 0}), "grain table 0 differs from the markers"),
    "table_of_none": (changed(built, directory={1: 128}), "grain table 1 differs from the"),
    "table_past_end": (changed(built, directory={2: 1 << 31}), "grain table 2 differs from"),
    "footer": (changed(built, footer_fields={"gd": 130}),
               "gdOffset 130 of its footer is not that of the grain"),
    "other_disk": (changed(built, footer_fields={"capacity": 1}),
                   "its header and its footer describe different disks"),
    "footer_version": (changed(built, footer_fields={"version": 9}),
                       "version 9 of VMDK is not"),
    "cut": (changed(built, cut=SECTOR), "it ends at offset"),
    "cut_more": (changed(built, cut=4 * SECTOR), "it ends at offset"),
    "behind": (changed(built, tail=bytes(SECTOR)), "has data behind the end of the stream"),
    "end": (changed(built, extra=marker(0, 0)[:-1] + b"x"), "has no length and no type"),
    "unknown": (changed(built, extra=marker(0, 9)), "has type 9 and no data"),
    "directory_twice": (changed(built, extra=marker(1, 2) + bytes(SECTOR)),
                        "has a second grain directory"),
    "long_table": (changed(built, extra=marker(5, 1) + bytes(5 * SECTOR)),
                   "has a grain table of 5 sectors, not 4"),
    "endless_table": (changed(built, extra=marker((1 << 64) - 1, 1)),
                      "of 18446744073709551615 sectors, not 4"),
    "grain_past_end": (changed(built, extra=of_grain(1 << 40, 5)),
                       "has disk sector 1099511627776, where no grain"),
    "grain_between": (changed(built, extra=of_grain(3 * 512 * GRAIN - 1, 5)),
                      "has disk sector 196607, where no grain begins"),
    "grain_twice": (changed(built, extra=of_grain(1535 * GRAIN, 5)),
                    "grains are not in the order of the disk"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_stream(hone, work, name):
    image, part = HOSTILE[name]
    path, out = image.write(work / "disk.vmdk"), work / "out.raw"
    for words in (["convert", "-O", "raw", "-", out], ["map", "-"], ["digest", "-"]):
        done = piped(hone.run, path, *words)
        said = done.stderr.decode()
        status = 1 if "order of the disk" in part else 3
        assert done.returncode == status and part in said, (words, said)
        assert said.startswith("hone: ") and said.count("\n") == 1
    assert not out.exists()


def test_what_a_stream_cannot_have_is_refused(hone, work):
    """Plain grains with the tables at the end, and a huge directory."""
    image = Builder(footer=True)
    image.grains = {0: DATA}
    path = image.write(work / "disk.vmdk")
    line = piped(hone.fails, path, "map", "-")
    assert "has its grain directory at its end, and comes as a stream" in line
    image = Builder(packed=True, footer=True)
    image.header = {"capacity": ENTRIES * GRAIN * ((1 << 20) + 1)}
    line = piped(hone.fails, image.write(path), "map", "-")
    assert "has its grain directory at its end, and comes as a stream" in line


def test_the_tables_of_a_stream_are_bounded(hone, work):
    """A sector of the file can need a table of 2 KiB."""
    count = 65537
    path = work / "disk.vmdk"
    image = Builder(count * 16, True, True)
    image.header = {"entries": 2, "grain": 8}
    grain = zlib.compress(b"x" * 8 * SECTOR)
    with open(path, "wb") as file:
        file.write(image.build()[:128 * SECTOR])
        for index in range(count):
            file.write((struct.pack("<QI", index * 16, len(grain)) + grain)
                       .ljust(SECTOR, b"\0"))
    line = piped(hone.fails, path, "digest", "-")
    assert "has more than 65536 grain tables; write it to a file" in line


@pytest.mark.parametrize("count, wrong, status, part", [
    (65536, 2048, 3, "ends at offset 44105728, behind the grain of disk"),
    (2049, 2049, 1, "has more than 4096 grain tables that are not behind "
     "their grains; write it to a file first")])
def test_the_memory_for_the_tables_of_a_packed_stream(hone, work, count,
                                                      wrong, status, part):
    """Each grain has a table, and some have two tables of other grains."""
    judge = Judge(hone, work, memory=200 * MI)
    image = Builder(count * 8 * ENTRIES, True, True)
    image.header = {"grain": 8}
    grain = zlib.compress(b"x" * 8 * SECTOR)
    with gzip.open(work / "disk.vmdk.gz", "wb", 1) as file:
        file.write(image.build()[:128 * SECTOR])
        for index in range(count):
            file.write((struct.pack("<QI", index * 8 * ENTRIES, len(grain))
                        + grain).ljust(SECTOR, b"\0"))
            if index < wrong:
                file.write(2 * (marker(4, 1) + b"\1" * 4 * ENTRIES))
    judge.refused(status, part, "map", "--memory", "64M", work / "disk.vmdk.gz")
