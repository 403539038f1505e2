# SPDX-License-Identifier: BSD-3-Clause
"""hone/stream.h and hone/read_file.h for ctypes."""
import ctypes

from library import SIZE, VOID, declare

INT, INT64, SSIZE = ctypes.c_int, ctypes.c_int64, ctypes.c_ssize_t
POINTER = ctypes.POINTER(VOID)
EXACT, NONBLOCK = 1, 4
BATCH_PLAIN, BATCH_URING = 1, 2
SIZE_MAX = (1 << 8 * ctypes.sizeof(SIZE)) - 1
READ = ctypes.CFUNCTYPE(SSIZE, VOID, VOID, SIZE)
SEEK = ctypes.CFUNCTYPE(INT64, VOID, INT64, INT)
CLOSE = ctypes.CFUNCTYPE(INT, VOID)
MARGIN = b"\xa5" * 8  # after the bytes that a read may write


class Attr(ctypes.Structure):
    """struct hone_stream_attr"""
    _fields_ = [("buffer_size", SIZE), ("bypass_size", SIZE),
                ("flags", ctypes.c_uint), ("reserved", VOID * 4)]


class Ops(ctypes.Structure):
    """struct hone_stream_ops"""
    _fields_ = [("read", READ), ("seek", SEEK), ("close", CLOSE),
                ("reserved", VOID * 4)]


class FileData(ctypes.Structure):
    """struct hone_file_data"""
    _fields_ = [("data", VOID), ("size", SIZE)]


class Used(ctypes.Structure):
    """struct hone_batch_used"""
    _fields_ = [("uring", SIZE), ("plain", SIZE), ("reserved", SIZE * 2)]


class BatchAttr(ctypes.Structure):
    """struct hone_batch_attr"""
    _fields_ = [("depth", ctypes.c_uint), ("threads", ctypes.c_uint),
                ("flags", ctypes.c_uint), ("memory", SIZE),
                ("used", ctypes.POINTER(Used)), ("reserved", VOID * 4)]


DONE = ctypes.CFUNCTYPE(INT, SIZE, INT, ctypes.POINTER(FileData), VOID)

open_fd = declare("hone_stream_open_fd", INT, POINTER, INT, VOID)
open_memory = declare("hone_stream_open_memory", INT, POINTER, VOID, SIZE, VOID)
open_ops = declare("hone_stream_open_ops", INT, POINTER, VOID, VOID, VOID)
close = declare("hone_stream_close", INT, VOID)
read = declare("hone_stream_read", SSIZE, VOID, VOID, SIZE)
read_some = declare("hone_stream_read_some", SSIZE, VOID, VOID, SIZE)
peek = declare("hone_stream_peek", SSIZE, VOID, POINTER, SIZE)
take = declare("hone_stream_take", None, VOID, SIZE)
read_line = declare("hone_stream_read_line", SSIZE, VOID, POINTER, INT, SIZE)
skip = declare("hone_stream_skip", INT64, VOID, ctypes.c_uint64)
seek = declare("hone_stream_seek", INT64, VOID, INT64, INT)
tell = declare("hone_stream_tell", INT64, VOID)
eof = declare("hone_stream_eof", ctypes.c_bool, VOID)
clear_eof = declare("hone_stream_clear_eof", None, VOID)
set_buffer = declare("hone_stream_set_buffer", INT, VOID, SIZE, SIZE)
set_deadline = declare("hone_stream_set_deadline", None, VOID, INT64)
read_file = declare("hone_read_file", INT, ctypes.POINTER(FileData),
                    ctypes.c_char_p, VOID)
read_files = declare("hone_read_files", INT, VOID, SIZE, VOID, DONE, VOID, VOID)
batch_attr_init = declare("hone_batch_attr_init", None, ctypes.POINTER(BatchAttr))


class Stream:
    """A stream whose answers are bytes, or else numbers."""

    def __init__(self, opener, *where, buffer_size, bypass_size, flags=0):
        self.attr = Attr(buffer_size, bypass_size, flags)
        handle = VOID()
        assert opener(handle, *where, ctypes.byref(self.attr)) == 0
        self.handle = handle.value

    def _into(self, function, n):
        buf = ctypes.create_string_buffer(n + len(MARGIN))
        ctypes.memset(buf, MARGIN[0], len(buf))
        got = function(self.handle, buf, n)
        assert got <= n and buf.raw[n:] == MARGIN
        return buf.raw[:got] if got >= 0 else got

    def read(self, n):
        return self._into(read, n)

    def read_some(self, n):
        return self._into(read_some, n)

    def peek(self, n):
        data = VOID()
        got = peek(self.handle, data, n)
        return ctypes.string_at(data, got) if got >= 0 else got

    def take(self, n):
        take(self.handle, n)

    def read_line(self, delimiter, most):
        line = VOID()
        got = read_line(self.handle, line, delimiter, most)
        return ctypes.string_at(line, got) if got > 0 else got or b""

    def skip(self, n):
        return skip(self.handle, n)

    def seek(self, offset, whence):
        return seek(self.handle, offset, whence)

    def tell(self):
        return tell(self.handle)

    def eof(self):
        return eof(self.handle)

    def clear_eof(self):
        clear_eof(self.handle)

    def set_buffer(self, buffer_size, bypass_size):
        assert set_buffer(self.handle, buffer_size, bypass_size) == 0

    def close(self):
        handle, self.handle = self.handle, None
        return close(handle)
