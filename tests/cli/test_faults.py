# SPDX-License-Identifier: BSD-3-Clause
"""Every system call of a small conversion fails once, in every way.

A clean run is traced first; from the call that opens the source on, call
after call is then made to fail, or to be the moment at which a signal comes.
"""
import collections
import contextlib
import ctypes
import fcntl
import hashlib
import lzma
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import types

import pytest

import images
import tar_builder
from harness import ENV, assert_same, failure, stamp, write
from without import NO_TMPFILE, Without, rule

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "image"))
# pylint: disable=wrong-import-position
from vhd_builder import Vhd  # noqa: E402
from vmdk_builder import GRAIN, SECTOR, Builder  # noqa: E402

CALL = re.compile(r"(?:\d+ +)?(\w+)\((.*)")
# Calls that end the process or that no error can come back from (a failing
# brk returns the old break, so that libc takes -EIO for an address; umask
# always succeeds), and one that not every run makes (libc draws a temporary
# name anew if it is unfair).
NEVER = {"exit_group", "exit", "execve", "rt_sigreturn", "set_tid_address",
         "restart_syscall", "brk", "umask", "getrandom"}
# Where they fail on the output, the bytes may not have reached the disk.
MUST_FAIL = {"write", "pwrite64", "pwritev", "pwritev2", "writev", "fsync",
             "fdatasync", "syncfs", "sync_file_range", "ftruncate", "rename",
             "renameat", "renameat2", "link", "linkat"}
REMOVING = {"unlink", "unlinkat"}
RENAMING = {"rename", "renameat", "renameat2", "link", "linkat"}
ERRORS = ("ENOSPC", "EIO", "EINTR")
SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Each disturbed call gets one of them, drawn by HONE_SEED.
SEED = int(os.environ["HONE_SEED"], 0)
# Only the disturbed calls stop for strace, by a filter in the kernel: a run takes
# 10 ms of CPU time, and 17 ms if each call stops. strace injects errors so, but no
# signals.
FILTERED = "--seccomp-bpf"
ADDR_NO_RANDOMIZE = 0x0040000

# When mmap fails, the sanitizer's allocator ends the process with a report;
# llvm-symbolizer, started under strace with the fault, takes seconds for it.
# The calls are counted in a run with the same setting.
DISTURBED = {"ASAN_OPTIONS": ENV["ASAN_OPTIONS"] + ":symbolize=0"}


@contextlib.contextmanager
def alike():
    """What is started runs on one CPU, and with the same addresses each time.

    strace and the command run alternately: in a virtual machine, a run on two
    CPUs takes twice as long as on one. The number of a sanitizer's mmap calls
    depends on the addresses: with random ones, 2 of 120 runs made fewer calls
    than were traced. Both settings are inherited; setarch and taskset would be
    two programs more to start in each run.
    """
    cpus, libc = os.sched_getaffinity(0), ctypes.CDLL(None)
    before = libc.personality(0xffffffff)
    os.sched_setaffinity(0, {min(cpus)})
    libc.personality(before | ADDR_NO_RANDOMIZE)
    try:
        yield
    finally:
        libc.personality(before)
        os.sched_setaffinity(0, cpus)


Call = collections.namedtuple("Call", "name number text after_rename")


def traced(hone, strace, work, words, final="", **how):
    """The calls of a clean run, from the first on that has the source: a file,
    or a pipe as stdin; and the run."""
    log = work / "trace"
    with alike():
        done = hone.ok(*words, env=DISTURBED,
                       before=[*strace, "-y", "-o", str(log)], **how)
    counts = collections.Counter()
    calls, begun, renamed = [], False, False
    for line in log.read_text().splitlines():
        match = CALL.match(line)
        if not match:
            continue
        name, text = match.groups()
        counts[name] += 1
        begun = begun or name != "execve" and (
            "source/disk." in text or "0<pipe:[" in text)
        # MAP_FIXED is how a sanitizer's own memory grows. To wake a thread
        # cannot fail: glibc aborts if the kernel says so.
        if begun and name not in NEVER and (
                "MAP_FIXED" not in text and "FUTEX_WAKE" not in text):
            calls.append(Call(name, counts[name], text, renamed))
        renamed = renamed or bool(
            final and name in RENAMING and f'"{final}"' in text and
            text.endswith("= 0"))
    log.unlink()
    assert renamed == bool(final)
    return calls, done


def after_sync(calls, call):
    """Whether the output's bytes are on disk when this call is made."""
    return call in calls[[c.name for c in calls].index("fsync"):]


def sanitizer_fell(done):
    """Its own allocator ends the process when mmap fails."""
    return b"Sanitizer failed to allocate" in done.stderr


def disturb(how, call, fault, ever="", env=(), **kwargs):
    """Run the command with one call disturbed; returns what was done to the
    call, and the finished run."""
    inject = f"{call.name}:{fault}:when={call.number}{ever}"
    stops = [FILTERED] if fault.startswith("error") else []
    with alike():
        return inject, how.hone.run(
            *how.words, env={**DISTURBED, **dict(env)}, before=[
                *how.strace, *stops, "-qq", "-o", "/dev/null", "-e",
                "signal=none", "-e", f"trace={call.name}", "-e",
                f"inject={inject}"], **kwargs)


@contextlib.contextmanager
def full_pipe(data):
    """A pipe that has all of these bytes, so that each run makes the same
    reads."""
    reader, writer = os.pipe()
    with open(reader, "rb") as file:
        with open(writer, "wb", buffering=0) as end:
            fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, images.MI)
            assert end.write(data) == len(data)
        yield file


class Sweep:
    """Runs of one conversion with one call disturbed in each."""

    def __init__(self, hone, strace, source, out, kind):
        made_by, self.fmt, options = DIRECTIONS[kind]
        self.hone = Without(hone, NO_TMPFILE) if kind == "named" else hone
        self.strace = strace
        self.small, self.out = source, out
        self.output = out / f"d.{self.fmt}"
        # A file that has no name leaves nothing, whatever ends the process.
        self.nameless = kind not in ("named", "forced")
        self.old = b"precious" if kind == "forced" else None
        # One thread: its calls come in the same order in every run.
        self.piped = source.read_bytes() if kind in PIPED else None
        self.words = ["convert", "--threads", "1", "-O",
                      self.fmt.partition(".")[0], *options,
                      "-" if self.piped else source, self.output]
        if made_by is split:
            self.words[1:1] = ["--allow-data-file", source.parent]
        self.disk = source.with_suffix(".img")
        # The reader of the tests knows no compression and no rounded sizes.
        self.plain = (made_by is None and "-c" not in options and
                      self.fmt in ("raw", "qcow2"))
        self.put_old()
        with self.stdin() as stdin:
            self.calls, _ = traced(self.hone, self.strace, source.parent,
                                   self.words, self.output.name, stdin=stdin)
        self.assert_equal()
        self.reference = self.output.read_bytes()
        self.source = stamp(source)
        self.output.unlink()
        self.random = random.Random(f"{SEED} {kind}")

    def stdin(self):
        """What the command reads there."""
        return (full_pipe(self.piped) if self.piped else
                contextlib.nullcontext(subprocess.DEVNULL))

    def put_old(self):
        """Make the file that is to be replaced, if there is to be one."""
        if self.old:
            self.output.write_bytes(self.old)

    def run(self, call, fault, ever=""):
        """One run; returns it, with its output checked if there is one. ever
        is "+" if the fault is that of all later calls, too."""
        self.put_old()
        with self.stdin() as stdin:
            inject, done = disturb(self, call, fault, ever, stdin=stdin)
        where = f"{inject} {call.text[:100]}: {done}"
        assert stamp(self.small) == self.source, where
        left = set(os.listdir(self.out))
        finished = self.output.name in left
        if self.old:
            assert finished, where
            finished = self.output.read_bytes() != self.old
        if finished:
            self.check_output()
            self.output.unlink()
        strays = left - {self.output.name}
        for name in strays:
            os.unlink(self.out / name)
        return done, finished, strays, where

    def check_output(self):
        """The output is whole."""
        if self.output.read_bytes() != self.reference:
            self.assert_equal()

    def assert_equal(self):
        """The output holds what the disk holds."""
        if self.plain:
            assert_same(self.disk, self.output, self.fmt)
        elif self.fmt != "gce" and "." not in self.fmt and shutil.which("qemu-img"):
            fmt = "vpc" if self.fmt == "vhd" else self.fmt
            subprocess.run(["qemu-img", "compare", "-q", "-f", "raw", "-F",
                            fmt, self.disk, self.output], check=True)
        else:
            self.hone.ok("compare", "-q", self.disk, self.output)


def in_tar(small):
    """The disk in an archive, between other members."""
    source = small.with_suffix(".tar")
    source.write_bytes(
        tar_builder.member(b"note.txt", b"text") +
        tar_builder.member(b"disk.img", small.read_bytes()) +
        tar_builder.member(b"other.txt", bytes(3000)) + tar_builder.END)
    return source


def parts(data, size):
    """Number: bytes, for the parts of this size that are not all zeros."""
    found = {at // size: data[at:at + size] for at in range(0, len(data), size)}
    return {number: part for number, part in found.items() if any(part)}


def dynamic(small):
    """A VHD with blocks."""
    data, block = small.read_bytes(), 64 << 10
    image = Vhd(-(-len(data) // SECTOR) * SECTOR, block)
    for number, part in parts(data, block).items():
        image.add(number, part)
    return image.write(small.with_suffix(".vhd"))


def packed(small):
    """The disk, packed by xz in two blocks."""
    data = small.read_bytes()
    half = len(data) // 2
    source = small.with_suffix(".xz")
    source.write_bytes(lzma.compress(data[:half], preset=0) +
                       lzma.compress(data[half:], preset=0))
    return source


def split(small):
    """A VMDK whose descriptor names a flat file and a sparse one."""
    data = small.read_bytes()
    half = len(data) // 2 // SECTOR * SECTOR
    rest = -(-(len(data) - half) // SECTOR)
    (small.parent / "flat.vmdk").write_bytes(data[:half])
    image = Builder(rest)
    image.header = {"desc_offset": 0, "desc_size": 0}
    image.grains = parts(data[half:], GRAIN * SECTOR)
    image.write(small.parent / "sparse.vmdk")
    source = small.with_suffix(".vmdk")
    source.write_text("# Disk DescriptorFile\nversion=1\n"
                      f'RW {half // SECTOR} FLAT "flat.vmdk" 0\n'
                      f'RW {rest} SPARSE "sparse.vmdk"\n', encoding="ascii")
    return source


def ova(small):
    """A packed VMDK in an archive, with a manifest."""
    data = small.read_bytes()
    image = Builder(-(-len(data) // SECTOR), packed=True, footer=True)
    grain = GRAIN * SECTOR
    image.grains = {number: part.ljust(grain, b"\0")
                    for number, part in parts(data, grain).items()}
    members = [(b"vm.ovf", b"<Envelope/>\n"), (b"disk.vmdk", image.build())]
    lines = [b"SHA256(%s)= %s\n" % (name, hashlib.sha256(content).hexdigest().encode())
             for name, content in members]
    members.insert(1, (b"vm.mf", b"".join(lines)))
    source = small.with_suffix(".ova")
    source.write_bytes(b"".join(
        tar_builder.member(*member) for member in members) + tar_builder.END)
    return source


ZSTD = ["-c", "-o", "compression_type=zstd"]
# What the source is made by, a function or options of the command, and what the
# conversion is. named: on a file system where a new file needs a name; forced:
# over a file.
DIRECTIONS = {
    "raw-raw": (None, "raw", []),
    "raw-qcow2": (None, "qcow2", []),
    "raw-zlib": (None, "qcow2", ["-c"]),
    "qcow2-raw": ([], "raw", []),
    "zlib-raw": (["-c"], "raw", []),
    "zstd-zlib": (ZSTD, "qcow2", ["-c", "-o", "extended_l2=on"]),
    "raw-vmdk": (None, "vmdk", []),
    "vmdk-raw": (["-O", "vmdk"], "raw", []),
    "raw-vhd": (None, "vhd", []),
    "raw-gce": (None, "gce", []),
    "raw-zst": (None, "raw.zst", []),
    "raw-gz": (None, "raw.gz", []),
    "tar-raw": (in_tar, "raw", []),
    "named": (None, "raw", []),
    "forced": (None, "raw", ["--force"]),
    "vhd-raw": (dynamic, "raw", []),
    "split-raw": (split, "raw", []),
    "xz-raw": (packed, "raw", []),
    "ova-raw": (ova, "raw", []),
    "pipe-raw": (["-O", "vmdk"], "raw", []),
}
# The source comes from a pipe.
PIPED = ("pipe-raw",)



def but_for_all(*kinds):
    """Each direction; ./dev test has these alone."""
    return [pytest.param(kind, marks=() if kind in kinds else pytest.mark.all)
            for kind in DIRECTIONS]


# For tests that disturb each call.
AT_EACH_CALL = pytest.mark.parametrize(
    "sweep", but_for_all("raw-zlib", "named"), indirect=True)


@pytest.fixture(params=but_for_all("raw-raw", "raw-zlib", "zlib-raw", "raw-vmdk",
                                   "vmdk-raw", "raw-gce", "named", "forced"))
def sweep(request, hone, strace, small, out):
    """A sweep over the conversion in one direction."""
    made_by = DIRECTIONS[request.param][0]
    source = small
    if made_by is packed:
        hone.need("liblzma")
    if callable(made_by):
        source = made_by(small)
    elif made_by is not None:
        source = small.with_suffix(".qcow2")
        hone.ok("convert", "-q", "--force", *made_by, small, source)
    return Sweep(hone, strace, source, out, request.param)


def test_the_bytes_are_on_disk_before_the_name_appears(sweep, out):
    """Write, fsync, close, rename, fsync of the directory."""
    def all_of(names, where):
        return [i for i, call in enumerate(sweep.calls)
                if call.name in names and where in call.text]

    def last(names, where):
        return max(all_of(names, where))
    inside = f"<{out}/"
    written = last({"write", "pwrite64", "pwritev", "ftruncate", "fallocate"}, inside)
    synced = last({"fsync"}, inside)
    # A file without a name has a second descriptor, by which it gets one.
    closed = min(i for i in all_of({"close"}, inside) if i > written)
    named = last(RENAMING, f"\"{sweep.output.name}\"")
    remembered = last({"fsync"}, f"<{out}>")
    assert written < synced < closed < named < remembered


LACKING = {
    "lseek": ("EINVAL", "EOPNOTSUPP"), "mmap": ("ENODEV", "EACCES", "ENOMEM"),
    "renameat2": ("EINVAL", "ENOSYS"), "copy_file_range": ("EXDEV", "ENOSYS"),
    "fallocate": ("EOPNOTSUPP",), "fadvise64": ("EINVAL", "ENOSYS"),
}


def test_a_file_system_that_lacks_a_call_is_no_obstacle(sweep):
    tried = 0
    first = next((call for call in sweep.calls if call.name == "lseek"), None)
    for call in sweep.calls:
        # Anonymous memory, or a library.
        if call.name == "mmap" and ("MAP_ANONYMOUS" in call.text or
                                    "MAP_DENYWRITE" in call.text):
            continue
        errors = LACKING.get(call.name, ())
        if call.name == "fsync" and call.after_rename:
            errors = ("EINVAL",)
        # The list of an archive and its data are made of the same holes: they
        # are found each time, or never.
        ever = "+" if (call.name, sweep.fmt) == ("lseek", "gce") else ""
        if ever and call != first:
            continue
        for error in errors:
            done, finished, strays, where = sweep.run(call, f"error={error}", ever)
            assert done.returncode == 0 and finished and not strays, where
            tried += 1
    assert tried >= 1


def without(hone, rename, link):
    """The command where each way to rename without replacing fails so."""
    return Without(hone, NO_TMPFILE, rule("renameat2", rename),
                   rule("link", link), rule("linkat", link))


@pytest.mark.parametrize("rename", ["EINVAL", "ENOSYS", "EPERM"])
@pytest.mark.parametrize("link", ["EPERM", "EOPNOTSUPP", "ENOSYS", "EMLINK"])
def test_a_file_system_without_any_safe_rename_gets_a_plain_one(
        hone, small, out, rename, link):
    """Neither RENAME_NOREPLACE nor hard links: FAT, many of FUSE."""
    without(hone, rename, link).ok("convert", "-q", small, out / "d")
    assert os.listdir(out) == ["d"]
    assert_same(small, out / "d", "raw")


@pytest.mark.parametrize("rename, link", [("EIO", "EPERM"), ("EINVAL", "EIO")])
def test_a_rename_that_fails_otherwise_is_an_error(hone, small, out, rename, link):
    said = without(hone, rename, link).fails("convert", small, out / "d")
    assert "Input/output error" in said
    assert not os.listdir(out)


@AT_EACH_CALL
def test_a_call_that_fails_never_leaves_a_bad_or_unfinished_output(
        sweep, out, record_property):
    tried = 0
    for call in sweep.calls:
        error = sweep.random.choice(ERRORS)
        done, finished, strays, where = sweep.run(call, f"error={error}")
        if sanitizer_fell(done):
            continue
        tried += 1
        assert not strays or call.name in REMOVING, where
        if done.returncode == 0:
            assert finished, where
            assert not done.stderr, where
        else:
            assert done.returncode == 1, where
            assert done.stderr.startswith(b"hone: "), where
            assert not finished or call.after_rename, where
        on_output = f"{out}/" in call.text or f"<{out}>" in call.text
        if error != "EINTR" and call.name in MUST_FAIL and on_output:
            assert done.returncode == 1, where
    assert tried > 30
    record_property("faults", tried)


def test_an_error_says_what_the_kernel_said(sweep, out):
    said = 0
    for call in sweep.calls:
        # The report names the output, too.
        if (call.name not in MUST_FAIL or f"{out}/" not in call.text or
                call.text.startswith("1<")):
            continue
        done = sweep.run(call, "error=ENOSPC")[0]
        assert b"No space left on device" in done.stderr, (call, done)
        assert os.fsencode(sweep.output.name) in done.stderr
        said += 1
    assert said >= 3


def test_a_close_that_fails_is_an_error(sweep, out):
    """NFS writes what is left then. A second descriptor may stay open. The file
    that is replaced is only looked at."""
    call = next(call for call in sweep.calls
                if call.name == "close" and f"<{out}/" in call.text
                and f"<{sweep.output}>" not in call.text)
    done, finished, strays, where = sweep.run(call, "error=EIO")
    assert done.returncode == 1 and not finished and not strays, where
    assert b"cannot be closed: Input/output error" in done.stderr, where


@AT_EACH_CALL
def test_a_signal_at_any_call_leaves_nothing_unfinished(sweep, record_property):
    died = 0
    for call in sweep.calls:
        number = sweep.random.choice(SIGNALS)
        done, finished, strays, where = sweep.run(call, f"signal={number.name}")
        assert not strays, where
        assert done.returncode in (0, -number), where
        if done.returncode == 0:
            assert finished, where
        else:
            # Signals are held back while the output gets its name.
            assert not finished or after_sync(sweep.calls, call), where
            died += 1
    assert died > 20
    record_property("faults", len(sweep.calls))


@AT_EACH_CALL
def test_a_kill_at_any_call_leaves_nothing_under_the_final_name(sweep, record_property):
    tried = 0
    for call in sweep.calls:
        done, finished, strays, where = sweep.run(call, "signal=SIGKILL")
        assert not strays or not sweep.nameless, where
        assert done.returncode in (-signal.SIGKILL, 137), where
        assert not finished or call.after_rename or (call.name in RENAMING), where
        tried += 1
    assert tried > 30
    record_property("faults", tried)


@pytest.fixture
def in_place(hone, strace, small, work, digests):
    """Runs of a conversion with -n and --expect."""
    return InPlace(hone, strace, small, work)


class InPlace:
    """A file is written that has a disk already, whose first MiB appears last.
    One call is disturbed in each run."""
    SIZE = 3 * images.MI

    def __init__(self, hone, strace, source, work):
        self.hone, self.strace, self.source = hone, strace, source
        os.truncate(source, self.SIZE)
        with open(source, "r+b") as file:
            for at in (self.SIZE // 2, self.SIZE - images.KI):
                os.pwrite(file.fileno(), images.noise(images.KI), at)
        self.new = source.read_bytes()
        self.old = b"precious" * (self.SIZE // 8)
        self.target = work / "target.raw"
        digest = hashlib.sha256(self.new).hexdigest()
        self.words = ["convert", "--threads", "1", "-n", "--expect",
                      f"sha256:{digest}", source, self.target]
        self.target.write_bytes(self.old)
        self.calls, _ = traced(hone, strace, source.parent, self.words)
        assert any(call.name == "fsync" for call in self.calls)
        assert self.target.read_bytes() == self.new

    def run(self, call, fault):
        """One run. Returns it and what the target has then."""
        self.target.write_bytes(self.old)
        inject, done = disturb(self, call, fault)
        return (done, self.target.read_bytes(), f"{inject} {call.text[:100]}: {done}")


IN_PLACE_FAULTS = [*(f"error={error}" for error in ERRORS), "signal=SIGTERM",
                   "signal=SIGKILL"]


def test_a_disturbed_call_never_leaves_another_disk_in_place(in_place, record_property):
    """The old disk, zeros in its first MiB, or all of the new one."""
    head, tried = images.MI, collections.Counter()
    rng = random.Random(SEED)
    for call in in_place.calls:
        fault = rng.choice(IN_PLACE_FAULTS)
        done, has, where = in_place.run(call, fault)
        if sanitizer_fell(done):
            continue
        if done.returncode == 0:
            assert not done.stderr and has == in_place.new, where
        elif fault.startswith("error"):
            assert done.returncode == 1, where
            assert done.stderr.startswith(b"hone: "), where
        else:
            assert done.returncode in (-signal.SIGTERM, -signal.SIGKILL, 137), where
        state = ("old" if has == in_place.old else
                 "new" if has == in_place.new else
                 "half" if not any(has[:head]) else "wrong")
        assert state != "wrong", where
        assert state == "half" or b"zeros" not in done.stderr, where
        tried[state] += 1
    assert min(tried[state] for state in ("old", "half", "new")) > 0
    record_property("faults", sum(tried.values()))


@pytest.mark.parametrize("command", ["map", "info", "compare", "digest", "convert"])
def test_a_call_that_fails_never_gives_a_wrong_report(
        hone, strace, small, work, command):
    if command == "digest":
        hone.need("OpenSSL")
    words = [command, "--json", small]
    if command == "compare":
        copy = write(work, "copy", small.read_bytes())
        words.append(copy)
    if command == "convert":
        words = [command, "-q", "--threads", "1", "-O", "qcow2", small, "-"]
    calls, clean = traced(hone, strace, work, words)
    how = types.SimpleNamespace(hone=hone, strace=strace, words=words)
    rng = random.Random(f"{SEED} {command}")
    assert calls
    for call in calls:
        inject, done = disturb(how, call, "error=" + rng.choice(["EIO", "EINTR"]))
        if sanitizer_fell(done):
            continue
        if done.returncode == 0:
            assert done.stdout == clean.stdout, inject
        else:
            assert done.returncode == failure(command), (inject, done)
            assert done.stderr.startswith(b"hone: "), inject


@pytest.mark.parametrize("command", ["convert", "map", "info", "compare",
                                     "check", "digest"])
@pytest.mark.parametrize("error, again", [("ETIMEDOUT", True), ("EIO", False)])
def test_a_time_out_has_a_status_of_its_own(
        hone, strace, small, work, out, command, error, again):
    """Reads of a file of NFS, or of a device of another machine."""
    if command == "digest":
        hone.need("OpenSSL")
    copy = write(work, "copy", small.read_bytes())
    words = {"convert": [copy, out / "d"], "compare": [copy, copy]}
    done = hone.run(command, *words.get(command, [copy]), before=[
        *strace, "-qq", "-o", "/dev/null", "-P", copy, "-e",
        f"inject=pread64:error={error}"])
    assert done.stderr.startswith(b"hone: "), done
    assert done.stderr.count(b"\n") == 1, done
    failed = 2 if command == "check" else failure(command)
    assert done.returncode == (4 if again else failed), done
    assert os.listdir(out) == []
