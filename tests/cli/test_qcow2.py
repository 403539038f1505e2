# SPDX-License-Identifier: BSD-3-Clause
"""qcow2 as it is written: every option, read by us and by others."""
import hashlib
import os
import pathlib
import random
import shutil
import subprocess
import zlib

import pytest

import images
import qcow2_reader
from harness import need

try:
    import pyqcow
except ImportError:
    pyqcow = None

KI, MI = images.KI, images.MI

PLAIN = {
    "plain": [],
    "zlib": ["-c"],
    "zlib-12": ["-c", "--window", "12"],
    "zlib-9": ["-c", "--level", "9"],
    "fast": ["-c", "--fast"],
    "v2": ["-o", "compat=0.10"],
    "v2-zlib": ["-c", "-o", "compat=0.10"],
    "counts-1": ["-o", "refcount_bits=1"],
    "counts-1-zlib": ["-c", "-o", "refcount_bits=1"],
    "counts-2-zlib": ["-c", "-o", "refcount_bits=2"],
    "counts-64": ["-o", "refcount_bits=64"],
    "metadata": ["-o", "preallocation=metadata"],
}
# Neither 7-Zip nor libqcow reads these.
NEWER = {
    "zstd": ["-c", "-o", "compression_type=zstd"],
    "zstd-19": ["-c", "-o", "compression_type=zstd", "--level", "19"],
    "extended": ["-o", "extended_l2=on"],
    "extended-zlib": ["-c", "-o", "extended_l2=on"],
    "extended-zstd": ["-c", "-o", "extended_l2=on,compression_type=zstd"],
    "extended-metadata": ["-o", "extended_l2=on,preallocation=metadata"],
}
MODES = dict(PLAIN, **NEWER)


def words(path, size=4 * MI + 12345):
    """What text looks like to a codec, with repeats at every distance, beside
    noise and holes of every length."""
    rng = random.Random(5)
    vocabulary = [rng.randbytes(rng.randrange(2, 9)) for _ in range(2000)]
    text = b"".join(rng.choices(vocabulary, k=200000))
    parts = []
    at = 0
    while at < size:
        length = min(int(2 ** rng.uniform(9, 19)), size - at)
        kind = rng.randrange(4)
        if kind < 2:
            begin = rng.randrange(len(text) - length)
            parts.append((at, text[begin:begin + length]))
        elif kind == 2:
            parts.append((at, rng.randbytes(length)))
        at += length
    images.pieces(path, size, *parts)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """An image that words() makes."""
    path = tmp_path_factory.mktemp("words") / "disk.img"
    words(path)
    yield path
    path.unlink()


def write(hone, source, output, *options):
    """Convert, and hold the result against our own reader."""
    hone.ok("convert", "-q", "--force", *options, source, output)
    image = qcow2_reader.Qcow2(output)
    image.check()
    image.assert_holds(source)
    return image


def ask_qemu(qemu_img, source, output):
    """qemu-img finds nothing wrong, and the same bytes."""
    for command in (["check", "-q", output],
                    ["compare", "-q", "-f", "raw", "-F", "qcow2", source, output]):
        assert qemu_img(*command) == (0, ""), command


def padded_digest(path, size):
    """SHA-256 of a file with zeros up to that size."""
    digest = hashlib.sha256(pathlib.Path(path).read_bytes())
    digest.update(bytes(size - os.stat(path).st_size))
    return digest.hexdigest()


def ask_7zip(source, output, size):
    """7-Zip reads the same bytes."""
    program = shutil.which("7zz") or shutil.which("7z")
    if not program:
        return False
    done = subprocess.run([program, "x", "-so", output], check=True,
                          timeout=1000, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    assert len(done.stdout) == size
    assert hashlib.sha256(done.stdout).hexdigest() == padded_digest(source, size)
    return True


def ask_libqcow(source, output, size):
    """libqcow reads the same bytes."""
    if pyqcow is None:
        return False
    file = pyqcow.file()
    file.open(str(output))
    assert file.get_media_size() == size
    digest = hashlib.sha256()
    for at in range(0, size, MI):
        digest.update(file.read_buffer_at_offset(min(MI, size - at), at))
    file.close()
    assert digest.hexdigest() == padded_digest(source, size)
    return True


# Each mode, and with each size of a cluster some mode of each kind.
@pytest.mark.parametrize("mode,cluster", [
    *zip(PLAIN, (512, 512, 4 * KI, 16 * KI, 64 * KI, 4 * KI, 16 * KI, 2 * MI,
                 512, 2 * MI, 2 * MI, 16 * KI)),
    *zip(NEWER, (512, 4 * KI, 16 * KI, 2 * MI, 64 * KI, 2 * MI)),
    ("zlib", 2 * MI), ("zstd", 64 * KI)])
def test_every_mode_and_cluster_size_is_read_equal(
        hone, qemu_img, source, out, mode, cluster):
    output = out / "disk.qcow2"
    image = write(hone, source, output, *MODES[mode], "-o", f"cluster_size={cluster}")
    ask_qemu(qemu_img, source, output)
    if "-c" in MODES[mode]:
        assert image.packed
    else:
        assert not image.packed


@pytest.mark.parametrize("mode", ["plain", "zlib", "fast", "v2-zlib",
                                  "counts-1-zlib", "metadata"])
def test_other_readers_find_the_same_bytes(hone, source, out, mode):
    output = out / "disk.qcow2"
    image = write(hone, source, output, *MODES[mode])
    asked = [ask_7zip(source, output, image.size),
             ask_libqcow(source, output, image.size)]
    if not any(asked):
        pytest.skip("neither 7-Zip nor libqcow is installed")


# Not 8 TiB with preallocation: a place for each of 2^27 clusters.
@pytest.mark.parametrize("mode,size", [
    *((mode, size) for mode in ("plain", "extended-zlib")
      for size in (0, 1, 511, 512, 1000, 65535, 65536, 65537, 8 << 40)),
    ("zlib", 1), ("zlib", 8 << 40), ("fast", 1000), ("v2", 0), ("v2-zlib", 8 << 40),
    ("counts-1", 65537), ("counts-64", 8 << 40), ("metadata", 0),
    ("metadata", 65537), ("zstd", 511), ("zstd", 65536),
    ("zstd", 8 << 40), ("extended", 8 << 40), ("extended-metadata", 1)])
def test_every_size_is_read_equal(hone, qemu_img, out, mode, size):
    source = out.parent / "disk.img"
    images.pieces(source, size, *[(0, b"\1"), (size - 1, b"\2")] * (0 < size < MI))
    write(hone, source, out / "disk.qcow2", *MODES[mode])
    ask_qemu(qemu_img, source, out / "disk.qcow2")
    if size > MI:
        # An empty disk takes three blocks.
        assert os.stat(out / "disk.qcow2").st_blocks * 512 <= 12 * KI


@pytest.mark.parametrize("mode", ["plain", "v2-zlib", "counts-1", "metadata",
                                  "extended-zstd"])
def test_qemu_can_go_on_writing(hone, qemu_img, source, out, mode):
    """Reference counts and flags are what a writer relies on."""
    need("qemu-io")
    output, raw = out / "disk.qcow2", out / "disk.img"
    image = write(hone, source, output, *MODES[mode])
    shutil.copyfile(source, raw)
    os.truncate(raw, image.size)
    rng = random.Random(3)
    # Each process finds what the one before it wrote.
    for _ in range(8):
        calls = []
        for _ in range(5):
            length = 512 * rng.randrange(1, 300)
            at = rng.randrange(image.size - length) // 512 * 512
            value = rng.randrange(256)
            # What a discard leaves there is up to QEMU.
            if value % 4 == 0:
                calls += ["-c", f"discard {at} {length}"]
            calls += ["-c", f"write -P {value} {at} {length}"]
            with open(raw, "r+b") as file:
                os.pwrite(file.fileno(), bytes([value]) * length, at)
        subprocess.run(["qemu-io", "-f", "qcow2", *calls, output], check=True,
                       stdout=subprocess.DEVNULL)
    ask_qemu(qemu_img, raw, output)


@pytest.mark.parametrize("mode", ["plain", "zlib", "zstd", "extended-metadata"])
def test_the_bytes_do_not_depend_on_the_number_of_threads(hone, source, out, mode):
    found = set()
    for threads in (1, 2, 3, 7, 7, 7):
        output = out / f"disk{threads}.qcow2"
        hone.ok("convert", "-q", "--force", "--threads", str(threads),
                *MODES[mode], "-o", "cluster_size=16k", source, output)
        found.add((hashlib.sha256(output.read_bytes()).hexdigest(),
                   os.stat(output).st_size))
    assert len(found) == 1


def fits_window_of_4_kib(stored, expected):
    """Inflate in small pieces with a 12-bit window; false if that fails."""
    reader = zlib.decompressobj(-12)
    made = b""
    try:
        while len(made) < len(expected):
            piece = reader.decompress(stored, 256)
            stored = reader.unconsumed_tail
            made += piece
            if not piece:
                break
    except zlib.error:
        return False
    assert made == expected
    return True


@pytest.mark.parametrize("options,all_fit", [
    (["--window", "12"], True), (["--window", "12", "--fast"], True),
    ([], False)])
def test_window_12_keeps_distances_below_4_kib(hone, source, out, options, all_fit):
    image = write(hone, source, out / "disk.qcow2", "-c", *options)
    fit = [fits_window_of_4_kib(image.pread(*place), image.read(guest))
           for guest, place in image.packed.items()]
    assert all(fit) == all_fit


@pytest.mark.parametrize("options,qemu_options", [
    (["--window", "12"], "compression_type=zlib"),
    (["-o", "compression_type=zstd"], "compression_type=zstd")],
    ids=["zlib", "zstd"])
def test_streams_are_those_that_qemu_img_writes(
        hone, qemu_img, source, out, options, qemu_options):
    """With its window and its level: as long, and the same bytes."""
    ours = write(hone, source, out / "disk.qcow2", "-c", *options)
    theirs = out / "qemu.qcow2"
    code, text = qemu_img("convert", "-f", "raw", "-O", "qcow2", "-c", "-o",
                          qemu_options, source, theirs)
    assert code == 0, text
    theirs = qcow2_reader.Qcow2(theirs)
    assert set(ours.packed) == set(theirs.packed)
    for guest in ours.packed:
        one = ours.pread(*ours.packed[guest])
        two = theirs.pread(*theirs.packed[guest])
        # The last sector goes on with the next cluster.
        length = min(len(one), len(two)) - 512
        assert one[:length] == two[:length], guest


@pytest.mark.parametrize("mode", ["plain", "zlib", "counts-64", "extended"])
def test_data_far_apart_has_tables_of_its_own(hone, qemu_img, out, mode):
    source, output = out.parent / "disk.img", out / "disk.qcow2"
    images.pieces(source, 40 << 30, *(
        (at * (5 << 28) + at * 7777 * 512, b"far away" * 1000 * at)
        for at in range(1, 30)))
    write(hone, source, output, *MODES[mode])
    ask_qemu(qemu_img, source, output)


@pytest.mark.parametrize("option,says", [
    ("lazy_refcounts=on", "lazy_refcounts"),
    ("refcount_bits=3", "power of two from 1 to 64"),
    ("cluster_size=300", "power of two from 512 to 2M"),
    ("compression_type=lz4", "zlib"),
    ("preallocation=full", "metadata"),
    ("compat=1.0", "0.10"),
])
def test_a_value_that_an_option_has_not_is_refused(hone, source, out, option, says):
    done = hone.run("convert", "-o", option, source, out / "d.qcow2")
    assert done.returncode in (1, 2)
    assert says in done.stderr.decode()
    assert not os.listdir(out)


@pytest.fixture
def xfs(work):
    """A directory on a file system that shares blocks."""
    if not shutil.which("mkfs.xfs", path=os.environ["PATH"] + ":/sbin"):
        pytest.skip("mkfs.xfs is not installed")
    disk, place = work / "xfs.img", work / "xfs"
    images.pieces(disk, 400 * MI)
    images.tool("mkfs.xfs", "-q", "-m", "reflink=1", str(disk))
    place.mkdir()
    done = subprocess.run(["mount", "-o", "loop", disk, place], check=False,
                          stderr=subprocess.PIPE)
    if done.returncode:
        pytest.skip("XFS cannot be mounted: " + done.stderr.decode().strip())
    yield place
    subprocess.run(["umount", place], check=True)


def test_shared_blocks_are_those_of_the_data_file(hone, xfs):
    """Not those at the same offsets of the image, which holds the tables."""
    image, data = xfs / "disk.qcow2", xfs / "disk.data"
    images.tool("qemu-img", "create", "-q", "-f", "qcow2", "-o",
                f"data_file={data},preallocation=metadata", str(image), "8M")
    data.write_bytes(images.noise(8 * MI))
    os.truncate(image, 16 * MI)
    result = hone.json("convert", "--json", "--allow-data-file", xfs, image,
                       xfs / "disk.raw")
    assert (xfs / "disk.raw").read_bytes() == data.read_bytes()
    assert result["shared_bytes"] == 8 * MI


def test_shared_blocks_change_no_byte_of_the_image(hone, xfs, out):
    """Not those of the header's cluster either."""
    source, output = xfs / "disk.img", xfs / "disk.qcow2"
    source.write_bytes(images.noise(3 * MI))
    result = hone.json("convert", "--json", source, output)
    assert result["shared_bytes"] == 3 * MI
    copied = out / "disk.img"
    shutil.copyfile(source, copied)
    write(hone, copied, out / "disk.qcow2")
    assert output.read_bytes() == (out / "disk.qcow2").read_bytes()


@pytest.mark.parametrize("size", [8 * MI, 5 * MI + 4096 * 3 + 512])
def test_a_file_in_place_shares_what_lies_between_its_ends(hone, xfs, size):
    """The first and the last MiB are written last, and so are copied."""
    source, target = xfs / "disk.img", xfs / "target.img"
    source.write_bytes(images.noise(size))
    target.write_bytes(b"stale" * (size // 5 + 1))
    os.truncate(target, size)
    result = hone.json("convert", "--json", "-n", source, target)
    assert target.read_bytes() == source.read_bytes()
    assert result["shared_bytes"] > 0
    # As filefrag(8): some extents of both files are shared.
    sbin = dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin:/sbin")
    said = subprocess.run(["filefrag", "-v", target], check=True, env=sbin,
                          stdout=subprocess.PIPE).stdout.decode()
    assert "shared" in said
