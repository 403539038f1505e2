# SPDX-License-Identifier: BSD-3-Clause
"""Runs the installed `hone` and judges what it left on the disk."""
import contextlib
import fcntl
import functools
import json
import os
import re
import shutil
import signal
import stat as modes
import struct
import socket
import subprocess
import termios
import time

import pytest

import extents
import qcow2_reader

# The sanitizers stay usable under strace and under a preloaded library, and
# leave SIGBUS to whom the command inherits it from.
ENV = dict(os.environ, LC_ALL="C", ASAN_OPTIONS=(
    os.environ.get("ASAN_OPTIONS", "") +
    ":detect_leaks=0:verify_asan_link_order=0:handle_sigbus=0"))
ENV.pop("HONE_SEED", None)
# A guard against hangs alone: more than 20 times what the longest command takes.
TIMEOUT = 1000
PIPE = 4096
# Runs a command, and says on stderr how many KiB it had resident at the most. A
# small process between: the figure of a child counts the memory of the process
# that forked it, and pytest may have hundreds of MiB.
PEAK = ["/usr/bin/python3", "-I", "-S", "-c", """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""]


def need(program):
    """Skip the test without a program."""
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")


def other_user(hone, number):
    """The arguments of hone.run() by which this user runs the command."""
    who = {"user": number, "group": number, "extra_groups": []}
    try:
        done = hone.run("--version", **who)
    except (OSError, subprocess.SubprocessError):
        pytest.skip(f"another user cannot run {hone.path}")
    # The loader, if this user cannot read a library.
    if b"Permission denied" in done.stderr:
        pytest.skip(f"another user cannot read the libraries of {hone.path}")
    assert (done.returncode, done.stderr) == (0, b""), done
    return who


# No proxy, netrc or certificate of the machine.
CLEAN = {name: "" for name in ENV if name.lower().endswith("_proxy") or
         name.startswith("AWS_") or
         name in ("NETRC", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR")}
WARNING = re.compile(
    rb"hone: warning: ((?:http|s3|oci)://[^\n]*): http does not protect the "
    rb"image against changes on the way; use https(?: or --expect-file)?\n")


def of_its_build(request, hone, library):
    """Skip in a build without a library, and a test of such a build in the others."""
    has = bool(re.search(rf"\b{library} \d".encode(), hone.version))
    if has == request.node.name.startswith("test_a_build_without_"):
        pytest.skip(f"this hone was built {'with' if has else 'without'} {library}")


def failure(command):
    """The exit status of a failure: for compare, 1 means a difference."""
    return 2 if command == "compare" else 1


class Hone:
    """The command under test."""

    def __init__(self, path):
        self.path = path

    def run(self, *args, before=(), env=(), **kwargs):
        """Run it, behind the words `before`; bytes in, bytes out. With `input`, its
        stdin is a pipe that has these bytes."""
        if "input" not in kwargs:
            kwargs.setdefault("stdin", subprocess.DEVNULL)
        kwargs.setdefault("stdout", subprocess.PIPE)
        kwargs.setdefault("stderr", subprocess.PIPE)
        return subprocess.run([*before, self.path, *args], timeout=TIMEOUT,
                              env=dict(ENV, **dict(env)), check=False,
                              **kwargs)

    def ok(self, *args, **kwargs):
        """Run it; it must succeed and be silent on stderr."""
        done = self.run(*args, **kwargs)
        assert (done.returncode, done.stderr or b"") == (0, b""), done
        return done

    @functools.cached_property
    def version(self):
        """What --version prints. It loads all libraries, which takes 10 ms."""
        return self.ok("--version").stdout

    def need(self, library):
        """Skip if this command was built without a library."""
        if not re.search(rf"\b{library} \d".encode(), self.version):
            pytest.skip(f"this hone was built without {library}")

    def peak(self, *args, code=0, **kwargs):
        """Run it; how it ended, and the KiB that it had at the most."""
        done = self.run(*args, before=PEAK, **kwargs)
        assert done.returncode == code, done
        return done, take_peak(done)

    @functools.cached_property
    def sanitized(self):
        """A sanitizer keeps what is freed, and needs memory of its own."""
        with open(self.path, "rb") as binary:
            return bool(re.search(rb"__[at]san_init", binary.read()))

    def json(self, *args, code=0, **kwargs):
        """Run it; its stdout must be one JSON text in UTF-8."""
        done = self.run(*args, **kwargs)
        assert (done.returncode, done.stderr) == (code, b""), done
        return json.loads(done.stdout.decode("utf-8"))

    def fails(self, *args, code=None, **kwargs):
        """Run it; it must fail and say why in exactly one line."""
        done = self.run(*args, **kwargs)
        assert done.returncode == (code or failure(args[0])), done
        assert not done.stdout, done
        return error_line(done.stderr)

    def misused(self, *args, **kwargs):
        """Run it; it must exit 2, name the mistake and point at the help."""
        done = self.run(*args, **kwargs)
        assert done.returncode == 2, done
        assert not done.stdout, done
        text = done.stderr.decode("utf-8", "surrogateescape")
        match = re.fullmatch(r"(hone: [^\n]+)\n(?:Try '[^\n]+--help'\.\n)?", text)
        assert match, done
        return match.group(1)

    def start(self, *args, **kwargs):
        """Start it and come back at once."""
        return subprocess.Popen([self.path, *args], env=ENV,
                                stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **kwargs)


class Web(Hone):
    """The command for addresses, with no settings of the user."""

    def __init__(self, path, home):
        super().__init__(path)
        self.hone = Hone(path)
        self.home = home

    def run(self, *words, env=(), **kwargs):
        """Run it. Returns the result with the warnings cut out of stderr."""
        done = super().run(*words, env={**CLEAN, "HOME": str(self.home), **dict(env)},
                           **kwargs)
        done.warned = len(WARNING.findall(done.stderr))
        done.stderr = WARNING.sub(b"", done.stderr)
        return done

    def copies(self, server, out, *words, url=None, **kwargs):
        """A raw copy must have the bytes of the server."""
        name = out / f"copy{len(os.listdir(out))}"
        self.ok("convert", "-q", "-f", "raw", "-O", "raw", *words,
                url or server.url(), name, **kwargs)
        assert name.read_bytes() == server.content
        name.unlink()

    def refuses(self, server, out, *words, url=None, code=1, **kwargs):
        """A copy must fail, and leave nothing."""
        said = self.fails("convert", "-q", "-f", "raw", "-O", "raw", *words,
                          url or server.url(), out / "never", code=code, **kwargs)
        assert not os.listdir(out)
        return said


def piped(method, path, *words, **kwargs):
    """Call a method of Hone with a pipe as stdin, which has the bytes of a file."""
    with open(path, "rb") as file:
        return method(*words, input=file.read(), **kwargs)


def take_peak(done):
    """The figure of PEAK, which is taken off stderr."""
    done.stderr, kib = re.fullmatch(rb"(.*\n|)(\d+)\n", done.stderr, re.DOTALL).groups()
    return int(kib)


def error_line(stderr):
    """The one line `hone: NAME: what is wrong` that stderr must be."""
    text = stderr.decode("utf-8", "surrogateescape")
    assert re.fullmatch(r"hone: [^\n]+\n", text), text
    return text[:-1]


def write(folder, name, data):
    """A file of these bytes."""
    path = folder / name
    path.write_bytes(data)
    return path


def stamp(path):
    """What must not change in a source."""
    stat = os.stat(path)
    return (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_mode)


def snapshot(directory):
    """Names, kinds and contents of a directory, symlinks unfollowed."""
    found = {}
    for entry in os.scandir(directory):
        mode = entry.stat(follow_symlinks=False).st_mode
        found[entry.name] = (
            entry.inode(), mode,
            os.readlink(entry) if modes.S_ISLNK(mode) else
            open(entry, "rb").read() if modes.S_ISREG(mode) else None)
    return found


def assert_same(source, output, fmt):
    """The output holds the source's bytes, and is sound inside."""
    if fmt == "qcow2":
        image = qcow2_reader.Qcow2(output)
        image.check()
        size = os.stat(source).st_size
        assert image.size == (size + 511) // 512 * 512
        image.assert_holds(source)
        return
    assert os.stat(output).st_size == os.stat(source).st_size
    at = extents.first_difference(source, output)
    assert at is None, f"{output} differs from {source} at {at}"


def converted(hone, out, *words, **kwargs):
    """The disk that convert writes."""
    hone.ok("convert", "-q", *words, out / "converted", **kwargs)
    data = (out / "converted").read_bytes()
    os.unlink(out / "converted")
    return data


def assert_reads_as(hone, image, plain, out, *options, sized=True, **kwargs):
    """Each command reads an image as it reads `plain`, a file of the same size. The
    options are for the image. One without a size has it at its end alone."""
    def found(command, path, *words, **how):
        return hone.json(command, "--json", *words, path, **how)
    for threads, form in ("1", "raw"), ("3", "qcow2"), ("3", "raw"), ("1", "qcow2"):
        hone.ok("convert", "-q", "--force", *options, "-m", threads, "-O", form, image,
                out / form, **kwargs)
        hone.ok("compare", "-q", plain, out / form)
        os.unlink(out / form)
    hone.ok("compare", "-q", "--strict", *options, image, plain, **kwargs)
    hone.ok("compare", "-q", "--strict", *options, plain, image, **kwargs)
    if b" with OpenSSL " in hone.version:
        assert found("digest", image, *options, **kwargs)["digests"] == (
            found("digest", plain)["digests"])
    maps = found("map", image, *options, **kwargs), found("map", plain)
    data, rest = ([sum(extent["length"] for extent in extents
                       if (extent["kind"] == "data") == is_data) for extents in maps]
                  for is_data in (True, False))
    assert data[0] == data[1] and rest[0] == rest[1]
    info, plain_info = found("info", image, *options, **kwargs), found("info", plain)
    assert info["format"] == plain_info["format"]
    assert info["virtual_size"] == (plain_info["virtual_size"] if sized else None)
    assert found("check", image, *options, **kwargs)["safe"]


class Stalled:
    """`hone` held in the middle of its work, without a clock.

    The pipe given as --progress-fd has room for two or three lines more, so
    the command sleeps in write(2) until somebody reads from it.
    """
    ROOM = 12

    def __init__(self, hone, *args):
        self.reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE)
        os.write(writer, b"\n" * (PIPE - self.ROOM))
        self.process = hone.start(*args, "--progress-fd", str(writer),
                                  pass_fds=[writer])
        os.close(writer)

    def __enter__(self):
        end = time.monotonic() + TIMEOUT
        while self.queued() < PIPE - 6 or not self.sleeps():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end, "never wrote its progress"
            time.sleep(0.001)
        return self

    def queued(self):
        """Bytes that wait in the pipe."""
        answer = fcntl.ioctl(self.reader, termios.FIONREAD, b"\0" * 4)
        return struct.unpack("i", answer)[0]

    def sleeps(self):
        """Whether the command has come to rest in its write."""
        with open(f"/proc/{self.process.pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[0] == b"S"

    @contextlib.contextmanager
    def stopped(self):
        """No thread of the command runs meanwhile. Without this, the threads
        beside the one that writes the progress go on."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)
        yield
        self.process.send_signal(signal.SIGCONT)

    def go_on(self):
        """Let the command finish; returns (status, stdout, stderr)."""
        while os.read(self.reader, PIPE):
            pass
        out, err = self.process.communicate(timeout=TIMEOUT)
        return self.process.returncode, out, err

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        os.close(self.reader)


def listening(path=None, host="127.0.0.1"):
    """A socket that listens: at a path, or on a port that the kernel chooses.
    A server inherits it, so the port is never free for another program, and a
    client that connects before the server has begun is served later."""
    if path:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
    else:
        listener = socket.socket()
        listener.bind((host, 0))
    listener.listen(64)
    return listener


def free_port():
    """A port that was free, for servers that take no socket. Another program
    may take it before the server does: use activated() where it is possible."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def activated(words, listener, **how):
    """Start a server that takes a socket as systemd gives it."""
    def give():
        os.dup2(listener.fileno(), 3)
        os.set_inheritable(3, True)
        os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
    return subprocess.Popen([str(word) for word in words], close_fds=False,
                            preexec_fn=give, stdin=subprocess.DEVNULL, **how)
