# SPDX-License-Identifier: BSD-3-Clause
"""--size: the disk of DST is longer or shorter than that of SRC. --max-size: the limit
of the disk, and of what is unpacked; tests/image/copy_test.c has that of what is
written."""
import gzip
import hashlib
import os
import subprocess
import zlib

import pytest

import images
from harness import converted, write
from images import MI
from test_device import MIB, disk, stale, write_sparse

LENGTH = 3 * MIB - 512


@pytest.fixture
def source(work):
    return write_sparse(work / "disk.img", disk(LENGTH))


def grown(length):
    return disk(LENGTH) + bytes(length - LENGTH)


@pytest.mark.parametrize("words, name, size", [
    (["-O", "raw"], "d.img", "+2097664"),
    (["--digest=sha256", "--verify"], "d.qcow2", "5M"),
    (["-c", "--verify"], "d.qcow2", "+2097664"),
    (["-o", "preallocation=metadata"], "d.qcow2", "5M"),
    (["--verify"], "d.vmdk", "+2097664"), (["-o", "round=none"], "d.vhd", "5M"),
    (["-O", "gce", "--verify"], "d.tar.gz", "5M")], ids=str)
def test_zeros_are_added(hone, source, work, words, name, size):
    """Of each format; the digests are those of SRC, and --verify agrees."""
    said = hone.json("convert", "--json", *words, "--size", size, source, work / name)
    assert said["virtual_size"] == (1024 * MIB if "gce" in words else 5 * MIB)
    if "digests" in said:
        assert said["digests"]["sha256"] == hashlib.sha256(disk(LENGTH)).hexdigest()
    back = work / "back"
    hone.ok("convert", "-q", "-O", "raw", work / name, back)
    with open(back, "rb") as file:
        assert file.read(5 * MIB) == grown(5 * MIB)
        # The rest of a GiB is a hole.
        with pytest.raises(OSError):
            os.lseek(file.fileno(), 5 * MIB, os.SEEK_DATA)
    assert back.stat().st_size == said["virtual_size"]


@pytest.mark.parametrize("words, name", [
    (["-O", "raw"], "d.img"), (["-c"], "d.qcow2"), (["--verify"], "d.vmdk")],
    ids=str)
@pytest.mark.parametrize("size, packed", [("5M", False), ("+2097664", True)])
def test_zeros_are_added_to_a_stream(hone, work, words, name, size, packed):
    """Its size is known at its end."""
    data = disk(LENGTH)
    hone.ok("convert", "-q", *words, *(["--unpack", "gzip"] if packed else []), "-f",
            "raw", "--size", size, "-", work / name,
            input=gzip.compress(data, 1) if packed else data)
    assert converted(hone, work, "-O", "raw", work / name) == grown(5 * MIB)


@pytest.mark.parametrize("known", [True, False])
def test_the_standard_output_gets_its_zeros(hone, source, known):
    how = {} if known else {"input": disk(LENGTH), "stdin": None}
    words = ["convert", "-q", "-f", "raw", "-O", "raw"]
    address = source if known else "-"
    assert hone.ok(*words, "--size", "5M", address, "-", **how).stdout == grown(5 * MIB)
    if not known:
        said = hone.misused(*words, "--size", "+2M", address, "-", **how)
        assert "the size of SRC is not known before its end" in said


@pytest.mark.parametrize("words", [[], ["--keep-rest"], ["--verify"]], ids=str)
def test_in_place_no_old_byte_shows(hone, source, work, words):
    target = write(work, "target.img", stale(8 * MIB))
    hone.ok("convert", "-q", "-n", *words, "--size", "5M", source, target)
    rest = stale(8 * MIB)[5 * MIB:] if "--keep-rest" in words else bytes(3 * MIB)
    assert target.read_bytes() == grown(5 * MIB) + rest
    said = hone.fails("convert", "-n", "--size", "9M", source, target)
    assert "has 8388608 bytes, and the image has 9437184" in said


@pytest.mark.parametrize("words, name", [
    (["--digest=sha256"], "d.qcow2"), (["--verify"], "d.img"),
    (["-n", "--cache", "keep"], "target.img")], ids=str)
def test_zeros_alone_are_cut_off(hone, work, words, name):
    """Also zeros that have to be read."""
    data = disk(LENGTH) + bytes(2 * MIB + 512)
    (work / "disk.img").write_bytes(data)
    if "-n" in words:
        (work / name).write_bytes(stale(4 * MIB))
    said = hone.json("convert", "--json", *words, "--size", "3M",
                     work / "disk.img", work / name)
    assert said["virtual_size"] == 3 * MIB
    if "digests" in said:
        assert said["digests"]["sha256"] == hashlib.sha256(data).hexdigest()
    found = converted(hone, work, "-O", "raw", work / name)
    assert found[:3 * MIB] == data[:3 * MIB]
    assert len(found) == (4 if "-n" in words else 3) * MIB
    assert not any(found[3 * MIB:])


def test_data_is_not_cut_off(hone, source, work):
    """Before anything is written."""
    target = write(work, "target.img", stale(4 * MIB))
    for words in ["-n"], ["--force"]:
        said = hone.fails("convert", *words, "--size", "2M", source, target)
        assert said.endswith(
            f": has data at offset {LENGTH - 700000}, behind the 2097152 bytes "
            "of the new disk")
        assert target.read_bytes() == stale(4 * MIB)


def test_a_stream_is_not_cut_off(hone, source, work, out):
    hone.ok("convert", "-q", source, work / "disk.qcow2")
    known = gzip.compress((work / "disk.qcow2").read_bytes(), 1)
    for data, words, text in (
            (known, ["--unpack", "gzip"], "comes as a stream"),
            (disk(LENGTH), ["-f", "raw"], "has a disk of 3145216 bytes, more "
             "than the 2097152 that the new disk is to have")):
        said = hone.fails("convert", "-q", *words, "--size", "2M", "-", out / "d.img",
                          input=data)
        assert text in said
        assert not os.listdir(out)


@pytest.mark.parametrize("size", ["0", "+0", "", "+", "-1", "1x", "8E"])
def test_a_size_that_is_not_valid(hone, source, work, size):
    said = hone.misused("convert", f"--size={size}", source, work / "d")
    assert f"--size: '{size}' is not a valid size" in said


def test_a_sum_that_is_too_large(hone, source, work):
    for size in "+7E", "+9223372036854775806":
        said = hone.fails("convert", "-q", "--size", size, source, work / "d.img")
        assert said.startswith("hone: ")
        assert not (work / "d.img").exists()


LIMIT = b"bytes, the limit; --max-size sets the limit"


@pytest.fixture(name="disks")
def disks_fixture(hone, work):
    """The same disk of 2 MiB in each format, and packed."""
    raw = write(work, "a.raw", images.noise(2 * MI))
    for suffix in "qcow2", "vhd", "vmdk":
        hone.ok("convert", "-q", raw, work / f"a.{suffix}")
    (work / "b.raw.gz").write_bytes(gzip.compress(raw.read_bytes(), 1))
    return [raw, *(work / f"a.{suffix}" for suffix in (
        "qcow2", "vhd", "vmdk")), work / "b.raw.gz"]


COMMANDS = {"convert": ["-q", None, "out"], "map": [None], "info": [None],
            "compare": [None, None], "digest": [None]}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_disk_has_a_limit(hone, work, disks, command):
    """Each command, each format: at the limit, and one byte less."""
    for path in disks:
        words = [path if word is None else
                 work / "out" if word == "out" else word
                 for word in COMMANDS[command]]
        # info does not unpack more than the header
        small = command == "info" and path.suffix == ".gz"
        for size in 2 * MI, 2 * MI - 1:
            done = hone.run(command, "--max-size", str(size), *words)
            if size == 2 * MI or small:
                assert (done.returncode, done.stderr) == (0, b""), done
                (work / "out").unlink(missing_ok=True)
                continue
            assert done.returncode == 3, done
            assert (b": has a disk of more than 2097151 " + LIMIT in done.stderr), done
            assert not (work / "out").exists()


def test_check_has_a_limit(hone, disks):
    for path in disks:
        sound = hone.json("check", "--json", "--max-size", str(2 * MI), path)
        assert sound["safe"] and {"name": "size", "passed": True} in [
            {"name": each["name"], "passed": each["passed"]}
            for each in sound["checks"]]
        done = hone.run("check", "-q", "--max-size", str(2 * MI - 1), path)
        assert (done.returncode, done.stderr) == (1, b"")
        said = hone.run("check", "--max-size", str(2 * MI - 1), path).stdout
        assert (b"the disk has 2097152 bytes, and --max-size allows 2097151"
                in said), said
        assert b"--max-size" not in hone.ok("check", path).stdout


def test_a_pipe_has_a_limit(hone, work):
    """The end comes behind it."""
    data = images.noise(2 * MI)
    for size, code in (2 * MI, 0), (2 * MI - 1, 3):
        done = hone.run("convert", "-q", "--max-size", str(size), "-f", "raw", "-",
                        work / "out", input=data)
        assert done.returncode == code, done
        assert (work / "out").exists() == (code == 0)
        (work / "out").unlink(missing_ok=True)
        done = hone.run("digest", "--max-size", str(size), "-f", "raw", "-", input=data)
        assert done.returncode == code, done


def test_what_is_unpacked_has_a_limit(hone, work):
    """A small image, and then 80 MiB of zeros."""
    (work / "a.raw").write_bytes(images.noise(MI))
    hone.ok("convert", "-q", work / "a.raw", work / "a.qcow2")
    packer = zlib.compressobj(1, wbits=31)
    with open(work / "a.qcow2.gz", "wb") as file:
        file.write(packer.compress((work / "a.qcow2").read_bytes()))
        for _ in range(80):
            file.write(packer.compress(bytes(MI)))
        file.write(packer.flush())
    limit = ["--max-size", str(MI)]
    for words in (["convert", "-q", work / "a.qcow2.gz", work / "out"],
                  ["digest", work / "a.qcow2.gz"]):
        hone.ok(words[0], *words[1:])
        (work / "out").unlink(missing_ok=True)
        said = hone.fails(words[0], *limit, *words[1:], code=3)
        assert "unpacks to more than a disk of 1048576 " + LIMIT.decode() in (
            said), said
        assert not (work / "out").exists()
    done = hone.run("check", *limit, work / "a.qcow2.gz")
    assert done.returncode == 1 and b"size               FAILED" in done.stdout


def test_the_defaults_with_untrusted(hone, work):
    """2 TiB of disk."""
    path = work / "a.raw"
    for size, code in (1 << 41, 0), ((1 << 41) + 512, 3):
        images.pieces(path, size)
        done = hone.run("convert", "-q", "--untrusted", path, work / "out")
        assert done.returncode == code, done
        assert (b"2199023255552" in done.stderr) == (code == 3)
        (work / "out").unlink(missing_ok=True)
    hone.ok("convert", "-q", "--untrusted", "--max-size", "3T", path, work / "out")
    assert subprocess.run(["cmp", "-n", "1M", path, work / "out"],
                          check=False).returncode == 0
