# SPDX-License-Identifier: BSD-3-Clause
"""Formats that are refused with the commands that read them by QEMU."""
import re
import shutil
import subprocess

import pytest

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
        if not shutil.which(name):
            pytest.skip(f"{name} is not installed")
    if b"libnbd 1" not in hone.version:
        pytest.skip("this hone was built without libnbd")


@pytest.mark.parametrize("driver", list(FORMATS))
def test_the_commands_of_the_refusal_read_the_image(hone, small, work, driver,
                                                    tools):
    assert tools is None
    name, options = FORMATS[driver]
    (work / "key").write_bytes(b"secret")
    disk = work / "disk"
    disk.write_bytes(small.read_bytes())
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
