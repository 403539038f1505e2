# SPDX-License-Identifier: BSD-3-Clause
"""The command where the kernel or the file system lacks something.

A seccomp filter makes the calls fail, so that signals and the sanitizers work
as ever.
"""
import ctypes
import errno
import platform
import struct

NUMBERS = {
    "x86_64": {"openat": 257, "renameat2": 316, "link": 86, "linkat": 265,
               "fchown": 93, "preadv2": 327, "pwritev2": 328},
    "aarch64": {"openat": 56, "renameat2": 276, "linkat": 37, "fchown": 55,
                "preadv2": 286, "pwritev2": 287},
}
TMPFILE = 0o20000000
LOAD, JUMP_EQUAL, JUMP_SET, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, FAIL = 0x7fff0000, 0x00050000
NO_NEW_PRIVS, SECCOMP, FILTER = 38, 22, 2


def step(code, value, yes=0, no=0):
    """One struct sock_filter."""
    return struct.pack("HBBI", code, yes, no, value)


def rule(name, error, argument=None, bits=0):
    """The call fails so; only with one of these bits if there are any."""
    number = NUMBERS[platform.machine()].get(name)
    if number is None:
        return b""
    test = b"" if argument is None else (
        step(LOAD, 16 + 8 * argument) + step(JUMP_SET, bits, 0, 1))
    test += step(RETURN, FAIL | getattr(errno, error))
    return (step(LOAD, 0) + step(JUMP_EQUAL, number, 0, len(test) // 8) + test)


NO_TMPFILE = rule("openat", "EOPNOTSUPP", 2, TMPFILE)


class Without:
    """Runs `hone` with calls that fail."""

    def __init__(self, hone, *rules):
        self.hone = hone
        self.code = b"".join(rules) + step(RETURN, ALLOW)

    def confine(self):
        """In the child, before the command begins."""
        libc = ctypes.CDLL(None, use_errno=True)
        code = ctypes.create_string_buffer(self.code)
        program = struct.pack("HP", len(self.code) // 8, ctypes.addressof(code))
        if (libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) or
                libc.prctl(SECCOMP, FILTER, program, 0, 0)):
            raise OSError(ctypes.get_errno(), "seccomp")

    def start(self, *args, **kwargs):
        """As Hone.start()."""
        return self.hone.start(*args, preexec_fn=self.confine, **kwargs)

    def __getattr__(self, name):
        """As the method of Hone with that name."""
        method = getattr(self.hone, name)
        return lambda *args, **kwargs: method(*args, preexec_fn=self.confine, **kwargs)
