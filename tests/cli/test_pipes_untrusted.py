# SPDX-License-Identifier: BSD-3-Clause
"""Streams that are not trusted: nothing is kept but their tables."""
import os
import struct
import subprocess

import pytest

from test_pipes import (MIB, far_tables, images, make_disk, own_images,
                        padded, qemu_convert, run_piped)

REFUSED = 3


@pytest.fixture(name="disk")
def disk_fixture(tmp_path):
    return make_disk(tmp_path / "disk.raw")


@pytest.fixture(name="large")
def large_fixture(tmp_path):
    """Data of two L2 tables, more than memory takes."""
    path = tmp_path / "large.raw"
    with open(path, "wb") as file:
        file.write(os.urandom(70 * MIB))
        file.seek(512 * MIB)
        file.write(os.urandom(4 * MIB))
    return path


def far(path):
    path.write_bytes(far_tables(path.read_bytes()))
    return path


def test_an_untrusted_stream_needs_no_scratch_space(hone, large, tmp_path):
    """To convert, to digest and to check it, whoever wrote it."""
    own, first = tmp_path / "own.qcow2", tmp_path / "first.qcow2"
    hone.ok("convert", "-q", large, own)
    with open(first, "wb") as file:
        hone.ok("convert", "-q", "-O", "qcow2", large, "-", stdout=file)
    begin = tmp_path / "begin.raw"
    with open(large, "rb") as file:
        begin.write_bytes(file.read(80 * MIB))
    out = tmp_path / "out.raw"
    for image, disk in ((qemu_convert(large, tmp_path / "qemu.qcow2"), large),
                        (own, large), (first, large), (begin, begin)):
        digest = hone.ok("digest", disk).stdout.split()[0]
        for args in (["convert", "-q", "--untrusted", "--force", "-", out],
                     ["digest", "--untrusted", "-"], ["check", "-"]):
            with subprocess.Popen(["cat", image],
                                  stdout=subprocess.PIPE) as child:
                done = hone.run(*args, "--scratch", tmp_path / "no",
                                stdin=child.stdout)
            assert (done.returncode, done.stderr) == (0, b""), (image, done)
            if args[0] == "digest":
                assert done.stdout.split()[0] == digest, image
        hone.ok("compare", "-q", out, disk)


def test_an_untrusted_stream_is_converted_as_a_file(hone, disk, tmp_path):
    sources = {**images(tmp_path, disk), **own_images(hone, tmp_path, disk)}
    out = tmp_path / "out.raw"
    for name, source in sources.items():
        expected = disk.read_bytes() if name == "raw" else padded(disk)
        for threads in "1", "4":
            run_piped(hone.ok, source.read_bytes(), "convert", "-q",
                      "--force", "--untrusted", "--threads", threads, "-", out)
            assert out.read_bytes() == expected, (name, threads)


def test_an_untrusted_member_of_an_archive_is_converted(hone, tmp_path):
    """Its ends are not those of the stream. Data may lie at both."""
    disk = make_disk(tmp_path / "disk.raw", 9 * MIB, parts=300)
    small = qemu_convert(disk, tmp_path / "small.qcow2", "-o",
                         "cluster_size=512")
    (tmp_path / "other").write_bytes(os.urandom(5 * MIB))
    for image in disk, small:
        data = subprocess.run(
            ["tar", "-C", tmp_path, "-cf", "-", "other", image.name, "other"],
            stdout=subprocess.PIPE, check=True).stdout
        for threads in "1", "3":
            run_piped(hone.ok, data, "convert", "-q", "--untrusted", "--force",
                      "--threads", threads, "--member", image.name, "-",
                      tmp_path / "out.raw")
            hone.ok("compare", "-q", tmp_path / "out.raw", disk)
        run_piped(hone.ok, data, "check", "--member", image.name, "-")
        run_piped(hone.ok, image.read_bytes(), "check", "-")
        run_piped(hone.ok, image.read_bytes(), "digest", "--untrusted", "-")


def test_the_end_of_the_file_may_be_the_begin_of_the_disk(hone, tmp_path):
    """It is released long before the last bytes come, and looked at again."""
    image = tmp_path / "image.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", image, "8M"],
                   check=True)
    # The next to last cluster of the file is the first one of the disk.
    subprocess.run(["qemu-io", image, "-c", "write 64k 6M", "-c",
                    "write 0 64k", "-c", "write 7M 64k"], check=True,
                   stdout=subprocess.DEVNULL)
    # In the archive, clusters are blocks of the stream, too.
    (tmp_path / "pad").write_bytes(bytes(65536 - 2 * 512))
    archive = subprocess.run(["tar", "-C", tmp_path, "-cf", "-", "pad",
                              image.name],
                             stdout=subprocess.PIPE, check=True).stdout
    for data in image.read_bytes(), archive:
        for args in (["digest", "--untrusted"], ["check"]):
            run_piped(hone.ok, data, *args, *(
                ["--threads", "1"] if args != ["check"] else []), "-")


def defects(image, disk):
    """Images that hone check refuses, made of a sound one."""
    l1_offset, table = struct.unpack(">QQ", image[40:56])
    entry, = struct.unpack(">Q", image[l1_offset:l1_offset + 8])
    l2_offset = entry & ((1 << 56) - 512)
    block, = struct.unpack(">Q", image[table:table + 8])

    def patched(at, value, form=">Q"):
        new = struct.pack(form, value)
        return image[:at] + new + image[at + len(new):]

    entries = [at for at in range(l2_offset, l2_offset + 4096, 8)
               if image[at:at + 8] != bytes(8)]
    first, = struct.unpack(">Q", image[entries[0]:entries[0] + 8])
    footer = b"conectix\0\0\0\2\0\1\0\0" + bytes(496)
    named = image[:8] + struct.pack(">QI", 512, 4) + image[20:512] + (
        b"base") + image[516:]
    return {
        "data is the L1 table": patched(entries[3], 1 << 63 | l1_offset),
        "data is its own L2 table": patched(entries[3], 1 << 63 | l2_offset),
        "data is the refcount block": patched(entries[3], 1 << 63 | block),
        "data twice": patched(entries[-1], first),
        "data far away": patched(entries[3], 1 << 63 | 1 << 55),
        "L2 far away": patched(l1_offset, 1 << 63 | 1 << 55),
        "L1 far away": patched(40, 1 << 55),
        "a reference too few": patched(block + 2 * (first >> 16 & 0x7fff), 0,
                                       ">H"),
        "the copied bit": patched(entries[2], struct.unpack(
            ">Q", image[entries[2]:entries[2] + 8])[0] & ~(1 << 63)),
        "an unknown feature": patched(72, 1 << 40),
        "marked corrupt": patched(72, 2),
        "a backing file": named,
        "the footer of a VHD": image + bytes(-len(image) % 512) + footer,
        "cut": image[:len(image) // 2],
        "the header of a raw disk": None,
    }


def test_an_unsafe_stream_is_refused_as_the_file_is(hone, disk, tmp_path):
    """With exit status 3, whether its tables or the visit show it."""
    image = qemu_convert(disk, tmp_path / "disk.qcow2").read_bytes()
    out = tmp_path / "out.raw"
    for name, data in defects(image, disk).items():
        path = tmp_path / "image"
        path.write_bytes(data or bytes(MIB) + b"conectix\0\0\0\2\0\1\0\0" +
                         bytes(496))
        data = path.read_bytes()
        assert hone.run("check", path).returncode == 1, name
        assert run_piped(hone.run, data, "check", "-").returncode == 1, name
        for args in (["convert", "-", out], ["digest", "-"],
                     ["convert", "--allow-backing", tmp_path, "-", out]):
            done = run_piped(hone.run, data, *args, "--untrusted")
            assert (done.returncode, done.stdout) == (REFUSED, b""), (
                name, done)
            assert b"stdin: is not safe: " in done.stderr, (name, done)
            assert done.stderr.count(b"\n") == 1, (name, done)
            assert not out.exists()
        # The image was sent by then, and its reader has the exit status.
        done = run_piped(hone.run, data, "convert", "--untrusted", "-", "-")
        assert done.returncode == REFUSED, (name, done)


def test_an_unsafe_stream_leaves_no_partition_table(hone, disk, tmp_path):
    """A target that is written in place has zeros at both ends."""
    image = qemu_convert(disk, tmp_path / "disk.qcow2").read_bytes()
    data = defects(image, disk)["a reference too few"]
    target = tmp_path / "target"
    size = len(padded(disk))
    target.write_bytes(b"old" * (size // 3 + 1))
    done = run_piped(hone.run, data, "convert", "-n", "-O", "raw",
                     "--untrusted", "--allow-disguised", "-", target)
    assert done.returncode == REFUSED, done
    assert b"but zeros in its first and last MiB" in done.stderr
    new = target.read_bytes()
    assert not new[:MIB].strip(b"\0") and not new[-MIB:].strip(b"\0")


def test_tables_behind_much_data_take_scratch_space(hone, tmp_path):
    disk = tmp_path / "disk.raw"
    disk.write_bytes(os.urandom(80 * MIB))
    image = qemu_convert(disk, tmp_path / "image.qcow2")
    data = far(image).read_bytes()
    done = run_piped(hone.run, data, "convert", "--untrusted",
                     "--scratch", tmp_path, "-", tmp_path / "out.raw")
    # The old L1 table is leaked, which is harmless; the new one has no count.
    assert done.returncode == REFUSED, done
    assert b"keeping bytes in a temporary file" in done.stderr
