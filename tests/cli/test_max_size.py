# SPDX-License-Identifier: BSD-3-Clause
"""--max-size: the limit of the disk, and of what is unpacked. The limit of what
is written is in tests/image/copy_test.c."""
import gzip
import subprocess
import zlib

import pytest

import images
from images import MI
from test_pipes import run_piped

LIMIT = b"bytes, the limit; --max-size sets the limit"


@pytest.fixture(name="disks")
def disks_fixture(hone, work):
    """The same disk of 2 MiB in each format, and packed."""
    raw = work / "a.raw"
    raw.write_bytes(images.noise(2 * MI))
    for suffix in "qcow2", "vhd", "vmdk":
        hone.ok("convert", "-q", raw, work / f"a.{suffix}")
    (work / "b.raw.gz").write_bytes(gzip.compress(raw.read_bytes(), 1))
    return [raw, *(work / f"a.{suffix}" for suffix in (
        "qcow2", "vhd", "vmdk")), work / "b.raw.gz"]


COMMANDS = {"convert": ["-q", None, "out"], "map": [None], "info": [None],
            "compare": [None, None], "digest": [None]}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_disk_has_a_limit(hone, work, disks, command):
    """Each command, each format: at the limit, and one byte less."""
    for disk in disks:
        words = [disk if word is None else
                 work / "out" if word == "out" else word
                 for word in COMMANDS[command]]
        # info does not unpack more than the header
        small = command == "info" and disk.suffix == ".gz"
        for size in 2 * MI, 2 * MI - 1:
            done = hone.run(command, "--max-size", str(size), *words)
            if size == 2 * MI or small:
                assert (done.returncode, done.stderr) == (0, b""), done
                (work / "out").unlink(missing_ok=True)
                continue
            assert done.returncode == 3, done
            assert (b": has a disk of more than 2097151 " + LIMIT
                    in done.stderr), done
            assert not (work / "out").exists()


def test_check_has_a_limit(hone, disks):
    for disk in disks:
        sound = hone.json("check", "--json", "--max-size", str(2 * MI), disk)
        assert sound["safe"] and {"name": "size", "passed": True} in [
            {"name": each["name"], "passed": each["passed"]}
            for each in sound["checks"]]
        done = hone.run("check", "-q", "--max-size", str(2 * MI - 1), disk)
        assert (done.returncode, done.stderr) == (1, b"")
        said = hone.run("check", "--max-size", str(2 * MI - 1), disk).stdout
        assert (b"the disk has 2097152 bytes, and --max-size allows 2097151"
                in said), said
        assert b"--max-size" not in hone.ok("check", disk).stdout


def test_a_pipe_has_a_limit(hone, work):
    """The end comes behind it."""
    data = images.noise(2 * MI)
    for size, code in (2 * MI, 0), (2 * MI - 1, 3):
        done = run_piped(hone.run, data, "convert", "-q", "--max-size", str(size),
                         "-f", "raw", "-", work / "out")
        assert done.returncode == code, done
        assert (work / "out").exists() == (code == 0)
        (work / "out").unlink(missing_ok=True)
        done = run_piped(hone.run, data, "digest", "--max-size", str(size), "-f",
                         "raw", "-")
        assert done.returncode == code, done


def test_what_is_unpacked_has_a_limit(hone, work):
    """A small image, and then 80 MiB of zeros."""
    (work / "a.raw").write_bytes(images.noise(MI))
    hone.ok("convert", "-q", work / "a.raw", work / "a.qcow2")
    packer = zlib.compressobj(1, wbits=31)
    with open(work / "a.qcow2.gz", "wb") as file:
        file.write(packer.compress((work / "a.qcow2").read_bytes()))
        for _ in range(80):
            file.write(packer.compress(bytes(MI)))
        file.write(packer.flush())
    limit = ["--max-size", str(MI)]
    for words in (["convert", "-q", work / "a.qcow2.gz", work / "out"],
                  ["digest", work / "a.qcow2.gz"]):
        hone.ok(words[0], *words[1:])
        (work / "out").unlink(missing_ok=True)
        said = hone.fails(words[0], *limit, *words[1:], code=3)
        assert "unpacks to more than a disk of 1048576 " + LIMIT.decode() in (
            said), said
        assert not (work / "out").exists()
    done = hone.run("check", *limit, work / "a.qcow2.gz")
    assert done.returncode == 1 and b"size               FAILED" in done.stdout


def test_the_defaults_with_untrusted(hone, work):
    """2 TiB of disk."""
    path = work / "a.raw"
    for size, code in (1 << 41, 0), ((1 << 41) + 512, 3):
        with open(path, "wb") as file:
            file.truncate(size)
        done = hone.run("convert", "-q", "--untrusted", path, work / "out")
        assert done.returncode == code, done
        assert (b"2199023255552" in done.stderr) == (code == 3)
        (work / "out").unlink(missing_ok=True)
    hone.ok("convert", "-q", "--untrusted", "--max-size", "3T", path,
            work / "out")
    assert subprocess.run(["cmp", "-n", "1M", path, work / "out"],
                          check=False).returncode == 0
