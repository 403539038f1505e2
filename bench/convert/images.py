# SPDX-License-Identifier: BSD-3-Clause
"""The images that the benchmark of conversions reads, made on this machine."""
import hashlib
import json
import os
import random
import shutil
import subprocess
import tarfile
from pathlib import Path

MIB = 1 << 20
GIB = 1 << 30
BLOCK = 4096
LARGE = '16 GiB with 1 GiB of files'


def run(*command):
    """Run a command that must succeed, without its output."""
    subprocess.run([str(word) for word in command], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def gather(tree, wanted, roots=('/usr', '/var/lib', '/opt')):
    """Copy regular files of this machine below tree until `wanted` bytes."""
    total = copies = 0
    while total < wanted:
        before = total
        for root in roots:
            for folder, folders, names in os.walk(root):
                folders.sort()
                target = tree / f'{copies}' / folder.lstrip('/')
                target.mkdir(parents=True, exist_ok=True)
                for name in sorted(names):
                    path = Path(folder, name)
                    try:
                        if path.is_symlink() or not path.is_file():
                            continue
                        size = path.stat().st_size
                        if total + size > wanted:
                            continue
                        shutil.copyfile(path, target / name)
                    except OSError:
                        continue  # not ours to read: there are others
                    total += size
        copies += 1
        if total - before < MIB:
            break
    return total


def ext4(path, virtual, files):
    """An ext4 image of that virtual size with that many bytes of files."""
    tree = path.with_suffix('.tree')
    gather(tree, files)
    with open(path, 'wb') as empty:
        empty.truncate(virtual)
    run('mke2fs', '-q', '-F', '-t', 'ext4', '-d', tree, path)
    shutil.rmtree(tree)
    return path


def zeros(path, size):
    """An image whose zeros are written, not left out."""
    with open(path, 'wb') as image:
        for _ in range(size // MIB):
            image.write(bytes(MIB))
    return path


def fragmented(path, size, seed=1):
    """Runs of 1 to 16 blocks of data, then of 1 to 16 blocks of nothing."""
    rng = random.Random(seed)
    with open(path, 'wb') as image:
        image.truncate(size)
        offset = 0
        while offset < size:
            length = min(BLOCK * rng.randint(1, 16), size - offset)
            os.pwrite(image.fileno(), rng.randbytes(length), offset)
            offset += length + BLOCK * rng.randint(1, 16)
    return path


def compressed(path, source, codec):
    """A qcow2 image compressed by qemu-img."""
    run('qemu-img', 'convert', '-c', '-f', 'raw', '-O', 'qcow2', '-o',
        f'compression_type={codec}', source, path)
    return path


def containerdisk(folder, disk):
    """An image of OCI with one layer, which has the disk, as skopeo's dir: has
    it."""
    folder.mkdir()
    layer = folder / 'layer'
    with tarfile.open(layer, 'w', format=tarfile.USTAR_FORMAT) as archive:
        archive.add(disk, f'disk/{disk.name}')
    run('pigz', '-1', layer)

    def part(path, kind):
        with open(path, 'rb') as file:
            digest = hashlib.file_digest(file, 'sha256').hexdigest()
        path.rename(folder / digest)
        return {'mediaType': f'application/vnd.oci.image.{kind}',
                'digest': f'sha256:{digest}',
                'size': (folder / digest).stat().st_size}

    packed = part(folder / 'layer.gz', 'layer.v1.tar+gzip')
    config = folder / 'config'
    # No tool here checks the digest of the unpacked layer.
    config.write_text(json.dumps({
        'architecture': 'amd64', 'os': 'linux',
        'rootfs': {'type': 'layers', 'diff_ids': [packed['digest']]}}))
    (folder / 'manifest.json').write_text(json.dumps({
        'schemaVersion': 2,
        'mediaType': 'application/vnd.oci.image.manifest.v1+json',
        'config': part(config, 'config.v1+json'), 'layers': [packed]}))
    (folder / 'version').write_text('Directory Transport Version: 1.1\n')
    return folder


class Images:
    """Makes each image once; a scale of 1 is what the targets are for."""

    def __init__(self, folder, scale):
        self.folder, self.scale, self.made = folder, scale, {}

    def bytes(self, size):
        return max(64 * MIB, int(size * self.scale) // MIB * MIB)

    def get(self, name):
        if name not in self.made:
            path = self.folder / name
            self.made[name] = path
            if path.exists():  # of an earlier run: --images
                return path
            print(f'  making {name}', flush=True)
            part = path.with_name(f'part.{name}')
            getattr(self, 'make_' + name.split('.')[0])(part)
            part.rename(path)
        return self.made[name]

    def make_large(self, path):
        """What LARGE says."""
        ext4(path, self.bytes(16 * GIB), self.bytes(GIB))

    def make_middle(self, path):
        """12 GiB with 0.9 GiB of files."""
        ext4(path, self.bytes(12 * GIB), self.bytes(int(0.9 * GIB)))

    def make_small(self, path):
        """8 GiB with 0.5 GiB of files."""
        ext4(path, self.bytes(8 * GIB), self.bytes(GIB // 2))

    def make_dense(self, path):
        """0.5 GiB of files one after another, without holes."""
        tree = path.with_suffix('.tree')
        gather(tree, self.bytes(GIB // 2))
        run('tar', '-cf', path, '-C', tree, '.')
        shutil.rmtree(tree)

    def make_zeros(self, path):
        zeros(path, self.bytes(6 * GIB))

    def make_fragmented(self, path):
        fragmented(path, self.bytes(2 * GIB))

    def make_zlib(self, path):
        compressed(path, self.get('middle.img'), 'zlib')

    def make_zstd(self, path):
        compressed(path, self.get('middle.img'), 'zstd')

    def make_stream(self, path):
        """A VMDK image for vSphere, by qemu-img."""
        run('qemu-img', 'convert', '-f', 'raw', '-O', 'vmdk', '-o',
            'subformat=streamOptimized', self.get('middle.img'), path)

    def make_appliance(self, path):
        """The VMDK image in an OVA with a manifest, as vSphere exports it."""
        disk = self.get('stream.vmdk')
        ovf, manifest = (path.with_suffix(s) for s in ('.ovf', '.mf'))
        ovf.write_text('<Envelope/>\n')
        with open(manifest, 'w') as lines:
            for name in ovf, disk:
                with open(name, 'rb') as file:
                    digest = hashlib.file_digest(file, 'sha256').hexdigest()
                lines.write(f'SHA256({name.name})= {digest}\n')
        with tarfile.open(path, 'w', format=tarfile.USTAR_FORMAT) as archive:
            for name in ovf, manifest, disk:
                archive.add(name, name.name)

    def make_dynamic(self, path):
        """A VHD with the exact size."""
        run('qemu-img', 'convert', '-f', 'raw', '-O', 'vpc', '-o',
            'force_size=on', self.get('middle.img'), path)

    def make_plain(self, path):
        run('qemu-img', 'convert', '-f', 'raw', '-O', 'qcow2',
            self.get('middle.img'), path)
