# SPDX-License-Identifier: BSD-3-Clause
"""Every system call of a small conversion fails once, in every way.

A clean run is traced first; from the call that opens the source on, call
after call is then made to fail, or to be the moment at which a signal comes.
"""
import collections
import os
import re
import signal

import pytest

from harness import ENV, Hone, Stalled, assert_same, stamp

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

# When mmap fails, the sanitizer's allocator ends the process with a report;
# llvm-symbolizer, started under strace with the fault, takes seconds for it.
# The calls are counted in a run with the same setting.
DISTURBED = {"ASAN_OPTIONS": ENV["ASAN_OPTIONS"] + ":symbolize=0"}

Call = collections.namedtuple("Call", "name number text after_rename")


def traced(hone, strace, work, words):
    """The calls of a clean run, from the opening of the source on."""
    log = work / "trace"
    hone.ok(*words, env=DISTURBED, before=[*strace, "-y", "-o", str(log)])
    counts = collections.Counter()
    calls, begun, renamed = [], False, False
    for line in log.read_text().splitlines():
        match = CALL.match(line)
        if not match:
            continue
        name, text = match.groups()
        counts[name] += 1
        begun = begun or "source/disk.img" in text and name != "execve"
        # MAP_FIXED is how a sanitizer's own memory grows.
        if begun and name not in NEVER and "MAP_FIXED" not in text:
            calls.append(Call(name, counts[name], text, renamed))
        renamed = renamed or name in RENAMING
    log.unlink()
    assert renamed and any(call.name == "fsync" for call in calls)
    return calls


def after_sync(calls, call):
    """Whether the output's bytes are on disk when this call is made."""
    return call in calls[[c.name for c in calls].index("fsync"):]


def sanitizer_fell(done):
    """Its own allocator ends the process when mmap fails."""
    return b"Sanitizer failed to allocate" in done.stderr


class Sweep:
    """Runs of one conversion with one call disturbed in each."""

    def __init__(self, hone, strace, small, out, fmt, method):
        self.hone, self.strace, self.small = hone, strace, small
        self.out, self.fmt = out, fmt
        self.output = out / f"d.{fmt}"
        self.words = ["convert", "--method", method, "-O", fmt, small,
                      self.output]
        self.calls = traced(hone, strace, small.parent, self.words)
        assert_same(small, self.output, fmt)
        self.reference = self.output.read_bytes()
        self.source = stamp(small)
        self.output.unlink()

    def run(self, call, fault):
        """One run; returns it, with its output checked if there is one."""
        inject = f"{call.name}:{fault}:when={call.number}"
        done = self.hone.run(*self.words, env=DISTURBED, before=[
            *self.strace, "-qq", "-o", "/dev/null", "-e", "signal=none",
            "-e", f"trace={call.name}", "-e", f"inject={inject}"])
        where = f"{inject} {call.text[:100]}: {done}"
        assert stamp(self.small) == self.source, where
        left = set(os.listdir(self.out))
        finished = self.output.name in left
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
            assert_same(self.small, self.output, self.fmt)


@pytest.fixture(params=["raw", "qcow2"])
def sweep(request, hone, strace, small, out, method):
    """A sweep over the conversion to one format, read in one way."""
    return Sweep(hone, strace, small, out, request.param, method)


def test_the_bytes_are_on_disk_before_the_name_appears(sweep, out):
    """Write, fsync, close, rename, fsync of the directory."""
    def last(names, where):
        return max(i for i, call in enumerate(sweep.calls)
                   if call.name in names and where in call.text)
    inside = f"<{out}/"
    written = last({"write", "pwrite64", "pwritev", "ftruncate", "fallocate"},
                   inside)
    synced = last({"fsync"}, inside)
    closed = last({"close"}, inside)
    named = last(RENAMING, f"{sweep.output}\"")
    remembered = last({"fsync"}, f"<{out}>")
    assert written < synced < closed < named < remembered


LACKING = {
    "lseek": ("EINVAL", "EOPNOTSUPP"), "mmap": ("ENODEV", "EACCES", "ENOMEM"),
    "renameat2": ("EINVAL", "ENOSYS"), "copy_file_range": ("EXDEV", "ENOSYS"),
    "fallocate": ("EOPNOTSUPP",), "fadvise64": ("EINVAL", "ENOSYS"),
}


def test_a_file_system_that_lacks_a_call_is_no_obstacle(sweep):
    tried = 0
    for call in sweep.calls:
        if call.name == "mmap" and "MAP_ANONYMOUS" in call.text:
            continue
        errors = LACKING.get(call.name, ())
        if call.name == "fsync" and call.after_rename:
            errors = ("EINVAL",)
        for error in errors:
            done, finished, strays, where = sweep.run(call, f"error={error}")
            assert done.returncode == 0 and finished and not strays, where
            tried += 1
    assert tried >= 5


def without(strace, rename, link):
    """Words before a command: renameat2 and link fail like this."""
    return [*strace, "-qq", "-o", "/dev/null", "-e",
            f"inject=renameat2:error={rename}", "-e",
            f"inject=?link,?linkat:error={link}"]


@pytest.mark.parametrize("rename", ["EINVAL", "ENOSYS", "EPERM"])
@pytest.mark.parametrize("link", ["EPERM", "EOPNOTSUPP", "ENOSYS", "EMLINK"])
def test_a_file_system_without_any_safe_rename_gets_a_plain_one(
        hone, strace, small, out, rename, link):
    """Neither RENAME_NOREPLACE nor hard links: FAT, many of FUSE."""
    hone.ok("convert", "-q", small, out / "d",
            before=without(strace, rename, link))
    assert os.listdir(out) == ["d"]
    assert_same(small, out / "d", "raw")


@pytest.mark.parametrize("rename, link", [("EIO", "EPERM"),
                                          ("EINVAL", "EIO")])
def test_a_rename_that_fails_otherwise_is_an_error(
        hone, strace, small, out, rename, link):
    done = hone.run("convert", small, out / "d",
                    before=without(strace, rename, link))
    assert done.returncode == 1
    assert b"Input/output error" in done.stderr
    assert not os.listdir(out)


def test_a_plain_rename_replaces_nothing_that_appeared_meanwhile(
        hone, strace, image, out):
    class Without:
        """The command on such a file system."""
        @staticmethod
        def start(*args, **kwargs):
            return Hone(strace[0]).start(
                *without(strace, "EINVAL", "EPERM")[1:], hone.path, *args,
                **kwargs)
    with Stalled(Without, "convert", image("filled_ext4"),
                 out / "d") as held:
        os.symlink("nowhere", out / "d")
        status, _, error = held.go_on()
    assert status == 1
    assert b"already exists" in error
    assert os.listdir(out) == ["d"] and os.path.islink(out / "d")


@pytest.mark.parametrize("error", ERRORS)
def test_a_call_that_fails_never_leaves_a_bad_or_unfinished_output(
        sweep, out, error, record_property):
    tried = 0
    for call in sweep.calls:
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
    assert tried > 15
    record_property("faults", tried)


def test_an_error_says_what_the_kernel_said(sweep, out):
    said = 0
    for call in sweep.calls:
        if call.name not in MUST_FAIL or f"{out}/" not in call.text:
            continue
        done = sweep.run(call, "error=ENOSPC")[0]
        assert b"No space left on device" in done.stderr, (call, done)
        assert os.fsencode(sweep.output.name) in done.stderr
        said += 1
    assert said >= 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM],
                         ids=lambda number: number.name)
def test_a_signal_at_any_call_leaves_nothing_unfinished(
        sweep, number, record_property):
    died = 0
    for call in sweep.calls:
        done, finished, strays, where = sweep.run(
            call, f"signal={number.name}")
        assert not strays, where
        assert done.returncode in (0, -number), where
        if done.returncode == 0:
            assert finished, where
        else:
            # Signals are held back while the output gets its name.
            assert not finished or after_sync(sweep.calls, call), where
            died += 1
    assert died > 10
    record_property("faults", len(sweep.calls))


def test_a_kill_at_any_call_leaves_nothing_under_the_final_name(
        sweep, record_property):
    tried = 0
    for call in sweep.calls:
        done, finished, _, where = sweep.run(call, "signal=SIGKILL")
        assert done.returncode in (-signal.SIGKILL, 137), where
        assert not finished or call.after_rename or (
            call.name in RENAMING), where
        tried += 1
    assert tried > 15
    record_property("faults", tried)


def test_sigbus_is_caught_only_where_a_source_is_mapped(
        hone, strace, small, out, method):
    log = out / "trace"
    for words in (["convert", small, out / "d"], ["compare", small, small],
                  ["map", small]):
        hone.ok(*words, "--method", method, before=[
            *strace, "-o", str(log), "-e", "trace=openat,rt_sigaction"])
        begun = log.read_text().split("source/disk.img", 1)[1]
        assert ("rt_sigaction(SIGBUS" in begun) == (method == "map"), words


@pytest.mark.parametrize("command", ["map", "info", "compare"])
@pytest.mark.parametrize("error", ["EIO", "EINTR"])
def test_a_call_that_fails_never_gives_a_wrong_report(
        hone, strace, small, work, command, error):
    words = [command, "--json", small]
    if command == "compare":
        copy = work / "copy"
        copy.write_bytes(small.read_bytes())
        words.append(copy)
    log = work / "trace"
    clean = hone.ok(*words, env=DISTURBED, before=[*strace, "-o", str(log)])
    counts, begun = collections.Counter(), False
    for line in log.read_text().splitlines():
        match = CALL.match(line)
        if not match:
            continue
        name = match[1]
        counts[name] += 1
        begun = begun or "source/disk.img" in line and name != "execve"
        if not begun or name in NEVER or "MAP_FIXED" in line:
            continue
        inject = f"inject={name}:error={error}:when={counts[name]}"
        done = hone.run(*words, env=DISTURBED, before=[
            *strace, "-qq", "-o", "/dev/null", "-e", f"trace={name}", "-e",
            inject])
        if sanitizer_fell(done):
            continue
        if done.returncode == 0:
            assert done.stdout == clean.stdout, inject
        else:
            assert done.returncode == 1, (inject, done)
            assert done.stderr.startswith(b"hone: "), inject
