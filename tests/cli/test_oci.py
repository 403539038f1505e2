# SPDX-License-Identifier: BSD-3-Clause
"""Images in registries of containers."""
import base64
import json
import os
import random
import shutil
import socket
import subprocess
import urllib.parse

import pytest

from harness import assert_reads_as, need
from images import zstd
from http_server import (
    certificate, chunk, script, head, hang_up, send, status, tls_of, write)
from registry import (
    DOCKER_LIST, DOCKER_MANIFEST, DOCKER_TAR, EMPTY, INDEX, OCI, PACKED, TAR,
    TITLE, Registry)
from tar_builder import END, archive, header
from test_http_nginx import HEAD, Nginx

pytestmark = pytest.mark.usefixtures("digests", "libcurl")
RAW = "application/vnd.kubevirt.disk.raw"


@pytest.fixture(name="disk")
def disk_of_sectors(small):
    """The bytes of a raw disk."""
    os.truncate(small, os.stat(small).st_size // 512 * 512)
    return small.read_bytes()


@pytest.fixture(name="registry")
def running_registry():
    """One that has nothing."""
    with Registry().running() as registry:
        yield registry


@pytest.fixture(name="oci")
def command(web, registry, out):
    """Runs the command on addresses of the registry."""
    return Command(web, registry, out)


class Command:
    """The command without TLS."""

    def __init__(self, web, registry, out):
        self.web, self.registry, self.out = web, registry, out

    def run(self, name, *words, reference="", **more):
        """Any command with one image."""
        return self.web.run(name, "--plain-http", *words,
                            self.registry.url(reference), **more)

    def copies(self, disk, *words, reference="", **more):
        """A copy has the bytes of the disk."""
        name = self.out / f"copy{len(os.listdir(self.out))}"
        self.web.ok("convert", "-q", "--plain-http", "-O", "raw", *words,
                    self.registry.url(reference), name, **more)
        assert name.read_bytes() == disk
        name.unlink()

    def refuses(self, *words, code=1, reference="", **more):
        """A copy fails with one sentence, and leaves nothing."""
        said = self.web.fails(
            "convert", "-q", "--plain-http", "-O", "raw", *words,
            self.registry.url(reference), self.out / "never", code=code,
            **more)
        assert not os.listdir(self.out)
        return said


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("fmt", ["raw", "qcow2"])
def test_the_disk_of_a_layer_is_copied(
        hone, oci, registry, small, disk, work, fmt, packing):
    content = disk
    if fmt == "qcow2":
        hone.ok("convert", "-q", "-c", "-O", "qcow2", small, work / "a")
        content = (work / "a").read_bytes()
    made = registry.layer({"disk/": b"", "disk/downloaded": content}, packing)
    registry.image(made, tag="42")
    oci.copies(disk, reference=":42")
    assert registry.asked("blobs") == [made["digest"]]
    # Each byte of the layer came once.
    assert registry.server.sent <= made["size"] + 4096


def test_each_command_reads_a_layer(oci, registry, disk, small):
    registry.image(registry.layer({"disk/a.img": disk}, "+gzip"))
    assert_reads_as(oci.web, registry.url(), small, oci.out, "--plain-http")


def test_info_reads_the_begin_of_a_layer(oci, registry):
    made = registry.layer({"disk/a.img": random.Random(1).randbytes(8 << 20)})
    manifest = registry.image(made, platform={
        "os": "linux", "architecture": "arm", "variant": "v7"})
    for platform in "", "linux/arm/v7":
        found = json.loads(oci.run("info", "--json", "--platform", "linux/arm").stdout)
        assert (found["member"], found["manifest"], found["layer"],
                found["platform"]) == (
            "disk/a.img", manifest["digest"], made["digest"], platform)
        registry.index(manifest)
    text = oci.run("info", "--platform", "linux/arm").stdout.decode()
    assert f"manifest:          {manifest['digest']}\n" \
        "platform:          linux/arm/v7\n" \
        f"layer:             {made['digest']}\n" \
        "member:            disk/a.img\n" in text
    assert registry.server.sent < 2 << 20


def test_docker_has_types_of_its_own(oci, registry, disk):
    made = registry.layer({"disk/a": disk}, "+gzip", DOCKER_TAR)
    registry.index(registry.image(
        made, kind=DOCKER_MANIFEST,
        platform={"os": "linux", "architecture": "amd64"}), kind=DOCKER_LIST)
    oci.copies(disk, "--platform", "linux/amd64")


def entry(registry, disk, tag, platform=None, **more):
    """A manifest of an index, with a disk of its own."""
    words = platform.split("/") if platform else []
    return registry.image(
        registry.layer({"disk/a": disk}), tag=tag,
        platform=dict(zip(("os", "architecture", "variant"), words)), **more)


def test_an_index_has_a_disk_for_each_platform(oci, registry, disk):
    platforms = ["unknown/unknown", "linux/arm64/v8", "linux/x86_64",
                 "linux/arm/v6", "linux/arm/v7"]
    disks = {name: bytes([number]) * 512 + disk
             for number, name in enumerate(platforms)}
    registry.index(*(entry(registry, disks[name], "t", name) for name in platforms))
    for name, wanted in (
            ("linux/arm64", "linux/arm64/v8"), ("linux/aarch64",) * 2,
            ("linux/arm64/v8",) * 2, ("linux/amd64", "linux/x86_64"),
            ("linux/arm", "linux/arm/v6"), ("linux/arm/v7",) * 2):
        oci.copies(disks[wanted.replace("aarch64", "arm64/v8")], "--platform", name)
    assert "linux/s390x; it has linux/arm64/v8, linux/amd64, linux/arm/v6, " \
        in oci.refuses("--platform", "linux/s390x")
    assert "platform unknown/unknown" in oci.refuses("--platform", "unknown/unknown")


def test_an_annotation_chooses_among_disks(oci, registry, disk):
    registry.index(*(
        entry(registry, bytes([len(kind)]) * 512 + disk, "t", "linux/amd64",
              annotations={"disktype": kind}) for kind in ("raw", "qemu")))
    for kind in "qemu", "raw":
        oci.copies(bytes([len(kind)]) * 512 + disk, "--platform",
                   "linux/amd64", "--oci-annotation", f"disktype={kind}")
    # Without one, the first counts, as in skopeo.
    oci.copies(b"\3" * 512 + disk, "--platform", "linux/amd64")
    assert "the annotation disktype=x" in oci.refuses(
        "--platform", "linux/amd64", "--oci-annotation", "disktype=x")


def test_the_top_layer_with_a_disk_counts(oci, registry, disk):
    below = registry.layer({"disk/a": disk[::-1]}, "+gzip")
    right = registry.layer({"etc/b": disk, "disk/a": disk}, "+gzip")
    above = registry.layer({"etc/hosts": b"x" * 9999, "disk/b/c": b"x"})
    registry.image(below, right, above)
    oci.copies(disk)
    assert registry.asked("blobs") == [above["digest"], right["digest"]]
    oci.copies(b"x" * 9999, "--member", "etc/hosts", "-f", "raw")
    assert "has no member 'none'" in oci.refuses("--member", "none")


@pytest.mark.parametrize("name", [
    "disk/.wh.a", "disk/.wh..wh..opq", "./.wh.disk", ".wh..wh..opq", "disk"])
def test_a_disk_that_a_layer_removes_is_not_read(oci, registry, disk, name):
    below = registry.layer({"disk/a": disk[::-1]})
    registry.image(below, registry.layer({name: b""}))
    assert "removes a disk of the layers below" in oci.refuses()
    oci.copies(disk[::-1], "--member", "disk/a")
    # The same layer may have another disk.
    registry.image(below, registry.layer({name: b"", "/disk//b": disk}))
    oci.copies(disk)


@pytest.mark.parametrize("name, kind", [
    (b"disk/a", b"1"), (b"disk/a", b"2"), (b"disk", b"2"), (b"/disk/a", b"2")])
def test_a_link_in_place_of_a_disk_is_not_passed_over(
        oci, registry, disk, name, kind):
    above = header(name, kind=kind, fields=((157, b"etc/b"),)) + END
    registry.image(registry.layer({"disk/a": disk}),
                   registry.blob(above, TAR))
    assert "removes a disk of the layers below" in oci.refuses()


def test_two_disks_of_a_layer_are_refused(oci, registry, disk):
    registry.image(registry.layer({"disk/a": disk, "disk/b": disk}))
    assert "two images, 'disk/a' and 'disk/b'" in oci.refuses()
    registry.image(registry.layer({"disk/a\x1b[1m": disk, "disk/b\n": disk}))
    assert r"two images, 'disk/a\x1b[1m' and 'disk/b\x0a'" in oci.refuses()


@pytest.mark.parametrize("kind, title, pack", [
    (f"{RAW}+zstd", None, zstd), (RAW, None, bytes),
    (f"{RAW}+gzip", "vm.raw", PACKED["+gzip"]),
    (TAR, "out/vm.img", bytes), ("application/zstd", "vm.raw.zst", zstd),
    (f"{TAR}+zstd", "vm.img.zst", zstd), ("text/plain", "vm.raw", bytes)])
def test_a_layer_may_be_the_disk(oci, registry, disk, kind, title, pack):
    made = registry.blob(pack(disk), kind,
                         **({"annotations": {TITLE: title}} if title else {}))
    registry.image(registry.blob(b"{}", EMPTY), made,
                   registry.blob(b"notes", "text/plain"))
    oci.copies(disk)


def test_a_disk_that_begins_as_an_archive_is_none(oci, registry):
    content = archive({"disk/a.img": bytes(512)})
    registry.image(registry.blob(content, RAW))
    assert "begins as a tar archive" in oci.refuses(code=3)
    oci.copies(content, "-f", "raw")


def test_a_title_chooses_among_disks(oci, registry, disk):
    registry.image(*(registry.blob(bytes([ord(name) - 96]) * 512 + disk, TAR,
                                   annotations={TITLE: f"{name}.raw"})
                     for name in "ab"))
    assert "'a.raw' and 'b.raw'; --member NAME chooses" in oci.refuses()
    oci.copies(b"\2" * 512 + disk, "--member", "b.raw")


def test_a_digest_of_the_address_is_verified(oci, registry, disk):
    made = registry.image(registry.layer({"disk/a": disk}))
    oci.copies(disk, reference=f":any@{made['digest']}")
    other = "sha256:" + "0" * 64
    registry.files["manifests", other] = \
        registry.files["manifests", made["digest"]]
    said = oci.refuses(reference=f"@{other}", code=3)
    assert f"its sha256 is {made['digest'][7:]}, not {'0' * 64}" in said


def test_an_expected_digest_is_that_of_the_layer(oci, registry, disk):
    made = registry.layer({"disk/a": disk}, "+gzip")
    registry.image(made)
    oci.copies(disk, "--expect-file", made["digest"])
    oci.refuses("--expect-file", "sha256:" + "0" * 64, code=3)


@pytest.mark.parametrize("packing", ["", "+gzip"])
def test_other_bytes_of_a_layer_are_refused(oci, registry, disk, packing):
    made = registry.layer({"disk/a": disk}, packing)
    registry.image(made)
    right = registry.files["blobs", made["digest"]]
    for wrong in (
            right[:-700] + bytes([right[-700] ^ 1]) + right[-699:],
            right[:-1], right + b"\0", right[:100]):
        registry.files["blobs", made["digest"]] = wrong
        oci.refuses(code=3)
    # Nor without a length.
    registry.bend[f"/v2/vms/disk/blobs/{made['digest']}"] = script(
        head(200, {}), send(right[:-1]), hang_up)
    oci.refuses(code=3)


def test_a_check_finds_other_bytes(oci, registry, disk):
    made = registry.layer({"disk/a": disk})
    registry.image(made)
    assert oci.run("check").returncode == 0
    registry.files["blobs", made["digest"]] = archive({"disk/a": disk[::-1]})
    done = oci.run("check")
    assert (done.returncode, b"its sha256 is" in done.stdout) == (1, True)


def test_the_layers_above_are_verified_too(oci, registry, disk):
    above = registry.layer({"etc/hosts": b"x" * 9999})
    registry.image(registry.layer({"disk/a": disk}), above)
    wrong = archive({"etc/hosts": b"y" * 9999})
    registry.files["blobs", above["digest"]] = wrong
    assert "the file is refused: its sha256 is" in oci.refuses(code=3)


def test_memory_bounds_what_unpacks_the_layers_above(oci, registry, disk):
    above = registry.blob(zstd(archive({"etc/hosts": b"x" * 9999}), "--long=24",
                               "-1"), f"{TAR}+zstd")
    registry.image(registry.layer({"disk/a": disk}), above)
    assert "its share of --memory" in oci.refuses("--memory", "8M")
    oci.copies(disk, "--memory", "80M")


GOOD = {"mediaType": TAR, "digest": "sha256:" + "0" * 64, "size": 1}


@pytest.mark.parametrize("manifest, said", [
    (b"", "is not valid JSON"), (b"[" * 100000, "is not valid JSON"),
    (b"{}", "no schemaVersion 2"), ({"schemaVersion": 1}, "schemaVersion 2"),
    ({"schemaVersion": 2}, "no list of layers and manifests"),
    ({"schemaVersion": 2, "layers": [], "manifests": []}, "more than one"),
    (b'{"schemaVersion": 2, "layers": [], "layers": []}', "more than one"),
    ({"schemaVersion": 2, "mediaType": INDEX, "layers": [GOOD]},
     "another content than its mediaType"),
    ({"schemaVersion": 2, "layers": []}, "has 0 layers, and none is"),
    ({"schemaVersion": 2, "layers": 7}, "has 0 layers, and none is"),
    ({"schemaVersion": 2, "layers": [{**GOOD, "mediaType": EMPTY}]},
     "has 1 layer, and none is"),
    ({"schemaVersion": 2, "layers": [
        {**GOOD, "urls": ["https://evil.example/"]}]}, "and none is"),
    ({"schemaVersion": 2, "layers": [{**GOOD, "mediaType": (
        f"{OCI}.layer.nondistributable.v1.tar")}]}, "and none is"),
    ({"schemaVersion": 2, "layers": [{**GOOD, "digest": "md5:" + "0" * 32}]},
     "its layer-1.tar has no digest"),
    ({"schemaVersion": 2, "layers": [
        {**GOOD, "digest": "sha256:../../../etc/passwd"}]}, "has no digest"),
    *(({"schemaVersion": 2, "layers": [{**GOOD, "size": size}]},
       "its layer-1.tar has no valid size")
      for size in (-1, 1.5, "1", 1 << 64, (1 << 63) - 1, None)),
    ({"schemaVersion": 2, "layers": [GOOD] * 1001}, "has more than 1000 layers"),
    ({"schemaVersion": 2, "layers": [{}] * 1000000}, "has more than 1000 layers"),
    ({"schemaVersion": 2, "manifests": [{}] * 1001},
     "is an index of more than 1000 manifests"),
    ({"schemaVersion": 2, "manifests": [{**GOOD, "mediaType": INDEX,
                                         "platform": {"os": "linux",
                                                      "architecture": "amd64"}
                                         }]},
     "an index in an index is not read"),
    (b" " * (4 << 20) + b"{}", "its manifest has more than 4 MiB"),
    (b" " * (100 << 20), "its manifest has more than 4 MiB"),
], ids=lambda value: str(value)[:40])
def test_manifests_that_are_not_valid(oci, registry, manifest, said):
    if isinstance(manifest, bytes):
        registry.files["manifests", "latest"] = manifest
    else:
        registry.put(manifest)
    assert said in oci.refuses("--platform", "linux/amd64")
    assert registry.server.sent < 9 << 20


def test_an_index_that_names_an_index_is_refused(oci, registry, disk):
    inner = registry.index(entry(registry, disk, "t", "linux/amd64"))
    registry.index({**inner, "mediaType": f"{OCI}.manifest.v1+json",
                    "platform": {"os": "linux", "architecture": "amd64"}})
    assert "is an index of an index" in oci.refuses("--platform", "linux/amd64")


def test_a_manifest_without_a_length_has_a_limit(oci, registry):
    registry.bend["/v2/vms/disk/manifests/latest"] = script(
        head(200, {}), *[send(b" " * (1 << 20))] * 100, hang_up)
    assert "more than 4 MiB" in oci.refuses()
    assert registry.server.sent < 40 << 20


def test_layers_may_be_on_another_host(web, oci, registry, disk, work):
    made = registry.layer({"disk/a": disk}, "+gzip")
    registry.image(made)
    fields = work / "fields"
    fields.write_text("Authorization: Bearer secret\n")
    with registry.elsewhere(made) as other:
        oci.copies(disk, "--http-header", f"@{fields}")
        assert len(registry.logins()) == len(registry.server.requests)
        assert other.server.requests and not other.logins()


@pytest.mark.parametrize("to, words, said", [
    ("file:///etc/passwd", [], "redirects to an address that is neither"),
    ("http://127.0.0.2:9/", ["--public-redirects"], "127.0.0.2"),
    ("http://169.254.169.254/", ["--untrusted"], "169.254.169.254")])
@pytest.mark.parametrize("kind", ["manifests", "blobs"])
def test_redirects_that_are_refused(oci, registry, disk, to, words, said, kind):
    made = registry.layer({"disk/a": disk})
    registry.image(made)
    name = made["digest"] if kind == "blobs" else "latest"
    registry.bend[f"/v2/vms/disk/{kind}/{name}"] = status(302, Location=to)
    assert said in oci.refuses(*words)


@pytest.mark.parametrize("address, said", [
    ("oci:h/n", "has two slashes"), ("oci://h", "it has no name"),
    ("oci://h/", "the name has other"), ("oci:///n", "the host is not"),
    ("oci://u:secret@h/n", "no user and no password"),
    ("oci://h/N", "the name has other"), ("oci://h/a/../b", "the name has"),
    ("oci://h/a//b", "the name has"), ("oci://h/%2e%2e/b", "the name has"),
    ("oci://h/a?b", "the name has"), ("oci://h/a-", "the name has"),
    ("oci://h/a:", "the tag is not"), ("oci://h/a:-b", "the tag is not"),
    ("oci://h/a:" + "b" * 129, "the tag is not"),
    ("oci://h/a@sha256:" + "0" * 63, "the digest is not"),
    ("oci://h/a@sha256:" + "G" * 64, "the digest is not"),
    ("oci://h/a@md5:" + "0" * 32, "the digest is not"),
    ("oci://h/" + "a" * 300, "it is too long"),
    ("oci://h/" + "a" * 3000, "it is too long")])
def test_addresses_that_are_not_valid(web, address, said):
    text = web.fails("info", address)
    assert said in text and "secret" not in text


@pytest.mark.parametrize("words, said", [
    (["--platform", "linux"], "is not OS/ARCH"),
    (["--platform", "/x"], "is not OS/ARCH"),
    (["--oci-annotation", "a"], "is not KEY=VALUE")])
def test_values_that_are_not_valid(hone, words, said):
    assert said in hone.misused("info", *words, "oci://h/n")


def test_nothing_is_written_to_a_registry(hone, small):
    said = hone.fails("convert", small, "oci://127.0.0.1:1/n")
    assert "oci: is for reading only" in said


def test_a_registry_without_tls_is_a_choice(oci, registry, disk):
    made = registry.image(registry.layer({"disk/a": disk}))
    said = oci.web.fails("info", registry.url(), code=4)
    assert said.startswith(f"hone: {registry.url()}: there is no TLS ")
    assert said.endswith("; --plain-http reads from a registry without TLS")
    done = oci.run("info")
    assert (done.returncode, done.warned) == (0, 1), done
    assert oci.run("info", reference=f"@{made['digest']}").warned == 0


def test_a_busy_registry_is_asked_again(oci, registry, disk):
    registry.image(registry.layer({"disk/a": disk}))
    registry.first = lambda handler, request: handler.status(
        429, Retry_After="0") if request.number < 2 else None
    oci.copies(disk)
    # In the middle of a layer.
    content = random.Random(1).randbytes(24 << 20)
    registry.image(registry.layer({"disk/a": content}))
    registry.first = lambda handler, request: handler.status(
        429, Retry_After="0") if request.number % 4 == 3 else None
    oci.copies(content)


class Tokens:
    """A registry that wants a token, which is good for some requests."""

    def __init__(self, registry, lasts=1 << 30, field="token", where=None):
        self.registry, self.lasts, self.field = registry, lasts, field
        self.made = self.left = 0
        self.asked = []
        self.challenge = (
            'Negotiate, Bearer realm="{}",service="a, \\"b\\"",scope="x"'
            .format(where or registry.server.url("/token?x=y")))
        registry.first = self.judge

    def judge(self, handler, request):
        """Gives a token to whoever asks."""
        if request.path.startswith("/token"):
            self.asked.append(request.path)
            self.made += 1
            self.left = self.lasts
            return handler.json({self.field: f"t{self.made}"})
        right = f"Bearer t{self.made}"
        with self.registry.server.lock:
            self.left -= 1
            if request.headers["Authorization"] == right and self.left >= 0:
                return None
        handler.head(401, [("WWW-Authenticate", "Basic realm=\"none\""),
                           ("WWW-Authenticate", self.challenge)], 0)
        return True


@pytest.mark.parametrize("field", ["token", "access_token"])
def test_a_registry_gives_a_token(oci, registry, disk, field):
    registry.image(registry.layer({"disk/a": disk}))
    tokens = Tokens(registry, field=field)
    oci.copies(disk)
    assert len(tokens.asked) == 1
    query = urllib.parse.parse_qs(tokens.asked[0].split("?")[1])
    assert query == {"x": ["y"], "service": ['a, "b"'],
                     "scope": ["repository:vms/disk:pull"]}
    assert "Authorization" not in registry.server.requests[1].headers


def test_a_token_is_renewed_inside_a_layer(oci, registry):
    content = random.Random(1).randbytes(40 << 20)
    registry.image(registry.layer({"disk/a": content}))
    tokens = Tokens(registry, lasts=8)
    oci.copies(content)
    assert 2 <= len(tokens.asked) <= 4


def test_a_token_that_is_not_taken_ends_the_copy(oci, registry, disk):
    registry.image(registry.layer({"disk/a": disk}))
    tokens = Tokens(registry, lasts=0)
    assert "the server answered 401 (unauthorized)" in oci.refuses()
    assert len(tokens.asked) == 1
    # No hint at TLS: the address of the token is the registry's.
    registry.first = lambda handler, request: (
        handler.status(400) if request.path.startswith("/token")
        else tokens.judge(handler, request))
    assert oci.refuses().endswith(": the server answered 400")


def test_a_token_goes_to_the_registry_alone(oci, registry, disk):
    made = registry.layer({"disk/a": disk})
    registry.image(made)
    Tokens(registry)
    with registry.elsewhere(made) as other:
        oci.copies(disk)
        assert other.server.requests and not other.logins()


def test_a_redirect_that_expires_gets_no_token(oci, registry):
    """It is not the registry that answers 401."""
    content = random.Random(1).randbytes(24 << 20)
    made = registry.layer({"disk/a": content})
    registry.image(made)
    with registry.elsewhere(made) as other:
        other.first = lambda handler, request: handler.status(
            401, WWW_Authenticate=f'Bearer realm="{other.server.url("/token")}"'
            ) if request.number % 4 == 3 else None
        oci.copies(content)
        assert [request.path for request in registry.server.requests].count(
            other.path) > 1
        assert not any("token" in request.path for request in other.server.requests)


@pytest.mark.parametrize("body", [
    b"", b"{}", b'{"token": ""}', b'{"token": 1}', b'{"token": "a\\nB: c"}',
    b'{"token": "\\u00e9"}', b'{"token": "t"}' + b" " * 70000],
    ids=lambda value: str(value)[:40])
@pytest.mark.parametrize("sent", ["whole", "in chunks"])
def test_tokens_that_are_not_valid(oci, registry, body, sent):
    tokens = Tokens(registry)
    answer = script(head(200, {}, len(body)), send(body)) if sent == "whole" else script(
        head(200, {"Transfer-Encoding": "chunked"}),
        *([chunk(body)] if body else []), write(b"0\r\n\r\n"))
    registry.first = lambda handler, request: (
        answer if request.path.startswith("/token") else tokens.judge)(handler, request)
    assert "sent no valid token" in oci.refuses()


@pytest.mark.parametrize("where, said", [
    ("file:///etc/passwd", "names no address with https for tokens"),
    ("", "names no address"), ("https://" + "a" * 600, "names no address"),
    ("http://127.0.0.2:9/t", "127.0.0.2")])
def test_realms_that_are_refused(oci, registry, where, said):
    tokens = Tokens(registry, where="x")
    tokens.challenge = f'Bearer realm="{where}"'
    assert said in oci.refuses("--public-redirects")


def test_a_user_and_a_password_are_asked_for(oci, registry, disk, work):
    registry.image(registry.layer({"disk/a": disk}))
    registry.first = lambda handler, request: None if request.headers[
        "Authorization"] == "Basic YTpi" else handler.status(
            401, WWW_Authenticate='Basic realm="a"')
    assert "asks for a user and a password; docker login" in oci.refuses()
    fields = work / "fields"
    fields.write_text("Authorization: Basic YTpi\n")
    oci.copies(disk, "--http-header", f"@{fields}")


HELPER = """#!/bin/sh
cat >"$LOG"
echo "$0 $*" >>"$LOG"
%s
"""
SECRET = "a:s3cret,b"


class Logins:
    """A registry with TLS that gives tokens for a user alone."""

    def __init__(self, web, registry, work, scheme="Bearer"):
        self.web, self.registry, self.work = web, registry, work
        self.host = f"127.0.0.1:{registry.server.server_address[1]}"
        self.basic = "Basic " + base64.b64encode(SECRET.encode()).decode()
        self.scheme, self.got = scheme, []
        self.env = {"CURL_CA_BUNDLE": str(work / "cert.pem"),
                    "PATH": f"{work}:{os.environ['PATH']}",
                    "LOG": str(work / "log")}
        registry.first = self.judge

    def judge(self, handler, request):
        """Takes the user and the password where they belong."""
        got = request.headers["Authorization"]
        if request.path.startswith("/token"):
            self.got.append(got)
            return handler.json({"token": "t"}, 200 if got == self.basic else 401)
        if got == ("Bearer t" if self.scheme == "Bearer" else self.basic):
            return None
        return handler.status(
            401, WWW_Authenticate=f'{self.scheme} realm="'
            f'{self.registry.server.url("/token")}"')

    def file(self, name, content, where="."):
        """Write a file of the user, and make it a program."""
        path = self.work / where / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        path.chmod(0o700)
        return path

    def run(self, *words, code=0, **env):
        """The messages of hone info of the image, which ends with this status."""
        done = self.web.run("info", *words, self.registry.url(),
                            env={**self.env, **env})
        assert done.returncode == code, done
        assert b"s3cret" not in done.stderr + done.stdout
        return done.stderr.decode()


def secure(work):
    """For a server on 127.0.0.1 with a new certificate."""
    need("openssl")
    certificate(work, "IP:127.0.0.1")
    return tls_of(work)


@pytest.fixture(name="logins", params=["Bearer"])
def registry_with_tls(request, web, work, disk):
    """Has one image."""
    with Registry().running(secure(work)) as registry:
        registry.image(registry.layer({"disk/a": disk}))
        yield Logins(web, registry, work, request.param)


@pytest.mark.parametrize("logins", ["Bearer", "Basic"], indirect=True)
@pytest.mark.parametrize("key", ["{}", "{}/vms", "{}/vms/disk"])
def test_the_login_of_docker_is_used(logins, key):
    auth = base64.b64encode(SECRET.encode()).decode()
    config = {"auths": {key.format(logins.host): {"auth": auth, "identitytoken": ""},
                        "other": {"auth": "eDp5"}}}
    path = logins.file("auth.json", config)
    said = logins.run("--trace", "http", REGISTRY_AUTH_FILE=str(path))
    assert auth not in said
    assert said.count("GET https://") == len(logins.registry.server.requests)
    logins.file("config.json", config, "docker")
    logins.run(DOCKER_CONFIG=str(logins.work / "docker"))
    assert all(got == logins.basic for got in logins.got)
    assert "401 (unauthorized)" in logins.run(code=1)


@pytest.mark.parametrize("where", ["credHelpers", "credsStore"])
def test_a_program_has_the_login(logins, where):
    logins.file("docker-credential-it", HELPER % (
        "echo '" + json.dumps({"Username": "a", "Secret": SECRET[2:]}) + "'"))
    path = logins.file("auth.json", {
        where: {logins.host: "it"} if where == "credHelpers" else "it"})
    logins.run(REGISTRY_AUTH_FILE=str(path))
    text = (logins.work / "log").read_text()
    assert text == f"{logins.host}{logins.work}/docker-credential-it get\n"


class Exchange:
    """A server of tokens that gives one for an identity token."""
    IDENTITY = "s3cret/+=&%"

    def __init__(self, registry):
        self.judge, self.got = registry.first, []
        registry.first = self.first

    def first(self, handler, request):
        """Everything else is for the registry."""
        if not request.path.startswith("/token"):
            return self.judge(handler, request)
        self.got.append(request)
        return handler.json({"access_token": "t", "refresh_token": "new"})

    def check(self):
        """One request by POST, without ranges and another login."""
        (request,) = self.got
        assert (request.method, request.path) == ("POST", "/token")
        assert not {"Authorization", "Range", "Content-Range"} & {*request.headers}
        assert urllib.parse.parse_qs(request.body.decode()) == {
            "grant_type": ["refresh_token"], "client_id": ["hone"],
            "scope": ["repository:vms/disk:pull"],
            "refresh_token": [self.IDENTITY]}


@pytest.mark.parametrize("where", ["auths", "credsStore"])
def test_an_identity_token_is_exchanged(logins, where):
    """It takes the place of each other login, that of a netrc, too."""
    exchange = Exchange(logins.registry)
    logins.file(".netrc", "machine 127.0.0.1 login a password b")
    logins.file("docker-credential-it", HELPER % (
        "echo '" + json.dumps({"Username": "<token>",
                               "Secret": Exchange.IDENTITY}) + "'"))
    kept = {"auths": {logins.host: {
        "auth": "eDp5", "identitytoken": Exchange.IDENTITY}}}
    path = logins.file("auth.json", kept if where == "auths" else {where: "it"})
    assert " POST https://" in logins.run(
        "--trace", "http", REGISTRY_AUTH_FILE=str(path), HOME=str(logins.work))
    exchange.check()


def test_an_identity_token_goes_to_no_other_host(logins, work):
    path = logins.file("auth.json", {"auths": {
        logins.host: {"identitytoken": Exchange.IDENTITY}}})
    with Registry().running(tls_of(work)) as other:
        logins.registry.bend["/token"] = status(
            307, Location=other.server.url("/token"))
        judge = logins.judge
        logins.registry.first = lambda handler, request: (
            None if request.path == "/token" else judge(handler, request))
        exchange = Exchange(other)
        said = logins.run("--trace", "http", REGISTRY_AUTH_FILE=str(path))
        (request,) = exchange.got
        assert (request.method, request.body) == ("GET", b"")
        assert f" GET {other.server.url('/token')} " in said


@pytest.mark.parametrize("content, program, said", [
    ("{", None, "is not valid JSON"),
    (" " * ((1 << 20) + 1), None, "has more than 1048576 bytes"),
    ('{"auths": {"HOST": {"auth": "s3cret!"}}}', None, 'no valid "auth"'),
    ('{"auths": {"HOST": {"auth": "eHg="}}}', None, 'no valid "auth"'),
    ('{"credsStore": "none"}', None, "credential-none: cannot be started"),
    ('{"credsStore": "../it"}', "exit 0", "is not the name of a program"),
    ('{"credsStore": "it"}', "echo s3cret; exit 1", "has failed to give"),
    ('{"credsStore": "it"}', "echo s3cret", "printed no Username"),
    ('{"credsStore": "it"}', "kill -9 $$", "has failed to give"),
    ('{"credsStore": "it"}', "echo credentials not found in x; exit 1",
     "401 (unauthorized)"),
    (None, None, "cannot be opened")], ids=lambda value: str(value)[:40])
def test_logins_that_fail(logins, content, program, said):
    path = logins.work / "auth.json"
    if content:
        logins.file("auth.json", content.replace("HOST", logins.host))
    if program:
        logins.file("docker-credential-it", HELPER % program)
    line = logins.run(REGISTRY_AUTH_FILE=str(path), code=1)
    assert line.count("\n") == 1 and said in line


@pytest.mark.parametrize("basic", [True, False])
@pytest.mark.parametrize("login, said", [
    ({"auth": "YTpi"}, b"not sent without TLS"),
    ({"auth": "YTpi", "identitytoken": "YTpi"}, b"an identity token alone")],
                         ids=["auth", "identity"])
def test_a_login_goes_nowhere_without_tls(oci, registry, work, basic, login, said):
    port = registry.server.server_address[1]
    path = work / "auth.json"
    path.write_text(json.dumps({"auths": {f"127.0.0.1:{port}": login}}))
    registry.image(registry.layer({"disk/a": bytes(512)}))
    tokens = Tokens(registry)
    if basic:
        tokens.challenge = 'Basic realm="x"'
    done = oci.run("info", env={"REGISTRY_AUTH_FILE": str(path)})
    assert done.returncode == (1 if basic else 0), done
    assert (said in done.stderr) == basic
    assert not any("Basic" in (request.headers["Authorization"] or "") or
                   request.method == "POST"
                   for request in registry.server.requests)


def test_a_registry_without_tls_sends_no_login_elsewhere(oci, registry, work):
    port = registry.server.server_address[1]
    path = work / "auth.json"
    path.write_text(json.dumps({"auths": {f"127.0.0.1:{port}": {"auth": "YTpi"}}}))
    registry.image(registry.layer({"disk/a": bytes(512)}))
    with Registry().running(secure(work)) as other:
        tokens = Tokens(registry, where=other.server.url("/token"))
        other.first = tokens.judge
        done = oci.run("info", env={"REGISTRY_AUTH_FILE": str(path),
                                    "CURL_CA_BUNDLE": str(work / "cert.pem")})
        assert done.returncode == 0, done
        assert [request.headers["Authorization"]
                for request in other.server.requests] == [None]


@pytest.fixture(name="debian")
def registry_of_debian(work):
    """host:port of an empty docker-registry."""
    for name in "docker-registry", "skopeo":
        if not shutil.which(name):
            pytest.skip(f"{name} is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
    (work / "config.yml").write_text(json.dumps({
        "version": "0.1", "http": {"addr": host},
        "storage": {"filesystem": {"rootdirectory": str(work / "data")}}}))
    with subprocess.Popen(["docker-registry", "serve", work / "config.yml"],
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as server:
        for line in server.stderr:
            if b"listening on" in line:
                break
        yield host
        server.kill()


def bring(made, wanted, debian, work):
    """Let skopeo bring an index of the registry for tests."""
    blobs = work / "layout" / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    for (kind, digest), content in made.files.items():
        if kind == "blobs":
            (blobs / digest.split(":")[1]).write_bytes(content)
    (work / "layout" / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (work / "layout" / "index.json").write_text(json.dumps(
        {"schemaVersion": 2, "manifests": [wanted]}))
    subprocess.run(
        ["skopeo", "--insecure-policy", "copy", "--quiet", "--all",
         "--preserve-digests",
         "--dest-tls-verify=false", f"oci:{work}/layout",
         f"docker://{debian}/vms/disk:42"], check=True)


TOKENS = HEAD.replace("FORMAT", "$request_method $status $uri") + """
    server {{
        listen 127.0.0.1:{plain} ssl http2;
        location / {{
            if ($http_authorization) {{ return 403; }}
            proxy_pass http://REGISTRY;
        }}
    }}
    server {{
        listen 127.0.0.1:{tls} ssl http2;
        location /token {{
            auth_basic tokens;
            auth_basic_user_file {folder}/users;
            alias {folder}/files/token;
        }}
        location /v2/ {{
            add_header WWW-Authenticate
                'Bearer realm="https://localhost:{tls}/token"' always;
            if ($http_authorization != "Bearer t.o.k") {{ return 401; }}
            rewrite ^(.*/blobs/.*) https://localhost:{plain}$1 redirect;
            proxy_pass http://REGISTRY;
        }}
    }}
}}
"""


def test_nginx_gives_tokens_and_redirects_for_debians_registry(web, debian, disk, work):
    program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if not program:
        pytest.skip("nginx is not installed")
    need("openssl")
    made = Registry()
    wanted = made.index(entry(made, disk, "t", "linux/amd64"))
    bring(made, wanted, debian, work)
    server = Nginx(program, work, TOKENS.replace("REGISTRY", debian))
    try:
        (work / "files" / "token").write_text('{"token": "t.o.k"}')
        (work / "users").write_text("a:{PLAIN}s3cret,b\n")
        address = f"localhost:{server.tls}"
        path = work / "auth.json"
        for secret, code in ("other", 1), ("s3cret,b", 0):
            auth = base64.b64encode(f"a:{secret}".encode()).decode()
            path.write_text(json.dumps({"auths": {address: {"auth": auth}}}))
            done = web.run(
                "convert", "-q", "--platform", "linux/amd64",
                f"oci://{address}/vms/disk:42", work / "copy.raw", env={
                    "REGISTRY_AUTH_FILE": str(path),
                    "CURL_CA_BUNDLE": str(work / "cert.pem")})
            assert done.returncode == code, (done, server.said())
        assert (work / "copy.raw").read_bytes() == disk
        assert "GET 401 /token" in server.requests("/token", 2)
        # The layer came from another port, where a token is refused.
        blobs = server.requests("/blobs/", 2)
        assert blobs[0].startswith("GET 302") and blobs[1].startswith("GET 20"), blobs
    finally:
        server.stop()


def test_debians_registry_has_what_skopeo_brought(web, debian, disk, work):
    made = Registry()
    wanted = made.index(*(entry(made, disk[::step], "t", f"linux/{name}")
                          for name, step in (("arm64", -1), ("amd64", 1))))
    bring(made, wanted, debian, work)
    for reference in ":42", f"@{wanted['digest']}":
        for name, step in ("arm64", -1), ("amd64", 1):
            out = work / "copy.raw"
            web.ok("convert", "-q", "--force", "--plain-http", "--platform",
                   f"linux/{name}", f"oci://{debian}/vms/disk{reference}", out)
            assert out.read_bytes() == disk[::step]
