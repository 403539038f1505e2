# SPDX-License-Identifier: BSD-3-Clause
"""A reader of qcow2 files, written for tests from the format's description.

It accepts only what a freshly converted image may hold, and counts every
cluster's references by itself.
"""
import os
import struct

import extents

HEADER = struct.Struct(">4sIQIIQIIQQIIQQQQII")
COPIED = 1 << 63
COMPRESSED = 1 << 62
OFFSET = 0x00FFFFFFFFFFFE00
ZERO = 1


class Qcow2:
    """One image; `where` maps guest clusters to host offsets."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.fd = os.dup(file.fileno())
        self.file_size = os.fstat(self.fd).st_size
        (magic, self.version, self.backing, _, self.cluster_bits, self.size,
         self.crypt, self.l1_size, self.l1_at, self.table_at,
         self.table_clusters, self.snapshots, _, self.incompatible,
         self.compatible, self.autoclear, self.refcount_order,
         self.header_length) = HEADER.unpack(self.pread(0, HEADER.size))
        assert magic == b"QFI\xfb"
        self.cluster = 1 << self.cluster_bits
        self.used = {}
        self.where = {}
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
        """Big-endian 64-bit words of the file."""
        return struct.unpack(f">{count}Q", self.pread(at, 8 * count))

    def claim(self, at, length, what):
        """Note one reference to each cluster of a range."""
        assert at % self.cluster == 0, f"{what} at {at:#x} is not aligned"
        assert at < self.file_size, f"{what} at {at:#x} is past the end"
        for cluster in range(at // self.cluster,
                             (at + length - 1) // self.cluster + 1):
            assert cluster not in self.used, (
                f"{what} shares cluster {cluster} with {self.used[cluster]}")
            self.used[cluster] = what

    def walk(self):
        """Follow L1 and L2 tables."""
        per_table = self.cluster // 8
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
            for j, item in enumerate(self.words(table, per_table)):
                if item:
                    self.add(i * per_table + j, item, guest_clusters)

    def add(self, guest, entry, guest_clusters):
        """Take one L2 entry that is not 0."""
        assert guest < guest_clusters, f"guest cluster {guest} past the end"
        assert not entry & (COMPRESSED | ZERO)
        assert entry & ~OFFSET == COPIED, f"L2 entry {guest}: {entry:#x}"
        self.where[guest] = entry & OFFSET
        self.claim(entry & OFFSET, self.cluster, f"guest cluster {guest}")

    def check_header(self):
        """Every field has a value that a plain version 3 image may have."""
        assert self.version == 3
        assert 9 <= self.cluster_bits <= 21
        assert self.refcount_order == 4
        assert self.header_length >= 104 and self.header_length % 8 == 0
        assert (self.backing, self.crypt, self.snapshots) == (0, 0, 0)
        assert (self.incompatible, self.autoclear) == (0, 0)
        at = self.header_length
        while True:
            kind, length = struct.unpack(">II", self.pread(at, 8))
            assert at + 8 + length <= self.cluster, "header extension"
            if not kind:
                break
            assert kind == 0x6803F857, f"header extension {kind:#x}"
            at += 8 + -(-length // 8) * 8

    def check(self):
        """Header, reference counts and extent of the file are right."""
        self.check_header()
        self.claim(self.table_at, self.table_clusters * self.cluster,
                   "refcount table")
        per_block = self.cluster // 2
        counts = {}
        blocks = self.words(self.table_at,
                            self.table_clusters * self.cluster // 8)
        for i, block in enumerate(blocks):
            if not block:
                continue
            self.claim(block, self.cluster, f"refcount block {i}")
            for j, count in enumerate(struct.unpack(
                    f">{per_block}H", self.pread(block, self.cluster))):
                if count:
                    counts[i * per_block + j] = count
        assert counts == dict.fromkeys(self.used, 1)
        clusters = -(-self.file_size // self.cluster)
        assert clusters == max(self.used) + 1, "the file has a loose end"

    def read(self, guest):
        """The bytes of one guest cluster."""
        if guest not in self.where:
            return bytes(self.cluster)
        return self.pread(self.where[guest], self.cluster)

    def assert_holds(self, source):
        """The guest sees the bytes of `source`, then zeros."""
        with open(source, "rb", buffering=0) as file:
            for guest in self.guests_of(source) | set(self.where):
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
