# SPDX-License-Identifier: BSD-3-Clause
"""Streams of the installed libhone, in both modes, with any order of operations
and all sizes. A stream over a source must make the same calls as a model of the
header. stream_fuzz.c compares streams over files and memory with their bytes."""
import ctypes
import os

from hypothesis import settings, strategies as st
from hypothesis.stateful import (RuleBasedStateMachine, initialize, invariant, rule)

import stream_calls as calls
from stream_model import Model, Source

BUFFERS = st.one_of(st.integers(1, 9), st.integers(1, 300),
                    st.sampled_from((4096, 65536)))
BYPASSES = st.one_of(st.integers(0, 300), st.sampled_from((32768, calls.SIZE_MAX)))
COUNTS = st.one_of(st.integers(0, 20), st.integers(0, 700),
                   st.sampled_from((5000, 70000)))
SKIPS = st.one_of(COUNTS, st.just((1 << 63) - 1))
OFFSETS = st.one_of(st.integers(-20, 20), st.integers(-700, 700),
                    st.sampled_from((-70000, 5000, 70000)))
WHENCES = st.sampled_from((os.SEEK_SET, os.SEEK_CUR, os.SEEK_END))
DELIMITERS = st.sampled_from(b"\n\0a\xff")
LONGEST = st.one_of(st.integers(1, 40), st.integers(1, 5000), st.just(calls.SIZE_MAX))
SEEDS = st.integers(0, 1 << 32)
# Lines of many lengths, some without an end: pieces, each so many times.
PIECES = st.lists(
    st.tuples(st.sampled_from((b"\n", b"a", b"line\n", b"\0", b"\xff",
                               b"some words and no end ", b"b" * 79 + b"\n",
                               b"c" * 1000)),
              st.sampled_from((1, 1, 2, 5, 60))), min_size=2, max_size=12)
STEPS = settings(stateful_step_count=60)


def content_of(pieces):
    return b"".join(piece * times for piece, times in pieces)


class Promise(RuleBasedStateMachine):
    """A stream and its model, each over a source with the same answers."""

    @initialize(pieces=PIECES, seed=SEEDS, buffer_size=BUFFERS,
                bypass_size=BYPASSES, exact=st.booleans(),
                faults=st.sampled_from((0, 0, 0.1, 0.5)),
                seeks=st.sampled_from(("can", "cannot", "has none")))
    def make(self, pieces, seed, buffer_size, bypass_size, exact, faults, seeks):
        self.seen, self.model_seen = (
            Source(content_of(pieces), seed, faults, seeks == "can")
            for _ in range(2))
        self.size, has_seek = len(self.seen.content), seeks != "has none"
        self.ops = calls.Ops(calls.READ(self.read_of_source),
                             calls.SEEK(self.seek_of_source)
                             if has_seek else calls.SEEK(),
                             calls.CLOSE(self.close_of_source))
        self.stream = calls.Stream(
            calls.open_ops, ctypes.byref(self.ops), None,
            buffer_size=buffer_size, bypass_size=bypass_size,
            flags=calls.EXACT if exact else 0)
        self.model = Model(self.model_seen, has_seek, buffer_size, bypass_size, exact)

    def read_of_source(self, _, buf, n):
        got = self.seen.read(n)
        if isinstance(got, int):
            return got
        ctypes.memmove(buf, got, len(got))
        return len(got)

    def seek_of_source(self, _, offset, whence):
        return self.seen.seek(offset, whence)

    def close_of_source(self, _):
        self.seen.log.append("close")
        return -1

    def both(self, name, *arguments):
        got = getattr(self.stream, name)(*arguments)
        assert got == getattr(self.model, name)(*arguments)
        return got

    @rule(n=COUNTS)
    def read(self, n):
        self.both("read", n)

    @rule(n=COUNTS)
    def read_some(self, n):
        self.both("read_some", n)

    @rule(n=COUNTS, share=st.floats(0, 1))
    def peek_and_take(self, n, share):
        got = self.both("peek", n)
        if isinstance(got, bytes):
            self.stream.take(int(len(got) * share))
            self.model.take(int(len(got) * share))

    @rule(delimiter=DELIMITERS, most=LONGEST, times=st.integers(1, 9))
    def read_lines(self, delimiter, most, times):
        for _ in range(times):
            self.both("read_line", delimiter, most)

    @rule(n=SKIPS)
    def skip(self, n):
        self.both("skip", n)

    @rule(offset=OFFSETS, whence=WHENCES)
    def seek(self, offset, whence):
        self.both("seek", offset, whence)

    @rule()
    def tell(self):
        self.both("tell")

    @rule()
    def clear_eof(self):
        self.stream.clear_eof()
        self.model.clear_eof()

    @rule(buffer_size=BUFFERS, bypass_size=BYPASSES)
    def set_buffer(self, buffer_size, bypass_size):
        self.stream.set_buffer(buffer_size, bypass_size)
        self.model.set_buffer(buffer_size, bypass_size)

    # Sequences of calls that chance seldom makes.

    @rule(delimiter=DELIMITERS, other=DELIMITERS, most=st.integers(1, 40),
          n=st.integers(0, 3))
    def search_again(self, delimiter, other, most, n):
        """A line that is too long: the search goes on, or starts again."""
        self.read_lines(delimiter, most, 1)
        self.read(n)
        self.read_lines(other, 3 * most, 1)
        self.read_lines(delimiter, calls.SIZE_MAX, 2)

    @rule(n=COUNTS, then=COUNTS, back=st.integers(1, 60))
    def go_back(self, n, then, back):
        """To a place that may be in the buffer, or was there before."""
        self.read(n)
        self.peek_and_take(then, 1)
        self.seek(-back, os.SEEK_CUR)
        self.read(back)

    @rule(n=COUNTS, then=COUNTS, back=st.integers(1, 60))
    def go_back_past_it(self, n, then, back):
        self.read(n)
        self.read(then)
        self.seek(-back, os.SEEK_CUR)
        self.read(back)

    @invariant()
    def same(self):
        if not hasattr(self, "model"):
            return
        assert self.stream.eof() == self.model.eof()
        assert self.stream.peek(0) == self.model.ready
        assert self.seen.log == self.model_seen.log
        self.seen.log.clear()
        self.model_seen.log.clear()

    def teardown(self):
        if hasattr(self, "model"):
            assert self.stream.close() == -1
            assert self.seen.log == ["close"]


TestPromise = Promise.TestCase
TestPromise.settings = STEPS
