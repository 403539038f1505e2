# SPDX-License-Identifier: BSD-3-Clause
"""The subject python of stream_bench. A line of input is
KIND SIZE PIECE TURNS WITH_DIGEST LIST. The answer is nanoseconds, involuntary
context switches, bytes and digest."""
import resource
import sys
import time
import zlib


def whole(paths, _size, _piece, turns, see):
    for _ in range(turns):
        for path in paths:
            with open(path, "rb") as file:
                see(file.read())


def pieces(paths, size, piece, turns, see):
    with open(paths[0], "rb") as file:
        for _ in range(turns):
            file.seek(0)
            for _ in range(size // piece):
                see(file.read(piece))


def lines(paths, _size, _piece, turns, see):
    with open(paths[0], "rb") as file:
        for _ in range(turns):
            file.seek(0)
            for line in file:
                see(line)


def switches():
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def main():
    kinds = {"whole": whole, "pieces": pieces, "lines": lines}
    known = {}
    print("ready", flush=True)
    for command in sys.stdin:
        kind, size, piece, turns, check, path = command.rstrip("\n").split(
            " ", 5)
        if path not in known:
            with open(path, encoding="utf-8") as file:
                known[path] = file.read().split()
        seen = [0, 0]

        def see_and_check(data, seen=seen):
            seen[0] += len(data)
            seen[1] += zlib.crc32(data[-(16 << 20):])

        see = see_and_check if check == "1" else len
        before, began = switches(), time.perf_counter_ns()
        kinds[kind](known[path], int(size), int(piece), int(turns), see)
        ns = time.perf_counter_ns() - began
        print(ns, switches() - before, *seen, flush=True)


if __name__ == "__main__":
    main()
