# SPDX-License-Identifier: BSD-3-Clause
"""qcow2 on stdout: its tables come first."""
import json
import os
import re
import struct
import subprocess

import pytest

from test_pipes import MIB, images, make_disk, own_images, padded, qemu_convert

OFFSET = (1 << 56) - 512


@pytest.fixture(name="disk")
def disk_fixture(tmp_path):
    return make_disk(tmp_path / "disk.raw")


def streamed(hone, *args, **kwargs):
    """The bytes that convert writes; its report is on stderr."""
    done = hone.run("convert", "-O", "qcow2", *args, "-", **kwargs)
    assert done.returncode == 0, done
    *warnings, report = done.stderr.splitlines()
    assert len(warnings) == ("compression_type=zstd" in args), done
    assert report.startswith(b"-: qcow2"), done
    return done.stdout


def words(data, offset, count):
    return struct.unpack(f">{count}Q", data[offset:offset + 8 * count])


class Image:
    """The places of the tables and of the clusters with data."""

    def __init__(self, data):
        self.bits, = struct.unpack(">I", data[20:24])
        n_l1, l1_table = struct.unpack(">IQ", data[36:48])
        refcounts, n_refcounts = struct.unpack(">QI", data[48:60])
        version, = struct.unpack(">I", data[4:8])
        extended = version == 3 and data[79] & 16
        size = 1 << self.bits
        self.tables = [l1_table, refcounts]
        self.tables += filter(None, words(data, refcounts, n_refcounts * size // 8))
        self.data, self.l2 = [], []
        for l2_table in filter(None, words(data, l1_table, n_l1)):
            self.l2.append(l2_table & OFFSET)
            entries = words(data, l2_table & OFFSET, size // 8)
            self.data += [entry & OFFSET for entry in
                          entries[::2 if extended else 1] if entry]


def check(hone, data, disk, path):
    """It is sound, and has the disk."""
    path.write_bytes(data)
    subprocess.run(["qemu-img", "check", "-q", path], check=True)
    subprocess.run(["qemu-img", "compare", "-q", "-f", "qcow2", "-F", "raw",
                    path, disk], check=True)
    hone.ok("check", path)


OPTIONS = ["", "compat=0.10", "cluster_size=512", "cluster_size=2M",
           "extended_l2=on", "refcount_bits=1,cluster_size=512",
           "refcount_bits=4", "refcount_bits=64", "compression_type=zstd",
           "preallocation=metadata", "lazy_refcounts=off"]


def test_an_image_on_stdout_is_sound_and_has_its_tables_first(hone, disk, tmp_path):
    for option in OPTIONS:
        args = ["-o", option] if option else []
        data = streamed(hone, "--threads", "1", *args, disk)
        check(hone, data, disk, tmp_path / "out.qcow2")
        assert streamed(hone, "--threads", "4", *args, disk) == data
        image = Image(data)
        assert max(image.tables + image.l2) < min(image.data), option
        # Ascending, without gaps: a range of the disk is one of the file.
        size = 1 << image.bits
        assert image.data == list(range(image.data[0], len(data), size))
        if option != "preallocation=metadata":
            written = tmp_path / "file.qcow2"
            hone.ok("convert", "-q", "--force", *args, disk, written)
            used = len(data) - written.stat().st_size
            # Zeros inside data are data here.
            assert used <= 80 * (size + 4096), (option, used)


def test_a_stream_of_such_an_image_needs_no_scratch_space(hone, tmp_path, disk):
    """Even if much more than the memory comes."""
    big = tmp_path / "big.raw"
    block = os.urandom(MIB)
    with open(big, "wb") as file:
        for i in range(100):
            file.write(block[:-8] + struct.pack("<Q", i))
    for source in big, disk:
        with subprocess.Popen([hone.path, "convert", "-q", "-O", "qcow2", source, "-"],
                              stdout=subprocess.PIPE) as child:
            hone.ok("convert", "-q", "--force", "--scratch", tmp_path / "no",
                    "-", tmp_path / "out.raw", stdin=child.stdout)
            child.stdout.close()
            assert child.wait() == 0
        assert (tmp_path / "out.raw").read_bytes() == padded(source)


def test_every_image_goes_to_stdout_as_qcow2(hone, disk, tmp_path):
    """From a file, and from a pipe if its size is known."""
    sources = {**images(tmp_path, disk), **own_images(hone, tmp_path, disk)}
    out = tmp_path / "out.qcow2"
    for name, source in sources.items():
        data = streamed(hone, source)
        check(hone, data, disk, out)
        if name == "raw":
            continue
        piped = streamed(hone, "-", input=source.read_bytes())
        # A pipe has no holes inside clusters of the source.
        assert piped == data or len(piped) > len(data), name
        check(hone, piped, disk, out)


def test_small_disks_and_disks_without_data_go_to_stdout(hone, tmp_path):
    disk = tmp_path / "disk.raw"
    for size in 0, 512, 65536, 3 * MIB + 512:
        for data in bytes(size), b"x" * size:
            disk.write_bytes(data)
            check(hone, streamed(hone, disk), disk, tmp_path / "out.qcow2")
    with open(disk, "wb") as file:
        file.truncate(8 << 40)
    data = streamed(hone, disk)
    assert len(data) < MIB
    check(hone, data, disk, tmp_path / "out.qcow2")


def test_the_refcounts_count_what_they_take(hone, tmp_path):
    """A block has 64 counts: each place of the end in a block."""
    disk, out = tmp_path / "disk.raw", tmp_path / "out.qcow2"
    for clusters in range(1, 66):
        disk.write_bytes(b"x" * 512 * clusters)
        out.write_bytes(streamed(hone, "-o", "cluster_size=512,refcount_bits=64", disk))
        hone.ok("check", out)


def test_what_cannot_be_streamed_is_refused(hone, disk, tmp_path):
    said = hone.fails("convert", "-O", "qcow2", "-", "-", input=disk.read_bytes())
    assert said == (
        "hone: stdout: begins with the tables of the image, and the size of "
        "the source is not known before its end; use -O raw, or write to a file")


def fragmented(path, runs):
    """An image of clusters of 512 bytes, every second of which has data."""
    tables = -(-runs // 32)
    data, refcounts, l1_offset = 512, 1024, 1536
    l2_offset = l1_offset + -(-tables * 8 // 512) * 512
    head = struct.pack(">4sIQIIQIIQQIIQ", b"QFI\xfb", 2, 0, 0, 9,
                       tables * 32768, 0, tables, l1_offset, refcounts, 1, 0, 0)
    table = struct.pack(">QQ", 1 << 63 | data, 0) * 32
    with open(path, "wb") as file:
        file.write(head + bytes(512 - len(head)) + b"x" * 512)
        file.write(bytes(512))
        file.write(b"".join(struct.pack(">Q", 1 << 63 | l2_offset + 512 * i)
                            for i in range(tables)))
        file.seek(l2_offset)
        file.write(table * (runs // 32) + table[:16 * (runs % 32)])
        file.truncate(l2_offset + 512 * tables)
    return path


def test_the_memory_for_a_fragmented_disk_is_bounded(hone, tmp_path):
    """Half of --memory is the limit: 16 bytes for each range of data."""
    most = 4 * MIB // 16
    for runs, status in (most, 0), (most + 1, 1):
        image = fragmented(tmp_path / "image.qcow2", runs)
        with open(tmp_path / "out.qcow2", "wb") as out:
            done = hone.run("convert", "-q", "-O", "qcow2", "-o",
                            "cluster_size=512", "--memory", "8M", image, "-",
                            stdout=out)
        assert done.returncode == status, done
        if status == 0:
            hone.ok("compare", "-q", image, tmp_path / "out.qcow2")
    assert (tmp_path / "out.qcow2").stat().st_size == 0
    assert re.fullmatch(
        rf"hone: [^\n]*image.qcow2: has data in more than {most} places, and "
        r"[^\n]*: add --memory, or write to a file\n",
        done.stderr.decode()), done


def test_the_closed_reader_of_an_image_is_one_sentence(hone, disk):
    read, write = os.pipe()
    os.close(read)
    done = hone.run("convert", "-O", "qcow2", disk, "-", stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (
        1, b"hone: stdout: cannot be written at offset 0: Broken pipe\n")


def test_a_source_that_changes_after_its_tables_left_is_an_error(hone, tmp_path):
    """Its new data has no place. No image that is wrong ends with 0."""
    disk = tmp_path / "disk.raw"
    half = MIB // 2
    # Behind a run in its chunk, between two runs, behind the last one.
    for at in 33 * half, 24 * MIB + 4096, 63 * half:
        with open(disk, "wb") as file:
            file.write(b"x" * 33 * half)
            # More parts than the store of the file remembers; it remembers the
            # last hole, and finds the change of the file in the end.
            for run in range(8):
                file.seek(31 * MIB + run * 32768)
                file.write(b"x" * 4096)
            file.truncate(32 * MIB)
        read, write = os.pipe()
        # One thread reads one chunk ahead of what the pipe takes, 1 MiB.
        with subprocess.Popen(
                [hone.path, "convert", "-q", "--threads", "1", "-O", "qcow2",
                 "-o", "cluster_size=512", disk, "-"], stdout=write,
                stderr=subprocess.PIPE) as child:
            os.close(write)
            # The extents were listed before the first byte came.
            with open(read, "rb") as stream:
                stream.read(512)
                with open(disk, "r+b") as file:
                    file.seek(at)
                    file.write(b"y" * 4096)
                while stream.read(MIB):
                    pass
            said = child.stderr.read().decode()
            assert child.wait() == 1
        assert "changed" in said and said.count("\n") == 1, said
        assert at == 63 * half or (
            f"it has data at offset {at}, where it had none" in said), said


def test_other_programs_read_the_image_as_it_comes(hone, disk, tmp_path):
    """A digest and a report are those of a file."""
    copy = qemu_convert(disk, tmp_path / "disk.qcow2")
    done = hone.run("convert", "--json", "-O", "qcow2", "--digest", "sha256", copy, "-")
    assert done.returncode == 0, done
    of_file = hone.json("convert", "--json", "--digest", "sha256", copy,
                        tmp_path / "out.raw")
    said = json.loads(done.stderr)
    assert said["digests"] == of_file["digests"]
    assert said["format"] == "qcow2"
    check(hone, done.stdout, disk, tmp_path / "out.qcow2")
