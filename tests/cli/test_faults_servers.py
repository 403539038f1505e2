# SPDX-License-Identifier: BSD-3-Clause
"""A system call of a small copy from a server or to one fails, or is the moment
at which a signal comes.

libcurl and libnbd run in a thread of their own. The order of its calls and of
those of the main thread differs from run to run, and so may their number. What
is asserted holds whichever call is disturbed, and if none is: where another try
repairs a failure, the copy is that of a clean run.
"""
import collections
import hashlib
import os
import random
import re
import signal
import time

import pytest

import http_server
import nbd_server
from harness import CLEAN, TIMEOUT, assert_same, error_line, stamp
from test_faults import (
    Call, DISTURBED, NEVER, RENAMING, SEED, alike, disturb, sanitizer_fell)
from registry import Registry

SECTOR, MI = 512, 1 << 20
THREAD_CALL = re.compile(r"(\d+) +(\w+)\((.*)")
# The first call of libcurl's multi interface, and of the store of an export.
# libcurl of 2025 has the latter, too: traced() finds out.
FIRST = {"http": "socketpair", "nbd": "eventfd2"}
# glibc aborts if a futex fails in a way that the kernel does not have. How the
# actions and masks of signals are set is in test_faults.py.
UNTRIED = NEVER | {"futex", "rt_sigaction", "rt_sigprocmask", "rseq",
                   "set_robust_list", "exit"}
# To wake a thread by an eventfd cannot fail.
CANNOT_FAIL = "<anon_inode:[eventfd]>"
# Each disturbed call gets one of them, drawn by HONE_SEED.
FAULTS = ("error=ECONNRESET", "signal=SIGTERM", "error=EIO", "signal=SIGINT",
          "error=EINTR", "signal=SIGKILL")
AGAIN = 4
OLD = b"precious"

def ranges(content, work):
    """A server with ranges, and the words of a copy from it."""
    assert work
    server = http_server.Server(content)
    return server, ["-f", "raw", "-O", "raw", server.url()]


def forward(content, work):
    """The same without ranges, and with a digest that is expected."""
    assert work
    server = http_server.Server(content, http_server.whole)
    return server, ["-f", "raw", "-O", "raw", "--expect",
                    f"sha256:{hashlib.sha256(content).hexdigest()}",
                    server.url()]


def export(content, work):
    """An export as the source."""
    server = nbd_server.Server(work / "nbd", bytearray(content),
                               extents=lambda offset, length: [(length, 0)])
    return server, ["-O", "qcow2", server.url]


def target(content, work):
    """An export as the destination, longer than the disk."""
    server = nbd_server.Server(work / "nbd", bytearray(OLD * (2 * MI // len(OLD))))
    assert content
    return server, [server.url]


def registry(content, work):
    """A layer of a container, whose registry asks for a token."""
    assert work
    made = Registry()
    made.server = http_server.Server(b"", made.answer)
    made.image(made.layer({"disk/a": content}, "+gzip"))
    made.bend["/token?service=&scope=" + "".join(
        f"%{byte:02x}" for byte in b"repository:vms/disk:pull")] = \
        lambda handler, _: handler.json({"token": "t"})
    made.first = lambda handler, request: None if "token" in request.path or \
        request.headers["Authorization"] == "Bearer t" else handler.status(
            401, WWW_Authenticate=f'Bearer realm="{made.server.url("/token")}"')
    return made.server, ["-O", "raw", "--plain-http", made.url()]


ROWS = {"http-raw": ranges, "http-expect": forward, "http-oci": registry,
        "nbd-qcow2": export, "raw-nbd": target}


class Sweep:
    """Runs of one conversion with one call disturbed in each."""

    def __init__(self, hone, strace, small, out, kind):
        self.hone, self.strace, self.small, self.out = hone, strace, small, out
        os.truncate(small, os.stat(small).st_size // SECTOR * SECTOR)
        self.content = small.read_bytes()
        self.fmt = "qcow2" if kind.endswith("qcow2") else "raw"
        self.output = out / "d"
        self.server, words = ROWS[kind](self.content, small.parent)
        self.words = ["convert", "-q", "--threads", "1", *words]
        self.to_server = ROWS[kind] is target
        if self.to_server:
            self.words.insert(-1, small)
        else:
            self.words.append(self.output)
        self.first = FIRST["http" if kind.startswith("http") else "nbd"]
        self.random = random.Random(f"{SEED} {kind}")
        self.source = stamp(small)

    def traced(self):
        """The calls of a clean run, from FIRST on. strace counts the calls of
        each thread: a number that a call had before FIRST, which loads the
        libraries, is not tried."""
        log = self.small.parent / "trace"
        with alike():
            self.hone.ok(*self.words, env={**CLEAN, **DISTURBED}, before=[
                *self.strace, "-y", "-o", str(log)])
        counts = collections.defaultdict(collections.Counter)
        calls, begun, renamed = {}, None, False
        lines = log.read_text().splitlines()
        if not any(f" {self.first}(" in line for line in lines):
            self.first = FIRST["nbd"]
        for line in lines:
            match = THREAD_CALL.match(line)
            if not match:
                continue
            thread, name, text = match.groups()
            counts[thread][name] += 1
            number = counts[thread][name]
            if not begun and name == self.first:
                begun = counts[thread].copy()
            if not begun or name in UNTRIED or "MAP_FIXED" in text or (
                    CANNOT_FAIL in text and name in ("read", "write")):
                continue
            if number > begun[name] - (name == self.first):
                calls.setdefault((name, number), Call(name, number, text, renamed))
            renamed = renamed or (name in RENAMING and "/d\"" in text)
        log.unlink()
        assert len(counts) > 1 and self.finished()
        self.clear()
        return list(calls.values())

    def clear(self):
        """As before the first run."""
        if self.to_server:
            self.server.disk[:] = OLD * (len(self.server.disk) // len(OLD))
        elif self.output.exists():
            self.output.unlink()

    def finished(self):
        """Whether the destination is there; then it is whole."""
        if self.to_server:
            rest = len(self.server.disk) - len(self.content)
            return self.server.disk == self.content + bytes(rest)
        if not self.output.exists():
            return False
        assert_same(self.small, self.output, self.fmt)
        return True

    def judge(self, call, fault):
        """One run: its copy is whole, or it fails and leaves nothing."""
        inject, done = disturb(self, call, fault, env=CLEAN)
        where = f"{inject} {call.text[:100]}: {done}"
        # The server may still take what came before the end.
        end = time.monotonic() + TIMEOUT
        while getattr(self.server, "open", None):
            assert time.monotonic() < end, where
            time.sleep(.001)
        if sanitizer_fell(done):
            return
        assert stamp(self.small) == self.source, where
        assert set(os.listdir(self.out)) <= {"d"}, where
        finished = self.finished()
        if done.returncode == 0:
            assert finished and not done.stderr, where
        elif fault.startswith("signal"):
            number = signal.Signals[fault.removeprefix("signal=")]
            assert done.returncode in (-number, 128 + number), where
        else:
            assert done.returncode in (1, AGAIN), where
            said = error_line(done.stderr)
            assert not finished or call.after_rename or self.to_server, where
            if self.to_server and not finished and not self.is_old():
                assert "incomplete now" in said, where

    def is_old(self):
        """Whether nothing of the destination was written."""
        return self.server.disk == OLD * (len(self.server.disk) // len(OLD))


@pytest.fixture(params=ROWS)
def sweep(request, hone, strace, small, out):
    """The runs of one conversion, with its server."""
    hone.need("libcurl" if "http" in request.param else "libnbd")
    made = Sweep(hone, strace, small, out, request.param)
    with made.server:
        yield made


@pytest.mark.all
def test_a_disturbed_call_gives_the_right_copy_or_none(sweep, record_property):
    calls = sweep.traced()
    for call in calls:
        sweep.judge(call, sweep.random.choice(FAULTS))
        sweep.clear()
    assert len(calls) > 60
    record_property("faults", len(calls))


@pytest.mark.parametrize("sweep", ["http-raw"], indirect=True)
def test_what_wakes_the_thread_of_libcurl_is_there_or_an_error(sweep):
    """The thread looks for work every 10 s if nothing wakes it."""
    sweep.traced()
    sweep.clear()
    call = Call(sweep.first, 1, "", False)
    done = disturb(sweep, call, "error=EMFILE", env=CLEAN)[1]
    assert done.returncode == 1, done
    assert "cannot make a pair of sockets" in error_line(done.stderr)


@pytest.mark.parametrize("sweep", ["http-raw"], indirect=True)
def test_a_wake_up_that_the_kernel_refuses_is_repeated(sweep):
    """The first one comes before the first request."""
    call = Call("sendto", 1, "", False)
    done = disturb(sweep, call, "error=ENOBUFS", env=CLEAN)[1]
    assert (done.returncode, done.stderr) == (0, b""), done
    assert sweep.finished()


def test_a_thread_that_cannot_start_is_named(sweep):
    """The limit of processes is no lack of memory."""
    done = disturb(sweep, Call("clone3", 1, "", False), "error=EAGAIN", env=CLEAN)[1]
    assert done.returncode == 1, done
    assert error_line(done.stderr).endswith(
        "no thread can be started: Resource temporarily unavailable")
