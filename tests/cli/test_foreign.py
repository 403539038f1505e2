# SPDX-License-Identifier: BSD-3-Clause
"""Files that are refused: formats that QEMU reads, with the commands for it; and
files that have a disk inside, none of which is copied as a raw disk.
tests/image/magics_test.c has each magic; these files are made by the programs
that know the formats."""
import lzma
import os
import re
import subprocess
import zipfile

import pytest

import images
from harness import converted, need, write
from images import KI
from tar_builder import END, member

# QEMU measures a hash first, in ticks of the CPU clock: one of sha256 may take
# less than a tick, and is an error of QEMU then.
SECRET = ("--object", "secret,id=k,file=key")
# By QEMU's name: what the refusal calls it, and how qemu-img makes it.
FORMATS = {"vhdx": ("VHDX", ()), "vdi": ("VDI", ()),
           "qcow": ("QCOW version 1", ()), "qed": ("QED", ()),
           "parallels": ("Parallels", ()),
           "luks": ("LUKS", (*SECRET, "-o", "key-secret=k,iter-time=10,"
                         "hash-alg=sha512"))}


@pytest.fixture
def tools(hone):
    """QEMU's tools, and libnbd."""
    for name in ("qemu-img", "qemu-nbd"):
        need(name)
    hone.need("libnbd")


@pytest.mark.all
@pytest.mark.parametrize("driver", list(FORMATS))
def test_the_commands_of_the_refusal_read_the_image(hone, small, work, driver, tools):
    name, options = FORMATS[driver]
    (work / "key").write_bytes(b"secret")
    disk = write(work, "disk", small.read_bytes())
    size = disk.stat().st_size
    disk.write_bytes(disk.read_bytes() + bytes(-size % (1 << 20)))
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", driver, *options,
                    disk, "image"], cwd=work, check=True)
    said = hone.fails("convert", work / "image", work / "x")
    assert f"has a {name} header" in said and "add -f raw" in said
    commands = re.findall(r'"([^"]+)"', said)
    assert len(commands) == 2
    words = {"/tmp/disk.sock": "disk.sock", "KEYFILE": "key", "DST": "x",
             "FILE": "image"}
    for command in commands:
        for old, new in words.items():
            command = command.replace(old, str(work / new))
        assert command.split()[0] in ("qemu-nbd", "hone")
        command = re.sub("^hone ", f"'{hone.path}' ", command)
        subprocess.run(["sh", "-c", command], check=True, timeout=1000,
                       stdout=subprocess.DEVNULL)
    assert (work / "x").read_bytes() == disk.read_bytes()
    said = hone.run("compare", disk, work / "image").stderr.decode()
    assert "--format=raw" in said and "add -F raw" in said


DISK = images.noise(64 * KI)


def tool(name):
    """Skip without the program."""
    need(name)
    return name


def make_zip(path):
    """By Python."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("disk.img", DISK)


def make_lzma(path):
    """By liblzma, as xz --format=lzma."""
    path.write_bytes(lzma.compress(DISK, format=lzma.FORMAT_ALONE))


def by_pipe(*words):
    """By a program that packs stdin."""
    def make(path):
        path.write_bytes(subprocess.run(
            [tool(words[0]), *words[1:]], input=DISK, stdout=subprocess.PIPE,
            check=True).stdout)
    return make


MADE = {"a zip archive": make_zip, "packed by lzma": make_lzma,
        "packed by lz4": by_pipe("lz4", "-c"),
        "packed by lzop": by_pipe("lzop", "-c"),
        "packed by lzip": by_pipe("lzip", "-c")}


@pytest.mark.parametrize("what", list(MADE))
def test_what_a_program_wrote_is_no_disk(hone, work, out, what):
    for name in ("a", "disk.img"):
        MADE[what](work / name)
        said = hone.fails("convert", work / name, out / "x", code=1)
        assert f"is {what}, not a raw image: " in said
        assert said.endswith("; add -f raw to read it as a raw image")
        assert "qemu-nbd" not in said
        hone.fails("convert", "--untrusted", work / name, out / "x", code=3)
        found = hone.json("check", "--json", work / name, code=1)
        assert [test["name"] for test in found["checks"]
                if not test["passed"]] == ["format"]
        data = (work / name).read_bytes()
        said = hone.fails("convert", "-O", "raw", "-", out / "x", input=data)
        assert f"is {what}" in said
        assert not os.listdir(out)
        assert converted(hone, out, "-f", "raw", work / name) == data


@pytest.mark.parametrize("what", ["packed by lzma", "packed by lz4",
                                  "packed by lzop", "packed by lzip"])
def test_the_command_of_the_refusal_reads_it(hone, work, out, what):
    MADE[what](work / "a")
    said = hone.fails("convert", work / "a", out / "x", code=1)
    command = re.findall('"([^"]+)"', said)[0]
    words = {"FILE": work / "a", "DST": out / "x", "hone": hone.path}
    # At once, since a path may have one of the words.
    command = re.sub("|".join(rf"\b{word}\b" for word in words),
                     lambda match: str(words[match[0]]), command)
    tool(command.split()[0])
    subprocess.run(["sh", "-c", command], check=True)
    assert (out / "x").read_bytes() == DISK


def test_the_trailer_of_a_dmg_is_found_at_each_end(hone, work, out):
    """Behind a pipe the end is met after the copy: nothing is left of it."""
    trailer = b"koly\0\0\0\4\0\0\2\0".ljust(512, b"\0")
    data = DISK + trailer
    (work / "a").write_bytes(data)
    said = hone.fails("convert", work / "a", out / "x", code=1)
    assert "is a DMG image, not a raw image: \"dmg2img FILE DST\" or" in said
    said = hone.fails("convert", "-O", "raw", "-", out / "x", input=data)
    assert "is a DMG image" in said
    said = hone.fails("digest", "-a", "md5", "-", input=data)
    assert "is a DMG image" in said or "OpenSSL" in said
    assert not os.listdir(out)
    hone.ok("convert", "-q", "-f", "raw", "--allow-disguised", work / "a", out / "x")
    assert (out / "x").read_bytes() == data


def test_the_advice_is_for_the_file_that_was_named(hone, work, out):
    """qemu-nbd opens no pipe and no member; an extent is not the disk."""
    vhdx = b"vhdxfile".ljust(64 * KI, b"\0")
    (work / "a.vhdx").write_bytes(vhdx)
    said = hone.fails("convert", work / "a.vhdx", out / "x", code=1)
    assert 'images: "qemu-nbd --read-only' in said
    first = 'images: make a file of the image alone; "qemu-nbd --read-only'
    said = hone.fails("convert", "-O", "raw", "-", out / "x", input=vhdx)
    assert first in said
    (work / "a.tar").write_bytes(member(b"a.vhdx", vhdx) + END)
    assert first in hone.fails("convert", work / "a.tar", out / "x", code=1)
    (work / "vm-flat.vmdk").write_bytes(DISK)
    said = hone.fails("convert", work / "vm-flat.vmdk", out / "x", code=1)
    assert ("is the data of a VMDK image: 'vm.vmdk' is the descriptor that "
            "names it, and is read with --allow-data-file; add -f raw") in said
    hone.ok("convert", "-q", "-f", "raw", work / "vm-flat.vmdk", out / "x")
    assert (out / "x").read_bytes() == DISK
