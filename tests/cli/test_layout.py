# SPDX-License-Identifier: BSD-3-Clause
"""OCI layouts as the output: their bytes, who takes them, what is refused."""
import collections
import gzip
import hashlib
import io
import json
import os
import random
import signal
import subprocess
import tarfile

import pytest

import images
from harness import Stalled, need
from test_faults import ERRORS, SEED, disturb, sanitizer_fell, traced
from test_oci import registry_of_debian  # pylint: disable=unused-import
from without import NO_TMPFILE, Without

pytestmark = pytest.mark.usefixtures("digests")
MIB = 1 << 20
RAW = "application/vnd.kubevirt.disk.raw+zstd"
# What a test knows of a layout: {name: content}.
Layout = collections.namedtuple("Layout", "files manifest config layer")


@pytest.fixture(name="source")
def disk_with_holes(work):
    """A disk with data in two parts, and not of whole sectors."""
    path = work / "source" / "disk.img"
    path.parent.mkdir()
    images.pieces(path, 30 * MIB + 100, (0, random.Random(1).randbytes(3 * MIB)),
                  (20 * MIB, b"text" * MIB))
    return path


def folder(path):
    """The files of a folder."""
    return {str(entry.relative_to(path)): entry.read_bytes()
            for entry in path.rglob("*") if entry.is_file()}


def archive(path):
    """Those of an archive, which has nothing that differs between machines."""
    with tarfile.open(path) as tar:
        for member in tar:
            assert (member.uid, member.gid, member.mtime) == (0, 0, 0)
        return {member.name: tar.extractfile(member).read()
                for member in tar if member.isfile()}


def read(files, tag=None):
    """Follow the digests from the index, which has no other files."""
    def blob(descriptor):
        algorithm, digits = descriptor["digest"].split(":")
        content = files[f"blobs/{algorithm}/{digits}"]
        assert hashlib.new(algorithm, content).hexdigest() == digits
        assert len(content) == descriptor["size"]
        return content
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    index = json.loads(files["index.json"])
    entry, = index["manifests"]
    assert entry.get("annotations") == (
        {"org.opencontainers.image.ref.name": tag} if tag else None)
    manifest = json.loads(blob(entry))
    assert manifest["mediaType"] == entry["mediaType"]
    layer, = manifest["layers"]
    assert len(files) == 5
    return Layout(files, manifest, json.loads(blob(manifest["config"])), blob(layer))


def disk_of(layout):
    """The bytes of the disk in the layer."""
    kind = layout.manifest["layers"][0]["mediaType"]
    if kind == RAW:
        assert layout.config == {}
        assert layout.manifest["artifactType"] == RAW
        return subprocess.run(["zstd", "-dc"], input=layout.layer, check=True,
                              stdout=subprocess.PIPE).stdout
    assert kind == "application/vnd.oci.image.layer.v1.tar+gzip"
    content = gzip.decompress(layout.layer)
    assert layout.config["rootfs"]["diff_ids"] == [
        "sha256:" + hashlib.sha256(content).hexdigest()]
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        up, disk = tar
        assert (up.name, up.isdir(), up.mode) == ("disk", True, 0o755)
        assert (disk.name, disk.mode) == ("disk/disk.img", 0o440)
        assert {(m.uid, m.gid, m.mtime) for m in tar} == {(107, 107, 0)}
        return tar.extractfile(disk).read()


@pytest.mark.parametrize("kind", ["containerdisk", "artifact"])
def test_a_layout_has_the_disk_in_the_same_bytes_each_time(
        hone, source, out, work, kind):
    made = []
    hone.ok("convert", "-q", "-c", "-O", "qcow2", "-o", "cluster_size=4k",
            source, work / "q")
    for number, (image, *words) in enumerate((
            (source, "-m1", "--verify"), (source, "-m4"), (work / "q", "-m3"),
            (source, "-m3", "-W"))):
        name = out / str(number)
        found = hone.json(
            "convert", "--json", "--oci-type", kind, "--platform",
            "linux/aarch64/v8", *words, image, f"oci:{number}:1.0", cwd=out)
        assert found["destination"] == f"oci:{number}:1.0"
        made.append(read(folder(name), "1.0"))
        assert found["manifest"].split(":")[1] == hashlib.sha256(
            json.dumps(made[-1].manifest, separators=(",", ":")).encode()
        ).hexdigest()
        assert found["file_size"] == len(made[-1].layer)
    hone.ok("convert", "-q", "--oci-type", kind, "--platform",
            "linux/arm64/v8", source, f"oci-archive:{out}/a:1.0")
    made.append(read(archive(out / "a"), "1.0"))
    # The disk gets whole sectors.
    assert disk_of(made[0]) == source.read_bytes() + bytes(412)
    if kind == "containerdisk":
        config = made[0].config
        assert (config["os"], config["architecture"], config["variant"]) == (
            "linux", "arm64", "v8")
    assert all(layout.files == made[0].files for layout in made)
    assert sorted(os.listdir(out)) == ["0", "1", "2", "3", "a"]


@pytest.mark.parametrize("size", [0, 1, 3 * MIB])
@pytest.mark.parametrize("kind", ["containerdisk", "artifact"])
def test_a_disk_may_be_all_zeros(hone, work, out, kind, size):
    images.pieces(work / "disk.img", size)
    hone.ok("convert", "-q", "--oci-type", kind, "--size", "+1M",
            work / "disk.img", f"oci:{out}/d")
    size = -(-size // 512) * 512
    assert disk_of(read(folder(out / "d"))) == bytes(size + MIB)
    hone.ok("convert", "-q", "--oci-type", kind, work / "disk.img", f"oci:{out}/e")
    assert disk_of(read(folder(out / "e"))) == bytes(size)


def test_a_stream_without_a_size_becomes_an_artifact(hone, source, out):
    with open(source, "rb") as stdin:
        said = hone.fails("convert", "-f", "raw", "-", f"oci:{out}/d",
                          before=["sh", "-c", 'cat | "$@"', "sh"], stdin=stdin)
    assert "read once" in said and "add --oci-type artifact" in said
    assert not os.listdir(out)
    with open(source, "rb") as stdin:
        hone.ok("convert", "-q", "-f", "raw", "--oci-type", "artifact", "-",
                f"oci:{out}/d", before=["sh", "-c", 'cat | "$@"', "sh"],
                stdin=stdin)
    assert disk_of(read(folder(out / "d"))) == source.read_bytes() + bytes(412)


@pytest.mark.parametrize("kind", ["zst", "gz"])
def test_a_packed_disk_of_unknown_size_is_unpacked_twice(hone, source, work, out, kind):
    """It has the same files as the disk; what is damaged appears nowhere."""
    packed = work / f"disk.img.{kind}"
    hone.ok("convert", "-q", source, packed)
    hone.ok("convert", "-q", source, f"oci:{out}/d")
    hone.ok("convert", "-q", packed, f"oci:{out}/e")
    assert folder(out / "d") == folder(out / "e")
    data = packed.read_bytes()
    said = hone.fails("convert", "--trailing-data", packed, f"oci:{out}/f")
    assert "is read once and has an unknown size" in said
    # -f decides what the unpacked bytes are.
    source.write_bytes(b"QFI\xfb" + bytes(MIB))
    hone.ok("convert", "-q", "-f", "raw", "--allow-disguised", source, packed, "--force")
    hone.ok("convert", "-q", "-f", "raw", "--allow-disguised", packed, f"oci:{out}/g")
    assert disk_of(read(folder(out / "g"))).startswith(source.read_bytes())
    packed.write_bytes(data[:MIB] + bytes([data[MIB] ^ 1]) + data[MIB + 1:])
    assert hone.run("convert", packed, f"oci:{out}/f").returncode == 3
    assert sorted(os.listdir(out)) == ["d", "e", "g"]


def skopeo(*words):
    """Run it without a policy of the machine."""
    subprocess.run(["skopeo", "--insecure-policy", "copy", "--quiet",
                    "--dest-tls-verify=false", *words], check=True)


@pytest.mark.parametrize("kind", ["containerdisk", "artifact"])
def test_skopeo_brings_a_layout_to_a_registry(hone, web, debian, source, out, kind):
    hone.need("libcurl")
    hone.ok("convert", "-q", "--oci-type", kind, source, f"oci:{out}/d:42")
    skopeo(f"oci:{out}/d:42", f"docker://{debian}/vms/d:1")
    web.ok("convert", "-q", "--plain-http", f"oci://{debian}/vms/d:1", out / "copy.raw")
    hone.ok("compare", "-q", source, out / "copy.raw")
    if kind == "containerdisk":
        hone.ok("convert", "-q", source, f"oci-archive:{out}/a.tar:42")
        skopeo(f"oci:{out}/d:42", f"oci:{out}/copy:42")
        skopeo(f"oci-archive:{out}/a.tar:42", f"oci:{out}/again:42")
        assert folder(out / "copy") == folder(out / "again")
        assert read(folder(out / "copy"), "42").layer == read(
            folder(out / "d"), "42").layer


def test_podman_takes_a_layout_and_an_archive(hone, root, source, out, work):
    need("podman")
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        root_is_a_mount = any(line.split()[4] == "/" for line in mounts)
    # A chroot may lack both.
    if not root_is_a_mount or not os.path.exists("/sys/fs/cgroup"):
        pytest.skip("podman needs cgroups, and a root that is a mount point")
    podman = ["podman", "--storage-driver", "vfs", "--root", work / "images",
              "--runroot", work / "run"]
    hone.ok("convert", "-q", source, f"oci:{out}/d:42")
    hone.ok("convert", "-q", source, f"oci-archive:{out}/a.tar:42")
    for words in (["pull", "-q", f"oci:{out}/d:42"],
                  ["load", "-q", "-i", out / "a.tar"]):
        subprocess.run([*podman, *words], check=True)
        name, = json.loads(subprocess.run(
            [*podman, "images", "--format", "json"], check=True,
            stdout=subprocess.PIPE).stdout)
        # This driver mounts nothing: it names the folder of the files.
        files = subprocess.run([*podman, "image", "mount", name["Id"]],
                               check=True, stdout=subprocess.PIPE, text=True)
        with open(f"{files.stdout.strip()}/disk/disk.img", "rb") as disk:
            assert disk.read() == source.read_bytes() + bytes(412)
        subprocess.run([*podman, "rmi", "--force", name["Id"]], check=True)


def test_an_image_is_added_as_it_is(hone, source, out, work):
    hone.ok("convert", "-q", "-c", source, work / "d.qcow2")
    said = hone.fails("convert", "-f", "raw", work / "d.qcow2", f"oci:{out}/d")
    assert "by -f raw --allow-disguised, or add --allow-disguised" in said
    hone.ok("convert", "-q", "-f", "raw", "--allow-disguised",
            work / "d.qcow2", f"oci:{out}/d")
    disk = disk_of(read(folder(out / "d")))
    assert disk.rstrip(b"\0") == (work / "d.qcow2").read_bytes().rstrip(b"\0")


def test_the_end_is_judged_at_the_rounded_size(hone, out, work):
    (work / "d").write_bytes(bytes(MIB) + b"conectix" + bytes(100))
    said = hone.fails("convert", work / "d", f"oci:{out}/d")
    assert "signature of VHD" in said and "-O qcow2" not in said
    assert not os.listdir(out)


@pytest.mark.parametrize("name, words, said", [
    ("oci:", [], "'oci:' names no folder"),
    ("oci::tag", [], "names no folder"),
    ("oci-archive:", [], "names no file"),
    ("oci:d:", [], "'' is not a tag"),
    ("oci:d:-a", [], "'-a' is not a tag"),
    ("oci:d:a/b", [], "is not a tag"),
    ('oci:d:a"b', [], "is not a tag"),
    ("oci:d:1:2", [], "'1:2' is not a tag"),
    ("oci:d:" + 129 * "a", [], "is not a tag"),
    ("oci:d", ["--oci-type", "disk"], "is not containerdisk or artifact"),
    ("oci:d", ["-O", "qcow2"], "the disk of an OCI layout is raw"),
    ("oci:d", ["-c"], "-c: a packed disk is always compressed"),
    ("oci:d", ["--pack", "zst"], "--pack: the layer of a containerdisk"),
    ("oci:d", ["--force"], "the folder of a layout is not replaced"),
    ("oci:d", ["-n"], "-n: only a raw DST is written in place"),
    ("oci:d", ["--keep-rest"], "--keep-rest"),
    ("oci-archive:d", ["--verify"], "oci:DIR is"),
    ("d", ["--oci-type", "artifact"], "DST is neither oci:DIR nor"),
])
def test_what_no_layout_can_be_is_refused(hone, small, out, name, words, said):
    assert said in hone.misused("convert", *words, small, name, cwd=out)
    assert not os.listdir(out)


def test_a_platform_has_two_or_three_words(hone, small, out):
    for platform in 'linux/"', "linux/a/b/c", "Linux/amd64", "a/" + "b" * 64:
        said = hone.fails("convert", "--platform", platform, small, f"oci:{out}/d")
        assert f"cannot have the platform '{platform}'" in said
    assert not os.listdir(out)


def test_a_colon_in_a_path_names_a_file(hone, small, out):
    hone.ok("convert", "-q", small, "./oci:d", cwd=out)
    assert os.listdir(out) == ["oci:d"]


def test_what_exists_is_not_replaced(hone, small, out):
    (out / "file").write_bytes(b"x")
    (out / "empty").mkdir()
    (out / "link").symlink_to("empty")
    for name in "file", "empty", "empty/", "empty/.", ".", "link":
        said = hone.fails("convert", small, f"oci:{name}", cwd=out)
        assert said.endswith("exists; an OCI layout needs a new folder")
    assert sorted(os.listdir(out)) == ["empty", "file", "link"]
    hone.ok("convert", "-q", small, f"oci:{out}/new//")
    read(folder(out / "new"))


@pytest.mark.parametrize("limits", [(), (NO_TMPFILE,)], ids=["", "named"])
def test_what_appears_meanwhile_is_not_replaced(hone, image, out, limits):
    command = Without(hone, *limits) if limits else hone
    with Stalled(command, "convert", "--oci-type", "artifact",
                 image("filled_ext4"), f"oci:{out}/d") as held:
        (out / "d").mkdir()
        (out / "d" / "mine").write_bytes(b"x")
        status, _, error = held.go_on()
    assert (status, b"needs a new folder" in error) == (1, True)
    assert folder(out) == {"d/mine": b"x"}
    with Stalled(command, "convert", image("filled_ext4"), f"oci:{out}/e") as held:
        held.process.terminate()
        assert held.process.wait(timeout=1000) == -signal.SIGTERM
    assert os.listdir(out) == ["d"]


@pytest.mark.parametrize("kind", ["nameless", "named"])
def test_a_disturbed_call_leaves_a_layout_or_nothing(
        hone, strace, small, out, kind, record_property):
    """Each call from the last write of the layer on fails, or is when a signal
    comes. Those before are calls of each file that is packed."""
    run = Run(Without(hone, NO_TMPFILE) if kind == "named" else hone, strace,
              small, out)
    names = [call.name for call in run.calls]
    end = len(names) - 1 - names[::-1].index("renameat2")
    # The layer, four files and three folders, and then the folder above.
    assert (names[:end].count("fsync"), names[end:].count("fsync")) == (8, 1)
    begin = names.index("fsync") - 3
    # Once the layer is in the folder, both kinds make the same calls.
    last = names.index("renameat") + 2 if kind == "named" else None
    rng, tried = random.Random(f"{SEED} {kind}"), 0
    for call in run.calls[begin:last]:
        fault = rng.choice([*(f"error={error}" for error in ERRORS),
                            "signal=SIGTERM", "signal=SIGKILL"])
        where, done = disturb(run, call, fault)
        where = f"{where} {call.text[:100]}: {done}"
        left = os.listdir(out)
        if "d" in left:
            assert folder(out / "d") == run.wanted, where
        if sanitizer_fell(done):
            assert left == [], where
        elif fault.startswith("error"):
            assert done.returncode == (0 if left == ["d"] else 1), where
            assert left in (["d"], []) or call.name == "unlinkat", where
            assert done.returncode == 0 or done.stderr.startswith(b"hone: ")
        elif fault == "signal=SIGTERM":
            assert left in (["d"], []), where
        run.clear()
        tried += 1
    assert tried > (5 if kind == "named" else 20)
    record_property("faults", tried)


class Run:
    """A conversion for disturb()."""

    def __init__(self, hone, strace, small, out):
        self.hone, self.strace, self.out = hone, strace, out
        self.words = ["convert", "-m1", "-q", small, f"oci:{out}/d"]
        self.calls, _ = traced(hone, strace, small.parent, self.words, "d")
        self.wanted = folder(out / "d")
        read(self.wanted)
        self.clear()

    def clear(self):
        """Remove what a run left."""
        subprocess.run(["find", self.out, "-mindepth", "1", "-delete"], check=True)
