# SPDX-License-Identifier: BSD-3-Clause
"""Images that come through a pipe, also with --untrusted, or go to stdout."""
import fcntl
import hashlib
import json
import os
import random
import re
import socket
import struct
import subprocess
import threading

import pytest

from harness import ENV, piped, write
from qcow2_reader import Qcow2
from without import NO_TMPFILE, Without

MIB = 1 << 20
REFUSED = 3


def make_disk(path, size=5 * MIB + 777, seed=1, parts=40):
    """A raw disk with data, zeros and holes."""
    rng = random.Random(seed)
    with open(path, "wb") as file:
        file.truncate(size)
        for _ in range(parts):
            file.seek(rng.randrange(size))
            file.write(rng.randbytes(rng.randrange(1, 90000)))
        file.truncate(size)
    return path


def qemu_convert(source, target, *args):
    subprocess.run(["qemu-img", "convert", "-O", "qcow2", *args, source,
                    target], check=True)
    return target


@pytest.fixture(name="disk")
def disk_fixture(tmp_path):
    return make_disk(tmp_path / "disk.raw")


def read_all(fd):
    with open(fd, "rb") as file:
        while file.read(MIB):
            pass


def padded(path):
    """The bytes of a disk, as long as qcow2 makes it."""
    data = path.read_bytes()
    return data + bytes(-len(data) % 512)


# By what the disk is made an image, in which tables lie in front or behind.
PLAIN = {"plain": (), "packed": ("-c",),
         "zstd": ("-c", "-o", "compression_type=zstd"),
         "512": ("-o", "cluster_size=512"), "extended": ("-o", "extended_l2=on")}
OWN = {**PLAIN, "2M": ("-o", "cluster_size=2M"),
       "prealloc": ("-o", "preallocation=metadata")}


@pytest.fixture(name="sources")
def sources_fixture(hone, disk, tmp_path):
    """The same disk as several images: {name: path}."""
    made = {"raw": disk}
    for name, args in PLAIN.items():
        made[f"qemu-{name}"] = qemu_convert(disk, tmp_path / f"qemu-{name}", *args)
    for name, args in OWN.items():
        made[f"hone-{name}"] = tmp_path / f"hone-{name}"
        hone.ok("convert", "-q", "-O", "qcow2", *args, disk, made[f"hone-{name}"])
    return made


def test_every_image_is_converted_from_a_pipe_as_from_a_file(
        hone, disk, sources, tmp_path):
    """To raw and to qcow2, with one thread and with several."""
    for name, source in sources.items():
        expected = disk.read_bytes() if name == "raw" else padded(disk)
        data = source.read_bytes()
        for threads, *more in ["1"], ["4"], ["1", "--untrusted"], ["4", "--untrusted"]:
            raw = tmp_path / "out.raw"
            hone.ok("convert", "--force", "-q", *more, "--threads", threads, "-", raw,
                    input=data)
            assert raw.read_bytes() == expected, (name, threads)
        out = tmp_path / "out.qcow2"
        hone.ok("convert", "--force", "-q", "-", out, input=data)
        subprocess.run(["qemu-img", "check", "-q", out], check=True)
        hone.ok("compare", "-q", out, disk)


def test_a_raw_pipe_fills_every_kind_of_qcow2(hone, disk, tmp_path):
    """The size is known at the end only."""
    for size in 0, 1, 512, 65536, MIB, 3 * MIB + 1:
        data = disk.read_bytes()[:size]
        (tmp_path / "part.raw").write_bytes(data)
        for args in (), ("-c",), ("-o", "cluster_size=512"), (
                "-o", "preallocation=metadata"), (
                "-o", "extended_l2=on,cluster_size=2M"):
            out = tmp_path / "out.qcow2"
            hone.ok("convert", "-f", "raw", "--force", "-q", *args, "-", out,
                    input=data)
            subprocess.run(["qemu-img", "check", "-q", out], check=True)
            info = hone.json("info", "--json", out)
            assert info["virtual_size"] == size + -size % 512
            hone.ok("compare", "-q", out, tmp_path / "part.raw")


def test_digest_map_compare_check_and_info_read_a_pipe(hone, disk, sources):
    for name, source in sources.items():
        data = source.read_bytes()
        for args in (["digest"], ["digest", "--json", "--blocks", "64k"],
                     ["map"], ["check"]):
            piped_result = hone.ok(*args, "-", input=data).stdout
            of_file = hone.ok(*args, source).stdout
            # A pipe has no holes.
            if args == ["map"] and not name.endswith(("packed", "zstd")):
                continue
            if name == "raw" and "--blocks" in args:
                continue
            assert piped_result.replace(b"-", b"") == of_file.replace(
                str(source).encode(), b"").replace(b"-", b""), (name, args)
        hone.ok("compare", "-q", "-", disk, input=data)
        hone.ok("compare", "-q", disk, "-", input=data)
        done = hone.json("info", "--json", "-", input=data)
        assert done["format"] == ("raw" if name == "raw" else "qcow2")
        assert done["file_size"] is None and done["disk_usage"] is None
        if name == "raw":
            assert done["virtual_size"] is None


def test_blocks_and_sizes_of_a_raw_pipe(hone, disk):
    data = disk.read_bytes()
    blocks = hone.json("digest", "--json", "--blocks", "1M", "-", input=data)
    assert blocks["virtual_size"] is None
    of_file = hone.json("digest", "--json", "--blocks", "1M", disk)
    assert blocks["blocks"] == of_file["blocks"]
    extents = hone.json("map", "--json", "-", input=data)
    assert sum(e["length"] for e in extents) == len(data)
    done = hone.ok("digest", "-", input=data)
    assert done.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()
    text = hone.ok("info", "-", input=data).stdout
    assert b"virtual size:      not known before the end of the stream" in text


def test_sizes_of_a_pipe_are_compared_at_its_end(hone, disk):
    data = disk.read_bytes()
    for a, b in ("-", disk), (disk, "-"):
        done = hone.run("compare", a, b, input=data[:-600])
        assert done.returncode == 0 or data[-600:].strip(b"\0"), done
        done = hone.run("compare", a, b, input=data + bytes(5000))
        assert done.returncode == 0, done
        assert str(len(data) + 5000).encode() in done.stdout, done
        done = hone.run("compare", "--strict", a, b, input=data + bytes(5000))
        assert done.returncode == 1, done
        done = hone.run("compare", a, b, input=data + bytes(5000) + b"x")
        assert done.returncode == 1, done
        assert str(len(data) + 5000).encode() in done.stdout, done


def test_a_stream_is_a_file_a_fifo_or_a_socket_too(hone, disk, tmp_path):
    """A file that is at its beginning is read as a file."""
    out = tmp_path / "out.raw"
    with open(disk, "rb") as file:
        hone.ok("convert", "-q", "-", out, stdin=file)
    assert out.read_bytes() == disk.read_bytes()
    with open(disk, "rb") as file:
        os.lseek(file.fileno(), 5000, os.SEEK_SET)
        hone.ok("convert", "-q", "--force", "-f", "raw", "-", out, stdin=file)
    assert out.read_bytes() == disk.read_bytes()[5000:]
    os.mkfifo(tmp_path / "fifo")
    with subprocess.Popen(["sh", "-c", f"cat {disk} >{tmp_path}/fifo"]):
        fd = os.open(tmp_path / "fifo", os.O_RDONLY)
        hone.ok("convert", "-q", "--force", "-", out, stdin=fd)
        os.close(fd)
    assert out.read_bytes() == disk.read_bytes()
    one, other = socket.socketpair()
    with one, other:
        child = subprocess.Popen(["cat", disk], stdout=other)
        other.close()
        hone.ok("convert", "-q", "--force", "-", out, stdin=one)
        child.wait()
    assert out.read_bytes() == disk.read_bytes()


def test_what_cannot_be_a_stream_is_refused(hone, disk, tmp_path):
    out = tmp_path / "out.raw"
    line = hone.misused("compare", "-", "-")
    assert "only one image can come from stdin" in line
    folder = os.open(tmp_path, os.O_RDONLY)
    line = hone.fails("info", "-", stdin=folder)
    os.close(folder)
    assert "stdin: is a directory" in line
    main, side = os.openpty()
    try:
        line = hone.fails("info", "-", stdin=side)
    finally:
        os.close(main)
        os.close(side)
    assert "stdin: is a terminal" in line
    assert not out.exists() and disk.exists()


def test_the_format_is_found_by_the_first_bytes_or_given(hone, disk, tmp_path):
    """As for a file: a disk that begins like an image is not opened as one."""
    image = qemu_convert(disk, tmp_path / "disk.qcow2")
    out = tmp_path / "out.raw"
    data = image.read_bytes()
    line = hone.fails("convert", "-", out, input=b"vhdxfile" + bytes(2000))
    assert "stdin: has a VHDX header" in line
    # -f raw keeps the bytes of the image, which is refused as a raw file.
    line = hone.fails("convert", "-f", "raw", "-", out, input=data)
    assert "signature of qcow2 at offset 0" in line
    assert not out.exists()
    hone.ok("convert", "-q", "-f", "raw", "--allow-disguised", "-", out, input=data)
    assert out.read_bytes() == data
    tail = bytes(MIB) + b"conectix\0\0\0\2\0\1\0\0" + bytes(496)
    out.unlink()
    line = hone.fails("convert", "-", out, input=tail)
    assert f"signature of VHD at offset {MIB}" in line
    assert not out.exists()


def test_a_stream_that_ends_early_is_an_error(hone, disk, tmp_path):
    image = qemu_convert(disk, tmp_path / "disk.qcow2")
    packed = qemu_convert(disk, tmp_path / "packed.qcow2", "-c")
    out = tmp_path / "out.raw"
    for source in image, packed:
        data = source.read_bytes()
        for i in range(1, 12):
            line = hone.fails("convert", "-", out,
                              input=data[:len(data) * i // 12 - 700], code=3)
            assert line.startswith("hone: stdin: "), line
            assert not out.exists()


def test_bytes_behind_the_image_are_read(hone, disk, tmp_path):
    """The program that writes the pipe does not fail."""
    image = qemu_convert(disk, tmp_path / "disk.qcow2")
    zeros = write(tmp_path, "zeros", bytes(MIB))
    out = tmp_path / "out.raw"
    with subprocess.Popen(["cat", image, zeros], stdout=subprocess.PIPE) as child:
        hone.ok("convert", "-q", "-", out, stdin=child.stdout)
        child.stdout.close()
        assert child.wait() == 0
    assert out.read_bytes() == padded(disk)


def far_tables(data):
    """The qcow2 image with a copy of its L1 table at its end."""
    l1_size, l1_offset = struct.unpack(">IQ", data[36:48])
    table = data[l1_offset:l1_offset + 8 * l1_size]
    end = len(data) + -len(data) % 65536
    moved = data[:40] + struct.pack(">Q", end) + data[48:]
    return moved + bytes(end - len(data)) + table + bytes(-len(table) % 65536)


def test_tables_behind_much_data_take_a_temporary_file(hone, tmp_path):
    """It is named in one line, has no name itself, and is gone at the end."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    disk = write(tmp_path, "big.raw", os.urandom(MIB) * 80)
    image = qemu_convert(disk, tmp_path / "big.qcow2")
    data = far_tables(image.read_bytes())
    out = tmp_path / "out.raw"
    said = (f"hone: stdin: more of it is needed again than fits in memory: "
            f"keeping bytes in a temporary file in {scratch}\n").encode()
    for args, env in ((["--scratch", scratch], {}), ([], {"TMPDIR": str(scratch)})):
        done = hone.run("convert", "--force", *args, "-", out, input=data, env=env)
        assert (done.returncode, done.stderr) == (0, said), done
        assert out.read_bytes() == disk.read_bytes()
        assert not list(scratch.iterdir())
    hone.ok("convert", "--force", "-q", "--scratch", scratch, "-", out, input=data)
    no, far = tmp_path / "no", tmp_path.joinpath(*["f" * 200] * 6)
    far.mkdir(parents=True)
    for tool in hone, Without(hone, NO_TMPFILE):
        line = tool.run("convert", "--force", "--scratch", no, "-", out, input=data)
        assert line.returncode == 1
        assert line.stderr.decode().endswith(
            f"hone: {no}: a temporary file cannot be made there: "
            "No such file or directory\n")
    tool.ok("convert", "--force", "-q", "--scratch", far, "-", out, input=data)
    assert not list(far.iterdir())
    # The old L1 table is leaked, which is harmless; the new one has no count.
    line = hone.run("convert", "--force", "--untrusted", "--scratch", scratch, "-", out,
                    input=data)
    assert line.returncode == REFUSED and said in line.stderr
    # Without such tables there is no such file.
    hone.ok("convert", "--force", "-q", "--scratch", tmp_path / "no", "-", out,
            input=image.read_bytes())
    assert out.read_bytes() == disk.read_bytes()


def test_hostile_tables_of_a_stream_are_refused(hone, disk, tmp_path):
    """Tables far behind the end, on each other, or used twice."""
    tables = Qcow2(qemu_convert(disk, tmp_path / "disk.qcow2"))
    image, out = (tmp_path / "disk.qcow2").read_bytes(), tmp_path / "out.raw"
    l1_offset = tables.l1_at

    def patched(at, value):
        return image[:at] + struct.pack(">Q", value) + image[at + 8:]

    entries = [tables.l2_at[0] + 8 * guest for guest in tables.where]
    first = struct.unpack(">Q", image[entries[0]:entries[0] + 8])[0]
    cases = {"L1 far away": patched(40, 1 << 55),
             "L2 far away": patched(l1_offset, 1 << 63 | 1 << 55),
             "data far away": patched(entries[3], 1 << 63 | 1 << 55),
             "data is the L1 table": patched(entries[3], 1 << 63 | l1_offset),
             "data twice": patched(entries[-1], first)}
    for name, data in cases.items():
        for command in ("convert", "-", out), ("digest", "-"), ("map", "-"):
            done = hone.run(*command, input=data)
            if name == "data twice" and done.returncode == 0:
                # The bytes were still in memory.
                out.unlink(missing_ok=True)
                continue
            assert done.returncode == (1 if name == "data twice" else 3), done
            assert done.stderr.count(b"\n") == 1, (name, done)
            assert not out.exists()


def to_stdout(hone, *args, form="raw", **kwargs):
    """The bytes that convert writes; its report is on stderr."""
    done = hone.run("convert", *args, "-", **kwargs)
    assert done.returncode == 0, done
    *warnings, report = done.stderr.splitlines()
    assert len(warnings) == ("compression_type=zstd" in args), done
    assert report.startswith(f"-: {form}".encode()), done
    return done.stdout


def streamed(hone, *args, **kwargs):
    """The bytes of a qcow2 image."""
    return to_stdout(hone, "-O", "qcow2", *args, form="qcow2", **kwargs)


def test_a_raw_image_goes_to_stdout(hone, disk, sources, tmp_path):
    """From a file and from a pipe, by one thread and by several."""
    for name, source in sources.items():
        expected = disk.read_bytes() if name == "raw" else padded(disk)
        for threads in "1", "3":
            assert to_stdout(hone, "--threads", threads, source) == expected
        assert to_stdout(hone, "-", input=source.read_bytes()) == expected
    for size in 0, 1, 511, 513, MIB, MIB + 1, 5 * MIB + 7:
        part = write(tmp_path, "part.raw", bytes(size))
        assert to_stdout(hone, part) == bytes(size)
    with open(tmp_path / "out.raw", "wb") as out:
        hone.ok("convert", "-q", disk, "-", stdout=out)
    assert (tmp_path / "out.raw").read_bytes() == disk.read_bytes()


def test_the_report_of_stdout_is_on_stderr(hone, disk):
    done = hone.run("convert", "--json", "--digest", "sha256", disk, "-")
    assert done.returncode == 0 and done.stdout == disk.read_bytes()
    said = json.loads(done.stderr)
    assert said["virtual_size"] == disk.stat().st_size
    data = disk.read_bytes()
    done = hone.run("convert", "--json", "-", "-", input=data)
    assert done.stdout == data
    assert json.loads(done.stderr)["virtual_size"] == len(data)
    # A pipe has no disk, and zeros are not left out of it.
    assert re.search(rb"of data, .* of zeros; .* written; ",
                     hone.run("convert", disk, "-").stderr)


@pytest.mark.parametrize("before, after", [(4096, MIB), (4 * MIB, 4 * MIB)])
def test_a_pipe_on_stdout_has_room_for_a_mib_at_least(hone, disk, before, after):
    read, write = os.pipe()
    try:
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, before)
    except PermissionError:
        os.close(read)
        os.close(write)
        pytest.skip("a pipe of more than 1 MiB takes a privilege")
    reader = threading.Thread(target=read_all, args=(read,))
    reader.start()
    hone.ok("convert", "-q", disk, "-", stdout=write)
    capacity = fcntl.fcntl(write, fcntl.F_GETPIPE_SZ)
    os.close(write)
    reader.join()
    assert capacity == after


def test_what_stdout_cannot_take_is_refused(hone, disk):
    for args, part in ((["-c", "-O", "qcow2"], "cannot be compressed"),
                       (["--verify", "-O", "qcow2"], "cannot be read back"),
                       (["--verify"], "cannot be read back")):
        assert part in hone.misused("convert", *args, disk, "-")
    main, side = os.openpty()
    try:
        done = hone.run("convert", disk, "-", stdout=side)
    finally:
        os.close(main)
        os.close(side)
    assert done.returncode == 1
    assert done.stderr == (b"hone: stdout: is a terminal; an image goes to a "
                           b"pipe or a file\n")


def test_a_reader_that_stops_is_one_sentence(hone, disk, tmp_path):
    """Whatever the command reads, and writes."""
    zeros = write(tmp_path, "zeros.raw", bytes(2 * MIB))
    for words in [disk], [zeros], ["-O", "qcow2", disk], ["-"]:
        how = {"input": disk.read_bytes()} if words == ["-"] else {}
        reader, writer = os.pipe()
        os.close(reader)
        done = hone.run("convert", *words, "-", stdout=writer, **how)
        os.close(writer)
        assert done.returncode == 1, done
        offset = b"0" if "qcow2" in words else rb"\d+"
        assert re.fullmatch(b"hone: stdout: cannot be written at offset " + offset +
                            b": Broken pipe\n", done.stderr), done


def test_a_disguised_disk_does_not_reach_stdout(hone, tmp_path):
    """Its first bytes are judged before they leave, its last ones at the end.
    """
    data = b"QFI\xfb" + bytes(3) + b"\3" + bytes(MIB)
    said = hone.fails("convert", "-f", "raw", "-", "-", input=data)
    assert "signature of qcow2 at offset 0" in said
    done = hone.run("convert", "-q", "-f", "raw", "--allow-disguised", "-", "-",
                    input=data)
    assert (done.returncode, done.stdout) == (0, data), done
    disk = write(tmp_path, "disk.raw", data)
    hone.fails("convert", "-f", "raw", disk, "-")
    for rest in 496, 0:
        tail = b"x" * MIB + b"conectix\0\0\0\2\0\1\0\0" + bytes(496)
        done = hone.run("convert", "-f", "raw", "-", "-", input=bytes(rest) + tail)
        assert done.returncode == 1, done
        assert b"signature of VHD" in done.stderr, done
        disk.write_bytes(tail)
        hone.fails("convert", disk, "-")
    # The signature is not at the end, which is zero.
    data = tail + bytes(2 * MIB)
    done = hone.run("convert", "-q", "-f", "raw", "-", "-", input=data)
    assert (done.returncode, done.stdout) == (0, data), done


def test_an_empty_pipe_is_refused(hone, tmp_path):
    """Its writer has failed, and DST keeps what it has."""
    out = write(tmp_path, "out.raw", b"x" * MIB)
    for args in ("convert", "-n", "-", out), ("digest", "-"):
        said = hone.fails(*args, input=b"")
        assert said.startswith("hone: stdin: is empty")
    assert out.read_bytes() == b"x" * MIB
    done = hone.run("digest", "-f", "raw", "-", input=b"")
    assert done.returncode == 0, done


def test_memory_does_not_grow_with_the_stream(hone):
    """160 MiB that are not zero come through a pipe."""
    block = bytes(range(256)) * 4096
    total = hashlib.md5()
    # AddressSanitizer would keep 256 MB of freed memory.
    env = dict(ENV, ASAN_OPTIONS=ENV["ASAN_OPTIONS"] + ":quarantine_size_mb=1")
    with subprocess.Popen(
            [hone.path, "digest", "-a", "md5", "--threads", "2", "-"],
            env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        for i in range(160):
            if i == 60:
                before = peak(child.pid)
            child.stdin.write(block)
            total.update(block)
        after = peak(child.pid)
        child.stdin.close()
        said = child.stdout.read()
    assert said.split()[0].decode() == total.hexdigest()
    assert after - before < 16 * MIB, (before, after)


def peak(pid):
    """The most memory that a process had, in bytes."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        lines = dict(line.split(":", 1) for line in file)
    return int(lines["VmHWM"].split()[0]) * 1024


@pytest.fixture(name="large")
def large_fixture(tmp_path):
    """Data of two L2 tables, more than memory takes."""
    path = tmp_path / "large.raw"
    with open(path, "wb") as file:
        file.write(os.urandom(70 * MIB))
        file.seek(512 * MIB)
        file.write(os.urandom(4 * MIB))
    return path


@pytest.mark.all
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
            done = piped(hone.run, image, *args, "--scratch", tmp_path / "no")
            assert (done.returncode, done.stderr) == (0, b""), (image, done)
            if args[0] == "digest":
                assert done.stdout.split()[0] == digest, image
        hone.ok("compare", "-q", out, disk)


def test_an_untrusted_member_of_an_archive_is_converted(hone, tmp_path):
    """Its ends are not those of the stream. Data may lie at both."""
    disk = make_disk(tmp_path / "disk.raw", 9 * MIB, parts=300)
    small = qemu_convert(disk, tmp_path / "small.qcow2", "-o", "cluster_size=512")
    (tmp_path / "other").write_bytes(os.urandom(5 * MIB))
    for image in disk, small:
        data = subprocess.run(
            ["tar", "-C", tmp_path, "-cf", "-", "other", image.name, "other"],
            stdout=subprocess.PIPE, check=True).stdout
        for threads in "1", "3":
            hone.ok("convert", "-q", "--untrusted", "--force", "--threads", threads,
                    "--member", image.name, "-", tmp_path / "out.raw", input=data)
            hone.ok("compare", "-q", tmp_path / "out.raw", disk)
        hone.ok("check", "--member", image.name, "-", input=data)
        hone.ok("check", "-", input=image.read_bytes())
        hone.ok("digest", "--untrusted", "-", input=image.read_bytes())


def test_the_end_of_the_file_may_be_the_begin_of_the_disk(hone, tmp_path):
    """It is released long before the last bytes come, and looked at again."""
    image = tmp_path / "image.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", image, "8M"], check=True)
    # The next to last cluster of the file is the first one of the disk.
    subprocess.run(["qemu-io", image, "-c", "write 64k 6M", "-c",
                    "write 0 64k", "-c", "write 7M 64k"], check=True,
                   stdout=subprocess.DEVNULL)
    # In the archive, clusters are blocks of the stream, too.
    (tmp_path / "pad").write_bytes(bytes(65536 - 2 * 512))
    archive = subprocess.run(["tar", "-C", tmp_path, "-cf", "-", "pad", image.name],
                             stdout=subprocess.PIPE, check=True).stdout
    for data in image.read_bytes(), archive:
        for args in (["digest", "--untrusted"], ["check"]):
            hone.ok(*args, *(["--threads", "1"] if args != ["check"] else []), "-",
                    input=data)


def test_an_unsafe_stream_leaves_no_partition_table(hone, disk, tmp_path):
    """A target that is written in place has zeros at both ends. A reader of stdout
    has the exit status. test_verdicts.py has what is unsafe."""
    image = qemu_convert(disk, tmp_path / "disk.qcow2").read_bytes()
    table, = struct.unpack(">Q", image[48:56])
    block, = struct.unpack(">Q", image[table:table + 8])
    data = image[:block] + bytes(2) + image[block + 2:]
    target = tmp_path / "target"
    size = len(padded(disk))
    target.write_bytes(b"old" * (size // 3 + 1))
    said = hone.fails("convert", "-n", "-O", "raw", "--untrusted", "--allow-disguised",
                      "-", target, input=data, code=REFUSED)
    assert "but zeros in its first and last MiB" in said
    new = target.read_bytes()
    assert not new[:MIB].strip(b"\0") and not new[-MIB:].strip(b"\0")
    done = hone.run("convert", "--untrusted", "-", "-", input=data)
    assert done.returncode == REFUSED, done


def test_an_unsafe_stream_opens_no_other_file(hone, disk, tmp_path):
    """It is refused before a byte is written, for what is not safe, although the
    option names the folder."""
    top, target = tmp_path / "top.qcow2", tmp_path / "target"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-b", disk, "-F", "raw",
                    top], check=True)
    target.write_bytes(b"old" * disk.stat().st_size)
    data = top.read_bytes()
    for words, status in ([], 0), (["--untrusted"], REFUSED):
        done = hone.run("convert", "-q", "-n", "-O", "raw", "--allow-backing", tmp_path,
                        *words, "-", target, input=data)
        assert done.returncode == status, done
        assert (target.read_bytes()[:3] == b"old") == bool(status)
        target.write_bytes(b"old" * disk.stat().st_size)
    assert b": is not safe: backing_file: names the backing file '" in done.stderr


# qcow2 on stdout: its tables come first.


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
        image = Qcow2(tmp_path / "out.qcow2")
        image.check()
        size, places = image.cluster, list(image.where.values())
        tables = [at for at, (what, _) in image.used.items() if "guest" not in what]
        assert max(tables) * size < places[0], option
        # Ascending, without gaps: a range of the disk is one of the file.
        assert places == list(range(places[0], len(data), size))
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


def test_every_image_goes_to_stdout_as_qcow2(hone, disk, sources, tmp_path):
    """From a file, and from a pipe if its size is known."""
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
