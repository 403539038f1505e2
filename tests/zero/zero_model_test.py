# SPDX-License-Identifier: BSD-3-Clause
"""The zero part of the installed libhone against a ten-line model.

HONE_LIB names the shared library. Every variant that this CPU can run is
reached through hone_cpu_limit(), hence through the dispatcher that ships.
Each buffer lies in pages with an absent page before and behind them.
"""
import ctypes
import itertools
import mmap
import os

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

if "HONE_LIB" not in os.environ:
    raise RuntimeError("set HONE_LIB to the path of libhone.so")

LIB = ctypes.CDLL(os.environ["HONE_LIB"])
LIBC = ctypes.CDLL(None, use_errno=True)
SIZE, VOID = ctypes.c_size_t, ctypes.c_void_p
PAGE = mmap.PAGESIZE
PROT_NONE = 0
ROOM = 32 * PAGE


class Extent(ctypes.Structure):
    """struct hone_zero_extent"""
    _fields_ = [("offset", SIZE), ("length", SIZE), ("zero", ctypes.c_bool)]


class Walk(ctypes.Structure):
    """struct hone_zero_walk"""
    _fields_ = [("buf", VOID), ("len", SIZE), ("block", SIZE),
                ("offset", SIZE), ("mapped", SIZE), ("map", ctypes.c_uint64),
                ("reserved", ctypes.c_uint64 * 2)]


def declare(name, result, *arguments):
    """Give one function of the library its types."""
    function = getattr(LIB, name)
    function.restype, function.argtypes = result, arguments
    return function


is_zero = declare("hone_buffer_is_zero", ctypes.c_bool, VOID, SIZE)
is_zero_long = declare("hone_buffer_is_zero_long", ctypes.c_bool, VOID, SIZE)
find = declare("hone_find_nonzero", SIZE, VOID, SIZE)
rfind = declare("hone_rfind_nonzero", SIZE, VOID, SIZE)
zero_map = declare("hone_zero_map", SIZE, VOID, SIZE, SIZE, VOID)
walk_init = declare("hone_zero_walk_init", None,
                    ctypes.POINTER(Walk), VOID, SIZE, SIZE)
walk_next = declare("hone_zero_walk_next", ctypes.c_bool,
                    ctypes.POINTER(Walk), ctypes.POINTER(Extent))
features = declare("hone_cpu_features", ctypes.c_uint64)
limit = declare("hone_cpu_limit", None, ctypes.c_uint64)
variant_of = declare("hone_cpu_variant", ctypes.c_char_p, ctypes.c_char_p)


def model_find(data):
    return len(data) - len(data.lstrip(b"\0"))


def model_rfind(data):
    kept = len(data.rstrip(b"\0"))
    return kept - 1 if kept else len(data)


def model_map(data, block):
    return [not any(data[at:at + block])
            for at in range(0, len(data), block)]


def model_walk(data, block):
    at = 0
    for zero, run in itertools.groupby(model_map(data, block)):
        length = min(len(list(run)) * block, len(data) - at)
        yield at, length, zero
        at += length


def masks_of_variants():
    """One limit for each variant that some set of features leads to."""
    bits = [1 << bit for bit in range(64) if features() >> bit & 1]
    found = {}
    for count in range(len(bits), -1, -1):
        for chosen in itertools.combinations(bits, count):
            limit(sum(chosen))
            found.setdefault(variant_of(b"zero").decode(), sum(chosen))
    limit((1 << 64) - 1)
    return found


class Fenced:
    """Memory between two absent pages."""

    def __init__(self):
        self.pages = mmap.mmap(-1, ROOM + 2 * PAGE)
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self.pages))
        for fence in (self.start, self.start + PAGE + ROOM):
            if LIBC.mprotect(VOID(fence), SIZE(PAGE), PROT_NONE):
                raise OSError(ctypes.get_errno(), "mprotect")

    def hold(self, data, gap, at_end):
        """Place data gap bytes from a fence, all else non-zero."""
        ctypes.memset(self.start + PAGE, 0xA5, ROOM)
        at = PAGE + (ROOM - len(data) - gap if at_end else gap)
        self.pages[at:at + len(data)] = data
        return self.start + at


MASKS = masks_of_variants()
MEMORY = Fenced()

RUNS = st.lists(st.tuples(
    st.integers(0, 255),
    st.one_of(st.integers(1, 3), st.integers(1, 700),
              st.sampled_from([8, 64, 256, 512, 1024, 4096, 8192]))),
    max_size=12)
SPECKS = st.lists(
    st.tuples(st.integers(0, 1 << 17), st.integers(1, 255)), max_size=3)


@st.composite
def buffers(draw):
    """Runs of one value, mostly zero, with a few specks in them."""
    data = bytearray()
    for value, length in draw(RUNS):
        data += bytes([value if value > 160 else 0]) * length
    for where, value in draw(SPECKS):
        if data:
            data[where % len(data)] = value
    return bytes(data)


HELD = dict(data=buffers(), gap=st.integers(0, 130), at_end=st.booleans())
BLOCKS = st.one_of(st.integers(1, 70), st.integers(1, 9000),
                   st.sampled_from([512, 4096, 65536, 1 << 40]))


@pytest.fixture(params=sorted(MASKS), autouse=True)
def variant(request):
    """Run each test once for each variant."""
    limit(MASKS[request.param])
    assert variant_of(b"zero").decode() == request.param
    yield request.param
    limit((1 << 64) - 1)


def told(data, gap, at_end):
    note(f"HONE_SEED={os.environ.get('HONE_SEED')}")
    return MEMORY.hold(data, gap, at_end)


@given(**HELD)
def test_is_zero_says_whether_all_bytes_are_zero(data, gap, at_end):
    at = told(data, gap, at_end)
    assert is_zero(at, len(data)) == (not any(data))
    assert is_zero_long(at, len(data)) == (not any(data))


@given(**HELD)
def test_find_and_rfind_name_the_outermost_bytes_that_are_not_zero(
        data, gap, at_end):
    at = told(data, gap, at_end)
    assert find(at, len(data)) == model_find(data)
    assert rfind(at, len(data)) == model_rfind(data)


@given(block=BLOCKS, **HELD)
def test_map_has_one_bit_for_each_zero_block_and_writes_no_further(
        data, gap, at_end, block):
    at = told(data, gap, at_end)
    expected = model_map(data, block)
    size = (len(expected) + 7) // 8
    bitmap = ctypes.create_string_buffer(b"\x5a" * (size + 8), size + 8)
    assert zero_map(at, len(data), block, bitmap) == sum(expected)
    bits = int.from_bytes(bitmap.raw[:size], "little")
    assert bits == sum(bit << i for i, bit in enumerate(expected))
    assert bitmap.raw[size:] == b"\x5a" * 8


@given(block=BLOCKS, **HELD)
def test_walk_gives_the_longest_runs_in_order(data, gap, at_end, block):
    at = told(data, gap, at_end)
    walk, extent, got = Walk(), Extent(), []
    walk_init(walk, at, len(data), block)
    while walk_next(walk, extent):
        got.append((extent.offset, extent.length, extent.zero))
        assert len(got) <= len(data)
    assert got == list(model_walk(data, block))
    assert not walk_next(walk, extent)


def test_an_empty_buffer_may_be_null():
    assert is_zero(None, 0) and is_zero_long(None, 0)
    assert find(None, 0) == rfind(None, 0) == 0
    walk, extent = Walk(), Extent()
    walk_init(walk, None, 0, 4096)
    assert not walk_next(walk, extent)
    bitmap = ctypes.create_string_buffer(b"\x5a", 1)
    assert zero_map(None, 0, 4096, bitmap) == 0
    assert bitmap.raw == b"\x5a"
