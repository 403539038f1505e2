# SPDX-License-Identifier: BSD-3-Clause
"""The OCI image of the static command, unpacked as a runtime does."""
import gzip
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile

import pytest

from empty import Empty, need_static

need_static()

MAKER = pathlib.Path(__file__).resolve().parents[2] / "packaging/oci.py"
MEDIA = "application/vnd.oci.image."


class Image:
    """Reads an image layout, and checks the digest of each blob."""

    def __init__(self, layout):
        self.layout, self.seen = layout, set()
        assert json.loads((layout / "oci-layout").read_text()) == {
            "imageLayoutVersion": "1.0.0"}
        self.index = json.loads((layout / "index.json").read_text())

    def blob(self, descriptor, kind):
        """The content that a descriptor names."""
        assert descriptor["mediaType"] == MEDIA + kind
        method, digest = descriptor["digest"].split(":")
        content = (self.layout / "blobs" / method / digest).read_bytes()
        assert hashlib.new(method, content).hexdigest() == digest
        assert len(content) == descriptor["size"]
        self.seen.add(digest)
        return content

    def manifests(self, version):
        """The manifests of the image with this name: {architecture: it}."""
        (named,) = self.index["manifests"]
        assert named["annotations"]["org.opencontainers.image.ref.name"] == version
        index = json.loads(self.blob(named, "index.v1+json"))
        return {each["platform"]["architecture"]:
                json.loads(self.blob(each, "manifest.v1+json"))
                for each in index["manifests"]}

    def unpack(self, manifest, folder):
        """Unpack the layers. Returns the configuration."""
        config = json.loads(self.blob(manifest["config"], "config.v1+json"))
        plain = [gzip.decompress(self.blob(each, "layer.v1.tar+gzip"))
                 for each in manifest["layers"]]
        assert config["rootfs"] == {"type": "layers", "diff_ids": [
            f"sha256:{hashlib.sha256(each).hexdigest()}" for each in plain]}
        for each in plain:
            with tarfile.open(fileobj=io.BytesIO(each)) as tar:
                tar.extractall(folder)
        return config


def make(built, out):
    """Make the image of the command."""
    subprocess.run([sys.executable, "-B", MAKER, "1.2.3", out,
                    f"{built.name}={built}"], check=True,
                   env={**os.environ, "SOURCE_DATE_EPOCH": "1000000000"})
    return Image(out)


@pytest.fixture(name="image")
def fixture_image(built, tmp_path):
    """The image, and the manifest for the CPU of the command."""
    image = make(built, tmp_path / "image")
    ((architecture, manifest),) = image.manifests("1.2.3").items()
    return image, architecture, manifest


def test_the_unpacked_image_runs_its_entry_point(image, built, root, disk):
    image, architecture, manifest = image
    config = image.unpack(manifest, root)
    assert (config["architecture"], config["os"]) == (architecture, "linux")
    assert architecture == {"x86_64": "amd64", "aarch64": "arm64"}[built.name]
    (entry,) = config["config"]["Entrypoint"]
    assert os.access(f"{root}{entry}", os.X_OK)
    assert entry == "/hone"
    inside = Empty(root, emulator=os.environ.get("HONE_EMULATOR"))
    inside.write("disk.img", disk)
    inside.ok("convert", "-q", "-c", "disk.img", "disk.qcow2")
    inside.ok("compare", "disk.img", "disk.qcow2")


def test_the_image_has_the_command_and_its_licences_alone(image, built, root):
    image, _, manifest = image
    image.unpack(manifest, root)
    expected = {path.relative_to(built): path.read_bytes()
                for path in built.rglob("*") if path.is_file()}
    assert {path.relative_to(root): path.read_bytes()
            for path in root.rglob("*") if path.is_file()} == expected
    blobs = {path.name for path in (image.layout / "blobs").rglob("*")
             if path.is_file()}
    assert blobs == image.seen


def test_the_same_command_makes_the_same_image(built, tmp_path):
    def all_of(name):
        return {str(path.relative_to(tmp_path / name)): path.read_bytes()
                for path in make(built, tmp_path / name).layout.rglob("*")
                if path.is_file()}
    assert all_of("one") == all_of("two")
