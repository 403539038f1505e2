# SPDX-License-Identifier: BSD-3-Clause
"""Damaged headers of qcow2 images: exit status 1, one sentence, no output."""
import os
import pathlib
import struct

import pytest

import qemu
from damage import make, refused
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


def peak(hone, path):
    """KiB that `hone info` has resident at the most."""
    child = hone.start("info", path)
    child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    assert status == 0
    return usage.ru_maxrss


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
    # A sanitizer keeps what is freed, and needs memory of its own.
    sanitized = b"__asan_init" in pathlib.Path(hone.path).read_bytes()
    most = (400 if sanitized else 190) * KI
    assert peak(hone, image.path) - peak(hone, small.path) < most
