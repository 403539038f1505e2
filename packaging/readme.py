#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""README's lines for a product work as written where only packages are.

readme.py command|php|library CHROOT

CHROOT is a bare Debian with the packages in /packages. The line of README's
section Install installs the product; then the lines of its section run.
"""
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP / "docs"))

import stand_ins  # noqa: E402 pylint: disable=wrong-import-position

# Product -> what its line of Install names.
INSTALLS = {"command": "./hone_", "php": "-hone_", "library": "libhone-dev_"}
DATA = os.urandom(8 << 20) + bytes(8 << 20)


class Chroot:
    """Where the lines are typed, in the folder /work."""

    def __init__(self, root):
        self.root, self.work = root, root / "work"
        self.environment = {
            "HOME": "/root", "LC_ALL": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
            "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        self.work.mkdir()

    def type(self, line, folder="/work"):
        """Run a line, which must succeed. Returns its output."""
        print(f"$ {line}", flush=True)
        done = subprocess.run(
            ["chroot", self.root, "bash", "-ec", f"cd {folder}\n{line}"],
            env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True, check=False)
        print(done.stdout, flush=True)
        if done.returncode:
            sys.exit(f"readme.py: status {done.returncode}: {line}")
        return done.stdout


def section(title):
    """The text below a title of README."""
    text = (TOP / "README.md").read_text("utf-8")
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text,
                     re.DOTALL | re.MULTILINE)[1]


def lines(title):
    """The lines that a section shows to type."""
    found = re.findall(r"^    (\S.*)", section(title), re.MULTILINE)
    assert found, title
    return found


def fenced(title, language):
    """The code that a section shows."""
    return re.search(rf"^```{language}\n(.*?)^```", section(title),
                     re.DOTALL | re.MULTILINE)[1]


def try_command(chroot):
    """The disk, the hosts and the device of README are stand-ins."""
    (chroot.work / "disk.img").write_bytes(DATA)
    for name in ("noble.qcow2", "upload.img"):
        chroot.type(f"hone convert -q -O qcow2 disk.img {name}")
    chroot.type("sha256sum noble.qcow2 >SHA256SUMS")
    ssh = chroot.root / "usr/local/bin/ssh"
    ssh.write_text('#!/bin/sh\nshift\nexec "$@"\n')
    ssh.chmod(0o755)
    old = chroot.work / "device"
    old.write_bytes(b"old bytes " * (len(DATA) // 10 + 1))
    os.truncate(old, len(DATA))
    with stand_ins.StandIns(chroot.work, chroot.environment) as used:
        used.store.mkdir()
        used.server()
        bundle = pathlib.Path(chroot.environment["CURL_CA_BUNDLE"])
        chroot.environment["CURL_CA_BUNDLE"] = str(
            "/" / bundle.relative_to(chroot.root))
        server = used.words["https://images.example.org/"]
        device = stand_ins.run("losetup", "-f", "--show", str(old))
        used.stack.callback(stand_ins.run, "losetup", "-d", device)
        (chroot.root / "dev/vg0").mkdir()
        stand_ins.run("cp", "-a", device, str(chroot.root / "dev/vg0/vm1"))
        for line in lines("Disk images"):
            last = chroot.type(line.replace("https://HOST/", server))
        assert pathlib.Path(device).read_bytes() == DATA
    raw = chroot.type("sha256sum <disk.img").split()[0]
    assert last.split()[0] == raw, "hone digest differs from sha256sum"
    assert (chroot.work / "noble.img").read_bytes() == DATA


def try_php(chroot):
    """The block runs twice: it stores the value, then finds it."""
    block = fenced("PHP", "php")
    (chroot.work / "routes.php").write_text(
        "<?php function load_routes() { return range(1, 1000); }\n"
        + "unset($found);\n" + block + "var_dump($found);\n"
        + block + "var_dump($found, $routes === load_routes());\n")
    shown = chroot.type("php -d apc.enable_cli=1 routes.php")
    assert shown.split() == ["bool(false)", "bool(true)", "bool(true)"], shown


def try_library(chroot):
    """The program compiles and reads a file."""
    (chroot.work / "readme.c").write_text(fenced("C", "c"))
    (chroot.work / "file").write_bytes(bytes(1000) + b"data")
    for line in lines("C"):
        chroot.type(line)
    shown = chroot.type("./a.out file")
    assert shown == "1004 bytes, 1000 zero bytes first\n", shown


def main():
    product, root = sys.argv[1:]
    chroot = Chroot(pathlib.Path(root).resolve())
    (install,) = [line for line in lines("Install")
                  if line.startswith("apt install ./")
                  and INSTALLS[product] in line]
    chroot.type(install, "/packages")
    {"command": try_command, "php": try_php,
     "library": try_library}[product](chroot)


if __name__ == "__main__":
    main()
