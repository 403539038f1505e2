# SPDX-License-Identifier: BSD-3-Clause
"""VHD: images of qemu-img and of the test are read, and ours are read by
qemu-img, 7-Zip and libvhdi."""
import gzip
import lzma
import os
import shutil
import subprocess

import pytest

import qemu
from harness import error_line, piped
from qemu import GI, KI, MI, SECTOR, holey
from vhd_builder import Vhd, fixed, footer_of

try:
    import pyvhdi
except ImportError:
    pyvhdi = None

SIZES = [1, SECTOR, 700, 100 * SECTOR, MI, 2 * MI + SECTOR,
         5 * MI - 7 * SECTOR, 33 * MI]


def pattern(work, size, name="disk.raw"):
    """A raw disk."""
    path = work / name
    qemu.pattern_file(path, size, size)
    return path


def raw_of(hone, image, *options):
    """The bytes of the disk, through a file that is gone."""
    output = image.parent / "bytes.raw"
    hone.ok("convert", "-q", "--force", "-O", "raw", *options, image, output)
    data = output.read_bytes()
    output.unlink()
    return data


def info(hone, image, *options):
    """hone info."""
    return hone.json("info", "--json", *options, image)


@pytest.mark.parametrize("subformat, force, size", [
    (subformat, force, size) for subformat in ("dynamic", "fixed")
    for force in ("on", "off")
    for size in ([0] if subformat == "dynamic" else []) + SIZES])
def test_images_of_qemu_img(work, hone, size, force, subformat):
    """The disk that qemu-img wrote, and the size that it reports."""
    disk, image = pattern(work, size), work / "disk.vhd"
    qemu.img("convert", "-f", "raw", "-O", "vpc", "-o",
             f"subformat={subformat},force_size={force}", disk, image)
    theirs = work / "theirs.raw"
    qemu.img("convert", "-f", "vpc", "-O", "raw", image, theirs)
    assert raw_of(hone, image) == theirs.read_bytes()
    found = info(hone, image)
    assert (found["format"], found["subformat"]) == ("vhd", subformat)
    assert found["virtual_size"] == os.stat(theirs).st_size
    assert found["size_from"] == ("current_size" if force == "on" else "geometry")
    safe = hone.json("check", "--json", "-f", "vpc", image)
    assert safe["safe"] and safe["format"] == "vhd"
    hone.ok("compare", "-q", image, theirs)


def test_a_fixed_disk_without_any_sector(work, hone):
    """Its footer is where a dynamic image has a copy. QEMU reads none."""
    image = work / "disk.vhd"
    qemu.img("create", "-q", "-f", "vpc", "-o", "subformat=fixed", image, 0)
    assert "a fixed disk has no copy" in hone.fails("map", image, code=3)
    found = hone.json("check", "--json", "-f", "vpc", image, code=1)
    assert not found["safe"]


@pytest.mark.parametrize("subformat", ["dynamic", "fixed"])
def test_the_largest_disk(work, hone, subformat):
    """2,040 GiB, with data at its end."""
    image, copy = work / "disk.vhd", work / "copy.qcow2"
    qemu.img("create", "-q", "-f", "vpc", "-o",
             f"subformat={subformat},force_size=on", image, 2040 * GI)
    qemu.run("qemu-io", "-f", "vpc", "-c", f"write -P 3 {2040 * GI - KI} 1k",
             "-c", "write -P 4 1000g 3m", image)
    hone.ok("convert", "-q", image, copy)
    # qemu-img compare takes minutes for so many holes.
    theirs = work / "theirs.qcow2"
    qemu.img("convert", "-f", "vpc", "-O", "qcow2", image, theirs)
    hone.ok("compare", "-q", copy, theirs)
    found = info(hone, image)
    assert (found["virtual_size"], found["subformat"]) == (2040 * GI, subformat)
    extents = hone.json("map", "--json", image)
    data = [(each["offset"], each["length"]) for each in extents
            if each["kind"] == "data"]
    assert data[0][0] == 1000 * GI
    assert sum(length for _, length in data) == 3 * MI + 4 * KI
    assert data[-1] == (2040 * GI - 4 * KI, 4 * KI)
    assert len(extents) < 10
    assert hone.json("check", "--json", image)["safe"]


# A creator, whether its disk has the current size, and whether QEMU 7 agrees
# (it knows the creator of Azure since 9.1, and takes the geometry of others).
# QEMU 10 agrees about all but "vs  ", of which it takes the current size.
CREATORS = [(b"vpc ", False, True), (b"vs  ", False, True),
            (b"qemu", False, True), (b"xyz\0", True, False),
            (b"*img", True, False), (b"vbox", True, False),
            (b"caml", True, False), (b"xo  ", True, False),
            (b"d2v\0", True, False), (b"qem2", True, True),
            (b"win ", True, True), (b"d2v ", True, True),
            (b"tap\0", True, True), (b"CTXS", True, True),
            (b"wa\0\0", True, False)]
# Those whose disk has one size for all readers.
SURE = (b"qem2", b"win ", b"d2v ", b"d2v\0", b"tap\0", b"CTXS", b"wa\0\0")
GEOMETRY = 30 * 4 * 17 * SECTOR


@pytest.mark.parametrize("creator,current,same", CREATORS)
def test_the_creator_decides_about_the_size(work, hone, creator, current, same):
    """Current size or geometry; and qemu-img has the same."""
    image = Vhd(1 << 20, 1 << 16)
    image.footer.update(creator=creator, cylinders=30, heads=4, sectors=17)
    path = image.write(work / "disk.vhd")
    wanted = MI if current else GEOMETRY
    found = info(hone, path)
    assert found["virtual_size"] == wanted
    assert found["size_from"] == ("current_size" if current else "geometry")
    assert found["creator_app"] == creator.rstrip(b"\0").decode()
    assert found["geometry"] == "30/4/17"
    if qemu.release() >= 10:
        same = creator != b"vs  "
    assert (qemu.info_of(path)["virtual-size"] == wanted) == same
    for choice, size in ("current", MI), ("geometry", GEOMETRY):
        assert info(hone, path, "-o", f"size={choice}")["virtual_size"] == size
    # The largest geometry says nothing.
    image.footer.update(cylinders=65535, heads=16, sectors=255)
    assert info(hone, image.write(path))["virtual_size"] == MI


def kinds(work, creator, data):
    """The disk as a fixed and as a dynamic image."""
    where = {"creator": creator, "cylinders": 30, "heads": 4, "sectors": 17}
    yield fixed(work / "fixed.vhd", data, **where)
    image = Vhd(len(data), 1 << 16)
    image.footer.update(where)
    for index in range(len(data) >> 16):
        image.add(index, data[index << 16:index + 1 << 16])
    yield image.write(work / "dynamic.vhd")


def two_sizes(work, creator, current):
    """Images whose sizes differ: the path, the disk by the current size, the size
    that is read, and whether a check refuses the image: it has a backup GPT in the
    last sector, which the smaller size cuts off."""
    sure = creator in SURE
    for end, unsafe in (b"EFI PART", not sure), (b"", False):
        data = (b"x" * 4096).ljust(MI - SECTOR, b"\0") + end.ljust(SECTOR, b"\0")
        for path in kinds(work, creator, data):
            # The length of a fixed file proves its current size.
            size = MI if current or path.name == "fixed.vhd" else GEOMETRY
            yield path, data, size, unsafe


@pytest.mark.parametrize("creator,current", [row[:2] for row in CREATORS])
def test_two_sizes_are_one_warning(work, hone, creator, current):
    """The copy goes on. The check refuses what a size would cut."""
    out = work / "out.raw"
    for path, data, size, unsafe in two_sizes(work, creator, current):
        done = hone.run("convert", "--force", path, out)
        assert done.returncode == 0
        assert out.read_bytes() == data[:size]
        if creator in SURE:
            assert done.stderr == b""
        else:
            line = error_line(done.stderr)
            for part in (str(path), f"{size} bytes by its ",
                         f"{MI + GEOMETRY - size} by its ",
                         "-o size=geometry", "-o size=current"):
                assert part in line, line
        found = hone.json("check", "--json", path, code=1 if unsafe else 0)
        assert [each["name"] for each in found["checks"]
                if not each["passed"]] == ["sizes"] * unsafe


# One that is read by its geometry, one by its current size, one that is SURE.
@pytest.mark.parametrize("creator,current", [
    (b"vpc ", False), (b"xyz\0", True), (b"win ", True)])
def test_the_user_chooses_one_of_two_sizes(work, hone, creator, current):
    out = work / "out.raw"
    for path, data, _, unsafe in two_sizes(work, creator, current):
        has_end = any(data[-SECTOR:])
        for choice, cut in ("current", MI), ("geometry", GEOMETRY):
            words = ["-o", f"size={choice}"]
            assert raw_of(hone, path, *words) == data[:cut]
            if has_end:
                assert raw_of(hone, path, *words, "--untrusted") == data[:cut]
                assert not hone.ok("digest", *words, path).stderr
            assert hone.json("check", "--json", *words, path)["safe"]
        for words in ["-f", "vhd", path], ["-f", "vhd", "-"]:
            done = piped(hone.run, path, "convert", "--force", "--untrusted",
                         *words, out)
            assert done.returncode == (3 if unsafe else 0), (path, words, done)


def test_a_backing_file_may_have_two_sizes(work, hone):
    """What it has behind its geometry is part of the disk."""
    for path in kinds(work, b"*img", b"y" * MI):
        over, out = work / "over.qcow2", work / "out.raw"
        qemu.create(over, MI, "-u", "-b", path.name, "-F", "vpc")
        words = ["convert", "--force", "--allow-backing", work, over, out]
        line = error_line(hone.run(*words).stderr)
        assert f"its backing file '{path.name}' has {MI} bytes by" in line
        assert out.read_bytes() == b"y" * MI
        done = hone.run(*words, "-o", "size=geometry")
        assert (done.returncode, done.stderr) == (0, b"")
        assert out.read_bytes() == (b"y" * GEOMETRY).ljust(MI, b"\0")


def test_a_size_is_chosen_by_name(work, hone):
    """The keys and the values of -o that are about the source."""
    path = next(kinds(work, b"xyz ", bytes(MI)))
    out = work / "out.qcow2"
    hone.ok("convert", "-q", "-o", "size=geometry,cluster_size=4k", path, out)
    found = info(hone, out)
    assert (found["virtual_size"], found["cluster_size"]) == (GEOMETRY, 4096)
    assert "is not one of: current geometry" in hone.misused(
        "convert", "-o", "size=1M", path, work / "other.qcow2")
    for key in "cluster_size=4k", "help":
        assert ("is not an option of an image that is read; size=current and "
                "size=geometry are") in hone.misused("info", "-o", key, path)
    assert "is not KEY=VALUE" in hone.misused("map", "-o", "size", path)
    assert b"size=current|geometry" in hone.ok("convert", "-o", "help").stdout
    # of A alone
    assert hone.run("compare", "--strict", "-o", "size=geometry", path,
                    path).returncode == 1


def some_bits(block_size):
    """A bitmap with runs of every kind."""
    return [sector % 7 in (0, 1, 5) or 20 <= sector < 29
            for sector in range(block_size // SECTOR)]


@pytest.mark.parametrize("block_size", [512, 4 * KI, 64 * KI, 2 * MI, 8 * MI])
def test_a_clear_bit_is_a_sector_of_zeros(work, hone, block_size):
    """In blocks of every size, in any order, whatever the file has there."""
    image = Vhd(3 * block_size + 5 * SECTOR, block_size)
    data, bits = os.urandom(block_size), some_bits(block_size)
    image.add(3, data)
    image.add(1, data, bits)
    path = image.write(work / "disk.vhd")
    masked = b"".join(data[at:at + SECTOR] if bits[at // SECTOR]
                      else bytes(SECTOR)
                      for at in range(0, block_size, SECTOR))
    wanted = (bytes(block_size) + masked + bytes(block_size)
              + data).ljust(3 * block_size + 5 * SECTOR, b"\0")
    wanted = wanted[:3 * block_size + 5 * SECTOR]
    assert raw_of(hone, path) == wanted
    assert raw_of(hone, path, "--cache", "drop", "-m", "4") == wanted
    # as a stream, and packed
    with open(path, "rb") as stream:
        hone.ok("convert", "-q", "-O", "raw", "-", work / "piped.raw", stdin=stream)
    assert (work / "piped.raw").read_bytes() == wanted
    packed = work / "disk.vhd.gz"
    packed.write_bytes(gzip.compress(path.read_bytes(), 1))
    assert raw_of(hone, packed) == wanted
    extents = hone.json("map", "--json", "-S", "512", path)
    file = path.read_bytes()
    at = 0
    for each in extents:
        end = each["offset"] + each["length"]
        assert each["offset"] == at
        if "host_offset" in each:
            host = each["host_offset"]
            assert file[host:host + end - at] == wanted[at:end]
        if each["kind"] != "data":
            assert not any(wanted[at:end])
        at = end
    assert at == len(wanted)


def test_pad_bits_and_the_end_of_the_last_block(work, hone):
    """The last block may lack what the disk does not use."""
    image = Vhd(MI + 3 * SECTOR, MI)
    image.add(1, b"e" * MI)
    image.cut = MI - 3 * SECTOR
    path = image.write(work / "disk.vhd")
    assert raw_of(hone, path) == bytes(MI) + b"e" * 3 * SECTOR


def test_a_fixed_disk_is_chosen_by_name_or_option(work, hone):
    """The footer is where a guest could write it: never by content."""
    data = os.urandom(64 * KI)
    named = fixed(work / "disk.vhd", data)
    assert info(hone, named)["virtual_size"] == len(data)
    other = shutil.copy(named, work / "disk.img")
    found = info(hone, other)
    assert (found["format"], found["virtual_size"]) == ("raw", len(data) + SECTOR)
    for name in "vhd", "vpc":
        assert info(hone, other, "-f", name)["virtual_size"] == len(data)
    assert raw_of(hone, named) == data
    shutil.copy(named, work / "DISK.VPC")
    assert info(hone, work / "DISK.VPC")["format"] == "vhd"
    assert raw_of(hone, named, "-f", "raw", "--allow-disguised") == named.read_bytes()
    # What a copy as a raw image would leave is refused, with the way out.
    refused = work / "refused.img"
    fixed(other, data, features=2)
    assert "add -f vhd if the source is a VHD" in hone.fails("convert", other, refused)
    with open(other, "rb") as file:
        done = hone.run("convert", "-", refused, stdin=file)
    assert b"add -f vhd if the source is a VHD" in done.stderr
    line = hone.fails("convert", "-f", "raw", other, refused)
    assert "VHD" in line and "-f vhd" not in line
    # A raw disk with that name is not guessed.
    raw = work / "raw.vhd"
    raw.write_bytes(data)
    line = hone.fails("convert", raw, work / "out.raw")
    assert "footer of a VHD is missing" in line


def test_a_fixed_disk_from_a_pipe(work, hone):
    """Its footer comes last."""
    data = os.urandom(64 * KI) + bytes(3 * MI) + os.urandom(MI)
    path = fixed(work / "disk.vhd", data)
    piped(hone.ok, path, "convert", "-q", "-f", "vhd", "-O", "raw", "-",
          work / "piped.raw")
    assert (work / "piped.raw").read_bytes() == data
    (work / "disk.vhd.xz").write_bytes(lzma.compress(path.read_bytes()))
    assert raw_of(hone, work / "disk.vhd.xz") == data
    with open(os.devnull, "rb") as empty:
        done = hone.run("convert", "-f", "vhd", "-", work / "none.raw", stdin=empty)
    assert done.returncode == 1 and b"too few" in done.stderr


def test_other_formats_in_a_fixed_disk(work, hone):
    """hone check: the first bytes are those of a guest."""
    disk = bytearray(MI)
    disk[510:512] = b"\x55\xaa"
    path = fixed(work / "disk.vhd", bytes(disk))
    assert hone.json("check", "--json", path)["safe"]
    disk[:8] = b"QFI\xfb\0\0\0\3"
    fixed(path, bytes(disk))
    found = hone.json("check", "--json", "-f", "vhd", path, code=1)
    assert not found["safe"]
    assert "has the signature of qcow2" in str(found["checks"])
    # The same in a dynamic disk is no signature.
    image = Vhd(MI, MI)
    image.add(0, bytes(disk))
    dynamic = image.write(work / "dynamic.vhd")
    assert hone.json("check", "--json", dynamic)["safe"]


def read_by_others(image, size):
    """The disk by qemu-img, 7-Zip and libvhdi."""
    output = image.parent / "theirs.raw"
    qemu.img("convert", "-f", "vpc", "-O", "raw", image, output)
    yield "qemu-img", output.read_bytes()
    program = shutil.which("7zz") or shutil.which("7z")
    if program:
        # Without -tVHD, it opens what is in the disk.
        yield "7-Zip", subprocess.run(
            [program, "x", "-so", "-tVHD", image], check=True, timeout=1000,
            stdout=subprocess.PIPE).stdout
    if pyvhdi:
        file = pyvhdi.file()
        file.open(str(image))
        assert file.get_disk_type() == 2
        assert file.get_media_size() == size
        yield "libvhdi", file.read_buffer(size)
        file.close()


def assert_read_by_all(image, wanted):
    """They read these bytes; libvhdi and 7-Zip have to be installed."""
    for name, data in read_by_others(image, len(wanted)):
        assert data == wanted, name


@pytest.mark.parametrize("size", [*SIZES, 1000 * KI + 300])
@pytest.mark.parametrize("rounding", ["mib", "none"])
def test_what_is_written(work, hone, size, rounding):
    """Other programs read the disk, and zeros behind it."""
    disk, image = pattern(work, size), work / "disk.vhd"
    done = hone.ok("convert", "--verify", "-o", f"round={rounding}", disk, image)
    unit = MI if rounding == "mib" else SECTOR
    wanted = -(-size // unit) * unit
    said = f" (rounded up from {size} bytes)".encode()
    assert (said in done.stdout) == (wanted != size)
    assert_read_by_all(image, disk.read_bytes().ljust(wanted, b"\0"))
    assert os.stat(image).st_size == wanted + SECTOR
    found = footer_of(image)
    assert (found["type"], found["current_size"]) == (2, wanted)
    assert (found["creator"], found["timestamp"]) == (b"qem2", 0)
    assert found["uuid"][6] >> 4 == 8 and found["uuid"][8] >> 6 == 2
    assert hone.json("check", "--json", image)["safe"]


def test_libraries_are_installed():
    """The rivals of the tests above."""
    if pyvhdi is None:
        pytest.skip("python3-libvhdi is not installed")
    if not (shutil.which("7zz") or shutil.which("7z")):
        pytest.skip("7zip is not installed")


def test_the_geometry_is_that_of_the_specification(work, hone):
    """QEMU computes the same; each size has such a geometry exactly."""
    for size in (MI, 17 * MI, 400 * MI, 505 * MI, 600 * MI, 8 * GI, 60 * GI,
                 130 * GI, 2039 * GI):
        theirs, image = work / "theirs.vhd", work / "ours.vhd"
        qemu.img("create", "-q", "-f", "vpc", theirs, size)
        disk = work / "disk.raw"
        real = qemu.info_of(theirs)["virtual-size"]
        with open(disk, "wb") as file:
            file.truncate(real)
        hone.ok("convert", "-q", "--force", "-o", "round=none", disk, image)
        with open(theirs, "rb") as one, open(image, "rb") as two:
            two.seek(real)
            assert one.read(60)[56:] == two.read(60)[56:], size


def test_the_same_bytes_each_time(work, hone):
    """At any number of threads, to a file and to a pipe; another disk has
    another UUID."""
    disk, one, two = pattern(work, 9 * MI), work / "1.vhd", work / "2.vhd"
    hone.ok("convert", "-q", "-m", "1", disk, one)
    hone.ok("convert", "-q", "-m", "8", "--cache", "drop", disk, two)
    assert one.read_bytes() == two.read_bytes()
    assert hone.run("convert", "-q", "-O", "vhd", disk, "-").stdout == one.read_bytes()
    uuid = footer_of(one)["uuid"]
    with open(disk, "r+b") as file:
        file.seek(440)
        before = file.read(4)
        file.seek(440)
        file.write(b"SIGN")
    hone.ok("convert", "-q", "--force", disk, two)
    assert footer_of(two)["uuid"] != uuid
    with open(disk, "r+b") as file:
        file.seek(440)
        file.write(before)
        file.seek(9 * MI - SECTOR + 56)
        file.write(b"GUID")
    hone.ok("convert", "-q", "--force", disk, one)
    assert footer_of(one)["uuid"] not in (uuid, footer_of(two)["uuid"])


def test_holes_stay_holes(work, hone):
    """As in a raw file."""
    disk, image = work / "disk.raw", work / "disk.vhd"
    holey(disk, 100 * GI, (0, b"x" * 4096))
    hone.ok("convert", "-q", disk, image)
    assert os.stat(image).st_blocks <= 32
    # The names of qemu-img are accepted, with the values that it needs.
    hone.ok("convert", "-q", "--force", "-O", "vpc", "-o",
            "subformat=fixed,force_size=on", disk, image)
    assert footer_of(image)["current_size"] == 100 * GI


def test_an_empty_disk_has_a_sector(work, hone):
    """A file with nothing but a footer would begin as a dynamic disk."""
    disk, image = work / "disk.raw", work / "disk.vhd"
    disk.write_bytes(b"")
    for rounding, size in ("none", SECTOR), ("mib", MI):
        hone.ok("convert", "-q", "--force", "-o", f"round={rounding}", disk, image)
        assert raw_of(hone, image) == bytes(size)


def test_what_cannot_be_written(work, hone):
    """A sentence, and no file."""
    disk, image = work / "disk.raw", work / "disk.vhd"
    disk.write_bytes(b"x" * 4096)
    for option, part in (("force_size=off", "force_size can only be on"),
                         ("subformat=dynamic", "subformat can only be fixed"),
                         ("round=gib", "is not one of: mib none")):
        assert part in hone.misused("convert", "-o", option, disk, image)
    assert "vhd cannot be compressed" in hone.misused("convert", "-c", disk, image)
    holey(disk, 2040 * GI + 1)
    line = hone.fails("convert", disk, image)
    assert "at most 2040 GiB" in line
    # The guest chose the first bytes.
    disk.write_bytes(b"QFI\xfb\0\0\0\3" + bytes(MI))
    line = hone.fails("convert", "-f", "raw", disk, image)
    assert "would be a vhd file with the signature of qcow2" in line, line
    assert not image.exists()
    hone.ok("convert", "-q", "-f", "raw", "--allow-disguised", disk, image)
    disk.write_bytes(b"LUKS\xba\xbe" + bytes(MI))
    hone.ok("convert", "-q", "-f", "raw", "--force", disk, image)


def test_the_source_comes_through_a_pipe(work, hone):
    """Its size is known at its end only."""
    disk, image, other = pattern(work, 5 * MI - 300), work / "1.vhd", work / "2.vhd"
    hone.ok("convert", "-q", disk, image)
    piped(hone.ok, disk, "convert", "-q", "-f", "raw", "-", other)
    assert image.read_bytes() == other.read_bytes()
    # A stream is judged when its first bytes have come.
    with subprocess.Popen(["printf", "QFI\\373\\0\\0\\0\\3%4000s", "x"],
                          stdout=subprocess.PIPE) as guest:
        done = hone.run("convert", "-q", "-f", "raw", "-",
                        work / "3.vhd", stdin=guest.stdout)
    assert done.returncode == 1
    assert "signature of qcow2" in error_line(done.stderr)
    assert not (work / "3.vhd").exists()


def test_a_differencing_disk_is_described(work, hone):
    """hone info shows what cannot be read."""
    image = Vhd()
    image.footer["type"] = 4
    path = image.write(work / "disk.vhd")
    assert info(hone, path)["subformat"] == "differencing"
    assert "differencing" in hone.fails("convert", path, work / "out.raw")
