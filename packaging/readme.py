#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""README's lines for a product work as written where only packages are.

readme.py command|php|library CHROOT

CHROOT is a bare Debian with the packages in /packages. The line of README's
section Install installs the product; then the lines of its section run, and
what the table on top says to try. tests/static/test_readme.py does the same
with the static file. What is left out is printed with its reason.
"""
import hashlib
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP / "docs"))

import stand_ins  # noqa: E402 pylint: disable=wrong-import-position

# Product -> what its line of Install names, and its name in the table.
INSTALLS = {"command": "./hone_", "php": "-hone_", "library": "libhone-dev_",
            "file": "./dev static"}
NAMES = {"command": "hone", "php": "the PHP extension", "library": "libhone",
         "file": "hone"}
# Why the place of a product does not run what begins like this, unless the
# product is one of those whose place has to run it. A line of README that has to
# run in a place, and does not, fails the test; so does one that is not here.
REASONS = [
    (r"\./dev (run|test)( |$)", (), "needs the source tree"),
    (r"\./dev packages ", (), "makes the packages; ./dev packages runs it"),
    (r"\./dev static ", ("file",),
     "makes the static file; ./dev static --check runs it"),
    (r"apt install \./hone_", ("command",), "installs the command"),
    (r"apt install \./php8", ("php",), "installs the PHP extension"),
    (r"apt install \./libhone-dev_", ("library",), "installs the library"),
    (r"hone |ssh ", ("command", "file"), "needs the command"),
    (r"apcu_|```php", ("php",), "needs the PHP extension"),
    (r"cc |#include|```c$", ("library",), "needs libhone-dev and a compiler")]
DATA = os.urandom(8 << 20) + bytes(8 << 20)
BUNDLE = "etc/ssl/certs/ca-certificates.crt"


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


def readme():
    """The text of README."""
    return (TOP / "README.md").read_text("utf-8")


def section(title):
    """The text below a title of README."""
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", readme(),
                     re.DOTALL | re.MULTILINE)[1]


def typed(text):
    """The lines that a text shows to type."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"^    (\S.*)", text, re.MULTILINE)


def lines(title):
    """The lines that a section shows to type."""
    found = typed(section(title))
    assert found, title
    return found


def fenced(title, language):
    """The code that a section shows."""
    return re.search(rf"^```{language}\n(.*?)^```", section(title),
                     re.DOTALL | re.MULTILINE)[1]


def printed():
    """What the program of the section C prints."""
    return re.search(r"^This prints `(.*?)`", section("C"), re.MULTILINE)[1]


def cell(product):
    """What the table says to try."""
    return re.search(rf"^\| \*\*{NAMES[product]}\*\*.*?\| `(.*?)` \|",
                     readme(), re.MULTILINE)[1]


def install_line(product):
    """The line of Install for a product."""
    (line,) = [line for line in lines("Install")
               if INSTALLS[product] in line]
    return line


def shown():
    """All that README shows to type, to compile or to try."""
    return [*typed(readme()), *map(cell, ("command", "php", "library")),
            *re.findall(r"^```\w+$", readme(), re.MULTILINE)]


def print_left_out(product):
    """What of README this product's place does not run, and why."""
    ran = {install_line(product), cell(product)}
    ran |= {"command": set(lines("Disk images")),
            "file": set(lines("Disk images")), "php": {"```php"},
            "library": {"```c", *lines("C")}}[product]
    for each in shown():
        if each not in ran:
            reasons = [reason for pattern, runs, reason in REASONS
                       if re.match(pattern, each) and product not in runs]
            if not reasons:
                sys.exit(f"README.md: nothing runs '{each}' for {product}")
            print(f"{product} leaves out: {each}: {reasons[0]}", flush=True)


def trust(place, certificate):
    """Add a certificate to those of the place."""
    bundle = place.root / BUNDLE
    bundle.parent.mkdir(parents=True, exist_ok=True)
    with open(bundle, "ab") as file:
        file.write(certificate.read_bytes())


def device_in(place, used, name):
    """A block device with old bytes, and some more than the disk has."""
    old = place.work / "device"
    old.write_bytes(b"old bytes " * (len(DATA) // 10 + 1))
    os.truncate(old, len(DATA))
    device = stand_ins.run("losetup", "-f", "--show", str(old))
    used.stack.callback(stand_ins.run, "losetup", "-d", device)
    path = place.root / name
    path.parent.mkdir(parents=True)
    stand_ins.run("cp", "-a", device, str(path))
    return pathlib.Path(device)


def try_disk_images(place, product):
    """The disk, the hosts and the device of README are stand-ins."""
    (place.work / "disk.img").write_bytes(DATA)
    place.type(cell(product))
    for name in ("noble.qcow2", "upload.img"):
        place.type(f"hone convert -q -O qcow2 disk.img {name}")
    noble = (place.work / "noble.qcow2").read_bytes()
    (place.work / "SHA256SUMS").write_text(
        f"{hashlib.sha256(noble).hexdigest()}  noble.qcow2\n")
    with stand_ins.StandIns(place.work, {}) as used:
        used.store.mkdir()
        used.server()
        trust(place, used.store / "cert.pem")
        server = used.words["https://images.example.org/"]
        device = device_in(place, used, "dev/vg0/vm1")
        for line in lines("Disk images"):
            last = place.type(line.replace("https://HOST/", server))
        assert device.read_bytes() == DATA
    raw = hashlib.sha256(DATA).hexdigest()
    assert last.split()[0] == raw, "hone digest differs from sha256sum"
    with open(place.work / "noble.img", "rb") as larger:
        assert larger.read(len(DATA)) == DATA
        assert os.fstat(larger.fileno()).st_size == 20 << 30


def try_command(chroot):
    """Debian's shell, and an ssh that runs the words of the other host."""
    ssh = chroot.root / "usr/local/bin/ssh"
    ssh.write_text('#!/bin/sh\nshift\nexec "$@"\n')
    ssh.chmod(0o755)
    try_disk_images(chroot, "command")


def try_php(chroot):
    """The block runs twice: it stores the value, then finds it. So does what
    the table says to try.
    """
    block = fenced("PHP", "php")
    (chroot.work / "routes.php").write_text(
        "<?php function load_routes() { return range(1, 1000); }\n"
        + "unset($found);\n" + block + "var_dump($found);\n"
        + block + "var_dump($found, $routes === load_routes());\n"
        + f"var_dump({cell('php')} === load_routes());\n")
    option = re.search(r"`php` has .*? is on: `(.*?)`", section("PHP"))[1]
    shown = chroot.type(f"php {option} routes.php")
    assert shown.split() == ["bool(false)", *["bool(true)"] * 3], shown


def try_library(chroot):
    """The program prints what README shows, by the two files and by the package."""
    program = fenced("C", "c")
    assert cell("library") in program
    (chroot.work / "readme.c").write_text(program)
    subprocess.run([sys.executable, "-B", TOP / "tools/single.py", chroot.work],
                   check=True)
    (line,) = lines("C")
    shown = chroot.type(line)
    assert shown == printed() + "\n", shown
    header, flags = re.search(r"`(<.*?>)`.*`(\$\(.*?\))`", section("C"),
                              re.DOTALL).groups()
    (chroot.work / "readme.c").write_text(
        program.replace(cell("library"), f"#include {header}"))
    shown = chroot.type(f"cc readme.c {flags} && ./a.out")
    assert shown == printed() + "\n", shown


def main():
    product, root = sys.argv[1:]
    chroot = Chroot(pathlib.Path(root).resolve())
    chroot.type(install_line(product), "/packages")
    {"command": try_command, "php": try_php,
     "library": try_library}[product](chroot)
    print_left_out(product)


if __name__ == "__main__":
    main()
