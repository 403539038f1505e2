# SPDX-License-Identifier: BSD-3-Clause
"""A reader of qcow2 files, written for tests from the format's description.

It accepts only what a freshly converted image may hold, and counts every
cluster's references by itself.
"""
import collections
import ctypes
import ctypes.util
import functools
import os
import struct
import zlib

import extents

COMMON = struct.Struct(">4sIQIIQIIQQIIQ")
NEWER = struct.Struct(">QQQII")
COPIED = 1 << 63
COMPRESSED = 1 << 62
OFFSET = 0x00FFFFFFFFFFFE00
SUBCLUSTERS = 32
# Incompatible features.
COMPRESSION_TYPE = 1 << 3
EXTENDED_L2 = 1 << 4


def inflate(stored, length):
    """Raw deflate, with bytes after it."""
    data = zlib.decompressobj(-15).decompress(stored, length)
    assert len(data) == length, "a compressed cluster is no whole one"
    return data


@functools.cache
def libzstd():
    """The library that is there: ldconfig searches for it once."""
    library = ctypes.CDLL(ctypes.util.find_library("zstd"))
    library.ZSTD_findFrameCompressedSize.restype = ctypes.c_size_t
    library.ZSTD_decompress.restype = ctypes.c_size_t
    return library


def unzstd(stored, length):
    """One zstd frame, with bytes after it."""
    size = libzstd().ZSTD_findFrameCompressedSize(stored, ctypes.c_size_t(len(stored)))
    assert size <= len(stored), "not a zstd frame"
    out = ctypes.create_string_buffer(length)
    made = libzstd().ZSTD_decompress(out, ctypes.c_size_t(length), stored,
                                     ctypes.c_size_t(size))
    assert made == length, "a compressed cluster is no whole one"
    return out.raw


class Qcow2:
    """One image.

    `where` maps guest clusters to host offsets, `packed` compressed ones to
    (host offset, bytes up to the end of the last sector), `marks` the former
    to the subclusters that have data, if there are such.
    """

    def __init__(self, path):
        with open(path, "rb") as file:
            self.fd = os.dup(file.fileno())
        self.file_size = os.fstat(self.fd).st_size
        (magic, self.version, self.backing, _, self.cluster_bits, self.size,
         self.crypt, self.l1_size, self.l1_at, self.table_at,
         self.table_clusters, self.snapshots, _) = COMMON.unpack(
             self.pread(0, COMMON.size))
        assert magic == b"QFI\xfb"
        self.incompatible = self.compatible = self.autoclear = 0
        self.refcount_order, self.header_length = 4, COMMON.size
        if self.version > 2:
            (self.incompatible, self.compatible, self.autoclear,
             self.refcount_order, self.header_length) = NEWER.unpack(
                 self.pread(COMMON.size, NEWER.size))
        self.cluster = 1 << self.cluster_bits
        self.extended = bool(self.incompatible & EXTENDED_L2)
        self.zstd = bool(self.incompatible & COMPRESSION_TYPE)
        self.used = {}
        self.references = collections.Counter()
        self.where, self.packed, self.marks = {}, {}, {}
        self.l2_at = []
        self.claim(0, self.cluster, "header")
        self.walk()

    def __del__(self):
        os.close(self.fd)

    def pread(self, at, length):
        """Bytes of the file, zeros past its end."""
        data = os.pread(self.fd, length, at)
        return data + bytes(length - len(data))

    def words(self, at, count):
        """Big-endian 64-bit words of the file, without the zeros at the end: an even
        number of words."""
        used = self.pread(at, 8 * count).rstrip(b"\0")
        used += bytes(-len(used) % 16)
        return struct.unpack(f">{len(used) // 8}Q", used)

    def claim(self, at, length, what, alone=True):
        """Note one reference to each cluster of a range."""
        assert not alone or at % self.cluster == 0, (
            f"{what} at {at:#x} is not aligned")
        assert at + length <= self.file_size or (
            alone and at < self.file_size), f"{what} at {at:#x} is past the end"
        for cluster in range(at // self.cluster, (at + length - 1) // self.cluster + 1):
            owner = self.used.setdefault(cluster, (what, alone))
            assert owner == (what, alone) or not (alone or owner[1]), (
                f"{what} shares cluster {cluster} with {owner[0]}")
            self.references[cluster] += 1

    def walk(self):
        """Follow L1 and L2 tables."""
        per_table = self.cluster // (16 if self.extended else 8)
        guest_clusters = -(-self.size // self.cluster)
        assert self.l1_size >= -(-guest_clusters // per_table)
        if not self.l1_size:
            return
        self.claim(self.l1_at, 8 * self.l1_size, "L1 table")
        for i, entry in enumerate(self.words(self.l1_at, self.l1_size)):
            if not entry:
                continue
            assert entry & ~OFFSET == COPIED, f"L1 entry {i}: {entry:#x}"
            table = entry & OFFSET
            self.l2_at.append(table)
            self.claim(table, self.cluster, f"L2 table {i}")
            words = self.words(table, self.cluster // 8)
            step = 2 if self.extended else 1
            for j, item in enumerate(words[::step]):
                marks = words[j * step + 1] if self.extended else None
                if item:
                    self.add(i * per_table + j, item, marks, guest_clusters)
                else:
                    assert not marks, "subclusters of no cluster"

    def add(self, guest, entry, marks, guest_clusters):
        """Take one L2 entry that is not 0."""
        assert guest < guest_clusters, f"guest cluster {guest} past the end"
        if entry & COMPRESSED:
            self.add_packed(guest, entry)
            assert not marks, "subclusters of a compressed cluster"
            return
        assert entry & ~OFFSET == COPIED, f"L2 entry {guest}: {entry:#x}"
        self.where[guest] = entry & OFFSET
        self.claim(entry & OFFSET, self.cluster, f"guest cluster {guest}")
        if marks is not None:
            assert marks < 1 << SUBCLUSTERS, "subclusters that read as zeros"
            self.marks[guest] = marks

    def add_packed(self, guest, entry):
        """Take the L2 entry of a compressed cluster."""
        assert not entry & COPIED
        bits = 62 - (self.cluster_bits - 8)
        at = entry & ((1 << bits) - 1)
        assert at < 1 << 56
        sectors = (entry ^ COMPRESSED) >> bits
        length = (at // 512 + sectors + 1) * 512 - at
        self.packed[guest] = at, length
        self.claim(at, length, f"compressed cluster {guest}", alone=False)

    def check_header(self):
        """Every field has a value that a new image may have."""
        assert self.version in (2, 3)
        assert 9 <= self.cluster_bits <= 21
        assert self.cluster_bits >= 14 or not self.extended
        assert self.refcount_order <= 6
        assert (self.backing, self.crypt, self.snapshots) == (0, 0, 0)
        assert not self.incompatible & ~(COMPRESSION_TYPE | EXTENDED_L2)
        assert self.autoclear == self.compatible == 0
        if self.version == 3:
            assert self.header_length >= 104 and self.header_length % 8 == 0
            has_type = self.header_length > 104
            kind = self.pread(104, 1)[0] if has_type else 0
            assert kind == self.zstd
        at = self.header_length
        while True:
            kind, length = struct.unpack(">II", self.pread(at, 8))
            assert at + 8 + length <= self.cluster, "header extension"
            if not kind:
                break
            assert kind == 0x6803F857, f"header extension {kind:#x}"
            at += 8 + -(-length // 8) * 8

    def counts_in(self, block):
        """The reference counts in a block; nothing after the last one."""
        width = 1 << self.refcount_order
        used = block.rstrip(b"\0")
        if width < 8:
            return [byte >> i & ((1 << width) - 1)
                    for byte in used for i in range(0, 8, width)]
        size = width // 8
        return [int.from_bytes(block[i:i + size], "big")
                for i in range(0, len(used), size)]

    def check(self):
        """Header, reference counts and extent of the file are right."""
        self.check_header()
        self.claim(self.table_at, self.table_clusters * self.cluster, "refcount table")
        per_block = self.cluster * 8 >> self.refcount_order
        counts = {}
        blocks = self.words(self.table_at, self.table_clusters * self.cluster // 8)
        for i, block in enumerate(blocks):
            if not block:
                continue
            self.claim(block, self.cluster, f"refcount block {i}")
            counts.update(
                (i * per_block + j, count) for j, count in enumerate(
                    self.counts_in(self.pread(block, self.cluster))) if count)
        assert counts == dict(self.references)
        clusters = -(-self.file_size // self.cluster)
        assert clusters == max(self.used) + 1, "the file has a loose end"

    def read(self, guest):
        """The bytes of one guest cluster."""
        if guest in self.packed:
            stored = self.pread(*self.packed[guest])
            return (unzstd if self.zstd else inflate)(stored, self.cluster)
        if guest not in self.where:
            return bytes(self.cluster)
        if not self.extended:
            return self.pread(self.where[guest], self.cluster)
        part = self.cluster // SUBCLUSTERS
        return b"".join(
            self.pread(self.where[guest] + i * part, part)
            if self.marks[guest] >> i & 1 else bytes(part)
            for i in range(SUBCLUSTERS))

    def assert_holds(self, source):
        """The guest sees the bytes of `source`, then zeros."""
        with open(source, "rb", buffering=0) as file:
            for guest in self.guests_of(source) | set(self.where) | set(self.packed):
                assert self.read(guest) == extents.padded(
                    file, guest * self.cluster, self.cluster), (
                        f"guest cluster {guest} differs")

    def guests_of(self, source):
        """Guest clusters in which the source's file system sees data."""
        found = set()
        for at, length in extents.data_extents(source):
            found.update(range(at // self.cluster,
                               (at + length - 1) // self.cluster + 1))
        return found
