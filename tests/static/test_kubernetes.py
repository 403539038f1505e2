# SPDX-License-Identifier: BSD-3-Clause
"""The Job of docs/examples/import.yaml fits the schema and does its work."""
import hashlib
import os
import pathlib
import re
import stat
import subprocess
import sys

import pytest

from http_server import Server

TOP = pathlib.Path(__file__).resolve().parents[2]
MANIFEST = TOP / "docs/examples/import.yaml"
PLACE = TOP / "build/kubernetes"


def validate(path):
    """What kubernetes-validate says about a manifest."""
    if not (PLACE / "kubernetes_validate").is_dir():
        pytest.skip("kubernetes-validate is not installed; "
                    "./dev static installs it")
    return subprocess.run(
        [sys.executable, "-B", "-m", "kubernetes_validate", "--strict",
         str(path)], env={**os.environ, "PYTHONPATH": str(PLACE)},
        check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True)


def test_the_manifest_fits_the_schema():
    done = validate(MANIFEST)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("old, new", [
    ("volumeDevices:", "volumeDevice:"),
    ("backoffLimit: 6", "backoffLimit: many")])
def test_a_manifest_with_a_mistake_does_not_fit(tmp_path, old, new):
    text = MANIFEST.read_text("utf-8")
    assert old in text
    (tmp_path / "wrong.yaml").write_text(text.replace(old, new), "utf-8")
    assert validate(tmp_path / "wrong.yaml").returncode != 0


@pytest.fixture(name="device")
def fixture_device(root):
    """A loop device that has more bytes than the image."""
    file = root / "device"
    file.write_bytes(b"old bytes " * (1 << 20))
    done = subprocess.run(["losetup", "-f", "--show", file], check=False,
                          stdout=subprocess.PIPE, text=True)
    if done.returncode:
        pytest.skip("no loop device can be made here")
    (root / "dev").mkdir()
    os.mknod(root / "dev/vm1-disk", stat.S_IFBLK | 0o600,
             os.stat(done.stdout.strip()).st_rdev)
    yield file
    subprocess.run(["losetup", "-d", done.stdout.strip()], check=True)


def test_the_arguments_of_the_manifest_import_an_image(
        empty, disk, secure, device):
    text = MANIFEST.read_text("utf-8")
    words = re.search(r"args:\n((?: +- .*\n)+)", text)[1].splitlines()
    words = [word.split("- ", 1)[1] for word in words]
    (mount,) = re.findall("mountPath: /(.*)", text)
    empty.write("disk.img", disk)
    empty.ok("convert", "-q", "-c", "disk.img", "noble.qcow2")
    image = empty.read("noble.qcow2")
    digest = hashlib.sha256(image).hexdigest()
    context, trusted, _ = secure
    empty.write(f"{mount}/ca-certificates.crt", trusted)
    with Server(image, context=context) as server:
        empty.ok(*(word.replace("https://images.example.org", server.url(""))
                   .replace("0" * 64, digest) for word in words))
    written = device.read_bytes()
    assert written == disk + bytes(len(written) - len(disk))
