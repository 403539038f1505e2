# SPDX-License-Identifier: BSD-3-Clause
"""L1 tables, L2 tables, snapshots, reference counts, files that end early."""
from defects import defect
from qcow2_builder import COMPRESSED, COPIED, MI

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
