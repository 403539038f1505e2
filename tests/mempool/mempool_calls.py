# SPDX-License-Identifier: BSD-3-Clause
"""hone/mempool.h and hone/mempool_check.h for ctypes."""
import ctypes

from library import SIZE, VOID, declare

INT, UNSIGNED = ctypes.c_int, ctypes.c_uint
POINTERS = ctypes.POINTER(VOID)
CONSTRUCTOR = ctypes.CFUNCTYPE(None, VOID, SIZE, VOID)
ON_FAULT = ctypes.CFUNCTYPE(None, INT, VOID, VOID)
CACHE_MAX = 504
NO_COLOUR, DEBUG, EXACT = 4, 8, 32
(OUT, DOUBLED, FOREIGN, DOUBLE_PUT, WRITE_AFTER_PUT, OVERRUN, NO_MAGAZINE) = range(1, 8)


class Attr(ctypes.Structure):
    """struct hone_mempool_attr"""
    _fields_ = [("object_size", SIZE), ("alignment", SIZE), ("capacity", SIZE),
                ("cache_size", SIZE), ("max_caches", UNSIGNED),
                ("flags", UNSIGNED), ("numa_node", INT), ("memory", VOID),
                ("memory_size", SIZE), ("constructor", CONSTRUCTOR),
                ("constructor_arg", VOID), ("on_fault", ON_FAULT),
                ("on_fault_arg", VOID), ("name", ctypes.c_char_p),
                ("reserved", VOID * 4)]


class Cursor(ctypes.Structure):
    """struct hone_mempool_cursor"""
    _fields_ = [("cache", VOID), ("private", SIZE * 3)]


class Magazine(ctypes.Structure):
    """struct hone_mempool_magazine"""
    _fields_ = [("count", SIZE),
                ("hidden", VOID * (64 // ctypes.sizeof(SIZE) - 1)),
                ("objects", VOID * CACHE_MAX)]


class Stats(ctypes.Structure):
    """struct hone_mempool_stats"""
    _fields_ = [("capacity", SIZE), ("cache_size", SIZE), ("stride", SIZE),
                ("shared", SIZE), ("loaded", SIZE), ("reserved", SIZE),
                ("caches", UNSIGNED), ("max_caches", UNSIGNED),
                ("refills", SIZE), ("flushes", SIZE), ("steals", SIZE),
                ("failures", SIZE), ("later", SIZE * 4)]


class Findings(ctypes.Structure):
    """struct hone_mempool_findings"""
    _fields_ = [*((name, SIZE) for name in
                  ("in_pool", "out", "doubled", "foreign", "damaged")),
                ("reserved", SIZE * 3)]


attr_init = declare("hone_mempool_attr_init", None, ctypes.POINTER(Attr))
memory_size = declare("hone_mempool_memory_size", SIZE, ctypes.POINTER(Attr))
create = declare("hone_mempool_create", INT, POINTERS, ctypes.POINTER(Attr))
destroy = declare("hone_mempool_destroy", INT, VOID)
cache_open = declare("hone_mempool_cache_open", INT, VOID, POINTERS)
cache_close = declare("hone_mempool_cache_close", None, VOID)
thread_cache = declare("hone_mempool_thread_cache", VOID, VOID)
get = declare("hone_mempool_get", VOID, VOID)
put = declare("hone_mempool_put", None, VOID, VOID)
get_bulk = declare("hone_mempool_get_bulk", INT, VOID, POINTERS, SIZE)
get_burst = declare("hone_mempool_get_burst", SIZE, VOID, POINTERS, SIZE)
put_bulk = declare("hone_mempool_put_bulk", None, VOID, POINTERS, SIZE)
cursor_begin = declare("hone_mempool_cursor_begin", None, ctypes.POINTER(Cursor), VOID)
cursor_get = declare("hone_mempool_cursor_get", VOID, ctypes.POINTER(Cursor))
cursor_put = declare("hone_mempool_cursor_put", None, ctypes.POINTER(Cursor), VOID)
cursor_get_bulk = declare("hone_mempool_cursor_get_bulk", INT,
                          ctypes.POINTER(Cursor), POINTERS, SIZE)
cursor_put_bulk = declare("hone_mempool_cursor_put_bulk", None,
                          ctypes.POINTER(Cursor), POINTERS, SIZE)
cursor_end = declare("hone_mempool_cursor_end", None, ctypes.POINTER(Cursor))
get_magazine = declare("hone_mempool_get_magazine", ctypes.POINTER(Magazine), VOID)
put_magazine = declare("hone_mempool_put_magazine", None, VOID,
                       ctypes.POINTER(Magazine))
reserve = declare("hone_mempool_reserve", INT, VOID, SIZE)
after_fork = declare("hone_mempool_after_fork", SIZE, VOID)
available = declare("hone_mempool_available", SIZE, VOID)
get_stats = declare("hone_mempool_get_stats", None, VOID, ctypes.POINTER(Stats))
iterate = declare("hone_mempool_iterate", None, VOID, CONSTRUCTOR, VOID)
audit = declare("hone_mempool_audit", None, VOID, ctypes.POINTER(Findings),
                ON_FAULT, VOID)
