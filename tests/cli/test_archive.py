# SPDX-License-Identifier: BSD-3-Clause
"""Images inside tar archives."""
import io
import os
import subprocess
import tarfile

import pytest

import images
from harness import (
    assert_reads_as, converted, failure, need, piped, snapshot, write)
from hostile_tars import CUT, DATA, HOSTILE
from http_server import Server, whole
from images import KI, MI, PACK, SUFFIX
from tar_builder import (END, GNU, OLD, binary, gnu_sparse, header, long_name,
                         member, octal, pax, sparse)
from test_nbd import qemu_nbd
from test_ovf import one_of, ova, wrong

READERS = ["convert", "map", "info", "compare", "check", "digest"]


def tar(folder, target, *options, names):
    """GNU tar."""
    subprocess.run(["tar", "-C", folder, *options, "-cf", target, *names], check=True)


def python_tar(form):
    """Python's tarfile."""
    def make(folder, target, names):
        with tarfile.open(target, "w", format=form) as archive:
            for name in names:
                archive.add(folder / name, name)
    return make


def bsdtar(*options):
    """libarchive's tar."""
    def make(folder, target, names):
        need("bsdtar")
        subprocess.run(["bsdtar", "-C", folder, *options, "-cf", target,
                        *names], check=True)
    return make


def gnu_tar(*options):
    """GNU tar with options."""
    return lambda folder, target, names: tar(folder, target, *options, names=names)


MAKERS = {
    "gnu-v7": gnu_tar("--format=v7"),
    "gnu-ustar": gnu_tar("--format=ustar"),
    "gnu-gnu": gnu_tar("--format=gnu"),
    "gnu-oldgnu-sparse": gnu_tar("--format=oldgnu", "-S"),
    "gnu-posix": gnu_tar("--format=posix"),
    "gnu-0.0": gnu_tar("--format=posix", "-S", "--sparse-version=0.0"),
    "gnu-0.1": gnu_tar("--format=posix", "-S", "--sparse-version=0.1"),
    "gnu-1.0": gnu_tar("--format=posix", "-S", "--sparse-version=1.0"),
    "python-ustar": python_tar(tarfile.USTAR_FORMAT),
    "python-gnu": python_tar(tarfile.GNU_FORMAT),
    "python-pax": python_tar(tarfile.PAX_FORMAT),
    "bsd-ustar": bsdtar("--format=ustar"),
    "bsd-gnutar": bsdtar("--format=gnutar"),
    "bsd-pax-sparse": bsdtar("--format=pax", "--read-sparse"),
    "bsd-v7": bsdtar("--format=v7"),
}
SPARSE = [name for name in MAKERS if "sparse" in name or "-S" in name or
          name[-3:] in ("0.0", "0.1", "1.0")]


@pytest.fixture
def folder(work):
    """A directory with a sparse disk of many pieces, and other files."""
    path = work / "files"
    path.mkdir()
    images.pieces(path / "disk.raw", 2 * MI + 100, *[
        (n * 40 * KI, images.noise(8 * KI, n)) for n in range(1, 50)],
        (2 * MI, b"the last byte is not zero" * 4))
    write(path, "note.txt", b"text\n")
    write(path, "b.txt", images.noise(70 * KI, 99))
    return path


@pytest.mark.all
@pytest.mark.parametrize("maker", list(MAKERS))
def test_an_image_in_an_archive_of_each_program(hone, folder, work, out, maker,
                                                threads):
    archive, disk = work / "a.tar", folder / "disk.raw"
    MAKERS[maker](folder, archive, ["note.txt", "disk.raw", "b.txt"])
    for target in ("x.raw", "x.qcow2"):
        hone.ok("convert", "-q", "-m", threads, archive, out / target)
        hone.ok("compare", "-q", disk, out / target)
        os.unlink(out / target)
    done = piped(hone.run, archive, "convert", "-q", "-m", threads, "--member",
                 "disk.raw", "-", out / "x.raw")
    assert (done.returncode, done.stderr) == (0, b"")
    hone.ok("compare", "-q", "--strict", disk, out / "x.raw")
    assert hone.json("check", "--json", archive)["safe"]
    found = hone.json("info", "--json", archive)
    assert found["virtual_size"] == disk.stat().st_size
    assert found["file_size"] == archive.stat().st_size


@pytest.mark.parametrize("maker", SPARSE)
def test_holes_of_a_sparse_member_are_known(hone, folder, work, maker):
    archive = work / "a.tar"
    MAKERS[maker](folder, archive, ["disk.raw"])
    packed = write(work, "a.tar.gz", PACK["gzip"](archive.read_bytes()))
    for source in (archive, packed):
        kinds = {}
        for extent in hone.json("map", "--json", source):
            kinds[extent["kind"]] = (kinds.get(extent["kind"], 0) + extent["length"])
        assert kinds["hole"] > MI
        assert kinds["data"] >= 49 * 8 * KI


def test_an_archive_that_is_packed(hone, folder, work, out, packing):
    plain, disk = work / "plain", folder / "disk.raw"
    MAKERS["gnu-oldgnu-sparse"](folder, plain, ["note.txt", "disk.raw"])
    data = PACK[packing](plain.read_bytes())
    suffix = SUFFIX[packing]
    for name in ("a.tar" + suffix, "a.t" + suffix[1:], "a.TAR" + suffix.upper()):
        archive = write(work, name, data)
        assert converted(hone, out, archive) == disk.read_bytes()
        hone.ok("compare", "-q", "--strict", archive, disk)
    # By its content.
    done = piped(hone.run, archive, "compare", "-q", "--strict", "-", disk)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.fixture
def qcow2(hone, folder):
    """The disk as qcow2, in the folder."""
    path = folder / "disk.qcow2"
    hone.ok("convert", "-q", "-c", folder / "disk.raw", path)
    return path


def test_every_command_reads_a_qcow2_member(hone, folder, qcow2, work, out):
    archive = work / "layer.tar"
    (folder / "disk").mkdir()
    os.link(qcow2, folder / "disk" / "vm.qcow2")
    tar(folder, archive, names=["./disk"])
    packed = write(work, "layer.tar.gz", PACK["gzip"](archive.read_bytes()))
    for source in (archive, packed):
        assert_reads_as(hone, source, qcow2, out)
        for words in (["--untrusted", "--member", "disk/vm.qcow2"],
                      ["-f", "qcow2", "--member", "./disk/vm.qcow2"]):
            assert converted(hone, out, *words, source) == converted(hone, out, qcow2)


def test_the_member_is_chosen_by_its_name(hone, folder, qcow2, work, out):
    archive = work / "a.tar"
    tar(folder, archive, names=["disk.raw", "disk.qcow2", "b.txt"])
    for name, form in (("disk.raw", "raw"), ("./disk.qcow2", "qcow2"),
                       ("b.txt", "raw")):
        found = hone.json("info", "--json", "--member", name, archive)
        assert found["format"] == form
    # The format that is given is that of the member.
    found = hone.json("info", "--json", "-f", "raw", "--member", "disk.qcow2", archive)
    assert found["virtual_size"] == qcow2.stat().st_size
    hone.ok("compare", "-q", "--strict", "--member", "b.txt", archive, folder / "b.txt")
    said = hone.fails("convert", "--member", "c.raw", archive, out / "x")
    assert "a.tar: has no member 'c.raw'" in said
    said = hone.fails("convert", archive, out / "x")
    assert ("has two images, 'disk.raw' and 'disk.qcow2'; --member NAME "
            "chooses one") in said
    assert not os.listdir(out)


def test_what_is_an_archive(hone, folder, work, out):
    plain = work / "plain.tar"
    tar(folder, plain, "--format=ustar", names=["note.txt", "disk.raw"])
    data = plain.read_bytes()
    size = (folder / "disk.raw").stat().st_size

    def virtual_size(name, *options):
        source = write(work, name, data)
        return hone.json("info", "--json", *options, source)["virtual_size"]
    for name in ("a.tar", "b.OVA", "c", "d.layer"):
        assert virtual_size(name) == size
    # A guest wrote the first bytes of a disk.
    for name in ("a.raw", "b.img", "c.bin"):
        said = hone.fails("info", write(work, name, data), code=3)
        assert "begins as a tar archive: --member NAME or -f raw" in said
        assert virtual_size(name, "-f", "raw") == len(data)
    assert virtual_size("c", "-f", "raw") == len(data)
    assert virtual_size("a.tar", "-f", "raw") == size
    assert virtual_size("a.tar", "--unpack", "none") == len(data)
    assert virtual_size("c", "--unpack", "none") == len(data)
    assert virtual_size("c", "--unpack", "none", "--member", "disk.raw") == size
    said = hone.fails("convert", work / "a.tar", out / "x.tar")
    assert "x.tar" in said


def test_other_members_are_no_images(hone, work):
    data = images.noise(4 * KI)
    long = b"d/" * 200 + b"disk.raw"
    other = (header(b"dev.raw", kind=b"3") + header(b"fifo.raw", kind=b"6") +
             header(b"link.raw", kind=b"2") + header(b"hard.raw", kind=b"1") +
             header(b"d.raw/", kind=b"5") + header(b"old.raw/", magic=OLD) +
             member(b"._disk.raw", data) + member(b"x.raw", data, kind=b"V") +
             member(b"x.raw", data, kind=b"Z") +
             pax((b"comment", b"x"), kind=b"g") + member(b"a.txt", data))
    for disk in (member(b"../../disk.raw", data),
                 member(b"/etc/disk.raw", data),
                 member(b"disk.raw", data, kind=b"\0", magic=OLD),
                 member(b"disk.raw", data, kind=b"7"),
                 long_name(b"x" * 5000, b"K") + long_name(long) +
                 member(b"short", data, magic=GNU),
                 pax((b"path", long), (b"atime", b"1.5")) +
                 member(b"short", data),
                 pax((b"size", b"%d" % len(data))) + header(b"disk.raw", 0) +
                 data,
                 header(b"disk.raw", binary(len(data)), magic=GNU) + data):
        archive = write(work, "a.tar", other + disk + other + END)
        plain = write(work, "plain", data)
        hone.ok("compare", "-q", "--strict", archive, plain)
    for kind, what in ((b"1", "a hard link"), (b"2", "a symbolic link"),
                       (b"3", "a character device"), (b"4", "a block device"),
                       (b"5", "a directory"), (b"6", "a FIFO"),
                       (b"Z", "not a file")):
        archive = write(work, "a.tar", header(b"x.raw", kind=kind) + END)
        said = hone.fails("convert", "--member", "x.raw", archive, work / "x")
        assert f"its member 'x.raw' is {what}" in said
        said = hone.fails("convert", archive, work / "x")
        assert ("has no member with the suffix of an image; --member NAME "
                "chooses another one") in said
    archive = write(work, "a.tar", header(b"old.raw/", magic=OLD) + END)
    said = hone.fails("convert", "--member", "old.raw/", archive, work / "x")
    assert "its member 'old.raw/' is a directory" in said


def test_sums_of_old_programs(hone, work):
    """Signed bytes in the sum of the header."""
    name = "dïsk.raw".encode()
    block = header(name, 512)
    signed = sum(c - 256 if c > 127 else c for c in block) - sum(
        c for c in block[148:156]) + 8 * 32
    old = header(name, 512, checksum=b"%06o\0 " % signed)
    archive = write(work, "a.tar", old + DATA + END)
    hone.ok("compare", "-q", "--strict", archive, write(work, "b", DATA))


@pytest.mark.parametrize("version", ["old", "0.0", "0.1", "1.0"])
def test_maps_of_every_length(hone, work, version):
    """From no piece to more than one block of them."""
    for count in (0, 1, 3, 4, 5, 21, 25, 26, 400):
        pieces = [(n * 1024, 512) for n in range(count)]
        stored = images.noise(count * 512, 3) if count else b""
        size = count * 1024 + 7
        plain = bytearray(size)
        for n, (at, length) in enumerate(pieces):
            plain[at:at + length] = stored[n * 512:(n + 1) * 512]
        end = [(size, 0)]
        if version == "old":
            rest = (pieces + end)[4:]
            archive = gnu_sparse(b"disk.raw", (pieces + end)[:4], stored, size,
                                 [rest[n:n + 21] for n in range(0, len(rest), 21)])
        else:
            archive = sparse(version, b"disk.raw", pieces + end, stored, size)
        source = write(work, "a.tar", archive + END)
        hone.ok("compare", "-q", "--strict", source, write(work, "plain", bytes(plain)))
        done = piped(hone.run, source, "compare", "-q", "--strict", "-", work / "plain")
        assert (done.returncode, done.stderr) == (0, b"")


def test_the_last_of_several_sparse_versions_counts(hone, work):
    """As for GNU tar and Python."""
    keys = [(b"major", b"2"), (b"major", b"1"), (b"minor", b"1"), (b"minor", b"0"),
            (b"name", b"disk.raw"), (b"realsize", b"512")]
    lines = b"1\n0\n512\n".ljust(512, b"\0")
    archive = write(work, "a.tar", pax(*[(b"GNU.sparse." + k, v) for k, v in keys]) +
                    member(b"GNUSparseFile.0/x", lines + DATA) + END)
    hone.ok("compare", "-q", "--strict", archive, write(work, "plain", DATA))
    with tarfile.open(archive) as python:
        assert python.extractfile("disk.raw").read() == DATA


def test_a_sparse_disk_of_exabytes_takes_no_time(hone, work):
    """Holes are skipped, not read, in a stream too."""
    size = (1 << 63) - 4096
    archive = write(work, "a.tar", gnu_sparse(
        b"disk.raw", [(0, 512)], DATA, binary(size)) + END)
    packed = write(work, "a.tgz", PACK["gzip"](archive.read_bytes()))
    for source in (archive, packed):
        assert hone.json("info", "--json", source)["virtual_size"] == size
        assert hone.json("check", "--json", source)["safe"]
        assert hone.json("map", "--json", source)[-1]["kind"] == "hole"
    archive = write(work, "a.tar", gnu_sparse(
        b"disk.raw", [(0, 512)], DATA, binary((1 << 63) - 1)) + END)
    said = hone.fails("info", archive)
    assert "'disk.raw' has 9223372036854775807 bytes" in said


# These archives are not damaged: the status is 1, and 3 for the others.
REFUSED = (
    "no bytes", "half a header", "the same name twice",
    "the same name, a link", "text", "wrong checksum", "checksum of blanks",
    "zeros before text", "nothing", "no image", "only a link",
    "only a hidden file", "two images", "pax of 1 TiB", "pax of 9 MiB",
    "global pax of 1 TiB", "long name of 1 GiB", "long link of 2^62",
    "version 2.0", "unknown sparse key", "star", "continued",
    "old long names")


@pytest.mark.parametrize("name", list(HOSTILE))
def test_a_hostile_archive_is_refused(hone, work, out, name):
    data, part = HOSTILE[name]
    archive = write(work, "a.tar", data)
    before = snapshot(work)
    status = 1 if name in REFUSED else 3
    said = hone.fails("convert", archive, out / "x", code=status)
    assert part in said and str(archive) in said, said
    # A pipe tells only at its end that a member is not complete.
    done = piped(hone.run, archive, "convert", "--member", "disk.raw", "-", out / "x")
    if "image" not in part:
        text = done.stderr.decode()
        assert done.returncode == (1 if "cannot be resized" in text else status), done
        assert part in text or "cannot be resized" in text, text
        assert not os.listdir(out)
    # Nor does the pipe need a name, if the first header has its magic.
    if data[257:262] == b"ustar":
        done = piped(hone.run, archive, "convert", "-", out / "y")
        assert done.returncode == (
            1 if b"cannot be resized" in done.stderr else status), done
        assert not os.path.exists(out / "y")
    assert snapshot(work) == before


def test_an_archive_that_is_cut_is_an_error(hone, folder, work, out):
    for maker in ("gnu-oldgnu-sparse", "gnu-1.0", "python-pax"):
        plain = work / "plain"
        MAKERS[maker](folder, plain, ["note.txt", "disk.raw", "b.txt"])
        data = plain.read_bytes().rstrip(b"\0")
        data += bytes(-len(data) % 512) + END
        hone.ok("compare", "-q", "--strict", write(work, "a.tar", data),
                folder / "disk.raw")
        for n in range(0, 50, 4):
            archive = write(work, "a.tar", data[:len(data) * n // 50])
            said = hone.fails("convert", archive, out / "x", code=3 if n else 1)
            assert CUT in said
            assert not os.listdir(out)
            done = piped(hone.run, archive, "convert", "--member", "disk.raw",
                         "-", out / "x")
            assert done.returncode == (3 if n else 1) and not os.listdir(out)


def test_a_second_image_comes_late_in_a_stream(hone, folder, qcow2, work, out):
    """Nothing is published, although the first one was converted."""
    assert qcow2
    archive = work / "a.tar"
    for names, words, status, part in (
            (["disk.raw", "b.txt", "disk.qcow2"], [], 1, b"has two images"),
            (["disk.raw", "b.txt", "./disk.raw"],
             ["--member", "disk.raw"], 1, b"has two members of the name")):
        tar(folder, archive, "--format=gnu", names=names)
        done = piped(hone.run, archive, "convert", *words, "-", out / "x.raw")
        assert done.returncode == status and part in done.stderr
        assert not os.listdir(out)


@pytest.mark.all
def test_memory_is_bounded(hone, work, out):
    """Maps and headers of gigabytes are refused before they are kept."""
    empty = octal(0) + octal(0)
    bomb = header(b"disk.raw", 512, kind=b"S", magic=GNU, fields=[
        (386, empty * 4), (482, b"\1"), (483, octal(4096))]) + (
            empty * 21 + b"\1" + bytes(7)) * 100000
    comma = b"".join(b"%d,512," % (n * 1024) for n in range(650000))
    many = pax((b"GNU.sparse.name", b"disk.raw"),
               (b"GNU.sparse.size", b"9000000000"),
               (b"GNU.sparse.map", comma[:-1])) + header(b"x")
    pieces = [(n * 1024, 512) for n in range((1 << 20) + 1)]
    lines = sparse("1.0", b"disk.raw", pieces, DATA, 1 << 40)
    headers = header(b"g", kind=b"g") * 100000
    for data, part, status in (
            (bomb, CUT, 3), (many, "is too long", 1), (headers, CUT, 3),
            (lines, "has more than 1,048,576 pieces", 1)):
        for name, packed in (("a.tar", data), ("a.tgz", PACK["gzip"](data))):
            archive = write(work, name, packed)
            done, peak = hone.peak("convert", archive, out / "x", code=status)
            assert part in done.stderr.decode()
            assert hone.sanitized or peak < 200 * KI
            assert not os.listdir(out)


def test_the_digest_of_another_archive_is_named(hone, folder, work, out, digests):
    archive = work / "a.tar"
    tar(folder, archive, names=["disk.raw"])
    data = archive.read_bytes()
    for changed in (data[:-9000], b"x" + data[1:], data + b"x"):
        write(work, "a.tar", changed)
        said = hone.fails("convert", "--expect", "sha256:" + "0" * 64, archive,
                          out / "x", code=3)
        assert "the file is refused: its sha256" in said
        assert not os.listdir(out)


@pytest.mark.parametrize("ranges", [False, True])
@pytest.mark.parametrize("name", ["vm.ova", "vm.tar.gz"])
@pytest.mark.usefixtures("libcurl", "digests")
def test_an_archive_on_a_web_server_is_sent_once(
        hone, web, folder, work, out, name, ranges):
    # On a server, a raw disk has whole sectors.
    os.truncate(folder / "disk.raw", 8 * MI)
    disk = (folder / "disk.raw").read_bytes()
    right = one_of("sha256", "SHA256", disk)
    content = ova(work, right, disk=disk).read_bytes()
    if name.endswith("gz"):
        content = PACK["gzip"](content)
    answer = None if ranges else whole
    with Server(content, answer) as server:
        web.ok("convert", "-q", server.url(f"/{name}"), out / "x.raw")
        # The blocks that have headers may come twice.
        assert server.sent < len(content) + 2 * MI
        hone.ok("compare", "-q", "--strict", out / "x.raw", folder / "disk.raw")
        assert "has no member 'no'" in web.fails(
            "convert", "--member", "no", server.url(f"/{name}"), out / "y.raw")
    if name == "vm.ova":
        content = ova(work, wrong(right), disk=disk).read_bytes()
        with Server(content, answer) as server:
            said = web.fails("convert", server.url(f"/{name}"), out / "y.raw", code=3)
        assert "disk.raw' is not that of the manifest" in said
    assert os.listdir(out) == ["x.raw"]


def test_an_archive_of_an_nbd_server(hone, folder, qcow2, work, out):
    assert qcow2
    hone.need("libnbd")
    tar(folder, work / "a.tar", names=["note.txt", "disk.qcow2"])
    with qemu_nbd(work / "a.tar", work) as address:
        hone.ok("convert", "-q", "--member", "disk.qcow2", address, out / "x.raw")
    hone.ok("compare", "-q", out / "x.raw", folder / "disk.raw")


@pytest.mark.parametrize("command", READERS)
def test_every_command_has_the_option(hone, folder, work, out, command):
    archive = work / "a"
    tar(folder, archive, names=["b.txt"])
    operands = [archive, out / "x"] if command == "convert" else [archive]
    operands += [folder / "b.txt"] if command == "compare" else []
    if command != "digest":
        hone.ok(command, "--member", "b.txt", *operands)
    done = hone.run(command, "--member", "no", *operands)
    assert done.returncode == (2 if command == "check" else failure(command))
    assert b"has no member 'no'" in done.stderr


def test_a_backing_file_is_not_opened(hone, folder, qemu_img, work, out):
    """A member names files as an image does: they are refused."""
    qemu_img("create", "-q", "-f", "qcow2", "-F", "raw", "-b", "disk.raw",
             str(folder / "top.qcow2"))
    tar(folder, work / "a.tar", names=["top.qcow2"])
    said = hone.fails("convert", work / "a.tar", out / "x")
    assert "--allow-backing" in said


@pytest.mark.parametrize("name", ["d" * 90 + "/" + "ü" * 90 + ".raw",
                                  "d" * 90 + "/" + "x" * 80 + ".raw"])
def test_long_names_of_each_form(hone, work, name):
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT):
        text = io.BytesIO()
        if form == tarfile.USTAR_FORMAT:
            name = name.replace("ü", "u")
        with tarfile.open(fileobj=text, mode="w", format=form) as archive:
            info = tarfile.TarInfo(name)
            info.size = len(DATA)
            archive.addfile(info, io.BytesIO(DATA))
        source = write(work, "a.tar", text.getvalue())
        hone.ok("compare", "-q", "--strict", "--member", name, source,
                write(work, "plain", DATA))


def test_a_member_of_what_is_no_archive(hone, work, out):
    """--unpack none is no way out: --member makes each file an archive."""
    disk = write(work, "plain.raw", b"x" * 65536)
    for words in ((), ("--unpack", "none")):
        line = hone.fails("convert", "--member", "x", *words, disk, out / "x.raw")
        assert "a command without --member reads it as it is" in line
    other = write(work, "disk.tar", disk.read_bytes())
    assert "--unpack none reads it" in hone.fails("convert", other, out / "x.raw")
    hone.ok("convert", "-q", "-f", "raw", "--unpack", "none", other, out / "x.raw")
