# SPDX-License-Identifier: BSD-3-Clause
"""--json has the same names for all formats."""
import json
import os

import pytest

import qemu
from qemu import KI, MI, holey

COMMON = {
    "info": {"command", "file", "format", "virtual_size", "file_size", "disk_usage"},
    "check": {"command", "file", "format", "safe", "checks",
              "leaked_clusters", "leaked_bytes"},
    "compare": {"command", "a", "b", "equal", "same_size", "a_size", "b_size"},
    "digest": {"command", "image", "format", "virtual_size", "digests"},
    "convert": {"command", "source", "destination", "source_format",
                "format", "virtual_size", "data_bytes", "zero_bytes",
                "hole_bytes", "shared_bytes", "file_size", "disk_usage",
                "seconds", "threads", "verified", "zero_variant"},
}
COMPRESSED = {"compression_type", "compressed_from", "compressed_to"}
VHD = {"subformat", "creator_app", "geometry", "size_from", "uuid", "date"}
VMDK = {"version", "subformat", "cluster_size", "cid", "adapter_type", "hwversion"}
QCOW2 = {"version", "cluster_size", "compression_type", "refcount_bits",
         "extended_l2", "lazy_refcounts", "dirty", "corrupt"}
EXTENT = {"offset", "length", "kind"}
PLACED = {"host_offset"}
PACKED = {"compressed"}
# kind of the image: (words of convert, or of qemu-img; what info has besides;
# what the extents of map may have)
IMAGES = {
    "raw": (["-O", "raw"], set(), PLACED),
    "qcow2": (["-O", "qcow2"], QCOW2, PLACED),
    "qcow2-c": (["-c", "-O", "qcow2"], QCOW2, PACKED),
    "vmdk": (["-O", "vmdk"], VMDK | {"compression_type"}, PACKED),
    "vmdk-sparse": (["subformat=monolithicSparse"], VMDK, PLACED),
    "vhd": (["-O", "vhd"], VHD, PLACED),
    "vhd-dynamic": (["subformat=dynamic,force_size=on"],
                    VHD | {"cluster_size", "blocks"}, PLACED),
    "gce": (["-O", "gce"], {"member"}, PLACED),
}


def disk(work):
    """Data that gets smaller, zeros that are stored, and a hole."""
    return holey(work / "disk.raw", 4 * MI, (0, b"".join(
        os.urandom(500) + bytes(3596) for _ in range(256)) + bytes(64 * KI)))


def make(hone, work, kind):
    """(the image, what convert has printed, or None)."""
    words, *_ = IMAGES[kind]
    raw, image = disk(work), work / f"image.{kind.split('-')[0]}"
    if words[0][0] == "-":
        done = hone.ok("convert", "--json", *words, raw, image)
        return image, json.loads(done.stdout)
    qemu.img("convert", "-f", "raw", "-O",
             {"vhd": "vpc"}.get(image.suffix[1:], image.suffix[1:]),
             "-o", words[0], raw, image)
    return image, None


@pytest.mark.parametrize("kind", IMAGES)
def test_the_names_are_those_of_the_table(hone, work, kind):
    image, converted = make(hone, work, kind)
    _, besides, extents = IMAGES[kind]

    def said(command, *words):
        found = json.loads(hone.run(command, "--json", *words).stdout)
        assert isinstance(found, list) or found["command"] == command
        return found
    info = said("info", image)
    assert set(info) == COMMON["info"] | besides
    assert set(said("check", image)) == COMMON["check"]
    assert set(said("digest", image)) == COMMON["digest"]
    assert set(said("compare", image, image)) == COMMON["compare"]
    names = set().union(*said("map", image))
    assert EXTENT < names <= EXTENT | extents
    assert {"compressed"} & extents <= names
    if not converted:
        return
    packed = "-c" in IMAGES[kind][0] or kind in ("vmdk", "gce")
    assert set(converted) == COMMON["convert"] | (COMPRESSED if packed else set())
    if packed:
        assert converted["compression_type"] == "zlib"
        # Units have whole clusters, and the archive keeps zeros.
        kept = converted["zero_bytes"] if kind == "gce" else 0
        assert 0 <= (converted["compressed_from"] - kept
                     - converted["data_bytes"]) < 64 * KI
        assert 100 * KI < converted["compressed_to"] < 300 * KI
        assert converted["compressed_to"] <= converted["file_size"]


# QEMU reads no archive.
@pytest.mark.parametrize("kind", [kind for kind in IMAGES if kind != "gce"])
def test_cluster_size_is_that_of_qemu(hone, work, kind):
    """Of a disk without clusters, neither shows one."""
    image, _ = make(hone, work, kind)
    driver = {"vhd": "vpc"}.get(image.suffix[1:], image.suffix[1:])
    theirs = json.loads(qemu.run("qemu-img", "info", "--output=json", "-f",
                                 driver, image))
    ours = hone.json("info", "--json", image)
    assert ours.get("cluster_size") == theirs.get("cluster-size")
