# SPDX-License-Identifier: BSD-3-Clause
"""Random images through `hone convert`, judged by our own readers."""
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extents
import images
import qcow2_reader
from harness import assert_same, stamp

SIZES = ("512", "1k", "2048", "4K", "8k", "64k", "256K", "2M")
BYTES = dict(zip(SIZES, (512, 1024, 2048, 4096, 8192, 1 << 16, 1 << 18,
                         1 << 21)))
# Borders near those of clusters, pages, read buffers and windows.
EDGES = st.one_of(
    st.integers(0, 600 * 1024),
    st.builds(lambda base, off: max(0, base + off),
              st.sampled_from([4096, 65536, 512 << 10, 2 << 20, 4 << 20]),
              st.integers(-513, 513)))
PARTS = st.lists(st.tuples(
    EDGES, st.one_of(st.integers(1, 3), st.integers(1, 9000),
                     st.sampled_from([512, 4096, 65536, 3 << 20])),
    st.sampled_from(["zero", "speck", "noise"])), max_size=7)


def content(kind, length):
    """Bytes to write: zeros, zeros but for one, or no zeros."""
    if kind == "noise":
        return b"\xa5" * length
    return bytes(length - 1) + (b"\1" if kind == "speck" else b"\0")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory for one source and one output."""
    return tmp_path_factory.mktemp("random")


@settings(max_examples=settings.default.max_examples * 3 // 2)
@given(size=EDGES, parts=PARTS, fmt=st.sampled_from(["raw", "qcow2"]),
       cluster=st.sampled_from(SIZES), scan=st.sampled_from(SIZES),
       threads=st.sampled_from(["1", "2", "5"]))
def test_any_image_comes_out_equal_sound_and_sparse(
        hone, place, size, parts, fmt, cluster, scan, threads):
    source, output = place / "source", place / "output"
    images.pieces(source, size, *(
        (at, content(kind, length)[:max(0, size - at)])
        for at, length, kind in parts if at < size))
    before = stamp(source)
    options = ["-o", f"cluster_size={cluster}"] if fmt == "qcow2" else []
    result = hone.json("convert", "--force", "--json", "-O", fmt, "-S", scan,
                       "--threads", threads, *options, source, output)
    assert stamp(source) == before
    assert sorted(os.listdir(place)) == ["output", "source"]
    assert_same(source, output, fmt)
    totals = dict.fromkeys(("data", "zero", "hole"), 0)
    block = BYTES[scan]
    if fmt == "qcow2":
        block = max(block, BYTES[cluster])
        image = qcow2_reader.Qcow2(output)
        if BYTES[cluster] >= BYTES[scan]:
            assert all(any(image.read(guest)) for guest in image.where)
    for _, length, kind in extents.kinds(source, block):
        totals[kind] += length
    assert [result[f"{kind}_bytes"] for kind in totals] == list(
        totals.values())
