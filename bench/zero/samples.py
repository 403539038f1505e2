#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Count the blocks of an image that have data and pass all samples.

usage: samples.py IMAGE [BLOCK]

Takes three samples (first, middle, last) of each block that is not zero, as
single bytes and as 8-byte words. A block passes if all samples are zero. Such a
block costs a call and a scan, which finds the data.
"""
import mmap
import sys


def passes(block, width):
    middle = len(block) // 2
    return not (any(block[:width]) or any(block[middle:middle + width]) or
                any(block[-width:]))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 4096
    zeros = bytes(size)
    data = zero = first = 0
    passed = {1: 0, 8: 0}
    with open(sys.argv[1], "rb") as image, \
            mmap.mmap(image.fileno(), 0, access=mmap.ACCESS_READ) as window:
        for at in range(0, len(window), size):
            block = window[at:at + size]
            if block == zeros[:len(block)]:
                zero += 1
                continue
            data += 1
            first += any(block[:8])
            for width in passed:
                passed[width] += passes(block, width)
    if data == 0:
        sys.exit(f"{sys.argv[1]}: no block has data")
    print(f"{data + zero} blocks of {size} bytes, {zero} zero, {data} data")
    print(f"data that the first word shows: {100 * first / data:.1f} %")
    for width, name in ((1, "byte"), (8, "word")):
        print(f"data that passes three {name} samples: "
              f"{100 * passed[width] / data:.2f} %")


if __name__ == "__main__":
    main()
