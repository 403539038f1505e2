# SPDX-License-Identifier: BSD-3-Clause
"""The static command works where nothing else is."""
import bz2
import gzip
import hashlib
import json
import lzma
import re
import subprocess

import pytest

from empty import BUNDLE, need_static
from http_server import Server
from nbd_server import Server as NbdServer

need_static()

BUNDLES = [BUNDLE, "etc/pki/tls/certs/ca-bundle.crt",
           "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
           "etc/ssl/ca-bundle.pem", "etc/ssl/cert.pem"]


def elf(built, *options):
    """What readelf prints."""
    return subprocess.run(["readelf", "-W", *options, built / "hone"],
                          check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def test_the_file_needs_no_other_and_is_hardened(built):
    headers = elf(built, "-hl")
    assert "INTERP" not in headers
    assert "DYN (" in headers and "GNU_RELRO" in headers
    assert re.search(r"GNU_STACK .* RW ", headers)
    dynamic = elf(built, "-d")
    assert "NEEDED" not in dynamic and "BIND_NOW" in dynamic
    assert "TEXTREL" not in dynamic
    assert (built / "hone").stat().st_size < 10_000_000


def test_no_path_of_the_build_is_in_the_file(built):
    content = (built / "hone").read_bytes()
    for folder in (b"/build/static", b"/static/work", b"in-another-folder"):
        assert folder not in content


def test_each_source_has_its_licence(built):
    names = {path.stem for path in (built / "licences").iterdir()
             if path.suffix == ".copyright"}
    sources = {line.split()[1].split("_")[0] for line in
               (built / "licences/sources").read_text().splitlines()}
    assert sources <= names and {"hone", "musl", "libgcc"} <= names


def test_version_tells_what_is_left_out(empty):
    said = empty.ok("--version")
    assert re.fullmatch(
        r"hone [\d.]+ with OpenSSL 3[\d.]+, zlib [\w.]+, libzstd [\d.]+, "
        r"liblzma [\d.]+, libnbd [\d.]+ \(no TLS\), libbz2 [\d.]+, "
        r"libcurl [\d.]+ \(no HTTP/2\)\n", said), said


@pytest.mark.parametrize("options", [
    ["-O", "qcow2"], ["-c"], ["-c", "-o", "compression_type=zstd"],
    ["-O", "vmdk"], ["-O", "vhd"]], ids=" ".join)
def test_conversions_come_back_as_they_were(empty, disk, options):
    empty.write("disk.img", disk)
    name = "small." + (options[1] if options[0] == "-O" else "qcow2")
    empty.ok("convert", "-q", "--verify", *options, "disk.img", name)
    empty.ok("check", name)
    empty.ok("compare", "disk.img", name)
    empty.ok("convert", "-q", name, "again.img")
    assert empty.read("again.img")[:len(disk)] == disk
    assert '"format"' in empty.ok("info", "--json", name)
    assert "data" in empty.ok("map", name)


def test_options_may_follow_operands(empty, disk):
    """The first mistake of a line is answered, wherever it is."""
    empty.write("disk.img", disk)
    said = empty.ok("convert", "disk.img", "a", "--target-format", "qcow2", "--json",
                    "--parallel", "1", "-o", "cluster_size=4k")
    found = json.loads(said)
    assert (found["format"], found["threads"]) == ("qcow2", 1)
    assert empty.ok("convert", "disk.img", "b", "--help", "network") == (
        empty.ok("help", "convert", "network"))
    said = empty.run("convert", "disk.img", "b", "--object", "-x", "-O").stderr
    assert "'--object' is not an option" in said and "'-x'" not in said, said
    assert "'-O' needs a value" in empty.run("convert", "disk.img", "b", "-O").stderr


@pytest.mark.parametrize("algorithm", [
    "sha256", "sha512", "sha384", "sha224", "sha1", "md5", "blake2b"])
def test_digests_are_those_of_others(empty, disk, algorithm):
    empty.write("disk.img", disk)
    said = empty.ok("digest", "-a", algorithm, "disk.img")
    assert hashlib.new(algorithm, disk).hexdigest() in said


@pytest.mark.parametrize("suffix, pack", [
    ("gz", gzip.compress), ("xz", lzma.compress), ("bz2", bz2.compress)])
def test_packed_images_are_unpacked(empty, disk, suffix, pack):
    packed = empty.write(f"disk.img.{suffix}", pack(disk))
    expected = hashlib.sha256(packed.read_bytes()).hexdigest()
    empty.ok("convert", "-q", "--expect", "sha256:" + expected,
             f"disk.img.{suffix}", "disk.img")
    assert empty.read("disk.img") == disk


def test_an_address_of_http_is_read(empty, disk):
    with Server(disk) as server:
        empty.ok("convert", "-q", "-f", "raw", server.url(), "a.img")
    assert empty.read("a.img") == disk


@pytest.mark.parametrize("bundle", BUNDLES)
def test_certificates_are_found_where_distributions_have_them(
        empty, disk, secure, bundle):
    context, certificate, _ = secure
    empty.write(bundle, certificate)
    with Server(disk, context=context) as server:
        empty.ok("convert", "-q", "-f", "raw", server.url(), "a.img")
    assert empty.read("a.img") == disk


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "CURL_CA_BUNDLE"])
def test_a_variable_names_the_certificates(empty, disk, secure, variable):
    context, certificate, _ = secure
    empty.write("trusted", certificate)
    empty.write(BUNDLE, b"")
    with Server(disk, context=context) as server:
        empty.ok("convert", "-q", "-f", "raw", server.url(), "a.img",
                 env={variable: "/trusted"})


def test_a_server_that_is_not_trusted_is_refused(empty, disk, secure):
    context, _, other = secure
    with Server(disk, context=context) as server:
        said = empty.fails("convert", "-f", "raw", server.url(), "a.img")
        # There are no certificates at all.
        assert "install ca-certificates, or use --cacert FILE" in said, said
        empty.write(BUNDLE, other)
        said = empty.fails("convert", "-f", "raw", server.url(), "a.img")
    assert "certificate" in said, said
    assert not (empty.root / "a.img").exists()


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize("host", ["images.example.org", "long.example.org"])
def test_names_are_found_by_resolv_conf(empty, disk, secure, host):
    context, certificate, _ = secure
    empty.write(BUNDLE, certificate)
    with Server(disk, context=context) as server:
        url = server.url().replace("127.0.0.1", host)
        empty.ok("convert", "-q", "-f", "raw", url, "a.img")
    assert empty.read("a.img") == disk


def test_an_export_of_nbd_is_read_and_written(empty, disk):
    content = bytearray(len(disk))
    empty.write("disk.img", disk)
    with NbdServer(empty.root / "nbd", content):
        empty.ok("convert", "-q", "disk.img", "nbd+unix:///?socket=/nbd")
        empty.ok("convert", "-q", "nbd+unix:///?socket=/nbd", "again.img")
    assert bytes(content) == disk and empty.read("again.img") == disk


def test_nbd_with_tls_is_refused_with_the_reason(empty):
    said = empty.fails("info", "nbds://127.0.0.1:1/")
    assert "TLS" in said, said
