# SPDX-License-Identifier: BSD-3-Clause
"""Qcow2 images, field by field: sound ones, and what no writer makes; and images of
QEMU that a test damages."""
import os
import struct
import zlib

import qemu

KI, MI = 1 << 10, 1 << 20
COPIED, COMPRESSED = 1 << 63, 1 << 62
OFFSET = 0x00FFFFFFFFFFFE00

FIELDS = {
    "magic": (0, "I"), "version": (4, "I"), "backing_file_offset": (8, "Q"),
    "backing_file_size": (16, "I"), "cluster_bits": (20, "I"),
    "size": (24, "Q"), "crypt_method": (32, "I"), "l1_size": (36, "I"),
    "l1_table_offset": (40, "Q"), "refcount_table_offset": (48, "Q"),
    "refcount_table_clusters": (56, "I"), "nb_snapshots": (60, "I"),
    "snapshots_offset": (64, "Q"), "incompatible_features": (72, "Q"),
    "compatible_features": (80, "Q"), "autoclear_features": (88, "Q"),
    "refcount_order": (96, "I"), "header_length": (100, "I"),
    "compression_type": (104, "B"),
}

BACKING_FORMAT, FEATURE_NAMES = 0xe2792aca, 0x6803f857
BITMAPS, ENCRYPTION, DATA_FILE = 0x23852875, 0x0537be77, 0x44415441


def deflated(data):
    """A raw deflate stream, as clusters have it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -12)
    return packer.compress(data) + packer.flush()


class Builder:
    """A small image: four clusters of data and a compressed one. Everything
    about it can be changed before write().

    Clusters: 0 header, 1 refcount table, 2 refcount block, 3 L1 table, 4 L2
    table, 5 to 8 data of guest clusters 0 to 3, 9 the compressed cluster 4.
    """

    def __init__(self, bits=12, size=MI, version=3, extended=False):
        self.cluster = 1 << bits
        c = self.cluster
        self.entry_bytes = 16 if extended else 8
        self.fields = {
            "magic": 0x514649fb, "version": version, "cluster_bits": bits,
            "size": size, "l1_size": 1, "l1_table_offset": 3 * c,
            "refcount_table_offset": c, "refcount_table_clusters": 1}
        if version == 3:
            self.fields.update(refcount_order=4, header_length=112,
                               incompatible_features=16 if extended else 0)
        self.extensions = []
        # offset in the file: bytes
        self.body = {}
        self.counts = [1] * 10
        self.put("Q", c, 2 * c)
        self.put("Q", 3 * c, 4 * c | COPIED)
        for index in range(4):
            self.l2(index, (5 + index) * c | COPIED, 0xffffffff if extended else 0)
            self.body[(5 + index) * c] = bytes([65 + index]) * c
        self.pack(4, 9 * c, deflated(bytes(range(256)) * (c // 256)))
        # bytes of the file, if they are not what the body has
        self.length = None

    def put(self, code, offset, value):
        """A big-endian number in the file."""
        self.body[offset] = struct.pack(">" + code, value)

    def l2(self, index, entry, bitmap=0, table=4):
        """An entry of an L2 table."""
        at = table * self.cluster + index * self.entry_bytes
        self.put("Q", at, entry)
        if self.entry_bytes == 16:
            self.put("Q", at + 8, bitmap)

    def pack(self, index, offset, stream, sectors=None):
        """A compressed cluster."""
        shift = 70 - self.fields["cluster_bits"]
        if sectors is None:
            sectors = (offset % 512 + len(stream) - 1) // 512
        self.l2(index, COMPRESSED | sectors << shift | offset)
        self.body[offset] = stream

    def allocate(self, count=1):
        """Offset of new clusters at the file's end, counted once."""
        at = len(self.counts)
        self.counts += [1] * count
        return at * self.cluster

    def backing(self, name, fmt=b"raw"):
        """Name a backing file."""
        self.fields["backing_file_offset"] = 3 * self.cluster // 4
        self.fields["backing_file_size"] = len(name)
        self.body[3 * self.cluster // 4] = name
        if fmt is not None:
            self.extensions.append((BACKING_FORMAT, fmt))

    def data_file(self, name):
        """Name an external data file."""
        self.fields["incompatible_features"] = 4
        self.extensions.append((DATA_FILE, name))
        for index in range(4):
            self.l2(index, index * self.cluster | COPIED)
        self.l2(4, 0)

    def snapshot(self, number=1, l1=None, entries=1, disk=MI, extra=16,
                 name=b"s", ident=None):
        """Bytes of an entry of the snapshot table."""
        ident = b"%d" % number if ident is None else ident
        raw = struct.pack(">QIHHIIQII", self.cluster * 3 if l1 is None else l1,
                          entries, len(ident), len(name), 0, 0, 0, 0, extra)
        raw += struct.pack(">QQ", 0, disk)[:extra].ljust(min(extra, 4096), b"\0")
        raw += ident + name
        return raw + bytes(-len(raw) % 8)

    def snapshots(self, *entries, count=None):
        """The table of them, at the file's end."""
        raw = b"".join(entries)
        at = self.allocate(-(-len(raw) // self.cluster) or 1)
        self.body[at] = raw
        self.fields["snapshots_offset"] = at
        self.fields["nb_snapshots"] = (len(entries) if count is None else count)

    def own_l1(self):
        """An empty L1 table for a snapshot."""
        at = self.allocate()
        self.body[at] = bytes(8)
        return at

    def header(self):
        """The header and its extensions."""
        raw = bytearray(112)
        for name, value in self.fields.items():
            at, code = FIELDS[name]
            struct.pack_into(">" + code, raw, at, value)
        if self.fields["version"] == 2:
            raw = raw[:72]
        for kind, data in self.extensions:
            raw += struct.pack(">II", kind, len(data)) + data
            raw += bytes(-len(data) % 8)
        return bytes(raw)

    def write(self, path):
        """Write the file, with holes where there is nothing."""
        counts = b"".join(struct.pack(">H", count) for count in self.counts)
        with open(path, "wb") as file:
            def put(at, data):
                os.pwrite(file.fileno(), data, at)
            os.truncate(file.fileno(), len(self.counts) * self.cluster)
            put(0, self.header())
            put(2 * self.cluster, counts)
            for at, data in self.body.items():
                put(at, data)
            if self.length is not None:
                os.truncate(file.fileno(), self.length)


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
