# SPDX-License-Identifier: BSD-3-Clause
"""Damaged qcow2 images, in header, tables and clusters: exit status 1, one
sentence, no output."""
import os
import random
import struct
import subprocess

import pytest

import qemu
from damage import COMPRESSED, COPIED, OFFSET, Image, make, refused
from qemu import KI, MI

HEADER = [
    # offset, code of struct, value, what the sentence has
    (0, "I", 0x514649fc, "-f raw"),
    (4, "I", 0, "version 0"), (4, "I", 1, "version 1"),
    (4, "I", 4, "version 4"), (4, "I", 0xffffffff, "version 4294967295"),
    (8, "Q", 100, "backing_file_offset 0x64"),
    (8, "Q", 65537, "backing_file_offset 0x10001"),
    (8, "Q", 1 << 63, "backing_file_offset"),
    (8, "Q", 60000, "backing file name has 0 bytes"),
    (20, "I", 8, "cluster_bits 8"), (20, "I", 22, "cluster_bits 22"),
    (20, "I", 0, "cluster_bits 0"), (20, "I", 64, "cluster_bits 64"),
    (20, "I", 0xffffffff, "cluster_bits"),
    (24, "Q", 1 << 63, "larger than any file"),
    (24, "Q", 1 << 40, "l1_size 1 is less than the"),
    (32, "I", 3, "crypt_method 3"), (32, "I", 2, "crypt_method 2"),
    (32, "I", 1, "is encrypted (aes)"),
    (36, "I", 0, "less than the 1 entry that"),
    (36, "I", 4 * MI + 1, "more than 32 MiB"),
    (36, "I", 1 << 20, "L1 table at"),
    (40, "Q", 0, "L1 table offset is 0"),
    (40, "Q", 0x30200, "L1 table offset 0x30200 is not a multiple"),
    (40, "Q", 0x7fffff0000, "L1 table at 0x7fffff0000"),
    (40, "Q", 0xffffffffffff0000, "lies past the end of the file"),
    (48, "Q", 0, "refcount table offset is 0"),
    (48, "Q", 0x10200, "refcount table offset 0x10200"),
    (48, "Q", 1 << 56, "refcount table at 0x100000000000000"),
    (56, "I", 0, "refcount_table_clusters is 0"),
    (56, "I", 1000, "refcount_table_clusters 1000"),
    (56, "I", 0xffffffff, "more than 8 MiB"),
    (60, "I", 65537, "nb_snapshots 65537"),
    (60, "I", 1, "snapshot table offset is 0"),
    (64, "Q", 512, "snapshot table offset 0x200"),
    (64, "Q", 1 << 63, "snapshot table at 0x8000000000000000"),
    (72, "Q", 2, "is marked corrupt"),
    (72, "Q", 1 << 5, "incompatible feature bit 5"),
    (72, "Q", 1 << 63, "incompatible feature bit 63"),
    (72, "Q", 8, "compression_type 0 contradicts"),
    (72, "Q", 4, "has an external data file, but does not name it"),
    (88, "Q", 2, "bit 1 of autoclear_features"),
    (96, "I", 7, "refcount_order 7"),
    (96, "I", 0xffffffff, "refcount_order"),
    (100, "I", 0, "header_length 0"), (100, "I", 96, "header_length 96"),
    (100, "I", 108, "header_length 108"),
    (100, "I", 1 << 17, "header_length 131072"),
    (100, "I", 0xfffffff8, "header_length"),
    (104, "B", 1, "compression_type 1 contradicts"),
]


# What these fields say is not damage.
OTHER = ("-f raw", "version 0", "version 1", "version 4",
         "version 4294967295", "crypt_method 3", "is encrypted (aes)",
         "incompatible feature bit 5", "incompatible feature bit 63",
         "has an external data file, but does not name it")


@pytest.mark.parametrize("at,code,value,words", HEADER)
def test_a_bad_field_of_the_header(work, hone, at, code, value, words):
    """Each field, out of its range."""
    image = make(work)
    image.put(code, at, value)
    image.write()
    refused(hone, image, words, status=1 if words in OTHER else 3)


def test_a_codec_that_does_not_exist(work, hone):
    """The bit and the field agree, but on nothing known."""
    image = make(work, compression_type="zstd")
    image.put("B", 104, 2)
    image.write()
    refused(hone, image, "compression_type 2", status=1)


def test_subclusters_need_large_clusters(work, hone):
    """32 of them have at least 512 bytes each."""
    image = make(work, cluster_size=8 * KI)
    image.put("Q", 72, 16)
    image.write()
    refused(hone, image, "cluster_bits 13 is less than 14")


def test_an_unknown_feature_is_named(work, hone):
    """By the image's own table of names."""
    image = make(work)
    row = image.extension(0x6803f857) + 8
    image.put("B", row + 1, 40)
    image.data[row + 2:row + 48] = b"flying clusters".ljust(46, b"\0")
    image.put("Q", 72, 1 << 40)
    image.write()
    refused(hone, image, "incompatible feature 'flying clusters' (bit 40)",
            status=1)
    assert hone.json("info", "--json", image.path)["unknown_features"] == [
        {"bit": 40, "name": "'flying clusters' (bit 40)"}]
    # A name that fills its place has no zero byte at its end.
    image.data[row + 2:row + 48] = b"x" * 46
    image.write()
    refused(hone, image, "feature '" + "x" * 46 + "' (bit 40)", status=1)


@pytest.mark.parametrize("length", [0xffffffff, 0x7fffffff, 65536, 65520])
def test_an_extension_that_passes_the_end_of_the_header(
        work, hone, length):
    """Its length is that of nothing in the first cluster."""
    image = make(work)
    image.put("I", image.extension(0x6803f857) + 4, length)
    image.write()
    refused(hone, image, "header extension 0x6803f857", str(length))


def test_a_repeated_extension(work, hone):
    """Two readers could take one each."""
    image = make(work)
    at = image.extension(0)
    image.data[at:at + 16] = struct.pack(">II8s", 0xe2792aca, 3, b"raw")
    image.data[at + 16:at + 32] = struct.pack(">II8s", 0xe2792aca, 5,
                                              b"qcow2")
    image.write()
    refused(hone, image, "header has two extensions: backing file format")


def test_names_with_zero_bytes(work, hone):
    """Two readers could end them at different places."""
    image = make(work)
    image.put("Q", 8, 60000)
    image.put("I", 16, 4)
    image.data[60000:60004] = b"a\0bc"
    image.write()
    refused(hone, image, "backing file name contains a zero byte")
    image.put("I", 16, 1024)
    image.data[60000:61024] = b"a" * 1024
    image.write()
    refused(hone, image, "backing file name has 1024 bytes")


def encrypted(work, method):
    """An encrypted image. QEMU measures a hash in ticks of the CPU clock: one
    of sha256 may take less than a tick, and is an error of QEMU then."""
    options = {"encrypt.format": method, "encrypt.key-secret": "s"}
    if method == "luks":
        options |= {"encrypt.iter-time": 10, "encrypt.hash-alg": "sha512"}
    qemu.create(work / method, MI, "--object",
                f"secret,id=s,file={work}/key", **options)
    return work / method


@pytest.mark.all
def test_encryption_names_the_command_that_serves_it(work, hone):
    """info shows it; qemu-nbd can decrypt it."""
    (work / "key").write_text("secret")
    for method in "aes", "luks":
        image = encrypted(work, method)
        line = hone.fails("convert", image, work / "b.raw")
        assert f"is encrypted ({method})" in line and "qemu-nbd" in line
        assert "-f raw" not in line
        assert hone.json("info", "--json", image)["encryption"] == method


def test_a_file_of_one_byte_ends_in_the_singular(work, hone):
    image = work / "a.qcow2"
    image.write_bytes(b"Q")
    assert hone.fails("map", "-f", "qcow2", image) == (
        f"hone: {image}: has 1 byte, too few for a qcow2 header")
    pipe, writer = os.pipe()
    os.write(writer, b"Q")
    os.close(writer)
    with open(pipe, "rb") as file:
        assert hone.fails("map", "-f", "qcow2", "-", stdin=file) == (
            "hone: stdin: has 1 byte, too few for a qcow2 header")


def test_memory_is_bounded_by_the_file(work, hone):
    """A small file cannot ask for large tables, nor a sparse one for more
    than the caps allow."""
    image = make(work)
    image.put("I", 36, 4 * MI)
    image.put("I", 60, 65536)
    image.write()
    refused(hone, image, "lies past the end of the file")
    # Everything is in the file now, as a hole.
    image.put("Q", 40, 128 * MI)
    image.put("Q", 64, 64 * MI)
    image.write()
    os.truncate(image.path, 512 * MI)
    small = make(work, "small.qcow2")
    _, large = hone.peak("info", image.path)
    _, least = hone.peak("info", small.path)
    assert large - least < (400 if hone.sanitized else 190) * KI


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
