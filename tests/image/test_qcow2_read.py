# SPDX-License-Identifier: BSD-3-Clause
"""qcow2 images of every shape that QEMU writes are read as QEMU reads them."""
import hashlib
import itertools
import os
import random
import shutil
import time

import pytest

import qemu
from qemu import GI, KI, MI

SEED = int(os.environ["HONE_SEED"], 0)

CLUSTERS = [512, 1 * KI, 4 * KI, 16 * KI, 64 * KI, 512 * KI, 2 * MI]


def disk_size(cluster, rng):
    """A size that ends inside a cluster, or does not."""
    clusters = 9 if cluster >= 512 * KI else 60 if cluster >= 16 * KI else 900
    return clusters * cluster + rng.choice([0, 512, cluster // 2])


@pytest.mark.parametrize("compat,cluster", zip(
    itertools.cycle(["0.10", "1.1"]), CLUSTERS))
def test_clusters_of_every_kind_and_size(work, assert_reads, compat, cluster):
    """Standard, zero, discarded and compressed clusters, mixed."""
    rng = random.Random(f"{SEED} {compat} {cluster}")
    size = disk_size(cluster, rng)
    qemu.create(work / "a.qcow2", size, compat=compat, cluster_size=cluster)
    for _ in range(2):
        qemu.io_some(work / "a.qcow2", qemu.random_commands(
            rng, size, cluster, 40, version=2 if compat == "0.10" else 3))
        assert_reads(work / "a.qcow2")


@pytest.mark.parametrize("cluster", [16 * KI, 64 * KI, 2 * MI])
def test_extended_l2_entries(work, assert_reads, cluster):
    """Subclusters that are allocated, zero and neither."""
    rng = random.Random(f"{SEED} extended {cluster}")
    size = disk_size(cluster, rng)
    qemu.create(work / "a.qcow2", size, cluster_size=cluster, extended_l2="on")
    for _ in range(3):
        qemu.io_some(work / "a.qcow2", qemu.random_commands(rng, size, cluster, 40))
        assert_reads(work / "a.qcow2")


@pytest.mark.parametrize("codec,cluster", zip(
    itertools.cycle(["zlib", "zstd"]), CLUSTERS))
def test_compressed_images(work, assert_reads, codec, cluster):
    """Everything that compresses is compressed, the rest is not."""
    size = 2 * MI + 512 if cluster < 4 * KI else 9 * MI + 3 * KI
    qemu.pattern_file(work / "a.raw", size, f"{SEED} {cluster}")
    qemu.img("convert", "-c", "-O", "qcow2", "-o",
             f"compression_type={codec},cluster_size={cluster}",
             "-f", "raw", work / "a.raw", work / "a.qcow2")
    assert_reads(work / "a.qcow2")
    # Written again in part, and then uncompressed among the others.
    rng = random.Random(f"{SEED} {codec} {cluster}")
    qemu.io_some(work / "a.qcow2", qemu.random_commands(rng, size, cluster, 20))
    assert_reads(work / "a.qcow2")


def test_a_compressed_cluster_may_end_the_file_inside_a_sector(work, assert_reads):
    """qemu-io leaves such a file."""
    qemu.create(work / "a.qcow2", MI)
    qemu.io(work / "a.qcow2", "write -c -P 5 64k 64k")
    assert os.stat(work / "a.qcow2").st_size % 512 != 0
    assert_reads(work / "a.qcow2")


def test_the_last_subcluster_may_end_the_file(work, assert_reads):
    """QEMU allocates a cluster and writes a subcluster."""
    qemu.create(work / "a.qcow2", MI, extended_l2="on")
    qemu.io(work / "a.qcow2", "write -P 5 64k 2k")
    assert os.stat(work / "a.qcow2").st_size % (64 * KI) == 2 * KI
    assert_reads(work / "a.qcow2")


@pytest.mark.parametrize("bits", [1, 2, 4, 8, 16, 32, 64])
def test_refcounts_of_every_width(work, assert_reads, hone, bits):
    """The width does not matter to a reader, and is reported."""
    qemu.create(work / "a.qcow2", 3 * MI, refcount_bits=bits)
    qemu.io(work / "a.qcow2", "write -P 7 100k 900k")
    assert_reads(work / "a.qcow2")
    assert hone.json("info", "--json", work / "a.qcow2")["refcount_bits"] == bits


@pytest.mark.parametrize("how", ["metadata", "falloc", "full"])
@pytest.mark.parametrize("size", [0, 512, 64 * KI, 100 * KI, 3 * MI + 512])
def test_preallocated_images(work, assert_reads, how, size):
    """All clusters have a place, and the last one may be incomplete."""
    qemu.create(work / "a.qcow2", size, preallocation=how)
    assert_reads(work / "a.qcow2")
    if size > 100 * KI:
        qemu.io(work / "a.qcow2", "write -P 1 90k 20k", "write -z 1M 64k")
        assert_reads(work / "a.qcow2")


def test_preallocated_extended_l2_entries(work, assert_reads):
    """Zero subclusters that have a place."""
    qemu.create(work / "a.qcow2", 3 * MI + 512, preallocation="metadata",
                extended_l2="on")
    assert_reads(work / "a.qcow2")
    qemu.io(work / "a.qcow2", "write -P 1 90k 20k", "write -z 10k 2k")
    assert_reads(work / "a.qcow2")


def test_resized_images(work, assert_reads):
    """The L1 table has moved; clusters past the end are gone."""
    qemu.create(work / "a.qcow2", 2 * MI, cluster_size=512)
    qemu.io(work / "a.qcow2", "write -P 1 0 2M")
    qemu.img("resize", "-q", work / "a.qcow2", 64 * MI)
    qemu.io(work / "a.qcow2", "write -P 2 50M 2M")
    assert_reads(work / "a.qcow2")
    qemu.img("resize", "-q", "--shrink", work / "a.qcow2", MI + 512)
    assert_reads(work / "a.qcow2")


def test_an_amended_image(work, assert_reads, hone):
    """Version 2 made from 3, and back."""
    qemu.create(work / "a.qcow2", 3 * MI)
    qemu.io(work / "a.qcow2", "write -P 1 0 1M", "write -z 1M 100k")
    for compat, version in ("0.10", 2), ("1.1", 3):
        qemu.img("amend", "-q", "-o", f"compat={compat}", work / "a.qcow2")
        assert_reads(work / "a.qcow2")
        assert hone.json("info", "--json", work / "a.qcow2")["version"] == version


def test_lazy_refcounts_and_a_dirty_image(work, assert_reads, hone):
    """A writer that dies leaves the dirty bit."""
    image = work / "a.qcow2"
    qemu.create(image, 3 * MI, lazy_refcounts="on")
    fields = hone.json("info", "--json", image)
    assert (fields["lazy_refcounts"], fields["dirty"]) == (True, False)
    # abort ends qemu-io by a signal
    with pytest.raises(AssertionError):
        qemu.io(image, "write -P 3 0 1M", "flush", "abort")
    fields = hone.json("info", "--json", image)
    assert (fields["lazy_refcounts"], fields["dirty"]) == (True, True)
    # Before qemu-img, which may repair it.
    hone.ok("convert", "-q", "-O", "raw", image, work / "b.raw")
    assert_reads(image)
    with open(work / "b.raw", "rb") as file:
        assert file.read() == b"\3" * MI + bytes(2 * MI)


def test_a_giant_disk_with_little_in_it(work, hone):
    """The map and the tables of 8 TiB take no time."""
    qemu.create(work / "a.qcow2", 8192 * GI)
    qemu.io(work / "a.qcow2", f"write -P 1 {5000 * GI} 64k", f"write -z {6000 * GI} 1M")
    got = hone.json("map", "--json", work / "a.qcow2")
    assert [(e["offset"], e["length"]) for e in got
            if e["kind"] != "hole"] == [(5000 * GI, 64 * KI)]


def test_what_qemu_img_bench_leaves(work, assert_reads):
    """Many small writes, out of order."""
    qemu.create(work / "a.qcow2", 16 * MI, cluster_size="4k")
    qemu.img("bench", "-w", "-c", 400, "-s", 1024, "-S", 35328, "-d", 16,
             "-f", "qcow2", "--pattern", 77, work / "a.qcow2")
    assert_reads(work / "a.qcow2")


@pytest.mark.parametrize("options", [
    {}, {"cluster_size": 4096}, {"extended_l2": "on"}, {"compat": "0.10"}])
def test_the_map_is_that_of_qemu(work, hone, options):
    """Data, holes, and offsets in the file."""
    version = 2 if "compat" in options else 3
    cluster = options.get("cluster_size", 64 * KI)
    rng = random.Random(f"{SEED} map {options}")
    qemu.create(work / "a.qcow2", 8 * MI, **options)
    qemu.io_some(work / "a.qcow2", qemu.random_commands(
        rng, 8 * MI, cluster, 60, version=version, compress=False))
    want = {}
    for e in qemu.map_of(work / "a.qcow2"):
        for at in range(e["start"], e["start"] + e["length"], 512):
            want[at] = (e["offset"] + at - e["start"] if not e["zero"] else None)
    data = (work / "a.qcow2").read_bytes()
    for e in hone.json("map", "--json", "-S", "512", work / "a.qcow2"):
        for at in range(e["offset"], e["offset"] + e["length"], 512):
            if e["kind"] == "data":
                assert want[at] == e["host_offset"] + at - e["offset"]
            elif want[at] is not None:
                # QEMU's map neither reads nor looks for the file's holes
                assert data[want[at]:want[at] + 512] == bytes(512)
            else:
                assert e["kind"] == "hole"


def test_an_image_with_bitmaps(work, assert_reads):
    """They are an extension and clusters that the disk does not have."""
    qemu.create(work / "a.qcow2", 3 * MI)
    qemu.img("bitmap", "--add", "-g", "64k", work / "a.qcow2", "b0")
    qemu.io(work / "a.qcow2", "write -P 7 100k 900k")
    assert_reads(work / "a.qcow2")


@pytest.mark.parametrize("block", [1024, 4096])
@pytest.mark.parametrize("option", ["-Q", "-aQ"])
def test_what_e2image_writes(work, assert_reads, block, option):
    """Another writer than QEMU: its own layout of tables."""
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    mke2fs, e2image = (shutil.which(name, path=path) for name in ("mke2fs", "e2image"))
    if not mke2fs or not e2image:
        pytest.skip("e2image is not installed")
    (work / "files").mkdir()
    for number in range(20):
        qemu.pattern_file(work / "files" / str(number), 100 * KI * number,
                          f"{SEED} {number}")
    qemu.run("truncate", "-s", "48M", work / "fs")
    qemu.run(mke2fs, "-q", "-b", block, "-t", "ext4", "-d", work / "files", work / "fs")
    qemu.run(e2image, option, work / "fs", work / "a.qcow2")
    assert_reads(work / "a.qcow2")


def test_what_qemu_nbd_writes(work, assert_reads):
    """As a machine would, through a server."""
    rng = random.Random(f"{SEED} nbd")
    qemu.create(work / "a.qcow2", 8 * MI)
    socket = work / "socket"
    qemu.run("qemu-nbd", "--fork", "-f", "qcow2", "-k", socket,
             "--discard=unmap", "--pid-file", work / "pid",
             work / "a.qcow2")
    words = [word for command in qemu.random_commands(
        rng, 8 * MI, 64 * KI, 60, compress=False)
             for word in ("-c", command)]
    # The server ends with its one client.
    qemu.run("qemu-io", "-f", "raw", *words, "-c", "flush",
             f"nbd+unix:///?socket={socket}")
    server = (work / "pid").read_text().strip()
    while os.path.exists(f"/proc/{server}"):
        time.sleep(0.01)
    assert_reads(work / "a.qcow2")


# Internal snapshots are listed, and each one can be read.


@pytest.mark.parametrize("options", [
    {}, {"compat": "0.10"}, {"cluster_size": 512}, {"extended_l2": "on"},
    {"compression_type": "zstd"}, {"refcount_bits": 64}])
def test_every_snapshot_is_read(work, assert_reads, hone, options):
    """By name and by ID; the active state stays what it is."""
    image = work / "a.qcow2"
    cluster = options.get("cluster_size", 64 * KI)
    rng = random.Random(f"{SEED} {options}")
    qemu.create(image, 3 * MI, **options)
    names = ["first", "second one", "third'\"\\"]
    for name in names:
        qemu.io_some(image, qemu.random_commands(
            rng, 3 * MI, cluster, 15,
            version=2 if "compat" in options else 3))
        qemu.img("snapshot", "-c", name, image)
    qemu.io_some(image, qemu.random_commands(
        rng, 3 * MI, cluster, 15, version=2 if "compat" in options else 3))
    assert_reads(image)
    for number, name in enumerate(names, 1):
        # qemu-img splits what -l has at commas and '=' only
        assert_reads(image, "--snapshot", name,
                     qemu_options=("-l", f"snapshot.id={number}"))
        assert_reads(image, "--snapshot", str(number),
                     qemu_options=("-l", f"snapshot.id={number}"))
    listed = hone.json("info", "--json", image)["snapshots"]
    want = qemu.info_of(image)["snapshots"]
    assert [(s["id"], s["name"], s["date"], s["vm_state_size"]) for s in listed] == [
                (s["id"], s["name"], s["date-sec"], s["vm-state-size"])
                for s in want]
    assert all(s["virtual_size"] == 3 * MI for s in listed)


def test_a_snapshot_keeps_its_size(work, assert_reads, hone):
    """The disk was resized after the snapshot was taken."""
    image = work / "a.qcow2"
    qemu.create(image, 2 * MI)
    qemu.io(image, "write -P 1 0 2M")
    qemu.img("snapshot", "-c", "small", image)
    qemu.img("resize", "-q", image, 5 * MI)
    qemu.io(image, "write -P 2 4M 512k")
    assert_reads(image)
    hone.ok("convert", "-q", "--snapshot", "small", image, work / "b.raw")
    assert (work / "b.raw").read_bytes() == b"\1" * 2 * MI
    listed = hone.json("info", "--json", image)
    assert listed["virtual_size"] == 5 * MI
    assert listed["snapshots"][0]["virtual_size"] == 2 * MI


def test_a_snapshot_of_a_backed_image(work, hone, assert_reads):
    """What it does not have comes from the backing file."""
    qemu.pattern_file(work / "base", 2 * MI, f"{SEED}")
    qemu.create(work / "a.qcow2", 2 * MI, "-b", "base", "-F", "raw")
    qemu.io(work / "a.qcow2", "write -P 1 64k 100k")
    qemu.img("snapshot", "-c", "s", work / "a.qcow2")
    qemu.io(work / "a.qcow2", "write -P 2 0 1M")
    options = ["--snapshot", "s", "--allow-backing", work]
    assert_reads(work / "a.qcow2", *options, qemu_options=("-l", "s"))
    if b"without OpenSSL" in hone.version:
        return
    qemu.img("convert", "-O", "raw", "-l", "s", work / "a.qcow2", work / "a.raw")
    digest = hashlib.sha256((work / "a.raw").read_bytes()).hexdigest()
    said = hone.ok("digest", *options, work / "a.qcow2").stdout
    assert said.startswith(digest.encode())


@pytest.mark.parametrize("command", ["convert", "map", "compare", "digest"])
def test_a_raw_image_has_no_snapshots(work, hone, command):
    """The option is not ignored: the result would be other data."""
    if command == "digest":
        hone.need("OpenSSL")
    image = work / "a.raw"
    image.write_bytes(bytes(65536))
    others = {"convert": [work / "b.raw"], "map": [], "compare": [image],
              "digest": []}
    line = hone.fails(command, "--snapshot", "s", image, *others[command])
    assert "is a raw image, which has no snapshot 's'" in line
    assert not (work / "b.raw").exists()
