# SPDX-License-Identifier: BSD-3-Clause
"""Images that a test damages."""
import struct

import qemu
from qemu import KI, MI

COPIED = 1 << 63
COMPRESSED = 1 << 62
OFFSET = 0x00FFFFFFFFFFFE00


class Image:
    """A file in memory that is damaged and written."""

    def __init__(self, path):
        self.path = path
        self.data = bytearray(path.read_bytes())

    def get(self, code, at):
        """A big-endian number: code is that of struct."""
        return struct.unpack_from(">" + code, self.data, at)[0]

    def put(self, code, at, value):
        """The same, written."""
        struct.pack_into(">" + code, self.data, at, value)

    def l1(self, index=0):
        """Offset of an entry of the L1 table."""
        return self.get("Q", 40) + 8 * index

    def l2(self, index, words=1):
        """Offset of an entry of the first L2 table."""
        return (self.get("Q", self.l1()) & OFFSET) + 8 * words * index

    def extension(self, kind):
        """Offset of a header extension."""
        at = self.get("I", 100)
        while self.get("I", at) != kind:
            at += 8 + (self.get("I", at + 4) + 7) // 8 * 8
        return at

    def write(self):
        """Write it; returns the path."""
        self.path.write_bytes(self.data)
        return self.path


MADE = {}


def make(work, name="a.qcow2", size=4 * MI, **options):
    """An image with data in clusters 0 to 3, zeros in 4, compressed 8, 9. It is made
    once; later, it has the same bytes."""
    path, key = work / name, (size, *sorted(options.items()))
    if key in MADE:
        path.write_bytes(MADE[key])
        return Image(path)
    cluster = options.get("cluster_size", 64 * KI)
    qemu.create(path, size, **options)
    if options.get("compat") != "0.10":
        qemu.io(path, f"write -z {4 * cluster} {cluster}")
    qemu.io(path, f"write -P 5 0 {4 * cluster}",
            f"write -c -P 7 {8 * cluster} {cluster}",
            f"write -c -P 8 {9 * cluster} {cluster}",
            f"write -P 5 {6 * cluster} {cluster}")
    MADE[key] = path.read_bytes()
    return Image(path)


def refused(hone, image, *words, status=3):
    """Every command refuses the image with the same sentence."""
    output = image.path.parent / "out.raw"
    line = hone.fails("convert", "-O", "raw", image.path, output, code=status)
    assert not output.exists()
    # map prints what it finds as it finds it
    done = hone.run("map", image.path)
    assert (done.returncode, done.stderr.decode()) == (status, line + "\n"), done
    assert line.startswith(f"hone: {image.path}: ")
    for word in words:
        assert word in line, line
