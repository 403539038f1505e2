# SPDX-License-Identifier: BSD-3-Clause
"""The promise of hone/stream.h, word by word: a stream of Python's bytes that
makes the calls of its source that the header states, and no others."""
import errno
import os
import random

ASK_MAX = 0x7FFFF000
STEP_MAX = 16 << 20
POSITION_MAX = (1 << 63) - 1
ERRNO_MAX = 4095
PASSING = (-errno.EAGAIN, -errno.ETIMEDOUT)


class Source:
    """Content, and answers from a seed: two sources that see the same calls
    return the same. Records the calls."""

    def __init__(self, content, seed, faults, can_seek):
        self.content, self.faults, self.can_seek = content, faults, can_seek
        self.random, self.position, self.log = random.Random(seed), 0, []

    def fault(self, *which):
        return self.random.random() < self.faults and self.random.choice(which)

    def read(self, n):
        """Bytes, or a number, also one that no source may return."""
        self.log.append(("read", n))
        wrong = self.fault(-errno.EINTR, -errno.EIO, -errno.EAGAIN,
                           -errno.ETIMEDOUT, -ERRNO_MAX - 1, n + 1)
        if wrong:
            return wrong
        if self.random.random() < self.faults:
            n = self.random.randint(1, n)
        got = self.content[self.position:self.position + n]
        self.position += len(got)
        return got

    def seek(self, offset, whence):
        self.log.append(("seek", offset, whence))
        wrong = self.fault(-errno.EIO, -errno.EINTR, -ERRNO_MAX - 1)
        if wrong:
            return wrong
        if not self.can_seek:
            return -errno.ESPIPE
        to = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self.position,
                       os.SEEK_END: len(self.content)}[whence]
        if to < 0:
            return -errno.EINVAL
        self.position = to
        return to


class Model:
    """A stream upon a source, with has_seek if that has such a function."""

    def __init__(self, source, has_seek, buffer_size, bypass_size, exact):
        self.source, self.seekable, self.exact = source, has_seek, exact
        self.buffer_size, self.bypass_size = buffer_size, bypass_size
        self.taken = self.ready = b""  # what the buffer holds
        self.ended = self.known = False
        self.offset = self.error = 0  # offset: after the ready bytes

    def ask(self, n):
        """Bytes of the source, or a negative errno; b"" at the end."""
        if self.error:
            error, self.error = self.error, 0
            return error
        if self.ended and not self.exact:
            return b""
        self.taken = b""
        got = -errno.EINTR
        while got == -errno.EINTR:
            got = self.source.read(min(n, ASK_MAX))
        if isinstance(got, int):
            return got if -ERRNO_MAX <= got < 0 else -errno.EIO
        self.ended = not got
        self.offset += len(got)
        return got

    def fill(self, wanted):
        """Read until so many bytes are ready."""
        n = max(min(wanted - len(self.ready), STEP_MAX), self.buffer_size)
        got = self.ask(self.buffer_size if self.exact else n)
        if isinstance(got, bytes):
            self.ready += got
        return got

    def give(self, n):
        given, self.ready = self.ready[:n], self.ready[n:]
        self.taken += given
        return given

    def settle(self, done, answer):
        """An error after some progress is kept for the next call."""
        if not isinstance(answer, int):
            return done
        if not done:
            return answer
        if answer not in PASSING:
            self.error = answer
        return done

    def read_once(self, n):
        if n >= self.bypass_size and not self.exact:
            return self.ask(n)
        got = self.fill(0)
        return self.give(n) if isinstance(got, bytes) else got

    def read(self, n):
        done = self.give(n)
        while len(done) < n:
            got = self.read_once(n - len(done))
            if not got or isinstance(got, int):
                return self.settle(done, got)
            done += got
        return done

    def read_some(self, n):
        if n == 0 or self.ready:
            return self.give(n)
        return self.read_once(n)

    def peek(self, n):
        while len(self.ready) < n:
            got = self.fill(n)
            if isinstance(got, int):
                return got
            if not got:
                break
        return self.ready

    take = give

    def read_line(self, delimiter, most):
        while True:
            end = self.ready[:most].find(delimiter) + 1
            if end:
                return self.give(end)
            n = len(self.ready)
            if n > most:
                return -errno.EMSGSIZE
            got = self.fill(n + min(n, most + 1 - n))
            if isinstance(got, int):
                return got
            if not got:
                return self.give(n)

    def seek_source(self, offset, whence):
        position = self.source.seek(offset, whence)
        return -errno.EIO if position < -ERRNO_MAX else position

    def learn(self):
        if self.known or not self.seekable:
            return 0
        position = self.seek_source(0, os.SEEK_CUR)
        if position == -errno.ESPIPE:
            self.seekable = False
            return 0
        if position < 0:
            return position
        self.known, self.offset = True, position
        return 0

    def tell(self):
        return self.learn() or self.offset - len(self.ready)

    def arrive(self, position):
        self.taken = self.ready = b""
        self.ended, self.known, self.error = False, True, 0
        self.offset = position
        return position

    def in_buffer(self, position):
        """Move within the buffer, or to its end, without a call."""
        held = self.taken + self.ready
        at = position - (self.offset - len(held))
        if self.exact or not 0 <= at <= len(held):
            return False
        self.taken, self.ready = held[:at], held[at:]
        self.ended, self.error = False, 0
        return True

    def seek(self, offset, whence):
        held = self.taken or self.ready
        if whence != os.SEEK_END and not self.exact and held:
            error = self.learn()
            if error:
                return error
        if not self.seekable:
            return -errno.ESPIPE
        if whence == os.SEEK_SET or (whence == os.SEEK_CUR and self.known):
            position = offset
            if whence == os.SEEK_CUR:
                position += self.offset - len(self.ready)
            if position < 0:
                return -errno.EINVAL
            if position > POSITION_MAX:
                return -errno.EOVERFLOW
            if self.known and self.in_buffer(position):
                return position
        if whence == os.SEEK_CUR:
            offset -= len(self.ready)
        position = self.seek_source(offset, whence)
        return position if position < 0 else self.arrive(position)

    def skip_by_seek(self, n):
        """Bytes skipped; 0 if this method does not apply; or a negative errno."""
        error = self.learn()
        if error or not self.seekable:
            return error
        start = self.offset
        end = self.seek_source(0, os.SEEK_END)
        if end < 0:
            return 0
        to = self.seek_source(min(start + n, end) if end > start else start,
                              os.SEEK_SET)
        self.arrive(end if to < 0 else to)
        return to if to < 0 else to - start

    def skip(self, n):
        may_seek = self.seekable and not self.exact
        done = len(self.give(n))
        while done < n:
            got = 0
            if (may_seek and n - done >= self.buffer_size and not self.error
                    and not self.ended):
                got = self.skip_by_seek(n - done)
            may_seek = False
            if got == 0:
                got = self.fill(0)
                if isinstance(got, bytes):
                    got = len(self.give(n - done))
            if got <= 0:
                return self.settle(done, got)
            done += got
        return done

    def eof(self):
        return self.ended and not self.ready

    def clear_eof(self):
        self.ended = False

    def set_buffer(self, buffer_size, bypass_size):
        self.buffer_size, self.bypass_size = buffer_size, bypass_size
        if not self.ready:
            self.taken = b""
