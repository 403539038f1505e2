# SPDX-License-Identifier: BSD-3-Clause
"""VMDK images of QEMU and of other writers are read as QEMU reads them."""
import os
import random
import resource
import struct
import subprocess

import pytest

import qemu
from checks import verdict
from harness import piped
from qemu import KI, MI, GI, SECTOR, holey
from test_vmdk_hostile import with_text
from vmdk_builder import AT_END, ENTRIES, GRAIN, Builder, marker, sectors

SPARSE = ["monolithicSparse", "streamOptimized"]
SPLIT = ["monolithicFlat", "twoGbMaxExtentSparse", "twoGbMaxExtentFlat"]
SIZES = [1, SECTOR, 700, 64 * KI, 64 * KI + SECTOR, 3 * MI + 3 * SECTOR,
         40 * MI - SECTOR]
OPTIONS = ["adapter_type=lsilogic", "adapter_type=buslogic",
           "adapter_type=legacyESX", "compat6=on", "hwversion=13",
           "toolsversion=12345", "zeroed_grain=on"]


def make(work, size, kind, *options, seed=1):
    """An image of QEMU, with the raw disk that it has."""
    raw, image = work / "disk.raw", work / "disk.vmdk"
    qemu.pattern_file(raw, size, seed)
    words = ",".join([f"subformat={kind}", *options])
    qemu.img("convert", "-f", "raw", "-O", "vmdk", "-o", words, raw, image)
    # QEMU rounds the size up.
    os.truncate(raw, -(-size // SECTOR) * SECTOR)
    return raw, image


def same(hone, work, image, raw, *options):
    """The command reads the raw disk from the image."""
    out = work / "out.raw"
    hone.ok("convert", "-q", "--force", *options, image, out)
    assert qemu.first_difference(out, raw) is None
    assert out.stat().st_size == raw.stat().st_size
    hone.ok("compare", *options, image, "-F", "raw", raw)


@pytest.mark.parametrize("kind", SPARSE)
@pytest.mark.parametrize("size", SIZES)
def test_what_qemu_wrote_is_read_back(hone, work, kind, size):
    """Disks from one sector on, with every kind of grain at their end."""
    raw, image = make(work, size, kind)
    same(hone, work, image, raw)
    safe, failed, found = verdict(hone, image)
    assert safe, failed
    assert [each["name"] for each in found["checks"]] == [
        "polyglot", "well_formed", "descriptor", "overlaps"]
    info = hone.json("info", "--json", image)
    assert (info["format"], info["virtual_size"]) == ("vmdk", raw.stat().st_size)
    assert info["subformat"] == kind and info["cluster_size"] == 64 * KI
    assert info.get("compression_type") == (
        "zlib" if kind == "streamOptimized" else None)
    theirs = qemu.info_of(image)["format-specific"]["data"]
    assert int(info["cid"], 16) == theirs["cid"]


@pytest.mark.parametrize("kind", SPARSE)
def test_a_disk_without_any_sector(hone, work, kind):
    """QEMU makes one, which it does not read itself."""
    raw, image = work / "disk.raw", work / "disk.vmdk"
    raw.write_bytes(b"")
    qemu.img("create", "-q", "-f", "vmdk", "-o", f"subformat={kind}", image, 0)
    same(hone, work, image, raw)
    info = hone.json("info", "--json", image)
    assert (info["virtual_size"], info["subformat"]) == (0, kind)
    assert hone.json("map", "--json", image) == []
    safe, failed, _ = verdict(hone, image)
    assert safe, failed


# Every option with one of the two kinds, and every kind of split image once.
@pytest.mark.parametrize("kind, option", [
    *zip(SPARSE * len(OPTIONS), OPTIONS), *zip(SPLIT, OPTIONS[3:])])
def test_the_options_of_qemu_change_nothing_for_a_reader(hone, work, kind, option):
    raw, image = make(work, 2 * MI, kind, option)
    if kind in SPARSE:
        same(hone, work, image, raw)
        assert verdict(hone, image)[0]
    else:
        same(hone, work, image, raw, "--allow-data-file", work)


@pytest.mark.parametrize("kind", SPLIT)
def test_files_that_a_descriptor_names_are_read_where_they_are_allowed(
        hone, work, kind):
    """Extents of 2 GiB: the disk has two of them."""
    size = 2 * GI + 5 * MI if kind != "monolithicFlat" else 5 * MI
    raw, image = work / "disk.raw", work / "disk.vmdk"
    qemu.pattern_file(raw, 3 * MI, 4)
    with open(raw, "r+b") as file:
        file.truncate(size)
        file.seek(size - MI)
        file.write(b"the end " * 1000)
    qemu.img("convert", "-f", "raw", "-O", "vmdk", "-o", f"subformat={kind}",
             raw, image)
    line = hone.fails("convert", image, work / "out.raw")
    assert "is not opened without --allow-data-file DIR" in line
    assert not (work / "out.raw").exists()
    other = work / "other"
    other.mkdir()
    hone.fails("convert", "--allow-data-file", other, image, work / "out.raw")
    hone.ok("compare", "--allow-data-file", work, image, "-F", "raw", raw)
    info = hone.json("info", "--json", image)
    assert (info["subformat"], info["virtual_size"]) == (kind, size)
    _, failed, _ = verdict(hone, image)
    names = "; a safe image names no other file"
    assert names in failed["descriptor"]
    assert names in hone.fails("convert", "--untrusted", "--allow-data-file",
                               work, image, work / "out.raw", code=3)


def test_the_files_of_a_descriptor_have_the_length_that_it_says(hone, work):
    for kind in SPLIT:
        _, image = make(work, 3 * MI, kind)
        name = next(each for each in os.listdir(work) if each.startswith("disk-"))
        text = image.read_text(encoding="utf-8")
        image.write_text(text.replace("RW 6144", "RW 6145"), encoding="utf-8")
        line = hone.fails("map", "--allow-data-file", work, image, code=3)
        assert f"{name}: has " in line, line
        assert ("3145728 bytes, and" if kind.endswith("Flat")
                else "6144 sectors, and") in line, line
        for each in os.listdir(work):
            os.unlink(work / each)


# The status is 1 if the descriptor is not damaged.
@pytest.mark.parametrize("text, part, status", [(*row, 3)[:3] for row in [
    ('RW 8 SESPARSE "a.vmdk"', "type SESPARSE, which is not supported", 1),
    ('RW 8 VMFSSPARSE "a.vmdk"', "type VMFSSPARSE, which is not", 1),
    ('RW 8 VMFSRAW "a.vmdk"', "type VMFSRAW, which is not supported", 1),
    ('RW 8 FLAT "nbd:localhost:1"', "begins with a protocol", 1),
    ('RW 8 FLAT "/etc/hostname"', "/etc/hostname", 1),
    ('RW 8 FLAT "../passwd"', "passwd", 1),
    ('RW 8 FLAT "fifo"', "fifo", 1),
    ('RW 8 FLAT', "is not understood"),
    ('RW 8 FLAT a.vmdk', "is not understood"),
    ('RW 9999999999999999999 ZERO', "is not understood"),
    ('RW 9007199254740992 ZERO\nRW 9007199254740992 ZERO\n' * 2, "too many sectors"),
    ("RW 1 ZERO\n" * 4097, "more than 4096 extents, which are 8 TiB in", 1),
    ("", "has no extents"),
    ("parentFileNameHint=\"b.vmdk\"\nRW 8 ZERO", "a parent 'b.vmdk'", 1),
    ("parentCID=12345678\nRW 8 ZERO", "parentCID 12345678 refers to", 1),
    ("parentCID=ffffffff\nparentCID=ffffffff\n", "a second parentCID"),
    ("createType=\"x\"\ncreateType=\"y\"\n", "a second createType"),
    ("CID=g\nRW 8 ZERO", "CID 'g' of its descriptor is not a hexadecimal"),
    ("NOACCESS 8 ZERO\n", "line 4 of its descriptor is not underst"),
    ('RW\t8\tFLAT x\n', "line 4 of its descriptor is not understood"),
    ("caf\xe9=1\n", "has the byte 0xe9 at offset"),
]])
def test_a_descriptor_that_is_refused(hone, work, text, part, status):
    """By every command, with one sentence. An open() of the FIFO would wait."""
    os.mkfifo(work / "fifo")
    (work / "a.vmdk").write_bytes(bytes(8 * SECTOR))
    folder = work / "image"
    folder.mkdir()
    image = folder / "disk.vmdk"
    image.write_bytes(b"# Disk DescriptorFile\nversion=1\n\n" + text.encode("latin-1"))
    os.mkfifo(folder / "fifo")
    for words in ("map",), ("convert", "-O", "raw"):
        out = [work / "out.raw"] if words[0] == "convert" else []
        line = hone.fails(*words, "--allow-data-file", folder, image, *out,
                          code=status)
        assert part in line, line
    assert not (work / "out.raw").exists()


def test_extents_of_zeros_need_no_file(hone, work):
    image = work / "disk.vmdk"
    image.write_text("# Disk DescriptorFile\nversion=1\n"
                     "RW 100 ZERO\nRW 0 ZERO\nRW 1 ZERO\n", encoding="ascii")
    (work / "zero").write_bytes(bytes(101 * SECTOR))
    same(hone, work, image, work / "zero")


def test_a_descriptor_names_more_files_than_the_soft_limit(hone, work):
    """It is raised. The disk of 2,100 GiB of twoGbMaxExtentSparse has 1,050
    files."""
    count, image, out = 1050, work / "disk.vmdk", work / "out.raw"
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count + 50:
        pytest.skip(f"the hard limit of open files is {hard}")
    lines = ["# Disk DescriptorFile", "version=1"]
    for i in range(count):
        (work / f"{i}.bin").write_bytes(f"{i:512}".encode())
        lines.append(f'RW 1 FLAT "{i}.bin" 0')
    image.write_text("\n".join(lines), encoding="ascii")
    words = [hone.path, "convert", "-q", "--allow-data-file", work, image, out]
    done = subprocess.run(["prlimit", "--nofile=100:1000", *words],
                          check=False, stderr=subprocess.PIPE)
    assert done.returncode == 1 and not out.exists()
    assert (b"names 1050 files, and the hard limit of open files (ulimit "
            b"-Hn) is 1000") in done.stderr
    subprocess.run(["prlimit", "--nofile=100:", *words], check=True)
    assert out.read_bytes() == b"".join(f"{i:512}".encode() for i in range(count))


def test_the_grain_directories_of_all_extents_have_a_limit(hone, work):
    """A small descriptor may name one sparse file often."""
    entries = 5 << 18
    capacity = entries * ENTRIES * GRAIN
    file = Builder()
    file.header = {"capacity": capacity, "gd": 200}
    os.truncate(file.write(work / "a.vmdk"), 200 * SECTOR + 4 * entries)
    image = work / "disk.vmdk"
    line = f'RW {capacity} SPARSE "a.vmdk"\n'
    head = "# Disk DescriptorFile\nversion=1\n"
    image.write_text(head + line, encoding="ascii")
    hone.ok("map", "--allow-data-file", work, image)
    image.write_text(head + 2 * line, encoding="ascii")
    said = hone.fails("map", "--allow-data-file", work, image)
    assert "would have more than 2097152 entries" in said, said


@pytest.mark.parametrize("packed, footer", [
    (False, False), (True, False), (True, True)])
def test_tables_behind_the_grains(hone, work, packed, footer):
    """As VMware writes streamOptimized, and with a footer."""
    rng = random.Random(5)
    size = (3 * ENTRIES * GRAIN - 100) * SECTOR
    image = Builder(size // SECTOR, packed, footer)
    for number in (0, 1, 5, 511, 512, 1024, 1535):
        data = rng.randbytes(1000) * 66
        image.grains[number] = data[:min(GRAIN * SECTOR,
                                         size - number * GRAIN * SECTOR)]
    # Neighbours of the disk are no neighbours in the file.
    image.order = lambda grains: [1, 0, 5, 511, 512, 1024, 1535]
    path = image.write(work / "disk.vmdk")
    raw = holey(work / "disk.raw", size, *(
        (number * GRAIN * SECTOR, data) for number, data in image.grains.items()))
    same(hone, work, path, raw)
    qemu.img("compare", "-f", "vmdk", "-F", "raw", path, raw)
    safe, failed, _ = verdict(hone, path)
    assert safe, failed


def test_a_grain_that_is_marked_as_zeros(hone, work):
    image = Builder()
    image.header["flags"] = 1 | 4
    image.grains = {0: b"x" * GRAIN * SECTOR}
    image.entries = {(0, 2): 1}
    path = image.write(work / "disk.vmdk")
    raw = work / "disk.raw"
    raw.write_bytes((b"x" * GRAIN * SECTOR).ljust(8 * GRAIN * SECTOR, b"\0"))
    same(hone, work, path, raw)
    assert "zero_cluster" in str(hone.json("map", "--json", path))


@pytest.mark.parametrize("lacks", [(), (0,), (31, 33), (5, 32, 69)])
def test_tables_apart_and_adjacent(hone, work, lacks):
    """The command reads 32 tables at a time if they are adjacent."""
    image = Builder(70 * ENTRIES * GRAIN)
    image.header["flags"] = 1 | 4
    image.entries = {(table, 7 * table): 1 for table in range(70) if table not in lacks}
    found = hone.json("map", "--json", image.write(work / "disk.vmdk"))
    assert [each["offset"] for each in found if "zero_cluster" in each] == [
        (table * ENTRIES + entry) * GRAIN * SECTOR
        for table, entry in image.entries]


def test_a_disk_past_2_tib(hone, work):
    """The last sectors of a disk of 3 TiB; its tables are holes."""
    image, size = work / "disk.vmdk", 3 << 40
    qemu.img("create", "-q", "-f", "vmdk", image, size)
    subprocess.run(
        ["qemu-io", "-f", "vmdk", "-c", f"write -P 7 {size - SECTOR} 512",
         "-c", "write -P 8 0 64k", str(image)], check=True,
        stdout=subprocess.DEVNULL)
    copy = work / "disk.qcow2"
    hone.ok("convert", "-q", image, copy)
    # A comparison by QEMU takes minutes.
    done = qemu.run("qemu-io", "-r", "-f", "qcow2",
                    "-c", f"read -P 7 {size - SECTOR} 512",
                    "-c", "read -P 8 0 64k", "-c", "read -P 0 64k 64k", copy)
    assert done.count(b" bytes at offset ") == 3
    assert b"verification failed" not in done
    hone.ok("compare", image, copy)


def test_a_stream_of_an_image_with_tables_in_front(hone, work):
    raw, image = make(work, 5 * MI, "monolithicSparse")
    out = work / "out.raw"
    piped(hone.ok, image, "convert", "-q", "-", out)
    assert qemu.first_difference(raw, out) is None


def encoded(encoding, name):
    """An image whose descriptor is in another encoding; the builder writes Latin-1.
    """
    image = with_text("version=1\n", f'version=1\nencoding="{encoding}"\n')
    image.descriptor = image.descriptor.replace(
        "disk.vmdk", name.encode(encoding).decode("latin-1"))
    return image


# A descriptor that every other reader takes, and whether hone check does.
FOREIGN = {
    # of mkimg of FreeBSD
    "no_name": (with_text('"disk.vmdk"', '""'), True),
    "utf_8": (with_text("disk.vmdk", "Ü日本.vmdk".encode().decode("latin-1")), False),
    "gbk": (encoded("GBK", "磁盘.vmdk"), False),
    # The second byte of this letter is a backslash in ASCII.
    "shift_jis": (encoded("Shift_JIS", "ソ.vmdk"), False),
    "path": (with_text("disk.vmdk", "/vmfs/volumes/ds/vm/disk.vmdk"), False),
    "windows_path": (with_text("disk.vmdk", "C:\\VMs\\disk.vmdk"), False),
    "cid_in_decimal": (with_text("CID=12345678", "CID=4294967295"), True),
    "other_lines": (with_text("# The Disk", 'encoding = "UTF-8"\nso what\n#'), False),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_every_other_reader_takes(hone, work, name):
    """The bytes of qemu-img; nothing that the descriptor names is opened."""
    built, safe = FOREIGN[name]
    image, theirs = work / "disk.vmdk", work / "theirs.raw"
    built.write(image)
    qemu.img("convert", "-f", "vmdk", "-O", "raw", image, theirs)
    ours = work / "ours.raw"
    hone.ok("convert", "-q", image, ours)
    assert ours.read_bytes() == theirs.read_bytes()
    with open(image, "rb") as file:
        hone.ok("convert", "-q", "--force", "-O", "raw", "-", ours, stdin=file)
    assert ours.read_bytes() == theirs.read_bytes()
    found = hone.json("check", "--json", image, code=0 if safe else 1)
    assert found["safe"] == safe
    done = hone.run("convert", "--untrusted", "--force", image, ours)
    assert done.returncode == (0 if safe else 3), done


def test_bytes_that_are_no_text_stay_refused(hone, work):
    """Not UTF-8, and no encoding that makes letters of them."""
    image = work / "disk.vmdk"
    for bad in "\xff", "\xc3", "\xc0\xaf", "\xed\xa0", "\x80", "\x0b":
        with_text("disk.vmdk", f"a{bad}.vmdk").write(image)
        line = hone.fails("convert", image, work / "out.raw", code=3)
        assert "which is not text" in line, line
    # A CID is of 32 bits, and that of a parent has its digits.
    for text in ("CID=4294967296", "CID=12345678901"):
        with_text("CID=12345678", text).write(image)
        assert "is not a hexadecimal number" in hone.fails(
            "convert", image, work / "out.raw", code=3)


def test_a_name_of_qemu_img_that_is_not_ascii(hone, work):
    """The name of the file is in its descriptor."""
    disk, image = work / "disk.raw", work / "Ü.vmdk"
    qemu.pattern_file(disk, 3 * MI, 3)
    for options in [], ["-o", "subformat=streamOptimized"]:
        qemu.img("convert", "-f", "raw", "-O", "vmdk", *options, disk, image)
        hone.ok("compare", "-q", image, disk)


def orchestra(path, grains, tables=3, padding=0):
    """An export of Xen Orchestra: markers count no sectors, one of them is in
    front of all tables, grains begin where the header has tables, and zeros
    may fill the file up to a length that was stated before."""
    capacity = tables * ENTRIES * GRAIN
    builder = Builder(capacity, packed=True, footer=True)
    text = ("# Disk DescriptorFile\n        version=1\n"
            "        CID=3735928559\n        parentCID=ffffffff\n"
            '        createType="streamOptimized"\n'
            "        # Extent description\n"
            f'        RW {capacity} SPARSE "disk.vmdk"\n'
            '        #DDB\n        ddb.adapterType = "ide"\n')
    overhead = 2 + 1 + 4 * tables
    places, out = {}, bytearray(sectors(text.encode()))
    for number in sorted(grains):
        places[number] = 1 + len(out) // SECTOR
        out += builder.grain_bytes(number, grains[number])
    out += bytes(padding * SECTOR) + marker(0, 1)
    first = 1 + len(out) // SECTOR
    for number in range(tables * ENTRIES):
        out += struct.pack("<I", places.get(number, 0))
    out += marker(0, 2)
    place = 1 + len(out) // SECTOR
    out += sectors(b"".join(struct.pack("<I", first + 4 * index)
                            for index in range(tables)))
    fields = {"desc_size": 1, "overhead": overhead}
    out += marker(0, 3) + builder.pack_header(builder.fields(place, fields))
    out += marker(0, 0)
    path.write_bytes(builder.pack_header(builder.fields(AT_END, fields)) + bytes(out))
    return path


@pytest.mark.parametrize("padding", [0, 1, 300])
@pytest.mark.parametrize("tables, numbers", [
    (1, []), (1, [0]), (1, [0, 3, 511]), (3, [0, 600, 1535]), (3, [1030]),
    (40, [5, 19999])])
def test_an_export_of_xen_orchestra(hone, work, tables, numbers, padding):
    """As a file and as a stream; qemu-img reads the same, and 7-Zip."""
    grains = {number: bytes([number % 251 + 1]) * (GRAIN * SECTOR)
              for number in numbers}
    image = orchestra(work / "disk.vmdk", grains, tables, padding)
    theirs, ours = work / "theirs.qcow2", work / "ours.qcow2"
    qemu.img("convert", "-f", "vmdk", "-O", "qcow2", image, theirs)
    for words in ["convert"], ["convert", "--untrusted"]:
        hone.ok(*words, "-q", "--force", image, ours)
        hone.ok("compare", "-q", ours, theirs)
        with open(image, "rb") as file:
            hone.ok(*words, "-q", "--force", "-", ours, stdin=file)
        hone.ok("compare", "-q", ours, theirs)
    assert hone.json("check", "--json", image)["safe"]
    with open(image, "rb") as file:
        hone.ok("check", "-", stdin=file)


@pytest.mark.parametrize("encoding", ["UTF-8", "GBK", "Shift_JIS"])
@pytest.mark.parametrize("file", ["bytes", "letters"])
def test_files_whose_names_are_not_ascii(hone, work, encoding, file):
    """The file has the bytes of the descriptor, or is in UTF-8."""
    name = "表.vmdk"
    data = os.urandom(64 * KI)
    places = {"bytes": name.encode(encoding), "letters": name.encode()}
    with open(os.path.join(os.fsencode(work), places[file]), "wb") as flat:
        flat.write(data)
    image = work / "disk.vmdk"
    image.write_bytes(
        b'# Disk DescriptorFile\nversion=1\n'
        b'createType="monolithicFlat"\nRW 128 FLAT "'
        + name.encode(encoding) + b'" 0\nencoding="' + encoding.encode()
        + b'"\n')
    out = work / "out.raw"
    hone.ok("convert", "-q", "--allow-data-file", work, image, out)
    assert out.read_bytes() == data
    # Nothing that the image names is a module of iconv.
    image.write_bytes(image.read_bytes().replace(f'="{encoding}"'.encode(), b'="../x"'))
    if encoding != "UTF-8" and file == "letters":
        assert "No such file" in hone.fails(
            "convert", "--allow-data-file", work, image, work / "none.raw")
