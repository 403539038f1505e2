#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write small images to a directory, for a fuzzer to begin with; or, after
--streams, compressed clusters as compressed_fuzz.c takes them; or, after
--lists, lists of digests; or, after --profiles, files of AWS as texts_fuzz.c
takes them; or, after --vhd or --vmdk, images of that format; or, after
--archives, tar archives; or, after --packed, packed files as unpack_fuzz.c
takes them; or, after --fields, files of header fields; or, after --addresses,
parts of addresses as address_fuzz.c takes them; or, after --oci, manifests."""
import bz2
import gzip
import hashlib
import importlib
import json
import pathlib
import struct
import subprocess
import sys
import zlib

import qemu
from qemu import KI
from vhd_builder import Vhd, fixed
from vmdk_builder import Builder

# A compressed frame of 512 bytes "A", by the zstd command.
ZSTD = bytes.fromhex("28b52ffd6000014d00001041410100fb2ac002")


def write_streams(directory):
    """One cluster of each codec and of two sizes."""
    for number, length in enumerate([512, 4096]):
        data = bytes(range(256)) * (length // 256)
        packer = zlib.compressobj(6, zlib.DEFLATED, -12)
        stream = packer.compress(data) + packer.flush()
        first = bytes([(length // 512).bit_length() - 1 << 1])
        (directory / f"deflate-{number}").write_bytes(first + stream)
    (directory / "zstd").write_bytes(b"\1" + ZSTD)


def write_images(directory):
    """One image of each kind."""
    for number, options in enumerate([
            {"cluster_size": 512}, {"cluster_size": 512, "compat": "0.10"},
            {"cluster_size": 512, "compression_type": "zstd"},
            {"cluster_size": 512, "refcount_bits": 1, "lazy_refcounts": "on"},
            {"cluster_size": 16 * KI, "extended_l2": "on"}]):
        image = directory / f"seed-{number}"
        cluster = options["cluster_size"]
        qemu.create(image, 20 * cluster, **options)
        qemu.io(image, f"write -P 5 {cluster} {2 * cluster}",
                f"write -c -P 6 {4 * cluster} {cluster}",
                f"write -c -P 7 {5 * cluster} {cluster}",
                f"discard {2 * cluster} {cluster}")
        if options.get("compat") != "0.10":
            qemu.io(image, f"write -z {7 * cluster} {cluster}")
        if options.get("refcount_bits") != 1:
            qemu.img("snapshot", "-c", "s", image)
    qemu.create(directory / "seed-backed", 4096, "-u", "-b", "base", "-F",
                "raw", cluster_size=512)
    qemu.create(directory / "seed-data", 4096, cluster_size=512,
                data_file=directory / "data")
    (directory / "data").unlink()


def write_vmdk(directory):
    """Plain and compressed grains, with and without a footer; descriptors."""
    for number, (packed, footer) in enumerate([
            (False, False), (True, False), (True, True)]):
        image = Builder(5 * 8, packed, footer)
        image.overhead = 22
        image.grain = 8
        image.grains = {0: b"one" * 1000, 1: b"two" * 1000, 4: bytes(range(256)) * 16}
        image.grains = {index: data.ljust(4096, b"\1")
                        for index, data in image.grains.items()}
        image.write(directory / f"seed-{number}")
    (directory / "zeros").write_text(
        "# Disk DescriptorFile\nversion=1\nRW 8 ZERO\n", encoding="ascii")
    (directory / "flat").write_text(
        'version=1\nparentCID=ffffffff\nRW 8 FLAT "a" 0\n',
        encoding="ascii")


def write_profiles(directory):
    """A file with two profiles, for each way to read it."""
    text = b"""[default]
aws_access_key_id = AKID
aws_secret_access_key=abc/+=
aws_session_token = t
region = eu-west-1
endpoint_url = http://h/
[profile mine]
[mine]
region=us-west-2
s3 =
  region = x
# c
"""
    for way in range(8):
        (directory / f"profile-{way}").write_bytes(bytes([way]) + text)


def write_fields(directory):
    """Fields as a user sets them, with both ends of lines, and one of ours."""
    good = b"Authorization: Bearer a.b-_~+/=\nX-A:\n\nAccept: */*\t;q=1\r\n"
    for number, text in enumerate([good, good + b"Range: bytes=0-1\n",
                                   good + b"X-B\n", b"X: " + b"y" * 999]):
        (directory / f"fields-{number}").write_bytes(text)


def write_addresses(directory):
    """Each scheme, alone and as a word of a text, with and without a
    password, with two slashes and with more."""
    for form in range(256):
        parts = (b"ftp://a:b@c/ ", b"user", b"pa/ss" if form & 1 else b"p%40",
                 b"[::1]:1" if form & 2 else b"host", b"/a@b",
                 b"sig=x&socket=/s", b"part", b" nbds://HOST:10809/a%40b")
        (directory / f"address-{form}").write_bytes(bytes([form]) + b"\0".join(parts))


def write_lists(directory):
    """The lines of several tools, and a clear-signed message."""
    for name in ("sha256", "sha512", "blake2b"):
        digest = hashlib.new(name, b"x").hexdigest()
        (directory / f"{name}-gnu").write_text(f"{digest} *./disk.img\n")
        (directory / f"{name}-escaped").write_text(
            f"\\{digest}  a\\nb/disk.img\n{digest}  other\n")
        (directory / f"{name}-tag").write_text(
            f"# disk.img: 1 byte\r\n{name.upper()} (disk.img) = {digest}\r\n")
    (directory / "signed").write_text(
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n"
        f"{hashlib.sha256(b'x').hexdigest()}  disk.img\n- -----\n"
        "-----BEGIN PGP SIGNATURE-----\n\niQ==\n-----END PGP SIGNATURE-----\n")


def write_vhd(directory):
    """A fixed one, and dynamic ones."""
    fixed(directory / "fixed", b"x" * 4096)
    for number, size in enumerate([512, 4 * KI]):
        image = Vhd(4 * size, size)
        image.add(2, b"c" * size, [True, *[False] * 7])
        image.add(0, b"a" * size)
        image.write(directory / f"dynamic-{number}")


def write_archives(directory):
    """Each form of a sparse member, long names, an OVA, two images."""
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli"))
    tars = importlib.import_module("tar_builder")
    data = bytes(range(256)) * 4
    pieces = [(1024, 512), (4096, 512), (9000, 0)]
    disk = tars.member(b"disk.raw", data)
    ovf = b"<Envelope/>"
    lines = b"SHA256(vm.ovf)= %s\nSHA1(disk.raw)= %s\n" % (
        hashlib.sha256(ovf).hexdigest().encode(),
        hashlib.sha1(data).hexdigest().encode())
    description = tars.member(b"vm.ovf", ovf)
    manifest = tars.member(b"vm.mf", lines)
    made = {
        "plain": tars.member(b"note", b"x") + disk,
        "old": tars.gnu_sparse(b"disk.raw", pieces, data, 9000),
        "more": tars.gnu_sparse(b"disk.raw", [(0, 0)] * 3 + pieces[:1], data, 9000,
                                more=[pieces[1:]]),
        "long": tars.long_name(b"d/" * 60 + b"disk.raw") + disk,
        "pax": tars.pax((b"path", b"a.img"), (b"size", b"1024")) + disk,
        "early": description + manifest + disk,
        "late": description + disk + manifest,
        "first": manifest + disk + description,
        "last": disk + description + manifest,
        "two": disk + tars.member(b"b.img", data)}
    named = (b'<References><ovf:File ovf:href="%s" ovf:id="a" ovf:size="1024"'
             b' %s/></References><Disk ovf:fileRef="x/a"/>')
    made["named"] = tars.member(b"vm.ovf", named % (b"a", b"")) + (
        tars.member(b"a", data))
    made["parts"] = tars.member(b"vm.ovf", named % (
        b"disk.raw", b'ovf:chunkSize="512"')) + b"".join(
            tars.member(b"disk.raw.%09d" % n, data[:512]) for n in range(2))
    for version in ("0.0", "0.1", "1.0"):
        made[version] = tars.sparse(version, b"disk.raw", pieces, data, 9000)
    for name, text in made.items():
        (directory / f"archive-{name}").write_bytes(text + tars.END)


def bgzip(data):
    """One block of bgzip: a member of gzip with its length."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = packer.compress(data) + packer.flush()
    head = b"\x1f\x8b\x08\x04" + bytes(5) + b"\xff\x06\x00BC\x02\x00"
    return (head + (len(packed) + 25).to_bytes(2, "little") + packed +
            zlib.crc32(data).to_bytes(4, "little") +
            len(data).to_bytes(4, "little"))


def pipe(data, *command):
    """What the command makes of the data."""
    return subprocess.run(command, input=data, stdout=subprocess.PIPE,
                          check=True).stdout


def write_packed(directory):
    """Several members or blocks, with and without checksums and lengths; what
    needs more memory than the limit, or has more content than it says."""
    data = [bytes(20 * KI), bytes(range(256)) * 40, b"text\n" * 999,
            hashlib.shake_128(b"x").digest(700)]
    whole = b"".join(data)
    # A frame of 300 KiB of zeros, as hone writes it.
    zeros = (b"\x28\xb5\x2f\xfd\x80\x38" + (300 * KI).to_bytes(4, "little") +
             b"\x2c\0\0\x0d\0\x20\0\0" + b"\x02\0\x10\0" +
             (1 | 1 << 1 | 44 * KI << 3).to_bytes(3, "little") + b"\0")
    # The least memory of unpack_fuzz.c is 1 MiB.
    xz = ("xz", "-c", "--block-size=9000", "--lzma2=dict=64KiB")
    zstd = ("zstd", "-qc", "--no-check", "--zstd=wlog=16")
    made = {
        "gzip": b"".join(gzip.compress(each, mtime=0) for each in data),
        "bgzip": b"".join(bgzip(each) for each in [*data, data[0], b""]),
        "bgzip-bomb": bgzip(bytes(16 * KI * KI)),
        "bzip2": bz2.compress(whole, 1) + bz2.compress(b"x") + bytes(9),
        "xz": pipe(whole, *xz, "-T2"),
        "xz-none": pipe(whole, *xz, "-T2", "--check=none"),
        "xz-repeated": pipe(bytes(30 * KI) + whole + bytes(30 * KI), "xz", "-c",
                            "--block-size=1024", "-T2", "--check=none"),
        "xz-unsized": pipe(whole, *xz, "-T1", "--check=none"),
        "xz-streams": b"".join(pipe(each, *xz) + bytes(8) for each in data),
        "xz-filter": pipe(whole, "xz", "-c", "--block-size=9000", "--x86",
                          "--lzma2=dict=4KiB"),
        "xz-large": pipe(whole, "xz", "-c", "--block-size=9000", "--lzma2=dict=32MiB"),
        "zstd": b"".join(pipe(each, *zstd, f"--stream-size={len(each)}")
                         for each in [*data, *data[:2]]),
        "zstd-unsized": b"".join(pipe(each, *zstd) for each in [*data, b""]),
        "zstd-zeros": zeros + pipe(data[2], *zstd) + zeros + zeros,
        # With the table of the seekable format.
        "zstd-table": zeros + ZSTD + struct.pack(
            "<7IBI", 0x184D2A5E, 25, len(zeros), 300 * KI, len(ZSTD), 512, 2, 0,
            0x8F92EAB1),
        # The window is shorter than the blocks.
        "zstd-window": zeros + zeros[:5] + b"\x36" + zeros[6:],
        "zstd-large": pipe(whole, "zstd", "-qc", "--long=25"),
        "zstd-long": pipe(whole, "zstd", "-qc", "--check", "--long=21") +
        b"\x50\x2a\x4d\x18\x01\0\0\0x" + ZSTD}
    for number, (name, packed) in enumerate(made.items()):
        for way in (0, number % 16, 21):
            (directory / f"packed-{name}-{way}").write_bytes(bytes([way]) + packed)


def write_oci(directory):
    """Manifests, indexes and challenges, as texts_fuzz.c takes them."""
    kind = "application/vnd.oci.image."
    file = {"mediaType": kind + "layer.v1.tar+gzip", "size": 7,
            "digest": "sha256:" + "0" * 64}
    made = {
        "layers": {"schemaVersion": 2, "layers": [
            file, {**file, "urls": ["https://a/"]}]},
        "titles": {"schemaVersion": 2, "layers": [
            {**file, "annotations": {"org.opencontainers.image.title": name}}
            for name in ("a.raw", "b.qcow2.zst")]},
        "types": {"schemaVersion": 2, "layers": [
            {**file, "mediaType": "application/vnd.kubevirt.disk.raw+zstd"}]},
        "index": {"schemaVersion": 2, "manifests": [
            {**file, "mediaType": kind + "index.v1+json"},
            {**file, "annotations": {"a": "b"}, "platform": {
                "os": "linux", "architecture": "arm", "variant": "v7"}},
            {**file, "annotations": {"a": "b"}, "platform": {
                "os": "linux", "architecture": "x86_64"}}]}}
    texts = {name: json.dumps(made[name]) for name in made}
    texts["bearer"] = 'Basic realm="a", Bearer realm="b\\"",service=c'
    texts["address"] = "oci://h:1/a/b:c@sha256:" + "0" * 64
    for name, text in texts.items():
        for way in range(4):
            (directory / f"oci-{name}-{way}").write_bytes(
                bytes([way]) + text.encode() + b"\0")


def main():
    """As the arguments say."""
    writers = {"--streams": write_streams, "--lists": write_lists,
               "--profiles": write_profiles, "--vhd": write_vhd,
               "--vmdk": write_vmdk,
               "--archives": write_archives, "--packed": write_packed,
               "--fields": write_fields, "--addresses": write_addresses,
               "--oci": write_oci}
    if sys.argv[1] in writers:
        writers[sys.argv[1]](pathlib.Path(sys.argv[2]))
    else:
        write_images(pathlib.Path(sys.argv[1]))


if __name__ == "__main__":
    main()
