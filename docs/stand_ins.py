# SPDX-License-Identifier: BSD-3-Clause
"""Stand-ins for the hosts, devices and services that the recipes name.

A stand-in replaces a word of the page, or is a program of that name in front
of the others.
"""
import contextlib
import hashlib
import lzma
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import tarfile
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" /
                       "cli"))

import gpt_builder  # noqa: E402 pylint: disable=wrong-import-position
import moto_server  # noqa: E402 pylint: disable=wrong-import-position
from http_server import Server  # noqa: E402 pylint: disable=C0413
from registry import TITLE, Registry  # noqa: E402 pylint: disable=C0413

MIB = 1 << 20
HOSTS = [
    "https://images.example.org/", "https://fedoraproject.org/",
    "https://cloud-images.ubuntu.com/noble/current/",
    "https://cdimage.debian.org/cdimage/archive/13.2.0/amd64/iso-cd/",
    "https://dl.fedoraproject.org/pub/fedora/linux/releases/43/Cloud/x86_64/"
    "images/"]
KEYRINGS = ["/usr/share/keyrings/ubuntu-cloudimage-keyring.gpg",
            "/usr/share/keyrings/debian-role-keys.gpg"]
# The images of the distributions, by what they are here.
PUBLISHED = {"noble-server-cloudimg-amd64.img": "noble.qcow2",
             "debian-13.2.0-amd64-netinst.iso": "disk.img",
             "Fedora-Cloud-Base-Generic-43-1.6.x86_64.qcow2": "noble.qcow2"}
DEVICES = ["/dev/cdi-block-volume", "/dev/pve/vm-100-disk-0", "/dev/sdX"]

# Raw images that the recipes make, by what their blocks need.
MADE = {None: ["third.img", "copy.img", "data/disk.img",
               "store/noble.glance", "vm0.img"],
        "gpg": ["noble.img", "fedora.img"],
        "bash": ["store/volumesvm1"]}

# The programs, with $STORE for what they keep.
PROGRAMS = {
    "azcopy": 'cp "$2" "$STORE/azure.vhd"; echo "Final Job Status: Completed"',
    "gcloud": """
case "$1 $2" in
"storage cp") cp "$3" "$STORE/google.tar.gz"; echo Copying ;;
"compute images") echo "NAME: $4" ;;
*) exit 2 ;;
esac
""",
    "rbd": """
image=$STORE/$(echo "$2$3" | tr -d / | tr -d -)
case "$1 $2 $3" in
"import - "*) cat >"$image" ;;
"export "*" -") cat "$image" ;;
*) exit 2 ;;
esac
""",
    "openstack": """
for name; do :; done
case $2 in
create) cat >"$STORE/$name.glance"; echo active ;;
show) echo "{'os_hash_algo': 'sha512', 'os_hash_value': '$(
    sha512sum <"$STORE/$name.glance" | cut -d' ' -f1)'}" ;;
*) exit 2 ;;
esac
""",
    "pvesm": """
case $1 in
alloc) echo "successfully created 'local-lvm:$4'" ;;
path) echo "/dev/pve/${2#*:}" ;;
*) exit 2 ;;
esac
""",
    "qm": 'echo "update VM $2: $3 $4"',
    "skopeo": 'layout=${2%:*}; cat "${layout#oci:}/oci-layout"',
    "ssh": 'shift; exec "$@"',
    "virsh": 'echo "$1 $2"',
}


def run(*words, **more):
    """Run a program that must succeed. Returns its output."""
    return subprocess.run(words, check=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, **more).stdout.strip()


class StandIns:
    """Made in the folder of the page, for the blocks that need them.

    words: what replaces a word of the page.
    """

    def __init__(self, folder, environment):
        self.folder, self.environment = folder, environment
        self.store, self.place = folder / "store", folder / "programs"
        self.words = {}
        self.stack = contextlib.ExitStack()
        self.known = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def of_recipes(self):
        """Make what all recipes use."""
        self.store.mkdir()
        self.images()
        self.programs()
        self.server()

    def images(self):
        """The images of the page, and their digests."""
        hone = shutil.which("hone", path=self.environment["PATH"])
        run(hone, "convert", "-q", "-c", "disk.img", "noble.qcow2",
            cwd=self.folder, env=self.environment)
        disk = (self.folder / "disk.img").read_bytes()
        (self.folder / "server.img").write_bytes(
            gpt_builder.Gpt(512, 16 * 2048, [(2048, 30000)]).bytes())
        (self.folder / "raspios.img.xz").write_bytes(
            lzma.compress(disk, preset=0))
        for name, image in PUBLISHED.items():
            shutil.copy(self.folder / image, self.folder / name)
        sums = self.sums("sha256", "{digest} *{name}\n")
        (self.folder / "SHA256SUMS").write_text(sums)
        (self.store / "SHA256SUMS").write_text(sums)
        (self.store / "SHA512SUMS").write_text(
            self.sums("sha512", "{digest}  {name}\n"))

    def sums(self, algorithm, line):
        """A list of the digests of the images."""
        return "".join(
            line.format(name=name, digest=hashlib.new(
                algorithm, (self.folder / name).read_bytes()).hexdigest())
            for name in ["noble.qcow2", "raspios.img.xz", *PUBLISHED])

    def programs(self):
        """Programs in front of those of the machine."""
        self.place.mkdir()
        for name, text in PROGRAMS.items():
            (self.place / name).write_text("#!/bin/sh\n" + text)
            (self.place / name).chmod(0o755)
        self.environment["STORE"] = str(self.store)
        self.environment["PATH"] = f"{self.place}:{self.environment['PATH']}"

    def server(self):
        """A server with the files of the folder, by https."""
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
            "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
            "-keyout", "key.pem", "-out", "cert.pem", cwd=self.store)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.store / "cert.pem",
                                self.store / "key.pem")

        def answer(handler, request):
            name = request.path.lstrip("/")
            file = self.store / name
            if not file.is_file():
                file = self.folder / name
            if not request.range:
                content = file.read_bytes()
                handler.head(200, {}, len(content))
                handler.send(content)
                return True
            return handler.good(request, file.read_bytes())

        server = self.stack.enter_context(Server(b"", answer, context))
        self.environment["CURL_CA_BUNDLE"] = str(self.store / "cert.pem")
        self.words.update({host: server.url("/") for host in HOSTS})
        registry = self.stack.enter_context(Registry().running(context))
        disk = (self.folder / "noble.qcow2").read_bytes()
        registry.image(registry.layer({"disk/a": disk}, "+gzip"))
        registry.index(*(registry.image(
            registry.blob(content, "application/octet-stream",
                          annotations={TITLE: f"machine.{kind}.qcow2"}),
            tag=kind, annotations={"disktype": kind},
            platform={"os": "linux", "architecture": "x86_64"})
            for kind, content in (("wsl", b"none"), ("qemu", disk))),
            tag="machine")
        self.words["oci://quay.io/containerdisks/ubuntu:24.04"] = \
            registry.url()
        self.words["oci://quay.io/podman/machine-os:5.5"] = \
            registry.url(":machine")
        self.words["/data/"] = f"{self.folder}/data/"
        (self.folder / "data").mkdir()

    def lacks(self, need):
        """The reason why a block that needs this cannot run, or None."""
        if need not in self.known:
            maker = {"a loop device": self.devices, "moto": self.moto,
                     "gpg": self.keys, "qemu-nbd": self.export,
                     "go": self.go}.get(need)
            self.known[need] = (
                f"{need} is not installed"
                if not maker and not shutil.which(
                    need, path=self.environment["PATH"]) else
                maker and maker())
        return self.known[need]

    def devices(self):
        """Loop devices that are full of old bytes."""
        if os.geteuid() != 0:
            return "only root makes loop devices"
        for name in DEVICES:
            file = self.store / name.replace("/", "-")
            file.write_bytes(b"old bytes " * (24 * MIB // 10 + 1))
            os.truncate(file, 24 * MIB)
            try:
                device = run("losetup", "-f", "--show", str(file))
            except (OSError, subprocess.CalledProcessError) as reason:
                return f"no loop device can be made here: {reason}"
            self.stack.callback(run, "losetup", "-d", device)
            self.words[name] = device
        # The program that prints a path has to know it, too.
        pvesm = self.place / "pvesm"
        pvesm.write_text(self.said(pvesm.read_text().replace(
            '"/dev/pve/${2#*:}"', DEVICES[1])))
        return None

    def moto(self):
        """The services of AWS."""
        if moto_server.why_not():
            return moto_server.why_not()
        address = self.stack.enter_context(moto_server.moto())
        self.environment.update(moto_server.KEYS, AWS_ENDPOINT_URL=address)
        return None

    def keys(self):
        """A key, and the lists of digests signed by it, as on the hosts."""
        for name in "gpg", "gpg-agent", "gpgv", "curl":
            if not shutil.which(name):
                return f"{name} is not installed"
        home = self.stack.enter_context(short_folder())
        gpg = ["gpg", "--homedir", str(home), "--batch", "--passphrase", ""]
        self.stack.callback(run, "gpgconf", "--homedir", str(home), "--kill",
                            "all")
        run(*gpg, "--quick-generate-key", "images@example.org", "ed25519",
            "sign", "never")
        sign = [*gpg, "--yes", "--output"]
        run(*sign, "fedora.gpg", "--export", cwd=self.store)
        for name in KEYRINGS:
            self.words[name] = str(self.store / "fedora.gpg")
        run(*sign, "SHA256SUMS.gpg", "--armor", "--detach-sign", "SHA256SUMS",
            cwd=self.store)
        run(*sign, "SHA512SUMS.sign", "--armor", "--detach-sign",
            "SHA512SUMS", cwd=self.store)
        (self.store / "list").write_text(
            self.sums("sha256", "# {name}: a size\n"
                      "SHA256 ({name}) = {digest}\n"))
        run(*sign, "Fedora-Cloud-43-1.6-x86_64-CHECKSUM", "--clear-sign",
            "list", cwd=self.store)
        return None

    def export(self):
        """The export of a disk by a server of NBD."""
        if not shutil.which("qemu-nbd"):
            return "qemu-nbd is not installed"
        socket = self.stack.enter_context(short_folder()) / "nbd"
        server = self.stack.enter_context(subprocess.Popen(
            ["qemu-nbd", "-t", "-r", "-f", "raw", "-x", "vda", "-k",
             str(socket), str(self.folder / "disk.img")],
            stdin=subprocess.DEVNULL))
        self.stack.callback(server.kill)
        while not socket.exists():
            assert server.poll() is None, "qemu-nbd has ended"
            time.sleep(.01)
        self.words["/run/backup.sock"] = str(socket)
        return None

    def go(self):
        """Go, or that of GCC under its name."""
        self.environment["GOCACHE"] = str(self.folder / "go-cache")
        path = self.environment["PATH"]
        if shutil.which("go", path=path):
            return None
        gcc = shutil.which("go-14", path=path) or \
            shutil.which("go-12", path=path)
        if not gcc:
            return "neither go nor go-12 (gccgo-12) nor go-14 is installed"
        self.place.mkdir()
        (self.place / "go").symlink_to(gcc)
        self.environment["PATH"] = f"{self.place}:{path}"
        return None

    def said(self, text):
        """The text with the stand-ins in place of the words of the page."""
        for word, stand_in in self.words.items():
            text = text.replace(word, stand_in)
        return text

    def check(self):
        """Everything that was made holds the disk."""
        disk = (self.folder / "disk.img").read_bytes()
        for need, names in MADE.items():
            if not (need and self.known[need]):
                for name in names:
                    found = (self.folder / name).read_bytes()
                    assert found[:len(disk)] == disk, name
                    # --size adds zeros.
                    assert not any(found[len(disk):]), name
        # A fixed VHD is the disk and a footer.
        azure = (self.store / "azure.vhd").read_bytes()
        assert azure[:-512] == disk and azure[-512:-504] == b"conectix"
        # Google's is the disk and zeros up to a GiB.
        with tarfile.open(self.store / "google.tar.gz") as tar:
            assert tar.getnames() == ["disk.raw"]
            google = tar.extractfile("disk.raw")
            assert tar.getmember("disk.raw").size == 1024 * MIB
            assert google.read(len(disk) + MIB) == disk + bytes(MIB)
        for name in DEVICES:
            if not self.known["a loop device"]:
                content = pathlib.Path(self.words[name]).read_bytes()
                assert content == disk + bytes(8 * MIB), name
        if not self.known["moto"]:
            self.check_snapshot(disk)

    def check_snapshot(self, disk):
        """The blocks of the snapshot are those of the disk that have data."""
        boto3 = pytest.importorskip("boto3")
        ebs = boto3.client(
            "ebs", endpoint_url=self.environment["AWS_ENDPOINT_URL"],
            region_name="us-east-1", aws_access_key_id="a",
            aws_secret_access_key="b")
        ec2 = boto3.client(
            "ec2", endpoint_url=self.environment["AWS_ENDPOINT_URL"],
            region_name="us-east-1", aws_access_key_id="a",
            aws_secret_access_key="b")
        (name,) = [snapshot["SnapshotId"] for snapshot in
                   ec2.describe_snapshots(OwnerIds=["self"])["Snapshots"]
                   if snapshot["VolumeSize"] == 1]
        stored = bytearray(len(disk))
        for block in ebs.list_snapshot_blocks(SnapshotId=name)["Blocks"]:
            at = block["BlockIndex"] * 512 << 10
            stored[at:at + (512 << 10)] = ebs.get_snapshot_block(
                SnapshotId=name, BlockIndex=block["BlockIndex"],
                BlockToken=block["BlockToken"])["BlockData"].read()
        assert stored == disk


@contextlib.contextmanager
def short_folder():
    """A folder for sockets, whose paths have at most 107 bytes."""
    folder = pathlib.Path(run("mktemp", "-d", "/tmp/hone.XXXXXX"))
    try:
        yield folder
    finally:
        # An agent that ends removes its sockets, too.
        shutil.rmtree(folder, ignore_errors=True)
