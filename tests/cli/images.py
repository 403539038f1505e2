# SPDX-License-Identifier: BSD-3-Clause
"""Makers of disk images for the tests, each called with a path; what packs them."""
import bz2
import gzip
import itertools
import lzma
import os
import random
import shutil
import subprocess

import pytest

from harness import need

MAKERS = {}
KI, MI, GI, TI = 1 << 10, 1 << 20, 1 << 30, 1 << 40


class Unsupported(Exception):
    """The machine cannot make this image; the text says why."""


def maker(function):
    """Enter a maker under its own name."""
    MAKERS[function.__name__] = function
    return function


def zstd(data, *options):
    """The zstd command; it always adds a checksum."""
    need("zstd")
    return subprocess.run(["zstd", "-q", "-c", *options], input=data,
                          stdout=subprocess.PIPE, check=True).stdout


# By the name of the packing: the same bytes each time.
PACK = {"gzip": lambda data: gzip.compress(data, 1, mtime=0),
        "xz": lambda data: lzma.compress(data, preset=0),
        "zstd": zstd, "bzip2": bz2.compress}
LIBRARIES = {"gzip": "zlib", "xz": "liblzma", "zstd": "libzstd", "bzip2": "libbz2"}
SUFFIX = {"gzip": ".gz", "xz": ".xz", "zstd": ".zst", "bzip2": ".bz2"}


def noise(size, seed=1):
    """Bytes that repeat from run to run, none of them zero blocks."""
    return random.Random(seed).randbytes(size)


def pieces(path, size, *parts):
    """A file of `size` bytes: holes, but for the (offset, bytes) given."""
    with open(path, "wb") as file:
        try:
            os.truncate(file.fileno(), size)
        except OSError as error:
            raise Unsupported(f"no file of {size} bytes here: {error}")
        for at, data in parts:
            os.pwrite(file.fileno(), data, at)


def need_holes(directory):
    """Skip where the file system cannot tell holes from data."""
    probe = directory / "probe"
    pieces(probe, 1 << 20)
    with open(probe, "rb") as file:
        hole = os.lseek(file.fileno(), 0, os.SEEK_HOLE)
    probe.unlink()
    if hole != 0:
        pytest.skip(f"the file system of {directory} has no SEEK_HOLE")


def tool(*words):
    """Run a tool of the machine; a missing one makes the image a skip."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    if not shutil.which(words[0], path=path):
        raise Unsupported(f"{words[0]} is not installed")
    subprocess.run(words, check=True, env=dict(os.environ, PATH=path),
                   stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


def readable_files(top):
    """(directory, name, size) of the regular files below, always in order."""
    for here, inner, names in os.walk(top):
        inner.sort()
        for name in sorted(names):
            path = os.path.join(here, name)
            if not os.path.islink(path) and os.path.isfile(path) and (
                    os.access(path, os.R_OK)):
                yield here, name, os.stat(path).st_size


def real_files(directory, total):
    """Fill a directory with some of the machine's own files."""
    for top in ("/usr/bin", "/usr/lib", "/usr/share"):
        left = total // 3
        for here, name, size in itertools.islice(readable_files(top), 600):
            if size > left:
                continue
            place = directory / here.strip("/").replace("/", "_")
            place.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(os.path.join(here, name), place / name)
            left -= size


def ext4(path, size, content):
    """An ext4 file system of `size` bytes with about `content` of files."""
    files = path.with_name(path.name + ".files")
    real_files(files, content)
    (files / "zeros").write_bytes(bytes(content // 8))
    try:
        tool("mke2fs", "-q", "-F", "-t", "ext4", "-d", str(files),
             str(path), f"{size // KI}k")
    finally:
        shutil.rmtree(files)


@maker
def filled_ext4(path):
    """An ext4 file system full of the machine's files."""
    ext4(path, 48 * MI, 24 * MI)


@maker
def filled_xfs(path):
    """An XFS file system with some of the machine's files."""
    files = path.with_name(path.name + ".files")
    proto = path.with_name(path.name + ".proto")
    real_files(files, 6 * MI)
    # One directory for all files, and names that mkfs.xfs can parse.
    lines = ["/", "0 0", "d--755 0 0"]
    for number, (here, name, _) in enumerate(readable_files(files)):
        lines.append(f"file{number} ---644 0 0 {os.path.join(here, name)}")
    proto.write_text("\n".join([*lines, "$", ""]))
    # The smallest size that every version makes.
    pieces(path, 300 * MI)
    try:
        tool("mkfs.xfs", "-q", "-f", "-p", str(proto), str(path))
    finally:
        shutil.rmtree(files)
        proto.unlink()


@maker
def filled_ntfs(path):
    """An NTFS file system with some of the machine's files."""
    files = path.with_name(path.name + ".files")
    real_files(files, 6 * MI)
    pieces(path, 32 * MI)
    try:
        tool("mkntfs", "-q", "-F", "-s", "512", "-p", "0", "-H", "0", "-S",
             "0", str(path))
        largest = sorted(readable_files(files), key=lambda file: -file[2])
        for number, (here, name, _) in enumerate(largest[:20]):
            tool("ntfscp", "-q", "-f", str(path), os.path.join(here, name),
                 f"file{number}")
    finally:
        shutil.rmtree(files)


@maker
def fragmented(path):
    """Runs of 1 to 16 blocks of data, each followed by as long a hole."""
    rng = random.Random(5)
    with open(path, "wb") as file:
        at = 0
        while at < 24 * MI:
            length = 4096 * rng.randint(1, 16)
            os.pwrite(file.fileno(), noise(length, at), at)
            at += length + 4096 * rng.randint(1, 16)
        os.truncate(file.fileno(), at)


@maker
def partitioned(path):
    """A partition table with two file systems behind it."""
    pieces(path, 40 * MI + 512)
    table = path.with_name(path.name + ".table")
    table.write_text("label: gpt\nstart=2048, size=40960\nsize=32768\n")
    try:
        tool("sh", "-c", 'exec sfdisk -q --no-reread "$1" <"$2"', "sh",
             str(path), str(table))
    finally:
        table.unlink()
    for at, size, content in ((MI, 20 * MI, 8 * MI), (21 * MI, 16 * MI, MI)):
        part = path.with_name(path.name + ".part")
        ext4(part, size, content)
        with open(path, "r+b") as disk:
            disk.seek(at)
            disk.write(part.read_bytes())
        part.unlink()


@maker
def written_zeros(path):
    """Zeros, all of them on the disk."""
    path.write_bytes(bytes(8 * MI))


@maker
def all_data(path):
    """No zero block anywhere."""
    path.write_bytes(noise(8 * MI + 4096))


@maker
def one_byte_set(path):
    """One byte in the midst of zeros."""
    pieces(path, 16 * MI, (8 * MI + 12345, b"\1"))


@maker
def preallocated(path):
    """Blocks that are reserved but were never written, and an island."""
    pieces(path, 8 * MI)
    with open(path, "r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, 8 * MI)
        except OSError as error:
            raise Unsupported(f"fallocate: {error}")
        os.pwrite(file.fileno(), noise(10000), 3 * MI + 100)


@maker
def mixed(path):
    """Data, zeros and holes whose borders fit no block size."""
    pieces(path, 5 * MI + 777,
           (0, noise(70000)), (100 * KI, bytes(300 * KI)),
           (500 * KI + 1, b"\1"), (900 * KI, noise(5000)),
           (2 * MI - 1, b"\2\3"), (3 * MI, noise(MI)), (5 * MI, bytes(700)),
           (5 * MI + 700, noise(77)))


@maker
def alternating(path):
    """Data and zeros by turns of 4 KiB, all written."""
    path.write_bytes(b"".join(noise(4096, i) + bytes(4096) for i in range(256)))


@maker
def last_block_only(path):
    """Data in the very last bytes, in a cluster that is not whole."""
    pieces(path, 64 * MI + 4096 + 1, (64 * MI + 4096, b"\xff"))


@maker
def sparse_5_gib(path):
    """Few islands, some of them past 4 GiB."""
    pieces(path, 5 * GI, (0, noise(512)), (2 * GI - 3, noise(6, 2)),
           (4 * GI - 4096, noise(8192, 3)), (5 * GI - 512, noise(512, 4)))


@maker
def empty_8_tib(path):
    """Nothing, much of it."""
    pieces(path, 8 * TI)


@maker
def empty_8_tib_but_its_end(path):
    """Nothing, and one byte at its end."""
    pieces(path, 8 * TI, (8 * TI - 1, b"\1"))


def sized(size):
    """A maker of a file of an odd size with data at both ends."""
    def make(path):
        pieces(path, size, (0, b"\1"), (size - 1, b"\2"))
    return make


for _size in (1, 511, 512, 513, 65535, 65536, 65537):
    MAKERS[f"{_size}_bytes"] = sized(_size)


@maker
def one_zero_byte(path):
    """The smallest image of zeros."""
    path.write_bytes(b"\0")


def small(path):
    """Data, zeros, a hole, data: the image that faults are tried on."""
    pieces(path, 292 * KI + 123, (0, noise(64 * KI)), (64 * KI, bytes(65536)),
           (192 * KI, noise(100 * KI + 123, 2)))
