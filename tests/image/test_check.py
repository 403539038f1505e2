# SPDX-License-Identifier: BSD-3-Clause
"""hone check beside qemu-img check: sound images, leaks, random damage, large
tables, bitmaps. check_test.c has what is wrong with each field and entry."""
import json
import os
import random
import struct

import pytest

import qemu
from checks import assert_sound, assert_unsafe, qemu_check, verdict
from qcow2_builder import OFFSET, Image, make
from qemu import KI, MI


@pytest.mark.parametrize("options", [
    {"compat": "0.10", "cluster_size": 512},
    {"extended_l2": "on", "cluster_size": 16 * KI},
    {"compression_type": "zstd", "lazy_refcounts": "on"},
    {"preallocation": "metadata", "cluster_size": 4 * KI},
    *(pytest.param(options, marks=pytest.mark.all) for options in (
        {"preallocation": "falloc", "extended_l2": "on"},
        {"refcount_bits": 64, "cluster_size": 512},
        {"refcount_bits": 8, "cluster_size": 1 * KI}))], ids=str)
def test_images_of_every_kind_are_sound(work, hone, options):
    """After writes, discards, zeros, snapshots and bitmaps."""
    rng = random.Random(str(options))
    image = work / "a.qcow2"
    cluster = options.get("cluster_size", 64 * KI)
    size = min(64 * cluster * 9, 48 * MI) + 512
    version = 2 if options.get("compat") == "0.10" else 3
    qemu.create(image, size, **options)
    assert_sound(hone, image)
    for turn in range(2):
        qemu.io_some(image, qemu.random_commands(rng, size, cluster, 40, version))
        assert_sound(hone, image)
        qemu.img("snapshot", "-c", f"s{turn}", image)
        assert_sound(hone, image)
        if version == 3:
            qemu.img("bitmap", "--add", "-g", "64k", image, f"b{turn}")
            assert_sound(hone, image)
    qemu.io_some(image, qemu.random_commands(rng, size, cluster, 40, version))
    assert_sound(hone, image)
    qemu.img("snapshot", "-d", "s0", image)
    if version == 3:
        qemu.img("resize", "-q", image, size + 7 * cluster)
        assert_sound(hone, image)
        qemu.img("bitmap", "--remove", image, "b0")
        qemu.img("bitmap", "--remove", image, "b1")
    qemu.img("snapshot", "-a", "s1", image)
    assert_sound(hone, image)


@pytest.mark.parametrize("bits", [1, 2, 4, 8, 16, 32, 64])
def test_reference_counts_of_every_width(work, hone, bits):
    """Each cluster's count, from what the tables say: leak and use it."""
    image = make(work, cluster_size=512, size=200 * KI, refcount_bits=bits)
    assert_sound(hone, image.path)
    table = image.get("Q", 48)
    block = image.get("Q", table)
    counts = image.data[block:block + 512]
    rng = random.Random(bits)
    for _ in range(8):
        at = rng.randrange(min(512, len(image.data) // 512 * bits // 8))
        image.data[block + at] = counts[at] ^ (1 << rng.randrange(8))
        image.write()
        corruptions, leaks = qemu_check(image.path)
        _, failed, found = verdict(hone, image.path)
        assert found["leaked_clusters"] == leaks
        assert found["leaked_bytes"] == leaks * 512
        assert bool(corruptions) == bool({"refcounts", "copied"} & set(failed))
        assert set(failed) <= {"refcounts", "copied"}
        image.data[block + at] = counts[at]


def test_a_dirty_image_with_wrong_counts_says_why(work, hone):
    """Lazy reference counts after a crash."""
    image = make(work, lazy_refcounts="on")
    block = image.get("Q", image.get("Q", 48))
    where = image.get("Q", image.l2(1)) & 0xfffffffffe00
    image.put("H", block + 2 * (where // (64 * KI)), 0)
    image.put("Q", 72, 1)
    image.write()
    _, failed, _ = verdict(hone, image.path)
    assert "marked dirty" in failed["refcounts"]


def test_names_of_other_files(work, hone):
    """Named and not opened."""
    qemu.create(work / "base.qcow2", MI)
    image = work / "a.qcow2"
    qemu.create(image, None, "-b", work / "base.qcow2", "-F", "qcow2")
    (work / "base.qcow2").unlink()
    assert_unsafe(hone, image, ("backing_file", f"{work}/base.qcow2"))
    image = work / "b.qcow2"
    # Its clusters lie in the data file, at the offsets of the disk.
    qemu.create(image, 64 * MI, data_file=work / "data")
    qemu.io(image, "write -P 1 0 300k", "write -P 1 60M 3M")
    (work / "data").unlink()
    assert_unsafe(hone, image, ("data_file", f"{work}/data"))
    text = hone.run("check", image).stdout.decode()
    assert " 53 data clusters" in text, text


@pytest.mark.all
@pytest.mark.parametrize("seed", range(20))
def test_random_damage_of_tables(work, hone, seed):
    """What qemu-img calls corrupt is never called safe. If both read the
    counts, they agree on them."""
    rng = random.Random(seed)
    image = make(work, size=rng.choice([4 * MI, 700 * MI]),
                 cluster_size=rng.choice([4 * KI, 64 * KI]),
                 refcount_bits=rng.choice([8, 16, 64]))
    if rng.randrange(2):
        qemu.img("snapshot", "-c", "s", image.path)
        qemu.io(image.path, "write -P 3 0 1M")
    good = bytes(Image(image.path).data)
    for turn in range(20):
        image.data = bytearray(good)
        start = rng.choice([image.get("Q", 40), image.get("Q", 48),
                            image.get("Q", image.get("Q", 48)), image.l2(0),
                            0, image.get("Q", 64)])
        for _ in range(rng.choice([1, 1, 3])):
            at = start + int(rng.expovariate(1 / 40))
            if at < len(image.data):
                image.data[at] ^= 1 << rng.randrange(8)
        image.write()
        theirs = qemu_check(image.path)
        done = hone.run("check", "--json", image.path)
        if theirs is None:
            assert done.returncode in (1, 2), done
        elif theirs[0]:
            assert done.returncode == 1, (theirs, done)
        elif done.returncode == 0:
            assert json.loads(done.stdout)["leaked_clusters"] == theirs[1]
        if turn % 5:
            continue
        ours = hone.run("convert", "-q", "--force", "--untrusted", image.path,
                        work / "output.qcow2")
        # A cluster that cannot be unpacked is found when it is read.
        assert ours.returncode in {0: (0, 1), 1: (3,), 2: (1,)}[
            done.returncode], (done, ours)


def test_statuses_of_the_command(work, hone):
    """0 safe, 1 not safe, 2 not checked: nothing on stdout then."""
    image = make(work)
    assert hone.ok("check", "-q", image.path).stdout == b""
    l2_entry = image.get("Q", image.l2(2))
    image.put("Q", image.l2(2), 0)
    image.write()
    text = hone.ok("check", image.path).stdout.decode()
    assert "leaked clusters: 1 (65536 bytes)" in text and text.endswith(" is safe\n")
    image.put("Q", image.l2(2), l2_entry)
    image.put("Q", 72, 2)
    image.write()
    done = hone.run("check", "-q", image.path)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
    done = hone.run("check", image.path)
    assert done.returncode == 1 and b"corrupt            FAILED" in done.stdout
    assert done.stdout.endswith(b" is not safe\n")
    for name in ("none", "."):
        done = hone.run("check", work / name)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.startswith(b"hone: ") and done.stderr.count(b"\n") == 1


def test_what_is_another_disk_in_qemu(work, hone):
    """A size that QEMU rounds down; a name that QEMU takes for another."""
    image = make(work)
    image.put("Q", 24, image.get("Q", 24) - 100)
    image.write()
    assert_unsafe(hone, image.path, (
        "well_formed", "at byte 24 of the header is not a multiple of 512"))
    hone.ok("convert", "-q", image.path, work / "read.raw")
    for name in "victim", "file:victim":
        (work / name).write_bytes(b"x" * MI)
    over = work / "over.qcow2"
    qemu.create(over, MI, "-u", "-b", "file:victim", "-F", "raw")
    assert_unsafe(hone, over, ("backing_file", "'file:victim'"))
    assert "begins with a protocol" in hone.fails(
        "convert", "--allow-backing", work, over, work / "out.raw")


def test_what_is_safe_is_read_without_trust(work, hone):
    """With the same result."""
    image = make(work)
    for name, options in (("a", ()), ("b", ("--untrusted",))):
        hone.ok("convert", "-q", *options, image.path, work / name)
    assert (work / "a").read_bytes() == (work / "b").read_bytes()
    if b"without OpenSSL" in hone.version:
        return
    assert (hone.ok("digest", image.path).stdout ==
            hone.ok("digest", "--untrusted", image.path).stdout)
    image.put("Q", 72, 2)
    image.write()
    done = hone.run("digest", "--untrusted", image.path)
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"is not safe: corrupt: " in done.stderr


def test_an_allowed_backing_file_is_not_safe(work, hone):
    """--untrusted refuses all that hone check refuses."""
    qemu.create(work / "base.qcow2", MI)
    image = work / "a.qcow2"
    qemu.create(image, None, "-b", work / "base.qcow2", "-F", "qcow2")
    words = "convert", "-q", "--allow-backing", work, image
    hone.ok(*words, work / "a")
    done = hone.run(*words, "--untrusted", work / "b")
    assert done.returncode == 3
    assert b"is not safe: backing_file: " in done.stderr
    assert not (work / "b").exists()


PAGE = 4 * KI


def test_tables_of_several_clusters(work, hone):
    """An L1 table of 8 clusters, whose L2 tables a snapshot shares."""
    image = work / "a.qcow2"
    qemu.create(image, 16 * MI, cluster_size=512)
    qemu.io(image, "write -P 1 0 64k", "write -P 2 10M 64k", "write -P 3 16000k 64k")
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
    raw.write_bytes(b"".join(rng.randbytes(40 * KI) + bytes(24 * KI) for _ in range(8)))
    qemu.img("convert", "-c", "-O", "qcow2", raw, image)
    assert_sound(hone, image)


@pytest.mark.parametrize("options", [[], ["--json"]], ids=str)
def test_a_report_that_cannot_be_written_is_no_check(work, hone, options):
    image = make(work).path
    with open("/dev/full", "wb") as full:
        done = hone.run("check", *options, image, stdout=full)
    assert done.returncode == 2
    assert b"No space left" in done.stderr


def test_info_counts_bitmaps(work, hone):
    """As long as the image marks them as consistent."""
    path = make(work).path
    assert "bitmaps" not in hone.json("info", "--json", path)
    for name in "ab":
        qemu.img("bitmap", "--add", path, name)
    assert hone.json("info", "--json", path)["bitmaps"] == 2
    image = Image(path)
    image.put("Q", 88, 0)
    image.write()
    assert "bitmaps" not in hone.json("info", "--json", path)
