# SPDX-License-Identifier: BSD-3-Clause
"""Run under strace by stream_strace_test.py: prepare a case, mark the trace,
call the library, mark it again, and print the answers as JSON.

stream_strace_child.py CASE DIRECTORY
"""
import ctypes
import hashlib
import json
import os
import socket
import sys

import stream_calls as calls

LARGE = 700 << 10
REPLY = 8 << 10
LINE = b"x" * 79 + b"\n"
LINES = 1 << 20
FILES = 300
ROOM = ctypes.create_string_buffer(LARGE)


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


def stream(opener, *where, **attributes):
    return calls.Stream(opener, *where, buffer_size=1 << 16,
                        bypass_size=1 << 15, **attributes)


def whole(directory, size):
    """A file by hone_read_file()."""
    path = os.fsencode(written(directory, "whole", content(size)))

    def run():
        file = calls.FileData()
        answer = calls.read_file(ctypes.byref(file), path, None)
        if answer < 0:
            return answer
        return digest(ctypes.string_at(file.data, file.size))
    return run


def large_read(directory):
    """A file in one read of its size, and another that sees its end."""
    fd = os.open(written(directory, "large", content(LARGE)), os.O_RDONLY)
    reader = stream(calls.open_fd, fd).handle

    def run():
        got = calls.read(reader, ROOM, LARGE)
        return digest(ROOM.raw[:got]) if got >= 0 else got
    return run


def lines(opened):
    """Every line of 1 MiB of lines: their number, or an error."""
    count = 0

    def run():
        nonlocal count
        line = calls.VOID()
        while True:
            got = calls.read_line(opened.handle, line, 10, calls.SIZE_MAX)
            if got <= 0:
                return count if got == 0 else got
            assert got == len(LINE) or count == LINES // len(LINE)
            count += 1
    return run


def file_lines(directory):
    path = written(directory, "lines", (LINE * (LINES // 80 + 1))[:LINES])
    return lines(stream(calls.open_fd, os.open(path, os.O_RDONLY)))


def memory_lines(_):
    data = ctypes.create_string_buffer((LINE * (LINES // 80 + 1))[:LINES])
    opened = stream(calls.open_memory, data, LINES)
    opened.keep = data
    return lines(opened)


def reply(_, sent=REPLY, flags=0):
    """What a peer has sent already."""
    ours, theirs = socket.socketpair()
    theirs.sendall(content(sent))
    reader = stream(calls.open_fd, ours.fileno(), flags=flags)
    reader.keep = ours, theirs
    calls.set_deadline(reader.handle, 0)

    def run():
        got = calls.read(reader.handle, ROOM, REPLY)
        return digest(ROOM.raw[:got]) if got >= 0 else got
    return run


def batch(directory, flags):
    """Many small files, each with other bytes."""
    paths = [os.fsencode(written(directory, f"{i}", b"%d\n" % i * i))
             for i in range(FILES)]
    array = (ctypes.c_char_p * FILES)(*paths)
    right, errors = [0], []
    used = calls.Used()
    attr = calls.BatchAttr()
    calls.batch_attr_init(attr)
    attr.flags, attr.used = flags, ctypes.pointer(used)

    @calls.DONE
    def done(index, error, file, _):
        if error:
            errors.append(error)
        else:
            data = ctypes.string_at(file[0].data, file[0].size)
            right[0] += data == b"%d\n" % index * index
        return 0

    def run():
        answer = calls.read_files(array, FILES, None, done, None, ctypes.byref(attr))
        return [answer, right[0], errors, used.uring, used.plain]
    return run


CASES = {
    "empty file": lambda d: whole(d, 0),
    "12 bytes": lambda d: whole(d, 12),
    "4 KiB": lambda d: whole(d, 4096),
    "700 KiB": lambda d: whole(d, LARGE),
    "10 MB": lambda d: whole(d, 10000000),
    "large read": large_read,
    "lines": file_lines,
    "lines of memory": memory_lines,
    "reply": reply,
    "no reply": lambda d: reply(d, sent=0),
    "no reply, no waiting": lambda d: reply(d, sent=0, flags=calls.NONBLOCK),
    "batch": lambda d: batch(d, 0),
    "io_uring batch": lambda d: batch(d, calls.BATCH_URING),
    "plain batch": lambda d: batch(d, calls.BATCH_PLAIN),
}


def main():
    run = CASES[sys.argv[1]](sys.argv[2])
    os.getsid(0)
    first = run()
    os.getsid(0)
    # After an error, the repeated call must return the missing bytes.
    again = run() if isinstance(first, int) and first < 0 else None
    print(json.dumps([first, again]))


if __name__ == "__main__":
    main()
