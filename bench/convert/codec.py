#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""codec.py zlib|zstd compress|decompress LEVEL THREADS IMAGE
codec.py zlib recompress LEVEL THREADS IMAGE

Print the seconds that the library alone takes for the clusters of a raw image
that are not all zeros: libdeflate for zlib, libzstd for zstd. They are in memory
before, and so is what is made of them. hone calls the same functions. recompress
has both libraries: each cluster of zlib becomes one of zstd, of level 3."""
import ctypes
import itertools
import os
import sys
import threading
import time

CLUSTER = 65536
SIZE, POINTER = ctypes.c_size_t, ctypes.c_void_p


def function(library, name, result, *arguments):
    found = getattr(library, name)
    found.restype, found.argtypes = result, arguments
    return found


class Zlib:
    """One thread's contexts of libdeflate."""

    def __init__(self, level):
        library = ctypes.CDLL('libdeflate.so.0')
        self.deflate = function(library, 'libdeflate_deflate_compress', SIZE,
                                POINTER, POINTER, SIZE, POINTER, SIZE)
        self.inflate = function(library, 'libdeflate_deflate_decompress',
                                ctypes.c_int, POINTER, POINTER, SIZE, POINTER,
                                SIZE, POINTER)
        self.encoder = function(library, 'libdeflate_alloc_compressor',
                                POINTER, ctypes.c_int)(level)
        self.decoder = function(library, 'libdeflate_alloc_decompressor',
                                POINTER)()
        # For recompress.
        self.other = Zstd(3)
        self.room = ctypes.create_string_buffer(CLUSTER)

    def compress(self, source, length, target, room):
        return self.deflate(self.encoder, source, length, target, room)

    def decompress(self, source, length, target, room):
        if self.inflate(self.decoder, source, length, target, room, None):
            sys.exit('codec.py: libdeflate cannot read what it wrote')


class Zstd:
    """One thread's contexts of libzstd."""

    def __init__(self, level):
        library = ctypes.CDLL('libzstd.so.1')
        self.level = level
        self.encode = function(library, 'ZSTD_compressCCtx', SIZE, POINTER,
                               POINTER, SIZE, POINTER, SIZE, ctypes.c_int)
        self.decode = function(library, 'ZSTD_decompressDCtx', SIZE, POINTER,
                               POINTER, SIZE, POINTER, SIZE)
        self.encoder = function(library, 'ZSTD_createCCtx', POINTER)()
        self.decoder = function(library, 'ZSTD_createDCtx', POINTER)()

    def compress(self, source, length, target, room):
        made = self.encode(self.encoder, target, room, source, length,
                           self.level)
        return made if made <= room else 0

    def decompress(self, source, length, target, room):
        if self.decode(self.decoder, target, room, source, length) != room:
            sys.exit('codec.py: libzstd cannot read what it wrote')


def clusters(path):
    """The clusters that are not all zeros."""
    with open(path, 'rb', buffering=0) as image:
        end, at = os.fstat(image.fileno()).st_size, 0
        while at < end:
            try:
                at = os.lseek(image.fileno(), at, os.SEEK_DATA)
                hole = os.lseek(image.fileno(), at, os.SEEK_HOLE)
            except OSError:
                return
            at = at // CLUSTER * CLUSTER
            while at < hole:
                data = os.pread(image.fileno(), CLUSTER, at)
                if data.count(0) != len(data):
                    yield data
                at += CLUSTER


def in_threads(threads, kind, level, work, items):
    """Seconds of work(contexts, item, buffer) for all items."""
    places = itertools.count()

    def run(contexts, buffer):
        # next() of a count is one step for other threads, too.
        for at in iter(lambda: next(places), -1):
            if at >= len(items):
                return
            work(contexts, at, buffer)

    running = [threading.Thread(target=run, args=(
        kind(level), ctypes.create_string_buffer(2 * CLUSTER)))
        for _ in range(threads)]
    began = time.monotonic()
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return time.monotonic() - began


def main():
    codec, direction = sys.argv[1:3]
    level, threads = int(sys.argv[3]), int(sys.argv[4])
    kind = {'zlib': Zlib, 'zstd': Zstd}[codec]
    plain = list(clusters(sys.argv[5]))
    packed = [b''] * len(plain)

    def compress(contexts, at, buffer):
        data = plain[at]
        made = contexts.compress(data, len(data), buffer, len(data))
        packed[at] = buffer.raw[:made] if keep else b''

    def decompress(contexts, at, buffer):
        if packed[at]:
            contexts.decompress(packed[at], len(packed[at]), buffer,
                                len(plain[at]))

    def recompress(contexts, at, buffer):
        decompress(contexts, at, buffer)
        length = len(plain[at])
        contexts.other.compress(buffer, length, contexts.room, length)

    keep = direction != 'compress'
    seconds = in_threads(threads, kind, level, compress, plain)
    if keep:
        work = {'decompress': decompress, 'recompress': recompress}[direction]
        seconds = in_threads(threads, kind, level, work, plain)
    print(seconds)


if __name__ == '__main__':
    main()
