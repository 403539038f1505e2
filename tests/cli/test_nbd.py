# SPDX-License-Identifier: BSD-3-Clause
"""Exports of NBD servers, as source and as destination."""
# The cases of the tests of libnbd's nbdcopy (its folder copy/, November 2026) are here,
# those of files in test_convert.py, that of its bar in test_progress.py, but for what
# hone does not have: the target null:, --allocated, --no-extents, --request-size and
# --verbose. Two differ: an export is not copied to itself, and a source of zeros that
# cannot be read is an error, since the first bytes say whether it is a disk.
import contextlib
import mmap
import os
import random
import re
import signal
import socket
import struct
import subprocess
import tarfile
import threading
import time

import pytest

import http_server
import nbd_server
from harness import (
    ENV, TIMEOUT, activated, assert_reads_as, error_line, free_port, listening, need,
    of_its_build, write)
from images import KI, MI, pieces
from test_device import (  # pylint: disable=unused-import
    attach, content, loop, write_sparse)

AGAIN = 4


@pytest.fixture(autouse=True)
def library(request, hone):
    """Skips in a build without libnbd; one test is of that build."""
    of_its_build(request, hone, "libnbd")


def test_a_build_without_libnbd_says_so(hone, small, out):
    for address in ("nbd://127.0.0.1:1/a", "nbd+unix:///?socket=/nowhere",
                    "nbds://127.0.0.1:1/a"):
        for words in (["info", address], ["compare", small, address],
                      ["convert", address, out / "d"],
                      ["convert", small, address]):
            said = hone.fails(*words)
            assert f"{address}: needs libnbd" in said, said
            assert "install libnbd-dev" in said, said
    assert not os.listdir(out)


def disk(size=6 * MI, seed=5):
    """Data, zeros and holes, all mixed."""
    rand = random.Random(seed)
    data = bytearray(size)
    at = 0
    while at < size:
        n = min(rand.choice([512, 4096, 70000, MI]), size - at)
        if rand.random() < .5:
            data[at:at + n] = rand.randbytes(n)
        at += n
    return data


@pytest.fixture
def source(work):
    """A sparse file of that disk."""
    return write_sparse(work / "source.img", disk())


@contextlib.contextmanager
def running(words, listener):
    """A server of a socket that listens already; it is ended with the block."""
    need(words[0])
    with listener, activated(words, listener, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL) as server:
        listener.close()
        try:
            yield server
        finally:
            server.kill()


@contextlib.contextmanager
def qemu_nbd(path, work, *words, fmt="raw"):
    """The address of a file that QEMU exports."""
    at = work / "qemu.sock"
    with running(["qemu-nbd", "-t", "-e", "8", "-f", fmt, *words, path], listening(at)):
        yield f"nbd+unix:///?socket={at}"
    at.unlink()


@contextlib.contextmanager
def nbdkit(work, *words, query=""):
    """The address of an export of nbdkit."""
    at = work / "kit.sock"
    with running(["nbdkit", "-f", *words], listening(at)):
        yield f"nbd+unix:///?socket={at}{query}"
    at.unlink()


def test_an_export_is_read(hone, source, work, out):
    with qemu_nbd(source, work, "-r") as url:
        assert_reads_as(hone, url, source, out)
        for threads in [], ["-m", "1"], ["-m", "3"]:
            hone.ok("convert", "-q", "--force", *threads, url, out / "raw")
            assert (out / "raw").read_bytes() == source.read_bytes()
            assert os.stat(out / "raw").st_blocks <= os.stat(source).st_blocks + 64
            data = hone.ok("convert", "-q", *threads, "-O", "qcow2", url, "-").stdout
            hone.ok("compare", "-q", "-", source, input=data)
            # The holes are those of the export.
            assert len(data) < os.stat(source).st_size


def test_holes_are_those_that_the_server_reports(hone, source, work):
    with qemu_nbd(source, work, "-r") as url:
        at_home = hone.json("map", "--json", source)
        served = hone.json("map", "--json", url)
        assert served == at_home
        info = hone.json("info", "--json", url)
    assert info["virtual_size"] == os.stat(source).st_size
    assert info["disk_usage"] <= os.stat(source).st_blocks * 512


def test_a_qcow2_file_may_lie_in_an_export(hone, source, work):
    hone.ok("convert", "-q", "-c", source, work / "x.qcow2")
    with qemu_nbd(work / "x.qcow2", work, "-r") as url:
        hone.ok("convert", "-q", url, work / "out.raw")
        hone.ok("check", "-q", url)
        hone.ok("convert", "-q", "--untrusted", url, work / "once.raw")
    assert (work / "out.raw").read_bytes() == source.read_bytes()
    assert (work / "once.raw").read_bytes() == source.read_bytes()


def test_an_untrusted_raw_export_keeps_its_holes(hone, source, work):
    with qemu_nbd(source, work, "-r") as url:
        done = hone.json("convert", "--json", "--untrusted", url, work / "out.raw")
        assert done["hole_bytes"] == hone.json(
            "convert", "--json", source, work / "home.raw")["hole_bytes"]
    assert (work / "out.raw").read_bytes() == source.read_bytes()
    # A raw disk in an archive has the holes of the export, too.
    with tarfile.open(work / "disk.tar", "w") as tar:
        tar.add(work / "home.raw", "disk.raw")
    subprocess.run(["fallocate", "--dig-holes", work / "disk.tar"], check=True)
    with qemu_nbd(work / "disk.tar", work, "-r") as url:
        done = hone.json("convert", "--json", "--untrusted", "--member", "disk.raw",
                         url, work / "member.raw")
    assert done["hole_bytes"] == hone.json(
        "convert", "--json", "--force", work / "disk.tar", work / "home.raw"
    )["hole_bytes"] > MI
    assert (work / "member.raw").read_bytes() == source.read_bytes()


def test_an_export_has_a_name_and_a_port(hone, work):
    listener = listening()
    port = listener.getsockname()[1]
    with running(["nbdkit", "-f", "-e", "disk", "pattern", "3M"], listener):
        hone.ok("convert", "-q", f"nbd://127.0.0.1:{port}/disk", work / "out.raw")
    data = (work / "out.raw").read_bytes()
    assert data == b"".join(at.to_bytes(8, "big") for at in range(0, 3 * MI, 8))


def test_the_name_of_an_export_packs_nothing(hone, source, work):
    """An export has a fixed size."""
    target = write(work, "b.raw", bytes(source.stat().st_size))
    listener = listening()
    address = f"nbd://127.0.0.1:{listener.getsockname()[1]}/disk.img.gz"
    with running(["qemu-nbd", "-t", "-f", "raw", "-x", "disk.img.gz", target],
                 listener):
        assert "a packed disk is written to a file" in hone.fails(
            "convert", "-O", "raw", "--pack", "gz", source, address)
        hone.ok("convert", "-q", "-O", "raw", source, address)
    assert target.read_bytes() == source.read_bytes()


def stale(path, size):
    path.write_bytes(b"\xa5" * size)
    return path


def test_between_exports_and_through_pipes(hone, source, work):
    (work / "far").mkdir()
    data = source.read_bytes()
    target = stale(work / "target.img", len(data) + MI)
    with qemu_nbd(source, work, "-r") as url, qemu_nbd(target, work / "far") as other:
        hone.ok("convert", "-q", "-f", "raw", url, other)
        assert target.read_bytes() == data + bytes(MI)
        assert hone.ok("convert", "-q", "-f", "raw", "-O", "raw", url,
                       "-").stdout == data
        turned = data[::-1]
        hone.ok("convert", "-q", "-f", "raw", "-", other, input=turned)
        assert target.read_bytes() == turned + bytes(MI)


def test_between_a_device_and_an_export(hone, source, work, loop):
    device, small = loop(7 * MI), loop(MI)
    data = source.read_bytes()
    with qemu_nbd(source, work, "-r") as url:
        hone.ok("convert", "-q", "-f", "raw", url, device)
        assert "has 1048576 bytes, and the image has 6291456" in hone.fails(
            "convert", "-f", "raw", url, small)
    assert content(device) == data + bytes(MI)
    target = stale(work / "target.img", 7 * MI)
    with qemu_nbd(target, work) as url:
        hone.ok("convert", "-q", "-f", "raw", device, url)
    assert target.read_bytes() == data + bytes(MI)


def test_zeros_need_no_write(hone, work):
    """Nor anything where they are already."""
    image = work / "image.img"
    pieces(image, 5 * MI)
    broken = ["error-pwrite=EIO", "error-pwrite-rate=100%"]
    with nbdkit(work, "--filter=error", "memory", "6M", *broken) as url:
        hone.ok("convert", "-q", "-f", "raw", image, url)
    with nbdkit(work, "--filter=error", "memory", "6M", *broken,
                "error-zero=EIO", "error-zero-rate=100%") as url:
        hone.ok("convert", "-q", "-f", "raw", "--target-is-zero", image, url)


def test_the_largest_export_is_a_destination(hone, source, work):
    """7 EiB. On demand, its rest is not zeroed, nor asked about."""
    with nbdkit(work, "null", "7E") as url:
        hone.ok("convert", "-q", "--keep-rest", source, url)
    for words, asked in (["-q"], False), (["--json"], True), ([], True):
        with serve(work, bytearray(7 * MI)) as server:
            hone.ok("convert", *words, "--keep-rest", source, server.url)
        kinds = [request[0] for request in server.requests]
        assert (nbd_server.BLOCK_STATUS in kinds) == asked, words


@pytest.mark.parametrize("more", [0, 1, 512, 3 * MI])
@pytest.mark.parametrize("threads", [(), ("-m", "1")])
def test_what_an_export_had_never_shows(hone, source, work, more, threads):
    size = os.stat(source).st_size
    target = stale(work / "target.img", size + more)
    with qemu_nbd(target, work) as url:
        done = hone.ok("convert", "--verify", *threads, source, url)
    assert b"; verified" in done.stdout
    data = target.read_bytes()
    # qemu-nbd serves whole sectors
    assert data[:size] == source.read_bytes()
    assert not data[size:].strip(b"\0" if more != 1 else b"\0\xa5")


@pytest.mark.parametrize("words", [
    (), ("--filter=nozero",), ("--filter=nozero", "zeromode=plugin"),
    ("--filter=noextents",), ("--filter=multi-conn",),
    ("--filter=blocksize-policy", "blocksize-minimum=4096",
     "blocksize-error-policy=error"),
    ("--filter=blocksize-policy", "blocksize-minimum=64K",
     "blocksize-preferred=64K", "blocksize-maximum=128K",
     "blocksize-error-policy=error"),
    ("--filter=error", "error-zero=EINVAL", "error-zero-rate=100%")])
@pytest.mark.parametrize("fmt", ["raw", "qcow2"])
def test_any_server_takes_an_image(hone, work, words, fmt):
    """Zeros are written where it cannot zero; blocks are whole where it wants
    that."""
    image = work / "image.img"
    # codecs shorten it by half, and its last block is not whole
    data = bytearray(random.Random(8).randbytes(MI + 768).hex().encode())
    data[300 * KI:900 * KI] = bytes(600 * KI)
    image.write_bytes(data)
    target = stale(work / "target.img", 4 * MI)
    with nbdkit(work, *[w for w in words if w.startswith("--")], "file",
                target, *[w for w in words if "--" not in w]) as url:
        hone.ok("convert", "-q", "--verify", "-O", fmt, image, url)
        hone.ok("compare", "-q", "-F", fmt, image, url)
        if fmt == "qcow2":
            hone.ok("convert", "-q", "--verify", "-c", "-O", fmt, image, url)
            hone.ok("check", "-q", url)
    data = target.read_bytes()
    if fmt == "raw":
        size = os.stat(image).st_size
        assert data[:size] == image.read_bytes()
        assert not any(data[size:])
    assert b"\xa5\xa5\xa5\xa5" not in data


def wait_for(condition):
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end
        time.sleep(.01)


def test_nbd_server_is_a_server_too(hone, source, work):
    size = os.stat(source).st_size
    target = stale(work / "target.img", size)
    config, pid, at = work / "config", work / "pid", work / "nbd.sock"
    # It always takes a port, too, and no socket of systemd.
    config.write_text(f"[generic]\nlistenaddr = 127.0.0.1\n"
                      f"port = {free_port()}\nunixsock = {at}\n"
                      f"[disk]\nexportname = {target}\n")
    need("nbd-server")

    def answers():
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(at)) == 0
    # It goes into the background. In the foreground it serves one client.
    subprocess.run(["nbd-server", "-C", config, "-p", pid], check=True,
                   stderr=subprocess.DEVNULL)
    try:
        wait_for(answers)
        url = f"nbd+unix:///disk?socket={at}"
        hone.ok("convert", "-q", "--verify", source, url)
        hone.ok("convert", "-q", url, work / "out.raw")
    finally:
        wait_for(lambda: pid.exists() and pid.read_text().strip())
        os.kill(int(pid.read_text()), signal.SIGTERM)
    assert target.read_bytes() == source.read_bytes()
    assert (work / "out.raw").read_bytes() == source.read_bytes()


def test_a_longer_image_is_refused(hone, source, work):
    target = stale(work / "target.img", MI)
    with qemu_nbd(target, work) as url:
        line = hone.fails("convert", source, url)
        assert "has 1048576 bytes, and the image has 6291456" in line
        assert "is the source itself" in hone.fails("convert", "-f", "raw", url, url)
    assert target.read_bytes() == b"\xa5" * MI
    with qemu_nbd(target, work, "-r") as url:
        assert "the server exports it read-only" in hone.fails("convert", source, url)


@pytest.mark.parametrize("more", [[], ["--untrusted"]], ids=" ".join)
def test_an_export_is_not_copied_to_itself(hone, work, more):
    """However its address is written."""
    target = stale(work / "target.img", 3 * MI)
    at, link = work / "qemu.sock", work / "link"
    link.symlink_to(at)
    with qemu_nbd(target, work, "-x", "disk") as url:
        url = url.replace("///", "///disk")
        for other in (f"nbd+unix:///disk?socket={link}",
                      f"NBD+Unix:///d%69sk?socket={work}/./%71emu.sock",
                      f"nbd+unix:///disk%00more?socket={at}%00more",
                      f"nbds+unix://host/disk?socket={at}"):
            assert hone.fails("convert", "-f", "raw", *more, url, other).endswith(
                "is the source itself"), other
        for other in (f"nbd+unix:///?socket={at}",
                      f"nbd+unix:///disk?socket={work}/other"):
            assert "cannot be opened" in hone.fails(
                "convert", "-f", "raw", *more, url, other), other
    assert target.read_bytes() == b"\xa5" * 3 * MI


def test_an_export_of_a_host_is_not_copied_to_itself(hone, work):
    target = stale(work / "target.img", 3 * MI)
    with listening() as listener:
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        with running(["qemu-nbd", "-t", "-e", "8", "-f", "raw", target], listener):
            for other in f"{host}/", f"user@{host.replace(':', ':0')}":
                assert hone.fails("convert", "-f", "raw", f"nbd://{host}",
                                  f"NBD://{other}").endswith("is the source itself")
    assert target.read_bytes() == b"\xa5" * 3 * MI


@pytest.mark.parametrize("source", ["export", "web server"])
def test_one_disk_under_two_names_keeps_its_bytes(hone, work, source):
    """No comparison of their names shows that they are the same."""
    data = disk(5 * MI)
    data[:6000] = data[-6000:] = b"table " * 1000
    target = write(work, "target.img", data)
    if source == "export":
        # nbdkit takes any name for that of its only export.
        with nbdkit(work, "file", target) as url:
            for words in (["-n", url, target], [url, url.replace("///", "///other")]):
                hone.ok("convert", "-q", "-f", "raw", *words)
                assert target.read_bytes() == data
    else:
        with open(target, "rb") as file, mmap.mmap(
                file.fileno(), 0, prot=mmap.PROT_READ) as content:
            with http_server.Server(content) as server:
                done = hone.run("convert", "-q", "-n", "-f", "raw",
                                server.url(), target)
                assert done.returncode == 0, done
    assert target.read_bytes() == data


@pytest.mark.parametrize("address, reason", [
    ("nbd:localhost:10809", "write nbd://HOST"),
    ("nbd://u:secret@h/?tls-psk-file=/etc/passwd", "names no file"),
    ("nbd+unix:///?socket={sock}&tls-psk-file=/etc/passwd", "names no file"),
    ("nbds+unix:///?tls-certificates=/etc&socket={sock}", "names no file"),
    ("nbd+unix:///?socket={sock}&tls-verify-peer=false", "--tls-certificates"),
    ("nbd+unix:///?socket={sock};color=red&a=b",
     "its query has 'color'; only socket=SOCKET is allowed"),
    ("nbd+unix:///?Socket={sock}", "its query has 'Socket'; only"),
    ("nbd://127.0.0.1:1/?%73ocket={sock}", "its query has '%73ocket'; only"),
    ("NBD+Unix:///?socket={sock}", "No such file"),
    ("NBD://u:secret@127.0.0.1:1/?x", "its query has 'x'; only"),
    ("nbd+unix:///", "cannot be opened"),
    ("nbd+unix:///?socket={sock}", "No such file")])
def test_an_address_that_is_not_valid(hone, work, address, reason):
    url = address.format(sock=work / "none.sock")
    line = hone.fails("info", url)
    assert reason in line and "secret" not in line
    assert "needs nbds://" in hone.fails(
        "info", "--tls-psk", "x", f"nbd+unix:///?socket={work}/none")


def test_errors_of_the_server_are_reported(hone, source, work):
    with nbdkit(work, "--filter=error", "pattern", "1M", "error-pread=EIO",
                "error-pread-rate=100%") as url:
        assert re.search(r"cannot be read at offset \d+: the server reports: "
                         r"Input/output error",
                         hone.fails("convert", "-f", "raw", url, work / "out"))
    assert not (work / "out").exists()
    for what, verb in ("pwrite", "written"), ("zero", "zeroed"):
        with nbdkit(work, "--filter=error", "memory", "8M",
                    f"error-{what}=ENOSPC", f"error-{what}-rate=100%") as url:
            assert re.search(rf"cannot be {verb} at offset \d+: the server "
                             "reports: No space left",
                             hone.fails("convert", source, url))
    # block status is not needed
    with nbdkit(work, "--filter=error", "pattern", "1M", "error-extents=EIO",
                "error-extents-rate=100%") as url:
        hone.ok("convert", "-q", "-f", "raw", url, work / "out")


def test_a_filter_that_tries_again(hone, source, work):
    """The reads of a plugin fail at first; clients only wait."""
    broken = work / "broken"
    broken.touch()
    with nbdkit(work, "--filter=retry", "--filter=error", "file", source,
                "retry-delay=1", "retry-exponential=no", "error-pread=EIO",
                "error-pread-rate=100%", f"error-pread-file={broken}") as url:
        with subprocess.Popen([
                hone.path, "convert", "-q", "-f", "raw", url, work / "out"],
                env=ENV) as copy:
            # The copy does not end before the plugin reads again.
            with pytest.raises(subprocess.TimeoutExpired):
                copy.wait(.5)
            broken.unlink()
            assert copy.wait(TIMEOUT) == 0
    assert (work / "out").read_bytes() == source.read_bytes()


def test_a_filter_that_takes_small_requests(hone, source, work):
    """A plugin of sectors below a filter that cuts and joins requests."""
    target = stale(work / "target.img", os.stat(source).st_size)
    with nbdkit(work, "--filter=blocksize", "--filter=delay", "file", target,
                "minblock=4K", "maxdata=64K", "maxlen=64K", "wdelay=5ms",
                "delay-zero=5ms") as url:
        hone.ok("convert", "-q", "--verify", source, url)
    assert target.read_bytes() == source.read_bytes()


def test_a_server_that_ends_with_its_last_client(hone, source, work):
    at = work / "kit.sock"
    with running(["nbdkit", "-f", "--filter=exitlast", "file", source],
                 listening(at)) as server:
        hone.ok("convert", "-q", "-f", "raw", f"nbd+unix:///?socket={at}", work / "out")
        # The command has ended its connections, and leaves none open.
        assert server.wait(TIMEOUT) == 0
    assert (work / "out").read_bytes() == source.read_bytes()


def test_a_server_that_ends_in_the_middle(hone, source, work):
    """It is killed while a read waits, and nobody comes after it."""
    log, at = work / "log", work / "kit.sock"
    with running(["nbdkit", "-f", "--filter=log", "--filter=delay", "file",
                  source, "delay-read=3600", f"logfile={log}"],
                 listening(at)) as server:
        with subprocess.Popen([
                hone.path, "convert", "-q", "-f", "raw",
                f"nbd+unix:///?socket={at}", work / "out"], env=ENV,
                stderr=subprocess.PIPE) as copy:
            end = time.monotonic() + TIMEOUT
            while not log.exists() or " Read " not in log.read_text():
                assert copy.poll() is None and time.monotonic() < end
                time.sleep(0.01)
            server.kill()
            said = copy.communicate(timeout=TIMEOUT)[1]
    assert copy.returncode == AGAIN, said
    error_line(said)
    assert not (work / "out").exists()


def extents(data):
    """What a server says of the disk, in blocks of 64 KiB."""
    def answer(offset, length):
        found = []
        while length > 0:
            n = min(64 * KI - offset % (64 * KI), length)
            hole = not any(data[offset:offset + n])
            found.append((n, 3 if hole else 0))
            offset, length = offset + n, length - n
        return found
    return answer


def serve(work, data, *args, **how):
    how.setdefault("extents", extents(data))
    return nbd_server.Server(work / "our.sock", data, *args, **how)


def test_only_zeros_are_holes(hone, work):
    """A hole may have any bytes; data may be zero."""
    data = bytearray(random.Random(4).randbytes(4 * MI))
    data[2 * MI:3 * MI] = bytes(MI)
    with serve(work, data, extents=lambda offset, length: [
            (2 * MI, 1), (MI, 2), (MI, 0)]) as server:
        hone.ok("convert", "-q", "-f", "raw", server.url, work / "out")
        assert not [r for r in server.requests if r[0] == nbd_server.READ and
                    2 * MI <= r[1] < 3 * MI]
    assert (work / "out").read_bytes() == data


@pytest.mark.parametrize("flags", [0, nbd_server.CAN_FLUSH])
def test_a_destination_is_flushed_after_the_last_write(hone, source, work, flags):
    size = os.stat(source).st_size
    with serve(work, bytearray(b"\xa5" * size), flags) as server:
        hone.ok("convert", "-q", source, server.url)
    kinds = [request[0] for request in server.requests]
    # The first is the one before the first and the last MiB are written.
    assert kinds.count(nbd_server.FLUSH) == 2 * bool(flags)
    if flags:
        assert max(at for at, kind in enumerate(kinds)
                   if kind == nbd_server.FLUSH) > max(
            at for at, kind in enumerate(kinds) if kind == nbd_server.WRITE)
    assert nbd_server.WRITE_ZEROES not in kinds and 4 not in kinds
    assert server.disk == source.read_bytes()


def test_an_export_has_its_ends_only_with_the_content_that_is_expected(
        hone, source, work):
    size = os.stat(source).st_size
    target = stale(work / "target.img", size)
    digest = hone.ok("digest", source).stdout.split()[0].decode()
    with qemu_nbd(target, work) as url:
        assert "the content is refused" in hone.fails(
            "convert", "--expect-content", "sha256:" + 64 * "0", source, url, code=3)
        data = target.read_bytes()
        assert not any(data[:MI]) and not any(data[-MI:])
        assert data[MI:-MI] == source.read_bytes()[MI:-MI]
        hone.ok("convert", "-q", "--expect-content", "sha256:" + digest, source, url)
    assert target.read_bytes() == source.read_bytes()


MULTI = nbd_server.CAN_FLUSH | nbd_server.CAN_ZERO | nbd_server.CAN_MULTI


def connections_of(server):
    """How many it had. It takes them in their order."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.connect(server.path)
        assert probe.recv(8) == b"NBDMAGIC"
    return server.connections - 1


@pytest.mark.parametrize("flags, connections", [(nbd_server.CAN_FLUSH, 1), (MULTI, 4)])
@pytest.mark.parametrize("kind", [nbd_server.READ, nbd_server.WRITE])
def test_requests_are_many_and_large(hone, work, kind, flags, connections):
    """Of two threads, too; over several connections if they are allowed. No long
    request is answered before eight of them wait."""
    data = random.Random(3).randbytes(16 * MI)
    waiting, most = [], []

    def later(length, *answer, **how):
        with server.lock:
            waiting.append((answer, how))
            most.append(len(waiting))
            while waiting and (length < 256 * KI or max(most) >= 8):
                (connection, cookie), more = waiting.pop()
                connection.answer(cookie, **more)
        return True

    def read(connection, cookie, offset, length):
        return later(length, connection, cookie, data=data[offset:offset + length],
                     offset=offset)

    def wrote(connection, cookie):
        return later(256 * KI, connection, cookie)

    file = work / "file"
    words = ["-f", "raw", None, file]
    disk = bytearray(data)
    if kind == nbd_server.WRITE:
        file.write_bytes(data)
        words, disk = [file, None], bytearray(len(data))
    with serve(work, disk, flags, read=read, wrote=wrote, extents=None) as server:
        hone.ok("convert", "-q", "-m", "2", "--timeout", "20",
                *(word or server.url for word in words))
        assert connections_of(server) == connections
    assert file.read_bytes() == server.disk == data
    lengths = [length for asked, _, length in server.requests if asked == kind]
    assert sum(lengths) <= len(data) + MI * (kind == nbd_server.READ)
    assert len([length for length in lengths if length >= 256 * KI]) == 64
    assert max(most) >= 8


def test_a_connection_that_is_lost_is_made_again(hone, work):
    """The server closes one connection at each message."""
    data = disk(3 * MI, 2)
    with serve(work, data) as server:
        hone.ok("convert", "-q", "-f", "raw", server.url, work / "out")
        messages = server.messages
    assert messages > 12
    for number in range(messages):
        os.unlink(work / "out")
        with serve(work, data, close_at=number, lives=1) as server:
            done = hone.run("convert", "-q", "-f", "raw", server.url, work / "out")
            if done.returncode == 0:
                assert server.closed == 1
                assert (work / "out").read_bytes() == data
                continue
            # the first handshake is not tried again
            assert done.returncode == AGAIN and number < 7, (number, done)
            assert "cannot be opened" in error_line(done.stderr)
            (work / "out").touch()


def test_a_trace_shows_each_request_and_a_lost_connection(hone, work):
    data = disk(MI, 2)
    with serve(work, data, close_after=2, lives=1) as server:
        done = hone.run("convert", "-q", "--trace", "nbd", "-f", "raw",
                        server.url, work / "out")
    assert done.returncode == 0 and server.closed == 1
    assert (work / "out").read_bytes() == data
    lines = re.findall(r"hone: trace \d+\.\d{3}: ([^\n]+)\n", done.stderr.decode())
    assert len(lines) == done.stderr.count(b"\n"), done.stderr
    begins = f"connection 1 to {server.url} begins"
    ready = ("connection 1 is ready: 1048576 bytes, block status yes, zeroing "
             "yes, more connections no")
    assert lines[:2] == [begins, ready]
    assert lines.count(begins) == lines.count(ready) == 2
    lost = [line for line in lines if line.startswith("connection 1 is lost: ")]
    assert len(lost) == 1
    # Each request is answered once, and was sent again if it was lost.
    ends = [line.partition(": ") for line in lines if " of " in line]
    sent = [what for what, _, end in ends if not end]
    assert len(sent) == len([end for _, _, end in ends if end])
    assert {end for _, _, end in ends} == {"", "answered", "lost"}
    assert sum("read of" in what for what in sent) >= 4


def test_a_destination_is_written_over_lost_connections(hone, work):
    image = write(work, "image.img", disk(2 * MI, 7))
    had = b"\xa5" * (3 * MI)
    with serve(work, bytearray(had)) as server:
        hone.ok("convert", "-q", image, server.url)
        messages = server.messages
    for number in range(7, messages):
        with serve(work, bytearray(had), close_at=number, lives=2) as server:
            hone.ok("convert", "-q", image, server.url)
        assert server.disk == image.read_bytes() + bytes(MI)


def endless_data(connection, cookie, offset, length):
    while True:
        connection.chunk(cookie, 1, offset.to_bytes(8, "big") + bytes(length), False)


def endless_status(connection, cookie, *_):
    while True:
        connection.chunk(cookie, 5, struct.pack(">III", 1, 4096, 0), False)


@pytest.mark.parametrize("how", [{"read": endless_data}, {"status": endless_status}],
                         ids=str)
def test_an_answer_without_an_end(hone, work, how):
    with serve(work, disk(256 * KI), **how) as server:
        hone.fails("convert", "-f", "raw", server.url, work / "out", code=AGAIN)


@pytest.mark.parametrize("kind", ["plain", "at an offset"])
def test_errors_without_an_end(hone, work, kind):
    """libnbd takes them as long as they come, in one call, and tells nobody of
    those without an offset."""
    def read(connection, cookie, offset, length):
        assert length
        error = struct.pack(">IH", nbd_server.EIO, 0)
        number = (1 << 15) + 1
        if kind != "plain":
            error += offset.to_bytes(8, "big")
            number += 1
        chunk = struct.pack(
            ">IHHQI", nbd_server.STRUCTURED, 0, number, cookie,
            len(error)) + error
        while True:
            connection.connection.sendall(chunk * 10000)
    with serve(work, disk(), read=read) as server:
        done = hone.run("convert", "--timeout", "1", "-f", "raw", server.url,
                        work / "out")
    assert done.returncode == (AGAIN if kind == "plain" else 1), done
    said = error_line(done.stderr)
    assert ("sends an answer without an end" if kind == "plain" else
            "the server reports: Input/output error") in said, said
    assert not (work / "out").exists()


@pytest.mark.parametrize("size", [1, 511])
def test_parts_of_an_answer_are_counted(hone, work, size):
    """A server may divide its answer by sectors, and not by bytes."""
    data = disk(256 * KI)
    sent = []

    def read(connection, cookie, offset, length):
        for at in range(offset, offset + length, size):
            end = min(at + size, offset + length)
            sent.append(at)
            connection.chunk(cookie, 1, at.to_bytes(8, "big") + data[at:end],
                             end == offset + length)
        return True
    with serve(work, data, read=read) as server:
        if size == 511:
            hone.ok("convert", "-q", "-f", "raw", server.url, work / "out")
            assert (work / "out").read_bytes() == data
            return
        hone.fails("convert", "-f", "raw", server.url, work / "out", code=AGAIN)
    assert not (work / "out").exists()


def test_block_status_of_single_bytes_is_counted(hone, work):
    """A TiB would have as many answers as bytes, each of them in time."""
    with serve(work, bytearray(4 * KI), size=1 << 40,
               read=lambda c, k, o, n: c.answer(k, data=bytes(n), offset=o) or True,
               extents=lambda o, n: [(1, 3 * (o % 2))]) as server:
        line = hone.fails("digest", "-f", "raw", server.url)
        assert len(server.requests) < 3000
    assert "describes ranges of less than 512 bytes, such as that at offset" in (
        line), line


def test_a_handshake_of_single_bytes(hone, work):
    with serve(work, disk()) as server:
        def slow(connection):
            with contextlib.suppress(OSError):
                for byte in b"NBDMAGIC" * 9:
                    connection.sendall(bytes([byte]))
                    # Each byte comes in time, and not all of them.
                    time.sleep(.4)
        server.serve = slow
        line = hone.fails("info", "--timeout", "1", server.url, code=AGAIN)
    assert line.endswith("the server did not answer for 1 second")


def test_a_look_at_the_header_takes_one_connection(hone, work):
    """Servers log connections that end before a request."""
    with serve(work, disk(), MULTI) as server:
        hone.ok("info", "-f", "raw", server.url)
        hone.ok("info", server.url)
        assert connections_of(server) == 2


def test_a_server_with_fewer_connections_than_it_allows(hone, work):
    """The other ones wait for a handshake, and nobody for them, also when
    their time is over. The server takes longer for all answers together."""
    data = disk(2 * MI)

    def read(connection, cookie, offset, length):
        time.sleep(.35)
        connection.answer(cookie, data=data[offset:offset + length], offset=offset)
        return True
    with serve(work, data, MULTI, read=read, extents=None) as server:
        serving = server.serve
        server.serve = lambda connection: (
            serving(connection) if server.connections == 1 else None)
        hone.ok("convert", "-q", "--timeout", "2", "-f", "raw", server.url,
                work / "out")
    assert (work / "out").read_bytes() == data


def test_handshakes_are_finished_before_the_end(hone, work):
    """nbdkit 1.32 with --filter=multi-conn ends otherwise. The server begins the
    others when the first one was left."""
    data = disk(8 * MI)
    left, ends = threading.Event(), []
    with serve(work, data, MULTI) as server:
        def serving(connection):
            first = server.connections == 1
            if not first:
                left.wait(TIMEOUT)
            with connection:
                peer = nbd_server.Connection(server, connection)
                try:
                    peer.run()
                    ends.append(True)
                except (nbd_server.Closed, OSError):
                    ends.append(False)
            if first:
                left.set()
        server.serve = serving
        hone.ok("convert", "-q", "-f", "raw", server.url, work / "out")
        wait_for(lambda: len(ends) == server.connections)
    assert len(ends) > 1 and all(ends)


def test_another_size_after_a_lost_connection(hone, work):
    with serve(work, disk(), close_at=9, lives=1, later_size=MI) as server:
        line = hone.fails("convert", "-f", "raw", server.url, work / "out")
    assert "changed while it was in use, from 6291456 to 1048576" in line


LIES = {
    "short": lambda c, k, o, n: c.answer(k, data=bytes(n - 1), offset=o),
    "long": lambda c, k, o, n: c.answer(k, data=bytes(n + 4096), offset=o),
    "elsewhere": lambda c, k, o, n: c.answer(k, data=bytes(n), offset=o + n),
    "before": lambda c, k, o, n: c.answer(k, data=bytes(n), offset=(o - 1) % 2**64),
    "twice": lambda c, k, o, n: (
        c.chunk(k, 1, o.to_bytes(8, "big") + bytes(n - n // 2), False),
        c.chunk(k, 1, o.to_bytes(8, "big") + bytes(n // 2))),
    "nothing": lambda c, k, o, n: c.chunk(k, 0, b""),
    "cookie": lambda c, k, o, n: c.answer(k + 77, data=bytes(n), offset=o),
    "magic": lambda c, k, o, n: c.send(b"\xff" * 64),
    "kind": lambda c, k, o, n: c.chunk(k, 99, b"x" * 16),
    "hole": lambda c, k, o, n: c.chunk(
        k, 2, o.to_bytes(8, "big") + b"\xff\xff\xff\xff"),
    "status": lambda c, k, o, n: c.chunk(k, 5, bytes(12)),
    "huge": lambda c, k, o, n: c.send(
        struct.pack(">IHHQI", nbd_server.STRUCTURED, 1, 1, k, 0xffffffff)),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_server_that_lies_about_data(hone, work, lie):
    def read(connection, cookie, offset, length):
        LIES[lie](connection, cookie, offset, length)
        return True
    with serve(work, disk(), read=read) as server:
        done = hone.run("convert", "--timeout", "1", "-f", "raw", server.url,
                        work / "out")
    assert done.returncode in (1, AGAIN), done
    error_line(done.stderr)
    assert not (work / "out").exists()


def test_a_target_that_spoils_a_table_is_a_failure(hone, work):
    """The content of SRC is not what was refused."""
    def read(connection, cookie, offset, length):
        data = bytearray(disk[offset:offset + length])
        if offset >= 65536:
            data[:] = b"\xff" * length
        connection.answer(cookie, data=bytes(data), offset=offset)
        return True
    disk = bytearray(8 * MI)
    (work / "disk").write_bytes(b"x" * MI)
    with serve(work, disk, read=read, extents=None) as server:
        line = hone.fails("convert", "-q", "--verify", "-O", "qcow2", work / "disk",
                          server.url)
    assert "has reserved bits set" in line


def test_a_server_that_shows_a_disguise_late(hone, work):
    """What was looked at is not what is copied."""
    def read(connection, cookie, offset, length):
        data = bytearray(length)
        if offset == 0 and length > 4096:
            data[:8] = b"QFI\xfb\0\0\0\3"
        connection.answer(cookie, data=bytes(data), offset=offset)
        return True
    with serve(work, bytearray(MI), read=read, extents=None) as server:
        line = hone.fails("convert", "-f", "raw", "-O", "raw", server.url, work / "out")
    assert "with the signature of qcow2 at offset 0" in line
    assert not (work / "out").exists()


@pytest.mark.parametrize("answer", [
    lambda o, n: [(0, 3)], lambda o, n: [(0, 0), (0, 3), (n, 0)],
    lambda o, n: [(0xffffffff, 0)] * 3, lambda o, n: [(1, 0)] * 70000,
    lambda o, n: [(512, 0)] * 200000])
def test_a_server_that_lies_about_holes(hone, work, answer):
    """Never more than what it says of the holes itself."""
    data = disk(2 * MI)
    with serve(work, data, extents=answer) as server:
        done = hone.run("convert", "-q", "-f", "raw", server.url, work / "out")
    if done.returncode == 0:
        assert (work / "out").read_bytes() == data
    else:
        error_line(done.stderr)


def test_info_of_holes_without_an_end(hone, work):
    with serve(work, bytearray(4 * KI), size=1 << 62,
               read=lambda c, k, o, n: c.answer(k, data=bytes(n), offset=o) or True,
               extents=lambda o, n: [(n, 3)]) as server:
        assert b"raw" in hone.ok("info", "--timeout", "1", "-f", "raw",
                                 server.url).stdout


def test_more_extents_than_are_kept(hone, work):
    """Each is asked for, and none is mixed up."""
    rand = random.Random(9)
    data = bytearray(96 * MI)
    holes = {at for at in range(0, len(data), 512) if rand.random() < .5}

    def answer(offset, length):
        end = min(len(data), offset + length)
        return [(512, 3 if at in holes else 0) for at in range(offset, end, 512)]
    with serve(work, data, extents=answer) as server:
        found = hone.json("map", "--json", "-f", "raw", server.url)
        asked = len([r for r in server.requests if r[0] == nbd_server.BLOCK_STATUS])
    assert 2 <= asked <= 4
    for extent in found:
        assert (extent["kind"] == "hole") == (extent["offset"] in holes)
    assert 512 * len(holes) == sum(
        extent["length"] for extent in found if extent["kind"] == "hole")


def certificates(work):
    """A certificate authority, a server and a client."""
    need("openssl")
    folder = work / "pki"
    folder.mkdir()
    for name, text in (("ca", "basicConstraints=critical,CA:TRUE"),
                       ("server", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
                       ("client", "extendedKeyUsage=clientAuth")):
        (folder / f"{name}.cfg").write_text(
            f"[req]\ndistinguished_name=name\n[name]\n[more]\n{text}\n")
        by = [] if name == "ca" else ["-CA", "ca-cert.pem", "-CAkey", "ca-key.pem"]
        subprocess.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
            f"/CN={name}", "-config", f"{name}.cfg", "-extensions", "more",
            *by, "-keyout", f"{name}-key.pem", "-out", f"{name}-cert.pem"],
            cwd=folder, check=True, capture_output=True)
    return folder


def test_tls_with_certificates(hone, source, work):
    folder = certificates(work)
    empty = work / "other"
    empty.mkdir()
    listener = listening(host="0.0.0.0")
    port = listener.getsockname()[1]
    with running(["nbdkit", "-f", "--tls=require", f"--tls-certificates={folder}",
                  "--tls-verify-peer", "file", source], listener):
        url = f"nbds://localhost:{port}/"
        hone.ok("convert", "-q", "--tls-certificates", folder, url, work / "out")
        hone.fails("info", f"nbd://localhost:{port}/")
        hone.fails("info", "--tls-certificates", empty, url)
        # the name in the certificate is another
        assert "certificate" in hone.fails(
            "info", "--tls-certificates", folder, f"nbds://127.0.0.2:{port}/")
    assert (work / "out").read_bytes() == source.read_bytes()


def test_tls_with_a_key_of_both(hone, source, work):
    keys, wrong = work / "keys.psk", work / "wrong.psk"
    keys.write_text(f"alice:{'ab' * 32}\n")
    wrong.write_text(f"alice:{'cd' * 32}\n")
    target = stale(work / "target.img", os.stat(source).st_size)
    at = work / "tls.sock"
    with running(["nbdkit", "-f", "--tls=require", f"--tls-psk={keys}",
                  "file", target], listening(at)):
        url = f"nbds+unix://alice@/?socket={at}"
        hone.ok("convert", "-q", "--verify", "--tls-psk", keys, source, url)
        done = hone.run("info", "--tls-psk", wrong, url)
        assert done.returncode in (1, AGAIN)
        error_line(done.stderr)
    assert target.read_bytes() == source.read_bytes()
