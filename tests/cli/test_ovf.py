# SPDX-License-Identifier: BSD-3-Clause
"""OVAs as programs write them: their manifests, and the disks that their
descriptions name."""
import hashlib
import itertools
import os

import pytest

import images
from harness import converted, write
from images import KI, MI, PACK
from tar_builder import END, gnu_sparse, header, member

DISK = images.noise(64 * KI)
OVF = b"<Envelope/>\n"
SPELLED = {"sha256": ["SHA256", "SHA2-256", "SHA-256", "sha256"],
           "sha512": ["SHA512", "SHA2-512"], "sha1": ["SHA1", "SHA-1"]}

pytestmark = pytest.mark.usefixtures("digests")


def packed(work, *members):
    """An archive of pairs of name and bytes."""
    return write(work, "vm.ova", b"".join(
        member(name.encode(), data) for name, data in members) + END)


def ova(work, *lines, disk=DISK, name="disk.raw", late=False):
    """An OVA with these lines of a manifest, behind the description or at the end."""
    manifest = [("vm.mf", b"".join(lines))]
    return packed(work, ("vm.ovf", OVF), *([] if late else manifest), (name, disk),
                  *(manifest if late else []))


def digest(algorithm, data):
    """In hexadecimal digits."""
    return hashlib.new(algorithm, data).hexdigest()


def one_of(algorithm, spelled, disk=DISK, name="disk.raw"):
    """A line of a manifest."""
    return f"{spelled}({name})= {digest(algorithm, disk)}\n".encode()


def wrong(line):
    """Another last digit."""
    return line[:-2] + (b"1\n" if line.endswith(b"0\n") else b"0\n")


def each_way(hone, archive, out, *options):
    """Convert it as a file and in a pipe: exit status, message, disk."""
    target = out / "x"
    for way in ("file", "pipe"):
        words = ["convert", "-q", "-O", "raw", *options]
        if way == "file":
            done = hone.run(*words, archive, target)
        else:
            done = hone.run(*words, "-", target, input=archive.read_bytes())
        found = target.read_bytes() if target.exists() else None
        target.unlink(missing_ok=True)
        assert not os.listdir(out)
        yield done.returncode, done.stderr.decode(), found


def refused(hone, archive, out, said, code=3):
    """Each way."""
    for status, text, found in each_way(hone, archive, out):
        assert (status, found) == (code, None) and said in text, text


def accepted(hone, archive, out, disk=DISK):
    """Each way."""
    assert list(each_way(hone, archive, out)) == [(0, "", disk)] * 2


@pytest.mark.parametrize("algorithm, late", [
    ("sha1", True), ("sha256", False), ("sha512", True)])
def test_the_manifest_of_an_ova_holds(hone, work, out, late, algorithm):
    tag = algorithm.upper()
    disk = images.noise(MI) + bytes(MI) + images.noise(100)
    first = one_of(algorithm, tag, OVF, "vm.ovf")
    second = one_of(algorithm, tag, disk)
    archive = ova(work, first, second, disk=disk, late=late)
    accepted(hone, archive, out, disk)
    content = archive.read_bytes()
    write(work, "vm.ova.gz", PACK["gzip"](content))
    assert converted(hone, out, work / "vm.ova.gz") == disk
    # The digests are those of the archive's bytes, not of the disk.
    assert converted(
        hone, out, "--expect", "sha256:" + digest("sha256", content),
        "--expect-content", "sha256:" + digest("sha256", disk), archive) == disk
    for lines, part in (([first, wrong(second)], "of 'disk.raw' is not that"),
                        ([first, second, wrong(second)], "of 'disk.raw' is not"),
                        ([wrong(first), second], "of 'vm.ovf' is not that of")):
        archive = ova(work, *lines, disk=disk, late=late)
        refused(hone, archive, out, part)
        for more in [], ["--allow-disguised"]:
            target = write(work, "target.img", b"old" * MI)
            said = hone.fails("convert", "-n", *more, archive, target, code=3)
            assert said.endswith("zeros in its first and last MiB")
            found = target.read_bytes()
            assert not (found[:MI] + found[-MI:]).strip(b"\0")
    # A refusal is neither a difference nor a failure.
    for words in (["digest"], ["map"], ["compare", write(work, "disk.raw", disk)]):
        done = hone.run(*words, archive)
        assert done.returncode == 3 and b"of 'vm.ovf'" in done.stderr, done


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("form", ["qcow2", "vmdk"])
def test_a_disk_of_an_ova_that_is_no_raw_image(hone, qemu_img, work, out, form, late):
    options = ["-o", "subformat=streamOptimized"] if form == "vmdk" else ["-c"]
    disk, plain = work / f"vm.{form}", write(work, "plain", DISK)
    qemu_img("convert", "-f", "raw", "-O", form, *options, str(plain), str(disk))
    content = disk.read_bytes()
    line = one_of("sha256", "SHA256", content, disk.name)
    for text, code in (line, 0), (wrong(line), 3):
        archive = ova(work, text, disk=content, name=disk.name, late=late)
        found = hone.json("info", "--json", archive)
        assert (found["format"], found["member"]) == (form, disk.name)
        assert f"\nmember:            {disk.name}\n".encode() in hone.ok(
            "info", archive).stdout
        for source in (archive, "-"):
            found = hone.json("check", "--json", source, code=code and 1,
                              input=archive.read_bytes())
            assert found["safe"] == (code == 0)
            tests = {test["name"]: test for test in found["checks"]}
            assert ("manifest" in tests) == (code != 0)
            assert code == 0 or f"of '{disk.name}' is not that" in (
                tests["manifest"]["text"])
        for status, _, found in each_way(hone, archive, out):
            assert (status, found) == (code, None if code else DISK)
        for status, _, found in each_way(hone, archive, out, "-O", "qcow2"):
            assert (status, found is None) == (code, bool(code))


@pytest.mark.parametrize("algorithm", list(SPELLED))
def test_each_spelling_of_a_line_is_verified(hone, work, out, algorithm):
    good = [one_of(algorithm, tag) for tag in SPELLED[algorithm]]
    hexed, tag = digest(algorithm, DISK), algorithm.upper()
    good += [text.encode() for text in (
        f"{tag} (./disk.raw) = {hexed}\r\n", f"{hexed}  disk.raw\n",
        f"{hexed} *disk.raw\n", f"{tag}(*disk.raw)= {hexed}\n",
        f"{algorithm}(disk.raw)={hexed}", f"{tag} (disk.raw) = {hexed.upper()}",
        f"\n{tag}(disk.raw)= {hexed}\r\n\r",
        f"{tag}(a(b)=c)= {'0' * len(hexed)}\n{tag}(disk.raw)= {hexed}",
        f"{tag}(././disk.raw)= {hexed}")]
    other = ("0" if hexed[0] != "0" else "1") + hexed[1:]
    for line in good:
        accepted(hone, ova(work, line), out)
        line = line.replace(hexed.encode(), other.encode()).replace(
            hexed.upper().encode(), other.encode())
        refused(hone, ova(work, line), out, "disk.raw' is not that of the manifest")


def test_lines_that_prove_nothing(hone, work, out):
    right = digest("sha256", DISK)
    for line in ("SHA256(disk.raw)= 00", f"MD5(disk.raw)= {'0' * 32}", "text",
                 f"(disk.raw)= {right}", f"SHA256(disk.raw {right}",
                 f"SHA256(disk.raw) x= {right}", f"SHA256= {right}"):
        refused(hone, ova(work, line.encode()), out,
                "its manifest 'vm.mf' has no digest of a file on line 1")
    # Without a line for the disk, nobody knows whether it is the right one.
    for line in (b"", one_of("sha256", "SHA256", name="a"),
                 one_of("sha256", "SHA256", name="isk.raw"),
                 one_of("sha256", "SHA256", OVF, "vm.ovf")):
        for late in (False, True):
            refused(hone, ova(work, line, late=late), out,
                    "the manifest 'vm.mf' has no digest of 'disk.raw'")


@pytest.mark.parametrize("bad", [False, True])
@pytest.mark.parametrize("order, prefix", zip(itertools.permutations(
    ["vm.ovf", "vm.mf", "disk.raw"]), itertools.cycle(["", "./", "./", ""])), ids=str)
def test_a_manifest_is_verified_in_each_order(hone, work, out, order, prefix, bad):
    """In a stream, one of the two files has to come before the image."""
    # The name in the manifest and that in the archive may differ by "./".
    line = one_of("sha256", "SHA256", name=f"{'' if prefix else './'}disk.raw")
    files = {"vm.ovf": OVF, "vm.mf": wrong(line) if bad else line, "disk.raw": DISK}
    archive = packed(work, *((prefix + name, files[name]) for name in order))
    assert hone.json("info", "--json", archive)["format"] == "raw"
    of_file, of_pipe = each_way(hone, archive, out)
    unknown = order[0] == "disk.raw"
    verified = (3, None) if bad else (0, DISK)
    for status, text, found in (of_file,) if unknown else (of_file, of_pipe):
        assert (status, found) == verified
        assert not bad or "disk.raw' is not that of the manifest" in text
    if unknown:
        assert of_pipe[::2] == (1, None)
        assert "cannot be verified as a stream: its manifest" in of_pipe[1]
    for words in (["check"], ["digest"], ["compare", write(work, "disk", DISK)]):
        done = hone.run(*words, "-", input=archive.read_bytes())
        assert not unknown or b"cannot be verified as a stream" in done.stderr, done
        assert (done.returncode == 0) == (not unknown and not bad), done


def test_files_of_an_ova_that_are_in_doubt(hone, work, out):
    """They are refused. An archive of another kind may have them."""
    right = one_of("sha256", "SHA256")
    disk, description = member(b"disk.raw", DISK), member(b"vm.ovf", OVF)
    manifest = member(b"vm.mf", right)
    hole = gnu_sparse(b"disk.raw", [(0, 512)], bytes(512), 1024)
    odd = "'vm.mf' that is sparse or not a regular file"
    for files, part in (
            ([member(b"other.mf", b""), manifest], "'vm.mf' that is a second manifest"),
            ([manifest, manifest], "'vm.mf' that is a second manifest"),
            ([member(b"vm.mf", bytes((4 << 20) + 1))],
             "'vm.mf' that is larger than 4 MiB"),
            ([header(b"vm.mf", kind=b"2")], odd),
            ([gnu_sparse(b"vm.mf", [(0, 512)], right.ljust(512), 1024)], odd)):
        for parts in ([description] + files + [disk],
                      [description, disk] + files,
                      files + [disk, description]):
            refused(hone, write(work, "a.ova", b"".join(parts) + END), out, part, code=1)
        accepted(hone, write(work, "a.tar", b"".join(files) + disk + END), out)
    mac = member(b"._vm.mf", b"x") + member(b"._vm.ovf", b"x")
    # The description alone is no manifest; nor is a sparse disk one's.
    for parts, wanted in (([mac, description, manifest, disk], DISK),
                          ([disk, description], DISK),
                          ([member(b"a.mf", b"x"), hole], bytes(1024)),
                          ([description, hole], bytes(1024))):
        accepted(hone, write(work, "a.ova", b"".join(parts) + END), out, wanted)
    of_file, of_pipe = each_way(hone, write(
        work, "a.ova", description + hole + manifest + END), out)
    assert of_file[0] == 1 and "is sparse" in of_file[1]
    assert of_pipe[0] == 1 and "cannot be verified as a stream" in of_pipe[1]


def test_a_manifest_in_a_folder_names_files_of_the_folder(hone, work, out):
    for name in ("disk.raw", "./disk.raw", "vm/disk.raw"):
        line = one_of("sha256", "SHA256", name=name)
        for disk, code in ((DISK, 0), (DISK[:-1] + b"\0", 3)):
            archive = packed(work, ("vm/vm.ovf", b"<Envelope/>"),
                            ("vm/vm.mf", line), ("vm/disk.raw", disk))
            for status, said, found in each_way(hone, archive, out):
                assert (status, found) == (code, None if code else disk), said
    # A file of another folder is another file.
    archive = packed(work, ("vm/vm.ovf", b"<Envelope/>"), ("vm/vm.mf", one_of(
        "sha256", "SHA256")), ("other/disk.raw", DISK))
    refused(hone, archive, out, "has no digest of 'other/disk.raw'")


def test_sha1_alone_is_no_proof(hone, work, out):
    both = one_of("sha1", "SHA1") + one_of("sha256", "SHA256")
    for lines, code in ((one_of("sha1", "SHA1"), 3), (both, 0),
                        (one_of("sha512", "SHA512"), 0)):
        archive = ova(work, lines)
        accepted(hone, archive, out)
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
        archive = packed(work, *members)
        disk = DISK if len(members) > 1 else DISK[:CHUNK]
        for options in ([], ["--member", "disk.raw"], ["--untrusted"]):
            assert converted(hone, out, *options, archive) == disk
        assert hone.json("info", "--json", archive)["member"] == "disk.raw"
        assert hone.json("check", "--json", archive)["safe"]
        said = hone.fails("convert", "-", "-O", "raw", out / "x",
                          input=archive.read_bytes())
        assert ("has 'disk.raw' in parts, which cannot be joined in a stream: "
                "write the archive to a file first") in said
        assert not os.listdir(out)


def test_a_part_is_no_disk(hone, work, out):
    archive = packed(work, ("vm.ovf", description(
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
        archive = packed(work, ovf, *members)
        line = hone.fails("convert", archive, out / "x",
                          code=1 if members == all_parts[1:] else 3)
        assert said in line, line
        assert not os.listdir(out)


def test_each_part_is_verified(hone, work, out):
    ovf = description(("disk.raw", len(DISK)), chunk=CHUNK)
    for wrong, (name, _) in enumerate(parts()):
        lines = [one_of("sha256", "SHA256", data + b"x" * (at == wrong), each)
                 for at, (each, data) in enumerate(parts())]
        archive = packed(work, ("vm.ovf", ovf), ("vm.mf", b"".join(lines)), *parts())
        said = hone.fails("convert", archive, out / "x", code=3)
        assert f"of '{name}' is not that of the manifest" in said
        del lines[wrong]
        archive = packed(work, ("vm.ovf", ovf), ("vm.mf", b"".join(lines)), *parts())
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
            archive = packed(work, *members)
            assert converted(hone, out, "-O", "raw", archive) == DISK
            if members[0][0].endswith(".ovf"):
                assert converted(hone, out, "-O", "raw", "-",
                                 input=archive.read_bytes()) == DISK
    two = description((name, 3), ("other", 3))
    archive = packed(work, ("vm.ovf", two), (name, DISK), ("other", DISK))
    said = hone.fails("convert", "-O", "raw", archive, out / "x")
    assert f"has two images, '{name}' and 'other'; --member NAME" in said
    archive = packed(work, ("vm.ovf", ovf), (name, DISK), ("disk.raw", DISK))
    refused(hone, archive, out, f"has two images, '{name}' and 'disk.raw'", code=1)
    # What a guest wrote there is a disk, or refused: no packed file.
    gzipped = b"\x1f\x8b\x08" + bytes(509)
    archive = packed(work, ("vm.ovf", ovf), (name, gzipped))
    hone.fails("convert", "-O", "raw", archive, out / "x", code=3)
    assert not os.listdir(out)


def test_the_message_lists_the_members(hone, work, out):
    archive = packed(work, ("notes", b"abc"), ("d/disk", DISK))
    said = hone.fails("convert", "-O", "raw", archive, out / "x")
    assert said.endswith("--member NAME chooses another one: 'notes', 'd/disk'")
    archive = packed(work, *((f"member number {n}", b"") for n in range(99)))
    said = hone.fails("convert", "-O", "raw", archive, out / "x")
    assert "'member number 3', " in said and said.endswith("', ...")
    archive = packed(work, ("x" * 99, b""), ("y" * 99, b""), ("z" * 99, b""))
    said = hone.fails("convert", "-O", "raw", archive, out / "x")
    assert said.endswith("y', ...")
