#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An OCI image of the static command, made without a daemon.

oci.py VERSION OUT CPU=FOLDER...

OUT becomes an image layout (oci-layout, index.json, blobs) with the image
VERSION, for each CPU of what ./dev static made in FOLDER: the command and its
licences, and nothing else. The same input makes the same bytes; the date is
SOURCE_DATE_EPOCH.
"""
import datetime
import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import sys
import tarfile

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MEDIA = "application/vnd.oci.image."
DATE = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))


class Layout:
    """The folder of an image layout."""

    def __init__(self, folder):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "blobs/sha256").mkdir(parents=True)
        self.file("oci-layout", {"imageLayoutVersion": "1.0.0"})

    def file(self, name, content):
        """A file of JSON."""
        (self.folder / name).write_bytes(encode(content))

    def blob(self, kind, content):
        """A blob, by its digest. Returns its descriptor."""
        digest = hashlib.sha256(content).hexdigest()
        (self.folder / "blobs/sha256" / digest).write_bytes(content)
        return {"mediaType": MEDIA + kind, "digest": f"sha256:{digest}",
                "size": len(content)}


def encode(content):
    """JSON without spaces and in one order."""
    return json.dumps(content, separators=(",", ":"),
                      sort_keys=True).encode()


def layer(built):
    """The files of the image, as a tar archive."""
    licences = sorted((built / "licences").iterdir())
    files = [("hone", built / "hone", 0o755)] + [
        (f"licences/{path.name}", path, 0o644) for path in licences]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w",
                      format=tarfile.USTAR_FORMAT) as tar:
        folder = tarfile.TarInfo("licences")
        folder.type, folder.mode, folder.mtime = tarfile.DIRTYPE, 0o755, DATE
        tar.addfile(folder)
        for name, path, mode in files:
            content = path.read_bytes()
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime = len(content), mode, DATE
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def image(layout, version, cpu, built):
    """The image for one CPU. Returns the descriptor of its manifest."""
    plain = layer(built)
    platform = {"architecture": ARCHITECTURES[cpu], "os": "linux"}
    date = datetime.datetime.fromtimestamp(DATE, datetime.timezone.utc)
    config = layout.blob("config.v1+json", encode({
        **platform,
        "created": date.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "config": {"Entrypoint": ["/hone"], "Cmd": ["--help"]},
        "rootfs": {"type": "layers", "diff_ids": [
            "sha256:" + hashlib.sha256(plain).hexdigest()]}}))
    manifest = layout.blob("manifest.v1+json", encode({
        "schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json",
        "config": config,
        "layers": [layout.blob("layer.v1.tar+gzip",
                               gzip.compress(plain, 9, mtime=0))],
        "annotations": {"org.opencontainers.image.title": "hone",
                        "org.opencontainers.image.version": version}}))
    return {**manifest, "platform": platform}


def index(manifests):
    """An index of descriptors."""
    return {"schemaVersion": 2, "mediaType": MEDIA + "index.v1+json",
            "manifests": manifests}


def main():
    version, out, *images = sys.argv[1:]
    layout = Layout(pathlib.Path(out))
    manifests = [image(layout, version, cpu, pathlib.Path(folder))
                 for cpu, folder in (each.split("=", 1) for each in images)]
    every = layout.blob("index.v1+json", encode(index(manifests)))
    layout.file("index.json", index([{**every, "annotations": {
        "org.opencontainers.image.ref.name": version}}]))


if __name__ == "__main__":
    main()
