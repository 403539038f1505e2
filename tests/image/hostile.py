# SPDX-License-Identifier: BSD-3-Clause
"""Hostile qcow2 images, each with what the command has to say of it."""
import os
import struct
import zlib
from dataclasses import dataclass, field

from qcow2_builder import (BACKING_FORMAT, BITMAPS, Builder, COMPRESSED,
                           COPIED, DATA_FILE, deflated, ENCRYPTION,
                           FEATURE_NAMES, KI, MI)

DEFECTS = {}


@dataclass
class Defect:
    """An image, and what is expected of it."""
    # called with a Builder and the folder of the image
    make: object
    # what the sentence has; "": the image can be read
    part: str
    # hone info shows the image: it does not read what is wrong
    info: bool = False
    # tests of hone check that fail; None: it cannot be checked
    check: tuple = ("well_formed",)
    # of the command: 1 if nothing is damaged
    status: int = 3
    # of the Builder
    builder: dict = field(default_factory=dict)
    # of convert, map and compare; {folder} is replaced
    options: tuple = ()
    # of convert alone
    convert: tuple = ()
    # bytes that a command may read: the largest table, and what a sanitizer reads
    # of /proc
    read: int = 65 << 20
    # another file is named, "decoy", which must not be opened
    decoy: bool = False


def defect(part, **expected):
    """Enter a maker under its own name."""
    def enter(make):
        assert make.__name__ not in DEFECTS
        DEFECTS[make.__name__] = Defect(make, part, **expected)
        return make
    return enter


def case(name, part, fields=(), extensions=(), length=None, words=(), counts=(),
         backing=None, data_file=None, snapshot=None, l2=None, stream=None, **expected):
    """Enter an image that differs from a sound one by this: words are numbers at
    places of the file; snapshot: those of its only snapshot, own: with its own L1
    table; l2: the entry of guest cluster 2; stream: that of the compressed cluster."""
    def make(image, _folder):
        if backing is not None:
            image.backing(*backing)
        if data_file is not None:
            image.data_file(data_file)
        image.fields.update(fields)
        image.extensions += extensions
        image.length = length
        if l2 is not None:
            image.l2(2, l2)
        if stream is not None:
            image.allocate(4)
            image.pack(4, 0x9000, stream)
        for at, word in words:
            image.put("Q", at, word)
        if snapshot is not None:
            of_entry = dict(snapshot)
            if of_entry.pop("own", False):
                of_entry["l1"] = image.own_l1()
            image.snapshots(image.snapshot(**of_entry))
        for index, count in dict(counts).items():
            image.counts[index] = count
    assert name not in DEFECTS, name
    DEFECTS[name] = Defect(make, part, **expected)


def make_image(name, path):
    """Write the image of that name; other files lie beside it."""
    one = DEFECTS[name]
    image = Builder(**one.builder)
    one.make(image, path.parent)
    image.write(path)


# Headers: fields out of their range, extensions, and names of other files. source_test.c
# has each limit of each field and entry, and check_test.c what hone check says of them.

HUGE32, HUGE64 = 0xffffffff, 0xffffffffffffffff

# name, fields, part of the sentence, and the exit status if it is not 3
ROWS = [
    ("version_4", {"version": 4}, "version 4", 1),
    ("cluster_bits_22", {"cluster_bits": 22}, "cluster_bits 22"),
    ("size_huge", {"size": HUGE64}, "size 18446744073709551615"),
    ("l1_size_past_the_end", {"l1_size": 1 << 16}, "L1 table at 0x3000"),
    ("l1_past_the_end", {"l1_table_offset": 1 << 40}, "0x10000000000"),
    ("refcount_table_past_the_end", {"refcount_table_offset": 1 << 50},
     "refcount table at 0x4000000000000"),
    ("snapshots_past_the_end", {"nb_snapshots": 1, "snapshots_offset": 1 << 40},
     "snapshot table at 0x10000000000"),
    ("crypt_method_3", {"crypt_method": 3}, "crypt_method 3", 1),
    ("luks_without_its_header", {"crypt_method": 2}, "crypt_method 2"),
    ("compression_type_2", {"incompatible_features": 8,
                            "compression_type": 2}, "compression_type 2", 1),
    ("header_length_past_the_cluster", {"header_length": 4104}, "header_length 4104"),
    ("raw_data_file_without_data_file", {"autoclear_features": 2},
     "bit 1 of autoclear_features"),
    ("backing_name_past_the_end", {"backing_file_offset": 1 << 62,
                                   "backing_file_size": 4},
     "backing_file_offset 0x4000000000000000"),
    ("backing_name_too_long", {"backing_file_offset": 2048,
                               "backing_file_size": 1024}, "has 1024 bytes"),
    ("backing_name_huge", {"backing_file_offset": 2048, "backing_file_size": HUGE32},
     "has 4294967295 bytes"),
]

for _name, _fields, _part, *_status in ROWS:
    case(_name, _part, _fields, status=(*_status, 3)[0])

for _bit in (5, 31, 63):
    case(f"unknown_feature_{_bit}", f"bit {_bit}",
         {"incompatible_features": 1 << _bit}, info=True, status=1,
         check=("unknown_features",))
case("marked_corrupt", "is marked corrupt", {"incompatible_features": 2}, info=True,
     check=("corrupt",))
case("encrypted", "is encrypted (aes)", {"crypt_method": 1}, info=True, status=1,
     check=("encryption",))
case("data_file_without_name", "does not name it", {"incompatible_features": 4},
     info=True, status=1, check=("data_file", "well_formed"))
# Bits that may be ignored, by definition.
case("unknown_compatible_and_autoclear_features", "",
     {"compatible_features": HUGE64 & ~1, "autoclear_features": HUGE64 & ~3},
     info=True, check=())
# QEMU rounds it down.
case("size_of_a_part_of_a_sector", "", {"size": MI - 255}, info=True)
# Opened with -f qcow2 alone.
case("magic_damaged", "first bytes 51 46 49 fc", {"magic": 0x514649fc}, status=1)
# Shorter than version 2, and than version 3.
case("header_cut_at_71", "has 71 bytes, too few for a qcow2 header", length=71, status=1)
case("header_cut_at_103", "has 103 bytes, too few for a qcow2 header", length=103)
# Nothing but zeros would be read.
case("only_the_header", "L1 table at 0x3000", length=112)

# Its length overflows 32 bits with its head; and passes the cluster by a byte.
UNKNOWN = 0x11223344
case("extension_huge", "header extension 0x11223344 at 0x70 has 4294967295 bytes",
     words=[(112, UNKNOWN << 32 | HUGE32)])
case("extension_passes_the_cluster",
     "header extension 0x11223344 at 0x70 has 3977 bytes",
     words=[(112, UNKNOWN << 32 | 4096 - 120 + 1)])
case("extension_passes_the_backing_name", "extends past the end of the header at 0xc00",
     extensions=[(UNKNOWN, bytes(4096 - 1024))], backing=[b"decoy"])
# Unknown ones are harmless.
case("extensions_by_the_hundred", "", extensions=[(UNKNOWN, b"")] * 490, info=True,
     check=())
# Two readers could take one each.
case("backing_format_twice", "header has two extensions: backing file format",
     extensions=[(BACKING_FORMAT, b"qcow2")], backing=[b"decoy"])
case("data_file_twice", "header has two extensions: external data file name",
     extensions=[(DATA_FILE, b"other")], data_file=b"decoy")
case("feature_names_twice", "header has two extensions: feature name table",
     extensions=[(FEATURE_NAMES, bytes(48))] * 2)
# QEMU takes 15.
case("backing_format_long", "backing file format has 16 bytes",
     extensions=[(BACKING_FORMAT, b"q" * 16)])
# Two readers could end it at different places.
case("backing_format_with_zero", "backing file format contains a zero byte",
     extensions=[(BACKING_FORMAT, b"raw\0qcow2")])
case("backing_name_with_zero", "backing file name contains a zero byte",
     backing=[b"/dev/null\0x"])
# One more than the format allows.
case("data_file_name_long", "external data file name has 1024 bytes",
     data_file=b"d" * 1024)
# A row has 48.
case("feature_names_cut", "feature name table has 47 bytes",
     extensions=[(FEATURE_NAMES, bytes(47))])
# Control characters do not reach the terminal.
case("feature_name_for_the_terminal",
     "incompatible feature '\\x1b[2J" + "x" * 42 + "' (bit 9)",
     {"incompatible_features": 1 << 9},
     [(FEATURE_NAMES, b"\0\x09\x1b[2J" + b"x" * 42)], info=True, status=1,
     check=("unknown_features",))
# The extension has 16 bytes; encryption is refused in any case.
case("encryption_pointer_short", "pointer to the encryption header has 8 bytes",
     {"crypt_method": 2}, [(ENCRYPTION, bytes(8))])
case("encryption_header_past_the_end", "is encrypted (luks)", {"crypt_method": 2},
     [(ENCRYPTION, struct.pack(">QQ", 1 << 60, KI))], info=True, status=1,
     check=("encryption", "well_formed"))
# Bitmaps are no part of the disk. The directory is in a hole of the file: zeros.
case("bitmaps_huge", "", {"autoclear_features": 1}, [(BITMAPS, struct.pack(
    ">IIQQ", HUGE32, 0, HUGE64, HUGE64 & ~0xfff))], info=True, check=("bitmaps",))
case("bitmap_directory_of_64_mib", "", {"autoclear_features": 1},
     [(BITMAPS, struct.pack(">IIQQ", 65535, 0, 64 << 20, 1 << 20))], length=66 << 20, info=True,
     check=("bitmaps", "refcounts"))


# Images that name other files: none of them is opened without leave.
ALLOW = ("--allow-backing", "{folder}")
ALLOW_DATA = ("--allow-data-file", "{folder}")
OF_BACKING = {"info": True, "check": ("backing_file",), "status": 1}
OF_DATA = {"info": True, "check": ("data_file",), "status": 1}


def names(name, part, prefix=b"", suffix=b"", fmt=b"raw", allow=()):
    """An image whose backing file is the decoy, under some name."""
    def make(image, folder):
        path = prefix.replace(b"FOLDER", os.fsencode(folder)) + suffix
        image.backing(path, fmt)
    DEFECTS[name] = Defect(make, part, decoy=True, options=allow, **OF_BACKING)


names("backing_absolute", "is not opened without --allow-backing", b"FOLDER/", b"decoy")
names("backing_relative", "is not opened without --allow-backing", b"decoy")
names("backing_above", "is not opened without --allow-backing", b"../", b"decoy")
names("backing_passwd", "its backing_file '/etc/passwd' is not opened", b"/etc/passwd")
names("backing_json", "begins with a protocol",
      b'json:{"driver":"raw","file.filename":"FOLDER/', b'decoy"}',
      allow=ALLOW)
names("backing_protocol", "begins with a protocol", b"file:FOLDER/decoy", allow=ALLOW)
names("backing_file_url", "begins with a protocol", b"file://FOLDER/decoy", allow=ALLOW)
names("backing_nbd", "begins with a protocol", b"nbd://127.0.0.1:1/x", allow=ALLOW)
names("backing_outside", "is not below the allowed directory", b"/etc/passwd",
      allow=ALLOW)
names("backing_climbs_out", "is not below the allowed directory",
      b"FOLDER/../../../../../../../../etc/", b"passwd", allow=ALLOW)
names("backing_format_vdi", "'vdi' is not qcow2, vmdk, vpc or raw", b"small",
      fmt=b"vdi", allow=ALLOW)
names("backing_format_vmdk", "too few for a VMDK header", b"small", fmt=b"vmdk",
      allow=ALLOW)
names("backing_format_vpc", "too few for the footer of a VHD", b"small",
      fmt=b"vpc", allow=ALLOW)
names("backing_format_gce", "'gce' is not qcow2, vmdk, vpc or raw", b"small",
      fmt=b"gce", allow=ALLOW)
names("backing_without_format", "the image has no backing_format",
      b"small", fmt=None, allow=ALLOW)
names("backing_is_absent", "No such file", b"absent", allow=ALLOW)
names("backing_is_the_directory", "is not below the allowed directory", b".",
      allow=ALLOW)
names("backing_is_a_device", "is not below the allowed directory", b"/dev/zero",
      allow=ALLOW)
# Opening it would wait for ever.
names("backing_is_a_fifo", "is not a regular file", b"decoy", allow=ALLOW)
case("backing_is_itself", "the chain is a loop", backing=(b"image.qcow2", b"qcow2"),
     options=ALLOW, **OF_BACKING)


@defect("is not a regular file", options=ALLOW, **OF_BACKING)
def backing_is_a_directory(image, folder):
    """Neither is a socket."""
    (folder / "folder").mkdir()
    image.backing(b"folder")


@defect("is not below the allowed directory", options=ALLOW, **OF_BACKING)
def backing_through_a_symlink(image, folder):
    """Out of the directory that is allowed."""
    (folder / "link").symlink_to("/etc")
    image.backing(b"link/passwd")


@defect("the chain is a loop", options=ALLOW, **OF_BACKING)
def backing_loop_of_three(image, folder):
    """The last one names the first."""
    image.backing(b"b.qcow2", b"qcow2")
    for name, other in ("b", b"c.qcow2"), ("c", b"image.qcow2"):
        below = Builder()
        below.backing(other, b"qcow2")
        below.write(folder / f"{name}.qcow2")


@defect("the chain is a loop", options=ALLOW, **OF_BACKING)
def backing_loop_of_hard_links(image, folder):
    """Another name of the same file."""
    below = Builder()
    below.backing(b"c.qcow2", b"qcow2")
    below.write(folder / "b.qcow2")
    os.link(folder / "b.qcow2", folder / "c.qcow2")
    image.backing(b"b.qcow2", b"qcow2")


@defect("is file 65 of the chain", options=ALLOW, **OF_BACKING)
def backing_chain_of_100(image, folder):
    """Each costs a descriptor."""
    image.backing(b"1.qcow2", b"qcow2")
    for depth in range(1, 100):
        below = Builder()
        below.backing(b"%d.qcow2" % (depth + 1), b"qcow2")
        below.write(folder / f"{depth}.qcow2")


@defect("l1_size 4294967295 needs more", options=ALLOW, **{**OF_BACKING, "status": 3})
def backing_is_hostile(image, folder):
    """The sentence is about that file."""
    below = Builder()
    below.fields["l1_size"] = 0xffffffff
    below.write(folder / "below.qcow2")
    image.backing(b"below.qcow2", b"qcow2")


# The bytes of the disk would be those of any file: CVE-2024-32498. By QEMU's own
# words, too.
case("data_file_named", "is not opened without --allow-data-file", data_file=b"decoy",
     decoy=True, **OF_DATA)
case("data_file_passwd", "is not opened without --allow-data-file",
     data_file=b"/etc/passwd", **OF_DATA)
case("data_file_json", "begins with a protocol",
     data_file=b'json:{"driver":"file","filename":"decoy"}', decoy=True,
     options=ALLOW_DATA, **OF_DATA)
case("data_file_is_a_fifo", "is not a regular file", data_file=b"decoy", decoy=True,
     options=ALLOW_DATA, **OF_DATA)
case("data_file_outside", "is not below the allowed directory",
     data_file=b"/etc/passwd", options=ALLOW_DATA, **OF_DATA)


@defect("data cluster of guest offset 0x0 at 0x0 with 4096 bytes lies past",
        options=ALLOW_DATA, **{**OF_DATA, "status": 3})
def data_file_too_short(image, folder):
    """Zeros would be read."""
    (folder / "short").write_bytes(b"x" * 4095)
    image.data_file(b"short")


@defect("has an offset that differs from the guest offset", info=True,
        check=("data_file", "well_formed"), options=ALLOW_DATA)
def data_file_with_other_places(image, folder):
    """Offsets in it are those of the disk."""
    (folder / "data").write_bytes(bytes(1 << 20))
    image.data_file(b"data")
    image.l2(2, 0x3000 | 1 << 63)


@defect("is compressed, but the image has an external data file", info=True,
        check=("data_file", "well_formed"), options=ALLOW_DATA)
def data_file_and_compression(image, folder):
    """They exclude each other."""
    (folder / "data").write_bytes(bytes(1 << 20))
    image.data_file(b"data")
    image.pack(4, 0x9000, b"x")


# L1 tables, L2 tables, snapshots, reference counts, files that end early; compressed
# clusters that are none, and small files that ask for much.


def l2_entry(name, entry, part, check=("well_formed",), **more):
    """Of guest cluster 2."""
    case(name, part, l2=entry, info=True, check=check, **more)


# The reader looks for overlaps with tables that it has at hand; check looks
# for all.
l2_entry("data_past_the_end", (1 << 50) | COPIED,
         "at 0x4000000000000 with 4096 bytes lies past the end")
l2_entry("data_at_the_last_place", 0x00fffffffffff000,
         "at 0xfffffffffff000 with 4096 bytes lies past")
l2_entry("data_on_the_l1_table", 0x3000 | COPIED, "overlaps the L1 table",
         ("overlaps", "refcounts"))
l2_entry("data_on_the_refcount_table", 0x1000, "overlaps the refcount table",
         ("overlaps", "refcounts", "copied"))
l2_entry("compressed_passes_the_end", COMPRESSED | 15 << 58 | 0x9000,
         "at 0x9000 with 8192 bytes lies past the end")
l2_entry("compressed_on_the_header", COMPRESSED | 0x10,
         "at 0x10 overlaps the header",
         ("overlaps", "refcounts"))
l2_entry("compressed_on_the_l1_table", COMPRESSED | 0x3800,
         "at 0x3800 (512 bytes) does not decompress",
         ("overlaps", "refcounts"))


# The disk can be read; a write would change two places. qemu-img check finds nothing
# if bit 63 is right, too.
l2_entry("data_cluster_twice", 0x6000 | COPIED, "", ("overlaps", "refcounts"))
l2_entry("data_cluster_twice_and_counted", 0x6000 | COPIED, "", ("overlaps", "copied"),
         counts={6: 2, 7: 0})
# Only check reads the reference counts.
l2_entry("l2_entry_on_a_refcount_block", 0x2000, "",
         ("overlaps", "refcounts", "copied"))
# A small file could describe a giant disk by it.
case("l2_table_twice", "two entries of the L1 table have the same L2 table at 0x4000",
     {"size": 4 * MI, "l1_size": 2}, words=[(0x3008, 0x4000 | COPIED)],
     check=("overlaps", "refcounts"))

# The file ends early.
case("cut_in_the_l2_table", "L2 table at 0x4000", length=0x4800)
case("cut_in_the_data", "guest offset 0x1000 at 0x6000", length=0x6800, info=True)
case("cut_before_compressed_data", "guest offset 0x4000 at 0x9000", length=0x9000,
     info=True)
# It is read by check alone, but judged by all.
case("cut_in_a_long_refcount_table", "refcount table at 0x1000 with 409600 bytes",
     {"refcount_table_clusters": 100})

@defect("", info=True, check=())
def count_too_high(image, _folder):
    """A leak is harmless."""
    image.counts[9] = 7
    image.allocate(20)


# Snapshots. QEMU opens no larger L1 table, and takes 1024 bytes of extra data.
for _name, _part, _snapshot in [
        ("l1_past_the_cap", "L1 table of snapshot 0 has 4194305 entries",
         {"entries": (32 * MI) // 8 + 1}),
        ("l1_past_the_end", "L1 table of snapshot 0 at 0x3000 with 8000000 bytes",
         {"entries": 1000000}),
        ("l1_unaligned", "L1 table of snapshot 0 offset 0x3008", {"l1": 0x3008}),
        ("l1_at_0", "L1 table of snapshot 0 offset is 0", {"l1": 0}),
        ("extra_past_the_cap", "has 1025 bytes of extra data", {"extra": 1025}),
        ("extra_huge", "snapshot table entry 0 has 4294967295 bytes of extra data",
         {"extra": HUGE32}),
        ("disk_huge", "disk size 9223372036854775808 of snapshot 0",
         {"disk": 1 << 63})]:
    case(f"snapshot_{_name}", _part, snapshot=_snapshot, check=("snapshots",))
# Its disk has clusters; its table describes less than its disk.
case("snapshot_l1_empty", "L1 table of the snapshot has 0 entries",
     snapshot={"own": True, "entries": 0}, info=True, check=("snapshots",),
     options=("--snapshot", "1"))
case("snapshot_with_a_larger_disk", "L1 table of the snapshot has 1 entry",
     snapshot={"own": True, "disk": 1 << 40}, info=True, check=("snapshots",),
     options=("--snapshot", "1"))
case("snapshot_absent", "has no snapshot with the ID or name 'wanted'",
     snapshot={"own": True}, info=True, check=(), status=1,
     options=("--snapshot", "wanted"))
# Two states would change as one.
case("snapshot_with_the_active_l1", "", snapshot={}, counts={3: 2}, info=True,
     check=("overlaps",))


@defect("", info=True)
def snapshot_with_a_damaged_l1_entry(image, _folder):
    """The disk does not need it."""
    own = image.own_l1()
    image.put("Q", own, 2)
    image.snapshots(image.snapshot(l1=own))


@defect("snapshot table entry 1 at", check=("snapshots",))
def snapshot_table_passes_the_end(image, _folder):
    """More of them than the file has."""
    own = image.own_l1()
    image.snapshots(image.snapshot(l1=own, name=b"n" * 4000), count=60)


@defect("has 2 snapshots of the name 'wanted'", info=True, check=(), status=1,
        options=("--snapshot", "wanted"))
def snapshot_ambiguous(image, _folder):
    """An ID would name one."""
    image.snapshots(
        image.snapshot(1, l1=image.own_l1(), name=b"wanted"),
        image.snapshot(2, l1=image.own_l1(), name=b"wanted"))


# Compressed clusters that are none.
WRONG = "does not decompress to exactly one cluster of 4096 bytes"
ZSTD = struct.pack("<I", 0xfd2fb528)


def packed(name, stream, zstd=False):
    """The compressed cluster holds this stream."""
    case(name, WRONG, {"incompatible_features": 8, "compression_type": 1} if zstd else (),
         stream=stream, info=True, check=())


packed("deflate_garbage", bytes(range(1, 200)))
packed("deflate_empty", b"\x03\x00")
packed("deflate_zeros", bytes(512))
packed("deflate_short", deflated(bytes(4095)))
packed("deflate_long", deflated(bytes(4097)))
packed("deflate_bomb", deflated(bytes(8 << 20)))
packed("deflate_cut", deflated(bytes(range(256)) * 16)[:40])
# with the header of zlib, which qcow2 does not have
packed("deflate_wrapped", zlib.compress(b"A" * 4096))
# a distance before the beginning of the cluster
packed("deflate_too_far_back", b"\x4b\x04\x82\x7f\xff\xff\xff\x03\x00")
packed("zstd_garbage", bytes(range(1, 200)), zstd=True)
packed("zstd_of_an_image_for_zlib", deflated(bytes(4096)), zstd=True)
packed("zstd_skippable", struct.pack("<II", 0x184d2a50, 100) + bytes(100), zstd=True)
# single segment, 8 bytes of content size: 1 EiB
packed("zstd_huge_content", ZSTD + b"\xe0" + struct.pack("<Q", 1 << 60) +
       b"\x01\x00\x00", zstd=True)
# a window of 3.75 TiB
packed("zstd_huge_window", ZSTD + b"\x00\xff" + b"\x03\x80\x00" + b"A", zstd=True)
# 256 blocks of 128 KiB, of one byte each
packed("zstd_bomb", ZSTD + b"\x00\x58" + b"\x02\x00\x10A" * 255 +
       b"\x03\x00\x10A", zstd=True)
packed("zstd_dictionary", ZSTD + b"\x23\x01\x02\x03\x04\x10\x00" +
       b"\x03\x80\x00A", zstd=True)
packed("zstd_short", ZSTD + b"\x60\x00\x0e" + b"\x01\x78\x00" + bytes(15), zstd=True)


@defect("", info=True, check=("overlaps",),
        builder={"bits": 16, "size": 512 << 20}, read=520 << 20)
def data_bomb(image, _folder):
    """One cluster of zeros is 8192 clusters of the disk."""
    where = 5 * image.cluster
    for index in range(8192):
        image.l2(index, where)
    image.body[where] = bytes(image.cluster)
    image.counts[5:10] = [8192, 0, 0, 0, 0]


@defect("", info=True, check=(), builder={"bits": 16, "size": 256 << 20})
def compressed_bomb(image, _folder):
    """The same with one compressed cluster of zeros."""
    stream = deflated(bytes(image.cluster))
    for index in range(4096):
        image.pack(index, 9 * image.cluster, stream)
    image.counts[5:10] = [0, 0, 0, 0, 4096]


@defect("", info=True, check=(), builder={"bits": 21, "size": 1 << 60},
        convert=("-o", "cluster_size=2M"))
def empty_disk_of_1_eib(image, _folder):
    """Nothing is in it."""
    image.fields["l1_size"] = 1 << 21
    image.body = {image.cluster: image.body[image.cluster]}
    image.counts = [1] * 3 + [1] * 8
    image.length = 11 * image.cluster


@defect("L2 entry", info=True, builder={"bits": 16, "size": 8 << 40},
        check=("well_formed", "refcounts", "copied"))
def sixteen_thousand_l2_tables(image, _folder):
    """All in holes of the file but the last one, which is damaged."""
    image.fields["l1_size"] = 16384
    image.fields["l1_table_offset"] = 10 * image.cluster
    image.body[10 * image.cluster] = b"".join(
        struct.pack(">Q", (16 + index) * image.cluster | COPIED)
        for index in range(16384))
    image.length = (16 + 16384) * image.cluster
    image.put("Q", (16 + 16383) * image.cluster, 2)
    image.counts[5:] = [0] * 5


def snapshot_table(image, count, **of_entry):
    """Entries that share one L1 table."""
    own = image.own_l1()
    raw = image.snapshot(l1=own, **of_entry)
    image.snapshots(*[raw] * count)
    image.counts[own // image.cluster] = min(count, 65535)


@defect("", info=True, check=("overlaps", "refcounts"), builder={"bits": 21})
def snapshots_by_the_ten_thousand(image, _folder):
    """QEMU opens 65536."""
    snapshot_table(image, 65536)


@defect("snapshot table has at least 67137534 bytes", check=("snapshots",),
        builder={"bits": 21})
def snapshot_table_of_65_mib(image, _folder):
    """Names as long as they can be."""
    snapshot_table(image, 520, name=b"n" * 65535, ident=b"i" * 65535)


@defect("", info=True, check=("overlaps", "refcounts"),
        builder={"bits": 16, "size": 1 << 40})
def snapshots_with_giant_tables(image, _folder):
    """4096 snapshots whose L1 tables of 32 MiB lie over each other, in a hole
    of the file: 128 GiB of tables in 400 KiB."""
    image.fields["l1_size"] = 2048
    entries = [image.snapshot(number, l1=(1 << 30) + (number << 16),
                              entries=4 << 20, disk=1 << 50)
               for number in range(4096)]
    image.snapshots(*entries)
    image.length = 8 << 30


@defect("", info=True, check=None, builder={"bits": 9, "size": 16 << 20})
def snapshots_with_many_giant_tables(image, _folder):
    """The same side by side: counting the clusters of 2 TiB of tables would
    take 16 GiB. Files that are not safe may also be unknown."""
    image.fields["l1_size"] = 512
    image.allocate(64)
    image.fields["l1_table_offset"] = image.allocate(8)
    entries = [image.snapshot(number, l1=(1 << 30) + (number << 25),
                              entries=4 << 20) for number in range(65536)]
    image.fields["refcount_table_offset"] = 512
    image.snapshots(*entries)
    image.length = (1 << 30) + (65536 << 25)


@defect("", info=True, check=("refcounts", "copied"),
        builder={"bits": 9, "size": 1 << 20})
def l2_tables_far_apart(image, _folder):
    """Each is 4 TiB from the next: a dense map of the file would not fit."""
    image.fields["l1_size"] = 64
    image.put("Q", 512, 1024)
    places = [(1 << 41) * (1 + index) for index in range(3)]
    image.body[3 * 512] = b"".join(
        struct.pack(">Q", place | COPIED) for place in places)
    image.length = places[-1] + 512
    image.counts[4:] = [0] * 6
