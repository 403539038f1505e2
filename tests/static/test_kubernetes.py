# SPDX-License-Identifier: BSD-3-Clause
"""The Job of docs/examples/import.yaml fits the schema and does its work."""
import contextlib
import hashlib
import os
import pathlib
import random
import re
import shutil
import stat
import subprocess
import sys

import pytest

import memory_cgroup
from empty import BUILT
from http_server import Server

TOP = pathlib.Path(__file__).resolve().parents[2]
MANIFEST = TOP / "docs/examples/import.yaml"
TEXT = MANIFEST.read_text("utf-8")
PLACE = TOP / "build/kubernetes"
GCC = TOP / "build/gcc/cli/hone"
DEVICE = "/dev/vm1-disk"
(CERTIFICATES,) = [f"{folder}/ca-certificates.crt" for folder in
                   re.findall("mountPath: /(.*)", TEXT)]


def validate(path):
    """What kubernetes-validate says about a manifest."""
    if not (PLACE / "kubernetes_validate").is_dir():
        pytest.skip("kubernetes-validate is not installed; "
                    "./dev static --check installs it")
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
    assert old in TEXT
    (tmp_path / "wrong.yaml").write_text(TEXT.replace(old, new), "utf-8")
    assert validate(tmp_path / "wrong.yaml").returncode != 0


def arguments(image, address):
    """The arguments of the manifest, with the address and digest of an image.
    """
    words = re.search(r"args:\n((?: +- .*\n)+)", TEXT)[1].splitlines()
    digest = hashlib.sha256(image).hexdigest()
    return [word.split("- ", 1)[1].replace("https://images.example.org",
                                           address).replace("0" * 64, digest)
            for word in words]


@pytest.fixture(name="device")
def fixture_device(root):
    """Call it with a file: it becomes the device of the manifest."""
    with contextlib.ExitStack() as stack:
        def make(file):
            done = subprocess.run(["losetup", "-f", "--show", file],
                                  check=False, stdout=subprocess.PIPE,
                                  text=True)
            if done.returncode:
                pytest.skip("no loop device can be made here")
            name = done.stdout.strip()
            stack.callback(subprocess.run, ["losetup", "-d", name], check=True)
            node = root / DEVICE.strip("/")
            node.parent.mkdir()
            os.mknod(node, stat.S_IFBLK | 0o600, os.stat(name).st_rdev)
        yield make


def test_the_arguments_of_the_manifest_import_an_image(empty, disk, secure, device):
    file = empty.write("device", b"old bytes " * (1 << 20))
    device(file)
    empty.write("disk.img", disk)
    empty.ok("convert", "-q", "-c", "disk.img", "noble.qcow2")
    image = empty.read("noble.qcow2")
    context, trusted, _ = secure
    empty.write(CERTIFICATES, trusted)
    with Server(image, context=context) as server:
        empty.ok(*arguments(image, server.url("")))
    written = file.read_bytes()
    assert written == disk + bytes(len(written) - len(disk))


@pytest.fixture(scope="session", name="command")
def fixture_command():
    """The path of the static command, or else of that of build/gcc."""
    if os.environ.get("HONE_EMULATOR"):
        pytest.skip("the memory of the emulator would count")
    if os.geteuid() != 0:
        pytest.skip("only root may make a device and enter a chroot")
    for path in (BUILT / "hone", GCC):
        if path.exists():
            return path
    pytest.skip(f"neither {BUILT}/hone nor {GCC} is built")


def piece(number):
    """A MiB of the large disk."""
    return (random.Random(number).randbytes(128 << 10)
            + bytes([number % 255 + 1]) * (896 << 10))


@pytest.fixture(scope="session", name="large")
def fixture_large(command, tmp_path_factory):
    """A disk of 3 GiB with 320 MiB of data, and its image."""
    folder = tmp_path_factory.mktemp("large")
    disk = folder / "disk.img"
    with open(disk, "wb") as file:
        for number in range(320):
            file.seek(number * 9 << 20)
            file.write(piece(number))
        file.truncate(3 << 30)
    image = folder / "noble.qcow2"
    subprocess.run([command, "convert", "-q", "-c", disk, image], check=True)
    yield disk, image.read_bytes()
    shutil.rmtree(folder)


@pytest.fixture(name="job")
def fixture_job(command, root, large, secure, device):
    """Call it with a limit of memory: run the Job in a cgroup of this size.

    Returns the exit status, how many processes the kernel killed, and the file
    of the device. The command of build/gcc sees the folder of the container
    from outside.
    """
    context, trusted, _ = secure
    file = old_device(root)
    device(file)
    (root / CERTIFICATES).parent.mkdir(parents=True)
    (root / CERTIFICATES).write_bytes(trusted)
    environment = {"PATH": os.environ["PATH"]}
    if command == GCC:
        environment["CURL_CA_BUNDLE"] = f"{root}/{CERTIFICATES}"
    else:
        shutil.copy(command, root)

    def run(limit):
        with Server(large[1], context=context) as server, \
                memory_cgroup.limited(limit) as group:
            words = arguments(large[1], server.url(""))
            before = ["chroot", root, "/hone"]
            if command == GCC:
                before, words[-1] = [GCC], f"{root}{words[-1]}"
            status = subprocess.run(
                [*group.words(), *before, *words], env=environment,
                check=False, stdin=subprocess.DEVNULL).returncode
            return status, group.kills(), file
    return run


def old_device(root):
    """A file for a device of 4 GiB that has old bytes at some places."""
    path = root / "device"
    with open(path, "wb") as file:
        for number in range(16):
            file.seek(number << 28)
            file.write(b"old bytes " * (1 << 20))
        file.truncate(4 << 30)
    return path


def test_the_job_needs_no_more_memory_than_the_manifest_grants(job, large):
    (limit,) = re.findall(r"limits: \{memory: (\d+)Mi\}", TEXT)
    assert int(limit) <= 256
    status, kills, device = job(int(limit) << 20)
    assert (status, kills) == (0, 0)
    # The rest of the device is zeros.
    os.truncate(large[0], device.stat().st_size)
    subprocess.run(["cmp", large[0], device], check=True)


def test_the_job_is_killed_where_it_has_a_sixteenth(job):
    assert job((256 << 20) // 16)[:2] == (-9, 1)
