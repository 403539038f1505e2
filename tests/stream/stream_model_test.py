# SPDX-License-Identifier: BSD-3-Clause
"""Streams of the installed libhone, in both modes, with any order of operations
and all sizes. A stream over a file must return the same as libc's stdio. A
stream over a source must make the same calls as a model of the header."""
import ctypes
import errno
import os
import tempfile

from hypothesis import settings, strategies as st
from hypothesis.stateful import (RuleBasedStateMachine, initialize, invariant,
                                 precondition, rule)

import stream_calls as calls
from stream_model import Model, Source
from stream_stdio import Stdio

BUFFERS = st.one_of(st.integers(1, 9), st.integers(1, 300),
                    st.sampled_from((4096, 65536)))
BYPASSES = st.one_of(st.integers(0, 300),
                     st.sampled_from((32768, calls.SIZE_MAX)))
COUNTS = st.one_of(st.integers(0, 20), st.integers(0, 700),
                   st.sampled_from((5000, 70000)))
SKIPS = st.one_of(COUNTS, st.just((1 << 63) - 1))
OFFSETS = st.one_of(st.integers(-20, 20), st.integers(-700, 700),
                    st.sampled_from((-70000, 5000, 70000)))
WHENCES = st.sampled_from((os.SEEK_SET, os.SEEK_CUR, os.SEEK_END))
DELIMITERS = st.sampled_from(b"\n\0a\xff")
LONGEST = st.one_of(st.integers(1, 40), st.integers(1, 5000),
                    st.just(calls.SIZE_MAX))
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


class Mixes(RuleBasedStateMachine):
    """Sequences of calls that chance seldom makes."""

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


class Files(Mixes):
    """One file twice: read by a stream and by stdio."""

    @initialize(pieces=PIECES, buffer_size=BUFFERS, bypass_size=BYPASSES,
                exact=st.booleans(), memory=st.booleans(),
                start=st.integers(0, 300))
    def make(self, pieces, buffer_size, bypass_size, exact, memory, start):
        content = content_of(pieces)
        self.size = len(content)
        self.file = tempfile.NamedTemporaryFile(buffering=0)
        self.file.write(content)
        self.stdio, self.memory = Stdio(self.file.name), None
        flags = calls.EXACT if exact else 0
        if memory:
            self.memory = ctypes.create_string_buffer(content, self.size)
            opener, where = calls.open_memory, (self.memory, self.size)
        else:
            fd = os.open(self.file.name, os.O_RDONLY)
            start = min(start, self.size)
            os.lseek(fd, start, os.SEEK_SET)
            self.stdio.seek(start, os.SEEK_SET)
            opener, where, flags = calls.open_fd, (fd,), flags | calls.CLOSE_FD
        self.stream = calls.Stream(opener, *where, buffer_size=buffer_size,
                                   bypass_size=bypass_size, flags=flags)

    @rule(n=COUNTS)
    def read(self, n):
        assert self.stream.read(n) == self.stdio.read(n)

    @rule(n=COUNTS)
    def read_some(self, n):
        got = self.stream.read_some(n)
        assert got == self.stdio.read(len(got) or n)

    @rule(n=COUNTS, share=st.floats(0, 1))
    def peek_and_take(self, n, share):
        got = self.stream.peek(n)
        rest = self.stdio.read(max(n, len(got)))
        assert got == rest
        some = int(len(got) * share)
        self.stream.take(some)
        self.stdio.back(len(rest) - some)

    @rule(delimiter=DELIMITERS, most=LONGEST, times=st.integers(1, 9))
    def read_lines(self, delimiter, most, times):
        for _ in range(times):
            line = self.stdio.read_line(delimiter)
            got = self.stream.read_line(delimiter, most)
            if len(line) > most:
                assert got == -errno.EMSGSIZE
                self.stdio.back(len(line))
                return
            assert got == line

    @rule(n=SKIPS)
    def skip(self, n):
        skipped = self.stream.skip(n)
        assert skipped == len(self.stdio.read(min(n, self.size + 1)))

    @rule(offset=OFFSETS, whence=WHENCES)
    def seek(self, offset, whence):
        before = self.stdio.tell()
        got = self.stream.seek(offset, whence)
        want = self.stdio.seek(offset, whence)
        if self.memory is not None and want > self.size:
            # The one difference between memory and a file.
            want = -errno.EINVAL
            self.stdio.seek(before, os.SEEK_SET)
        assert got == want

    @rule()
    def tell(self):
        assert self.stream.tell() == self.stdio.tell()

    @rule()
    def at_end(self):
        """True is a promise; false promises nothing."""
        if self.stream.eof():
            assert self.stdio.read(1) == b""

    @rule(buffer_size=BUFFERS, bypass_size=BYPASSES)
    def set_buffer(self, buffer_size, bypass_size):
        self.stream.set_buffer(buffer_size, bypass_size)

    @precondition(lambda self: self.memory is None)
    @rule(pieces=PIECES)
    def grow(self, pieces):
        """Another process writes to the file; both must look again."""
        self.size += self.file.write(content_of(pieces))
        self.stream.clear_eof()
        self.stdio.clear_eof()

    def teardown(self):
        if not hasattr(self, "stream"):
            return
        self.stream.clear_eof()
        self.stdio.clear_eof()
        rest = self.stream.read(self.size + 1)
        assert rest == self.stdio.read(self.size + 1)
        assert self.stream.eof() or len(rest) == self.size + 1
        assert self.stream.close() == 0
        self.stdio.close()
        self.file.close()


class Promise(Mixes):
    """A stream and its model, each over a source with the same answers."""

    @initialize(pieces=PIECES, seed=SEEDS, buffer_size=BUFFERS,
                bypass_size=BYPASSES, exact=st.booleans(),
                faults=st.sampled_from((0, 0, 0.1, 0.5)),
                seeks=st.sampled_from(("can", "cannot", "has none")))
    def make(self, pieces, seed, buffer_size, bypass_size, exact, faults,
             seeks):
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
        self.model = Model(self.model_seen, has_seek, buffer_size,
                           bypass_size, exact)

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


TestFiles, TestPromise = Files.TestCase, Promise.TestCase
TestFiles.settings = TestPromise.settings = STEPS
