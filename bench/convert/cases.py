# SPDX-License-Identifier: BSD-3-Clause
"""The cases: what each tool has to do, and what hone has to reach."""
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

QEMU = ('qemu-img', 'convert')
# Out of order and 16 requests at once; flushed at the end, as hone does.
BUFFERED = ('-t', 'writeback', '-W', '-m', '16')
DIRECT = ('-t', 'none', '-T', 'none', '-W', '-m', '16')
# What is tried. Without -W, qemu-img compresses on one core.
REQUESTS = tuple(('-t', 'writeback', '-W', '-m', str(n))
                 for n in (8, 4, 2, 1))
WAYS = (BUFFERED, *REQUESTS, ('-t', 'none', '-W', '-m', '16'), DIRECT)
# When qemu-img compresses, the processors are the limit: fewer sets differ.
PACKED_WAYS = (BUFFERED, *REQUESTS[:2], ('-t', 'none', '-W', '-m', '16'))
IN_ORDER = (('-t', 'writeback', '-m', '16'), ('-t', 'writeback'))
DIRECT_WAYS = (DIRECT, ('-t', 'none', '-W', '-m', '4'),
               ('-t', 'none', '-T', 'none', '-m', '16'),
               ('-t', 'none', '-W', '-m', '16'))
COMPARE_WAYS = ((), ('-T', 'none'))
NBDCOPY_WAYS = (('--flush',), ('--flush', '--request-size=1048576'),
                ('--flush', '--threads=2', '--requests=64'))
# Of the rivals' libraries: name -> version, and a folder that has it alone.
# convert.py fills it in.
of_rivals = {}
CODEC = Path(__file__).resolve().parent / 'codec.py'
READS = CODEC.with_name('reads.py')


@dataclass
class Tool:
    """One way to do it."""
    name: str
    command: list
    outputs: list = field(default_factory=list)
    good: tuple = (0,)
    turns: list = field(default_factory=list)
    size: int = 0
    cached: int = 0
    calls: int = None
    # Sets of flags, of which the fastest is timed; they follow `head` words.
    ways: tuple = ()
    head: int = 0
    flags: tuple = ()
    tried: dict = field(default_factory=dict)
    # A command that succeeds if the output is right.
    check: tuple = ()
    # A rival; not what is only a measure, such as a library alone.
    rival: bool = True
    # It prints the seconds that count.
    prints: bool = False

    def __post_init__(self):
        self.plain = list(self.command)
        if self.ways:
            self.choose(self.ways[0])

    def choose(self, flags):
        self.flags = flags
        self.command = [*self.plain[:self.head], *flags,
                        *self.plain[self.head:]]

    def sources(self):
        """The files that it reads."""
        return [word for word in self.command
                if isinstance(word, Path) and word.is_file()
                and word not in self.outputs and word not in (CODEC, READS)
                and not os.access(word, os.X_OK)]


def by_name(rows, name):
    return next(row for row in rows if row['tool'] == name)


# What the codec of a case can do at most: a conversion also reads and writes.
OF_CODEC = 0.9


@dataclass
class Faster:
    """hone's way `name` is so many times as fast as the best of the others.
    Where a case has the library of the codec alone, OF_CODEC of its speed is
    enough; not of reads alone, which show a limit of the way to read."""
    name: str
    ratio: float
    enough: bool = True

    @property
    def text(self):
        return f'{self.name} at least {self.ratio} x the best rival'

    def judge(self, rows):
        mine = by_name(rows, self.name)['wall']
        best = min((row for row in rows if row['rival']
                    and not row['tool'].startswith('hone')),
                   key=lambda row: row['wall'])
        ratio = best['wall'] / mine
        value, met = f'{ratio:.2f} x of {best["tool"]}', ratio >= self.ratio
        for row in rows:
            if not row['rival']:
                part = row['wall'] / mine
                value += f', {part:.2f} of {row["tool"]}'
                met |= self.enough and part >= OF_CODEC
        return value, met


@dataclass
class Part:
    """A figure of hone's is at most `part` of that of another tool."""
    what: str
    name: str
    other: str
    part: float

    @property
    def text(self):
        return f'{self.what} of {self.name} at most {self.part} of {self.other}'

    def judge(self, rows):
        mine, other = (by_name(rows, n)[self.what]
                       for n in (self.name, self.other))
        if mine is None or other is None:
            return 'not measured: strace is not installed', True
        return f'{mine / other:.4f}', mine <= self.part * other


@dataclass
class Most:
    """A figure of hone's is at most that many bytes."""
    what: str
    name: str
    most: int

    @property
    def text(self):
        return f'{self.what} of {self.name} at most {self.most / 1e6:.0f} MB'

    def judge(self, rows):
        value = by_name(rows, self.name)[self.what]
        return f'{value / 1e6:.0f} MB', value <= self.most


@dataclass
class Case:
    """A piece of work, the tools that do it, and the targets."""
    name: str
    make: object  # called before the case: (tools, targets)
    need: tuple = ('qemu-img',)
    after: object = None  # called when the case is over
    tools: list = field(default_factory=list)
    targets: list = field(default_factory=list)

    def prepare(self):
        """Returns why the case is skipped, or None."""
        for program in self.need:
            if not shutil.which(program):
                return f'{program} is not installed'
        made = self.make()
        if isinstance(made, str):
            return made
        self.tools, self.targets = made
        return None

    def clean(self):
        for tool in self.tools:
            for path in tool.outputs:
                path.unlink(missing_ok=True)
        if self.after:
            self.after()


def checked(program, hone, source, output, options):
    """The command that finds an output equal to its source: by the other
    tool, so that a fault of one cannot hide."""
    form = options[options.index('-O') + 1]
    if form not in ('raw', 'qcow2', 'vmdk'):
        program = hone
    # A fixed VHD is known by its name alone, and no option names the archive.
    formats = () if form == 'gce' else ('-F', form)
    return [program, 'compare', '-q', *formats, source, output]


def with_theirs(tool, library):
    """hone once more, with the library that the rivals have."""
    if library not in of_rivals:
        return []
    version, place = of_rivals[library]
    return [Tool(f'{tool.name} with {library} {version}',
                 ['env', f'LD_LIBRARY_PATH={place}', *tool.command],
                 tool.outputs, check=tool.check)]


def all_cases(hone, made, folder):
    """Every case; images are made when a case is prepared."""
    out = {name: folder / f'out.{name}' for name in 'abcdefgh'}

    def ours(name, slot, source, *options):
        return Tool(f'hone{name}', [hone, 'convert', '-q', *options, source,
                                    out[slot]], [out[slot]],
                    check=checked(hone if name else 'qemu-img', hone, source,
                                  out[slot], options))

    def qemu(name, slot, source, *options, ways=WAYS + IN_ORDER):
        if '-c' in options:
            ways = PACKED_WAYS
        return Tool(f'qemu-img{name}', [*QEMU, *options, source, out[slot]],
                    [out[slot]], ways=ways, head=len(QEMU),
                    check=checked(hone, hone, source, out[slot], options))

    def alone(codec, direction, level, image):
        name = {'zlib': 'libdeflate', 'zstd': 'libzstd'}[codec]
        if direction == 'recompress':
            name += '+libzstd'
        return Tool(f'{name} alone, 2 threads', [
            sys.executable, CODEC, codec, direction, str(level), '2',
            made.get(image)], rival=False, prints=True)

    def to_zlib():
        source = made.get('large.img')
        return [
            ours('', 'a', source, '-c', '-O', 'qcow2'),
            ours(' --level 2', 'c', source, '-c', '--level', '2', '-O',
                 'qcow2'),
            ours(' --fast', 'd', source, '-c', '--fast', '-O', 'qcow2'),
            qemu('', 'b', source, '-c', '-f', 'raw', '-O', 'qcow2'),
            alone('zlib', 'compress', 1, 'large.img'),
        ], [Faster('hone', 5), Part('disk_usage', 'hone', 'qemu-img', 1.02),
            Part('disk_usage', 'hone --level 2', 'qemu-img', 1.00),
            Part('system_calls', 'hone', 'qemu-img', 0.01),
            Most('peak_memory', 'hone', 200_000_000)]

    def to_zstd():
        source = made.get('large.img')
        zstd = ('-o', 'compression_type=zstd', '-O', 'qcow2')
        mine = ours('', 'a', source, '-c', *zstd)
        return [
            mine, *with_theirs(mine, 'libzstd'),
            qemu('', 'b', source, '-c', '-f', 'raw', *zstd),
            alone('zstd', 'compress', 3, 'large.img'),
        ], [Faster('hone', 1.6),
            Part('disk_usage', 'hone', 'qemu-img', 1.001)]

    def from_qcow2(name, ratio, level=None):
        def make():
            source = made.get(name)
            mine = ours('', 'a', source, '-O', 'raw')
            tools = [mine, qemu('', 'b', source, '-f', 'qcow2', '-O', 'raw')]
            if level:
                tools.append(alone(name.split('.')[0], 'decompress', level,
                                   'middle.img'))
            if name == 'zstd.qcow2':
                tools += with_theirs(mine, 'libzstd')
            return tools, [Faster('hone', ratio)]
        return make

    def recompress():
        source = made.get('zlib.qcow2')
        zstd = ('-c', '-o', 'compression_type=zstd', '-O', 'qcow2')
        mine = ours('', 'a', source, *zstd)
        return [mine, *with_theirs(mine, 'libzstd'),
                qemu('', 'b', source, '-f', 'qcow2', *zstd),
                alone('zlib', 'recompress', 6, 'middle.img'),
                ], [Faster('hone', 2.2)]

    def from_vmdk(form):
        def make():
            source = made.get('stream.vmdk')
            return [ours('', 'a', source, '-O', form),
                    qemu('', 'b', source, '-f', 'vmdk', '-O', form)], [
                Faster('hone', 3), Most('peak_memory', 'hone', 200_000_000)]
        return make

    def to_vmdk():
        source = made.get('middle.img')
        return [ours('', 'a', source, '-O', 'vmdk'),
                qemu('', 'b', source, '-f', 'raw', '-O', 'vmdk', '-o',
                     'subformat=streamOptimized', ways=PACKED_WAYS)], [
            Faster('hone', 5), Part('disk_usage', 'hone', 'qemu-img', 1.00),
            Most('peak_memory', 'hone', 200_000_000)]

    def from_vhd():
        source = made.get('dynamic.vhd')
        return [ours('', 'a', source, '-O', 'qcow2'),
                qemu('', 'b', source, '-f', 'vpc', '-O', 'qcow2'),
                ], [Faster('hone', 1.3),
                    Most('peak_memory', 'hone', 200_000_000)]

    def to_vhd():
        source = made.get('middle.img')
        return [ours('', 'a', source, '-O', 'vhd'),
                ours(' to raw', 'c', source, '-O', 'raw'),
                qemu(' to raw', 'b', source, '-f', 'raw', '-O', 'raw'),
                ], [Faster('hone', 1),
                    Part('wall', 'hone', 'hone to raw', 1.05),
                    Most('peak_memory', 'hone', 200_000_000)]

    def to_gce(packer, ratio):
        def make():
            source = made.get('middle.img')
            return [ours('', 'a', source, '-O', 'gce'),
                    Tool(packer, ['tar', '--format=oldgnu', '-S', '-I',
                                  packer, '-cf', out['b'], '-C',
                                  source.parent, source.name], [out['b']])], [
                Faster('hone', ratio),
                Part('disk_usage', 'hone', packer, 1.00),
                Most('peak_memory', 'hone', 200_000_000)]
        return make

    def to_plain(image, form, ratio=1.2):
        def make():
            source = made.get(image)
            tools = [ours('', 'a', source, '-O', form),
                     ours(' --cache drop', 'd', source, '--cache', 'drop',
                          '-O', form),
                     qemu('', 'b', source, '-f', 'raw', '-O', form)]
            if form == 'raw':
                tools.append(Tool('cp --sparse', [
                    'sh', '-c', 'cp --sparse=always "$0" "$1" && sync "$1"',
                    source, out['c']], [out['c']]))
                if shutil.which('nbdcopy'):
                    tools.append(Tool('nbdcopy', [
                        'nbdcopy', source, out['e']], [out['e']],
                        ways=NBDCOPY_WAYS, head=1))
            return tools, [Faster('hone', ratio),
                           Most('page_cache_left', 'hone --cache drop',
                                64 << 20),
                           Most('peak_memory', 'hone', 200_000_000)]
        return make

    def durable():
        source = made.get('middle.img')
        return [ours(' --direct', 'a', source, '--direct', '-O', 'qcow2'),
                qemu(' -t none', 'b', source, '-f', 'raw', '-O', 'qcow2',
                     ways=DIRECT_WAYS)], [
            Faster('hone --direct', 1.3),
            Part('cpu', 'hone --direct', 'qemu-img -t none', 1 / 3)]

    def compare(name, form):
        def make():
            raw, other = made.get('middle.img'), made.get(name)
            return [Tool('hone', [hone, 'compare', '-q', raw, other]),
                    Tool('qemu-img', ['qemu-img', 'compare', '-q', '-f', 'raw',
                                      '-F', form, raw, other],
                         ways=COMPARE_WAYS, head=2),
                    Tool('pread alone, 2 threads', [
                        sys.executable, READS, '2', str(128 << 10), raw,
                        other],
                        rival=False, prints=True)], [
                Faster('hone', 4, enough=False)]
        return make

    def digest():
        source = made.get('middle.img')
        return [Tool('hone', [hone, 'digest', source]),
                Tool('openssl', ['openssl', 'dgst', '-sha256', source])], [
            Faster('hone', 1)]

    def threads():
        source = made.get('middle.img')
        halves = split(source, folder)
        both = ('"$0" convert -q -c --threads 1 -O qcow2 "$1" "$3" & '
                '"$0" convert -q -c --threads 1 -O qcow2 "$2" "$4" & wait')
        return [ours('', 'a', source, '-c', '-O', 'qcow2'),
                Tool('two processes', ['sh', '-c', both, hone, *halves,
                                       out['b'], out['c']],
                     [out['b'], out['c']])], [Faster('hone', 0.9)]

    def reflink():
        xfs = xfs_folder(folder)
        if isinstance(xfs, str):
            return xfs
        source = xfs / 'middle.img'
        shutil.copyfile(made.get('middle.img'), source)
        a, b = xfs / 'out.a', xfs / 'out.b'
        return [Tool('hone', [hone, 'convert', '-q', '-O', 'raw', source, a],
                     [a]),
                Tool('qemu-img', [*QEMU, '-f', 'raw', '-O', 'raw', source, b],
                     [b], ways=WAYS, head=len(QEMU))], [Faster('hone', 15)]

    return [
        Case('raw to qcow2, zlib', to_zlib),
        Case('raw to qcow2, zstd', to_zstd),
        Case('qcow2 zlib to raw', from_qcow2('zlib.qcow2', 2.5, 6)),
        Case('qcow2 zstd to raw', from_qcow2('zstd.qcow2', 2, 3)),
        Case('qcow2 zlib to qcow2 zstd', recompress),
        Case('streamOptimized VMDK to raw', from_vmdk('raw')),
        Case('streamOptimized VMDK to qcow2', from_vmdk('qcow2')),
        Case('raw to streamOptimized VMDK', to_vmdk),
        Case('dynamic VHD to qcow2', from_vhd),
        Case('raw to fixed VHD', to_vhd),
        Case('raw to archive for Google, gzip', to_gce('gzip', 4.5),
             need=('tar', 'gzip')),
        Case('raw to archive for Google, pigz', to_gce('pigz', 1.5),
             need=('tar', 'pigz')),
        Case('raw to qcow2', to_plain('middle.img', 'qcow2', 1.6)),
        Case('qcow2 to raw', from_qcow2('plain.qcow2', 1.3)),
        Case('raw to raw', to_plain('middle.img', 'raw')),
        Case('zeros to raw', to_plain('zeros.img', 'raw')),
        Case('fragmented to qcow2', to_plain('fragmented.img', 'qcow2')),
        Case('durable raw to qcow2', durable),
        Case('compare raw with raw', compare('middle.img', 'raw')),
        Case('compare raw with qcow2', compare('plain.qcow2', 'qcow2')),
        Case('digest of raw with holes', digest, need=('openssl',)),
        Case('threads', threads, need=()),
        Case('XFS reflink', reflink, need=('qemu-img', 'mkfs.xfs'),
             after=lambda: unmount(folder / 'xfs')),
    ]


def split(source, folder):
    """Two sparse images with half of the data of the source each."""
    halves = [folder / 'half.1', folder / 'half.2']
    size = source.stat().st_size
    data, offset = [], 0
    with open(source, 'rb') as image:
        while offset < size:
            try:
                offset = os.lseek(image.fileno(), offset, os.SEEK_DATA)
            except OSError:
                break
            end = os.lseek(image.fileno(), offset, os.SEEK_HOLE)
            data.append((offset, end))
            offset = end
        half = sum(end - start for start, end in data) // 2
        files = [open(path, 'wb') for path in halves]
        for file in files:
            file.truncate(size)
        done = 0
        for start, end in data:
            for at in range(start, end, 1 << 20):
                chunk = os.pread(image.fileno(), min(1 << 20, end - at), at)
                os.pwrite(files[done >= half].fileno(), chunk, at)
                done += len(chunk)
        for file in files:
            file.close()
    return halves


def unmount(mount):
    subprocess.run(['umount', str(mount)], capture_output=True, check=False)


def xfs_folder(folder):
    """A mounted XFS below the folder, or the reason why there is none."""
    image, mount = folder / 'xfs.img', folder / 'xfs'
    if os.geteuid() != 0:
        return 'only root mounts an XFS'
    mount.mkdir(exist_ok=True)
    with open(image, 'wb') as file:
        file.truncate(64 << 30)
    for command in (['mkfs.xfs', '-q', '-f', '-m', 'reflink=1', image],
                    ['mount', '-o', 'loop', image, mount]):
        done = subprocess.run(list(map(str, command)), capture_output=True,
                              text=True, check=False)
        if done.returncode:
            return f'{command[0]} failed: {done.stderr.strip()}'
    return Path(mount)
