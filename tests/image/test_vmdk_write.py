# SPDX-License-Identifier: BSD-3-Clause
"""VMDK images that the command writes are read by others, and are the same
bytes each time."""
import os
import random
import shutil
import struct
import subprocess

import pytest

import qemu
from checks import verdict
from harness import piped
from qemu import KI, MI, SECTOR, holey
from vmdk_builder import AT_END, ENTRIES, GRAIN

SIZES = [0, 1, SECTOR, 64 * KI, 64 * KI + 1, 3 * MI + 3 * SECTOR, 100 * MI - SECTOR]


def disk(work, size, seed=1):
    """A raw disk with data of every kind."""
    raw = work / "disk.raw"
    qemu.pattern_file(raw, size, seed)
    return raw


def sparse_disk(work, size, offsets):
    """A raw disk with a grain of data at each of the offsets."""
    return holey(work / "disk.raw", size, *(
        (offset, random.Random(offset).randbytes(min(64 * KI, size - offset)))
        for offset in offsets))


@pytest.mark.parametrize("size", SIZES)
def test_a_disk_of_any_size_is_read_by_qemu_and_by_us(hone, work, size):
    raw, image = disk(work, size), work / "disk.vmdk"
    hone.ok("convert", "-q", "--verify", raw, image)
    rounded = -(-size // SECTOR) * SECTOR
    info = hone.json("info", "--json", image)
    assert (info["format"], info["virtual_size"]) == ("vmdk", rounded)
    assert info["subformat"] == "streamOptimized"
    safe, failed, _ = verdict(hone, image)
    assert safe, failed
    # QEMU refuses an empty disk, its own too.
    if size:
        assert qemu.info_of(image)["virtual-size"] == rounded
        out = work / "theirs.raw"
        qemu.img("convert", "-f", "vmdk", "-O", "raw", image, out)
        os.truncate(raw, rounded)
        assert qemu.first_difference(raw, out) is None


def parts(image):
    """Walk the markers: a list of (kind, sector, first number)."""
    data = image.read_bytes()
    found, at = [], 128 * SECTOR
    while at < len(data):
        value, size, kind = struct.unpack_from("<QII", data, at)
        if size:
            found.append(("grain", at // SECTOR, value))
            at += -(-(12 + size) // SECTOR) * SECTOR
            continue
        found.append((kind, at // SECTOR, value))
        at += (1 + value) * SECTOR
    assert at == len(data)
    return found


def test_the_markers_lead_from_the_first_grain_to_the_end(hone, work):
    """Grains in the order of the disk, each table behind its grains, the
    directory, the footer with its place, the end."""
    covered = ENTRIES * GRAIN * SECTOR
    raw = sparse_disk(work, 5 * covered, [0, 64 * KI, covered - 64 * KI, 3 * covered])
    image = work / "disk.vmdk"
    hone.ok("convert", "-q", raw, image)
    found = parts(image)
    assert [kind for kind, _, _ in found] == [
        "grain", "grain", "grain", 1, "grain", 1, 2, 3, 0]
    assert [value for kind, _, value in found if kind == "grain"] == [
        0, GRAIN, (ENTRIES - 1) * GRAIN, 3 * ENTRIES * GRAIN]
    data = image.read_bytes()
    footer = found[7][1] + 1
    directory, = struct.unpack_from("<Q", data, footer * SECTOR + 56)
    assert directory == found[6][1] + 1
    assert struct.unpack_from("<Q", data, 56)[0] == AT_END
    assert struct.unpack_from("<5I", data, directory * SECTOR) == (
        found[3][1] + 1, 0, 0, found[5][1] + 1, 0)
    # The entries of another table do not remain.
    assert struct.unpack_from("<512I", data, (found[5][1] + 1) * SECTOR) == (
        found[4][1], *[0] * 511)
    head, foot = data[:SECTOR], data[footer * SECTOR:(footer + 1) * SECTOR]
    assert head[:56] + head[64:] == foot[:56] + foot[64:]


def test_the_rest_of_a_sector_is_zero(hone, work):
    """Behind each grain; the bytes do not depend on what was in memory."""
    raw, image = disk(work, 3 * MI), work / "disk.vmdk"
    hone.ok("convert", "-q", raw, image)
    data = image.read_bytes()
    for kind, sector, _ in parts(image):
        if kind != "grain":
            continue
        at = sector * SECTOR
        used = 12 + struct.unpack_from("<I", data, at + 8)[0]
        assert not any(data[at + used:at + -(-used // SECTOR) * SECTOR])


def test_the_bytes_are_the_same_to_a_file_and_to_a_pipe(hone, work):
    """At any number of threads, from a file and from a pipe."""
    # The grains of two tables.
    raw, image = disk(work, 33 * MI + SECTOR), work / "one.vmdk"
    hone.ok("convert", "-q", "--threads", "1", raw, image)
    one, two = image.read_bytes(), work / "two.vmdk"
    for threads in "1", "2", "7":
        words = ["convert", "-q", "--force", "--threads", threads, "-O", "vmdk"]
        assert hone.ok(*words, raw, "-", stdout=subprocess.PIPE).stdout == one
        piped(hone.ok, raw, *words, "-", two)
        assert two.read_bytes() == one
        hone.ok(*words, "--direct", raw, two)
        assert two.read_bytes() == one


def test_bytes_that_do_not_shrink_take_a_sector_more_for_a_grain(hone, work):
    raw, image = work / "disk.raw", work / "disk.vmdk"
    raw.write_bytes(random.Random(3).randbytes(3 * MI))
    for options in [], ["--level", "12"], ["--fast"], ["--window", "12"]:
        hone.ok("convert", "-q", "--force", *options, raw, image)
        qemu.img("compare", "-f", "raw", "-F", "vmdk", raw, image)
        grains = [at for kind, at, _ in parts(image) if kind == "grain"]
        assert {b - a for a, b in zip(grains, grains[1:])} == {GRAIN + 1}


@pytest.mark.parametrize("adapter, heads", [
    ("ide", 16), ("lsilogic", 255), ("buslogic", 255), ("legacyESX", 255),
    ("pvscsi", 255)])
def test_the_descriptor_has_the_adapter_and_its_geometry(hone, work, adapter, heads):
    raw, image = sparse_disk(work, 200 * MI, [0]), work / "disk.vmdk"
    hone.ok("convert", "-q", "-o", f"adapter_type={adapter},hwversion=13,"
            "subformat=streamOptimized", raw, image)
    info = hone.json("info", "--json", image)
    assert (info["adapter_type"], info["hwversion"]) == (adapter, "13")
    text = image.read_bytes()[SECTOR:21 * SECTOR].rstrip(b"\0").decode()
    assert f'ddb.geometry.heads = "{heads}"' in text
    cylinders = 200 * MI // (63 * heads * SECTOR)
    assert f'ddb.geometry.cylinders = "{cylinders}"' in text
    assert f'RW {200 * MI // SECTOR} SPARSE "call-me-stream.vmdk"' in text


def test_the_cylinders_end_where_a_bios_does(hone, work):
    for adapter, most in ("ide", 16383), ("lsilogic", 65535):
        raw, image = sparse_disk(work, 3 << 40, []), work / "disk.vmdk"
        hone.ok("convert", "-q", "--force", "-o", f"adapter_type={adapter}", raw, image)
        text = image.read_bytes()[SECTOR:21 * SECTOR]
        assert b'cylinders = "%d"' % most in text


def test_a_disk_past_2_tib(hone, work):
    size = (3 << 40) + SECTOR
    image = work / "disk.vmdk"
    raw = holey(work / "disk.raw", size, *(
        (at, b"\7" * SECTOR) for at in (0, 2 << 40, size - SECTOR)))
    hone.ok("convert", "-q", "--verify", raw, image)
    assert image.stat().st_size < 2 * MI
    # A comparison by QEMU takes minutes.
    reads = [f"read -P {at and 7} {place} 512" for at, place in (
        (1, 0), (1, 2 << 40), (1, size - SECTOR), (0, 1 << 40),
        (0, (2 << 40) + 64 * KI))]
    done = qemu.run("qemu-io", "-r", "-f", "vmdk", *(
        word for each in reads for word in ("-c", each)), image)
    assert done.count(b"read 512/512 bytes") == 5
    assert b"verification failed" not in done


def test_7_zip_reads_it(hone, work):
    tool = shutil.which("7z") or shutil.which("7zz")
    if not tool:
        pytest.skip("7-Zip is not installed")
    raw, image = disk(work, 40 * MI), work / "disk.vmdk"
    hone.ok("convert", "-q", raw, image)
    out = work / "seven.raw"
    with open(out, "wb") as file:
        subprocess.run([tool, "x", "-so", str(image)], check=True,
                       stdout=file, stderr=subprocess.DEVNULL)
    assert qemu.first_difference(raw, out) is None


def test_libvmdk_reads_it(hone, work):
    """It looks for the file under the name that the descriptor has."""
    pyvmdk = pytest.importorskip("pyvmdk")
    raw, image = disk(work, 40 * MI), work / "call-me-stream.vmdk"
    hone.ok("convert", "-q", raw, image)
    handle = pyvmdk.handle()
    handle.open(str(image))
    handle.open_extent_data_files()
    assert handle.get_media_size() == 40 * MI
    content = raw.read_bytes()
    for at in range(0, 40 * MI, MI):
        assert handle.read_buffer_at_offset(MI, at) == content[at:at + MI]
    handle.close()


def test_what_a_vmdk_image_cannot_be_written_to_is_refused(hone, work):
    raw, image = disk(work, MI), work / "disk.vmdk"
    assert "stdout: a VMDK image begins with the size of the disk" in piped(
        hone.fails, raw, "convert", "-O", "vmdk", "-", "-")
    image.write_bytes(bytes(4 * MI))
    assert "-n: only a raw DST" in hone.misused("convert", "-n", raw, image)
    for pair, part in (("hwversion=2", "hwversion 2 is not from 3 to 99"),
                       ("hwversion=100", "is not from 3 to 99"),
                       ("adapter_type=sata", "is not one of: ide"),
                       ("subformat=monolithicSparse", "is not one of")):
        assert part in hone.misused("convert", "-o", pair, raw, work / "new.vmdk")
    qemu.create(work / "huge.qcow2", 1 << 51, cluster_size=2 * MI)
    line = hone.fails("convert", work / "huge.qcow2", work / "new.vmdk")
    assert "is larger than VMDK allows" in line
    assert not (work / "new.vmdk").exists()


def test_a_reader_that_leaves_ends_the_command(hone, work):
    raw = disk(work, 20 * MI)
    with subprocess.Popen(
            [hone.path, "convert", "-q", "-O", "vmdk", raw, "-"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.read(100)
        child.stdout.close()
        said = child.stderr.read().decode()
    assert child.returncode == 1 and "Broken pipe" in said, said
