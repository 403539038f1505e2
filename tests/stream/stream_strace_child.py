# SPDX-License-Identifier: BSD-3-Clause
"""Run under strace by stream_strace_test.py and by tests/counts: prepare a case, mark
the trace, call the library, mark it again, and print the answer as JSON.

stream_strace_child.py CASE DIRECTORY
"""
import ctypes
import hashlib
import json
import os
import socket
import sys

if "HONE_LIB" not in os.environ:
    raise RuntimeError("set HONE_LIB to the path of libhone.so")

LIB = ctypes.CDLL(os.environ["HONE_LIB"])
SIZE, VOID = ctypes.c_size_t, ctypes.c_void_p
INT, SSIZE = ctypes.c_int, ctypes.c_ssize_t
POINTER = ctypes.POINTER(VOID)
SIZE_MAX = (1 << 8 * ctypes.sizeof(SIZE)) - 1
BATCH_PLAIN, BATCH_URING = 1, 2

LARGE = 700 << 10
REPLY = 8 << 10
LINE = b"x" * 79 + b"\n"
LINES = 1 << 20
FILES = 300
ROOM = ctypes.create_string_buffer(LARGE)


class Attr(ctypes.Structure):
    """struct hone_stream_attr"""
    _fields_ = [("buffer_size", SIZE), ("bypass_size", SIZE),
                ("flags", ctypes.c_uint), ("reserved", VOID * 4)]


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


def content(size):
    return bytes(i * 7 % 251 for i in range(4096)) * (size // 4096) + b"z" * (
        size % 4096)


def digest(data):
    return hashlib.sha256(data).hexdigest()


def written(directory, name, data):
    path = os.path.join(directory, name)
    if not os.path.exists(path):
        with open(path, "wb") as file:
            file.write(data)
    return path


def stream(fd):
    """The handle of a stream."""
    handle = VOID()
    attr = Attr(1 << 16, 1 << 15)
    assert open_fd(handle, fd, ctypes.byref(attr)) == 0
    return handle


def whole(directory, size):
    """A file by hone_read_file()."""
    path = os.fsencode(written(directory, "whole", content(size)))

    def run():
        file = FileData()
        answer = read_file(ctypes.byref(file), path, None)
        if answer < 0:
            return answer
        return digest(ctypes.string_at(file.data, file.size))
    return run


def large_read(directory):
    """A file in one read of its size, and another that sees its end."""
    fd = os.open(written(directory, "large", content(LARGE)), os.O_RDONLY)
    reader = stream(fd)

    def run():
        got = read(reader, ROOM, LARGE)
        return digest(ROOM.raw[:got]) if got >= 0 else got
    return run


def lines(directory):
    """Every line of 1 MiB of lines: their number, or an error."""
    path = written(directory, "lines", (LINE * (LINES // 80 + 1))[:LINES])
    reader = stream(os.open(path, os.O_RDONLY))

    def run():
        count, line = 0, VOID()
        while True:
            got = read_line(reader, line, 10, SIZE_MAX)
            if got <= 0:
                return count if got == 0 else got
            assert got == len(LINE) or count == LINES // len(LINE)
            count += 1
    return run


def reply(_):
    """What a peer has sent already."""
    ours, theirs = socket.socketpair()
    theirs.sendall(content(REPLY))
    reader = stream(ours.fileno())
    reader.keep = ours, theirs
    set_deadline(reader, 0)

    def run():
        got = read(reader, ROOM, REPLY)
        return digest(ROOM.raw[:got]) if got >= 0 else got
    return run


def batch(directory, flags):
    """Many small files, each with other bytes."""
    paths = [os.fsencode(written(directory, f"{i}", b"%d\n" % i * i))
             for i in range(FILES)]
    array = (ctypes.c_char_p * FILES)(*paths)
    right, errors = [0], []
    used = Used()
    attr = BatchAttr()
    batch_attr_init(attr)
    attr.flags, attr.used = flags, ctypes.pointer(used)

    @DONE
    def done(index, error, file, _):
        if error:
            errors.append(error)
        else:
            data = ctypes.string_at(file[0].data, file[0].size)
            right[0] += data == b"%d\n" % index * index
        return 0

    def run():
        answer = read_files(array, FILES, None, done, None, ctypes.byref(attr))
        return [answer, right[0], errors, used.uring, used.plain]
    return run


CASES = {
    "12 bytes": lambda d: whole(d, 12),
    "700 KiB": lambda d: whole(d, LARGE),
    "large read": large_read,
    "lines": lines,
    "reply": reply,
    "batch": lambda d: batch(d, 0),
    "io_uring batch": lambda d: batch(d, BATCH_URING),
    "plain batch": lambda d: batch(d, BATCH_PLAIN),
}


def main():
    run = CASES[sys.argv[1]](sys.argv[2])
    os.getsid(0)
    first = run()
    os.getsid(0)
    print(json.dumps(first))


if __name__ == "__main__":
    main()
