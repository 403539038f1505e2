# SPDX-License-Identifier: BSD-3-Clause
"""OVAs as programs write them: their manifests, and the disks that their
descriptions name."""
import hashlib
import os

import pytest

import images
from images import KI
from tar_builder import END, member
from test_pipes import run_piped

DISK = images.noise(64 * KI)
SPELLED = {"sha256": ["SHA256", "SHA2-256", "SHA-256", "sha256"],
           "sha512": ["SHA512", "SHA2-512"], "sha1": ["SHA1", "SHA-1"]}

pytestmark = pytest.mark.usefixtures("digests")


def write(work, *members):
    """An OVA of pairs of name and bytes."""
    path = work / "vm.ova"
    path.write_bytes(b"".join(member(name.encode(), data)
                              for name, data in members) + END)
    return path


def digest(algorithm, data):
    """In hexadecimal digits."""
    return hashlib.new(algorithm, data).hexdigest()


def each_way(hone, archive, out, *options):
    """Convert it as a file and in a pipe: exit status, message, disk."""
    target = out / "x"
    for way in ("file", "pipe"):
        words = ["convert", "-q", "-O", "raw", *options]
        if way == "file":
            done = hone.run(*words, archive, target)
        else:
            done = run_piped(hone.run, archive.read_bytes(), *words, "-", target)
        found = target.read_bytes() if target.exists() else None
        target.unlink(missing_ok=True)
        assert not os.listdir(out)
        yield done.returncode, done.stderr.decode(), found


def one_of(algorithm, spelled, disk=DISK, name="disk.raw"):
    """A line of a manifest."""
    return f"{spelled}({name})= {digest(algorithm, disk)}\n".encode()


@pytest.mark.parametrize("algorithm", list(SPELLED))
def test_each_spelling_of_a_line_is_verified(hone, work, out, algorithm):
    good = [one_of(algorithm, tag) for tag in SPELLED[algorithm]]
    hexed = digest(algorithm, DISK)
    good += [f"{algorithm.upper()} (./disk.raw) = {hexed}\r\n".encode(),
             f"{hexed}  disk.raw\n".encode(), f"{hexed} *disk.raw\n".encode(),
             f"{algorithm.upper()}(*disk.raw)= {hexed}\n".encode()]
    wrong = ("0" if hexed[0] != "0" else "1") + hexed[1:]
    for line in good:
        for text, code in ((line, 0), (line.replace(
                hexed.encode(), wrong.encode()), 3)):
            archive = write(work, ("vm.ovf", b"<Envelope/>"), ("vm.mf", text),
                            ("disk.raw", DISK))
            for status, said, found in each_way(hone, archive, out):
                assert status == code, (line, said)
                assert found == (None if code else DISK)
                assert code == 0 or "of 'disk.raw' is not that" in said or (
                    "of '*disk.raw' is not" in said or "./disk" in said)


def test_a_manifest_in_a_folder_names_files_of_the_folder(hone, work, out):
    for name in ("disk.raw", "./disk.raw", "vm/disk.raw"):
        line = one_of("sha256", "SHA256", name=name)
        for disk, code in ((DISK, 0), (DISK[:-1] + b"\0", 3)):
            archive = write(work, ("vm/vm.ovf", b"<Envelope/>"),
                            ("vm/vm.mf", line), ("vm/disk.raw", disk))
            for status, said, found in each_way(hone, archive, out):
                assert (status, found) == (code, None if code else disk), said
    # A file of another folder is another file.
    archive = write(work, ("vm/vm.ovf", b"<Envelope/>"), ("vm/vm.mf", one_of(
        "sha256", "SHA256")), ("other/disk.raw", DISK))
    for status, said, found in each_way(hone, archive, out):
        assert status == 3 and found is None
        assert "has no digest of 'other/disk.raw'" in said


def test_sha1_alone_is_no_proof(hone, work, out):
    both = one_of("sha1", "SHA1") + one_of("sha256", "SHA256")
    for lines, code in ((one_of("sha1", "SHA1"), 3), (both, 0),
                        (one_of("sha512", "SHA512"), 0)):
        archive = write(work, ("vm.ovf", b"<Envelope/>"), ("vm.mf", lines),
                        ("disk.raw", DISK))
        for status, said, found in each_way(hone, archive, out):
            assert (status, found) == (0, DISK), said
        for status, said, found in each_way(hone, archive, out, "--untrusted"):
            assert (status, found) == (code, None if code else DISK), said
            assert code == 0 or ("has no digest of 'disk.raw' but SHA-1, which "
                                 "proves nothing; --expect-file does") in said
        found = hone.json("check", "--json", archive, code=code and 1)
        failed = [test["name"] for test in found["checks"] if not test["passed"]]
        assert failed == (["manifest"] if code else [])
        known = "sha256:" + digest("sha256", archive.read_bytes())
        for status, said, found in each_way(hone, archive, out, "--untrusted",
                                            "--expect", known):
            assert (status, found) == (0, DISK), said


def description(*files, disks=None, chunk=None, folder=""):
    """An .ovf with these pairs of name and size."""
    text = ['<?xml version="1.0"?><!-- <File ovf:href="no"/> -->',
            '<Envelope xmlns:ovf="x"><References>']
    for name, size in files:
        more = f' ovf:chunkSize="{chunk}"' if chunk else ""
        text.append(f'<File ovf:href="{name}" ovf:id="id-{name}" '
                    f'ovf:size="{size}"{more} />')
    text.append("</References><DiskSection>")
    for name in ([each for each, _ in files] if disks is None else disks):
        text.append(f"<Disk ovf:fileRef='{folder}id-{name}'/>")
    return "\n".join([*text, "</DiskSection></Envelope>"]).encode()


CHUNK = 20 * KI


def parts(name="disk.raw", disk=DISK, chunk=CHUNK):
    """The members of a disk in parts."""
    return [(f"{name}.{at // chunk:09d}", disk[at:at + chunk])
            for at in range(0, len(disk), chunk)]


def test_parts_are_one_disk(hone, work, out):
    ovf = description(("disk.raw", len(DISK)), chunk=CHUNK)
    lines = b"".join(one_of("sha256", "SHA256", data, name)
                     for name, data in [*parts(), ("vm.ovf", ovf)])
    for members in ([("vm.ovf", ovf), *parts()],
                    [*parts(), ("vm.ovf", ovf)], parts(),
                    [("vm.ovf", ovf), ("vm.mf", lines), *parts()],
                    [("vm.ovf", ovf), *parts(), ("vm.mf", lines)],
                    # "./" in front of a name does not matter.
                    [parts()[0], *((f"./{name}", data) for name, data in parts()[1:])],
                    [*parts(disk=DISK[:CHUNK])]):
        archive = write(work, *members)
        disk = DISK if len(members) > 1 else DISK[:CHUNK]
        for options in ([], ["--member", "disk.raw"], ["--untrusted"]):
            hone.ok("convert", "-q", *options, archive, out / "x")
            assert (out / "x").read_bytes() == disk
            os.unlink(out / "x")
        assert hone.json("info", "--json", archive)["member"] == "disk.raw"
        assert hone.json("check", "--json", archive)["safe"]
        done = run_piped(hone.run, archive.read_bytes(), "convert", "-", "-O",
                         "raw", out / "x")
        assert done.returncode == 1 and (
            b"has 'disk.raw' in parts, which cannot be joined in a stream: "
            b"write the archive to a file first") in done.stderr
        assert not os.listdir(out)


def test_a_part_is_no_disk(hone, work, out):
    archive = write(work, ("vm.ovf", description(
        ("disk.raw", len(DISK)), chunk=CHUNK)), *parts())
    for name, _ in parts():
        said = hone.fails("convert", "--member", name, archive, out / "x")
        assert (f"its member '{name}' is one part of a disk; --member "
                "'disk.raw' joins them") in said
    assert not os.listdir(out)


def test_parts_that_lack_something_are_refused(hone, work, out):
    ovf = ("vm.ovf", description(("disk.raw", len(DISK)), chunk=CHUNK))
    all_parts = parts()
    short = [*all_parts[:1], (all_parts[1][0], all_parts[1][1][:-512]), *all_parts[2:]]
    for members, said in (
            ([*all_parts[:2], *all_parts[3:]], "has the part "
             "'disk.raw.000000003' of a disk where number 2 has to be"),
            ([all_parts[0], all_parts[2], all_parts[1]], "where number 1"),
            ([*all_parts, all_parts[1]], "where number 4 has to be"),
            (all_parts[:-1], "its description has 65536: the archive is not "
             "complete"),
            (short, "its member 'disk.raw.000000001' has 19968 bytes, and "
             "its description has parts of 20480"),
            (all_parts[1:], "has no member with the suffix")):
        archive = write(work, ovf, *members)
        line = hone.fails("convert", archive, out / "x",
                          code=1 if members == all_parts[1:] else 3)
        assert said in line, line
        assert not os.listdir(out)


def test_each_part_is_verified(hone, work, out):
    ovf = description(("disk.raw", len(DISK)), chunk=CHUNK)
    for wrong, (name, _) in enumerate(parts()):
        lines = [one_of("sha256", "SHA256", data + b"x" * (at == wrong), each)
                 for at, (each, data) in enumerate(parts())]
        archive = write(work, ("vm.ovf", ovf), ("vm.mf", b"".join(lines)), *parts())
        said = hone.fails("convert", archive, out / "x", code=3)
        assert f"of '{name}' is not that of the manifest" in said
        del lines[wrong]
        archive = write(work, ("vm.ovf", ovf), ("vm.mf", b"".join(lines)), *parts())
        said = hone.fails("convert", archive, out / "x", code=3)
        assert f"has no digest of '{name}'" in said
        assert not os.listdir(out)


def test_a_disk_that_only_the_description_names(hone, work, out):
    """As oVirt writes them; it is an image as one with a suffix is."""
    name = "5ffb6b3c-0b6a-4d9a-8a0e-1b6cf1a3f3a0"
    for folder in ("", "images/"):
        ovf = description((name, len(DISK)), ("notes", 3), disks=[name], folder=folder)
        for members in ([("vm.ovf", ovf), ("notes", b"abc"), (name, DISK)],
                        [("notes", b"abc"), (name, DISK), ("vm.ovf", ovf)],
                        [("vm/vm.ovf", ovf), ("vm/" + name, DISK)]):
            archive = write(work, *members)
            hone.ok("convert", "-q", "-O", "raw", archive, out / "x")
            assert (out / "x").read_bytes() == DISK
            os.unlink(out / "x")
            if members[0][0].endswith(".ovf"):
                done = run_piped(hone.run, archive.read_bytes(), "convert",
                                 "-q", "-O", "raw", "-", out / "x")
                assert done.returncode == 0, done
                assert (out / "x").read_bytes() == DISK
                os.unlink(out / "x")
    two = description((name, 3), ("other", 3))
    archive = write(work, ("vm.ovf", two), (name, DISK), ("other", DISK))
    said = hone.fails("convert", "-O", "raw", archive, out / "x")
    assert f"has two images, '{name}' and 'other'; --member NAME" in said
    archive = write(work, ("vm.ovf", ovf), (name, DISK), ("disk.raw", DISK))
    for status, said, found in each_way(hone, archive, out):
        assert status == 1 and found is None
        assert f"has two images, '{name}' and 'disk.raw'" in said
    # What a guest wrote there is a disk, or refused: no packed file.
    packed = b"\x1f\x8b\x08" + bytes(509)
    archive = write(work, ("vm.ovf", ovf), (name, packed))
    hone.fails("convert", "-O", "raw", archive, out / "x", code=3)
    assert not os.listdir(out)


def test_the_message_lists_the_members(hone, work, out):
    archive = write(work, ("notes", b"abc"), ("d/disk", DISK))
    said = hone.fails("convert", "-O", "raw", archive, out / "x")
    assert said.endswith("--member NAME chooses another one: 'notes', 'd/disk'")
    archive = write(work, *((f"member number {n}", b"") for n in range(99)))
    said = hone.fails("convert", "-O", "raw", archive, out / "x")
    assert "'member number 3', " in said and said.endswith("', ...")
    archive = write(work, ("x" * 99, b""), ("y" * 99, b""), ("z" * 99, b""))
    said = hone.fails("convert", "-O", "raw", archive, out / "x")
    assert said.endswith("y', ...")
