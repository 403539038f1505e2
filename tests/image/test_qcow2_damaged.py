# SPDX-License-Identifier: BSD-3-Clause
"""Damaged qcow2 images that the Builder of hostile.py does not make: those of
qemu-img, with compressed clusters, and with random damage."""
import os
import random
import subprocess

import pytest

import qemu
from qcow2_builder import Image, make, refused
from qemu import KI, MI


def test_an_unknown_feature_is_named(work, hone):
    """By the image's own table of names."""
    image = make(work)
    row = image.extension(0x6803f857) + 8
    image.put("B", row + 1, 40)
    image.data[row + 2:row + 48] = b"flying clusters".ljust(46, b"\0")
    image.put("Q", 72, 1 << 40)
    image.write()
    refused(hone, image, "incompatible feature 'flying clusters' (bit 40)", status=1)
    assert hone.json("info", "--json", image.path)["unknown_features"] == [
        {"bit": 40, "name": "'flying clusters' (bit 40)"}]
    # A name that fills its place has no zero byte at its end.
    image.data[row + 2:row + 48] = b"x" * 46
    image.write()
    refused(hone, image, "feature '" + "x" * 46 + "' (bit 40)", status=1)


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


SEED = int(os.environ["HONE_SEED"], 0)


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
        mine = hone.run("convert", "-q", "--force", "-O", "raw", image.path, ours)
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
