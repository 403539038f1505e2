# SPDX-License-Identifier: BSD-3-Clause
"""Hostile VMDK images: one sentence, no output, bounded time and memory."""
import os
import struct
import zlib

import pytest

from extents import cached
from harness import piped
from qemu import MI
from test_hostile import Judge
from vmdk_builder import AT_END, DESCRIPTOR, ENTRIES, GRAIN, SECTOR, Builder

DATA = b"data" * (GRAIN * SECTOR // 4)


def sparse():
    """A sound image, whose grains 0 and 1 have data."""
    image = Builder()
    image.grains = {0: DATA, 1: DATA}
    return image


def packed(footer=True):
    """The same, compressed."""
    image = Builder(packed=True, footer=footer)
    image.grains = {0: DATA, 1: DATA}
    return image


def with_header(kind=sparse, **fields):
    """The image with these fields of the header."""
    image = kind()
    image.header = fields
    return image


def with_text(old, new, kind=sparse):
    """The image with another descriptor."""
    image = kind()
    text = DESCRIPTOR.format(kind="monolithicSparse", capacity=image.capacity)
    assert old in text
    image.descriptor = text.replace(old, new)
    return image


def with_pack(function, footer=True):
    """The image with other bytes of its grains."""
    image = packed(footer)
    image.pack = function
    return image


def changed(kind=sparse, **members):
    """The image with these members of the builder."""
    image = kind()
    for name, value in members.items():
        setattr(image, name, value)
    return image


def stored(number, data, lba=None, length=None):
    """A grain with its marker."""
    content = zlib.compress(data)
    return struct.pack("<QI", number * GRAIN if lba is None else lba,
                       len(content) if length is None else length) + content


def flipped(number, data):
    """A wrong checksum."""
    whole = bytearray(stored(number, data))
    whole[-1] ^= 1
    return bytes(whole)


# Rows: name, image, part of the sentence, and the test of check that fails if it is
# another one than "well_formed"; None: check finds nothing, since it reads no grain.

# Not damaged: the exit status is 1.
UNSUPPORTED = [
    ("version_0", with_header(version=0), "version 0 of VMDK is not"),
    ("version_4", with_header(version=4), "version 4 of VMDK is not"),
    ("flags", with_header(flags=9), "flags 0x00000009 of VMDK have unknown"),
    ("algorithm", with_header(deflate=2), "compressAlgorithm 2 is neither"),
    ("deflate_without_flag", with_header(deflate=1), "contradict each other"),
    ("flag_without_deflate", with_header(packed, deflate=0), "contradict each other"),
    ("no_markers", with_header(packed, flags=0x10001), "contradict each other"),
    ("capacity_2^53", with_header(capacity=1 << 53),
     "needs a grain directory of 137438953472 entries"),
    ("capacity_past_64_tib", with_header(capacity=(1 << 37) + 1),
     "capacity 137438953473 in sectors needs a grain directory of 2097153 entries, "
     "more than 2097152"),
    ("grain_0", with_header(grain=0), "grainSize 0 is not"),
    ("grain_100", with_header(grain=100), "grainSize 100 is not"),
    ("grain_2^63", with_header(grain=1 << 63), "grainSize 92233"),
    ("entries_0", with_header(entries=0), "numGTEsPerGT 0 is not"),
    ("entries_1024", with_header(entries=1024), "numGTEsPerGT 1024 is not"),
    ("entries_3", with_header(entries=3), "numGTEsPerGT 3 is not"),
    ("no_descriptor", with_header(desc_offset=0), "has no descriptor"),
    ("parent_cid", with_text("parentCID=ffffffff", "parentCID=00000001"),
     "its parentCID 00000001 refers to a parent", "descriptor"),
    ("parent_hint",
     with_text("version=1\n", 'version=1\nparentFileNameHint="/etc/passwd"\n'),
     "refers to a parent '/etc/passwd'", "descriptor"),
    ("create_type", with_text("monolithicSparse", "monolithicFlat"),
     "createType 'monolithicFlat' of its descriptor", "descriptor"),
    ("no_create_type", with_text("createType=", "other="),
     "createType '' of its descriptor", "descriptor"),
    ("flat_extent", with_text('SPARSE "disk.vmdk"', 'FLAT "/etc/passwd" 0'),
     "an extent of type FLAT, not SPARSE", "descriptor"),
    ("two_extents", with_text("# The Disk", 'RW 8 FLAT "decoy" 0\n#'),
     "its descriptor has 2 extents, not 1", "descriptor"),
    ("no_extents", with_text('RW 1024 SPARSE "disk.vmdk"', ""),
     "its descriptor has 0 extents, not 1", "descriptor"),
    # What follows is what QEMU would read another file by.
    ("hint_in_a_comment",
     with_text("# The Disk", '# parentFileNameHint="/etc/passwd"\n#'),
     "has parentFileNameHint in a comment or a value", "descriptor"),
    ("hint_in_a_value",
     with_text("# The Disk", 'ddb.x = parentFileNameHint="/etc/passwd"\n#'),
     "has parentFileNameHint in a comment or a value", "descriptor"),
    ("other_place",
     changed(header={"desc_offset": 2},
      descriptor="\0" * SECTOR + DESCRIPTOR.format(kind="monolithicSparse",
      capacity=1024)), "descriptorOffset 2 is not 1", "descriptor"),
    ("no_end",
     changed(header={"desc_size": 1},
      descriptor=DESCRIPTOR.format(kind="monolithicSparse",
      capacity=1024).ljust(SECTOR, "\n") + 'RW 1 FLAT "decoy" 0\n'),
     "its descriptor has no end in its 512 bytes", "descriptor"),
    ("capacity_0", with_header(capacity=0),
     "capacity of its header is 0, and its descriptor has an extent of 1024 sectors",
     "descriptor"),
]

# The exit status is 3.
DAMAGED = [
    ("lines", with_header(lines=b"\n \n\n"), "line ends at offset 73"),
    ("capacity_2^63", with_header(capacity=1 << 63),
     "capacity 9223372036854775808 in sectors"),
    ("capacity_64_tib", with_header(capacity=1 << 37),
     "with 2097152 entries lies past"),
    ("capacity_past_directory", with_header(capacity=1 << 36),
     "grain directory at sector"),
    ("gd_0", with_header(gd=0), "gdOffset 0 of its header lies on"),
    ("gd_past_end", with_header(gd=1 << 30), "grain directory at sector 1073741824"),
    ("gd_2^62", with_header(gd=1 << 62), "gdOffset 4611686018427387904"),
    ("rgd_2^62", with_header(flags=3, rgd=1 << 62), "rgdOffset 4611686018427387904"),
    ("overhead_2^62", with_header(overhead=1 << 62), "overHead 4611686018427387904"),
    ("descriptor_2^62", with_header(desc_offset=1 << 62), "descriptorOffset 46"),
    ("descriptor_2^40", with_header(desc_offset=1 << 40),
     "descriptorOffset 1099511627776 lies past the end of the file"),
    ("table_past_end", changed(directory={0: 1 << 31}),
     "grain table at sector 2147483648"),
    ("one_table_twice", changed(capacity=2 * 512 * GRAIN, directory={0: 384, 1: 384}),
     "two grain tables overlap at sector 384"),
    ("tables_overlap", changed(capacity=2 * 512 * GRAIN, directory={0: 384, 1: 385}),
     "two grain tables overlap at sector 385"),
    ("grain_past_end", changed(entries={(0, 3): 0xFFFFFFF0}),
     "guest offset 0x30000 at sector 4294967280 lies past"),
    ("grain_in_header", changed(entries={(0, 3): 5}),
     "at sector 5 lies before sector 21,"),
    ("zeroed_without_flag", changed(entries={(0, 3): 1}), "at sector 1 lies before"),
    ("bytes", with_text("# The Disk", "\xff\n#"), "its descriptor has the byte 0xff"),
    ("behind_the_text", with_text("# The Disk", "\0hidden=1\n"),
     "its descriptor has the byte 0x68"),
    ("vertical_tabs", with_text("# The Disk", 'RW\v1\vFLAT\v"decoy"\v0=\n#'),
     "its descriptor has the byte 0x0b"),
    ("returns", with_text("# The Disk", 'RW\r1\rFLAT\r"decoy"\r0=\n#'),
     "its descriptor has the byte 0x0d"),
    ("no_footer", changed(packed, cut=SECTOR), "has no footer"),
    ("footer_alone", with_header(gd=AT_END), "has no footer"),
    ("footer_of_another", changed(packed, footer_fields={"capacity": 9}),
     "describe different disks"),
    ("footer_at_end", changed(packed, footer_fields={"gd": AT_END}),
     "gdOffset of its footer refers to a footer"),
    ("footer_magic", changed(packed, footer_fields={"magic": b"KDMW"}),
     "has no footer"),
    # The header is sound.
    ("footer_version", changed(packed, footer_fields={"version": 9}),
     "version 9 of VMDK is not"),
    ("footer_flags", changed(packed, footer_fields={"flags": 9}),
     "flags 0x00000009 of VMDK have unknown"),
    ("footer_grain", changed(packed, footer_fields={"grain": 100}),
     "grainSize 100 is not"),
    ("marker_of_another", with_pack(lambda n, data: stored(n, data, 77), False),
     "is of the grain at disk sector 77, not 0", None),
    ("length_0", with_pack(lambda n, data: stored(n, data, length=0), False),
     "has 0 compressed bytes", None),
    ("length_2^32",
     with_pack(lambda n, data: stored(n, data, length=0xFFFFFFFF), False),
     "has 4294967295 compressed bytes", None),
    ("length_past_end",
     with_pack(lambda n, data: stored(n, data, length=100000), False),
     "lies past the end of the file", None),
    ("not_deflate", with_pack(lambda n, data: stored(n, data)[:12] + bytes(100)),
     "is damaged", None),
    ("checksum", with_pack(flipped), "is damaged", None),
    ("short_grain", with_pack(lambda n, data: stored(n, data[:-SECTOR])), "is damaged",
     None),
    ("long_grain", with_pack(lambda n, data: stored(n, data + b"x")), "is damaged",
     None),
    ("one_grain_twice", changed(entries={(0, 2): 128}), "", "overlaps"),
    ("grains_overlap", changed(entries={(0, 2): 130}), "", "overlaps"),
]

# check and --untrusted refuse them, and QEMU and others read them: the disk is the same
# for all.
READ = [
    ("path", with_text('"disk.vmdk"', '"../disk.vmdk"'),
     "an extent with the path '../disk.vmdk'", "descriptor"),
    ("line", with_text("# The Disk", "nonsense\n#"),
     "line 10 of its descriptor is not understood: 'nonsense'"),
    # OpenStack's inspector refuses it outside of the disk database.
    ("blank_before_equals", with_text("# The Disk", 'encoding = "UTF-8"\n#'),
     "line 10 of its descriptor is not understood: 'encoding = "),
]

HOSTILE = {name: (image, part, (*test, "well_formed")[0], status)
           for status, rows in ((1, UNSUPPORTED), (3, DAMAGED), (0, READ))
           for name, image, part, *test in rows}
assert len(HOSTILE) == len(UNSUPPORTED + DAMAGED + READ)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_image(hone, tmp_path, name):
    image, part, test, status = HOSTILE[name]
    judge = Judge(hone, tmp_path)
    judge.image = tmp_path / "image.vmdk"
    image.write(judge.image)
    os.mkfifo(tmp_path / "decoy")
    out = tmp_path / "out.raw"
    if status == 0:
        judge.refused(3, part, "convert", "--untrusted", judge.image, out)
        assert not out.exists()
    if part and status:
        judge.refuses(status, part, reader="map" if test else "digest")
    else:
        judge.reads("convert", "-q", judge.image, out)
    failed = judge.failed()
    assert list(failed) == ([test] if test else [])
    assert not test or part in failed[test]
    # info shows what the header and the descriptor have, or refuses.
    code, found, err = judge.run("info", "--json", judge.image)
    assert code in (0, 1, 3) and (code == 0 or err.count(b"\n") == 1), err


@pytest.mark.parametrize("ending", ["vmdk", "img"])
@pytest.mark.parametrize("kind, head", [
    ("COWD", b"COWD"), ("seSparse", struct.pack("<QQ", 0xCAFEBABE, 2 << 32))])
def test_a_kind_of_extent_that_is_not_supported(hone, tmp_path, kind, head, ending):
    """It is named, whatever the name of the file."""
    image, out = tmp_path / f"image.{ending}", tmp_path / "out.raw"
    part = f"is a VMDK extent of the kind {kind}, which is not supported"
    for size in len(head[:8]), 64 * 1024:
        image.write_bytes(head.ljust(size, b"\0")[:size])
        assert part in hone.fails("convert", image, out)
        assert part in hone.fails("info", image)
        assert not out.exists()
        done = hone.run("check", image)
        assert done.returncode == 1 and part in done.stdout.decode(), done
    # One bit less of the magic is a raw disk.
    image.write_bytes(bytes([head[0] ^ 2]) + head[1:].ljust(4096, b"\0"))
    hone.ok("convert", "-q", "-f", "raw", image, out)


@pytest.mark.parametrize("cut", range(0, 3 * SECTOR, 97))
def test_an_image_that_is_cut(hone, tmp_path, cut):
    """In its footer, or in its header."""
    whole = packed().build()
    image = tmp_path / "image.vmdk"
    for data in whole[:len(whole) - 1 - cut], whole[:4 + cut]:
        image.write_bytes(data)
        out = tmp_path / "out.raw"
        # It may be any file before it has a header.
        assert str(image) in hone.fails("convert", image, out,
                                        code=1 if len(data) < SECTOR else 3)
        assert not out.exists()


def test_redundant_tables_that_differ(hone, tmp_path):
    """QEMU and VMware read the first tables, and repair from the others."""
    for change, part in ((lambda gd: [500], "past the end of the file"),
                         (lambda gd: [0], "of the redundant grain directory"),
                         (lambda gd: [1], "differs from its redundant copy")):
        image = sparse()
        whole = image.build()
        at = len(whole) // SECTOR
        image.header = {"flags": 3, "rgd": at}
        image.tail = struct.pack("<128I", *change(0), *([0] * 127))
        path = image.write(tmp_path / "image.vmdk")
        done = hone.run("check", path)
        assert done.returncode == 1 and part in done.stdout.decode(), done
    for at in 1 << 40, len(whole) // SECTOR + 1:
        image.header = {"flags": 3, "rgd": at}
        path = image.write(tmp_path / "image.vmdk")
        part = f"redundant grain directory at sector {at} with "
        done = hone.run("check", path)
        assert done.returncode == 1 and part in done.stdout.decode(), done
        assert part in hone.fails("convert", "--untrusted", path,
                                  tmp_path / "out.raw", code=3)


@pytest.mark.parametrize("cut", [SECTOR + 1, 2 * SECTOR - 1])
def test_a_descriptor_that_is_cut(hone, tmp_path, cut):
    """As half a download has it."""
    path = tmp_path / "image.vmdk"
    path.write_bytes(sparse().build()[:cut])
    assert "inside its descriptor: the file is not complete" in hone.fails(
        "convert", path, tmp_path / "out.raw", code=3)


def test_what_qemu_leaves_behind_a_short_cid(hone, tmp_path):
    """It writes the longer text first, and then the shorter one."""
    image = with_text("CID=12345678", "CID=abb976")
    image.descriptor += "\0\n"
    image.write(tmp_path / "image.vmdk")
    hone.ok("check", tmp_path / "image.vmdk")


def test_a_full_directory_is_bounded(hone, tmp_path):
    """8 MiB with 4 GiB of grain tables in holes, for 64 TiB."""
    count = 1 << 21
    begin = 128 + count * 4 // SECTOR
    image = with_header(capacity=count * ENTRIES * GRAIN, gd=128)
    judge = Judge(hone, tmp_path, memory=200 * MI)
    judge.image = tmp_path / "image.vmdk"
    with open(judge.image, "wb") as file:
        file.write(image.build()[:128 * SECTOR])
        file.write(struct.pack(f"<{count}I", *range(begin, begin + 4 * count, 4)))
        file.truncate((begin + 4 * count) * SECTOR)
    judge.reads("info", judge.image)
    assert b"data 0 bytes" in judge.reads("map", judge.image)
    # The directory and little more: neither the tables nor their pages.
    assert judge.read < 10 * MI
    assert cached(judge.image) < 16 * MI
    judge.reads("check", "-q", judge.image)
    assert judge.read < 10 * MI
    assert cached(judge.image) < 16 * MI


def test_copies_of_tables_in_holes_are_not_read(hone, tmp_path):
    """2048 tables and their copies; then one byte of each kind."""
    count = 2048
    first = 128 + 2 * (count * 4 // SECTOR)
    image = with_header(capacity=count * ENTRIES * GRAIN, gd=128,
                        rgd=128 + count * 4 // SECTOR, flags=3)
    path = tmp_path / "image.vmdk"
    with open(path, "wb") as file:
        file.write(image.build()[:128 * SECTOR])
        file.write(struct.pack(f"<{2 * count}I", *range(first, first + 8 * count, 4)))
        file.truncate((first + 8 * count) * SECTOR)
    hone.ok("check", path)
    for index in 1000, count + 1500:
        at = (first + 4 * index) * SECTOR
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(b"\1")
        done = hone.run("check", path)
        assert done.returncode == 1
        assert f"grain table {index % count} differs" in done.stdout.decode()
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(b"\0")
    judge = Judge(hone, tmp_path)
    assert judge.calls("pread64,lseek", "check", "-q", path) < count // 4
    # Without holes: a file system may visit all data to find its end.
    path.write_bytes(path.read_bytes())
    assert judge.calls("lseek", "check", "-q", path) < 100


@pytest.mark.all
def test_a_check_of_a_file_of_holes_is_bounded(hone, tmp_path):
    """520 KiB with grains every 16 MiB of 2 TiB: no two use one page of a map
    of sectors."""
    count = 1 << 17
    image = Builder(count * GRAIN)
    tables = count // ENTRIES
    image.directory = {index: 130 + 4 * index for index in range(tables)}
    judge = Judge(hone, tmp_path, memory=200 * MI)
    judge.image = tmp_path / "image.vmdk"
    places = [(index + 1) << 15 for index in range(count - 1)]

    def write(last):
        with open(judge.image, "wb") as file:
            file.write(image.build())
            file.write(struct.pack(f"<{count}I", *places, last))
            file.truncate(1 << 41)
    write(places[-1] + GRAIN)
    out = tmp_path / "out.raw"
    judge.reads("check", judge.image)
    judge.reads("convert", "-q", "--untrusted", "--threads", "1", judge.image, out)
    # in the last window
    write(places[-1] + GRAIN - 1)
    code, found, err = judge.run("check", judge.image)
    assert (code, err) == (1, b""), (found, err)
    assert f"sector {places[-1] + GRAIN - 1} of the file is used twice" in (
        found.decode())


def without_entry(_index, table):
    """A table that lacks the second grain, which a marker has."""
    return table[:4] + bytes(4) + table[8:]


def hidden_grain():
    """A grain of the tables in what a marker calls a table."""
    image = changed(packed, extra=struct.pack("<QII", 4, 0, 1).ljust(SECTOR, b"\0")
                    + stored(2, DATA).ljust(4 * SECTOR, b"\0"))
    image.entries = {(0, 2): len(image.build()) // SECTOR - 3 - 4}
    return image


# Images whose markers and tables contradict each other, and part of the sentence.
CONTRADICTIONS = {
    "without_entry": (changed(packed, change_table=without_entry),
                      "has the grain of disk sector 128"),
    # bytes that belong to no marker, in front of the footer
    "gap": (changed(packed, extra=b"\0" * 16 + b"x" + b"\0" * 495),
            "has no length and no type"),
    # a length that leads into the footer
    "jump": (changed(packed, extra=struct.pack("<QI", GRAIN, 3 * SECTOR).ljust(
        SECTOR, b"\0")), "has the grain of disk sector 128"),
    "other_grain": (with_pack(lambda n, data: stored(n, data, 2 * GRAIN if n else None)),
                    "has the grain of disk sector 256"),
    "hidden_grain": (hidden_grain(), "grain tables have 3 grains, and its markers 2"),
    "far_marker": (changed(packed, extra=struct.pack("<QII", 100, 0, 1).ljust(
        5 * SECTOR, b"\0")), "has a grain table of 100 sectors, not 4"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_markers_and_tables_that_contradict_each_other(hone, tmp_path, name):
    """By check and with --untrusted. test_verdicts.py has the streams."""
    image, part = CONTRADICTIONS[name]
    judge = Judge(hone, tmp_path)
    image.write(judge.image)
    judge.refused(3, part, "convert", "--untrusted", judge.image, tmp_path / "out.raw")
    assert not (tmp_path / "out.raw").exists()
    assert part in str(judge.failed())


def test_a_long_stream_is_compared_with_its_tables(hone, tmp_path):
    """More than stays in memory: hone check has forgotten the grains."""
    judge = Judge(hone, tmp_path)
    judge.image = tmp_path / "image.vmdk"
    image = Builder(512 * GRAIN, packed=True, footer=True)
    image.grains = {n: os.urandom(GRAIN * SECTOR) for n in range(100)}
    image.write(judge.image)
    assert piped(hone.run, judge.image, "check", "-").returncode == 0
    image.change_table = without_entry
    image.write(judge.image)
    done = piped(hone.run, judge.image, "check", "-")
    assert done.returncode == 1 and b"stream" in done.stdout, done
    assert judge.run("check", judge.image)[0] == 1
