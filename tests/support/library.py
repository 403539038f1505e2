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


def words(values, room=None):
    """An array of pointers with these values, and room for more."""
    values = list(values)
    return (VOID * (len(values) if room is None else room))(*values)


def numbers(array, count):
    """The first pointers of an array as numbers; NULL is 0."""
    return [value or 0 for value in array[:count]]
