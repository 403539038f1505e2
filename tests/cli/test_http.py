# SPDX-License-Identifier: BSD-3-Clause
"""Images on web servers."""
import bz2
import concurrent.futures
import contextlib
import gzip
import hashlib
import itertools
import json
import lzma
import os
import pathlib
import random
import re
import select
import socket
import subprocess
import sys
import threading
import time
import typing

import pytest

import images
from harness import CLEAN, TIMEOUT, assert_reads_as, converted, need, of_its_build
from http_server import (
    Server, certificate, chunk, good, hang_up, head, places, script, send, status,
    tls_of, turns, whole, write)
from tar_builder import archive

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "image"))
# pylint: disable=wrong-import-position
from vhd_builder import fixed  # noqa: E402

KI, MI = 1 << 10, 1 << 20
BLOCK = 128 * KI
# A label of a name has at most 63 bytes: no name server is asked.
NOWHERE = "n" * 64 + ".invalid"


@pytest.fixture(autouse=True)
def with_libcurl(request, hone):
    """Skips in a build without libcurl; one test is of that build."""
    of_its_build(request, hone, "libcurl")


@pytest.fixture(name="small")
def small_of_sectors(small):
    """As a disk; a server's raw file of another size is refused."""
    os.truncate(small, os.stat(small).st_size // 512 * 512)
    return small


def test_a_build_without_libcurl_says_so(hone, out):
    for command, address in itertools.product(
            ("info", "convert"), ("https://127.0.0.1:1/a", "oci://h/n")):
        said = hone.fails(command, address,
                          *([out / "d"] if command == "convert" else []))
        assert said.startswith("hone: %s: needs" % address)
        assert "libcurl4-openssl-dev" in said
    assert not os.listdir(out)


@pytest.mark.parametrize("options", [["-O", "raw"], ["-O", "qcow2"],
                                     ["-c", "-O", "qcow2"]], ids=" ".join)
def test_each_command_reads_an_image_on_a_server(hone, web, small, work, out, options):
    path = work / "image"
    hone.ok("convert", "-q", *options, small, path)
    with Server(path.read_bytes()) as server:
        url = server.url()
        assert_reads_as(web, url, path, out)
        data = web.ok("convert", "-q", "-O", "qcow2", url, "-").stdout
        hone.ok("compare", small, "-", input=data)
        assert web.ok("digest", url).stdout.decode() == (
            f"{hashlib.sha256(small.read_bytes()).hexdigest()}  {url}\n")
        info = web.json("info", "--json", url)
        assert (info["file"], info["file_size"]) == (url, len(server.content))
        for words, warned in (
                (["convert", url, out / "d"], 1), (["check", url], 1),
                (["convert", "-q", "--force", url, out / "d"], 0),
                (["compare", url, server.url("/again")], 2),
                (["compare", "-q", small, url], 0), (["check", "-q", url], 0)):
            assert web.ok(*words).warned == warned, words
        for request in server.requests:
            assert request.headers["Accept-Encoding"] == "identity"
            assert request.headers["User-Agent"].startswith("hone/")
            assert request.range, "a request without a range"


def test_what_was_checked_is_what_is_converted(hone, web, work, out):
    """A server has no second chance to send other bytes."""
    disk, path = work / "disk", work / "image.qcow2"
    # More than the cache of the store has between the two L2 tables.
    images.pieces(disk, 513 * MI, (0, images.noise(60 * MI)),
                  (512 * MI, images.noise(MI, 2)))
    hone.ok("convert", "-q", disk, path)

    def answer(handler, request):
        first, last = request.range
        with handler.server.lock:
            again = any(first <= other.range[1] and last >= other.range[0]
                        for other in handler.server.requests
                        if other.number < request.number)
        if again:
            handler.good(request, bytes(len(handler.server.content)))
        return True if again else None

    with Server(path.read_bytes(), answer) as server:
        web.ok("convert", "-q", "--untrusted", server.url(), out / "raw")
        assert server.sent == len(server.content)
    hone.ok("compare", "-q", disk, out / "raw")


def test_ranges_are_long(web, out):
    with Server(images.noise(40 * MI)) as server:
        web.copies(server, out)
        # Each byte once, 4 MiB at a time, and the last block: a raw image may
        # have a signature there.
        assert server.sent == len(server.content)
        assert sorted(r.range[0] for r in server.requests) == [
            *range(0, 40 * MI, 4 * MI), 40 * MI - BLOCK]
        web.ok("digest", server.url(), "-f", "raw")
        assert server.sent == 2 * len(server.content)


def test_six_requests_are_under_way_for_many_threads(web, out):
    """No request but the first is answered before six of them wait."""
    six, waiting, most = threading.Event(), set(), []

    def answer(handler, request):
        if request.number == 0:
            return
        with handler.server.lock:
            waiting.add(request)
            most.append(len(waiting))
            if len(waiting) == 6:
                six.set()
        six.wait(20)
        with handler.server.lock:
            waiting.remove(request)

    with Server(images.noise(64 * MI), answer) as server:
        # Without a look at the end of the disk before the copy.
        web.copies(server, out, "-m", "40", "--memory", "512M", "--allow-disguised")
        assert max(most) == 6


@pytest.mark.parametrize("command", ["convert", "digest", "compare"])
def test_16_mib_are_requested_with_the_first_answer(web, work, out, command):
    """The line to the server is idle for one round trip and no longer."""
    ahead, late = threading.Event(), []

    def answer(handler, request):
        if request.number == 0:
            assert request.range == (0, 4 * MI - 1)
            body = handler.begin(request)
            if not ahead.wait(TIMEOUT):
                late.append("no request came before the first byte")
                ahead.set()
            handler.send(body)
            return True
        with handler.server.lock:
            if len(handler.server.requests) >= 4:
                ahead.set()
        # No reader has a byte before all are there.
        assert ahead.wait(TIMEOUT)
        return None

    with Server(images.noise(40 * MI), answer) as server:
        if command == "compare":
            (work / "same").write_bytes(server.content)
            web.ok(command, "-f", "raw", server.url(), work / "same")
        elif command == "digest":
            web.ok(command, "-f", "raw", server.url())
        else:
            web.copies(server, out)
        assert not late
        begins = sorted(r.range[0] for r in server.requests[:4])
        assert begins == [0, 4 * MI, 8 * MI, 12 * MI]


def test_no_short_request_follows_a_long_one(hone, web, work, out):
    """The clusters of a qcow2 image do not begin at a MiB."""
    raw, path = work / "raw", work / "image"
    raw.write_bytes(images.noise(30 * MI))
    hone.ok("convert", "-q", "-O", "qcow2", raw, path)
    with Server(path.read_bytes()) as server:
        web.ok("convert", "-q", "-O", "raw", server.url(), out / "copy")
        assert (out / "copy").read_bytes() == raw.read_bytes()
        # Tables are behind the data.
        assert sorted(r.range[0] for r in server.requests
                      if r.range[0] < 28 * MI) == list(range(0, 28 * MI, 4 * MI))


def test_info_reads_less_than_a_megabyte(hone, web, work):
    raw, path = work / "raw", work / "image.qcow2"
    images.pieces(raw, 300 * MI, (0, images.noise(20 * MI)))
    hone.ok("convert", "-q", "-O", "qcow2", "-o", "cluster_size=4k", raw, path)
    for content in path.read_bytes(), raw.read_bytes()[:30 * MI]:
        with Server(content) as server:
            web.ok("info", server.url())
            assert server.sent < 1000000
            assert sum(last + 1 - first for first, last in
                       (r.range for r in server.requests)) < 1000000
            # Those behind the data, which are 2 MiB apart.
            web.run("check", server.url())
            assert server.sent < 2000000


def test_the_size_in_the_table_of_a_packed_disk(hone, web, work, out):
    """It is requested beside the first bytes; no byte comes twice."""
    hone.need("libzstd")
    raw, path = work / "raw.img", work / "disk.img.zst"
    raw.write_bytes(images.noise(20 * MI) + bytes(5 * MI))
    hone.ok("convert", "-q", raw, path)
    with Server(path.read_bytes()) as server:
        url = server.url("/disk.img.zst")
        info = json.loads(web.ok("info", "--json", url).stdout)
        assert info["virtual_size"] == 25 * MI and server.sent < MI
        server.sent = 0
        web.ok("convert", "-q", url, f"oci:{out}/d")
        assert server.sent == path.stat().st_size
    hone.ok("convert", "-q", raw, f"oci:{out}/e")
    for folder, _, names in os.walk(out / "e"):
        for name in names:
            here = pathlib.Path(folder, name)
            assert (out / "d" / here.relative_to(out / "e")).read_bytes() == (
                here.read_bytes())


@pytest.mark.parametrize("suffix", ["qcow2.bz2", "tar"])
def test_info_of_a_packed_image_reads_less_than_a_megabyte(hone, web, work, suffix):
    """A block of bzip2 has 900 kB: ascending reads, with nothing ahead."""
    if suffix == "qcow2.bz2":
        hone.need("libbz2")
    raw, path = work / "raw", work / "image.qcow2"
    raw.write_bytes(images.noise(12 * MI))
    hone.ok("convert", "-q", "-O", "qcow2", raw, path)
    # The image is not at the end of the archive.
    image = path.read_bytes()
    content = bz2.compress(image) if "bz2" in suffix else archive(
        {"a": images.noise(3 * MI), "disk.qcow2": image, "z": bytes(3 * MI)})
    with Server(content) as server:
        url = server.url(f"/disk.{suffix}")
        info = json.loads(web.ok("info", "--json", url).stdout)
        assert info["format"] == "qcow2"
        assert server.sent < 1000000


def test_a_lost_connection_goes_on_at_the_byte(web, out):
    """Each answer ends early, at a random byte, and 4 MiB take eight."""
    rng = random.Random(os.environ.get("HONE_SEED", "1"))

    def answer(handler, request):
        body = handler.begin(request)
        handler.send(body[:rng.randint(BLOCK, MI // 2)])
        return handler.hang_up()

    with Server(images.noise(12 * MI), answer) as server:
        web.copies(server, out)
        assert server.sent == len(server.content)


def unknown(handler, request):
    """The end of the connection is that of the file."""
    return handler.whole(request, length=False)


CHUNKS = {"Transfer-Encoding": "chunked"}


def chunked(handler, request):
    """Each chunk has its length."""
    handler.head(200, CHUNKS)
    content = handler.server.content
    for at in range(0, len(content), 50000):
        handler.chunk(content[at:at + 50000])
    if request.path != "/cut":
        handler.write(b"0\r\n\r\n")
    handler.close_connection = True
    return True


def expecting(content):
    """The option with the digest of a file."""
    return "--expect=sha256:" + hashlib.sha256(content).hexdigest()


@pytest.fixture(name="plain")
def plain_fixture(hone):
    """Skip with a sanitizer, which has its own memory and its own copies."""
    if hone.sanitized:
        pytest.skip("this hone has a sanitizer")


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("answer", [None, whole], ids=["ranges", "whole"])
def test_each_byte_is_copied_twice(web, work, out, answer):
    """From libcurl into a block, and from there into a chunk, also if its
    digest is expected."""
    library, counted = work / "copies.so", work / "copied"
    compiler = os.environ.get("CC", "cc").split()
    need(compiler[0])
    subprocess.run([*compiler, "-O1", "-fPIC", "-shared", "-D_GNU_SOURCE", "-o",
                    library, pathlib.Path(__file__).with_name("copies.c"),
                    "-ldl"], check=True)
    size = 20 * MI
    with Server(images.noise(size), answer) as server:
        preload = {"LD_PRELOAD": str(library), "COPIES": str(counted)}
        web.hone.run("--version", env=preload)
        if not counted.exists():
            pytest.skip("nothing can be preloaded into this build of hone")
        for words in [], [expecting(server.content)]:
            web.copies(server, out, *words, env=preload)
            assert 1.99 * size < int(counted.read_text()) < 2.01 * size
        assert server.sent == 2 * size


AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"


@pytest.mark.usefixtures("plain")
def test_a_packed_archive_needs_little_more_memory_than_a_file(hone, work, out):
    """That of what is requested ahead, with the digest of all bytes."""
    hone.need("liblzma")
    need("openssl")
    disk = images.noise(40 * MI)
    members = {"vm.ovf": b'<Envelope><References><File ovf:href="a.raw" '
                         b'ovf:id="a"/></References></Envelope>',
               "vm.mf": b"SHA256(a.raw)= " +
                        hashlib.sha256(disk).hexdigest().encode(),
               "a.raw": disk}
    path, peaks = work / "vm.ova.xz", []
    # Noise is stored, and the fewest steps find that there is nothing to pack.
    path.write_bytes(lzma.compress(archive(members), filters=[{
        "id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 4 * KI,
        "mf": lzma.MF_BT2, "nice_len": 2, "depth": 1}]))
    trust = certificate(work, "IP:127.0.0.1")
    context = tls_of(work)
    # The authorities of a system need memory, too.
    if os.path.exists(AUTHORITIES):
        trust.write_text(trust.read_text() + pathlib.Path(AUTHORITIES).read_text())
    with Server(path.read_bytes(), context=context) as server:
        url = server.url("/vm.ova.xz")
        for words in [path], ["--cacert", trust, expecting(server.content), url]:
            _, peak = hone.peak("convert", "-q", *words,
                                out / str(len(peaks)), env=CLEAN)
            assert (out / str(len(peaks))).read_bytes() == disk
            peaks.append(peak)
    assert peaks[1] - peaks[0] < 24 * KI


@pytest.mark.usefixtures("plain")
def test_memory_bounds_what_is_kept_of_a_server(hone):
    """Of 40 MiB that nobody releases. 64M are 12 MiB for a server."""
    with Server(images.noise(40 * MI)) as server, Server(bytes(512)) as least:
        some, few, all_of_it = (
            hone.peak("digest", "-m", "2", "-f", "raw", *words, url, env=CLEAN)[1]
            for words, url in (([], least.url()),
                               (["--memory", "64M"], server.url()),
                               ([], server.url())))
    assert few - some < 24 * KI and all_of_it - some > 36 * KI


@pytest.mark.parametrize("answer, size", [
    *((None, size) for size in (
        0, 1, 511, BLOCK - 1, BLOCK, BLOCK + 1, 8 * BLOCK, 5 * MI + 3)),
    *((whole, size) for size in (0, 1, BLOCK, 256 * KI + 1, 30 * MI + 5)),
    *((answer, size) for answer in (unknown, chunked)
      for size in (0, 1, 512, BLOCK + 1, 9 * MI + 5))])
def test_files_of_each_size(web, out, answer, size):
    with Server(images.noise(size), answer) as server:
        # A connection that was closed is no end: only a digest shows one.
        digest = [expecting(server.content)] if answer is unknown else []
        for threads in "1", "3":
            web.copies(server, out, "--threads", threads, *digest)
        assert server.sent == 2 * size or answer is chunked
        assert answer is None or len(server.requests) == 2


@pytest.mark.parametrize("answer, options", [
    *((whole, options) for options in (["-O", "raw"], ["-O", "qcow2"], ["-O", "vmdk"])),
    *((answer, ["-c", "-O", "qcow2"]) for answer in (whole, unknown, chunked))], ids=str)
def test_a_server_without_ranges_is_read_once(
        hone, web, small, work, out, answer, options, threads):
    hone.ok("convert", "-q", *options, small, work / "image")
    with Server((work / "image").read_bytes(), answer) as server:
        # A connection that was closed is no end: only a digest shows one.
        digest = [expecting(server.content)] if answer is unknown else []
        for target in "raw", "qcow2":
            web.ok("convert", "-q", "-O", target, "--threads", threads, *digest,
                   server.url(), out / target)
            hone.ok("compare", small, out / target)
        others = ["compare", small], ["map"], ["digest", *digest], ["info"]
        for words in others if answer is not unknown else others[2:]:
            web.ok(*words, server.url())
        assert len(server.requests) == (6 if answer is not unknown else 4)


NO_END = "gave no length that shows whether this is the end of the file"


@pytest.mark.parametrize("length", [None, 2 ** 64 - 1, 2 ** 64, 10 ** 30], ids=str)
def test_a_connection_that_is_closed_is_no_end(web, out, work, length):
    """Half a disk looks the same."""
    disk = work / "disk"
    with Server(images.noise(MI),
                script(head(200, {}, length), send(), hang_up)) as server:
        disk.write_bytes(server.content)
        assert NO_END in web.refuses(server, out, code=4)
        for words in ["digest"], ["compare", disk], ["map"]:
            done = web.run(*words, "-f", "raw", server.url())
            assert done.returncode == 4 and NO_END.encode() in done.stderr
        web.ok("info", "-f", "raw", server.url())
        web.copies(server, out, expecting(server.content))


CUTS = {
    "both": [("Content-Length", 512), ("Transfer-Encoding", "chunked")],
    "folded": [("Transfer-Encoding", "chunked"),
               ("X-Foo", "a\r\n Content-Length: 512")],
}


@pytest.mark.parametrize("fields", CUTS.values(), ids=CUTS)
def test_a_length_beside_chunks_cuts_no_disk(hone, web, out, work, fields):
    """A mirror would cut a disk although the digest of all bytes is right."""
    with Server(images.noise(MI), script(
            head(200, fields), chunk(), write(b"0\r\n\r\n"),
            hang_up)) as server:
        web.copies(server, out)
        web.copies(server, out, expecting(server.content))
        done = web.ok("digest", "-f", "raw", server.url())
        assert done.stdout.decode().startswith(
            hashlib.sha256(server.content).hexdigest())
        (work / "cut").write_bytes(server.content[:512])
        assert web.run("compare", "--strict", "-f", "raw", work / "cut",
                       server.url()).returncode == 1
        (work / "raw").write_bytes(server.content)
        server.content = fixed(work / "disk.vhd", server.content).read_bytes()
        web.ok("convert", "-q", "-f", "vhd", "-O", "raw", server.url(), out / "raw")
        hone.ok("compare", "--strict", work / "raw", out / "raw")


@pytest.mark.parametrize("fields", [[512, MI], [f"{MI}x"]], ids=str)
def test_a_length_that_is_not_one_number(web, out, fields):
    with Server(images.noise(MI), script(
            head(200, [("Content-Length", value) for value in fields]),
            send(), hang_up)) as server:
        for words in [], [expecting(server.content[:512])]:
            said = web.refuses(server, out, *words)
            assert "Content-Length" in said, said


def test_info_reads_the_begin_of_a_file_without_ranges(web):
    with Server(images.noise(60 * MI), whole) as server:
        web.ok("info", server.url())
        # what the buffers of both sockets hold, and not the file
        assert server.sent < 30 * MI


def lost(handler, request, etag='"one"', more=0):
    """The whole file, whose connection is lost a MiB later each time."""
    content = handler.server.content
    handler.head(200, {"ETag": etag}, len(content) + more)
    handler.send(content[:(request.number + 1) * MI + 77])
    return handler.hang_up()


@pytest.mark.parametrize("size", [3 * MI, 6 * MI])
def test_a_file_without_ranges_comes_again(web, out, size):
    """Up to the byte that is missing, its bytes are skipped."""
    with Server(images.noise(size), lost) as server:
        web.copies(server, out)
        assert len(server.requests) == size // MI


NO_RANGES = {"star": good(Content_Range="bytes 0-131071/*"), "416": status(416)}


@pytest.mark.parametrize("first", NO_RANGES.values(), ids=NO_RANGES)
def test_a_server_that_has_ranges_for_some_files(web, out, first):
    with Server(images.noise(MI), turns(first, whole)) as server:
        web.copies(server, out)
        assert ["Range" in request.headers
                for request in server.requests] == [True, False]


def test_a_connection_that_ends_inside_a_header(web, out):
    content = images.noise(1000)
    header = ("HTTP/1.1 206 Partial Content\r\nETag: \"one\"\r\n"
              "Content-Length: 1000\r\nContent-Range: bytes 0-999/1000\r\n"
              "Connection: close\r\n\r\n").encode()

    def tried(begin):
        cuts = list(range(begin, min(begin + 4, len(header) + 4)))
        with Server(content, turns(*(
                script(write((header + content)[:cut]), hang_up)
                for cut in cuts), None)) as server:
            folder = out / str(begin)
            folder.mkdir()
            web.copies(server, folder)
            assert len(server.requests) == len(cuts) + 1

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(tried, range(0, len(header), 16)))


def test_a_server_that_cannot_answer_now_is_asked_again(web, out):
    busy = status(503, Retry_After="1")
    with Server(images.noise(13 * MI), turns(
            busy, None, busy, None, status(500), None)) as server:
        web.copies(server, out)
        assert len(server.requests) == 4 + 3


@pytest.mark.parametrize("ranges", [True, False])
def test_a_slow_reader_is_not_a_silent_server(web, ranges):
    """stdout takes nothing for longer than the time-out."""
    content = images.noise(64 * MI)
    with Server(content, None if ranges else whole) as server, \
            concurrent.futures.ThreadPoolExecutor() as pool:
        read, write = os.pipe()

        def take():
            time.sleep(3)
            sent = server.sent
            with open(read, "rb") as pipe:
                return sent, pipe.read()
        taken = pool.submit(take)
        try:
            web.ok("convert", "-q", "--timeout", "1", "-O", "raw",
                   server.url(), "-", stdout=write)
        finally:
            os.close(write)
        sent, got = taken.result()
    assert sent < len(content) and got == content


def test_a_list_of_digests_from_a_server_that_never_answers(web, small, digests):
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"https://127.0.0.1:{server.getsockname()[1]}/sums"
        said = web.fails("digest", "--timeout", "1", "--expect", url, small, code=4)
    assert "the server sent nothing for 1 seconds" in said
    assert "is not safe" in web.hone.fails(
        "digest", "--expect", url.replace("https", "HTTP"), small)
    assert "cannot be read at offset 0: " in web.fails(
        "digest", "--expect", url.replace("https", "HTTPS"), small, code=4)


def test_an_address_without_a_path_shows_no_password(web, work, digests):
    """Its last part is no name that a list could have."""
    sums = work / "SUMS"
    sums.write_text("0" * 64 + "  other\n")
    said = web.fails("digest", "--expect", f"@{sums}", "https://me:hidden@127.0.0.1:1")
    assert said == ("hone: https://127.0.0.1:1: has no file name that a list "
                    "of digests could have")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("ranges", [False, True])
def test_a_backing_file_of_a_server_is_not_opened(
        web, work, out, qemu_img, packed, ranges):
    top = work / "top.qcow2"
    assert qemu_img("create", "-f", "qcow2", "-u", "-b", "base.raw", "-F",
                    "raw", str(top), "1M")[0] == 0
    content = top.read_bytes()
    with Server(bz2.compress(content) if packed else content,
                None if ranges else whole) as server:
        url = server.url("/top.qcow2" + (".bz2" if packed else ""))
        said = web.fails("convert", "--allow-backing", work, url, out / "d")
    assert said == (
        f"hone: {url}: its backing_file 'base.raw' lies on the server, and an "
        "image names files of this machine only: copy both files, then read "
        "the copy")


def test_a_scheme_may_have_upper_case(web, out):
    with Server(images.noise(2 * BLOCK)) as server:
        url = server.url().replace("http:", "HTTP:")
        web.copies(server, out, url=url)
    said = web.fails("info", "HtTpS://me:hidden@127.0.0.1:1/a?hidden", code=4)
    assert said.startswith("hone: https://127.0.0.1:1/a: cannot be read")
    assert "hidden" not in said


@pytest.mark.parametrize("words", [
    ["convert", "-S", "3"], ["digest", "-a", "crc"], ["map", "-f", "floppy"],
    ["compare", "-m", "65"], ["info", "--timeout", "0"],
    ["check", "--unpack", "rar"]], ids=lambda words: words[0])
def test_a_misuse_is_reported_without_the_warning(hone, small, out, words):
    last = {"convert": [out / "d"], "compare": [small]}.get(words[0], [])
    hone.misused(*words, "http://127.0.0.1:1/a", *last, env=CLEAN)


@pytest.mark.parametrize("command", [
    "convert", "digest", "map", "compare", "info", "check"])
def test_what_is_not_read_is_not_warned_about(web, small, out, command):
    env = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    last = {"convert": [out / "d"], "compare": [small]}.get(command, [])
    status = 2 if command in ("check", "compare") else 1
    done = web.run(command, "s3:bucket/a", *last, env=env)
    assert (done.returncode, done.warned) == (status, 0), done
    assert b"is not a valid address" in done.stderr
    done = web.run(command, "http://127.0.0.1:1/a", *last)
    assert (done.returncode, done.warned) == (4, 0), done


def command_lines(*parts):
    """Those of all processes that have these parts."""
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), \
                open(f"/proc/{number}/cmdline", "rb") as file:
            found.append(file.read())
    return [text for text in found if all(part in text for part in parts)]


def test_proc_has_no_secret_of_the_address_of_a_list(web, small):
    seen = []

    def look(server):
        with server.accept()[0]:
            seen.extend(command_lines(b"--expect", b"/sums"))

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=look, args=(server,))
        thread.start()
        port = server.getsockname()[1]
        done = web.run("digest", "--timeout", "1", "--expect",
                       f"@https://me:hidden@127.0.0.1:{port}/sums?hidden",
                       small)
        thread.join()
    assert done.returncode and b"hidden" not in done.stderr
    assert seen and not any(b"hidden" in text for text in seen), seen


def test_a_host_that_does_not_exist(web, out):
    said = web.refuses(None, out, code=4, url=f"http://{NOWHERE}/a")
    assert f"Could not resolve host: {NOWHERE}" in said


TEXT = "is a text that begins with '{}', not an image; add -f raw"
TEXTS = {
    "login": (b"<!DOCTYPE html><title>Log in</title>" + b" " * 988,
              TEXT.format("<!DOCTYPE html><title>Lo")),
    "late": (b"\xef\xbb\xbf\r\n\t <HTML>" + b"\0" * 4085, TEXT.format("<HTML>")),
    "bucket": (b'<?xml version="1.0"?><Error/>',
               TEXT.format('<?xml version="1.0"?><Er')),
    "error": (b'{"error": "not found"}' * 512, TEXT.format('{"error": "not found"}{"')),
    "short": (b"404\n", TEXT.format("404\\x0a")),
    "empty": (b"", "its 0 bytes are not|is empty; add -f raw"),
    "part": (bytes(4095), "has no header of an image, and its 4095 bytes are "
             "not the sectors of a disk; add -f raw")}


@pytest.mark.parametrize("form", ["ranges", "whole", "stream"])
@pytest.mark.parametrize("name", TEXTS)
def test_what_comes_in_place_of_an_image_is_no_disk(web, out, name, form):
    text, reason = TEXTS[name]
    answer = {"ranges": None, "whole": whole, "stream": chunked}[form]
    with Server(text, answer) as server:
        if (name, form) != ("part", "stream"):
            said = web.fails("convert", server.url("/disk.img"), out / "never")
            assert any(part in said for part in reason.split("|")), said
        assert not os.listdir(out)
        web.copies(server, out)


def test_a_text_in_an_archive_on_a_server_is_no_disk(web, out, work):
    text, reason = TEXTS["error"]
    (work / "a.tar").write_bytes(archive({"disk.raw": text}))
    assert converted(web, out, work / "a.tar") == text
    for answer in None, whole:
        with Server((work / "a.tar").read_bytes(), answer) as server:
            assert reason in web.fails("convert", server.url("/a.tar"), out / "d")
    assert not os.listdir(out)


def test_a_page_that_was_saved_as_a_file_is_no_disk(hone, out, work):
    page = work / "disk.img"
    page.write_bytes(TEXTS["login"][0])
    said = hone.fails("convert", page, out / "never")
    assert said.startswith(f"hone: {page}: {TEXTS['login'][1]}")
    done = hone.run("check", page)
    assert done.returncode == 1 and TEXTS["login"][1] in done.stdout.decode()
    hone.ok("convert", "-q", "-f", "raw", page, out / "d")


def ended(length, sent):
    """A whole file of this length that ends early."""
    return script(head(200, {}, length), send(images.noise(sent)), hang_up)


def changed(**fields):
    """A whole file that is another one when it comes again."""
    return lambda handler, request: lost(
        handler, request, **(fields if request.number else {}))


def ranged(*steps, length=None, fields=()):
    """The range of a file of 128 KiB, with these steps for a body."""
    return script(head(206, {"Content-Range": "bytes 0-131071/131072", **dict(fields)},
                       length), *steps)


def longer(late):
    """A range of one byte more."""
    def wait(handler, _):
        """A command that takes the range as it is ends now."""
        if late:
            select.select([handler.connection], [], [], 1)
    return ranged(chunk(images.noise(131072)), wait, write(b"1\r\n-\r\n0\r\n\r\n"),
                  fields=CHUNKS)


def encoded(name):
    """A whole file with a Transfer-Encoding, which libcurl would decode."""
    body = gzip.compress(bytes(MI))
    return script(head(200, {"Transfer-Encoding": name}),
                  chunk(body) if "chunked" in name else send(body),
                  write(b"0\r\n\r\n"), hang_up)


# answer_test.c has the fields that are not valid.
LIES = {
    "no range": {"Content_Range": None},
    "past the end": {"Content_Range": "bytes 0-262144/262144"},
    "multipart": {"Content_Range": None,
                  "Content_Type": "multipart/byteranges; boundary=x"},
    "shifted": {"Content_Range": "bytes 1-131072/262144"},
    "short": {"Content_Range": "bytes 0-131070/262144"},
    "long": {"Content_Range": "bytes 0-131072/262144"},
}
NOT_ASKED_FOR = ("without a valid Content-Range|with bytes [0-9]+-|does not report "
                 "the length|bytes in place of bytes")
NEITHER = "to an address that is neither http nor https"


class Refused(typing.NamedTuple):
    """An answer, a pattern of the message, the exit status, the most requests, and
    the size and the path of the file."""
    answer: object
    said: str
    code: int = 1
    most: int = 99
    size: int = MI
    path: str = "/disk.img"


REFUSED = {
    "busy for long": Refused(
        status(503, Retry_After="999"),
        r"the server answered 503 \(service unavailable\)$", 4, 1),
    **{str(number): Refused(status(number), f": the server answered {number}{text}$",
                            most=1)
       for number, text in (
           (401, r" \(unauthorized\)"), (403, r" \(forbidden\)"),
           (404, r" \(not found\)"), (410, r" \(gone\)"),
           (400, r"; is it an https:// address\?"), (204, ""), (304, ""), (300, ""))},
    "redirect to file": Refused(status(302, Location="file:///etc/passwd"), NEITHER),
    "redirect to ftp": Refused(status(302, Location="ftp://127.0.0.1/a"), NEITHER),
    "redirect to nbd": Refused(status(302, Location="nbd://127.0.0.1/a"), NEITHER),
    "redirect to nothing": Refused(
        status(302, Location="http://[::1"), "to an address that is not valid"),
    # The first 256 KiB never pause the request: libcurl 8.14 drops what a paused
    # one holds.
    "whole, lost": Refused(ended(3 * MI, 200 * KI), "ended its answer at offset "
                           "204800, before the end of the file", 4, 1),
    "whole, lost six times": Refused(
        lost, "ended its answer at offset 6291533, before the end of the file",
        4, 6, 20 * MI),
    **{f"whole, lost at {length}": Refused(
        ended(MI, length), f"ended its answer at offset {length}", 4)
       for length in (BLOCK - 1, BLOCK, BLOCK + 1)},
    "whole, another ETag": Refused(changed(etag='"two"'), "changed while it was read: "
                                   "its ETag is another one", 1, 2, 3 * MI),
    "whole, no ETag": Refused(changed(etag=None), "changed while it was read: its ETag "
                              "is another one", 1, 2, 3 * MI),
    "whole, another length": Refused(changed(more=1), "changed while it was read: its "
                                     "length is another one", 1, 2, 3 * MI),
    "whole, no last chunk": Refused(chunked, "offset 1048576", 4, path="/cut"),
    "whole, encoded": Refused(script(head(200, {"Content-Encoding": "gzip"}, 1),
                                     send(b"x")), "encoded the file"),
    # libcurl of 2025 refuses it first, with brackets.
    **{f"transfer, {name}": Refused(
        encoded(name), rf"Transfer-Encoding(: | \(){name.split(',')[0]}")
       for name in ("gzip", "gzip, chunked", "x-gzip", "deflate, chunked")},
    **{f"range after {name}": Refused(turns(first, script(
        head(206, {"Content-Range": f"bytes 0-131071/{MI}"}, BLOCK),
        send(images.noise(BLOCK)))), "with a range in place of the whole file")
       for name, first in NO_RANGES.items()},
    **{f"range, {name}": Refused(good(**lie), NOT_ASKED_FOR, 1, 2, 2 * BLOCK)
       for name, lie in LIES.items()},
    "range, both ends": Refused(
        good(Content_Range="bytes 1-262143/262144"),
        "with bytes 1-262143, not with bytes 0-262143", size=2 * BLOCK),
    "range, one end": Refused(
        good(Content_Range="bytes 0-131070/262144"),
        "with bytes 0-131070, not with bytes 0-262143", size=2 * BLOCK),
    "range, more bytes": Refused(
        longer(late=False), "answered more bytes than the range has"),
    "range, more bytes late": Refused(
        longer(late=True), "answered more bytes than the range has"),
    "range, another length": Refused(
        ranged(hang_up, length=131073),
        "answered 131073 bytes in place of bytes 0-131071"),
    **{f"range, encoded by {name[:20]}": Refused(
        good(Content_Encoding=name), "encoded the file")
       for name in ("gzip", "br", "identity, gzip", "x" * 100)},
    **{f"gzip file, encoded by {name}": Refused(
        good(Content_Encoding=name), "encoded the file", path="/disk.img.gz")
       for name in ("deflate", "gzip, gzip", "x-gzipx", "br")},
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_an_answer_that_is_refused(web, out, case):
    with Server(images.noise(case.size), case.answer) as server:
        said = web.refuses(server, out, url=server.url(case.path), code=case.code)
        assert re.search(case.said, said), said
        assert len(server.requests) <= case.most


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_second_range_that_was_not_asked_for(web, lie):
    """A copy would have the whole file with the first answer."""
    with Server(images.noise(2 * BLOCK), turns(None, good(**lie))) as server:
        done = web.run("map", "-f", "raw", server.url())
        assert done.returncode == 1
        assert re.search(NOT_ASKED_FOR, done.stderr.decode()), done
        assert len(server.requests) <= 3


def test_an_encoding_that_changes_nothing(web, out):
    with Server(images.noise(MI), good(Content_Encoding="Identity")) as server:
        web.copies(server, out)


@pytest.mark.parametrize("before, after, same", [
    ({"ETag": '"one"'}, {"ETag": '"two"'}, False),
    ({"ETag": '"one"'}, {"ETag": None}, False),
    ({"ETag": None}, {"ETag": '"one"'}, False),
    ({"ETag": 'W/"one"'}, {"ETag": 'W/"two"'}, True),
    ({"ETag": None, "Last_Modified": "Mon"},
     {"ETag": None, "Last_Modified": "Tue"}, False),
    ({"ETag": '"one"', "Last_Modified": "Mon"},
     {"ETag": '"one"', "Last_Modified": "Tue"}, True),
    ({}, {"Content_Range": "bytes {}-{}/9999999"}, False)], ids=str)
def test_a_file_that_changes_meanwhile(web, out, before, after, same):
    def answer(handler, request):
        fields = dict(before if request.number == 0 else after)
        if "Content_Range" in fields:
            last = min(request.range[1], 6 * MI - 1)
            fields["Content_Range"] = fields["Content_Range"].format(
                request.range[0], last)
        return handler.good(request, **fields)
    with Server(images.noise(6 * MI), answer) as server:
        if same:
            web.copies(server, out)
        else:
            assert "changed while it was read" in web.refuses(server, out)


LINE = b"X-Foo: " + b"a" * 1000 + b"\r\n"
BEGIN, OK, EARLY = (b"HTTP/1.1 %d x\r\n" % status for status in (206, 200, 103))
RANGE = b"Content-Range: bytes 0-511/512\r\n"
CHUNKED = (b"Transfer-Encoding: chunked\r\n\r\n200\r\n" + bytes(512) + b"\r\n0\r\n")


@pytest.mark.parametrize("before, line, after", [
    (BEGIN, LINE, RANGE + CHUNKED + b"\r\n"),
    (b"", EARLY + LINE + b"\r\n", BEGIN + RANGE + CHUNKED + b"\r\n"),
    (BEGIN + RANGE + CHUNKED, LINE, b"\r\n"),
    (OK + CHUNKED, LINE, b"\r\n")],
    ids=["header", "1xx", "trailers", "trailers of a whole file"])
def test_a_header_has_at_most_256_kib(web, out, before, line, after):
    """libcurl keeps all of it, so one without an end would take the memory."""
    for count in 200, 300:
        with Server(bytes(512), script(write(before + count * line + after),
                                       hang_up)) as server:
            if count == 200:
                web.copies(server, out)
                continue
            assert web.refuses(server, out).endswith(
                ": the server sent more than 262144 bytes of header fields")
            assert len(server.requests) == 1


@pytest.mark.parametrize("before, length", [
    (BEGIN, 200 * KI), (OK + CHUNKED, 8 * KI)], ids=["header", "trailers"])
def test_a_header_line_that_is_too_long(web, out, before, length):
    """For a line of trailers, libcurl 7 reports that the connection is lost."""
    code, wanted = 1, "the server sent a header line that is too long"
    if before != BEGIN and b"libcurl 7" in web.version:
        code, wanted = 4, "cannot be read at offset 512: "
    with Server(b"", script(write(before + b"X-Foo: " + length * b"a"),
                            hang_up)) as server:
        assert wanted in web.refuses(server, out, code=code)
        assert len(server.requests) == 1


@pytest.mark.parametrize("form", ["ranges", "whole", "chunked", "slow"])
@pytest.mark.parametrize("name", ["x-gzip", "GZIP"])
def test_an_encoding_of_a_gzip_file_is_its_suffix(web, out, form, name):
    """Apache makes one of the other."""
    fields = {"Content-Encoding": name}

    def answer(handler, request):
        if request.path == "/latest":
            return handler.status(302, Location="/disk.img.gz")
        if form == "ranges":
            return handler.good(request, **fields)
        if form == "whole":
            return handler.whole(request, **fields)
        content = handler.server.content
        handler.head(200, {**CHUNKS, **fields})
        begin = 3 if form == "slow" else 0
        for at in range(begin):
            handler.chunk(content[at:at + 1])
        handler.chunk(content[begin:])
        return handler.write(b"0\r\n\r\n") or True
    disk = images.noise(MI)
    with Server(gzip.compress(disk, 1), answer) as server:
        for path in ("/disk.img.gz", "/disk.tgz", "/disk.IMG.GZ?x=.zip", "/latest"):
            words = ["--unpack=gzip", expecting(server.content), server.url(path)]
            if "tgz" in path:
                words[0] = "--unpack=none"
            assert converted(web, out, "-f", "raw", "-O", "raw", *words) == (
                server.content if "tgz" in path else disk)
        assert "encoded the file" in web.refuses(server, out)
        server.content = disk
        for path in "/disk.img.gz", "/latest":
            assert "encoded the file" in web.refuses(server, out, url=server.url(path))


@pytest.mark.parametrize("number", [301, 302, 303, 307, 308])
def test_a_redirect_is_followed_once(web, out, number):
    with Server(images.noise(6 * MI), places({
            "/disk.img": status(number, Location="there/b?x=1#part")}
            )) as server:
        web.copies(server, out)
        assert len(server.requests) > 2
        assert [r.path for r in server.requests] == ["/disk.img"] + [
            "/there/b?x=1"] * (len(server.requests) - 1)


PRIVATE = ["127.0.0.2", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1",
           "169.254.169.254", "0.0.0.0", "[::1]", "[fe80::1]", "[fd00::1]",
           "[::ffff:127.0.0.1]", "2130706434", "0x7f.2"]


@pytest.mark.parametrize("option", ["--untrusted", "--public-redirects"])
def test_a_redirect_to_a_private_address_is_refused(web, out, option):
    """By the address, before there is a connection to it. That of the host
    that the user named may be private."""
    with Server(images.noise(MI)) as other:
        with Server(images.noise(MI)) as server:
            server.answer = places({
                "/same": status(302, Location="/disk.img"),
                "/self": status(302, Location=server.url().replace(
                    "127.0.0.1", "localhost")),
                "/port": status(302, Location=other.url()),
                **{f"/to/{place}": status(302, Location=f"http://{place}:1/a")
                   for place in PRIVATE}})
            web.copies(server, out, option)
            web.copies(server, out, option, url=server.url("/same"))
            web.copies(server, out, option, url=server.url("/self"))
            said = web.refuses(server, out, option, url=server.url("/port"))
            assert "the server redirects to 127.0.0.1, a private add" in said
            for place in PRIVATE:
                said = web.refuses(server, out, option, url=server.url("/to/" + place))
                assert "a private address" in said, (place, said)
            assert not other.requests
            web.copies(server, out, url=server.url("/port"))


@pytest.mark.parametrize("command", ["map", "info", "compare", "check", "digest"])
def test_each_command_refuses_redirects(web, command):
    with Server(images.noise(MI)) as other:
        with Server(answer=status(302, Location=other.url())) as server:
            words = [command, "--public-redirects", server.url()]
            done = web.run(*words, *([server.url()] if command == "compare" else []))
            assert b"a private address" in done.stderr
            assert done.returncode == (2 if command in ("compare", "check") else 1)
        assert not other.requests


def test_ten_redirects_and_no_more(web, out):
    with Server(images.noise(MI), places({
            f"/{left}": status(302, Location=f"/{left - 1}")
            for left in range(1, 12)})) as server:
        web.copies(server, out, url=server.url("/10"))
        said = web.refuses(server, out, url=server.url("/11"))
        assert "redirects more than 10 times" in said


@pytest.mark.parametrize("denied", [401, 403])
def test_the_address_of_a_redirect_may_expire(web, out, denied):
    """It is valid for some requests; then the user's address gives another."""
    def answer(handler, request):
        if request.path == "/disk.img":
            return handler.status(302, Location=f"/{request.number}")
        with handler.server.lock:
            used = [r.path for r in handler.server.requests[
                :request.number + 1]].count(request.path)
        return handler.status(denied) if used > 3 else None
    with Server(images.noise(30 * MI), answer) as server:
        web.copies(server, out)
        assert [r.path for r in server.requests].count("/disk.img") > 1

    with Server(images.noise(6 * MI), turns(
            status(302, Location="/there"), None, status(denied))) as server:
        said = web.refuses(server, out)
        assert f"the server answered {denied} (" in said


def test_secrets_go_to_no_other_host(web, out, work):
    header = work / "header"
    header.write_text("X-Token: abc\nCookie: a=b\r\n\nAuthorization: Mine x\n")
    with Server(images.noise(MI)) as other:
        with Server(other.content, places({
                "/far": status(302, Location=other.url(user="eve:evil@"),
                               Set_Cookie="c=d"),
                "/near": status(302, Location="/disk.img",
                                Set_Cookie="c=d")})) as server:
            for words in ["--http-header", f"@{header}"], []:
                for path in "/far", "/near":
                    user = "" if words else "me:pass@"
                    web.copies(server, out, *words, url=server.url(path, user=user))
                wanted = ({"X-Token": "abc", "Cookie": "a=b",
                           "Authorization": "Mine x"} if words else
                          {"Authorization": "Basic bWU6cGFzcw=="})
                for request in server.requests:
                    for name, value in wanted.items():
                        assert request.headers[name] == value
                server.requests.clear()
        for request in other.requests:
            assert not {"X-Token", "Cookie", "Authorization"} & set(request.headers)


def traced(done):
    """The lines of --trace without their times and without libcurl's reason
    for a lost connection; stderr has no others."""
    lines = re.findall(r"hone: trace \d+\.\d{3}: (#[^\n]+)\n", done.stderr.decode())
    assert len(lines) == done.stderr.count(b"\n"), done.stderr
    return [re.sub(r"( offset [1-9]\d*: )[^;]+", r"\1lost",
                   re.sub(r" \d+ ms", " N ms", line)) for line in lines]


def test_a_trace_shows_what_happens_and_no_secret(web, out, work):
    """All requests go through a proxy, which has a password, too."""
    header = work / "header"
    header.write_text("X-Token: s3cret\nCookie: a=s3cret\n")

    def half(handler, request):
        handler.send(handler.begin(request, Set_Cookie="b=s3cret")[:BLOCK])
        return handler.hang_up()

    answer = turns(
        status(302, Location="http://u:s3cret@c.invalid/b?sign='s3cret",
               Set_Cookie="b=s3cret"), status(503, Cookie="s3cret"), half, None)
    with Server(images.noise(3 * BLOCK), answer) as server:
        done = web.run(
            "convert", "-q", "--trace", "nbd,http", "--http-header",
            f"@{header}", "-f", "raw", "-O", "raw",
            "http://me:s3cret@a.invalid/a?sign='s3cret#s3cret", out / "copy",
            env={"http_proxy": server.url("", "proxy:s3cret@")})
    assert done.returncode == 0 and b"s3cret" not in done.stderr, done
    assert (out / "copy").read_bytes() == server.content
    a, b = "GET http://a.invalid/a", "GET http://c.invalid/b"
    assert traced(done) == [
        f"#1 {a} bytes 0-4194303", "#1 answered 302, 35 bytes",
        "#1 redirects to http://c.invalid/b",
        f"#2 {b} bytes 0-4194303", "#2 answered 503, 35 bytes",
        "#2 stopped at offset 0: no data; the next try is in N ms",
        f"#3 {b} bytes 0-4194303", "#3 answered 206, bytes 0-393215",
        "#3 the file has 393216 bytes, and is read in ranges",
        "#3 stopped at offset 131072: lost; the next try is in N ms",
        f"#4 {b} bytes 131072-393215", "#4 answered 206, bytes 131072-393215",
        "#4 is complete"]


def test_a_trace_of_a_server_without_ranges_and_of_a_failure(web):
    with Server(bytes(BLOCK), places({"/a": whole, "/b": status(404)})) as server:
        done = web.run("digest", "-f", "raw", "--trace", "http", server.url("/a"))
        assert traced(done) == [
            f"#1 GET {server.url('/a')} bytes 0-4194303",
            "#1 answered 200, 131072 bytes",
            "#1 the file has 131072 bytes, and is read once, as a whole",
            "#1 is complete"]
        done = web.run("info", "--trace", "http", server.url("/b"))
        lines, failure = done.stderr.rsplit(b"hone: ", 1)
        done.stderr = lines
        assert traced(done)[1:] == [
            "#1 answered 404, 35 bytes",
            "#1 failed: the server answered 404 (not found)"]
        assert failure.endswith(b": the server answered 404 (not found)\n")
        assert not web.ok("info", "--trace", "nbd", "-f", "raw",
                          server.url("/a")).stderr


@pytest.mark.parametrize("text, said", [
    ("secret\n", "line 1 is not a header field"),
    ("A: b\n: secret\n", "line 2 is not a header field"),
    ("A b: secret\n", "line 1 is not a header field"),
    ("A: b\r\n\n\r\n: secret\n", "line 4 is not a header field"),
    ("A: b\rC: secret\n", "line 1 is not a header field"),
    ("A: sec\vret\n", "line 1 is not a header field"),
    ("Range: bytes=0-secret\n", "line 1: the field Range cannot be set"),
    ("accept-encoding: secret\n", "the field accept-encoding cannot be set"),
    ("A: secret\0\n", "is not a text"),
    ("A: secret\n" * 7000, "has more than 65536 bytes"),
    (None, "cannot be opened: No such file")], ids=range(11))
def test_a_header_that_is_refused(web, out, work, text, said):
    header = work / "header"
    if text is not None:
        header.write_text(text)
    with Server(b"x") as server:
        got = web.refuses(server, out, "--http-header", f"@{header}")
        assert got.startswith(f"hone: {header}: ") and said in got
        assert "secret" not in got and not server.requests


@pytest.mark.parametrize("words, said", [
    (["--http-header", "X-Token: secret"], "takes the name of a file: @FILE"),
    (["--http-header", "@"], "takes the name of a file: @FILE"),
    (["--timeout", "0"], "--timeout: '0' is not a number from 1 to 3600"),
    (["--timeout", "3601"], "is not a number from 1 to 3600"),
    (["--timeout", "x"], "is not a number from 1 to 3600"),
    (["--trace", "ftp"], "--trace: 'ftp' is not http or nbd"),
    (["--trace", "http,"], "--trace: '' is not http or nbd")])
def test_a_misused_option(hone, small, words, said):
    got = hone.misused("info", *words, small)
    assert said in got and "secret" not in got


@pytest.mark.parametrize("address, name", [
    ("http://u:secret@127.0.0.1:1/a?secret#secret", "http://127.0.0.1:1/a"),
    ("http://secret@127.0.0.1:1/a@b", "http://127.0.0.1:1/a@b"),
    ("http://u:s@secret@127.0.0.1:1", "http://127.0.0.1:1"),
    ("http://[::1]:1/?secret", "http://[::1]:1/"),
    ("http://u:sec/ret@127.0.0.1/a", "http://"),
    ("http:///u:secret@127.0.0.1:1/a?secret", "http:///127.0.0.1:1/a"),
    ("http:127.0.0.1:1?secret", "http:127.0.0.1:1"),
    ("http:u:secret@127.0.0.1:1", "http:127.0.0.1:1")])
def test_no_message_has_a_secret(web, out, address, name):
    for words in ["info"], ["digest"], ["map"], ["check"]:
        done = web.hone.run(*words, address, env=CLEAN)
        assert not done.stdout and b"sec" not in done.stderr, done
        assert f"hone: {name}: ".encode() in done.stderr, done
    done = web.hone.run("convert", address, out / "d", env=CLEAN)
    assert not done.stdout and b"sec" not in done.stderr, done


def test_neither_reports_nor_proc_have_a_secret(web, small, out):
    seen = []

    def answer(handler, request):
        assert request.path == "/disk.img?secret"
        assert request.headers["Authorization"]
        if not seen:
            seen.extend(command_lines(b"/disk.img", handler.server.url()[7:].encode()))

    with Server(small.read_bytes(), answer) as server:
        url = server.url("/disk.img?secret", user="me:secret@")
        name = server.url()
        done = web.ok("convert", "--json", url, out / "d")
        assert json.loads(done.stdout)["source"] == name
        assert seen and not any(b"secret" in text for text in seen), seen
        for words in (["info"], ["info", "--json"], ["digest"],
                      ["map", "--json"], ["check"], ["compare", small]):
            done = web.ok(*words, url)
            assert b"secret" not in done.stdout


def test_an_address_that_is_not_valid(web, hone, small, out):
    for address in "http:", "http:/", "http://", "http://[", "http://a b:c/":
        said = web.hone.run("info", address, env=CLEAN)
        assert said.returncode == 1
        assert b"is not a valid address" in said.stderr, said
    said = hone.fails("convert", small, "https://127.0.0.1:1/a")
    assert "is for reading only" in said
    for words in (["convert", small, "https://u:secret@h/a?secret"],
                  ["digest", "--expect", "http://u:secret@h/a", small],
                  ["digest", "--expect", "@/dev/null", "https://u:secret@h/"]):
        assert "secret" not in hone.fails(*words)
    assert not os.listdir(out)


AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, "
    r"SignedHeaders=([^,]+), Signature=([0-9a-f]{64})")
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}


@pytest.fixture
def signed():
    """Call it with a request: whether botocore would sign it so."""
    auth = pytest.importorskip("botocore.auth")
    aws = pytest.importorskip("botocore.awsrequest")
    credentials = pytest.importorskip("botocore.credentials")

    def check(server, request, region="us-east-1", token=None, **keys):
        keys = keys or KEYS
        match = AUTHORIZATION.fullmatch(request.headers["Authorization"])
        assert match, request.headers["Authorization"]
        key, day, where, names, signature = match.groups()
        assert (key, where) == (keys["AWS_ACCESS_KEY_ID"], region)
        assert request.headers["X-Amz-Date"].startswith(day)
        assert request.headers.get("X-Amz-Security-Token") == token
        assert {"host", "x-amz-date", "x-amz-content-sha256"} <= set(names.split(";"))
        if token:
            assert "x-amz-security-token" in names.split(";")
        signer = auth.S3SigV4Auth(credentials.Credentials(
            key, keys["AWS_SECRET_ACCESS_KEY"], token), "s3", region)
        asked = aws.AWSRequest(
            "GET", server.url(request.path), headers={
                name: request.headers[name] for name in names.split(";")})
        asked.context["timestamp"] = request.headers["X-Amz-Date"]
        text = signer.string_to_sign(asked, signer.canonical_request(asked))
        assert signer.signature(text, asked) == signature
    return check


@pytest.mark.parametrize("key, path", [
    ("disk.img", "/disk.img"), ("a/b//c.img", "/a/b//c.img"),
    ("a b+c=d?e&f#g%h@i", "/a%20b%2Bc%3Dd%3Fe%26f%23g%25h%40i"),
    ("\u00e4~-_.!*'()", "/%C3%A4~-_.%21%2A%27%28%29")])
@pytest.mark.parametrize("token", [None, "FQoG/+==token"])
def test_requests_to_s3_are_signed(web, out, signed, key, path, token):
    with Server(images.noise(6 * MI)) as server:
        env = dict(KEYS, AWS_ENDPOINT_URL=server.url("/"))
        if token:
            env["AWS_SESSION_TOKEN"] = token
        web.copies(server, out, url=f"s3://bucket/{key}", env=env)
        assert len(server.requests) > 1
        for request in server.requests:
            assert request.path == "/bucket" + path
            signed(server, request, token=token)


def test_s3_without_keys_is_not_signed(web, out):
    with Server(images.noise(MI)) as server:
        web.copies(server, out, url="s3://bucket/disk.img",
                   env={"AWS_ENDPOINT_URL_S3": server.url(""),
                        "AWS_ENDPOINT_URL": "http://127.0.0.1:1"})
        for request in server.requests:
            assert "Authorization" not in request.headers


def test_the_keys_of_a_profile(web, out, signed):
    folder = web.home / ".aws"
    folder.mkdir()
    (folder / "credentials").write_text("""
# a comment
[other]
aws_access_key_id = WRONG
aws_secret_access_key = WRONG
[ mine ]
aws_access_key_id=AKIDEXAMPLE
  nested = 1
aws_secret_access_key = abc/+=def  \r
aws_session_token =
[default]
aws_access_key_id = DEFAULT
aws_secret_access_key = secret
aws_session_token = token
""")
    with Server(images.noise(MI)) as server:
        (folder / "config").write_text(f"""
[mine]
region = wrong
[default]
region = eu-west-1
endpoint_url = {server.url("")}
[profile mine]
s3 =
  region = wrong
region = ap-south-2
endpoint_url = {server.url("")}
aws_access_key_id = LATE
""")
        default = {"AWS_ACCESS_KEY_ID": "DEFAULT", "AWS_SECRET_ACCESS_KEY": "secret"}
        mine = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
                "AWS_SECRET_ACCESS_KEY": "abc/+=def"}
        moved = {"AWS_SHARED_CREDENTIALS_FILE": str(web.home / "c"),
                 "AWS_CONFIG_FILE": str(web.home / "d")}
        for env, region, token, keys in (
                ({}, "eu-west-1", "token", default),
                ({"AWS_PROFILE": "mine"}, "ap-south-2", None, mine),
                # the token belongs to the keys of the profile
                (KEYS, "eu-west-1", None, KEYS),
                ({"AWS_PROFILE": "mine", "AWS_REGION": "us-west-2", **KEYS},
                 "us-west-2", None, KEYS),
                ({"AWS_DEFAULT_REGION": "us-gov-1", **moved},
                 "us-gov-1", "token", default)):
            if env.keys() & moved.keys():
                (folder / "credentials").rename(web.home / "c")
                (folder / "config").rename(web.home / "d")
            web.copies(server, out, url="s3://bucket/disk.img", env=env)
            for request in server.requests:
                signed(server, request, region, token, **keys)
            server.requests.clear()


@pytest.mark.parametrize("address, env, said", [
    ("s3:bucket/a", {}, "s3://BUCKET/KEY has two slashes"),
    ("s3://bucket", {}, "is not a valid address: s3://BUCKET/KEY"),
    ("s3://bucket/", {}, "is not a valid address: s3://BUCKET/KEY"),
    ("s3:///a", {}, "is not a valid address: s3://BUCKET/KEY"),
    ("s3://b:1/a", {}, "is not a valid address: s3://BUCKET/KEY"),
    ("s3://b/a/../c", {}, "with a part . or .. cannot be read"),
    ("s3://b/./c", {}, "with a part . or .. cannot be read"),
    ("s3://b/a", {"AWS_PROFILE": "none"},
     "the profile 'none' of AWS_PROFILE does not exist"),
    ("s3://b/a", {"AWS_ACCESS_KEY_ID": "x"},
     "aws_access_key_id has no aws_secret_access_key"),
    ("s3://b/a", {"AWS_SECRET_ACCESS_KEY": "secret"},
     "aws_secret_access_key has no aws_access_key_id"),
    ("s3://b/a", {"AWS_REGION": "evil.example/"},
     "'evil.example/' is not a region of AWS"),
    ("s3://b/a", {"AWS_REGION": "a" * 64}, "is not a region of AWS"),
    ("s3://b/a", {"AWS_REGION": "a" * 4000}, "is not a region of AWS"),
    ("s3://b/a", {"AWS_ACCESS_KEY_ID": "secret" * 1000},
     "aws_access_key_id is longer than 4095 bytes")])
def test_a_wrong_setting_of_s3(web, out, address, env, said):
    got = web.fails("convert", address, out / "d", env=env)
    assert said in got and "secretsecret" not in got
    assert not os.listdir(out)


@pytest.mark.parametrize("number", [301, 307, 400, 403])
def test_a_bucket_of_another_region(web, out, number):
    with Server(b"x", status(number, x_amz_bucket_region="eu-north-1",
                             Location="http://127.0.0.1:1/")) as server:
        said = web.refuses(server, out, url="s3://bucket/a", env=dict(
            KEYS, AWS_ENDPOINT_URL=server.url("")))
        assert "the bucket is in region eu-north-1; set AWS_REGION" in said


def test_the_signature_goes_to_no_other_host(web, out, signed):
    with Server(images.noise(MI)) as other:
        with Server(b"", status(307, Location=other.url("/x"))) as server:
            web.copies(other, out, url="s3://bucket/a", env=dict(
                KEYS, AWS_SESSION_TOKEN="token",
                AWS_ENDPOINT_URL=server.url("")))
            signed(server, server.requests[0], token="token")
        for request in other.requests:
            assert "Authorization" not in request.headers
            assert not any(name.lower().startswith("x-amz-")
                           for name in request.headers)


def test_plain_s3_is_warned_about(web, small):
    with Server(small.read_bytes()) as server:
        done = web.hone.run("info", "s3://bucket/a", env=dict(
            CLEAN, HOME=str(web.home), AWS_ENDPOINT_URL=server.url("")))
        assert done.returncode == 0
        assert done.stderr == (
            b"hone: warning: s3://bucket/a: http does not protect the image "
            b"against changes on the way; use https\n")
