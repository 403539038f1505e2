# SPDX-License-Identifier: BSD-3-Clause
"""VHD images field by field: sound ones, and others."""
import os
import struct

SECTOR = 512
UNUSED = 0xffffffff
# offset and code of each field
FOOTER = {"cookie": (0, "8s"), "features": (8, "I"), "version": (12, "I"),
          "data_offset": (16, "Q"), "timestamp": (24, "I"),
          "creator": (28, "4s"), "current_size": (48, "Q"),
          "cylinders": (56, "H"), "heads": (58, "B"), "sectors": (59, "B"),
          "type": (60, "I"), "checksum": (64, "I"), "uuid": (68, "16s")}
HEADER = {"cookie": (0, "8s"), "table_offset": (16, "Q"),
          "version": (24, "I"), "entries": (28, "I"),
          "block_size": (32, "I"), "checksum": (36, "I")}


def pack(fields, places, length):
    """The bytes, with the right checksum unless the fields have one."""
    raw = bytearray(length)
    for name, value in fields.items():
        struct.pack_into(">" + places[name][1], raw, places[name][0], value)
    if "checksum" not in fields:
        struct.pack_into(">I", raw, places["checksum"][0], ~sum(raw) & 0xffffffff)
    return bytes(raw)


class Vhd:
    """A dynamic image, to be changed and written.

    The two footers, the header and the table are where `at` has them; blocks
    have (offset in the file, bitmap, data).
    """

    def __init__(self, size=64 * 1024, block_size=16 * 1024):
        self.footer = {"cookie": b"conectix", "version": 0x10000,
                       "data_offset": SECTOR, "creator": b"win ",
                       "current_size": size, "type": 3}
        # what the copy at the beginning has otherwise
        self.copy = {}
        count = -(-size // block_size)
        self.header = {"cookie": b"cxsparse", "table_offset": 1536,
                       "version": 0x10000, "entries": count,
                       "block_size": block_size}
        self.block_size = block_size
        self.table = [UNUSED] * count
        self.blocks = []
        self.next = 1536 + -(-4 * count // SECTOR) * SECTOR
        # bytes of the file that are cut off, or added
        self.cut = 0
        self.extra = b""
        self.has_footer = self.has_copy = True

    def bitmap_bytes(self):
        """Of one block."""
        return -(-self.block_size // SECTOR // 8 // SECTOR) * SECTOR

    def add(self, index, data, bits=None, at=None):
        """A block; bits: of the sectors, True for each that is used."""
        at = self.next if at is None else at
        bitmap = bytearray(self.bitmap_bytes())
        for sector in range(self.block_size // SECTOR):
            if bits is None or bits[sector]:
                bitmap[sector // 8] |= 0x80 >> sector % 8
        self.table[index] = at // SECTOR
        self.blocks.append((at, bytes(bitmap), data.ljust(self.block_size, b"\0")))
        self.next = max(self.next, at + len(bitmap) + self.block_size)

    def write(self, path):
        """Write the file; returns the path."""
        end = self.next - self.cut
        with open(path, "wb") as file:
            for at, bitmap, data in self.blocks:
                file.seek(at)
                file.write(bitmap + data)
            file.seek(1536)
            file.write(struct.pack(f">{len(self.table)}I", *self.table))
            file.seek(SECTOR)
            file.write(pack(self.header, HEADER, 1024))
            if self.has_copy:
                file.seek(0)
                file.write(pack({**self.footer, **self.copy}, FOOTER, SECTOR))
            file.truncate(end)
            file.seek(end)
            file.write(self.extra)
            if self.has_footer:
                file.write(pack(self.footer, FOOTER, SECTOR))
        return path


def fixed(path, data, **fields):
    """Write a fixed image of the data; returns the path."""
    footer = {"cookie": b"conectix", "version": 0x10000,
              "data_offset": (1 << 64) - 1, "creator": b"win ",
              "current_size": len(data), "type": 2, **fields}
    path.write_bytes(data + pack(footer, FOOTER, SECTOR))
    return path


def footer_of(path):
    """The fields of the footer, whose checksum is verified."""
    with open(path, "rb") as file:
        file.seek(-SECTOR, os.SEEK_END)
        raw = file.read()
    found = {name: struct.unpack_from(">" + code, raw, at)[0]
             for name, (at, code) in FOOTER.items()}
    blank = raw[:64] + bytes(4) + raw[68:]
    assert found["checksum"] == ~sum(blank) & 0xffffffff
    return found
