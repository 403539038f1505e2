# SPDX-License-Identifier: BSD-3-Clause
"""Each hostile image of these tests has one verdict: as a file, in a pipe, from
servers, with --untrusted, with its digest expected besides, and by hone check.

VERDICTS_PLAY names the program verdicts_play, which compares the verdicts of all
images in one process.
"""
import os
import pathlib
import subprocess

import pytest

import test_vhd_hostile
import test_vmdk_hostile
from hostile import DEFECTS, make_image
from hostile_tars import HOSTILE

# Bytes of an image. A pipe has no holes.
LARGEST = 16 << 20
# From a server, what has no header of an archive or of an image is refused if it
# is a text or no sectors; so is a member before its end is missed.
NO_DISKS = ("text", "zeros before text", "half a header", "half a padding", "size 2^33")


@pytest.fixture(name="play")
def play_fixture():
    """The path of the program."""
    program = os.environ.get("VERDICTS_PLAY")
    if not program:
        pytest.fail("set VERDICTS_PLAY to the path of verdicts_play")
    path = pathlib.Path(program)
    if not path.exists():
        pytest.skip("verdicts_play was built without OpenSSL")
    return path


def compare(play, fmt, files, least):
    """No verdict may differ from that of the file."""
    assert len(files) >= least
    done = subprocess.run([play, fmt, *files], check=False, timeout=600,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = done.stdout.decode()
    assert done.returncode == 0, said
    assert said == f"{len(files)} images, 0 differences\n"


def test_hostile_qcow2_images(play, tmp_path):
    files = []
    for name in DEFECTS:
        folder = tmp_path / name
        folder.mkdir()
        path = folder / "image.qcow2"
        try:
            make_image(name, path)
        except OSError:
            # a file that the file system refuses, which is too large anyhow
            continue
        if path.stat().st_size < LARGEST:
            files.append(path)
    compare(play, "qcow2", files, 150)


def test_hostile_vmdk_images(play, tmp_path):
    files = []
    for number, row in enumerate(test_vmdk_hostile.HOSTILE.values()):
        path = tmp_path / f"{number}.vmdk"
        row[0].write(path)
        if path.stat().st_size < LARGEST:
            files.append(path)
    compare(play, "vmdk", files, 60)


def test_hostile_vhd_images(play, tmp_path):
    files = []
    for name, make, *_ in (*test_vhd_hostile.ROWS, *test_vhd_hostile.VERDICTS):
        path = tmp_path / f"{name}.vhd"
        make(path)
        if path.stat().st_size < LARGEST:
            files.append(path)
    compare(play, "vhd", files, 60)


def test_hostile_archives(play, tmp_path):
    """Without a suffix: a pipe has no name."""
    files = []
    for number, (name, (data, _)) in enumerate(HOSTILE.items()):
        if data and name not in NO_DISKS:
            files.append(tmp_path / str(number))
            files[-1].write_bytes(data)
    compare(play, "-", files, 90)
