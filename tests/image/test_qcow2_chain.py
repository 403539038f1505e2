# SPDX-License-Identifier: BSD-3-Clause
"""Files that an image names are opened where the user allows it, only."""
import itertools
import os
import random

import pytest

import qemu
from qemu import KI, MI

SEED = int(os.environ["HONE_SEED"], 0)


def allow(directory):
    """The options that allow a directory."""
    return ("--allow-backing", directory, "--allow-data-file", directory)


def chain(work, formats, size=8 * MI, **options):
    """Images, each backed by the one before; returns the last one's path."""
    below = None
    for number, fmt in enumerate(formats):
        rng = random.Random(f"{SEED} {formats} {number}")
        # Each one longer than the one before, by half a cluster.
        length = size + number * 32 * KI
        path = work / f"{number}.{fmt}"
        if fmt == "raw":
            qemu.pattern_file(path, length, f"{SEED} chain")
        else:
            args = [] if below is None else [
                "-b", below.name, "-F", formats[number - 1]]
            qemu.create(path, length, *args, **options)
            qemu.io_some(path, qemu.random_commands(
                rng, length, 64 * KI, 25,
                version=2 if "compat" in options else 3))
        below = path
    return below


@pytest.mark.parametrize("formats,options", itertools.product(
    [("raw", "qcow2"), ("qcow2", "qcow2"), ("raw", "qcow2", "qcow2"),
     ("qcow2", "qcow2", "qcow2")],
    [{}, {"compat": "0.10"}, {"extended_l2": "on"}]))
def test_chains(work, assert_reads, formats, options):
    """A shorter backing file reads as zeros past its end."""
    last = chain(work, formats, **options)
    assert_reads(last, "--allow-backing", work)


def test_a_chain_of_different_cluster_sizes(work, assert_reads):
    """Each image has tables of its own shape."""
    qemu.pattern_file(work / "0", 3 * MI + 512, f"{SEED}")
    below = "0"
    for number, cluster in enumerate([512, 2 * MI, 4 * KI, 64 * KI], 1):
        rng = random.Random(f"{SEED} {cluster}")
        qemu.create(work / str(number), 3 * MI + 512, "-b", below, "-F",
                    "raw" if number == 1 else "qcow2", cluster_size=cluster)
        qemu.io_some(work / str(number), qemu.random_commands(
            rng, 3 * MI + 512, cluster, 6))
        below = str(number)
    assert_reads(work / below, "--allow-backing", work)


def test_committed_and_rebased_chains(work, assert_reads):
    """What qemu-img commit and rebase leave."""
    chain(work, ("raw", "qcow2", "qcow2"))
    qemu.img("commit", "-q", "-d", work / "2.qcow2")
    assert_reads(work / "2.qcow2", "--allow-backing", work)
    qemu.img("rebase", "-q", "-F", "raw", "-b", "0.raw", work / "2.qcow2")
    assert_reads(work / "2.qcow2", "--allow-backing", work)
    qemu.img("rebase", "-q", "-b", "", work / "2.qcow2")
    assert_reads(work / "2.qcow2")


def test_the_map_tells_the_depth(work, hone):
    """0 is the image itself."""
    with open(work / "0.raw", "wb") as file:
        file.write(b"\1" * 192 * KI)
    qemu.create(work / "1.qcow2", None, "-b", "0.raw", "-F", "raw")
    qemu.io(work / "1.qcow2", "write -P 2 64k 64k")
    qemu.create(work / "2.qcow2", 256 * KI, "-b", "1.qcow2", "-F", "qcow2")
    qemu.io(work / "2.qcow2", "write -P 3 128k 64k")
    got = hone.json("map", "--json", "--allow-backing", work, work / "2.qcow2")
    assert [(e["offset"], e["length"], e["kind"], e.get("depth", 0)) for e in got] == [
                (0, 64 * KI, "data", 2), (64 * KI, 64 * KI, "data", 1),
                (128 * KI, 64 * KI, "data", 0),
                (192 * KI, 64 * KI, "hole", 0)]
    # Without leave nothing is opened, and the names are shown.
    fields = hone.json("info", "--json", work / "2.qcow2")
    assert (fields["backing_file"], fields["backing_format"]) == ("1.qcow2", "qcow2")


@pytest.mark.parametrize("raw", ["on", "off"])
@pytest.mark.parametrize("extended", ["on", "off"])
def test_external_data_files(work, assert_reads, hone, raw, extended):
    """Guest offsets are offsets in the data file."""
    rng = random.Random(f"{SEED} {raw} {extended}")
    size = 4 * MI + 512
    qemu.create(work / "a.qcow2", size, data_file=work / "a.data",
                data_file_raw=raw, extended_l2=extended)
    qemu.io_some(work / "a.qcow2", qemu.random_commands(
        rng, size, 64 * KI, 30, compress=False))
    assert_reads(work / "a.qcow2", "--allow-data-file", work)
    fields = hone.json("info", "--json", work / "a.qcow2")
    assert fields["data_file"] == str(work / "a.data")
    assert fields["data_file_raw"] == (raw == "on")
    line = hone.fails("convert", work / "a.qcow2", work / "b.raw")
    assert "data_file" in line and "--allow-data-file" in line
    assert not (work / "b.raw").exists()


def test_a_backed_image_with_a_data_file(work, assert_reads):
    """Both kinds of file that an image may name."""
    qemu.pattern_file(work / "0.raw", 2 * MI, f"{SEED}")
    qemu.create(work / "a.qcow2", 3 * MI, "-b", "0.raw", "-F", "raw",
                data_file=work / "a.data")
    qemu.io(work / "a.qcow2", "write -P 3 1M 100k", "write -z 64k 64k")
    assert_reads(work / "a.qcow2", *allow(work))


def refused(hone, image, directory, code=1):
    """The sentence that refuses an image of which files may be opened."""
    line = hone.fails("convert", "--allow-backing", directory, image,
                      image.parent / "x.raw", code=code)
    assert not (image.parent / "x.raw").exists()
    return line


def test_a_format_is_not_guessed(work, hone):
    """A guest can write any header into its raw disk."""
    qemu.img("create", "-q", "-f", "raw", work / "base", MI)
    qemu.create(work / "a.qcow2", MI, "-b", "base", "-F", "raw")
    data = (work / "a.qcow2").read_bytes()
    # an extension of another type
    at = data.index(b"\xe2\x79\x2a\xca")
    (work / "a.qcow2").write_bytes(data[:at] + b"\x12\x34\x56\x78" + data[at + 4:])
    assert "backing_format" in refused(hone, work / "a.qcow2", work)
    # qcow2 is recognised
    qemu.create(work / "base2", MI)
    qemu.create(work / "b.qcow2", MI, "-b", "base2", "-F", "qcow2")
    data = (work / "b.qcow2").read_bytes()
    at = data.index(b"\xe2\x79\x2a\xca")
    (work / "b.qcow2").write_bytes(data[:at] + b"\x12\x34\x56\x78" + data[at + 4:])
    hone.ok("convert", "-q", "--allow-backing", work, work / "b.qcow2", work / "y.raw")


@pytest.mark.parametrize("fmt, options", [
    ("vmdk", ["-o", "subformat=monolithicSparse"]),
    ("vmdk", ["-o", "subformat=streamOptimized"]),
    ("vpc", ["-o", "subformat=fixed,force_size=on"]), ("vpc", [])], ids=str)
def test_images_of_other_formats_back_an_image(work, assert_reads, fmt, options):
    qemu.pattern_file(work / "0.raw", 3 * MI, f"{SEED}")
    qemu.img("convert", "-f", "raw", "-O", fmt, *options, work / "0.raw", work / "base")
    qemu.create(work / "a.qcow2", 5 * MI, "-b", "base", "-F", fmt)
    qemu.io(work / "a.qcow2", "write -P 3 1M 100k", "write -z 64k 64k")
    assert_reads(work / "a.qcow2", *allow(work))


def test_a_backing_file_without_its_footer(work, hone):
    """-f is the format of the first file: the sentence does not name it."""
    qemu.img("create", "-q", "-f", "raw", work / "base.vhd", MI)
    qemu.create(work / "a.qcow2", MI, "-u", "-b", "base.vhd", "-F", "vpc")
    line = refused(hone, work / "a.qcow2", work)
    assert "base.vhd: footer of a VHD is missing" in line
    assert "-f raw" not in line
    assert "add -f raw" in hone.fails("info", work / "base.vhd")


def test_a_chain_has_at_most_64_files(work, hone):
    """64 work, 65 do not."""
    qemu.create(work / "0", MI)
    qemu.io(work / "0", "write -P 9 0 1M")
    for number in range(1, 65):
        qemu.create(work / str(number), MI, "-u", "-b", str(number - 1), "-F", "qcow2")
    hone.ok("convert", "-q", "--allow-backing", work, work / "63", work / "y.raw")
    assert (work / "y.raw").read_bytes() == b"\x09" * MI
    line = refused(hone, work / "64", work)
    assert "64 are allowed" in line


def test_the_output_may_not_be_a_file_of_the_chain(work, hone):
    """It would be replaced by what depends on it."""
    last = chain(work, ("raw", "qcow2"))
    before = (work / "0.raw").read_bytes()
    line = hone.fails("convert", "--force", "-O", "raw", "--allow-backing",
                      work, last, work / "0.raw")
    assert "0.raw" in line
    assert (work / "0.raw").read_bytes() == before


def test_a_chain_of_giant_disks_takes_no_time(work, hone):
    """Neither the upper nor the lower image is looked at again and again."""
    size = 2 << 60
    qemu.create(work / "base", size, cluster_size="2M")
    qemu.io(work / "base", f"write -P 5 {1 << 60} 2M")
    qemu.create(work / "a.qcow2", size, "-b", "base", "-F", "qcow2", cluster_size="2M")
    qemu.io(work / "a.qcow2", "write -P 6 0 1M")
    got = hone.json("map", "--json", "--allow-backing", work, work / "a.qcow2")
    assert [(e["offset"], e["kind"], e.get("depth", 0)) for e in got
            if e["kind"] == "data"] == [(0, "data", 0), (1 << 60, "data", 1)]
    assert sum(e["length"] for e in got) == size
