# SPDX-License-Identifier: BSD-3-Clause
"""libc's stdio, to compare with: a FILE whose answers are bytes, or else
numbers."""
import ctypes
import os

from library import SIZE, VOID

LIBC = ctypes.CDLL(None, use_errno=True)
INT, OFFSET, SSIZE = ctypes.c_int, ctypes.c_int64, ctypes.c_ssize_t


def declare(name, result, *arguments):
    function = getattr(LIBC, name)
    function.restype, function.argtypes = result, arguments
    return function


fopen = declare("fopen", VOID, ctypes.c_char_p, ctypes.c_char_p)
fclose = declare("fclose", INT, VOID)
fread = declare("fread", SIZE, VOID, SIZE, SIZE, VOID)
getdelim = declare("getdelim", SSIZE, ctypes.POINTER(VOID),
                   ctypes.POINTER(SIZE), INT, VOID)
fseeko = declare("fseeko64", INT, VOID, OFFSET, INT)
ftello = declare("ftello64", OFFSET, VOID)
clearerr = declare("clearerr", None, VOID)
ferror = declare("ferror", INT, VOID)
free = declare("free", None, VOID)


class Stdio:
    """A file that is open for reading."""

    def __init__(self, path):
        self.file = fopen(os.fsencode(path), b"r")
        assert self.file

    def read(self, n):
        buf = ctypes.create_string_buffer(n + 1)
        got = fread(buf, 1, n, self.file)
        assert not ferror(self.file)
        return buf.raw[:got]

    def read_line(self, delimiter):
        line, room = VOID(), SIZE()
        got = getdelim(line, room, delimiter, self.file)
        assert not ferror(self.file)
        content = ctypes.string_at(line, got) if got > 0 else b""
        free(line)
        return content

    def back(self, n):
        """Put n bytes back. Forgets the end, too."""
        assert fseeko(self.file, -n, os.SEEK_CUR) == 0

    def seek(self, offset, whence):
        if fseeko(self.file, offset, whence) != 0:
            return -ctypes.get_errno()
        return self.tell()

    def tell(self):
        return ftello(self.file)

    def clear_eof(self):
        clearerr(self.file)

    def close(self):
        assert fclose(self.file) == 0
