# SPDX-License-Identifier: BSD-3-Clause
"""Images that name other files: none of them is opened without leave."""
import os

from defects import DEFECTS, Defect, defect
from qcow2_builder import Builder

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
