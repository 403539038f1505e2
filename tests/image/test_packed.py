# SPDX-License-Identifier: BSD-3-Clause
"""Raw disks that are written packed: gzip, zstd and Python read them."""
import hashlib
import json
import os
import pathlib
import resource
import shutil
import struct
import subprocess
import zlib

import pytest

import qemu
from harness import error_line
from qemu import GI, KI, MI, holey

BLOCK = 128 * KI
PACKINGS = {"zst": "zstd", "gz": "gzip"}
kinds = pytest.mark.parametrize("kind", PACKINGS)


def pack(hone, source, kind, *options):
    """The packed disk beside the source."""
    target = source.parent / f"disk.img.{kind}"
    hone.ok("convert", "-q", "--force", *options, source, target)
    return target


def unpacked(path):
    """What gzip or zstd makes of it, with the checks of each."""
    if path.suffix == ".gz":
        data = path.read_bytes()
        assert data[:10] == b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
        stream = zlib.decompressobj(31)
        found = stream.decompress(data) + stream.flush()
        assert stream.eof and not stream.unused_data
        return found
    return subprocess.run(["zstd", "-dcq", path], check=True, timeout=1000,
                          stdout=subprocess.PIPE).stdout


def number(data, at, length):
    """Little-endian."""
    return int.from_bytes(data[at:at + length], "little")


def blocks(data, at):
    """The blocks of a frame from there on: (kind, bytes), and their end."""
    found = []
    while not found or not found[-1][2]:
        head = number(data, at, 3)
        kind, size = head >> 1 & 3, head >> 3
        length = 1 if kind == 1 else size
        found.append((kind, data[at + 3:at + 3 + length], head & 1, size))
        at += 3 + length
    return [(kind, content, size) for kind, content, _, size in found], at


def zeros(data, at, size):
    """Check a frame of zeros; returns its length."""
    assert data[at:at + 6] == bytes.fromhex("28b52ffd8038")
    assert number(data, at + 6, 4) == size
    (first, *rest), end = blocks(data, at + 10)
    # repeated literals, their number in 20 bits, the byte, no sequences
    assert first[0] == 2 and first[1][3:] == b"\0\0"
    assert number(first[1], 0, 3) & 15 == 13
    made = number(first[1], 0, 3) >> 4
    assert all(kind == 1 and content == b"\0" for kind, content, _ in rest)
    sizes = [made, *(size for *_, size in rest)]
    assert sum(sizes) == size and set(sizes[:-1]) <= {BLOCK}
    return end - at


def frames(path):
    """The frames of the table, which has to hold: (is it zeros, content)."""
    data = path.read_bytes()
    count, descriptor, magic = struct.unpack("<IBI", data[-9:])
    assert (descriptor, magic) == (0, 0x8F92EAB1)
    table = len(data) - 17 - 8 * count
    assert struct.unpack("<II", data[table:table + 8]) == (0x184D2A5E, 8 * count + 9)
    rows = list(struct.iter_unpack("<II", data[table + 8:-9]))
    at, found = 0, []
    for stored, content in rows:
        assert content <= GI
        is_zero = data[at + 4] == 0x80 and content > 0
        if is_zero:
            assert zeros(data, at, content) == stored
        else:
            assert content <= 8 * MI and data[at:at + 4] == b"\x28\xb5\x2f\xfd"
        found.append((is_zero, content))
        at += stored
    assert at == table
    return found


@kinds
@pytest.mark.parametrize("size", [0, 1, 700, BLOCK - 1, MI + 300, 9 * MI - 100,
                                  17 * MI])
def test_the_disk_comes_back(work, hone, size, kind):
    """Of every size, to a file and to a pipe."""
    disk = work / "source.raw"
    qemu.pattern_file(disk, size, size)
    data = disk.read_bytes()
    said = hone.ok("convert", "--verify", disk, work / f"d.{kind}").stdout.decode()
    assert f" packed by {PACKINGS[kind]}; " in said
    assert unpacked(work / f"d.{kind}") == data
    hone.ok("compare", "-q", "--strict", "-f", "raw", "-F", "raw",
            work / f"d.{kind}", disk)
    done = hone.run("convert", "--pack", kind, disk, "-")
    assert done.returncode == 0
    assert done.stdout == (work / f"d.{kind}").read_bytes()
    if kind == "zst":
        assert sum(content for _, content in frames(work / "d.zst")) == size


def test_frames(work, hone):
    """Data in pieces of 8 MiB, without the zeros around it."""
    disk = holey(work / "source.raw", GI + 60 * MI + 5,
                 (3 * MI, b"a" * 5 * MI), (8 * MI, b"b" * 100),
                 (20 * MI + 77, b"c"), (GI + 52 * MI, b"d"))
    path = pack(hone, disk, "zst")
    assert frames(path) == [
        (True, 3 * MI), (False, 5 * MI), (False, BLOCK),
        (True, 12 * MI - BLOCK), (False, BLOCK),
        (True, GI), (True, 32 * MI - BLOCK), (False, BLOCK),
        (True, 8 * MI - BLOCK + 5)]
    assert path.stat().st_size < 256 * KI
    for words in ["zstd", "-dqf", "--sparse"], ["pzstd", "-dqf"]:
        if not shutil.which(words[0]):
            continue
        subprocess.run([*words, path, "-o", work / "back"], check=True, timeout=1000)
        hone.ok("compare", "-q", "--strict", work / "back", disk)
        (work / "back").unlink()
    hone.ok("compare", "-q", "--strict", path, disk)


def test_zeros_of_gzip(work, hone):
    """Each power of two, and a run of more than a write has."""
    runs, at, data = [1, 3, 64], 0, []
    for run in runs:
        data.append((at, b"x" * BLOCK))
        at += BLOCK + run * BLOCK
    disk = holey(work / "source.raw", at + 66 * MI + 12345, *data)
    path = pack(hone, disk, "gz")
    subprocess.run(["gzip", "-t", path], check=True, timeout=1000)
    same = unpacked(path) == disk.read_bytes()  # pytest would show a difference
    assert same
    assert path.stat().st_size < 200 * KI


@kinds
def test_the_same_bytes_each_time(work, hone, kind):
    """At any number of threads, from any source of the disk."""
    disk = work / "source.raw"
    with open(disk, "wb") as file:
        for at in range(0, 24 * MI, 6 * MI):
            os.pwrite(file.fileno(), os.urandom(MI), at + MI)
            os.pwrite(file.fileno(), b"x" * 4 * KI, at + 3 * MI)
        file.truncate(36 * MI + 512)
    one = pack(hone, disk, kind, "-m", "1").read_bytes()
    for words in (["-m", "8"], ["--memory", "8M"], ["--direct", "-m", "4"],
                  ["--digest", "md5"]):
        assert pack(hone, disk, kind, *words).read_bytes() == one, words
    full = work / "full.raw"
    full.write_bytes(disk.read_bytes())
    image = work / "source.qcow2"
    hone.ok("convert", "-q", "-c", "-o", "cluster_size=2M", disk, image)
    for other in full, image:
        assert pack(hone, other, kind).read_bytes() == one
    with subprocess.Popen(["cat", full], stdout=subprocess.PIPE) as cat:
        done = hone.run("convert", "-q", "-f", "raw", "--pack", kind, "-", "-",
                        stdin=cat.stdout)
    assert (done.returncode, done.stderr, done.stdout == one) == (0, b"", True)


@kinds
@pytest.mark.parametrize("threads", ["1", "8"])
def test_digests_of_the_disk(work, hone, kind, threads):
    """In the pass that packs it. The name is that of the unpacked file."""
    disk = holey(work / "source.raw", 30 * MI + 5, (0, os.urandom(9 * MI)),
                 (17 * MI + 3, b"y" * 3 * MI), (30 * MI, b"e"))
    target = work / f"disk.img.{kind}"
    wanted = {name: hashlib.new(name, disk.read_bytes()).hexdigest()
              for name in ("sha256", "md5")}
    words = ["convert", "-m", threads, "--force"]
    found = hone.json(*words, "--json", "--digest", "sha256,md5", disk, target)
    assert found["digests"] == wanted
    assert (found["format"], found["packing"]) == ("raw", PACKINGS[kind])
    assert found["compressed_to"] <= found["file_size"]
    assert found["compressed_from"] >= found["data_bytes"]
    said = hone.ok(*words, "--digest", "md5", disk, target).stdout.decode()
    assert said.endswith(f"{wanted['md5']}  {work / 'disk.img'}\n")
    done = hone.run("convert", "--pack", kind, "--digest", "md5", disk, "-")
    assert done.stdout == target.read_bytes()
    assert done.stderr.endswith(f"{wanted['md5']}  -\n".encode())
    right = "sha256:" + wanted["sha256"]
    hone.ok(*words, "-q", "--expect-disk", right, disk, target)
    target.unlink()
    wrong = right[:-1] + ("0" if right[-1] != "0" else "1")
    done = hone.run(*words, "--expect-disk", wrong, disk, target)
    assert done.returncode == 3 and not target.exists()


def test_the_name_says_how(work, hone):
    """Behind the name of a raw disk, unless --pack says something else."""
    disk = holey(work / "source.raw", MI, (5, b"five"))
    magics = {b"\x28\xb5": "zst", b"\x1f\x8b": "gz", b"\0\0": "none", b"QF": "qcow2"}
    for words, name, kind in (
            ([], "a.img.zst", "zst"), ([], "a.GZ", "gz"), ([], "a.raw.gz", "gz"),
            (["-O", "raw"], "a.zst", "zst"), (["--pack", "none"], "a.zst", "none"),
            (["--pack", "zst"], "a.gz", "zst"), (["--pack", "gzip"], "a", "gz"),
            (["-O", "raw"], "a.tar.gz", "none"), (["-O", "raw"], "a.7z.gz", "gz"),
            ([], "a.example.br", "none"), ([], "a.example.zip.gz", "gz"),
            (["-O", "raw"], "a.qcow2.gz", "none"),
            (["-O", "qcow2"], "a.zst", "qcow2")):
        target = work / name
        hone.ok("convert", "-q", *words, disk, target)
        assert magics[target.read_bytes()[:2]] == kind, (words, name)
        target.unlink()
    before = set(os.listdir(work))
    for name, why in (
            ("a.qcow2.zst", "a qcow2 image is not packed: leave '.zst' out and "
             "add -c"),
            ("a.vhd.gz", "a vhd image is not packed: leave '.gz' out"),
            ("a.tar.zst", "suffix '.tar.zst' means a format that hone cannot"),
            ("a.img.xz", "suffix '.xz' means a packing that hone cannot"),
            ("a.vdi.gz", "suffix '.vdi.gz' means a format that hone cannot")):
        assert why in hone.fails("convert", disk, work / name)
    for words, why in (
            (["--pack", "xz"], "--pack: 'xz' is not zst, gz or none"),
            (["--pack", "zst", "-O", "qcow2"], "only a raw disk is packed, not"),
            (["--pack", "zst", "-O", "gce"], "only a raw disk is packed, not"),
            (["--pack", "zst", "-n"], "only a raw DST is written in place, not"),
            (["--pack", "gz", "--keep-rest"], "--keep-rest: the end of a packed"),
            (["--pack", "zst", "-c"], "-c: a packed disk is always compressed"),
            (["--pack", "gz", "--fast"], "compressed by libdeflate"),
            (["--pack", "zst", "--window", "12"], "compressed by libzstd"),
            (["--pack", "gz", "--level", "13"], "'13': zlib has 1 to 12"),
            (["--pack", "zst", "--level", "20"], "'20': zstd has 1 to 19"),
            (["--level", "3"], "raw cannot be compressed")):
        assert why in hone.misused("convert", *words, disk, work / "a")
    assert why in hone.misused("convert", "--level", "3", "--pack", "none", disk,
                               work / "a.gz")
    assert set(os.listdir(work)) == before


@kinds
def test_levels_and_size(work, hone, kind):
    """A higher one makes a smaller file. --size adds zeros."""
    disk = work / "source.raw"
    disk.write_bytes(pathlib.Path("/usr/bin/python3").resolve().read_bytes()[:3 * MI])
    low, high = (pack(hone, disk, kind, "--level", level).stat().st_size
                 for level in ("1", "12"))
    assert high < low
    path = pack(hone, disk, kind, "--size", "+5M", "--verify")
    assert unpacked(path) == disk.read_bytes() + bytes(5 * MI)


@kinds
def test_a_guest_does_not_choose_the_format(work, hone, kind):
    """Whoever unpacks the file would take the disk for another format."""
    disk = work / "source.raw"
    disk.write_bytes(b"QFI\xfb" + bytes(MI))
    target = work / f"a.img.{kind}"
    words = ["convert", "-f", "raw"]
    assert "with the signature of qcow2" in hone.fails(*words, disk, target)
    for end, name in (0, "qcow2"), (1, "VHD"):
        if end:
            disk.write_bytes(b"d" * MI + b"conectix".ljust(512, b"\0"))
        with subprocess.Popen(["cat", disk], stdout=subprocess.PIPE) as cat:
            done = hone.run(*words, "-", target, stdin=cat.stdout)
        assert done.returncode == 1
        assert f"with the signature of {name}" in error_line(done.stderr)
        assert not target.exists()
    hone.ok(*words, "-q", "--allow-disguised", disk, target)
    assert unpacked(target) == disk.read_bytes()


@kinds
@pytest.mark.all
def test_memory_is_bounded(work, hone, kind):
    """With more threads than memory: 200 MB."""
    if hone.sanitized:
        pytest.skip("a sanitizer takes memory of its own")
    disk = work / "source.raw"
    disk.write_bytes(os.urandom(200 * MI))
    _, peak = hone.peak("convert", "-q", "-m", "64", disk, work / f"a.{kind}")
    assert peak * KI < 200 * 10 ** 6


def test_a_disk_of_too_many_frames(work, hone):
    """An EiB has 2^30 frames of zeros. No row of the table is made."""
    qemu.create(work / "source.qcow2", "1E", cluster_size="2M")
    done, peak = hone.peak("convert", work / "source.qcow2", work / "a.zst", code=1)
    assert not (work / "a.zst").exists()
    assert ("a.zst: would have more than 134217728 frames" in error_line(done.stderr))
    assert peak < 512 * KI


def test_a_file_that_is_limited(work, hone):
    """No space for all bytes of a hole, of a part, of the end."""
    disk = holey(work / "source.raw", 3 * GI, (GI, os.urandom(MI)))
    whole = pack(hone, disk, "zst").stat().st_size
    for size in 100, 40 * KI, MI, whole - 1:
        done = hone.run(
            "convert", "--force", disk, work / "b.zst",
            preexec_fn=lambda size=size: resource.setrlimit(
                resource.RLIMIT_FSIZE, (size, size)))
        assert done.returncode != 0 and not (work / "b.zst").exists(), size


@kinds
def test_a_pipe_that_breaks(work, hone, kind):
    """Its reader takes a few bytes."""
    disk = work / "source.raw"
    disk.write_bytes(os.urandom(9 * MI))
    read, write = os.pipe()
    os.close(read)
    done = hone.run("convert", "--pack", kind, disk, "-", stdout=write)
    os.close(write)
    assert done.returncode == 1
    assert "cannot be written at offset" in error_line(done.stderr)


def test_names_in_json(work, hone):
    """Beside those of a raw DST."""
    disk = holey(work / "source.raw", MI, (5, b"five"))
    plain, packed = (set(json.loads(hone.ok(
        "convert", "--json", disk, work / name).stdout))
        for name in ("a", "a.zst"))
    assert packed - plain == {"packing", "compressed_from", "compressed_to"}


def test_zeros_that_were_packed_are_holes(work, hone):
    """What lies in frames of zeros, and in no other frame."""
    disk = holey(work / "source.raw", 200 * MI, (8 * MI, b"a" * MI),
                 (98 * MI, b"b" * 4 * MI + bytes(MI) + b"c" * MI))
    path = pack(hone, disk, "zst")
    told = json.loads(hone.ok("map", "--json", path).stdout)
    runs = [(e["kind"], e["length"]) for e in told]
    assert runs[:3] == [("hole", 8 * MI), ("data", MI), ("hole", 89 * MI)]
    assert ("zero", MI) in runs  # compressed with the data around it
    one_cpu = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    assert json.loads(hone.ok("map", "--json", path, before=one_cpu).stdout) == told
    assert hone.json("map", "--json", "--threads", "1", path) == told
    said = hone.json("convert", "--json", path, work / "back.raw")
    zeros = sum(size for is_zero, size in frames(path) if is_zero)
    assert said["hole_bytes"] == zeros
    hone.ok("compare", "-q", "--strict", work / "back.raw", disk)
    (work / "back.raw").unlink()
    wanted = hone.ok("digest", "-a", "md5", disk).stdout.split()[0].decode()
    for threads in "1", "8":
        with subprocess.Popen([hone.path, "convert", "-q", "-m", threads, "-",
                               "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as process:
            with open(path, "rb") as file:
                process.stdin.write(file.read())
            process.stdin.close()
            found = hashlib.file_digest(process.stdout, "md5").hexdigest()
        assert found == wanted
        assert process.returncode == 0


@pytest.mark.parametrize("words", [[], ["-O", "qcow2"]], ids=str)
def test_packed_holes_are_verified_as_lengths(work, hone, words):
    """A digest of their bytes would take an hour."""
    disk = holey(work / "source.raw", 2 * 1024 * GI, (1024 * GI + 5, b"a" * MI))
    path = pack(hone, disk, "zst")
    hone.ok("convert", "-q", "--verify", *words, path, work / "back")
    hone.ok("compare", "-q", work / "back", disk)


def lengths(path):
    """The file in front of its table, and the rows."""
    data = path.read_bytes()
    table = len(data) - 17 - 8 * number(data, len(data) - 9, 4)
    return data[:table], [list(row) for row in
                          struct.iter_unpack("<II", data[table + 8:-9])]


def table_of(rows, checksums=False):
    """The table, as other programs may write it."""
    rows = b"".join(struct.pack("<II", *row) + bytes(4 * checksums) for row in rows)
    count = len(rows) // (12 if checksums else 8)
    return (struct.pack("<II", 0x184D2A5E, len(rows) + 9) + rows
            + struct.pack("<IBI", count, 0x80 * checksums, 0x8F92EAB1))


def test_the_table_has_the_size(work, hone):
    """If it is that of all frames. Holes stay holes."""
    disk = holey(work / "source.raw", 30 * MI + 512, (3 * MI, os.urandom(MI)))
    path = pack(hone, disk, "zst")
    sound, other = path.read_bytes(), work / "other.img.zst"
    frames_, rows = lengths(path)
    many = frames_ + table_of([[len(frames_), 30 * MI + 512], *[[0, 0]] * 9000], True)
    assert sound == frames_ + table_of(rows)
    for data, size in ((sound, 30 * MI + 512), (many, 30 * MI + 512),
                       (table_of([]), 0), (sound + sound, None),
                       (sound[:-9] + b"\0" + sound[-9:], None),
                       (frames_ + table_of(rows[1:]), None),
                       # more than so many bytes may have
                       (frames_ + table_of([*rows, *[[0, 1 << 31]] * 20]), None)):
        other.write_bytes(data)
        assert hone.json("info", "--json", "-f", "raw", other)["virtual_size"] == size
    hone.ok("compare", "-q", "--strict", path, disk)
    for words in ["-m2"], ["-m4", "--digest", "md5"]:
        said = hone.json("convert", "--json", "--force", *words, path, work / "back")
        assert said["hole_bytes"] >= 28 * MI


def test_a_table_that_exceeds_the_memory_is_not_read(work, hone):
    """It has the most rows that the format allows, in a hole of 1 GiB.
    The share of tables is a sixteenth."""
    frames_, rows = lengths(pack(hone, holey(work / "source.raw", MI), "zst"))
    path, count = work / "large.img.zst", 1 << 27
    with path.open("wb") as file:
        file.write(frames_ + struct.pack("<II", 0x184D2A5E, 8 * count + 9))
        file.write(b"".join(struct.pack("<II", *row) for row in rows))
        file.seek(len(frames_) + 8 + 8 * count)
        file.write(struct.pack("<IBI", count, 0, 0x8F92EAB1))
    for memory, size in ("8G", None), ("16G", MI):
        assert hone.json("info", "--json", "-f", "raw", "--memory", memory,
                         path)["virtual_size"] == size


def test_a_table_that_lies(work, hone):
    """A wrong length of a frame, number or magic is ignored. A wrong length of
    content is found at the end, where a size is needed. A pipe has no table, so
    nothing else looks at the table."""
    disk = holey(work / "source.raw", 9 * MI, (3 * MI, os.urandom(MI)))
    path = pack(hone, disk, "zst")
    data = path.read_bytes()
    frames_, rows = lengths(path)
    changed, out = work / "changed.img.zst", work / "out"
    for at in range(len(frames_) + 8, len(data), 3):
        changed.write_bytes(data[:at] + bytes([data[at] ^ 0x81]) + data[at + 1:])
        hone.ok("compare", "-q", "--strict", changed, disk)
        if at < len(data) - 9 and (at - len(frames_)) % 8 >= 4:
            said = hone.fails("convert", changed, f"oci:{out}", code=3)
            assert "changed.img.zst: has " in said and "its stated size is" in said
            assert "by the table at its end; --trailing-data reads it" in said
            assert hone.fails("convert", "-m1", changed, f"oci:{out}", code=3).rpartition(
                "size")[2] == said.rpartition("size")[2]
            assert not out.exists()
    # a row that hides a frame
    rows[0][0] += rows[1][0]
    del rows[1]
    changed.write_bytes(frames_ + table_of(rows))
    piped = changed.read_bytes()
    assert hone.ok("map", "--json", changed).stdout == (
        hone.ok("map", "--json", "-", input=piped).stdout)
    for image in changed, "-":
        hone.ok("compare", "-q", "--strict", image, disk, input=piped)
    assert "its stated size is" in hone.fails("convert", changed, f"oci:{out}", code=3)
    for end in len(frames_) + 1, len(frames_) + 8, len(data) - 1:
        changed.write_bytes(data[:end])
        done = hone.run("convert", changed, out)
        assert done.returncode == 3 and not out.exists()
