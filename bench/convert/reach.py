# SPDX-License-Identifier: BSD-3-Clause
"""The cases of ./dev bench reach: images that are not files of this machine,
that are packed, or whose digest is expected."""
import hashlib
import subprocess

from cases import (BUFFERED, IN_ORDER, NBDCOPY_WAYS, QEMU, WAYS, Case, Faster,
                   Most, Part, Tool, with_theirs)
from images import containerdisk
from servers import Servers

# Of the line to the server: 20 ms there and back, and 1 Gbit/s.
DELAY = 0.010
RATE = 125e6
MEMORY = Most('peak_memory', 'hone', 200_000_000)


class Times:
    """A tool is so many times as fast as one other."""

    def __init__(self, name, other, ratio):
        self.name, self.other, self.ratio = name, other, ratio

    @property
    def text(self):
        return f'{self.name} at least {self.ratio} x {self.other}'

    def judge(self, rows):
        wall = {row['tool']: row['wall'] for row in rows}
        ratio = wall[self.other] / wall[self.name]
        return f'{ratio:.2f} x', ratio >= self.ratio


class Slower:
    """A tool takes at most so many times the slower of some others."""

    def __init__(self, name, others, most):
        self.name, self.others, self.most = name, others, most

    @property
    def text(self):
        return (f'{self.name} at most {self.most} x the slower of '
                f'{" and ".join(self.others)}')

    def judge(self, rows):
        wall = {row['tool']: row['wall'] for row in rows}
        ratio = wall[self.name] / max(wall[name] for name in self.others)
        return f'{ratio:.2f}', ratio <= self.most


def shell(name, script, *words, outputs=()):
    """A tool of several commands: $0, $1 and so on are the words."""
    return Tool(name, ['sh', '-ec', script, *words], list(outputs))


def packed(path, *command):
    """Pack a file by a command that writes to stdout."""
    with open(path, 'wb') as out:
        subprocess.run(list(map(str, command)), check=True, stdout=out)
    return path


def digest_of(path):
    # Not read at once: a child's peak of memory begins as its parent's.
    with open(path, 'rb') as file:
        return hashlib.file_digest(file, 'sha256').hexdigest()


def all_cases(hone, made, folder):
    """Every case; images are made when a case is prepared."""
    out = {name: folder / f'out.{name}' for name in 'abcdefgh'}
    servers = Servers(folder)

    def http():
        source = made.get('zlib.qcow2')
        port = servers.line(servers.nginx(source.parent.resolve()), DELAY, RATE)
        url = f'http://127.0.0.1:{port}/{source.name}'
        tools = [
            Tool('hone', [hone, 'convert', '-q', '-O', 'raw', url, out['a']],
                 [out['a']]),
            # It only stores the file.
            Tool('curl', ['curl', '-sSf', '-o', out['b'], url], [out['b']],
                 rival=False),
            shell('curl, then qemu-img',
                  'curl -sSf -o "$1" "$0"; exec qemu-img convert -f qcow2 '
                  '-O raw -t writeback -W -m 16 "$1" "$2"',
                  url, out['c'], out['d'], outputs=[out['c'], out['d']])]
        targets = [Part('wall', 'hone', 'curl', 1.05),
                   Times('hone', 'curl, then qemu-img', 1.5),
                   MEMORY]
        if subprocess.run(['qemu-img', 'info', url], capture_output=True,
                          check=False).returncode == 0:
            tools.append(Tool('qemu-img', [*QEMU, '-f', 'qcow2', '-O', 'raw',
                                           *BUFFERED, url, out['e']],
                              [out['e']]))
            targets.append(Times('hone', 'qemu-img', 3))
        return tools, targets

    def ova():
        source = made.get('appliance.ova')
        port = servers.line(servers.nginx(source.parent.resolve()), DELAY, RATE)
        url = f'http://127.0.0.1:{port}/{source.name}'
        return [
            Tool('hone', [hone, 'convert', '-q', '-O', 'qcow2', url, out['a']],
                 [out['a']]),
            shell('curl, tar, then qemu-img',
                  'curl -sSf -o "$1" "$0"; tar -xOf "$1" stream.vmdk >"$2"; '
                  'exec qemu-img convert -f vmdk -O qcow2 -t writeback -W '
                  '-m 16 "$2" "$3"', url, out['b'], out['c'], out['d'],
                  outputs=[out['b'], out['c'], out['d']])], [
            Faster('hone', 2), MEMORY]

    def from_nbd():
        source = made.get('middle.img')
        url = servers.qemu_nbd(source, 'raw', '-r')
        return [
            Tool('hone', [hone, 'convert', '-q', '-O', 'raw', url, out['a']],
                 [out['a']]),
            Tool('nbdcopy', ['nbdcopy', url, out['b']], [out['b']],
                 ways=NBDCOPY_WAYS, head=1),
            Tool('qemu-img', [*QEMU, '-f', 'raw', '-O', 'raw', url, out['c']],
                 [out['c']], ways=WAYS + IN_ORDER, head=len(QEMU))], [
            Times('hone', 'nbdcopy', 1),
            Times('hone', 'qemu-img', 1.5), MEMORY]

    def to_nbd():
        source = made.get('middle.img')
        target = folder / 'export.img'
        with open(target, 'wb') as file:
            file.truncate(source.stat().st_size)
        url = servers.qemu_nbd(target, 'raw')
        return [
            Tool('hone', [hone, 'convert', '-q', '-O', 'raw', source, url]),
            Tool('nbdcopy', ['nbdcopy', source, url], ways=NBDCOPY_WAYS,
                 head=1),
            Tool('qemu-img', [*QEMU, '-n', '-f', 'raw', '-O', 'raw', source,
                              url], ways=WAYS + IN_ORDER, head=len(QEMU))], [
            Times('hone', 'nbdcopy', 1),
            Times('hone', 'qemu-img', 1.5), MEMORY]

    def from_xz():
        source = packed(folder / 'disk.raw.xz', 'xz', '-T0', '-3',
                        '--block-size=8MiB', '-c', made.get('small.img'))
        mine = Tool('hone', [hone, 'convert', '-q', '-O', 'qcow2', source,
                             out['a']], [out['a']])
        alike = with_theirs(mine, 'liblzma')
        return [
            mine, *alike,
            shell('xz, then qemu-img',
                  'xz -T0 -dc "$0" >"$1"; exec qemu-img convert -f raw '
                  '-O qcow2 -t writeback -W -m 16 "$1" "$2"',
                  source, out['b'], out['c'], outputs=[out['b'], out['c']])], [
            *(Faster(tool.name, 1.1) for tool in (mine, *alike)), MEMORY]

    def from_zstd():
        source = packed(folder / 'disk.raw.zst', 'zstd', '-q', '-T0', '-c',
                        made.get('small.img'))
        return [
            *(Tool(f'hone{more}', [hone, 'convert', '-q', '-c', *more.split(),
                                   '-O', 'qcow2', source, out[slot]],
                   [out[slot]])
              for slot, more in (('a', ''), ('d', ' --fast'))),
            shell('zstd, then qemu-img',
                  'zstd -q -dc "$0" >"$1"; exec qemu-img convert -c -f raw '
                  '-O qcow2 -t writeback -W -m 16 "$1" "$2"',
                  source, out['b'], out['c'], outputs=[out['b'], out['c']])], [
            Faster('hone', 8), MEMORY]

    def from_gzip():
        source = packed(folder / 'disk.raw.gz', 'pigz', '-c',
                        made.get('small.img'))
        to_file = ('"$0" -dc "$1" | exec dd of="$2" bs=1M iflag=fullblock '
                   'conv=sparse,fsync status=none')
        return [
            Tool('hone', [hone, 'convert', '-q', '-O', 'raw', source,
                          out['a']], [out['a']]),
            shell('pigz and dd', to_file, 'pigz', source, out['b'],
                  outputs=[out['b']]),
            shell('gzip and dd', to_file, 'gzip', source, out['c'],
                  outputs=[out['c']])], [
            Times('hone', 'pigz and dd', 2.3),
            Times('hone', 'gzip and dd', 3.5), MEMORY]

    def to_packed(name, kind, packer, ratio):
        def tools():
            source = made.get(name)
            return [
                Tool('hone', [hone, 'convert', '-q', '-f', 'raw', '--pack', kind,
                              source, out['a']], [out['a']]),
                shell(packer, f'{packer} -q -c "$0" >"$1"; sync "$1"', source,
                      out['b'], outputs=[out['b']])], [
                Times('hone', packer, ratio), MEMORY]
        return tools

    def qcow2_to_packed():
        source = made.get('zlib.qcow2')
        return [
            Tool('hone', [hone, 'convert', '-q', '--pack', 'zst', source,
                          out['a']], [out['a']]),
            shell('qemu-img, then zstd',
                  'qemu-img convert -f qcow2 -O raw -t writeback -W -m 16 '
                  '"$0" "$1"; zstd -q -T0 -3 -c "$1" >"$2"; sync "$2"', source,
                  out['b'], out['c'], outputs=[out['b'], out['c']])], [
            Faster('hone', 3), MEMORY]

    def own():
        source = folder / 'own.img.zst'
        subprocess.run([hone, 'convert', '-q', '--force', '-f', 'raw',
                        made.get('small.img'), source], check=True)
        return source

    def from_own():
        source = own()
        return [
            Tool('hone', [hone, 'convert', '-q', '-O', 'raw', source, out['a']],
                 [out['a']]),
            shell('zstd', 'zstd -q -d -f --sparse "$0" -o "$1"; sync "$1"',
                  source, out['b'], outputs=[out['b']])], [
            Times('hone', 'zstd', 1.2), MEMORY]

    def own_to_stdout():
        source = own()
        return [
            shell('hone', '"$0" convert -q -O raw "$1" - | cat >/dev/null',
                  hone, source),
            shell('zstd', 'zstd -q -dc "$0" | cat >/dev/null', source)], [
            Times('hone', 'zstd', 1.4)]

    def registry():
        image = containerdisk(folder / 'image', made.get('zlib.qcow2'))
        port = servers.registry()
        place = f'127.0.0.1:{port}/disk:latest'
        subprocess.run(['skopeo', '--insecure-policy', 'copy', '--quiet',
                        '--dest-tls-verify=false', f'dir:{image}',
                        f'docker://{place}'], check=True)
        place = f'127.0.0.1:{servers.line(port, DELAY, RATE)}/disk:latest'
        return [
            Tool('hone', [hone, 'convert', '-q', '--plain-http', '-O', 'raw',
                          f'oci://{place}', out['a']], [out['a']]),
            shell('skopeo, tar, then qemu-img',
                  'rm -rf "$1"; skopeo --insecure-policy copy --quiet '
                  '--src-tls-verify=false "docker://$0" "dir:$1"; '
                  'tar -xOf "$(find "$1" -size +1M)" --wildcards "disk/?*" '
                  '>"$2"; qemu-img convert -f qcow2 -O raw -t writeback -W '
                  '-m 16 "$2" "$3"; rm -r "$1"', place, folder / 'pulled',
                  out['b'], out['c'], outputs=[out['b'], out['c']])], [
            Faster('hone', 2), MEMORY]

    def to_stdout():
        source = made.get('zlib.qcow2')
        return [
            shell('hone', '"$0" convert -q -O raw "$1" - | cat >/dev/null',
                  hone, source),
            shell('qemu-img, then cat',
                  'qemu-img convert -f qcow2 -O raw -t writeback -W -m 16 '
                  '"$0" "$1"; cat "$1" >/dev/null',
                  source, out['b'], outputs=[out['b']])], [
            Faster('hone', 3)]

    def digest():
        source = made.get('large.img')
        return [Tool('hone', [hone, 'digest', source]),
                Tool('openssl', ['openssl', 'dgst', '-sha256', source])], [
            Faster('hone', 1.2), MEMORY]

    def expected():
        source = made.get('zlib.qcow2')
        return [
            Tool('hone --expect', [
                hone, 'convert', '-q', '-O', 'raw', '--expect',
                f'sha256:{digest_of(source)}', source, out['a']], [out['a']]),
            Tool('hone', [hone, 'convert', '-q', '-O', 'raw', source,
                          out['b']], [out['b']]),
            Tool('openssl', ['openssl', 'dgst', '-sha256', source],
                 rival=False)], [
            Slower('hone --expect', ('hone', 'openssl'), 1.15),
            Most('peak_memory', 'hone --expect', 200_000_000)]

    qemu, curl = 'qemu-img', 'curl'
    cases = [
        Case('HTTP qcow2 zlib to raw, 20 ms, 1 Gbit/s', http,
             need=(qemu, curl, 'nginx')),
        Case('OVA over HTTP to qcow2, 20 ms, 1 Gbit/s', ova,
             need=(qemu, curl, 'nginx', 'tar')),
        Case('NBD to raw', from_nbd, need=(qemu, 'qemu-nbd', 'nbdcopy')),
        Case('raw to NBD', to_nbd, need=(qemu, 'qemu-nbd', 'nbdcopy')),
        Case('raw.xz to qcow2', from_xz, need=(qemu, 'xz')),
        Case('raw.zst to qcow2, zlib', from_zstd, need=(qemu, 'zstd')),
        Case('raw.gz to raw', from_gzip, need=('pigz', 'gzip')),
        Case('registry to raw, 20 ms, 1 Gbit/s', registry,
             need=(qemu, 'docker-registry', 'skopeo', 'tar')),
        *(Case(f'{what} to raw.{kind}', to_packed(name, kind, packer, ratio),
               need=packer.split()[:1])
          for kind, packer, what, name, ratio in (
              ('zst', 'zstd -T0 -3', 'raw', 'small.img', 3),
              ('gz', 'pigz', 'raw', 'small.img', 8),
              ('zst', 'zstd -T0 -3', 'raw without holes', 'dense.img', 1),
              ('gz', 'pigz', 'raw without holes', 'dense.img', 2))),
        Case('qcow2 zlib to raw.zst', qcow2_to_packed, need=(qemu, 'zstd')),
        Case('raw.zst of hone to raw', from_own, need=('zstd',)),
        Case('raw.zst of hone to stdout', own_to_stdout, need=('zstd',)),
        Case('qcow2 zlib to stdout', to_stdout),
        Case('digest of 16 GiB with 1 GiB of data', digest, need=('openssl',)),
        Case('qcow2 zlib to raw, --expect', expected, need=('openssl',)),
    ]
    for case in cases:
        case.after = servers.stop
    return cases
