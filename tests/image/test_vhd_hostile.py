# SPDX-License-Identifier: BSD-3-Clause
"""Hostile VHD images: one sentence, no output, bounded time and memory."""
import gzip
import json
import re
import subprocess

import pytest

from harness import ENV, need, piped
from test_hostile import Judge
from vhd_builder import SECTOR, Vhd, fixed

GI, TI = 1 << 30, 1 << 40
HUGE32, HUGE64 = 0xffffffff, 0xffffffffffffffff


def dynamic(footer=(), header=(), copy=(), **how):
    """A maker of an image with these fields and members."""
    def make(path):
        image = Vhd()
        image.add(0, b"a" * 4096)
        image.add(2, b"c" * 4096)
        image.footer.update(footer)
        image.header.update(header)
        image.copy.update(copy)
        for name, value in how.items():
            setattr(image, name, value)
        image.write(path)
    return make


def at_end(data=b"x" * 4096, **fields):
    """A maker of a fixed image with these fields in its footer."""
    return lambda path: fixed(path, data, **fields)


def placed(*places):
    """A maker of an image whose blocks begin at these bytes."""
    def make(path):
        image = Vhd()
        for index, place in enumerate(places):
            image.add(index, b"x" * 4096)
            image.table[index] = place // SECTOR
        image.write(path)
    return make


def only(data):
    """A maker of a file with these bytes."""
    return lambda path: path.write_bytes(data)


# The first block begins at 2048 and ends at 2048 + 512 + 16384.
FIRST, NEXT = 2048, 18944

# Name, maker, part of the sentence, and the test of hone check if it is another one.
ROWS = [
    ("empty", only(b""), "has 0 bytes, too few"),
    ("short", only(b"conectix" + bytes(503)), "has 511 bytes, too few"),
    ("nothing", only(bytes(4096)), "footer of a VHD is missing"),
    ("one_footer", only(b"conectix" + bytes(504)), "checksum 0x00000000"),
    ("cookie", at_end(cookie=b"conectiX"), "footer of a VHD is missing"),
    ("checksum", at_end(checksum=1), "footer: checksum 0x00000001"),
    ("checksum_huge", at_end(checksum=HUGE32), "checksum 0xffffffff"),
    ("version_0", at_end(version=0), "version 0x00000000"),
    ("version_2", at_end(version=0x20000), "version 0x00020000"),
    ("type_0", at_end(type=0), "disk type 0 is neither"),
    ("type_1", at_end(type=1), "disk type 1 is neither"),
    ("type_5", at_end(type=5), "disk type 5 is neither"),
    ("type_huge", at_end(type=HUGE32), "disk type 4294967295 is neither"),
    ("dynamic_without_copy", at_end(type=3),
     "disk type 3, but the copy of the footer is missing"),
    ("differencing_without_copy", at_end(type=4),
     "disk type 4, but the copy of the footer is missing"),
    ("size_odd", at_end(current_size=4095), "current size 4095 is not a multiple"),
    ("size_past_the_footer", at_end(current_size=4608),
     "size 4608 is more than the 4096 bytes before"),
    ("size_huge", at_end(current_size=HUGE64 - 511),
     "current size 18446744073709551104 is more than 2040 GiB"),
    ("size_negative", at_end(current_size=1 << 63),
     "current size 9223372036854775808 is more"),
    ("size_past_2040_gib", at_end(current_size=2040 * GI + 512),
     "is more than 2040 GiB"),
    ("geometry_past_the_footer",
     at_end(creator=b"vpc ", cylinders=9, heads=1, sectors=1, current_size=512),
     "size 4608 is more than the 4096 bytes"),
    ("geometry_huge",
     at_end(creator=b"vpc ", cylinders=65535, heads=255, sectors=255,
      current_size=512), "size 2181843648000 is more than the 4096 bytes"),
    ("geometry_at_its_most",
     at_end(creator=b"vpc ", cylinders=65535, heads=16, sectors=255,
      current_size=5 * TI), "current size 5497558138880 is more than 2040 GiB"),
    ("copy_fixed", dynamic(copy={"type": 2}), "a fixed disk has no copy"),
    ("both_fixed", dynamic({"type": 2}), "a fixed disk has no copy"),
    # a guest with a copy in its first sector
    ("footer_fixed", dynamic({"type": 2}, copy={"type": 3}),
     "disk type 2 contradicts the copy of the footer, which has 3"),
    ("footer_differencing", dynamic({"type": 4}, copy={"type": 3}),
     "disk type 4 contradicts"),
    ("copy_differencing", dynamic(copy={"type": 4}), "disk type 3 contradicts"),
    ("differencing", dynamic({"type": 4}), "is a differencing disk", "parent"),
    ("copy_checksum", dynamic(copy={"checksum": 7}),
     "copy of the footer: checksum 0x00000007"),
    ("copy_version", dynamic(copy={"version": 0x30000}),
     "copy of the footer: version 0x00030000"),
    ("copy_size", dynamic(copy={"current_size": 32768}),
     "footer: size 65536 and data offset 0x200 contradict"),
    ("copy_data_offset", dynamic(copy={"data_offset": 1024}),
     "which has 65536 and 0x400"),
    ("copy_size_huge", dynamic(copy={"current_size": HUGE64 - 511}),
     "copy of the footer: current size"),
    ("no_footer", dynamic(has_footer=False),
     "missing in its last 512 bytes: the file is not complete"),
    ("cut", dynamic(cut=512, has_footer=False),
     "missing in its last 512 bytes: the file is not complete"),
    ("more_at_the_end", dynamic(has_footer=False, extra=b"x" * 700),
     "missing in its last 512 bytes: the file is not complete"),
    ("footer_checksum", dynamic({"checksum": 9}, copy={"checksum": 9}),
     "footer: checksum 0x00000009"),
    ("data_offset_past_the_end", dynamic({"data_offset": 1 << 40}),
     "data offset 0x10000000000 lies past"),
    ("data_offset_overflows", dynamic({"data_offset": HUGE64}),
     "data offset 0xffffffffffffffff lies past"),
    ("data_offset_negative", dynamic({"data_offset": 1 << 63}),
     "data offset 0x8000000000000000 lies past"),
    ("data_offset_0", dynamic({"data_offset": 0}), "does not begin with 'cxsparse'"),
    ("header_cookie", dynamic(header={"cookie": b"cxspars\0"}),
     "does not begin with 'cxsparse'"),
    ("header_checksum", dynamic(header={"checksum": 3}),
     "header of the dynamic disk: checksum 0x00000003"),
    ("header_version", dynamic(header={"version": 0x20000}),
     "header version 0x00020000"),
    ("block_size_0", dynamic(header={"block_size": 0}), "block size 0 is"),
    ("block_size_256", dynamic(header={"block_size": 256}), "block size 256 is"),
    ("block_size_odd", dynamic(header={"block_size": 16384 + 512}),
     "block size 16896 is not"),
    ("block_size_huge", dynamic(header={"block_size": HUGE32}),
     "block size 4294967295 is not"),
    ("block_size_2_gib", dynamic(header={"block_size": 1 << 31}),
     "table entry 0: the block"),
    ("entries_0", dynamic(header={"entries": 0}),
     "max table entries 0 is less than the 4 entries"),
    ("entries_3", dynamic(header={"entries": 3}), "max table entries 3 is less"),
    ("entries_huge", dynamic(header={"entries": HUGE32}),
     "table at 0x600 with 4294967295 entries lies past"),
    ("table_of_a_giant_disk",
     dynamic({"current_size": 2040 * GI}, {"entries": HUGE32, "block_size": 512}),
     "needs a table of more than 32 MiB"),
    ("table_past_the_cap",
     dynamic({"current_size": 1 << 40}, {"entries": 1 << 31, "block_size": 512}),
     "needs a table of more than 32 MiB"),
    ("table_at_the_cap",
     dynamic({"current_size": 1 << 32}, {"entries": 1 << 23, "block_size": 512}),
     "table at 0x600 with 8388608 entries lies past"),
    ("table_past_the_end", dynamic(header={"table_offset": 1 << 50}),
     "table at 0x4000000000000"),
    ("table_overflows", dynamic(header={"table_offset": HUGE64 - 8}),
     "table at 0xfffffffffffffff7"),
    ("table_negative", dynamic(header={"table_offset": 1 << 63}),
     "table at 0x8000000000000000"),
    ("block_at_0", placed(0), "overlaps the copy of the footer at 0x0"),
    ("block_in_the_header", placed(1024), "overlaps the header at 0x200"),
    ("block_in_the_table", placed(1536), "overlaps the table at 0x600"),
    ("block_into_the_footer", placed(FIRST, NEXT + 512),
     "lies past the end of the blocks"),
    ("block_past_the_end", placed(1 << 40),
     "table entry 0: the block at 0x10000000000"),
    ("block_at_the_last_sector", placed((HUGE32 - 1) * SECTOR),
     "table entry 0: the block at 0x1fffffffc00"),
    ("blocks_shared", placed(FIRST, FIRST), "the blocks at 0x800 and 0x800 overlap"),
    ("blocks_overlap", placed(FIRST, FIRST + 512, NEXT + 512),
     "the blocks at 0x800 and 0xa00 overlap"),
    ("blocks_overlap_in_another_order", placed(NEXT, FIRST + 512),
     "the blocks at 0xa00 and 0x4a00 overlap"),
]


@pytest.fixture(name="judge")
def judge_fixture(hone, work):
    """Runs the command with bounds."""
    judge = Judge(hone, work)
    judge.image = work / "image.vhd"
    return judge


# Another format, and what this release does not support, is not damage.
OTHER = ("differencing", "bytes, too few", "footer of a VHD is missing", "version 0x")


@pytest.mark.parametrize("make,part,test", [
    (make, part, *(test or ["well_formed"])) for _, make, part, *test in ROWS],
    ids=[row[0] for row in ROWS])
def test_one_sentence_and_no_output(judge, make, part, test):
    """Each command; and the verdict of hone check."""
    make(judge.image)
    status = 1 if any(words in part for words in OTHER) else 3
    judge.refuses(status, part, "-f", "vhd")
    judge.refused(status, part, "digest", "-f", "vhd", judge.image)
    assert part in judge.failed("-f", "vhd")[test]


@pytest.mark.parametrize("down", [False, True])
def test_bitmaps_in_a_hole_of_the_file_are_not_read(judge, down):
    """8192 of them, and one between them that is not."""
    count = 8192
    image = Vhd(count * SECTOR, SECTOR)
    places = range(image.next, image.next + 2 * count * SECTOR, 2 * SECTOR)
    for index, place in enumerate(places):
        image.table[count - 1 - index if down else index] = place // SECTOR
    index = image.table.index(places[5000] // SECTOR)
    image.add(index, b"x" * SECTOR, at=places[5000])
    image.next = places[-1] + 2 * SECTOR
    image.write(judge.image)
    out = judge.folder / "disk.raw"
    judge.reads("convert", "-q", judge.image, out)
    assert out.read_bytes() == (b"x" * SECTOR).rjust(
        (index + 1) * SECTOR, b"\0").ljust(count * SECTOR, b"\0")
    assert judge.calls("pread64,lseek", "map", judge.image) < count // 8
    # Without holes: a file system may visit all data to find its end.
    judge.image.write_bytes(judge.image.read_bytes())
    assert judge.calls("lseek", "map", judge.image) < 100


def test_check_searches_no_holes(judge):
    """64 GiB in blocks that lie in a hole. The store fills the bytes of a hole itself,
    so that only instructions tell whether they are searched."""
    need("valgrind")
    blocks, block = 1 << 15, (2 << 20) + SECTOR
    image = Vhd(blocks << 21, 2 << 20)
    image.table = [(image.next + i * block) // SECTOR for i in range(blocks)]
    image.next += blocks * block
    image.write(judge.image)
    assert b" is safe" in judge.reads("check", judge.image)
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", judge.path,
         "check", judge.image], check=False, capture_output=True, env=ENV)
    found = re.search(rb"Collected : (\d+)", done.stderr)
    if judge.sanitized or not found:
        pytest.skip("valgrind cannot count this hone")
    assert int(found[1]) < 200e6


def lost_sector(path):
    """A sector of the last block is lost: the footer is where its end was."""
    dynamic()(path)
    raw = path.read_bytes()
    path.write_bytes(raw[:-4 * SECTOR] + raw[-3 * SECTOR:])


def lost_footer(path):
    """The last block is whole, and other bytes follow."""
    dynamic()(path)
    path.write_bytes(path.read_bytes()[:-SECTOR] + b"x" * SECTOR)


def dirty(sector, index=2):
    """A maker of an image with a clear bit over bytes that are not zero."""
    def make(path):
        image = Vhd()
        image.add(0, b"a" * 4096)
        bits = [True] * 32
        bits[sector] = False
        image.add(index, (b"c" * SECTOR).rjust((sector + 1) * SECTOR, b"b"), bits)
        image.write(path)
    return make


def dirty_in_the_second_mib(*clear):
    """A maker of an image with blocks of 2 MiB, the default, and a clear bit over
    bytes of the second MiB of one: a visit of so much data has released the first.
    `clear`: sectors of zeros with such bits."""
    def make(path):
        image = Vhd(8 << 20, 2 << 20)
        data, bits = bytearray(b"d" * (2 << 20)), [True] * 4096
        for sector in clear:
            data[sector * SECTOR:(sector + 1) * SECTOR] = bytes(SECTOR)
        for sector in (*clear, 3000):
            bits[sector] = False
        image.add(1, bytes(data), bits)
        for index in 2, 3:
            image.add(index, b"d" * (2 << 20))
        image.write(path)
    return make


def small_blocks(path):
    """QEMU has no bitmap for them."""
    image = Vhd(16 * 1024, 2048)
    image.add(1, b"a" * 2048)
    image.write(path)


def two_sizes(data):
    """A maker of a disk that has 2 KiB by its geometry, by which some would read it."""
    return at_end(data, creator=b"*img", cylinders=1, heads=1, sectors=4)


# What other readers do not see as Hone does: name, maker, part of the reason, "" if it
# is safe, and whether it can be read without --untrusted.
VERDICTS = [
    ("lost_sector", lost_sector, "past the end of the blocks", False),
    ("lost_footer", lost_footer, "footer of a VHD is missing", False),
    ("footers_differ", dynamic(copy={"current_size": 32768}), "contradict", False),
    ("dirty_sector", dirty(5), "disk offset 0x8a00, from 0x5600 of the file", True),
    ("dirty_last_sector", dirty(31, 3), "bitmap at 0x4a00 are clear", True),
    ("dirty_sector_3000", dirty_in_the_second_mib(), "offset 0x377000, from", True),
    ("zero_and_dirty_sector", dirty_in_the_second_mib(1500), "offset 0x377000,", True),
    ("small_blocks", small_blocks, "block size 2048 of the header", True),
    ("data_behind_its_geometry", two_sizes(b"x" * 4096), "by its geometry", True),
    ("zeros_behind_its_geometry", two_sizes((b"x" * 2048).ljust(4096, b"\0")), "", True),
]


@pytest.mark.parametrize("make,part,read", [row[1:] for row in VERDICTS],
                         ids=[row[0] for row in VERDICTS])
def test_what_other_readers_see_otherwise(hone, judge, make, part, read):
    """By check, also of a pipe, by --untrusted and without it. test_verdicts.py has
    the other streams."""
    make(judge.image)
    out = judge.folder / "out.raw"
    words = ["convert", "-q", "-f", "vhd", judge.image, out]
    if read:
        judge.run(*words)
        out.unlink()
    else:
        judge.refused(3, part, *words)
    if part:
        judge.refused(3, part, *words, "--untrusted")
        assert not out.exists()
    else:
        judge.run(*words, "--untrusted")
        out.unlink()
    code, found, _ = judge.run("check", "--json", "-f", "vhd", judge.image)
    checks = json.loads(found)["checks"]
    failed = [each["text"] for each in checks if not each["passed"]]
    assert code == bool(part) == bool(failed) and part in str(failed), failed
    done = piped(hone.run, judge.image, "check", "--json", "-f", "vhd", "-")
    assert json.loads(done.stdout)["checks"] == checks
    packed = judge.folder / "packed.vhd.gz"
    packed.write_bytes(gzip.compress(judge.image.read_bytes(), 1))
    assert judge.run("check", "-f", "vhd", packed)[0] == code


def test_clear_sectors_of_zeros_are_safe(hone, judge):
    """Most programs that clear bits leave zeros there."""
    image = Vhd(8 << 20, 2 << 20)
    bits = [sector % 5 != 0 for sector in range(4096)]
    data = b"".join((b"d" if bit else b"\0") * SECTOR for bit in bits)
    for index in range(4):
        image.add(index, data, bits)
    image.write(judge.image)
    found = json.loads(judge.reads("check", "--json", judge.image))
    assert found["safe"]
    for words in ["check"], ["convert", "-q", "-O", "raw", "--untrusted"]:
        piped(hone.ok, judge.image, *words, "-",
              *[judge.folder / "out"] * (words[0] == "convert"))
    assert (judge.folder / "out").read_bytes() == data * 4
