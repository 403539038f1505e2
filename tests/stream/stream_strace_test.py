# SPDX-License-Identifier: BSD-3-Clause
"""The system calls of the installed libhone, by strace: what the tests in C, which
stand in for calls, cannot show. tests/counts counts more of them."""
import collections
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

Call = collections.namedtuple("Call", "name number text")
Run = collections.namedtuple("Run", "calls first")


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
            calls.append(Call(name, counts[name], text))
    assert marks == 2
    return Run(calls, json.loads(done.stdout))


def test_a_large_read_is_one_read_of_that_size(strace, tmp_path):
    done = run(strace, tmp_path, "large read")
    call, = done.calls
    assert call.name == "read" and call.text.endswith(f", {child.LARGE}) = {child.LARGE}")
    assert done.first == child.digest(child.content(child.LARGE))


def test_a_batch_takes_far_fewer_calls_than_files(strace, tmp_path):
    done = run(strace, tmp_path, "io_uring batch")
    if done.first[0] != 0:
        pytest.skip(f"no io_uring here: {done.first[0]}")
    assert done.first == [0, child.FILES, [], child.FILES, 0]
    assert len(done.calls) < child.FILES / 4


def disturbed(strace, directory, case, call, error, *options):
    # By a filter in the kernel, only these calls stop for strace.
    done = run(strace, directory, case, *options, "-f", "--seccomp-bpf", "-e",
               f"trace={MARK},openat,{call.name}", "-e",
               f"inject={call.name}:error={error}:when={call.number}")
    assert [c.name for c in done.calls if "(INJECTED)" in c.text] == [call.name]
    return done


def test_a_batch_outlives_io_uring(strace, tmp_path):
    """Whichever call fails, every file is read."""
    # The second run: the files exist, as in the runs after it.
    run(strace, tmp_path, "batch")
    before = run(strace, tmp_path, "batch")
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
