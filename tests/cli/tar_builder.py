# SPDX-License-Identifier: BSD-3-Clause
"""Headers of tar archives, also those that no program writes."""

BLOCK = 512
END = bytes(2 * BLOCK)
POSIX, GNU, OLD = b"ustar\x0000", b"ustar  \0", bytes(8)


def octal(value, width=12):
    """Digits and a NUL."""
    return b"%0*o\0" % (width - 1, value)


def binary(value, width=12):
    """The form of GNU tar for numbers that have too many digits."""
    if value < 0:
        return (256 ** width + value).to_bytes(width, "big")
    return b"\x80" + value.to_bytes(width - 1, "big")


def padded(data):
    """Whole blocks."""
    return data + bytes(-len(data) % BLOCK)


def header(name, size=0, kind=b"0", magic=POSIX, checksum=None, fields=()):
    """A header. fields: pairs of an offset and bytes."""
    block = bytearray(BLOCK)
    block[:len(name)] = name
    for at, value in ((100, octal(0o644, 8)), (108, octal(0, 8)),
                      (116, octal(0, 8)), (136, octal(0)), (156, kind),
                      (257, magic)):
        block[at:at + len(value)] = value
    block[124:136] = octal(size) if isinstance(size, int) else size
    for at, value in fields:
        block[at:at + len(value)] = value
    block[148:156] = b" " * 8
    if checksum is None:
        checksum = b"%06o\0 " % sum(block)
    block[148:156] = checksum
    return bytes(block)


def member(name, data=b"", **kwargs):
    """A header and its data."""
    return header(name, len(data), **kwargs) + padded(data)


def archive(files):
    """The bytes of an archive of {name: content}."""
    return b"".join(member(name.encode(), content)
                    for name, content in files.items()) + END


def record(key, value):
    """A record of PAX; its length counts its own digits."""
    rest = b" " + key + b"=" + value + b"\n"
    length = len(rest)
    while length != len(rest) + len(b"%d" % length):
        length = len(rest) + len(b"%d" % length)
    return b"%d" % length + rest


def pax(*pairs, kind=b"x", text=None):
    """An extended header for the next member."""
    if text is None:
        text = b"".join(record(key, value) for key, value in pairs)
    return member(b"PaxHeaders/x", text, kind=kind)


def long_name(name, kind=b"L"):
    """A long name of GNU tar."""
    return member(b"././@LongLink", name + b"\0", kind=kind, magic=GNU)


def gnu_sparse(name, pieces, stored, size, more=(), magic=GNU):
    """A sparse member of GNU tar. more: the pieces of each further block."""
    fields = [(386 + 24 * i, octal(at) + octal(length))
              for i, (at, length) in enumerate(pieces)]
    fields += [(482, b"\1" if more else b"\0"),
               (483, octal(size) if isinstance(size, int) else size)]
    blocks = b""
    for i, listed in enumerate(more):
        text = b"".join(octal(at) + octal(length) for at, length in listed)
        blocks += text.ljust(504, b"\0") + (
            b"\1" if i + 1 < len(more) else b"\0") + bytes(7)
    return header(name, len(stored), kind=b"S", magic=magic,
                  fields=fields) + blocks + padded(stored)


def sparse(version, name, pieces, stored, size):
    """A sparse member of PAX, version 0.0, 0.1 or 1.0."""
    keys = [(b"GNU.sparse.name", name)]
    number = b"%d" % size
    flat = [b"%d" % value for pair in pieces for value in pair]
    if version == "0.0":
        keys = [(b"GNU.sparse.size", number),
                (b"GNU.sparse.numblocks", b"%d" % len(pieces))]
        for at, length in pieces:
            keys += [(b"GNU.sparse.offset", b"%d" % at),
                     (b"GNU.sparse.numbytes", b"%d" % length)]
        return pax(*keys) + member(name, stored)
    if version == "0.1":
        keys += [(b"GNU.sparse.size", number),
                 (b"GNU.sparse.numblocks", b"%d" % len(pieces)),
                 (b"GNU.sparse.map", b",".join(flat))]
        return pax(*keys) + member(b"GNUSparseFile.0/x", stored)
    keys += [(b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0"),
             (b"GNU.sparse.realsize", number)]
    lines = b"\n".join([b"%d" % len(pieces)] + flat) + b"\n"
    return pax(*keys) + member(b"GNUSparseFile.0/x", padded(lines) + stored)
