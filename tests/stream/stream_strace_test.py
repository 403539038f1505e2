# SPDX-License-Identifier: BSD-3-Clause
"""The system calls of the installed libhone, by strace, and the results if
each of them fails."""
import collections
import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import stream_strace_child as child

# The allocators', Python's and libhone's.
MEMORY = {"mmap", "munmap", "mremap", "brk", "madvise"}
MARK = "getsid"
CALL = re.compile(r"(?:\d+ +)?(\w+)\((.*)")
FSTAT = re.compile(r"^(newfstatat|fstat)$")
WHOLE = ["openat", "fstat", "read", "close"]
# Calls that a signal can interrupt; the library makes them again.
AGAIN = {"openat", "read", "recvfrom", "io_uring_enter"}

Call = collections.namedtuple("Call", "name made number text")
Run = collections.namedtuple("Run", "calls first again")


@pytest.fixture(name="strace", scope="module")
def find_strace():
    """strace, if it is there and may trace."""
    path = shutil.which("strace")
    if not path or subprocess.run([path, "-o", "/dev/null", "true"],
                                  check=False).returncode:
        pytest.skip("strace cannot trace here")
    return path


def run(strace, directory, case, *options):
    """One case: the calls between its marks, and what it printed."""
    log = directory / "trace"
    done = subprocess.run(
        [strace, "-qq", "-e", "signal=none", "-o", log, *options,
         sys.executable, "-S", Path(__file__).with_name("stream_strace_child.py"),
         case, directory],
        stdout=subprocess.PIPE, check=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    counts, calls, marks = collections.Counter(), [], 0
    for line in log.read_text(errors="replace").splitlines():
        match = CALL.match(line)
        if not match:
            continue
        name, text = match.groups()
        counts[name] += 1
        if name == MARK:
            marks += 1
        elif marks == 1 and name not in MEMORY:
            calls.append(Call(FSTAT.sub("fstat", name), name, counts[name], text))
    assert marks == 2
    return Run(calls, *json.loads(done.stdout))


def names(done):
    return [call.name for call in done.calls]


def digest(data):
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("case, size", [
    ("empty file", 0), ("12 bytes", 12), ("4 KiB", 4096),
    ("700 KiB", child.LARGE), ("10 MB", 10000000)])
def test_a_whole_file_takes_four_calls(strace, tmp_path, case, size):
    done = run(strace, tmp_path, case)
    assert names(done) == WHOLE
    assert done.first == digest(child.content(size))


def test_a_large_read_is_one_read_of_that_size(strace, tmp_path):
    done = run(strace, tmp_path, "large read")
    assert names(done) == ["read"]
    assert done.calls[0].text.endswith(f", {child.LARGE}) = {child.LARGE}")
    assert done.first == digest(child.content(child.LARGE))


def test_lines_take_a_read_for_each_64_kib_and_one_for_the_end(strace, tmp_path):
    done = run(strace, tmp_path, "lines")
    assert names(done) == ["read"] * (child.LINES // (64 << 10) + 1)
    assert done.first == child.LINES // len(child.LINE) + 1


def test_memory_takes_no_call(strace, tmp_path):
    done = run(strace, tmp_path, "lines of memory")
    assert not done.calls
    assert done.first == child.LINES // len(child.LINE) + 1


def test_a_reply_that_is_there_takes_one_call_and_no_poll(strace, tmp_path):
    done = run(strace, tmp_path, "reply")
    assert names(done) == ["recvfrom"]
    assert done.first == digest(child.content(child.REPLY))


def test_only_who_finds_nothing_waits(strace, tmp_path):
    done = run(strace, tmp_path, "no reply")
    assert names(done) == ["recvfrom", "ppoll"]
    assert done.first == -errno.ETIMEDOUT
    done = run(strace, tmp_path, "no reply, no waiting")
    assert names(done) == ["recvfrom"]
    assert done.first == -errno.EAGAIN


def test_a_plain_batch_takes_four_calls_a_file(strace, tmp_path):
    done = run(strace, tmp_path, "plain batch")
    assert done.first == [0, child.FILES, [], 0, child.FILES]
    assert names(done) == WHOLE * child.FILES


def test_a_batch_takes_far_fewer_calls_than_files(strace, tmp_path):
    done = run(strace, tmp_path, "io_uring batch")
    if done.first[0] != 0:
        pytest.skip(f"no io_uring here: {done.first[0]}")
    assert done.first == [0, child.FILES, [], child.FILES, 0]
    assert len(done.calls) < child.FILES / 4


def disturbed(strace, directory, case, call, error, *options):
    # By a filter in the kernel, only these calls stop for strace.
    done = run(strace, directory, case, *options, "-f", "--seccomp-bpf", "-e",
               f"trace={MARK},openat,{call.made}", "-e",
               f"inject={call.made}:error={error}:when={call.number}")
    assert [c.name for c in done.calls if "(INJECTED)" in c.text] == [call.name]
    return done


def undisturbed(strace, directory, case):
    """The second run: the files exist, as in the runs after it."""
    run(strace, directory, case)
    return run(strace, directory, case)


@pytest.mark.parametrize("case", ["12 bytes", "large read", "lines", "reply"])
def test_every_call_may_fail(strace, tmp_path, case):
    clean = undisturbed(strace, tmp_path, case)
    # Of many equal calls, the first two, one in the middle, and the last.
    chosen = {0, 1, len(clean.calls) // 2, len(clean.calls) - 1}
    for i in sorted(chosen & set(range(len(clean.calls)))):
        call = clean.calls[i]
        for error in ("EINTR", "EIO", "ENOMEM"):
            done = disturbed(strace, tmp_path, case, call, error)
            if done.first == clean.first:
                assert call.name in AGAIN | {"close"}
                assert error == "EINTR" or call.name == "close"
                continue
            assert done.first == -getattr(errno, error)
            assert error != "EINTR" or call.name not in AGAIN
            assert done.again == clean.first


def test_a_batch_outlives_io_uring(strace, tmp_path):
    """Whichever call fails, every file is read."""
    before = undisturbed(strace, tmp_path, "batch")
    first = next(call for call in before.calls if call.name == "openat")
    # So that the batch takes io_uring: ten times what strace adds to a file read so.
    slow = ("-e", f"inject=openat:delay_enter=2000:when={first.number}+")
    clean = run(strace, tmp_path, "batch", *slow)
    if clean.first[3] == 0:
        pytest.skip("no io_uring here")
    of_ring = [call for call in clean.calls if call.name.startswith("io_uring")]
    assert of_ring
    chosen = of_ring[:5] + of_ring[len(of_ring) // 2:][:1] + of_ring[-2:]
    ways = ("EINTR", "EPERM", "ENOMEM")
    for i, call in enumerate(chosen):
        done = disturbed(strace, tmp_path, "batch", call, ways[i % len(ways)], *slow)
        answer, right, errors, by_uring, plain = done.first
        assert (answer, right, errors) == (0, child.FILES, [])
        assert by_uring + plain == child.FILES
