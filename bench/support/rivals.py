# SPDX-License-Identifier: BSD-3-Clause
"""The rivals that a run has: which Debian they are of, and their versions.

They are those of this system, or those of a root that tools/rivals.sh made.
Programs of that root run on this system by the loader and the libraries of
the root, so that they have the file system and the page cache that hone has.
"""
import re
import shutil
import subprocess
from pathlib import Path

# The programs that a conversion is compared with.
PROGRAMS = ("qemu-img", "qemu-nbd", "nbdcopy", "pigz", "zstd", "xz", "curl",
            "openssl", "gzip", "tar", "cp")
PACKAGES = ("qemu-utils", "libnbd-bin", "pigz", "zstd", "xz-utils", "gcc",
            "curl", "openssl", "gzip", "tar",
            "libc6", "libisal2", "libmimalloc2.0", "libmimalloc3",
            "libjemalloc2", "libtcmalloc-minimal4",
            "libtcmalloc-minimal4t64", "libck-dev", "libzstd1", "zlib1g",
            "librte-eal*", "php-apcu",
            "php8.*-apcu", "memcached", "redis-server")


def output(*command):
    """What a command prints, or nothing if there is none or it fails."""
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True,
                              text=True, check=False)
    except OSError:
        return ""
    return done.stdout


def versions(root):
    """Package -> version of those that are installed."""
    listed = output("dpkg-query", f"--admindir={root}/var/lib/dpkg", "-W",
                    "-f", "${db:Status-Status} ${Package} ${Version}\n",
                    *PACKAGES)
    rows = [line.split() for line in listed.splitlines()]
    return {row[1]: row[2] for row in rows if row[0] == "installed"}


def date(root):
    """When the index of the root's packages was made."""
    for path in sorted((root / "var/lib/apt/lists").glob("*_InRelease")):
        match = re.search(r"^Date: \w+, (\d+ \w+ \d+)", path.read_text(),
                          re.MULTILINE)
        if match:
            return match[1]
    return "unknown"


def about(root=None):
    """What a report says of the rivals, and of the compilers."""
    base = root or Path("/")
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)', (
        base / "etc/os-release").read_text(), re.MULTILINE))
    suite = release.get("PRETTY_NAME", "unknown")
    if root:
        suite = f"Debian sid ({suite}), index of {date(root)}"
    return {"suite": suite, "packages": versions(base),
            "libzstd_here": versions(Path("/")).get("libzstd1", ""),
            "compiler_here": first_line("gcc", "--version"),
            "compiler_of_rivals": output(
                "dpkg-query", f"--admindir={base}/var/lib/dpkg", "-W", "-f",
                "gcc ${Version}", "gcc")}


def first_line(*command):
    return (output(*command).splitlines() or [""])[0]


def wrap(root, folder):
    """Write a program for each of PROGRAMS to the folder, which runs the
    root's."""
    loader = next((root / "usr/lib").glob("*/ld-linux*.so.*"))
    libraries = f"{loader.parent}:{root}/usr/lib"
    folder.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        target = root / "usr/bin" / name
        if not target.exists():
            continue
        path = folder / name
        path.write_text(f"#!/bin/sh\nQEMU_MODULE_DIR={loader.parent}/qemu "
                        f"exec {loader} --argv0 {name} "
                        f"--library-path {libraries} {target} \"$@\"\n")
        path.chmod(0o755)


def find_library(root, name, folder):
    """Have a folder with a library of the root alone, for LD_LIBRARY_PATH, so
    that hone runs with it. Returns the name of its file."""
    found = next((root / "usr/lib").glob(f"*/{name}")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).symlink_to(found)
    return found.name


def version(program):
    """The first line of --version; nothing for a program of another kind."""
    if Path(str(program)).name not in PROGRAMS or not shutil.which(program):
        return ""
    return first_line(program, "--version")
