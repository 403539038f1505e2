# SPDX-License-Identifier: BSD-3-Clause
"""Archives that are refused, each with a part of its message."""
from tar_builder import (BLOCK, END, GNU, OLD, binary, gnu_sparse, header,
                         long_name, member, octal, pax, record, sparse)

DATA = bytes(range(1, 256)) * 2 + b"\1\2"
DISK = member(b"disk.raw", DATA)
BIG = (1 << 63) - 1


def text_map(text, stored=DATA, size=4096):
    """A sparse member of version 1.0 with these lines."""
    text += bytes(-len(text) % BLOCK)
    return pax((b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0"),
               (b"GNU.sparse.name", b"disk.raw"),
               (b"GNU.sparse.realsize", b"%d" % size)) + member(
                   b"GNUSparseFile.0/disk.raw", text + stored)


def sized(size):
    """A member whose size field has these bytes."""
    return header(b"disk.raw", size) + DATA


def keys(*pairs):
    """A member behind these records."""
    return pax(*pairs) + DISK


CUT = "the file is not complete"
ORDER = "has pieces that overlap or are not in order"
NUMBER = "is not a number"
SUM = "has another number of bytes than the archive"
PAST = "passes the end of the member"
RECORD = "has a record whose length is wrong"
LARGEST = "passes the largest file size"

HOSTILE = {
    # headers
    "no bytes": (b"", CUT),
    "text": (b"text\n" * 200, "is not a tar archive"),
    "zeros before text": (bytes(32768) + b"text\n" * 200,
                          "is not a tar archive: the header at offset 0 is "
                          "empty"),
    "half a header": (DISK[:300], CUT),
    "wrong checksum": (header(b"disk.raw", 512, checksum=b"000001\0 ") + DATA,
                       "is not a tar archive"),
    "checksum of blanks": (header(b"disk.raw", 512, checksum=b" " * 8) + DATA,
                           "is not a tar archive"),
    "second header damaged": (DISK + header(b"b", 0, checksum=b"000001\0 "),
                              "has a wrong checksum"),
    "other data at the end": (DISK + END + b"more", "is not zero"),
    "header at the end": (DISK + END + DISK, "is not zero"),
    "other data far behind": (DISK + END + bytes(200000) + b"more", "is not zero"),
    "one zero block, a member": (DISK + bytes(BLOCK) + DISK, "is not zero"),
    "one zero block": (DISK + bytes(BLOCK), CUT),
    "no end": (DISK, CUT),
    "no data": (DISK[:BLOCK], CUT),
    "half a padding": (member(b"disk.raw", b"a")[:600], CUT),
    "no name": (header(b"", 0) + END, "has no name"),
    # sizes
    "size of letters": (sized(b"0000000100x\0"), NUMBER),
    "size of digits 8": (sized(b"00000000089\0"), NUMBER),
    "size with a sign": (sized(b"-0000000001\0"), NUMBER),
    "size -1": (sized(binary(-1)), NUMBER),
    "size -512": (sized(binary(-512)), NUMBER),
    "size of the lowest number and 512": (
        sized(b"\xff" + (512).to_bytes(11, "big")) + END, NUMBER),
    "size 2^63": (sized(binary(1 << 63)), NUMBER),
    "size 2^87": (sized(binary(1 << 87)), NUMBER),
    "size 2^63-1": (sized(binary(BIG)), LARGEST),
    "size 2^63-512": (sized(binary(BIG - 511)), LARGEST),
    "size 2^62": (sized(binary(1 << 62)), CUT),
    "size 2^33": (sized(octal((1 << 33) - 1)), CUT),
    "size 2^62 of another": (header(b"a", binary(1 << 62)) + END, CUT),
    "pax size 2^64": (keys((b"size", b"18446744073709551616")), NUMBER),
    "pax size 2^63": (keys((b"size", b"9223372036854775808")), NUMBER),
    "pax size -1": (keys((b"size", b"-1")), NUMBER),
    "pax size empty": (keys((b"size", b"")), NUMBER),
    "pax size twice": (keys((b"size", b"512"), (b"size", b"512")),
                       "has the same number twice"),
    "pax size too large": (keys((b"size", b"5120")) + END, CUT),
    # extended headers
    "pax of 1 TiB": (header(b"x", binary(1 << 40), kind=b"x") + DATA, "is too long"),
    "pax of 9 MiB": (header(b"x", 9 << 20, kind=b"x") + bytes(9 << 20), "is too long"),
    "global pax of 1 TiB": (header(b"x", binary(1 << 40), kind=b"g") + DATA,
                            "is too long"),
    "long name of 1 GiB": (header(b"x", 1 << 30, kind=b"L", magic=GNU), "is too long"),
    "long link of 2^62": (header(b"x", binary(1 << 62), kind=b"K", magic=GNU),
                          "is too long"),
    "pax cut": (pax((b"path", b"disk.raw"))[:600], CUT),
    "two pax": (pax((b"path", b"disk.raw")) + keys((b"size", b"512")),
                "is the second one of a member"),
    "two long names": (long_name(b"disk.raw") * 2 + DISK,
                       "is the second one of a member"),
    "pax and long name": (pax((b"path", b"a.raw")) + long_name(b"b.raw") +
                          DISK, "has two names"),
    "pax, no member": (pax((b"path", b"disk.raw")) + END, "is followed by no member"),
    "long name, no member": (long_name(b"disk.raw") + END, "is followed by no member"),
    "empty long name": (long_name(b"") + DISK, "has an empty name"),
    "empty path": (keys((b"path", b"")), "has an empty name"),
    "path with NUL": (keys((b"path", b"disk.raw\0.txt")), "NUL byte"),
    "two paths": (keys((b"path", b"a.raw"), (b"path", b"b.raw")), "has two names"),
    "record without length": (pax(text=b"path=disk.raw\n") + DISK, RECORD),
    "record of length 0": (pax(text=b"0 path=a\n") + DISK, RECORD),
    "record too long": (pax(text=b"99 path=a\n") + DISK, RECORD),
    "record too short": (pax(text=b"5 path=a\n") + DISK, RECORD),
    "record of length 2^64": (pax(text=b"18446744073709551625 path=a\n") +
                              DISK, RECORD),
    "record without equals": (pax(text=b"8 path \n") + DISK,
                              "has a record without a key"),
    "zeros behind records": (pax(text=record(b"path", b"a") + bytes(9)) + DISK, RECORD),
    "global path": (pax((b"path", b"disk.raw"), kind=b"g") + DISK,
                    "has a name or a size for all members"),
    "global size": (pax((b"size", b"1"), kind=b"g") + DISK,
                    "has a name or a size for all members"),
    # maps
    "map not in order": (gnu_sparse(b"disk.raw", [(1024, 512), (0, 512)],
                                    DATA * 2, 4096), ORDER),
    "map that overlaps": (gnu_sparse(b"disk.raw", [(0, 1024), (512, 512)],
                                     DATA * 3, 4096), ORDER),
    "map past the size": (gnu_sparse(b"disk.raw", [(4096, 512)], DATA, 4096), PAST),
    "map of 2^63": (gnu_sparse(b"disk.raw", [], DATA, 4096) and header(
        b"disk.raw", 512, kind=b"S", magic=GNU, fields=[
            (386, binary(BIG - 511) + binary(512)), (483, binary(BIG))]) +
        DATA, LARGEST),
    "map with too few bytes": (gnu_sparse(b"disk.raw", [(0, 512)], DATA * 2,
                                          4096), SUM),
    "map with too many bytes": (gnu_sparse(b"disk.raw", [(0, 1024)], DATA, 4096), SUM),
    "no map": (gnu_sparse(b"disk.raw", [], DATA, 4096), SUM),
    "map of letters": (header(b"disk.raw", 512, kind=b"S", magic=GNU,
                              fields=[(386, b"x" * 24), (483, octal(512))]) +
                       DATA, NUMBER),
    "real size of letters": (gnu_sparse(b"disk.raw", [(0, 512)], DATA,
                                        b"x" * 12), NUMBER),
    "map cut": (gnu_sparse(b"disk.raw", [(n * 1024, 512) for n in range(4)],
                           b"", 8192, more=[[(4096, 512)]])[:700], CUT),
    "map goes on after its end": (gnu_sparse(b"disk.raw", [], DATA, 4096,
                                             more=[[(0, 512)]]),
                                  "at offset 512 goes on after its end"),
    "map cut after its end": (gnu_sparse(b"disk.raw", [], DATA, 4096,
                                         more=[[(0, 512)]])[:512],
                              "at offset 512 goes on after its end"),
    "odd piece": (gnu_sparse(b"disk.raw", [(0, 100), (512, 412)], DATA, 4096),
                  "not a multiple of 512"),
    "sparse of POSIX": (gnu_sparse(b"disk.raw", [(0, 512)], DATA, 4096,
                                   magic=OLD), "is not one of GNU tar"),
    "0.0 not in order": (sparse("0.0", b"disk.raw", [(1024, 512), (0, 512)],
                                DATA * 2, 4096), ORDER),
    "0.1 past the size": (sparse("0.1", b"disk.raw", [(4096, 512)], DATA, 4096), PAST),
    "0.1 half a pair": (pax((b"GNU.sparse.name", b"disk.raw"),
                            (b"GNU.sparse.size", b"4096"),
                            (b"GNU.sparse.numblocks", b"1"),
                            (b"GNU.sparse.map", b"0,512,9")) + DISK, NUMBER),
    "0.1 wrong count": (pax((b"GNU.sparse.name", b"disk.raw"),
                            (b"GNU.sparse.size", b"4096"),
                            (b"GNU.sparse.numblocks", b"5"),
                            (b"GNU.sparse.map", b"0,512")) + DISK,
                        "has another number of pieces than it says"),
    "0.0 length without offset": (keys((b"GNU.sparse.size", b"4096"),
                                       (b"GNU.sparse.numbytes", b"512")),
                                  "without an offset"),
    "sparse without a size": (keys((b"GNU.sparse.major", b"1")),
                              "has no size of the file"),
    "version 2.0": (keys((b"GNU.sparse.major", b"2"), (b"GNU.sparse.realsize", b"9")),
                    "has a version that is not known"),
    "unknown sparse key": (keys((b"GNU.sparse.depth", b"2")),
                           "a key GNU.sparse that is not known"),
    "star": (keys((b"SCHILY.realsize", b"4096")), "a sparse file of star"),
    "1.0 overlap": (sparse("1.0", b"disk.raw", [(0, 512), (256, 512)],
                           DATA * 2, 4096), ORDER),
    "1.0 no lines": (text_map(b"", b""), NUMBER),
    "1.0 letters": (text_map(b"x\n"), NUMBER),
    "1.0 long line": (text_map(b"1" * 40 + b"\n"), NUMBER),
    "1.0 too few lines": (text_map(b"3\n0\n512\n"), NUMBER),
    "1.0 count of 2^62": (text_map(b"%d\n" % (1 << 62)), NUMBER),
    "1.0 past the size": (text_map(b"1\n4000\n512\n"), PAST),
    "1.0 longer than the member": (text_map(b"1\n0\n512", b""), NUMBER),
    "two maps": (pax((b"GNU.sparse.map", b"0,512"),
                     (b"GNU.sparse.map", b"0,512")) + DISK,
                 "has two sparse maps"),
    "sparse directory": (pax((b"GNU.sparse.size", b"4096")) +
                         header(b"d", kind=b"5") + END,
                         "is not that of a file"),
    # kinds
    "link with bytes": (member(b"a", DATA, kind=b"1") + DISK, "has bytes"),
    "symbolic link with bytes": (member(b"a", DATA, kind=b"2") + DISK, "has bytes"),
    "device with bytes": (member(b"a", DATA, kind=b"3") + DISK, "has bytes"),
    "directory with bytes": (member(b"a/", DATA, kind=b"5") + DISK, "has bytes"),
    "continued": (member(b"a", DATA, kind=b"M", magic=GNU) + DISK,
                  "goes on from another archive"),
    "old long names": (member(b"a", DATA, kind=b"N", magic=GNU) + DISK,
                       "an old form of long names"),
    # members
    "nothing": (END, "has no member with the suffix of an image"),
    "no image": (member(b"note.txt", DATA) + END,
                 "has no member with the suffix of an image"),
    "only a link": (header(b"disk.raw", kind=b"2") + END,
                    "has no member with the suffix of an image"),
    "only a hidden file": (member(b"._disk.raw", DATA) + END,
                           "has no member with the suffix of an image"),
    "two images": (DISK + member(b"b.qcow2", DATA) + END,
                   "has two images, 'disk.raw' and 'b.qcow2'"),
    "the same name twice": (DISK + DISK + END, "has two members of the name"),
    "the same name, a link": (DISK + header(b"./disk.raw", kind=b"2") + END,
                              "has two members of the name"),
}
