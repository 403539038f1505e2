# SPDX-License-Identifier: BSD-3-Clause
"""Builds disks with a GPT, of sectors of any size, right or wrong."""
import random
import struct
import zlib

GUID = bytes(range(16))
LINUX = bytes.fromhex("af3dc60f838472478e793d69d8477de4")
# The fields of a header, behind its signature.
FIELDS = ("revision", "size", "crc", "zero", "my", "alternate", "first",
          "last", "guid", "entries", "count", "entry_size", "array_crc")
HEADER = struct.Struct("<IIIIQQQQ16sQIII")


class Gpt:
    """A disk of that many sectors, with partitions (first, last)."""

    def __init__(self, sector, sectors, partitions, count=128, entry_size=128):
        self.sector = sector
        self.sectors = sectors
        self.partitions = partitions
        self.array = bytearray(count * entry_size)
        for i, (begin, end) in enumerate(partitions):
            struct.pack_into("<16s16sQQ", self.array, i * entry_size, LINUX,
                             bytes([i + 1]) * 16, begin, end)
        used = -(-len(self.array) // sector)
        self.reserved = max(used, 16384 // sector)
        self.header = dict(
            revision=0x10000, size=92, crc=None, zero=0, my=1,
            alternate=sectors - 1, first=2 + self.reserved,
            last=sectors - self.reserved - 2, guid=GUID, entries=2,
            count=count, entry_size=entry_size, array_crc=None)
        self.backup = dict(self.header, my=sectors - 1, alternate=1,
                           entries=sectors - 1 - self.reserved)
        self.types = [0xee, 0, 0, 0]
        self.signature = 0xaa55
        self.begin = 1

    def _header(self, fields):
        fields = dict(fields)
        if fields["array_crc"] is None:
            fields["array_crc"] = zlib.crc32(self.array)
        wrong, fields["crc"] = fields["crc"], 0
        raw = bytearray(b"EFI PART" + HEADER.pack(*(fields[name] for name in FIELDS)))
        crc = zlib.crc32(raw.ljust(4096, b"\0")[:min(fields["size"], 4096)])
        struct.pack_into("<I", raw, 16, crc if wrong is None else wrong)
        return bytes(raw)

    def bytes(self):
        """The disk."""
        disk = bytearray(self.sector * self.sectors)

        def put(sector, data):
            disk[sector * self.sector:sector * self.sector + len(data)] = data
        for i, kind in enumerate(self.types):
            if kind:
                struct.pack_into("<B3sB3sII", disk, 446 + 16 * i, 0,
                                 b"\0\2\0", kind, b"\xff\xff\xff", self.begin,
                                 min(self.sectors - 1, 0xffffffff))
        struct.pack_into("<H", disk, 510, self.signature)
        put(1, self._header(self.header))
        put(2, self.array)
        put(self.sectors - 1 - self.reserved, self.array)
        put(self.sectors - 1, self._header(self.backup))
        make = random.Random(3)
        for begin, end in self.partitions:
            put(begin, make.randbytes(self.sector))
            put(end, make.randbytes(self.sector))
        return bytes(disk)
