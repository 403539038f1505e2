# SPDX-License-Identifier: BSD-3-Clause
"""Compressed clusters that are none, and small files that ask for much."""
import struct
import zlib

from defects import defect
from qcow2_builder import COPIED, deflated

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
def snapshot_table_of_100_mib(image, _folder):
    """Names as long as they can be."""
    snapshot_table(image, 800, name=b"n" * 65535, ident=b"i" * 65535)


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
