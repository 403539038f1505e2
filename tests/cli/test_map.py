# SPDX-License-Identifier: BSD-3-Clause
"""`hone map`: every byte of an image, with its kind."""
import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import extents
import images

NAMES = [name for name in images.MAKERS if name != "partitioned"]


def mapped(hone, path, *options):
    """The extents that --json prints."""
    found = hone.json("map", "--json", *options, path)
    assert all(list(entry) == ["offset", "length", "kind"]
               for entry in found)
    return [tuple(entry.values()) for entry in found]


@pytest.mark.parametrize("name", NAMES)
def test_map_tells_data_zeros_and_holes_apart(hone, image, name):
    assert mapped(hone, image(name)) == extents.kinds(image(name), 4096)


@pytest.mark.parametrize("name", NAMES)
def test_map_covers_the_image_with_kinds_that_change(hone, image, name):
    at, last = 0, None
    for offset, length, kind in mapped(hone, image(name)):
        assert (offset, kind in ("data", "zero", "hole")) == (at, True)
        assert length > 0 and kind != last
        at, last = at + length, kind
    assert at == os.stat(image(name)).st_size


@pytest.mark.parametrize("scan", ["512", "4k", "64k", "2M"])
def test_map_looks_for_zeros_in_blocks_of_the_size_asked(hone, image, scan):
    block = {"512": 512, "4k": 4096, "64k": 65536, "2M": 1 << 21}[scan]
    path = image("alternating")
    found = mapped(hone, path, "-S", scan)
    assert found == extents.kinds(path, block)
    assert len(found) == (512 if block <= 4096 else 1)


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


PIECES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 4095),
                            st.integers(1, 9000), st.booleans()), max_size=6)


@given(parts=PIECES, tail=st.integers(0, 5000))
def test_map_is_right_for_random_images(hone, image, parts, tail):
    path = image("mixed").with_name("random")
    images.pieces(path, 64 * 4096 + tail, *(
        (block * 4096 + off, (b"\1" if data else b"\0") * length)
        for block, off, length, data in parts))
    assert mapped(hone, path) == extents.kinds(path, 4096)


def test_map_never_changes_the_image(hone, small):
    before = small.read_bytes(), os.stat(small).st_mtime_ns
    hone.ok("map", small)
    hone.ok("info", small)
    hone.ok("compare", small, small)
    assert (small.read_bytes(), os.stat(small).st_mtime_ns) == before
