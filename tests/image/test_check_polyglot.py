# SPDX-License-Identifier: BSD-3-Clause
"""hone check: files that are two formats at once, and partition tables."""
import itertools
import json
import os
import struct
import subprocess
import zipfile

import pytest

import qemu
from checks import assert_unsafe, verdict
from harness import piped
from qcow2_builder import make
from qemu import KI, MI

VHD_FOOTER = b"conectix" + struct.pack(">II", 2, 0x10000)
DMG_TRAILER = b"koly" + struct.pack(">II", 4, 512)

SIGNATURES = [
    # offset (negative: from the end), bytes, name, whether a raw disk may
    # not have it either
    (510, b"\x55\xaa", "MBR", False),
    (512, b"EFI PART", "GPT", False),
    (4096, b"EFI PART", "GPT", False),
    (257, b"ustar\0", "tar", False),
    (32768, b"\1CD001\1", "ISO 9660", False),
    (32768, b"\0BEA01\1", "UDF", False),
    (32768, b"\0NSR02\1", "UDF", False),
    (32768, b"\0NSR03\1", "UDF", False),
    (-512, VHD_FOOTER, "VHD", True),
    # the bit for a temporary disk; the bit that is always set is clear
    (-512, b"conectix" + struct.pack(">II", 3, 0x10000), "VHD", True),
    (-512, b"conectix" + struct.pack(">II", 0, 0x10000), "VHD", True),
    (-512, DMG_TRAILER, "DMG", True),
]


def put(path, at, data):
    """Write bytes into a file; a negative offset counts from its end."""
    with open(path, "r+b") as file:
        if at < 0:
            at += os.stat(path).st_size
        os.pwrite(file.fileno(), data, at)
    return at


@pytest.mark.parametrize("at,data,name,in_raw", SIGNATURES)
def test_another_format_in_the_same_file(work, hone, at, data, name, in_raw):
    """Beside qcow2, and beside raw where a disk does not have it."""
    image = make(work, size=8 * MI).path
    os.truncate(image, 4 * MI)
    safe, failed, _ = verdict(hone, image)
    assert safe, failed
    where = put(image, at, data)
    if data[1:].startswith((b"CD", b"BEA", b"NSR")):
        where += 1
    assert_unsafe(hone, image, (
        "polyglot",
        f"has the signature of {name} at offset {where}, but is a "
        "qcow2 image"))
    raw = work / "disk.img"
    raw.write_bytes(bytes(64 * KI))
    put(raw, at, data)
    safe, failed, found = verdict(hone, raw)
    assert safe != in_raw
    assert found["format"] == "raw"
    assert set(failed) == ({"polyglot"} if in_raw else set())


@pytest.mark.parametrize("driver,name", [("vmdk", "vmdk"), ("vpc", "vhd")])
def test_another_format_in_the_same_vmdk_or_vhd(work, hone, driver, name):
    """The signature is named, whatever it has destroyed."""
    image, written = work / "disk", work / f"disk.{driver}"
    qemu.img("create", "-q", "-f", driver, written, "8M")
    subprocess.run(["qemu-io", "-f", driver, "-c", "write -P 7 0 4M",
                    str(written)], check=True, capture_output=True)
    for at, data, other, _ in SIGNATURES:
        if at < 0 and name == "vhd":
            continue
        image.write_bytes(written.read_bytes())
        put(image, at, data)
        found = json.loads(hone.run("check", "--json", image).stdout)
        failed = {check["name"]: check["text"] for check in found["checks"]
                  if not check["passed"]}
        assert found["format"] == name and not found["safe"]
        assert f"has the signature of {other} at offset" in failed["polyglot"]


@pytest.mark.parametrize("comment,size,safe", [
    (b"", 0, False), (b"x" * 65535, 0, False), (b"", 1, True)])
def test_a_zip_at_the_end_of_an_image(work, hone, comment, size, safe):
    """Whoever unpacks the file gets the files of the zip. A zip that does not
    end where the file ends may be data of the guest."""
    image = make(work, size=8 * MI).path
    with zipfile.ZipFile(image, "a") as archive:
        archive.writestr("a", "content")
        archive.comment = comment
    where = os.stat(image).st_size - 22 - len(comment)
    with open(image, "ab") as file:
        file.write(bytes(size))
    _, failed, _ = verdict(hone, image)
    assert ("polyglot" not in failed) == safe
    assert safe or f"of zip at offset {where}" in failed["polyglot"]


HEADS = [
    (b"QFI\xfb\0\0\0\3", "qcow2"), (b"QFI\xfb\0\0\0\1", "QCOW version 1"),
    (b"KDMV", "vmdk"), (b"COWD", "vmdk"),
    (b"\xbe\xba\xfe\xca\0\0\0\0", "vmdk"), (b"# Disk DescriptorFile", "vmdk"),
    (b"vhdxfile", "VHDX"), (b"conectix", "vhd"),
    (bytes(64) + b"\x7f\x10\xda\xbe", "VDI"), (b"LUKS\xba\xbe", "LUKS"),
    (b"QED\0", "QED"), (b"WithoutFreeSpace", "Parallels"),
    (b"Bochs Virtual HD Image\0", "Bochs"),
    (b"#!/bin/sh\n#V2.0 Format\n", "cloop"),
    (b"version=1\n", "vmdk"), (b"version=3\r\n", "vmdk"),
    (b"#\nversion=2\n", "vmdk"),
    (b"# a\n#\r\n   \n \r\n# b\nversion=1\n", "vmdk"),
    (b"\n\t\nversion=1", "vmdk")]


@pytest.mark.parametrize("head,name", HEADS)
def test_a_raw_disk_that_begins_like_an_image(work, hone, head, name):
    """Whoever opens it without a format would get another disk: a guest can
    write these bytes."""
    raw = work / "disk.img"
    raw.write_bytes(head.ljust(64 * KI, b"\0"))
    assert_unsafe_raw(hone, raw, name)
    done = hone.run("check", raw)
    if name in ("qcow2", "vhd", "vmdk"):
        assert done.returncode == 1
    else:
        assert done.returncode == 2 and not done.stdout
        assert f"has a {name} header" in done.stderr.decode()


@pytest.mark.parametrize("head", [
    b"# version=1\n", b"#" * 512 + b"\nversion=1\n", b"version=4\n",
    b"version=", b"x\nversion=1\n", b"version 1\n", b"#\n", b" \n \n"])
def test_text_that_is_no_descriptor_is_raw(work, hone, head):
    raw = work / "disk.img"
    raw.write_bytes(head.ljust(64 * KI, b"\0"))
    safe, failed, _ = verdict(hone, raw)
    assert safe, failed


def test_every_descriptor_that_qemu_probes_is_refused(work, hone):
    """QEMU skips comments and lines of blanks. What it does not take for raw,
    no command of ours may take for raw."""
    pieces = [b"#", b"# Disk DescriptorFile\n", b"#\r\n", b"  \n", b" \r\n",
              b"\n", b"version=1\n", b"version=2\r\n", b"version=3\n",
              b"version=4\n", b"x\n", b"#" * 500 + b"\n"]
    raw = work / "disk.img"
    probed = 0
    for head in (b"".join(each) for n in (1, 2)
                 for each in itertools.product(pieces, repeat=n)
                 if n < 2 or b"version" in each[1]):
        raw.write_bytes(head.ljust(1024, b"\0"))
        done = subprocess.run(
            ["qemu-img", "info", "--output=json", str(raw)], check=False,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if done.returncode == 0 and json.loads(done.stdout)["format"] == "raw":
            continue
        probed += 1
        done = hone.run("check", "--json", raw)
        assert done.returncode == 1, head
        found = json.loads(done.stdout)
        assert found["format"] == "vmdk" and not found["safe"], head
    assert probed > 20


def assert_unsafe_raw(hone, raw, name):
    """With -f raw, the signature at the beginning is told."""
    safe, failed, _ = verdict(hone, raw, "-f", "raw")
    assert not safe and set(failed) == {"polyglot"}
    assert f"has the signature of {name} at offset 0" in failed["polyglot"]


def test_a_vdi_signature_in_a_qcow2_header(work, hone):
    """The field is the offset of the snapshot table."""
    image = make(work).path
    put(image, 64, b"\x7f\x10\xda\xbe")
    assert hone.run("check", image).returncode == 2
    _, failed, _ = verdict(hone, image, "-f", "qcow2")
    assert "signature of VDI" in failed["polyglot"]


def test_a_name_that_the_bytes_contradict(work, hone):
    """A broken magic is not raw."""
    raw = work / "disk.qcow2"
    raw.write_bytes(bytes(64 * KI))
    safe, failed, found = verdict(hone, raw)
    assert not safe and set(failed) == {"format"}
    assert "format" not in found
    assert "is named .qcow2 but has no qcow2 header; add -f raw" in failed["format"]
    safe, failed, _ = verdict(hone, raw, "-f", "raw")
    assert safe, failed
    safe, failed, _ = verdict(hone, raw, "-f", "qcow2")
    assert "is not a qcow2 image (first bytes 00 00 00 00)" in failed["well_formed"]


@pytest.mark.parametrize("made, suffix", [
    *(("qcow2", suffix) for suffix in ("vmdk", "vhd", "vdi", "vhdx", "raw")),
    ("vmdk", "qcow2")])
def test_a_name_does_not_matter_beside_a_header(work, hone, made, suffix):
    """Programs that detect the format read it as what was checked."""
    qemu.pattern_file(work / "disk", MI, 1)
    image = work / f"disk.{suffix}"
    hone.ok("convert", "-q", "-O", made, work / "disk", image)
    safe, failed, found = verdict(hone, image)
    assert safe, failed
    assert found["format"] == made
    hone.ok("compare", "-q", image, "-F", "raw", work / "disk")


def mbr(*entries, flags=b"", chs=bytes(3)):
    """A sector with partitions: (type, first sector, sectors)."""
    table = bytearray(b"".join(struct.pack("<x3sB3xII", chs, *each)
                               for each in entries).ljust(64, b"\0"))
    for i, flag in enumerate(flags):
        table[16 * i] = flag
    return bytes(446) + table + b"\x55\xaa"


@pytest.mark.parametrize("sector,expected", [
    (mbr((0xee, 1, 100)), "the protective partition only"),
    (mbr((0x83, 2048, 100), (0x82, 4096, 100)), None),
    (mbr(), None),
    (mbr((0xee, 1, 100), (0x83, 2048, 50)), "has 1 partition besides"),
    (mbr((0x83, 2048, 50), (0xee, 1, 100)), "has 1 partition besides"),
    (mbr((0xee, 1, 100), (0xee, 1, 100)), "has 1 partition besides"),
    (mbr((0xee, 2, 100)), "begins at sector 2, not 1"),
    (mbr((0xee, 0x1000001, 100)), "begins at sector 16777217"),
    (mbr((0, 0, 0), (0xee, 1, 100)), "in entry 2, not in the first"),
    (mbr((0xee, 1, 100), flags=b"\x80"), "the protective partition only"),
    (mbr((0xee, 1, 100), flags=b"\x01"), "has 1 entry whose boot flag"),
    (mbr((0xee, 1, 100), flags=b"\0\x7f\0\xff"), "has 2 entries whose boot"),
    (mbr((0x83, 2048, 100), flags=b"\x01"), None),
    (mbr((0xee, 1, 100), chs=b"\0\2\0"), "the protective partition only"),
    (mbr((0xee, 1, 100), chs=b"\xfe\xff\xff"), "the protective partition only"),
], ids=["protective", "plain", "empty", "hybrid", "hybrid2", "twice", "late",
        "later", "second", "bootable", "flag", "flags", "flag of no GPT",
        "chs", "no chs"])
def test_the_mbr_of_a_raw_disk(work, hone, sector, expected):
    """The test of OpenStack's inspector for GPT, named as there."""
    raw = work / "disk.img"
    raw.write_bytes(sector.ljust(64 * KI, b"\0"))
    safe, failed, found = verdict(hone, raw)
    text = [each["text"] for each in found["checks"] if each["name"] == "mbr"]
    assert bool(text) == bool(expected)
    assert not expected or expected in text[0]
    assert safe == (expected is None or "only" in expected)
    assert set(failed) <= {"mbr"}


@pytest.mark.parametrize("sector", [
    mbr((0, 0, 64), (0xef, 100, 50), flags=b"\x80"),
    mbr((0xee, 1, 100), (0xef, 100, 50), (0xaf, 150, 50)),
    mbr((0x83, 1, 63), (0xee, 1, 100), flags=b"\0\x80"),
    mbr((0, 0, 0), (0xee, 1, 100), flags=b"\x80\1"),
    mbr((0xee, 0, 200), (0xee, 1, 100))],
    ids=["isohybrid", "three entries", "second entry", "flags", "twice"])
def test_an_iso_image_that_is_a_disk_too(work, hone, sector):
    """The partition tables of a hybrid ISO image are not tested: each program
    that reads it as a disc leaves them out. Without the file system, they are
    those of a disk."""
    raw = work / "disk.iso"
    whole = bytearray(sector.ljust(64 * KI, b"\0"))
    whole[512:520] = b"EFI PART"
    whole[32768:32775] = b"\1CD001\1"
    raw.write_bytes(whole)
    safe, failed, found = verdict(hone, raw)
    assert safe, failed
    assert [each["name"] for each in found["checks"]] == ["polyglot"]
    piped(hone.ok, raw, "check", "-")
    put(raw, 32769, b"CD002")
    _, failed, _ = verdict(hone, raw)
    assert set(failed) == ({"mbr"} if b"\xee" in sector else set())
    # The end of the file is in the magic.
    put(raw, 32769, b"CD001")
    os.truncate(raw, 32773)
    _, failed, _ = verdict(hone, raw)
    assert set(failed) == ({"mbr"} if b"\xee" in sector else set())


def test_real_partition_tables(work, hone):
    """As sfdisk makes them."""
    for label in "gpt", "dos":
        raw = work / f"{label}.img"
        raw.write_bytes(bytes(4 * MI))
        qemu.run("sh", "-c", f"echo size=1M | /sbin/sfdisk -q --no-reread "
                 f"--no-tell-kernel -X {label} {raw}")
        safe, failed, _ = verdict(hone, raw)
        assert safe, failed


@pytest.mark.parametrize("size", [0, 1, 3, 511, 513, 4097, 32770])
def test_files_that_end_early(work, hone, size):
    """Signatures lie past their end."""
    raw = work / "disk.img"
    raw.write_bytes(bytes(size))
    safe, failed, _ = verdict(hone, raw)
    assert safe, failed
    raw.write_bytes(b"QFI\xfb".ljust(size, b"\0")[:size])
    safe, failed, _ = verdict(hone, raw)
    assert safe == (size < 4)
    assert set(failed) <= {"well_formed"}


@pytest.mark.parametrize("cluster", [512, 4096, 32768, 65536])
@pytest.mark.parametrize("block", [b"EFI PART", b"\1CD001\1"])
def test_data_of_a_disk_is_no_signature_of_the_image(work, hone, block, cluster):
    """Found by the fuzz target of convert: a disk whose first sector is zero
    had its GPT where that of the file would be."""
    raw, image = work / "disk.img", work / "disk.qcow2"
    raw.write_bytes(bytes(cluster) + block.ljust(512, b"\0") * 512)
    done = hone.run("convert", "-q", "-o", f"cluster_size={cluster}", str(raw),
                    str(image))
    assert done.returncode == 0, done
    safe, failed, _ = verdict(hone, image)
    assert safe, failed
    qemu.img("compare", "-f", "raw", "-F", "qcow2", raw, image)
