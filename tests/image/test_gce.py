# SPDX-License-Identifier: BSD-3-Clause
"""Google's archives: GNU tar, gunzip and Python read what is written."""
import gzip
import os
import shutil
import struct
import subprocess
import tarfile
import zlib

import pytest

import qemu
from harness import piped
from qemu import GI, KI, MI, SECTOR, holey
from vhd_builder import Vhd

NAME = "disk.raw"


def pack(hone, source, *options):
    """The archive beside the source."""
    archive = source.parent / "disk.tar.gz"
    hone.ok("convert", "-q", "--force", "-O", "gce", *options, source, archive)
    return archive


def unpacked(archive):
    """The tar, which is one member of gzip without a name and a time."""
    data = archive.read_bytes()
    assert data[:10] == b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    stream = zlib.decompressobj(31)
    tar = stream.decompress(data) + stream.flush()
    assert stream.eof and not stream.unused_data
    assert len(tar) % 10240 == 0
    return tar


def extracted(archive):
    """The disk as GNU tar extracts it, sparse."""
    folder = archive.parent / "extracted"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    subprocess.run(["tar", "-xSzf", archive, "-C", folder], check=True, timeout=1000)
    assert os.listdir(folder) == [NAME]
    return folder / NAME


def number(field):
    """Of tar: octal digits, or binary."""
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big")
    return int(field[:11], 8) if any(field) else 0


def regions(archive):
    """The size of the disk, and the list of its data."""
    with tarfile.open(archive) as tar:
        member = tar.next()
        assert (member.name, member.mtime, member.uid, member.gid,
                member.mode) == (NAME, 0, 0, 0, 0o644)
        assert tar.next() is None
    tar = unpacked(archive)
    fields, more, at = tar[386:482], tar[482], SECTOR
    while more:
        fields += tar[at:at + 504]
        more = tar[at + 504]
        at += SECTOR
    pairs = [(number(fields[i:i + 12]), number(fields[i + 12:i + 24]))
             for i in range(0, len(fields), 24)]
    while pairs and pairs[-1] == (0, 0):
        pairs.pop()
    assert sum(length for _, length in pairs) == number(tar[124:136])
    return number(tar[483:495]), pairs


def assert_holds(hone, archive, source, size=GI):
    """The disk is that of the source, and zeros."""
    disk = extracted(archive)
    assert os.stat(disk).st_size == size
    hone.ok("compare", "-q", disk, source)
    real, listed = regions(archive)
    assert real == size and sum(listed[-1]) == size
    # GNU tar lists the end of a file that ends with a hole.
    assert listed[-1][1] == 0 or listed[-1][0] + listed[-1][1] == size
    return disk


@pytest.mark.parametrize("size", [0, 1, SECTOR, 700, MI + 300, 9 * MI - 100, 33 * MI])
def test_what_is_written(work, hone, size):
    """Disks of every size have a whole GiB in the archive."""
    disk = work / "source.raw"
    qemu.pattern_file(disk, size, size)
    archive = work / "disk.tar.gz"
    done = hone.ok("convert", "-O", "gce", disk, archive)
    assert f"(rounded up from {size} bytes)".encode() in done.stdout
    assert_holds(hone, archive, disk)
    tar = unpacked(archive)
    assert tar[156:157] == b"S" and tar[257:265] == b"ustar  \0"
    # and we read it
    hone.ok("compare", "-q", archive, disk)


def test_a_whole_gib_stays_one(work, hone):
    """A disk whose last sector has data: no entry follows it."""
    disk = holey(work / "source.raw", GI, (GI - 4 * KI, b"e" * 4 * KI))
    archive = pack(hone, disk)
    assert_holds(hone, archive, disk)
    assert regions(archive)[1] == [(GI - 4 * KI, 4 * KI)]


@pytest.mark.parametrize("kind", ["zeros", "noise", "text", "short", "words", "mixed"])
def test_blocks_of_deflate_of_every_kind(work, hone, kind):
    """Stored, with the fixed codes, and with their own."""
    noise, text = os.urandom(2 * MI), b"a text, a text. " * (MI // 16)
    data = {"zeros": bytes(2 * MI), "noise": noise, "text": text,
            "short": b"x" * 512,
            # matches of every length at every distance
            "words": b" ".join(noise[at % 4096:at % 4096 + 3 + at % 37]
                               for at in range(0, 10 ** 6, 17))[:MI],
            "mixed": text + noise[:MI + 512] + bytes(9 * KI) + text[:700]
            + noise[:100] * 50}[kind]
    disk = work / "source.raw"
    disk.write_bytes(data)
    for level in "6", "1", "12":
        archive = pack(hone, disk, "--level", level)
        assert_holds(hone, archive, disk)
        if len(data) % SECTOR == 0:
            assert data in unpacked(archive)


# The header has 4 entries, and each block after it 21. The end is one, too.
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 23, 24, 25, 45, 46, 45000])
def test_lists_of_every_length(work, hone, count):
    """With more than a MiB of blocks, too."""
    block = 2 * MI
    per_block = block // SECTOR // 2
    image = Vhd(max(1, -(-count // per_block)) * block, block)
    for index in range(-(-count // per_block)):
        here = min(per_block, count - index * per_block)
        image.add(index, os.urandom(64 * KI).ljust(block, b"y"),
                  [sector % 2 == 0 and sector // 2 < here
                   for sector in range(block // SECTOR)])
    path = image.write(work / "source.vhd")
    archive = pack(hone, path)
    assert_holds(hone, archive, path)
    assert len(regions(archive)[1]) == count + 1
    assert regions(archive)[1][:-1] == [(2 * SECTOR * index, SECTOR)
                                        for index in range(count)]


@pytest.mark.parametrize("block", [512, 8 * KI, 2 * MI])
@pytest.mark.parametrize("size", [0, 700, 3 * MI + 4 * KI + 2000])
def test_zeros_are_counted_as_for_raw(work, hone, size, block):
    """Though they are kept, in blocks that lie across data and holes, too."""
    disk = holey(work / "source.raw", size, *(
        (at, (b"x" * 700 + bytes(30 * KI))[:size - at])
        for at in range(4 * KI, size, 64 * KI)))
    kinds = ("data_bytes", "zero_bytes", "hole_bytes")
    raw, gce = (hone.json("convert", "--json", "-S", str(block), "-O",
                          name, disk, work / name) for name in ("raw", "gce"))
    assert [gce[kind] for kind in kinds] == [raw[kind] for kind in kinds]
    assert gce["compressed_from"] == gce["data_bytes"] + gce["zero_bytes"]
    done = hone.ok("convert", "--force", "-S", str(block), "-O", "gce", disk,
                   work / "gce").stdout
    assert (b" of zeros kept, " in done) == (gce["zero_bytes"] > 0)
    assert (b", 0 bytes of zeros left out" in done) == (gce["hole_bytes"] == 0)


def test_numbers_past_8_gib(work, hone):
    """They do not fit into eleven octal digits."""
    disk = holey(work / "source.raw", 9 * GI + 48 * KI, (0, b"b" * 8 * KI),
                 (9 * GI + 40 * KI, b"e" * 8 * KI))
    archive = pack(hone, disk)
    found = assert_holds(hone, archive, disk, 10 * GI)
    assert os.stat(found).st_blocks <= 64
    assert regions(archive)[1] == [(0, 8 * KI), (9 * GI + 40 * KI, 8 * KI),
                                   (10 * GI, 0)]


def test_the_same_bytes_each_time(work, hone):
    """At any number of threads, to a file and to a pipe. Long chunks lie beside
    short ones, which are ready first."""
    disk = holey(work / "source.raw", 10 * MI, *(
        (at, os.urandom(MI) + b"x" * 4 * KI) for at in range(0, 10 * MI, 2 * MI)))
    one = pack(hone, disk, "-m", "1").read_bytes()
    assert pack(hone, disk, "-m", "8").read_bytes() == one
    assert hone.run("convert", "-q", "-O", "gce", "-m", "8", disk, "-").stdout == one
    assert pack(hone, disk, "--memory", "8M").read_bytes() == one


@pytest.mark.parametrize("options", [{}, {"cluster_size": 512},
                                     {"cluster_size": 2 * MI}])
def test_a_qcow2_source(work, hone, options):
    """With compressed clusters, and clusters of zeros."""
    image = work / "source.qcow2"
    qemu.create(image, 9 * MI + SECTOR, **options)
    qemu.io(image, "write -P 5 0 3k", "write -P 6 2M 1M",
            "write -z 6M 64k", "write -P 7 9437184 512")
    qemu.io(image, "write -c -P 9 4M 2M")
    assert_holds(hone, pack(hone, image), image)


@pytest.mark.all
def test_the_size_is_that_of_gzip(work, hone):
    """At most: tar -S --format=oldgnu, packed by gzip -6."""
    disk = work / NAME
    with open(disk, "wb") as out:
        for name in sorted(os.listdir("/usr/bin"))[:24]:
            path = os.path.join("/usr/bin", name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    out.write(file.read(MI))
        out.truncate(GI)
    theirs = subprocess.run(
        ["tar", "--format=oldgnu", "-Sczf", "-", "-C", work, NAME],
        check=True, timeout=1000, stdout=subprocess.PIPE).stdout
    assert os.stat(pack(hone, disk)).st_size <= len(theirs)


def test_what_is_refused(work, hone):
    """A sentence, and no file."""
    disk, archive = work / "source.raw", work / "disk.tar.gz"
    disk.write_bytes(b"x" * 4096)
    why = ("is read as a stream, and an archive of -O gce begins with the "
           "list of the data of the whole disk; convert it to a raw file "
           "first, and that file to gce")
    assert piped(hone.fails, disk, "convert", "-f", "raw", "-O", "gce", "-",
                 archive) == f"hone: stdin: {why}"
    # The same of a packed file, which is neither a pipe nor an OVA.
    packed = work / "source.raw.gz"
    packed.write_bytes(gzip.compress(disk.read_bytes()))
    assert hone.fails("convert", "-O", "gce", packed,
                      archive) == f"hone: {packed}: {why}"
    for words, part in ((["-c"], "gce is always compressed; leave -c out"),
                        (["--fast"], "--fast: gce is always compressed"),
                        (["--window", "12"], "--window: gce is always"),
                        (["--level", "13"], "'13': zlib has 1 to 12"),
                        (["-n"], "only a raw DST"),
                        (["-f", "gce"], "'gce' is only written")):
        assert part in hone.misused("convert", "-O", "gce", *words, disk, archive)
    line = hone.fails("convert", disk, archive)
    assert "-O gce" in line
    assert "the formats are qcow2, vmdk, vhd, gce, raw" in hone.misused(
        "convert", "-O", "floppy", disk, archive)
    assert not archive.exists()
    holey(disk, 10 * GI)
    assert struct.unpack("<I", pack(hone, disk).read_bytes()[-4:])[0] == 10240
