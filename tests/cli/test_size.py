# SPDX-License-Identifier: BSD-3-Clause
"""--size: the disk of DST is longer or shorter than that of SRC."""
import gzip
import hashlib
import os

import pytest

from test_device import MIB, disk, stale, write_sparse

LENGTH = 3 * MIB - 512


@pytest.fixture
def source(work):
    return write_sparse(work / "disk.img", disk(LENGTH))


def raw_of(hone, work, path):
    """The disk of an image."""
    hone.ok("convert", "-q", "-O", "raw", path, work / "back")
    return (work / "back").read_bytes()


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
    said = hone.json("convert", "--json", *words, "--size", size, source,
                     work / name)
    assert said["virtual_size"] == (1024 * MIB if "gce" in words else 5 * MIB)
    if "digests" in said:
        assert said["digests"]["sha256"] == hashlib.sha256(
            disk(LENGTH)).hexdigest()
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
    hone.ok("convert", "-q", *words, *(["--unpack", "gzip"] if packed else []),
            "-f", "raw", "--size", size, "-", work / name,
            input=gzip.compress(data, 1) if packed else data, stdin=None)
    assert raw_of(hone, work, work / name) == grown(5 * MIB)


@pytest.mark.parametrize("known", [True, False])
def test_the_standard_output_gets_its_zeros(hone, source, known):
    how = {} if known else {"input": disk(LENGTH), "stdin": None}
    words = ["convert", "-q", "-f", "raw", "-O", "raw"]
    address = source if known else "-"
    assert hone.ok(*words, "--size", "5M", address, "-",
                   **how).stdout == grown(5 * MIB)
    if not known:
        said = hone.misused(*words, "--size", "+2M", address, "-", **how)
        assert "the size of SRC is not known before its end" in said


@pytest.mark.parametrize("words", [[], ["--keep-rest"], ["--verify"]], ids=str)
def test_in_place_no_old_byte_shows(hone, source, work, words):
    target = work / "target.img"
    target.write_bytes(stale(8 * MIB))
    hone.ok("convert", "-q", "-n", *words, "--size", "5M", source, target)
    rest = stale(8 * MIB)[5 * MIB:] if "--keep-rest" in words else bytes(
        3 * MIB)
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
    found = raw_of(hone, work, work / name)
    assert found[:3 * MIB] == data[:3 * MIB]
    assert len(found) == (4 if "-n" in words else 3) * MIB
    assert not any(found[3 * MIB:])


def test_data_is_not_cut_off(hone, source, work):
    """Before anything is written."""
    target = work / "target.img"
    target.write_bytes(stale(4 * MIB))
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
        said = hone.fails("convert", "-q", *words, "--size", "2M", "-",
                          out / "d.img", input=data, stdin=None)
        assert text in said
        assert not os.listdir(out)


@pytest.mark.parametrize("size", ["0", "+0", "", "+", "-1", "1x", "8E"])
def test_a_size_that_is_not_valid(hone, source, work, size):
    said = hone.misused("convert", f"--size={size}", source, work / "d")
    assert f"--size: '{size}' is not a valid size" in said


def test_a_sum_that_is_too_large(hone, source, work):
    for size in "+7E", "+9223372036854775806":
        said = hone.fails("convert", "-q", "--size", size, source,
                          work / "d.img")
        assert said.startswith("hone: ")
        assert not (work / "d.img").exists()
