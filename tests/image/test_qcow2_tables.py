# SPDX-License-Identifier: BSD-3-Clause
"""Damaged tables and clusters of qcow2 images: exit status 1, one sentence, no output."""
import os
import random
import subprocess

import pytest

import qemu
from damage import COMPRESSED, COPIED, OFFSET, Image, make, refused
from qemu import KI, MI

SEED = int(os.environ["HONE_SEED"], 0)

L1 = [
    (1, "reserved bits"), (1 << 56, "reserved bits"),
    (0x200, "is not a multiple of the cluster size"),
    (COPIED, "points at the header"),
    (COPIED | 0x7fffffff0000, "L2 table at 0x7fffffff0000"),
    (OFFSET & ~0xffff, "lies past the end of the file"),
]


@pytest.mark.parametrize("value,words", L1)
def test_a_bad_entry_of_the_l1_table(work, hone, value, words):
    """Where an L2 table is to be."""
    image = make(work)
    image.put("Q", image.l1(), value)
    image.write()
    refused(hone, image, "L1 table entry 0", words)


def test_an_l2_table_that_two_entries_have(work, hone):
    """A small file would describe a giant disk full of data."""
    image = make(work, cluster_size=512, size=256 * KI)
    image.put("Q", image.l1(3), image.get("Q", image.l1(0)))
    image.write()
    refused(hone, image, "have the same L2 table")


L2 = [
    # entry's index, value, what the sentence has
    (0, 0x50000 | COPIED | 2, "reserved bits"),
    (0, 0x50000 | COPIED | 1 << 61, "reserved bits"),
    (0, 0x50000 | COPIED | 1 << 56, "reserved bits"),
    (0, 0x50200 | COPIED, "not a multiple of the cluster size"),
    (0, COPIED, "has bit 63 set but no offset"),
    (0, COPIED | 0x10000000, "data cluster of guest offset 0x0"),
    (2, OFFSET & ~0xffff, "data cluster of guest offset 0x20000"),
    (0, COPIED | 0x30000, "overlaps the L1 table"),
    (0, COPIED | 0x10000, "overlaps the refcount table"),
    (4, 0x50200 | 1, "not a multiple of the cluster size"),
    (8, COMPRESSED | 0x10000000, "compressed cluster of guest offset "
                                 "0x80000 at 0x10000000"),
    (8, COMPRESSED | (1 << 54) - 1, "lies past the end of the file"),
    (8, COMPRESSED, "overlaps the header"),
    (8, COMPRESSED | COPIED | 0x90000, "has bit 63 set"),
    (9, COMPRESSED | 0xff << 54 | 0x9f000, "past the end of the file"),
]


@pytest.mark.parametrize("index,value,words", L2)
def test_a_bad_entry_of_an_l2_table(work, hone, index, value, words):
    """Where a cluster is to be."""
    image = make(work)
    image.put("Q", image.l2(index), value)
    image.write()
    refused(hone, image, words)


def test_version_2_has_no_zero_clusters(work, hone):
    """Bit 0 of an entry is reserved there."""
    image = make(work, compat="0.10")
    image.put("Q", image.l2(0), image.get("Q", image.l2(0)) | 1)
    image.write()
    refused(hone, image, "reserved bits")


@pytest.mark.parametrize("index,word,value,words", [
    (0, 1, (1 << 32) + 1, "both allocated and zero"),
    (12, 1, 1, "the cluster has no offset"),
    (4, 0, 1, "reserved bits"),
    (8, 1, 1, "but the cluster is compressed"),
    (0, 0, COPIED | 0x10000000, "lies past the end"),
])
def test_a_bad_entry_with_subclusters(work, hone, index, word, value,
                                      words):
    """The bitmap contradicts itself, or the entry."""
    image = make(work, extended_l2="on")
    image.put("Q", image.l2(index, 2) + 8 * word, value)
    image.write()
    refused(hone, image, words)


def test_an_external_data_file_has_the_guest_s_offsets(work, hone):
    """Others, and compressed clusters, are refused."""
    for value, words in ((COPIED | 0x10000, "differs from the guest offset"),
                         (COMPRESSED | 0x10000, "is compressed")):
        path = work / "a.qcow2"
        qemu.create(path, MI, data_file=work / "data")
        qemu.io(path, "write -P 5 0 1M")
        image = Image(path)
        image.put("Q", image.l2(3), value)
        image.write()
        assert words in hone.fails(
            "convert", "--allow-data-file", work, path, work / "out.raw",
            code=3)
        assert not (work / "out.raw").exists()
        (work / "data").unlink()


@pytest.mark.parametrize("codec", ["zlib", "zstd"])
def test_compressed_bytes_must_fill_one_cluster(work, hone, codec):
    """Not less, not more, and not nothing; qemu-img makes zeros of them."""
    whole = make(work, compression_type=codec)
    entry = whole.get("Q", whole.l2(8))
    at = entry & ((1 << 54) - 1)
    for damage in (bytes(64), b"\xff" * 64, whole.data[at + 3:at + 67],
                   # another cluster size: streams of half and of twice
                   "half", "twice"):
        image = make(work, compression_type=codec)
        if isinstance(damage, str):
            other = make(work, "b.qcow2", compression_type=codec,
                         cluster_size=(32 if damage == "half" else 128) * KI)
            bits = 55 if damage == "half" else 53
            start = other.get("Q", other.l2(8)) & ((1 << bits) - 1)
            damage = other.data[start:start + 64]
        image.data[at:at + len(damage)] = damage
        image.write()
        refused(hone, image, "compressed cluster of guest offset 0x80000",
                "does not decompress to exactly one cluster of 65536 bytes")


def test_the_last_compressed_cluster_is_a_whole_one(work, hone):
    """Though the disk ends inside it."""
    path = work / "a.qcow2"
    qemu.create(path, 96 * KI)
    qemu.io(path, "write -c -P 7 64k 32k")
    hone.ok("convert", "-q", path, work / "good.raw")
    image = Image(path)
    qemu.create(work / "b.qcow2", 96 * KI, cluster_size=32 * KI)
    qemu.io(work / "b.qcow2", "write -c -P 7 64k 32k")
    other = Image(work / "b.qcow2")
    start = other.get("Q", other.l2(2)) & ((1 << 55) - 1)
    at = image.get("Q", image.l2(1)) & ((1 << 54) - 1)
    image.data[at:] = other.data[start:]
    image.write()
    refused(hone, image, "does not decompress to exactly one cluster")


@pytest.mark.parametrize("options", [
    {}, {"extended_l2": "on"}, {"cluster_size": 4096}])
def test_a_truncated_file_is_refused(work, hone, options):
    """Wherever it ends, unless nothing that is read is lost."""
    image = make(work, **options)
    whole = bytes(image.data)
    rng = random.Random(f"{SEED} {options}")
    ends = [0, 1, 4, 71, 72, 103, 104, 511, 512, len(whole) - 1]
    ends += [rng.randrange(len(whole)) for _ in range(25)]
    for end in ends:
        image.data = bytearray(whole[:end])
        image.write()
        if end == 0:
            continue
        # It may be any file before it has a header.
        refused(hone, image, status=1 if end < 72 else 3)


def damaged(rng, image, spots):
    """Damage one to five of the words at spots."""
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at = rng.choice(spots)
        how = rng.randrange(4)
        if how == 0:
            image.data[at + rng.randrange(8)] = rng.randrange(256)
        elif how == 1:
            image.data[at + rng.randrange(8)] ^= 1 << rng.randrange(8)
        elif how == 2:
            image.put("Q", at, rng.getrandbits(64))
        else:
            image.put("Q", at, rng.choice(
                [0, 1, 65536, 1 << 31, 1 << 32, 1 << 62, (1 << 64) - 1]))


@pytest.mark.parametrize("options", [
    {}, {"compat": "0.10"}, {"extended_l2": "on"},
    {"compression_type": "zstd", "cluster_size": 4096}])
@pytest.mark.parametrize("where", ["header", "tables"])
def test_what_qemu_refuses_is_refused(work, hone, options, where):
    """Random damage; what both read, they read alike."""
    rng = random.Random(f"{SEED} {options} {where}")
    image = make(work, size=2 * MI, **options)
    whole = bytes(image.data)
    l2 = image.l2(0)
    spots = (range(4, 112, 4) if where == "header" else
             [image.l1()] + [at for at in range(l2, l2 + 4096, 8)
                             if image.get("Q", at)])
    ours, theirs = work / "ours", work / "theirs"
    for _ in range(5):
        image.data = bytearray(whole)
        damaged(rng, image, spots)
        image.write()
        done = subprocess.run(
            ["qemu-img", "convert", "-O", "raw", image.path, theirs],
            check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=1000)
        mine = hone.run("convert", "-q", "--force", "-O", "raw", image.path,
                        ours)
        if mine.returncode == 0:
            assert done.returncode == 0, done
            # QEMU drops a part of a sector at the end of a disk.
            size = os.path.getsize(theirs)
            assert 0 <= os.path.getsize(ours) - size < 512
            os.truncate(ours, size)
            assert qemu.first_difference(ours, theirs) is None
        else:
            assert mine.returncode in (1, 3)
            assert mine.stderr.count(b"\n") == 1
            assert mine.stderr.startswith(b"hone: ")
        assert hone.run("info", image.path).returncode in (0, 1, 3)
