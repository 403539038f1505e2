# SPDX-License-Identifier: BSD-3-Clause
"""Where files hold data, and how two of them compare: written for tests."""
import errno
import itertools
import os
import subprocess

STEP = 1 << 20


def data_extents(path):
    """(offset, length) of what SEEK_DATA calls data."""
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        at = 0
        while at < size:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                return
            end = min(os.lseek(file.fileno(), at, os.SEEK_HOLE), size)
            yield at, end - at
            at = end


def steps(path):
    """The data extents, cut at multiples of STEP."""
    for at, length in data_extents(path):
        end = at + length
        while at < end:
            part = min(end, at // STEP * STEP + STEP) - at
            yield at, part
            at += part


def padded(file, at, length):
    """Bytes of a file, with zeros past its end."""
    data = os.pread(file.fileno(), length, at)
    return data + bytes(length - len(data))


def first_difference(one, two):
    """Offset of the first byte that differs, as if both were endless."""
    places = sorted(set(steps(one)) | set(steps(two)))
    with open(one, "rb", buffering=0) as a, open(two, "rb", buffering=0) as b:
        best = None
        for at, length in places:
            if best is not None and at >= best:
                continue
            left, right = padded(a, at, length), padded(b, at, length)
            if left != right:
                differ = (x != y for x, y in zip(left, right))
                here = at + next(i for i, d in enumerate(differ) if d)
                best = here if best is None else min(best, here)
        return best


def kinds(path, block):
    """[(offset, length, kind)]: what `hone map -S block` must print."""
    size = os.stat(path).st_size
    parts = []
    end = 0
    with open(path, "rb", buffering=0) as file:
        for at, length in itertools.chain(data_extents(path), [(size, 0)]):
            if at > end:
                parts.append((end, at - end, "hole"))
            end = at + length
            while at < end:
                part = min(end, at // block * block + block) - at
                zero = os.pread(file.fileno(), part, at) == bytes(part)
                parts.append((at, part, "zero" if zero else "data"))
                at += part
    merged = []
    for kind, run in itertools.groupby(parts, key=lambda part: part[2]):
        run = list(run)
        merged.append((run[0][0], sum(part[1] for part in run), kind))
    return merged


def disk_usage(path):
    """Bytes of disk behind a file."""
    return os.stat(path).st_blocks * 512


def cached(path):
    """Bytes of a file in the page cache."""
    done = subprocess.run(["fincore", "-b", "-n", "-o", "RES", path],
                          check=True, stdout=subprocess.PIPE)
    return int(done.stdout)


def uncache(path):
    """Remove a file from the page cache: who reads it pays for it."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
