# SPDX-License-Identifier: BSD-3-Clause
"""hone check: tables of many clusters and pieces, and with holes."""
import os
import random
import struct

import pytest

import qemu
from checks import assert_sound, verdict
from damage import OFFSET, make
from qemu import KI, MI

PAGE = 4 * KI


def test_tables_of_several_clusters(work, hone):
    """An L1 table of 8 clusters, whose L2 tables a snapshot shares."""
    image = work / "a.qcow2"
    qemu.create(image, 16 * MI, cluster_size=512)
    qemu.io(image, "write -P 1 0 64k", "write -P 2 10M 64k",
            "write -P 3 16000k 64k")
    qemu.img("snapshot", "-c", "s", image)
    assert_sound(hone, image)


def test_tables_of_several_pieces(work, hone):
    """An L2 table and a refcount block of 128 KiB are read in two pieces."""
    image = work / "a.qcow2"
    qemu.create(image, 1500 * MI, cluster_size=128 * KI, refcount_bits=64,
                preallocation="metadata")
    assert_sound(hone, image)
    with open(image, "r+b") as file:
        file.seek(40)
        file.seek(*struct.unpack(">Q", file.read(8)))
        table = struct.unpack(">Q", file.read(8))[0] & OFFSET
        os.pwrite(file.fileno(), struct.pack(">Q", 3), table + 8 * 9000)
    _, failed, _ = verdict(hone, image)
    assert f"guest offset 0x{9000 * 128 * KI:x} " in failed["well_formed"]


def test_tables_with_holes(work, hone):
    """The entries after a hole count as those before it."""
    image = work / "a.qcow2"
    qemu.create(image, 256 * MI)
    qemu.io(image, "write -P 1 64M 64k")
    data = image.read_bytes()
    image.unlink()
    with open(image, "wb") as file:
        file.truncate(len(data))
        for at in range(0, len(data), PAGE):
            if any(data[at:at + PAGE]):
                file.seek(at)
                file.write(data[at:at + PAGE])
    assert_sound(hone, image)
    _, _, found = verdict(hone, image)
    texts = {each["name"]: each["text"] for each in found["checks"]}
    assert texts["well_formed"].startswith("1 L2 table, 1 data cluster, 0 compressed clusters")


def test_compressed_clusters_that_lie_on_two_clusters(work, hone):
    """Both are in use."""
    raw, image = work / "a.raw", work / "a.qcow2"
    rng = random.Random(1)
    raw.write_bytes(b"".join(rng.randbytes(40 * KI) + bytes(24 * KI)
                             for _ in range(8)))
    qemu.img("convert", "-c", "-O", "qcow2", raw, image)
    assert_sound(hone, image)


@pytest.mark.parametrize("options", [[], ["--json"]], ids=str)
def test_a_report_that_cannot_be_written_is_no_check(work, hone, options):
    image = make(work).path
    with open("/dev/full", "wb") as full:
        done = hone.run("check", *options, image, stdout=full)
    assert done.returncode == 2
    assert b"No space left" in done.stderr
