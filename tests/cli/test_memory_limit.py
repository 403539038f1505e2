# SPDX-License-Identifier: BSD-3-Clause
"""The command in a cgroup with 256 MB of memory, page cache included.

Each kind of source and of destination, with a disk of 4 GiB that has 344 MiB
of data, all in its first GiB; the rest is zeros. What a tool packs as one
stream (TOOLS) is that GiB: to unpack zeros takes most of the time. The servers,
and what fills a pipe, are outside of the cgroup.
"""
import functools
import hashlib
import mmap
import os
import random
import shutil
import subprocess
import tarfile

import pytest

import images
import memory_cgroup
from extents import uncache
from harness import CLEAN, ENV, need
from http_server import Handler, Server
from images import GI, KI, MI, PACK, SUFFIX
from test_device import attach, call  # pylint: disable=unused-import
from test_http import chunked
from test_nbd import qemu_nbd

LIMIT = 256 * MI
SIZE, DATA, CHUNK = 4 * GI, GI, 8 * MI
# One stream of a tool has the first of it, four times the dictionary of xz -9:
# xz -9 packs this in 5 s.
ONE = 256 * MI
# Long for a busy machine: each case writes up to 344 MiB and syncs them.
SECONDS = 900

pytestmark = pytest.mark.all


@pytest.fixture(name="group")
def group_fixture():
    """A cgroup of 256 MB, in which the kernel kills what is larger."""
    with memory_cgroup.limited(LIMIT) as group:
        yield group


@pytest.fixture(name="limited")
def limited_fixture(hone, group):
    """Call it with arguments of hone, which must end well in the cgroup."""
    def run(*args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=()):
        done = subprocess.run(
            [*group.words(), hone.path, *map(str, args)], stdin=stdin,
            stdout=stdout, stderr=subprocess.PIPE, check=False,
            timeout=SECONDS, env={**ENV, **dict(env)})
        assert (done.returncode, group.kills()) == (0, 0), done
    return run


def chunk(number):
    """8 MiB of the disk: zeros, or one of four kinds of data, which take turns. No
    dictionary but that of zstd --long reaches back to the last one of a kind."""
    has_data = number % 3 == 0 and number < DATA // CHUNK
    return content(number % 12) if has_data else content(None)


@functools.cache
def content(kind):
    """Zeros, or half a MiB of noise and runs of bytes."""
    if kind is None:
        return bytes(CHUNK)
    make = random.Random(kind)
    runs = b"".join(bytes([byte | 1]) * (15 * KI) for byte in make.randbytes(512))
    return make.randbytes(512 * KI) + runs


def packed(path, pack, tool=()):
    """The disk with one member for each 8 MiB; its first 256 MiB are one stream
    of the tool if there is one."""
    pack = functools.cache(pack)
    with open(path, "wb") as file:
        if tool:
            need(tool[0])
            with subprocess.Popen([*tool, "-c"], stdin=subprocess.PIPE,
                                  stdout=file) as process:
                for number in range(ONE // CHUNK):
                    process.stdin.write(chunk(number))
            assert process.returncode == 0
            file.seek(0, os.SEEK_END)
        for number in (range(ONE // CHUNK, DATA // CHUNK) if tool else
                       range(SIZE // CHUNK)):
            file.write(pack(chunk(number)))


KINDS = {suffix[1:]: PACK[packing] for packing, suffix in SUFFIX.items()}
# A dictionary of 64 MiB, blocks of 24 MiB, and a window of 128 MiB.
TOOLS = {"9.xz": ("xz", "-9"), "blocks.xz": ("xz", "-T2"),
         "long.zst": ("zstd", "-q", "--long=27")}


@pytest.fixture(name="disk", scope="module")
def disk_fixture(hone, tmp_path_factory):
    """Call it with a suffix: the disk in a file of that kind, made once."""
    folder = tmp_path_factory.mktemp("limit")
    images.need_holes(folder)
    if shutil.disk_usage(folder).free < 4 * GI:
        pytest.skip(f"{folder} has less than 4 GiB of room")
    raw = folder / "disk.raw"
    with open(raw, "wb") as file:
        file.truncate(SIZE)
        for number in range(0, DATA // CHUNK, 3):
            file.seek(number * CHUNK)
            file.write(chunk(number))
    options = {"qcow2": (), "vhd": (), "zlib.qcow2": ("-c",),
               "zstd.qcow2": ("-c", "-o", "compression_type=zstd")}

    def get(suffix):
        path = folder / f"disk.{suffix}"
        if not path.exists():
            if suffix in options:
                hone.ok("convert", "-q", *options[suffix], raw, path)
            elif suffix.endswith("vmdk"):
                qemu_vmdk(raw, path)
            elif suffix == "tar":
                with tarfile.open(path, "w") as tar:
                    tar.add(get("qcow2"), "disk.qcow2")
            elif suffix.endswith("zst") and not shutil.which("zstd"):
                pytest.skip("zstd is not installed")
            else:
                packed(path, KINDS[suffix.rpartition(".")[2]],
                       TOOLS.get(suffix.removeprefix("raw."), ()))
        uncache(path)
        return path
    yield get
    shutil.rmtree(folder)


def qemu_vmdk(raw, path):
    """VMDK as QEMU writes it, with compressed grains if the name says so."""
    kind = "streamOptimized" if "packed" in path.name else "monolithicSparse"
    need("qemu-img")
    call("qemu-img", "convert", "-f", "raw", "-O", "vmdk", "-o",
         f"subformat={kind}", str(raw), str(path))


@pytest.fixture(name="out")
def out_fixture(request, hone, disk, tmp_path):
    """The path of a new image, which must hold the disk after the test."""
    path = tmp_path / "out.raw"
    yield path
    one = any(f"[raw.{kind}" in request.node.name for kind in TOOLS)
    assert path.stat().st_size == (DATA if one else SIZE)
    # What follows the first GiB is zeros.
    hone.ok("compare", "-q", disk("raw"), path)
    shutil.rmtree(tmp_path)


def test_the_cgroup_kills_what_needs_more(group):
    done = subprocess.run(
        [*group.words(), "python3", "-c", "len(b'1' * (300 << 20))"],
        check=False, timeout=SECONDS)
    assert (done.returncode, group.kills()) == (-9, 1)


@pytest.mark.parametrize("suffix", [
    "raw", "qcow2", "zlib.qcow2", "zstd.qcow2", "vhd", "vmdk", "packed.vmdk",
    "tar", "raw.gz", "raw.xz", "raw.zst", "raw.bz2", "raw.9.xz",
    "raw.blocks.xz", "raw.long.zst"])
def test_a_file_as_source(limited, disk, out, suffix):
    limited("convert", "-q", disk(suffix), out)


@pytest.mark.parametrize("suffix", [
    "raw", "qcow2", "zlib.qcow2", "raw.gz", "raw.zst", "raw.9.xz",
    "raw.blocks.xz", "raw.long.zst"])
def test_a_pipe_as_source(limited, disk, out, suffix):
    with subprocess.Popen(["cat", disk(suffix)], stdout=subprocess.PIPE) as cat:
        limited("convert", "-q", "-", out, stdin=cat.stdout)


@pytest.mark.parametrize("suffix, options", [
    ("qcow2", ("--expect",)),
    ("raw.blocks.xz", ("--expect", "--verify")),
    ("zlib.qcow2", ("--untrusted", "--verify")),
    ("packed.vmdk", ("--untrusted",))])
def test_a_file_that_is_judged(limited, disk, out, suffix, options):
    words, path = list(options), disk(suffix)
    if "--expect" in options:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        uncache(path)
        words.insert(1, f"sha256:{digest}")
    limited("convert", "-q", *words, path, out)


@pytest.fixture(name="served")
def served_fixture(hone):
    """Call it with a file: a web server that has it, outside of the cgroup."""
    hone.need("libcurl")

    def serve(path, answer=None):
        with open(path, "rb") as file:
            content = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        return Server(content, answer)
    return serve


@pytest.mark.parametrize("suffix", ["raw", "qcow2", "raw.9.xz", "raw.zst"])
def test_a_server_with_ranges_as_source(limited, disk, out, served, suffix):
    with served(disk(suffix)) as server:
        limited("convert", "-q", server.url(f"/disk.{suffix}"), out)


def test_a_bucket_as_source(limited, disk, out, served):
    with served(disk("qcow2")) as server:
        limited("convert", "-q", "s3://images/disk.qcow2", out, env={
            **CLEAN, "HOME": str(out.parent), "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": server.url(""), "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret"})
        assert all("Signature=" in request.headers["Authorization"]
                   for request in server.requests)


@pytest.mark.parametrize("answer", [Handler.whole, chunked])
@pytest.mark.parametrize("suffix", ["raw", "qcow2", "raw.gz"])
def test_a_server_without_ranges_as_source(limited, disk, out, served, suffix, answer):
    with served(disk(suffix), answer) as server:
        limited("convert", "-q", server.url(f"/disk.{suffix}"), out)


@pytest.fixture(name="nbd")
def nbd_fixture(hone):
    """Skip without libnbd."""
    hone.need("libnbd")


@pytest.mark.usefixtures("nbd")
@pytest.mark.parametrize("suffix", ["raw", "qcow2"])
def test_an_export_as_source(limited, disk, out, tmp_path, suffix):
    """The export is the file: qcow2 in it, too."""
    with qemu_nbd(disk(suffix), tmp_path, "-r") as url:
        limited("convert", "-q", url, out)


@pytest.mark.usefixtures("nbd")
def test_an_export_as_destination(limited, disk, out, tmp_path):
    images.pieces(out, SIZE)
    with qemu_nbd(out, tmp_path) as url:
        limited("convert", "-q", disk("raw"), url)


def test_a_device_as_source(limited, disk, out, attach):
    limited("convert", "-q", attach(disk("raw"), "-r"), out)


def test_a_device_as_destination(limited, disk, out, attach):
    images.pieces(out, SIZE)
    limited("convert", "-q", disk("raw"), attach(out))


@pytest.mark.parametrize("suffix, options", [
    ("vhd", ()), ("vmdk", ()), ("tar.gz", ("-O", "gce")), ("raw.zst", ()),
    ("qcow2", ()), ("qcow2", ("-c",)),
    ("qcow2", ("-c", "-o", "compression_type=zstd")),
    ("qcow2", ("-c", "-o", "compression_type=zstd,cluster_size=2M", "--level", "19"))],
    ids=["vhd", "vmdk", "gce", "packed", "plain", "zlib", "zstd", "level 19"])
def test_another_format_as_destination(limited, hone, disk, tmp_path, suffix, options):
    path = tmp_path / f"out.{suffix}"
    limited("convert", "-q", *options, disk("raw"), path)
    hone.ok("compare", "-q", "--strict", disk("raw"), path)
    shutil.rmtree(tmp_path)


@pytest.mark.parametrize("form", ["raw", "qcow2", "vmdk"])
def test_a_pipe_as_destination(limited, hone, disk, form):
    with subprocess.Popen(
            [hone.path, "compare", "-q", "--strict", "-", disk("raw")],
            stdin=subprocess.PIPE, env=ENV) as reader:
        limited("convert", "-q", "-O", form, disk("qcow2"), "-", stdout=reader.stdin)
        reader.stdin.close()
    assert reader.returncode == 0


@pytest.mark.parametrize("words", [
    ("digest",), ("digest", "--blocks", "512k", "--json"),
    ("map", "--json"), ("check",)], ids=" ".join)
@pytest.mark.parametrize("suffix", ["qcow2", "raw.zst"])
def test_the_other_commands(limited, disk, words, suffix):
    limited(*words, disk(suffix), stdout=subprocess.DEVNULL)
