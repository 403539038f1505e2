# SPDX-License-Identifier: BSD-3-Clause
"""VMDK images that a test writes byte by byte, sound or not."""
import struct
import zlib

SECTOR = 512
GRAIN = 128
ENTRIES = 512
AT_END = 0xFFFFFFFFFFFFFFFF
NEWLINES, REDUNDANT, ZEROED = 1, 2, 4
COMPRESSED, MARKERS = 0x10000, 0x20000

DESCRIPTOR = """# Disk DescriptorFile
version=1
CID=12345678
parentCID=ffffffff
createType="{kind}"

# Extent description
RW {capacity} SPARSE "disk.vmdk"

# The Disk Data Base
#DDB

ddb.virtualHWVersion = "4"
ddb.adapterType = "lsilogic"
"""


def sectors(data):
    """Zeros up to the end of the last sector."""
    return data + bytes(-len(data) % SECTOR)


def marker(count, kind):
    """A marker without data."""
    return sectors(struct.pack("<QII", count, 0, kind))


class Builder:
    """One sparse file. Change its fields, then call build()."""

    def __init__(self, capacity=8 * GRAIN, packed=False, footer=False):
        self.capacity = capacity
        self.packed = packed
        self.footer = footer
        # number of the grain: its bytes
        self.grains = {}
        self.grain = GRAIN
        self.overhead = 128
        # what the header has instead of the right value
        self.header = {}
        self.footer_fields = {}
        self.descriptor = None
        # entries of tables: {(index of the table, of the entry): sector}
        self.entries = {}
        self.directory = {}
        # bytes of a grain in the file, with its marker; None: right
        self.pack = None
        # with a marker in front of each table
        self.order = sorted
        # called with the tables before they are written
        self.change_table = lambda index, table: table
        # what comes in front of the footer
        self.extra = b""
        # what the end of the file is cut by
        self.cut = 0
        self.tail = b""

    def fields(self, place, more):
        """Name: value of the header, with the place of the directory."""
        values = {
            "magic": b"KDMV", "version": 3 if self.packed else 1,
            "flags": NEWLINES | (COMPRESSED | MARKERS if self.packed else 0),
            "capacity": self.capacity, "grain": self.grain,
            "desc_offset": 1, "desc_size": 20, "entries": ENTRIES,
            "rgd": 0, "gd": place, "overhead": self.overhead, "unclean": 0,
            "lines": b"\n \r\n", "deflate": int(self.packed)}
        values.update(more)
        return values

    @staticmethod
    def pack_header(v):
        """A sector."""
        return sectors(struct.pack(
            "<4sIIQQQQIQQQB4sH", v["magic"], v["version"], v["flags"],
            v["capacity"], v["grain"], v["desc_offset"], v["desc_size"],
            v["entries"], v["rgd"], v["gd"], v["overhead"], v["unclean"],
            v["lines"], v["deflate"]))

    def text(self):
        """The descriptor."""
        if self.descriptor is not None:
            return self.descriptor
        kind = "streamOptimized" if self.packed else "monolithicSparse"
        return DESCRIPTOR.format(kind=kind, capacity=self.capacity)

    def grain_bytes(self, number, data):
        """The bytes of a grain in the file."""
        if not self.packed:
            return sectors(data)
        if self.pack:
            return sectors(self.pack(number, data))
        stored = zlib.compress(data)
        return sectors(struct.pack("<QI", number * self.grain, len(stored)) + stored)

    def tables_of(self, places):
        """Index of a table: its bytes."""
        found = {}
        for number, place in places.items():
            found.setdefault(number // ENTRIES, {})[number % ENTRIES] = place
        for (table, entry), place in self.entries.items():
            found.setdefault(table, {})[entry] = place
        return {index: struct.pack(f"<{ENTRIES}I", *(
            entries.get(i, 0) for i in range(ENTRIES)))
            for index, entries in found.items()}

    def count(self):
        """Grain tables of the disk."""
        return -(-self.capacity // (self.grain * ENTRIES))

    def build(self):
        """The bytes of the file. The tables are behind the grains."""
        out = bytearray(self.overhead * SECTOR)
        out[SECTOR:SECTOR + len(self.text())] = self.text().encode("latin-1")
        places, directory = {}, [0] * self.count()
        order = self.order(self.grains)
        for at, number in enumerate(order):
            places[number] = len(out) // SECTOR
            out += self.grain_bytes(number, self.grains[number])
            table = number // ENTRIES
            if at + 1 < len(order) and order[at + 1] // ENTRIES == table:
                continue
            tables = self.tables_of(places)
            if self.footer:
                out += marker(4, 1)
            directory[table] = len(out) // SECTOR
            out += self.change_table(table, tables[table])
        for table in self.tables_of({}):
            if not directory[table]:
                directory[table] = len(out) // SECTOR
                out += self.tables_of({})[table]
        for index, place in self.directory.items():
            directory[index] = place
        if self.footer:
            out += marker(-(-4 * len(directory) // SECTOR), 2)
        gd = len(out) // SECTOR
        out += sectors(struct.pack(f"<{len(directory)}I", *directory))
        out += self.extra
        if self.footer:
            out += marker(1, 3)
            out += self.pack_header(self.fields(gd, self.footer_fields))
            out += marker(0, 0)
        out[:SECTOR] = self.pack_header(
            self.fields(AT_END if self.footer else gd, self.header))
        out += self.tail
        return bytes(out[:len(out) - self.cut])

    def write(self, path):
        """Write the file; returns the path."""
        path.write_bytes(self.build())
        return path
