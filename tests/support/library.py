# SPDX-License-Identifier: BSD-3-Clause
"""The installed libhone, named by HONE_LIB, for tests that call it."""
import ctypes
import os

if "HONE_LIB" not in os.environ:
    raise RuntimeError("set HONE_LIB to the path of libhone.so")

LIB = ctypes.CDLL(os.environ["HONE_LIB"])
SIZE, VOID = ctypes.c_size_t, ctypes.c_void_p


def declare(name, result, *arguments):
    """Give one function of the library its types."""
    function = getattr(LIB, name)
    function.restype, function.argtypes = result, arguments
    return function
