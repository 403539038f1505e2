#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""reads.py THREADS STEP FILE...: print the seconds in which threads read the
data of all files from the page cache, STEP bytes of each in turn into the same
buffers, and do nothing else."""
import itertools
import os
import sys
import threading
import time


def pieces(file, step):
    """(offset, length) of the data, in ascending order."""
    end, at = os.fstat(file).st_size, 0
    while at < end:
        try:
            at = os.lseek(file, at, os.SEEK_DATA)
            hole = os.lseek(file, at, os.SEEK_HOLE)
        except OSError:
            return
        yield from ((start, min(step, hole - start))
                    for start in range(at, hole, step))
        at = hole


def main():
    threads, step = map(int, sys.argv[1:3])
    files = [os.open(name, os.O_RDONLY) for name in sys.argv[3:]]
    began = time.monotonic()
    places = list(itertools.zip_longest(
        *(pieces(file, step) for file in files), fillvalue=(0, 0)))
    next_place = itertools.count()

    def run():
        buffers = [memoryview(bytearray(step)) for _ in files]
        # next() of a count is one step for other threads, too.
        for at in iter(lambda: next(next_place), -1):
            if at >= len(places):
                return
            for file, buffer, (offset, length) in zip(files, buffers,
                                                      places[at]):
                os.preadv(file, [buffer[:length]], offset)

    running = [threading.Thread(target=run) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    print(time.monotonic() - began)


if __name__ == '__main__':
    main()
