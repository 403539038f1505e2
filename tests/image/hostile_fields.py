# SPDX-License-Identifier: BSD-3-Clause
"""Headers: fields out of their range, extensions, and names of other files."""
import os
import struct

from defects import DEFECTS, Defect, defect, field_defect
from qcow2_builder import (BACKING_FORMAT, BITMAPS, Builder, DATA_FILE, ENCRYPTION,
                           FEATURE_NAMES, KI)

HUGE32, HUGE64 = 0xffffffff, 0xffffffffffffffff

# name, fields, part of the sentence
ROWS = [
    ("version_0", {"version": 0}, "version 0"),
    ("version_4", {"version": 4}, "version 4"),
    ("version_huge", {"version": HUGE32}, "version 4294967295"),
    ("cluster_bits_0", {"cluster_bits": 0}, "cluster_bits 0"),
    ("cluster_bits_8", {"cluster_bits": 8}, "cluster_bits 8"),
    ("cluster_bits_22", {"cluster_bits": 22}, "cluster_bits 22"),
    ("cluster_bits_64", {"cluster_bits": 64}, "cluster_bits 64"),
    ("cluster_bits_huge", {"cluster_bits": HUGE32}, "cluster_bits 4294967295"),
    ("size_negative", {"size": 1 << 63}, "size 9223372036854775808"),
    ("size_huge", {"size": HUGE64}, "size 18446744073709551615"),
    ("size_beyond_the_l1_table", {"size": 1 << 40}, "l1_size 1 is less than the"),
    ("l1_size_0", {"l1_size": 0}, "l1_size 0 is less than the 1 entry"),
    ("l1_size_huge", {"l1_size": HUGE32}, "l1_size 4294967295 needs more"),
    ("l1_size_past_the_cap", {"l1_size": (32 << 20) // 8 + 1}, "32 MiB"),
    ("l1_size_past_the_end", {"l1_size": 1 << 16}, "L1 table at 0x3000"),
    ("l1_offset_0", {"l1_table_offset": 0}, "L1 table offset is 0"),
    ("l1_unaligned", {"l1_table_offset": 0x3008}, "L1 table offset 0x3008"),
    ("l1_past_the_end", {"l1_table_offset": 1 << 40}, "0x10000000000"),
    ("l1_negative", {"l1_table_offset": 1 << 63}, "0x8000000000000000"),
    ("l1_overflows", {"l1_table_offset": HUGE64 & ~0xfff},
     "0xfffffffffffff000"),
    ("refcount_table_0", {"refcount_table_offset": 0},
     "refcount table offset is 0"),
    ("refcount_table_unaligned", {"refcount_table_offset": 0x1200},
     "refcount table offset 0x1200"),
    ("refcount_table_past_the_end", {"refcount_table_offset": 1 << 50},
     "refcount table at 0x4000000000000"),
    ("refcount_table_overflows", {"refcount_table_offset": HUGE64 & ~0xfff},
     "refcount table at 0xfffffffffffff000"),
    ("refcount_table_empty", {"refcount_table_clusters": 0},
     "refcount_table_clusters is 0"),
    ("refcount_table_huge", {"refcount_table_clusters": HUGE32},
     "refcount_table_clusters 4294967295"),
    ("nb_snapshots_past_the_cap", {"nb_snapshots": 65537},
     "nb_snapshots 65537"),
    ("nb_snapshots_huge", {"nb_snapshots": HUGE32},
     "nb_snapshots 4294967295"),
    ("snapshots_at_0", {"nb_snapshots": 1}, "snapshot table offset is 0"),
    ("snapshots_unaligned", {"nb_snapshots": 1, "snapshots_offset": 0x1001},
     "snapshot table offset 0x1001"),
    ("snapshots_past_the_end", {"nb_snapshots": 1,
                                "snapshots_offset": 1 << 40},
     "snapshot table at 0x10000000000"),
    ("snapshots_negative", {"snapshots_offset": 1 << 63},
     "snapshot table at 0x8000000000000000"),
    ("crypt_method_3", {"crypt_method": 3}, "crypt_method 3"),
    ("luks_without_its_header", {"crypt_method": 2}, "crypt_method 2"),
    ("compression_type_without_its_bit", {"compression_type": 1},
     "compression_type 1 contradicts"),
    ("compression_bit_without_its_type", {"incompatible_features": 8},
     "compression_type 0 contradicts"),
    ("compression_type_2", {"incompatible_features": 8,
                            "compression_type": 2}, "compression_type 2"),
    ("refcount_order_7", {"refcount_order": 7}, "refcount_order 7"),
    ("refcount_order_huge", {"refcount_order": HUGE32},
     "refcount_order 4294967295"),
    ("header_length_0", {"header_length": 0}, "header_length 0"),
    ("header_length_100", {"header_length": 100}, "header_length 100"),
    ("header_length_106", {"header_length": 106}, "header_length 106"),
    ("header_length_past_the_cluster", {"header_length": 4104},
     "header_length 4104"),
    ("header_length_huge", {"header_length": 0xfffffff8},
     "header_length 4294967288"),
    ("raw_data_file_without_data_file", {"autoclear_features": 2},
     "bit 1 of autoclear_features"),
    ("extended_l2_with_small_clusters", {"incompatible_features": 16},
     "cluster_bits 12 is less than 14"),
    ("backing_name_in_the_header", {"backing_file_offset": 64,
                                    "backing_file_size": 4},
     "backing_file_offset 0x40"),
    ("backing_name_past_the_cluster", {"backing_file_offset": 4097,
                                       "backing_file_size": 4},
     "backing_file_offset 0x1001"),
    ("backing_name_past_the_end", {"backing_file_offset": 1 << 62,
                                   "backing_file_size": 4},
     "backing_file_offset 0x4000000000000000"),
    ("backing_name_empty", {"backing_file_offset": 2048,
                            "backing_file_size": 0}, "has 0 bytes"),
    ("backing_name_too_long", {"backing_file_offset": 2048,
                               "backing_file_size": 1024}, "has 1024 bytes"),
    ("backing_name_huge", {"backing_file_offset": 2048,
                           "backing_file_size": HUGE32},
     "has 4294967295 bytes"),
]

for _name, _fields, _part in ROWS:
    field_defect(_name, _fields, _part)

for _bit in (5, 31, 63):
    field_defect(f"unknown_feature_{_bit}",
                 {"incompatible_features": 1 << _bit}, f"bit {_bit}",
                 info=True, check=("unknown_features",))
field_defect("marked_corrupt", {"incompatible_features": 2},
             "is marked corrupt", info=True, check=("corrupt",))
field_defect("encrypted", {"crypt_method": 1}, "is encrypted (aes)",
             info=True, check=("encryption",))
field_defect("data_file_without_name", {"incompatible_features": 4},
             "does not name it", info=True,
             check=("data_file", "well_formed"))
# Bits that may be ignored, by definition.
field_defect("unknown_compatible_and_autoclear_features",
             {"compatible_features": HUGE64 & ~1,
              "autoclear_features": HUGE64 & ~3}, "", info=True, check=())


@defect("first bytes 51 46 49 fc")
def magic_damaged(image, _folder):
    """Opened with -f qcow2 alone."""
    image.fields["magic"] = 0x514649fc


@defect("has 71 bytes, too few for a qcow2 header")
def header_cut_at_71(image, _folder):
    """Shorter than version 2."""
    image.length = 71


@defect("has 103 bytes, too few for a qcow2 header")
def header_cut_at_103(image, _folder):
    """Shorter than version 3."""
    image.length = 103


@defect("L1 table at 0x3000")
def only_the_header(image, _folder):
    """Nothing but zeros would be read."""
    image.length = 112


@defect("header extension 0x11223344 at 0x70 has 4294967295 bytes")
def extension_huge(image, _folder):
    """Its length overflows 32 bits with its head."""
    image.body[112] = struct.pack(">II", 0x11223344, HUGE32)


@defect("header extension 0x11223344 at 0x70 has 3977 bytes")
def extension_passes_the_cluster(image, _folder):
    """By a byte."""
    image.body[112] = struct.pack(">II", 0x11223344, 4096 - 120 + 1)


@defect("extends past the end of the header at 0xc00")
def extension_passes_the_backing_name(image, _folder):
    """Two fields in one place."""
    image.backing(b"decoy")
    image.extensions.append((0x11223344, bytes(4096 - 1024)))


@defect("", info=True, check=())
def extensions_by_the_hundred(image, _folder):
    """Unknown ones are harmless."""
    image.extensions = [(0x11223344, b"")] * 490


@defect("header has two extensions: backing file format")
def backing_format_twice(image, _folder):
    """Two readers could take one each."""
    image.backing(b"decoy")
    image.extensions.append((BACKING_FORMAT, b"qcow2"))


@defect("backing file format has 16 bytes")
def backing_format_long(image, _folder):
    """QEMU takes 15."""
    image.extensions.append((BACKING_FORMAT, b"q" * 16))


@defect("backing file format contains a zero byte")
def backing_format_with_zero(image, _folder):
    """Two readers could end it at different places."""
    image.extensions.append((BACKING_FORMAT, b"raw\0qcow2"))


@defect("backing file name contains a zero byte")
def backing_name_with_zero(image, _folder):
    """The same."""
    image.backing(b"/dev/null\0x")


@defect("header has two extensions: external data file name")
def data_file_twice(image, _folder):
    """The same for the data."""
    image.data_file(b"decoy")
    image.extensions.append((DATA_FILE, b"other"))


@defect("external data file name has 1024 bytes")
def data_file_name_long(image, _folder):
    """One more than the format allows."""
    image.data_file(b"d" * 1024)


@defect("feature name table has 47 bytes")
def feature_names_cut(image, _folder):
    """A row has 48."""
    image.extensions.append((FEATURE_NAMES, bytes(47)))


@defect("header has two extensions: feature name table")
def feature_names_twice(image, _folder):
    """Of two tables, one would lie."""
    image.extensions += [(FEATURE_NAMES, bytes(48))] * 2


@defect("incompatible feature '\\x1b[2J" + "x" * 42 + "' (bit 9)", info=True,
        check=("unknown_features",))
def feature_name_for_the_terminal(image, _folder):
    """Control characters do not reach it."""
    image.extensions.append((FEATURE_NAMES, b"\0\x09\x1b[2J" + b"x" * 42))
    image.fields["incompatible_features"] = 1 << 9


@defect("pointer to the encryption header has 8 bytes")
def encryption_pointer_short(image, _folder):
    """The extension has 16."""
    image.fields["crypt_method"] = 2
    image.extensions.append((ENCRYPTION, bytes(8)))


@defect("is encrypted (luks)", info=True,
        check=("encryption", "well_formed"))
def encryption_header_past_the_end(image, _folder):
    """Encryption is refused in any case."""
    image.fields["crypt_method"] = 2
    image.extensions.append((ENCRYPTION, struct.pack(">QQ", 1 << 60, KI)))


@defect("", info=True, check=("bitmaps",))
def bitmaps_huge(image, _folder):
    """Bitmaps are no part of the disk."""
    image.fields["autoclear_features"] = 1
    image.extensions.append((BITMAPS, struct.pack(
        ">IIQQ", HUGE32, 0, HUGE64, HUGE64 & ~0xfff)))


@defect("", info=True, check=("bitmaps", "refcounts"))
def bitmap_directory_of_64_mib(image, _folder):
    """In a hole of the file: entries of zeros."""
    image.fields["autoclear_features"] = 1
    image.extensions.append((BITMAPS, struct.pack(
        ">IIQQ", 65535, 0, 64 << 20, 1 << 20)))
    image.length = 66 << 20


# Images that name other files: none of them is opened without leave.
ALLOW = ("--allow-backing", "{folder}")
ALLOW_DATA = ("--allow-data-file", "{folder}")
BACKED, DATA = ("backing_file",), ("data_file",)


def names(name, part, prefix=b"", suffix=b"", fmt=b"raw", allow=()):
    """An image whose backing file is the decoy, under some name."""
    def make(image, folder):
        path = prefix.replace(b"FOLDER", os.fsencode(folder)) + suffix
        image.backing(path, fmt)
    DEFECTS[name] = Defect(make, part, info=True, check=BACKED, decoy=True,
                           options=allow)


names("backing_absolute", "is not opened without --allow-backing",
      b"FOLDER/", b"decoy")
names("backing_relative", "is not opened without --allow-backing", b"decoy")
names("backing_above", "is not opened without --allow-backing",
      b"../", b"decoy")
names("backing_passwd", "its backing_file '/etc/passwd' is not opened",
      b"/etc/passwd")
names("backing_json", "begins with a protocol",
      b'json:{"driver":"raw","file.filename":"FOLDER/', b'decoy"}',
      allow=ALLOW)
names("backing_protocol", "begins with a protocol", b"file:FOLDER/decoy",
      allow=ALLOW)
names("backing_file_url", "begins with a protocol", b"file://FOLDER/decoy",
      allow=ALLOW)
names("backing_nbd", "begins with a protocol", b"nbd://127.0.0.1:1/x",
      allow=ALLOW)
names("backing_outside", "is not below the allowed directory", b"/etc/passwd",
      allow=ALLOW)
names("backing_climbs_out", "is not below the allowed directory",
      b"FOLDER/../../../../../../../../etc/", b"passwd", allow=ALLOW)
names("backing_format_vdi", "'vdi' is not qcow2, vmdk, vpc or raw", b"small",
      fmt=b"vdi", allow=ALLOW)
names("backing_format_vmdk", "too few for a VMDK header", b"small", fmt=b"vmdk",
      allow=ALLOW)
names("backing_format_vpc", "too few for the footer of a VHD", b"small",
      fmt=b"vpc", allow=ALLOW)
names("backing_format_gce", "'gce' is not qcow2, vmdk, vpc or raw", b"small",
      fmt=b"gce", allow=ALLOW)
names("backing_without_format", "the image has no backing_format",
      b"small", fmt=None, allow=ALLOW)
names("backing_is_absent", "No such file", b"absent", allow=ALLOW)
names("backing_is_the_directory", "is not below the allowed directory", b".",
      allow=ALLOW)
names("backing_is_a_device", "is not below the allowed directory", b"/dev/zero",
      allow=ALLOW)


@defect("is not a regular file", info=True, check=BACKED, options=ALLOW,
        decoy=True)
def backing_is_a_fifo(image, _folder):
    """Opening it would wait for ever; the decoy is one."""
    image.backing(b"decoy")


@defect("is not a regular file", info=True, check=BACKED, options=ALLOW)
def backing_is_a_directory(image, folder):
    """Neither is a socket."""
    (folder / "folder").mkdir()
    image.backing(b"folder")


@defect("is not below the allowed directory", info=True, check=BACKED,
        options=ALLOW)
def backing_through_a_symlink(image, folder):
    """Out of the directory that is allowed."""
    (folder / "link").symlink_to("/etc")
    image.backing(b"link/passwd")


@defect("the chain is a loop", info=True, check=BACKED, options=ALLOW)
def backing_is_itself(image, _folder):
    """A loop of one."""
    image.backing(b"image.qcow2", b"qcow2")


@defect("the chain is a loop", info=True, check=BACKED, options=ALLOW)
def backing_loop_of_three(image, folder):
    """The last one names the first."""
    image.backing(b"b.qcow2", b"qcow2")
    for name, other in ("b", b"c.qcow2"), ("c", b"image.qcow2"):
        below = Builder()
        below.backing(other, b"qcow2")
        below.write(folder / f"{name}.qcow2")


@defect("the chain is a loop", info=True, check=BACKED, options=ALLOW)
def backing_loop_of_hard_links(image, folder):
    """Another name of the same file."""
    below = Builder()
    below.backing(b"c.qcow2", b"qcow2")
    below.write(folder / "b.qcow2")
    os.link(folder / "b.qcow2", folder / "c.qcow2")
    image.backing(b"b.qcow2", b"qcow2")


@defect("is file 65 of the chain", info=True, check=BACKED, options=ALLOW)
def backing_chain_of_100(image, folder):
    """Each costs a descriptor."""
    image.backing(b"1.qcow2", b"qcow2")
    for depth in range(1, 100):
        below = Builder()
        below.backing(b"%d.qcow2" % (depth + 1), b"qcow2")
        below.write(folder / f"{depth}.qcow2")


@defect("l1_size 4294967295 needs more", info=True, check=BACKED, options=ALLOW)
def backing_is_hostile(image, folder):
    """The sentence is about that file."""
    below = Builder()
    below.fields["l1_size"] = 0xffffffff
    below.write(folder / "below.qcow2")
    image.backing(b"below.qcow2", b"qcow2")


@defect("is not opened without --allow-data-file", info=True, check=DATA,
        decoy=True)
def data_file_named(image, _folder):
    """The bytes of the disk would be those of any file."""
    image.data_file(b"decoy")


@defect("is not opened without --allow-data-file", info=True, check=DATA)
def data_file_passwd(image, _folder):
    """CVE-2024-32498."""
    image.data_file(b"/etc/passwd")


@defect("begins with a protocol", info=True, check=DATA, options=ALLOW_DATA,
        decoy=True)
def data_file_json(image, _folder):
    """The same by way of QEMU's own words."""
    image.data_file(b'json:{"driver":"file","filename":"decoy"}')


@defect("is not a regular file", info=True, check=DATA, options=ALLOW_DATA,
        decoy=True)
def data_file_is_a_fifo(image, _folder):
    """The decoy is one."""
    image.data_file(b"decoy")


@defect("is not below the allowed directory", info=True, check=DATA,
        options=ALLOW_DATA)
def data_file_outside(image, _folder):
    """Of the directory that is allowed."""
    image.data_file(b"/etc/passwd")


@defect("data cluster of guest offset 0x0 at 0x0 with 4096 bytes lies past",
        info=True, check=DATA, options=ALLOW_DATA)
def data_file_too_short(image, folder):
    """Zeros would be read."""
    (folder / "short").write_bytes(b"x" * 4095)
    image.data_file(b"short")


@defect("has an offset that differs from the guest offset", info=True,
        check=("data_file", "well_formed"), options=ALLOW_DATA)
def data_file_with_other_places(image, folder):
    """Offsets in it are those of the disk."""
    (folder / "data").write_bytes(bytes(1 << 20))
    image.data_file(b"data")
    image.l2(2, 0x3000 | 1 << 63)


@defect("is compressed, but the image has an external data file", info=True,
        check=("data_file", "well_formed"), options=ALLOW_DATA)
def data_file_and_compression(image, folder):
    """They exclude each other."""
    (folder / "data").write_bytes(bytes(1 << 20))
    image.data_file(b"data")
    image.pack(4, 0x9000, b"x")
