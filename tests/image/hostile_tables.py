# SPDX-License-Identifier: BSD-3-Clause
"""L1 tables, L2 tables, snapshots, reference counts, files that end early; compressed
clusters that are none, and small files that ask for much."""
import struct
import zlib

from defects import defect
from qcow2_builder import COMPRESSED, COPIED, MI, deflated

TOP = 1 << 60
EXTENDED = {"bits": 14, "extended": True}


def l1_entry(name, entry, part, check=("well_formed",)):
    """The only entry of the L1 table."""
    def make(image, _folder):
        image.put("Q", image.fields["l1_table_offset"], entry)
    make.__name__ = name
    defect(part, check=check)(make)


l1_entry("l1_entry_unaligned", 0x4200 | COPIED, "not a multiple of the cluster")
l1_entry("l1_entry_reserved_low", 0x4001 | COPIED, "has reserved bits set")
l1_entry("l1_entry_reserved_high", 0x4000 | COPIED | TOP,
         "has reserved bits set")
l1_entry("l1_entry_past_the_end", 1 << 50, "L2 table at 0x4000000000000")
l1_entry("l1_entry_at_the_end", 0xa000, "L2 table at 0xa000")
l1_entry("l1_entry_without_offset", COPIED, "points at the header")


def l2_entry(name, entry, part, check=("well_formed",), **expected):
    """Of guest cluster 2; expected: of the Builder, and its bitmap."""
    bitmap = expected.pop("bitmap", 0)

    def make(image, _folder):
        image.l2(2, entry(image) if callable(entry) else entry, bitmap)
    make.__name__ = name
    defect(part, info=True, check=check, **expected)(make)


# The reader looks for overlaps with tables that it has at hand; check looks
# for all.
l2_entry("data_unaligned", 0x7200 | COPIED, "not a multiple of the cluster")
l2_entry("data_reserved_low", 0x7002 | COPIED, "has reserved bits set")
l2_entry("data_reserved_high", 0x7000 | COPIED | TOP, "has reserved bits set")
l2_entry("data_past_the_end", (1 << 50) | COPIED,
         "at 0x4000000000000 with 4096 bytes lies past the end")
l2_entry("data_at_the_end", 0xa000, "at 0xa000 with 4096 bytes lies past")
l2_entry("data_at_the_last_place", 0x00fffffffffff000,
         "at 0xfffffffffff000 with 4096 bytes lies past")
l2_entry("data_without_offset", COPIED, "has bit 63 set but no offset")
l2_entry("data_on_the_l1_table", 0x3000 | COPIED, "overlaps the L1 table",
         ("overlaps", "refcounts"))
l2_entry("data_on_the_refcount_table", 0x1000, "overlaps the refcount table",
         ("overlaps", "refcounts", "copied"))
l2_entry("zero_flag_in_version_2", 0x7001 | COPIED, "has reserved bits set",
         builder={"version": 2})
l2_entry("compressed_with_bit_63", COMPRESSED | COPIED | 0x9000,
         "has bit 63 set, but the cluster is compressed")
l2_entry("compressed_past_the_end", COMPRESSED | 1 << 50,
         "at 0x4000000000000 with 512 bytes lies past the end")
l2_entry("compressed_passes_the_end", COMPRESSED | 15 << 58 | 0x9000,
         "at 0x9000 with 8192 bytes lies past the end")
l2_entry("compressed_on_the_header", COMPRESSED | 0x10,
         "at 0x10 overlaps the header",
         ("overlaps", "refcounts"))
l2_entry("compressed_on_the_l1_table", COMPRESSED | 0x3800,
         "at 0x3800 (512 bytes) does not decompress",
         ("overlaps", "refcounts"))
l2_entry("subclusters_allocated_and_zero",
         lambda image: 7 * image.cluster | COPIED,
         "has subclusters both allocated and zero", builder=EXTENDED,
         bitmap=0x00000001_ffffffff)
l2_entry("subclusters_without_offset", 0, "but the cluster has no offset",
         builder=EXTENDED, bitmap=0xff)
l2_entry("subclusters_of_a_compressed_cluster",
         lambda image: COMPRESSED | 9 * image.cluster,
         "has a subcluster bitmap, but the cluster is compressed",
         builder=EXTENDED, bitmap=1)
l2_entry("zero_flag_with_subclusters",
         lambda image: 7 * image.cluster | COPIED | 1,
         "has reserved bits set", builder=EXTENDED, bitmap=0xffffffff)


@defect("two entries of the L1 table have the same L2 table at 0x4000",
        check=("overlaps", "refcounts"))
def l2_table_twice(image, _folder):
    """A small file could describe a giant disk by it."""
    image.fields.update(size=4 * MI, l1_size=2)
    image.put("Q", 0x3008, 0x4000 | COPIED)


@defect("", info=True, check=("overlaps", "refcounts"))
def data_cluster_twice(image, _folder):
    """The disk can be read; a write would change two places."""
    image.l2(2, 0x6000 | COPIED)


@defect("", info=True, check=("overlaps", "copied"))
def data_cluster_twice_and_counted(image, _folder):
    """qemu-img check finds nothing if bit 63 is right, too."""
    image.l2(2, 0x6000 | COPIED)
    image.counts[6:8] = [2, 0]


@defect("", info=True, check=("overlaps", "refcounts", "copied"))
def l2_entry_on_a_refcount_block(image, _folder):
    """Only check reads the reference counts."""
    image.l2(2, 0x2000)


def cut(name, length, part, **expected):
    """The file ends early."""
    def make(image, _folder):
        image.length = length
    make.__name__ = name
    defect(part, **expected)(make)


cut("cut_in_the_refcount_table", 0x1800, "L1 table at 0x3000")
cut("cut_before_the_l1_table", 0x3000, "L1 table at 0x3000 with 8 bytes")
cut("cut_in_the_l1_table", 0x3004, "L1 table at 0x3000 with 8 bytes")
cut("cut_in_the_l2_table", 0x4800, "L2 table at 0x4000")
cut("cut_in_the_data", 0x6800, "guest offset 0x1000 at 0x6000", info=True,
    check=("well_formed",))
cut("cut_before_compressed_data", 0x9000, "guest offset 0x4000 at 0x9000",
    info=True)


@defect("refcount table at 0x1000 with 409600 bytes")
def cut_in_a_long_refcount_table(image, _folder):
    """It is read by check alone, but judged by all."""
    image.fields["refcount_table_clusters"] = 100


# Reference counts: the disk can be read, and check says what is wrong.
def refcount_entry(name, entry, *failed):
    """The only entry of the refcount table."""
    def make(image, _folder):
        image.put("Q", image.fields["refcount_table_offset"], entry)
    make.__name__ = name
    defect("", info=True, check=failed)(make)


refcount_entry("refcount_block_unaligned", 0x2100, "well_formed",
               "refcounts", "copied")
refcount_entry("refcount_block_reserved", 0x2001, "well_formed", "refcounts",
               "copied")
refcount_entry("refcount_block_past_the_end", 1 << 62, "well_formed",
               "refcounts", "copied")
refcount_entry("refcount_block_negative", (1 << 64) - 0x1000, "well_formed",
               "refcounts", "copied")
refcount_entry("refcount_block_absent", 0, "refcounts", "copied")
refcount_entry("refcount_block_on_the_l1_table", 0x3000, "overlaps",
               "refcounts", "copied")
refcount_entry("refcount_block_on_data", 0x5000, "overlaps", "copied")


@defect("", info=True, check=("overlaps",))
def refcount_block_twice(image, _folder):
    """For two ranges of the file."""
    image.put("Q", 0x1008, 0x2000)
    image.counts[2] = 2


@defect("", info=True, check=("refcounts", "copied"))
def count_too_low(image, _folder):
    """A write would destroy data."""
    image.counts[5] = 0


@defect("", info=True, check=())
def count_too_high(image, _folder):
    """A leak is harmless."""
    image.counts[9] = 7
    image.allocate(20)


# Snapshots.
@defect("L1 table of snapshot 0 has 4194305 entries", check=("snapshots",))
def snapshot_l1_past_the_cap(image, _folder):
    """More than QEMU opens."""
    image.snapshots(image.snapshot(entries=(32 * MI) // 8 + 1))


@defect("L1 table of snapshot 0 at 0x3000 with 8000000 bytes",
        check=("snapshots",))
def snapshot_l1_past_the_end(image, _folder):
    """Past the end of the file."""
    image.snapshots(image.snapshot(entries=1000000))


@defect("L1 table of snapshot 0 offset 0x3008", check=("snapshots",))
def snapshot_l1_unaligned(image, _folder):
    """Not at a cluster."""
    image.snapshots(image.snapshot(l1=0x3008))


@defect("L1 table of snapshot 0 offset is 0", check=("snapshots",))
def snapshot_l1_at_0(image, _folder):
    """The place of the header."""
    image.snapshots(image.snapshot(l1=0))


@defect("L1 table of the snapshot has 0 entries", info=True,
        check=("snapshots",), options=("--snapshot", "1"))
def snapshot_l1_empty(image, _folder):
    """Its disk has clusters."""
    image.snapshots(image.snapshot(l1=image.own_l1(), entries=0))


@defect("has 1025 bytes of extra data", check=("snapshots",))
def snapshot_extra_past_the_cap(image, _folder):
    """One more than QEMU takes."""
    image.snapshots(image.snapshot(extra=1025))


@defect("snapshot table entry 0 has 4294967295 bytes of extra data",
        check=("snapshots",))
def snapshot_extra_huge(image, _folder):
    """More than QEMU takes."""
    image.snapshots(image.snapshot(extra=0xffffffff))


@defect("disk size 9223372036854775808 of snapshot 0", check=("snapshots",))
def snapshot_disk_huge(image, _folder):
    """Larger than any file."""
    image.snapshots(image.snapshot(disk=1 << 63))


@defect("snapshot table entry 1 at", check=("snapshots",))
def snapshot_table_passes_the_end(image, _folder):
    """More of them than the file has."""
    own = image.own_l1()
    image.snapshots(image.snapshot(l1=own, name=b"n" * 4000), count=60)


@defect("has no snapshot with the ID or name 'wanted'", info=True, check=(),
        options=("--snapshot", "wanted"))
def snapshot_absent(image, _folder):
    """The user asked for it."""
    image.snapshots(image.snapshot(l1=image.own_l1()))


@defect("has 2 snapshots of the name 'wanted'", info=True, check=(),
        options=("--snapshot", "wanted"))
def snapshot_ambiguous(image, _folder):
    """An ID would name one."""
    image.snapshots(
        image.snapshot(1, l1=image.own_l1(), name=b"wanted"),
        image.snapshot(2, l1=image.own_l1(), name=b"wanted"))


@defect("L1 table of the snapshot has 1 entry", info=True,
        check=("snapshots",), options=("--snapshot", "1"))
def snapshot_with_a_larger_disk(image, _folder):
    """Its table describes less than its disk."""
    image.snapshots(image.snapshot(l1=image.own_l1(), disk=1 << 40))


@defect("", info=True, check=("overlaps",))
def snapshot_with_the_active_l1(image, _folder):
    """Two states would change as one."""
    image.snapshots(image.snapshot())
    image.counts[3] = 2


# Compressed clusters that are none.
WRONG = "does not decompress to exactly one cluster of 4096 bytes"
ZSTD = struct.pack("<I", 0xfd2fb528)


def packed(name, stream, part=WRONG, zstd=False, sectors=None):
    """The compressed cluster holds this stream."""
    def make(image, _folder):
        if zstd:
            image.fields.update(incompatible_features=8, compression_type=1)
        image.allocate(4)
        image.pack(4, 0x9000, stream, sectors)
    make.__name__ = name
    defect(part, info=True, check=())(make)


def zlib_wrapped(data):
    """A stream with zlib's header, which qcow2 does not have."""
    return zlib.compress(data)


packed("deflate_garbage", bytes(range(1, 200)))
packed("deflate_empty", b"\x03\x00")
packed("deflate_zeros", bytes(512))
packed("deflate_short", deflated(bytes(4095)))
packed("deflate_long", deflated(bytes(4097)))
packed("deflate_bomb", deflated(bytes(8 << 20)))
packed("deflate_cut", deflated(bytes(range(256)) * 16)[:40])
packed("deflate_wrapped", zlib_wrapped(b"A" * 4096))
# a distance before the beginning of the cluster
packed("deflate_too_far_back", b"\x4b\x04\x82\x7f\xff\xff\xff\x03\x00")
packed("zstd_garbage", bytes(range(1, 200)), zstd=True)
packed("zstd_of_an_image_for_zlib", deflated(bytes(4096)), zstd=True)
packed("zstd_skippable", struct.pack("<II", 0x184d2a50, 100) + bytes(100),
       zstd=True)
# single segment, 8 bytes of content size: 1 EiB
packed("zstd_huge_content", ZSTD + b"\xe0" + struct.pack("<Q", 1 << 60) +
       b"\x01\x00\x00", zstd=True)
# a window of 3.75 TiB
packed("zstd_huge_window", ZSTD + b"\x00\xff" + b"\x03\x80\x00" + b"A",
       zstd=True)
# 256 blocks of 128 KiB, of one byte each
packed("zstd_bomb", ZSTD + b"\x00\x58" + b"\x02\x00\x10A" * 255 +
       b"\x03\x00\x10A", zstd=True)
packed("zstd_dictionary", ZSTD + b"\x23\x01\x02\x03\x04\x10\x00" +
       b"\x03\x80\x00A", zstd=True)
packed("zstd_short", ZSTD + b"\x60\x00\x0e" + b"\x01\x78\x00" + bytes(15),
       zstd=True)


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
