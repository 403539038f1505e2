# SPDX-License-Identifier: BSD-3-Clause
"""`hone map`: every byte of an image, with its kind."""
import os
import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

import extents
import images
from harness import write

NAMES = [name for name in images.MAKERS if name not in ("partitioned", "preallocated")]


def mapped(hone, path, *options):
    """The extents that --json prints, each where it lies in the file."""
    found = hone.json("map", "--json", *options, path)
    for entry in found:
        assert list(entry)[:3] == ["offset", "length", "kind"]
        if entry["kind"] != "hole":
            assert entry.pop("host_offset") == entry["offset"]
        assert len(entry) == 3
    return [tuple(entry.values()) for entry in found]


def without_zeros(parts):
    """Extents with zeros as holes."""
    merged = []
    for offset, length, kind in parts:
        kind = "hole" if kind == "zero" else kind
        if merged and merged[-1][2] == kind:
            offset, before, _ = merged.pop()
            length += before
        merged.append((offset, length, kind))
    return merged


# What is allocated but was never written, as the log of XFS, is a hole until it is
# in the page cache, where reading the pages before it may bring it at any time.
@pytest.mark.parametrize("name", NAMES)
def test_map_tells_data_zeros_and_holes_apart(hone, image, name):
    before = extents.kinds(image(name), 4096)
    found = mapped(hone, image(name))
    after = extents.kinds(image(name), 4096)
    if before == after:
        assert found == after
    else:
        assert without_zeros(found) == without_zeros(after)


@pytest.mark.parametrize("name", ["preallocated", "blocks behind its end"])
def test_a_file_of_full_size_has_no_data_in_its_holes(hone, image, work, name):
    """It has as many blocks as bytes: never written, or behind its end."""
    path = work / "disk"
    if name == "preallocated":
        path = image(name)
    else:
        images.pieces(path, 8 * images.MI, (3 * images.MI, images.noise(10000)))
        try:
            images.tool("fallocate", "-n", "-o", "8MiB", "-l", "8MiB", str(path))
        except (images.Unsupported, subprocess.CalledProcessError) as error:
            pytest.skip(str(error))
    assert extents.disk_usage(path) >= 8 * images.MI
    found = mapped(hone, path)
    assert without_zeros(found) == without_zeros(extents.kinds(path, 4096))


def test_a_compressed_extent_is_one_however_long(hone, work):
    """Its bytes have no offset in the file."""
    part = images.noise(32 << 10) + bytes(32 << 10)
    (work / "disk").write_bytes(part * 64)
    hone.ok("convert", "-c", work / "disk", work / "disk.qcow2")
    assert hone.json("map", "--json", "-S", "64k", work / "disk.qcow2") == [
        {"offset": 0, "length": 4 << 20, "kind": "data", "compressed": True}]


def test_extents_for_people_differ_in_kind(hone, work):
    """Those of --json differ in their place, too."""
    part = images.noise(64 << 10) + b"x" * (64 << 10)
    (work / "disk").write_bytes(part * 16)
    hone.ok("convert", "-c", work / "disk", work / "disk.qcow2")
    found = hone.json("map", "--json", work / "disk.qcow2")
    assert [sorted(entry)[0] for entry in found] == ["host_offset", "compressed"] * 16
    lines = hone.ok("map", work / "disk.qcow2").stdout.splitlines()
    assert [line.split() for line in lines[1:-1]] == [[b"0", b"2097152", b"data"]]


def test_map_of_an_empty_file_is_an_empty_list(hone, work):
    (work / "empty").touch()
    assert mapped(hone, work / "empty") == []
    hone.ok("map", work / "empty")


def test_map_for_people_has_the_same_extents_and_a_total(hone, image):
    path = image("mixed")
    lines = hone.ok("map", path).stdout.decode().splitlines()
    rows = []
    for line in lines:
        match = re.fullmatch(
            r"\s*(0x[0-9a-f]+|\d+)\s+(0x[0-9a-f]+|\d+)\s+(data|zero|hole)\s*",
            line)
        if match:
            rows.append((int(match[1], 0), int(match[2], 0), match[3]))
    assert rows == extents.kinds(path, 4096)
    assert "total" in lines[-1].lower()
    assert f"{len(rows)} extents" in lines[-1]


def test_the_total_has_the_bytes_of_each_kind(hone, work):
    path = work / "disk"
    images.pieces(path, 3 * images.MI, (0, b"x" * 5000), (65536, bytes(4096)),
                  (131072, b"y" * 4096))
    said = hone.ok("map", path).stdout.decode().splitlines()[-1]
    assert said.endswith("data 12.0 KiB, zero 4.0 KiB, hole 3.0 MiB"), said


@pytest.mark.parametrize("size, total", [
    (1, "total 1 byte (1 byte) in 1 extent: "
        "data 1 byte, zero 0 bytes, hole 0 bytes"),
    (5000, "total 5000 bytes (4.9 KiB) in 2 extents: "
           "data 4.0 KiB, zero 904 bytes, hole 0 bytes")])
def test_the_total_has_the_singular_of_one(hone, work, size, total):
    path = write(work, "disk", b"x" + bytes(size - 1))
    said = hone.ok("map", path).stdout.decode().splitlines()[-1]
    assert said == total


PIECES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 4095),
                            st.integers(1, 9000), st.booleans()), max_size=6)


@given(parts=PIECES, tail=st.integers(0, 5000),
       scan=st.sampled_from([512, 4096, 4096, 65536, 2 << 20]))
def test_map_is_right_for_random_images(hone, image, parts, tail, scan):
    path = image("mixed").with_name("random")
    images.pieces(path, 64 * 4096 + tail, *(
        (block * 4096 + off, (b"\1" if data else b"\0") * length)
        for block, off, length, data in parts))
    options = [] if scan == 4096 else ["-S", str(scan)]
    assert mapped(hone, path, *options) == extents.kinds(path, scan)


@pytest.mark.parametrize("options", [[], ["--json"]], ids=str)
def test_map_stops_when_its_output_cannot_be_written(
        hone, strace, image, work, options):
    """It reads no further: what is written fits into one buffer or two."""
    log, path = work / "trace", work / "long"
    images.pieces(path, 64 << 20, *((at << 13, b"x") for at in range(8192)))
    with open("/dev/full", "wb") as full:
        done = hone.run("map", *options, path, stdout=full, before=[
            *strace, "-o", str(log), "-e", "trace=write"])
    assert done.returncode == 1
    assert done.stderr == (b"hone: standard output: cannot be written: "
                           b"No space left on device\n")
    failed = [line for line in log.read_text().splitlines()
              if "write(1," in line and "ENOSPC" in line]
    assert 1 <= len(failed) <= 3


def test_map_never_changes_the_image(hone, small):
    before = small.read_bytes(), os.stat(small).st_mtime_ns
    hone.ok("map", small)
    hone.ok("info", small)
    hone.ok("compare", small, small)
    assert (small.read_bytes(), os.stat(small).st_mtime_ns) == before
