# SPDX-License-Identifier: BSD-3-Clause
"""Internal snapshots are listed, and each one can be read."""
import os
import random

import pytest

import qemu
from qemu import KI, MI

SEED = int(os.environ["HONE_SEED"], 0)


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
    assert [(s["id"], s["name"], s["date"], s["vm_state_size"])
            for s in listed] == [
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


def test_a_snapshot_of_a_backed_image(work, assert_reads):
    """What it does not have comes from the backing file."""
    qemu.pattern_file(work / "base", 2 * MI, f"{SEED}")
    qemu.create(work / "a.qcow2", 2 * MI, "-b", "base", "-F", "raw")
    qemu.io(work / "a.qcow2", "write -P 1 64k 100k")
    qemu.img("snapshot", "-c", "s", work / "a.qcow2")
    qemu.io(work / "a.qcow2", "write -P 2 0 1M")
    assert_reads(work / "a.qcow2", "--snapshot", "s", "--allow-backing",
                 work, qemu_options=("-l", "s"))


def test_unknown_and_ambiguous_names_are_refused(work, hone):
    """An ID is tried before a name."""
    image = work / "a.qcow2"
    qemu.create(image, MI)
    line = hone.fails("convert", "--snapshot", "x", image, work / "b.raw")
    assert "has no snapshot with the ID or name 'x'" in line
    qemu.img("snapshot", "-c", "same", image)
    qemu.img("snapshot", "-c", "other", image)
    data = image.read_bytes()
    # names of equal length can be exchanged in place
    qemu.img("snapshot", "-d", "other", image)
    qemu.img("snapshot", "-c", "sbme", image)
    data = image.read_bytes()
    at = data.rindex(b"sbme")
    image.write_bytes(data[:at] + b"same" + data[at + 4:])
    line = hone.fails("convert", "--snapshot", "same", image, work / "b.raw")
    assert "2 snapshots of the name 'same'" in line
    assert not (work / "b.raw").exists()


@pytest.mark.parametrize("command", ["convert", "map", "compare"])
def test_a_raw_image_has_no_snapshots(work, hone, command):
    """The option is not ignored: the result would be other data."""
    image = work / "a.raw"
    image.write_bytes(bytes(65536))
    others = {"convert": [work / "b.raw"], "map": [], "compare": [image]}
    line = hone.fails(command, "--snapshot", "s", image, *others[command])
    assert "is a raw image, which has no snapshot 's'" in line
    assert not (work / "b.raw").exists()
