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
from qcow2_builder import Builder
from test_check_polyglot import HEADS

# Bytes of an image. A pipe has no holes.
LARGEST = 16 << 20
# From a server, what has no header of an archive or of an image is refused if it
# is a text or no sectors; so is a member before its end is missed.
NO_DISKS = ("text", "zeros before text", "half a padding", "size 2^33")


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


def sound(make, folder):
    """A sound image of the test's builder."""
    make(folder / "sound")
    return folder / "sound"


def small(files):
    """Those that a pipe can have."""
    return [path for path in files if path.stat().st_size < LARGEST]


def test_hostile_qcow2_images(play, tmp_path):
    files = [sound(Builder().write, tmp_path)]
    for name in DEFECTS:
        folder = tmp_path / name
        folder.mkdir()
        try:
            make_image(name, folder / "image.qcow2")
        except OSError:
            # a file that the file system refuses, which is too large anyhow
            continue
        files.append(folder / "image.qcow2")
    compare(play, "qcow2", small(files), 120)


def test_hostile_vmdk_images(play, tmp_path):
    files = [sound(test_vmdk_hostile.packed().write, tmp_path)]
    for name, (image, *_) in {**test_vmdk_hostile.HOSTILE,
                              **test_vmdk_hostile.CONTRADICTIONS}.items():
        files.append(image.write(tmp_path / f"{name}.vmdk"))
    compare(play, "vmdk", small(files), 66)


def test_hostile_vhd_images(play, tmp_path):
    files = [sound(test_vhd_hostile.dynamic(), tmp_path)]
    for name, make, *_ in (*test_vhd_hostile.ROWS, *test_vhd_hostile.VERDICTS):
        files.append(tmp_path / f"{name}.vhd")
        make(files[-1])
    compare(play, "vhd", small(files), 60)


def test_raw_disks_that_begin_as_an_image(play, tmp_path):
    files = [tmp_path / str(number) for number in range(len(HEADS))]
    for path, (head, _) in zip(files, HEADS):
        path.write_bytes(head.ljust(64 << 10, b"\0"))
    compare(play, "raw", files, 19)


def test_hostile_archives_and_sound_images(play, tmp_path):
    """Without a suffix: a pipe has no name. The format is found."""
    files = []
    for number, make in enumerate((
            Builder().write, test_vhd_hostile.dynamic(),
            test_vmdk_hostile.packed().write)):
        files.append(tmp_path / f"sound{number}")
        make(files[-1])
    for number, (name, (data, _)) in enumerate(HOSTILE.items()):
        if data and name not in NO_DISKS:
            files.append(tmp_path / str(number))
            files[-1].write_bytes(data)
    compare(play, "-", files, 94)
