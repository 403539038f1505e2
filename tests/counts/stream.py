# SPDX-License-Identifier: BSD-3-Clause
"""Run under strace by counts.py: prepare a case, mark the trace, call the installed
library, mark it again, and look whether the answer is right.

stream.py CASE DIRECTORY
"""
import ctypes
import os
import socket
import sys

LIB = ctypes.CDLL(os.environ["HONE_LIB"])
SIZE, VOID = ctypes.c_size_t, ctypes.c_void_p
INT, SSIZE = ctypes.c_int, ctypes.c_ssize_t
POINTER = ctypes.POINTER(VOID)
SIZE_MAX = (1 << 8 * ctypes.sizeof(SIZE)) - 1
BATCH_PLAIN = 1

LARGE = 700 << 10
REPLY = 8 << 10
# Lines of which some cross the end of the buffer, and a part of one.
TEXT = ((b"x" * 79 + b"\n") * 13108)[:1 << 20]
FILES = 300
ROOM = ctypes.create_string_buffer(LARGE)


class Attr(ctypes.Structure):
    """struct hone_stream_attr"""
    _fields_ = [("buffer_size", SIZE), ("bypass_size", SIZE),
                ("flags", ctypes.c_uint), ("reserved", VOID * 4)]


class FileData(ctypes.Structure):
    """struct hone_file_data"""
    _fields_ = [("data", VOID), ("size", SIZE)]


class BatchAttr(ctypes.Structure):
    """struct hone_batch_attr"""
    _fields_ = [("depth", ctypes.c_uint), ("threads", ctypes.c_uint),
                ("flags", ctypes.c_uint), ("memory", SIZE), ("used", VOID),
                ("reserved", VOID * 4)]


DONE = ctypes.CFUNCTYPE(INT, SIZE, INT, ctypes.POINTER(FileData), VOID)


def declare(name, result, *arguments):
    """Give one function of the library its types."""
    function = getattr(LIB, name)
    function.restype, function.argtypes = result, arguments
    return function


open_fd = declare("hone_stream_open_fd", INT, POINTER, INT, VOID)
read = declare("hone_stream_read", SSIZE, VOID, VOID, SIZE)
read_line = declare("hone_stream_read_line", SSIZE, VOID, POINTER, INT, SIZE)
set_deadline = declare("hone_stream_set_deadline", None, VOID, ctypes.c_int64)
read_file = declare("hone_read_file", INT, ctypes.POINTER(FileData),
                    ctypes.c_char_p, VOID)
read_files = declare("hone_read_files", INT, VOID, SIZE, VOID, DONE, VOID, VOID)
batch_attr_init = declare("hone_batch_attr_init", None, ctypes.POINTER(BatchAttr))


def written(directory, name, data):
    path = os.path.join(directory, name)
    with open(path, "wb") as file:
        file.write(data)
    return os.fsencode(path)


def stream(fd):
    """The handle of a stream."""
    handle = VOID()
    assert open_fd(handle, fd, ctypes.byref(Attr(1 << 16, 1 << 15))) == 0
    return handle


def all_by_read(reader, data):
    """One read of all data."""
    return lambda: read(reader, ROOM, len(data)) == len(data) and ROOM.raw.startswith(data)


def whole(directory, size):
    """A file by hone_read_file()."""
    data = os.urandom(size)
    path = written(directory, "whole", data)

    def run():
        file = FileData()
        return (read_file(ctypes.byref(file), path, None) == 0
                and ctypes.string_at(file.data, file.size) == data)
    return run


def large_read(directory):
    data = os.urandom(LARGE)
    return all_by_read(stream(os.open(written(directory, "large", data), os.O_RDONLY)), data)


def lines(directory):
    path = written(directory, "lines", TEXT)
    reader = stream(os.open(path, os.O_RDONLY))

    def run():
        lengths, line = [], VOID()
        while (got := read_line(reader, line, 10, SIZE_MAX)) > 0:
            lengths.append(got)
        return got == 0 and lengths == [len(each) for each in TEXT.splitlines(True)]
    return run


def reply(_):
    """What a peer has sent already."""
    ours, theirs = socket.socketpair()
    data = os.urandom(REPLY)
    theirs.sendall(data)
    reader = stream(ours.fileno())
    reader.keep = ours, theirs
    set_deadline(reader, 0)
    return all_by_read(reader, data)


def batch(directory):
    """Many small files by plain calls, each with other bytes."""
    paths = [written(directory, f"{i}", b"%d\n" % i * i) for i in range(FILES)]
    array = (ctypes.c_char_p * FILES)(*paths)
    attr = BatchAttr()
    batch_attr_init(attr)
    attr.flags = BATCH_PLAIN
    right = [0]

    @DONE
    def done(index, error, file, _):
        data = b"" if error else ctypes.string_at(file[0].data, file[0].size)
        right[0] += data == b"%d\n" % index * index
        return error

    return lambda: (read_files(array, FILES, None, done, None, ctypes.byref(attr)) == 0
                    and right[0] == FILES)


CASES = {
    "12 bytes": lambda directory: whole(directory, 12),
    "700 KiB": lambda directory: whole(directory, LARGE),
    "large read": large_read,
    "lines": lines,
    "reply": reply,
    "plain batch": batch,
}


def main():
    run = CASES[sys.argv[1]](sys.argv[2])
    os.getsid(0)
    good = run()
    os.getsid(0)
    if not good:
        sys.exit(f"{sys.argv[1]}: another answer")


if __name__ == "__main__":
    main()
