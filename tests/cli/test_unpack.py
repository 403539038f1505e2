# SPDX-License-Identifier: BSD-3-Clause
"""Images that are packed by gzip, xz, zstd or bzip2."""
import hashlib
import lzma
import os
import random
import subprocess
import sys

import pytest

import images
from harness import PEAK, Web, assert_reads_as, need, take_peak, write
from http_server import Server
from images import KI, LIBRARIES, MI, PACK, SUFFIX, zstd
from test_http import chunked

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "image"))
# pylint: disable=wrong-import-position
from seeds import bgzip  # noqa: E402

PACKAGE = {"xz": "liblzma-dev", "bzip2": "libbz2-dev"}
BOMB = 48 * MI
READERS = ["convert", "map", "info", "compare", "check", "digest"]


def xz(data, *options):
    """The xz command, for what Python's module cannot do."""
    return subprocess.run(["xz", "-c", *options], input=data,
                          stdout=subprocess.PIPE, check=True).stdout


@pytest.fixture
def has_xz(hone):
    """Skip without liblzma."""
    hone.need("liblzma")


@pytest.fixture
def qcow2(hone, small, work):
    """The small image as qcow2."""
    path = work / "source" / "disk.qcow2"
    hone.ok("convert", "-q", small, path)
    return path


@pytest.mark.parametrize("form", ["raw", "qcow2"])
def test_every_command_reads_a_packed_image(
        hone, small, qcow2, work, packing, form, out):
    plain = small if form == "raw" else qcow2
    packed = write(work, f"a.{form}{SUFFIX[packing]}", PACK[packing](plain.read_bytes()))
    assert_reads_as(hone, packed, plain, out, sized=form == "qcow2" or packing == "xz")
    assert hone.json("info", "--json", packed)["file_size"] == packed.stat().st_size


def test_the_suffix_or_the_option_says_how_it_is_packed(hone, qcow2, work, packing):
    data = PACK[packing](qcow2.read_bytes())
    named = write(work, "a.qcow2" + SUFFIX[packing].upper(), data)
    other = write(work, "b", data)
    for words in ([named], ["--unpack", "auto", named],
                  ["--unpack", packing, named], ["-f", "qcow2", named],
                  [other], ["--unpack", packing, "-f", "qcow2", other]):
        hone.ok("compare", "-q", *words, qcow2)
    # A guest chose the first bytes of a disk whose format is given.
    raw = write(work, "c.raw", data + bytes(-len(data) % 512))
    hone.ok("compare", "-q", "-f", "raw", "-F", "raw", raw, raw)
    size = hone.json("info", "--json", "-f", "raw", raw)["virtual_size"]
    assert size == raw.stat().st_size
    size = hone.json("info", "--json", "--unpack", "none", named)["virtual_size"]
    assert size == len(data)
    assert "qcow2" in hone.fails("info", "-f", "qcow2", "--unpack", "none", named)


def test_the_suffix_below_the_packing_is_checked(hone, small, work, packing):
    packed = write(work, "a.qcow2" + SUFFIX[packing], PACK[packing](small.read_bytes()))
    said = hone.fails("convert", packed, work / "x")
    assert "is named .qcow2 but has no qcow2 header" in said
    hone.ok("convert", "-q", "-f", "raw", packed, work / "x")
    hone.ok("compare", "-q", small, work / "x")


def test_a_file_that_is_not_packed_is_refused(hone, small, work, packing):
    plain = write(work, "a.raw" + SUFFIX[packing], small.read_bytes())
    said = hone.fails("convert", plain, work / "x")
    assert f"is not packed by {packing}" in said and "--unpack none" in said
    hone.ok("convert", "-q", "--unpack", "none", plain, work / "x")
    hone.ok("compare", "-q", small, work / "x")


@pytest.mark.parametrize("command", READERS)
def test_a_wrong_packing_is_a_misuse(hone, small, out, command):
    operands = [small, out / "x"] if command == "convert" else [small]
    operands += [small] if command == "compare" else []
    said = hone.misused(command, "--unpack", "lzip", *operands)
    assert ("--unpack: 'lzip' is not auto, none, gzip, xz, zstd or bzip2" in said)


def test_a_destination_that_is_the_packed_source_is_kept(hone, small, work, packing):
    packed = write(work, "a.raw" + SUFFIX[packing], PACK[packing](small.read_bytes()))
    before = packed.read_bytes()
    said = hone.fails("convert", "-O", "raw", "--force", packed, packed)
    assert "is the source itself" in said
    assert packed.read_bytes() == before


@pytest.fixture(name="server", scope="module")
def server_fixture():
    """A web server; the first part of a path says how it answers."""
    def answer(handler, request):
        how = request.path.split("/")[1]
        if how == "stream":
            return chunked(handler, request)
        if how == "short":
            told, sent = handler.server.content
            handler.head(200, {}, told)
            handler.send(sent)
            return handler.hang_up()
        return None

    with Server(answer=answer) as server:
        yield server


class Given:
    """The command with a packed image from a file, a pipe or a server."""

    def __init__(self, hone, way, work, server):
        self.hone, self.way, self.work, self.server = hone, way, work, server
        self.name = None

    def run(self, packing, data, *words, before=()):
        """Run it with these bytes in the place of the word None. Returns the
        result without the warning about http; name is the source's then."""
        name = "a.raw" + SUFFIX[packing]
        if self.way == "pipe":
            self.name = "stdin"
            options = ["--unpack", packing, "-f", "raw"]
            return self.hone.run(words[0], *options,
                                 *("-" if word is None else word for word in words[1:]),
                                 input=data, before=before)
        if self.way == "file":
            self.name = str(write(self.work, name, data))
        else:
            self.server.content = data
            self.name = self.server.url(f"/{self.way}/{name}")
        return Web(self.hone.path, self.work).run(
            *(self.name if word is None else word for word in words), before=before)


@pytest.fixture(name="given", params=["file", "pipe", "ranges", "stream"])
def given_fixture(request, hone, work, server):
    """Each way in which a packed image comes: from a server with ranges and
    from one without, too."""
    if request.param in ("ranges", "stream"):
        hone.need("libcurl")
    return Given(hone, request.param, work, server)


# Each way with some packings, and each packing from a file and on another way.
each_way = pytest.mark.parametrize("given, packing", [
    *(("file", packing) for packing in PACK), ("pipe", "gzip"), ("pipe", "xz"),
    ("ranges", "xz"), ("ranges", "zstd"), ("stream", "gzip"), ("stream", "bzip2")],
    indirect=True)


def served(given):
    """Whether a server gives the image: each case takes longer then."""
    return given.way in ("ranges", "stream")


@pytest.fixture(name="disk")
def disk_fixture(small):
    """The small image in whole sectors, as a server's has to be."""
    os.truncate(small, os.stat(small).st_size // 512 * 512)
    return small


def fails_everywhere(given, packing, data, disk, out, part):
    """No command accepts the image, and nothing is left."""
    for words in (["convert", None, out / "x"], ["compare", None, disk],
                  ["digest", None], ["check", None], ["map", None]):
        done = given.run(packing, data, *words)
        assert done.returncode == 3, (words, done)
        said = done.stderr.decode()
        assert part in said and given.name in said, said
    assert not os.listdir(out)


@each_way
def test_a_file_that_is_cut_is_an_error(given, disk, packing, out):
    data = PACK[packing](disk.read_bytes())
    for n in range(1, 50, 12 if served(given) else 6):
        cut = data[:len(data) * n // 50]
        done = given.run(packing, cut, "convert", None, out / "x")
        assert done.returncode == 3, done
        said = done.stderr.decode()
        assert "the file is not complete" in said and "offset" in said
        assert not os.listdir(out)
    fails_everywhere(given, packing, cut, disk, out, "the file is not complete")


@each_way
def test_what_follows_the_last_member(hone, given, disk, packing, out):
    data = disk.read_bytes()
    data = (PACK[packing](data[:100 * KI]) + PACK[packing](data[100 * KI:]) +
            bytes(700))
    done = given.run(packing, data, "convert", "-q", None, out / "x")
    assert (done.returncode, done.stderr) == (0, b""), done
    hone.ok("compare", "-q", "--strict", disk, out / "x")
    os.unlink(out / "x")
    fails_everywhere(given, packing, data + b"more", disk, out,
                     "has other data after the end")


@each_way
def test_a_file_cut_between_members_is_not_what_is_expected(
        hone, given, disk, packing, out, digests):
    """Without a digest, nobody could know."""
    data = disk.read_bytes()
    first = PACK[packing](data[:100 * KI])
    whole = first + PACK[packing](data[100 * KI:])
    for expected, code in ((whole, 3), (first, 0)):
        done = given.run(packing, first, "convert", "-q", "--expect",
                         "sha256:" + hashlib.sha256(expected).hexdigest(),
                         None, out / "x")
        assert done.returncode == code, done
        assert (b"the file is refused: its sha256 is" in done.stderr) == bool(
            code), done
        assert os.listdir(out) == ([] if code else ["x"])
    assert (out / "x").read_bytes() == data[:100 * KI]


def test_a_server_that_ends_between_members_too_early(hone, server, disk, work,
                                                      packing, out):
    """It told a greater length. With the zeros, all that it sent is read
    before the end is missed: reads have 128 KiB. The first 256 KiB never
    pause the request: libcurl 8.14 drops what a paused one holds."""
    hone.need("libcurl")
    given = Given(hone, "short", work, server)
    first = PACK[packing](images.noise(100 * KI))
    first += bytes(-len(first) % (128 * KI))
    told = len(first + PACK[packing](disk.read_bytes()))
    for words in (["convert", None, out / "x"], ["digest", None],
                  ["compare", None, disk]):
        done = given.run(packing, (told, first), *words)
        assert done.returncode == 4, done
        assert (f"ended its answer at offset {len(first)}, before the end of "
                "the file") in done.stderr.decode()
    assert not os.listdir(out)


@pytest.mark.parametrize("level", ["xz", "zstd"])
def test_more_memory_than_allowed_is_refused(hone, small, work, out, level, has_xz):
    data = small.read_bytes()
    if level == "xz":
        packed = write(work, "a.raw.xz", xz(data, "-9"))
    else:
        packed = write(work, "a.raw.zst", zstd(data, "--long=24", "-1",
                                               "--no-content-size"))
    said = hone.fails("convert", "--memory", "8M", packed, out / "x")
    assert "cannot be unpacked" in said and "its share of --memory" in said
    hone.ok("convert", "-q", "--memory", "160M", packed, out / "x")
    hone.ok("compare", "-q", small, out / "x")


def test_the_window_of_a_short_frame_is_named(hone, work):
    # A magic, a window of 2^41 bytes, one raw block of 3 bytes: fewer than the
    # 18 bytes that a decoder gets to see at first.
    frame = bytes.fromhex("28b52ffd 00 f8 190000 616263")
    said = hone.fails("info", write(work, "a.raw.zst", frame))
    assert f"needs a window of {1 << 41} bytes" in said


def test_blocks_of_xz_are_unpacked_one_by_one(hone, image, work, out, has_xz, threads):
    plain = work / "plain.raw"
    plain.write_bytes(images.noise(128 * KI) * 24 + bytes(5 * MI) +
                      images.noise(128 * KI, 2) * 16 + b"end")
    packed = write(work, "a.raw.xz", xz(plain.read_bytes(), "-0", "--block-size=1MiB"))
    for memory in ("8M", "16M", "64M"):
        hone.ok("convert", "-q", "--force", "-m", threads, "--memory", memory,
                packed, out / "x")
        hone.ok("compare", "-q", "--strict", plain, out / "x")
    os.unlink(out / "x")
    # Two streams, with padding.
    packed.write_bytes(packed.read_bytes() + bytes(8) + xz(b"more" * 256, "-0"))
    plain.write_bytes(plain.read_bytes() + b"more" * 256)
    hone.ok("compare", "-q", "--strict", plain, packed)


def test_parts_that_nobody_reads_are_verified(hone, small, work, out, has_xz):
    """The clusters behind the image's own are of no use to a reader."""
    path = work / "disk.qcow2"
    hone.ok("convert", "-q", small, path)
    with open(path, "ab") as file:
        file.write(images.noise(128 * KI) * 32)
    data = bytearray(xz(path.read_bytes(), "-0", "--block-size=1MiB"))
    packed = write(work, "a.qcow2.xz", data)
    hone.ok("convert", "-q", packed, out / "x")
    os.unlink(out / "x")
    data[-300 * KI] ^= 1
    packed.write_bytes(data)
    said = hone.fails("convert", packed, out / "x", code=3)
    assert "has damaged xz data before offset" in said
    assert not os.listdir(out)


@pytest.fixture(name="bomb", scope="module")
def bomb_fixture(tmp_path_factory):
    """Call it with a packing: BOMB zeros, packed once."""
    made = {}
    plain = tmp_path_factory.mktemp("bomb") / "a.raw"
    images.pieces(plain, BOMB)

    def get(packing):
        command = {"gzip": ["gzip", "-1"], "xz": ["xz", "-0"],
                   "zstd": ["zstd", "-q"], "bzip2": ["bzip2", "-1"]}[packing]
        need(command[0])
        if packing not in made:
            with open(plain, "rb") as file:
                made[packing] = subprocess.run(
                    [*command, "-c"], stdin=file, stdout=subprocess.PIPE,
                    check=True).stdout
        return made[packing]
    return get


@each_way
def test_a_bomb_stays_small(hone, given, out, packing, bomb):
    """Zeros take neither memory nor space."""
    done = given.run(packing, bomb(packing), "convert", "-q", "-m", "1", None,
                     out / "x", before=PEAK)
    peak = take_peak(done)
    assert (done.returncode, done.stderr) == (0, b""), done
    assert hone.sanitized or peak < 40 * KI
    assert os.stat(out / "x").st_size == BOMB
    assert os.stat(out / "x").st_blocks == 0


# Zeros that several threads unpack. zstd writes the length of a frame if it knows
# it; without one, a thread learns that a frame is too long when it unpacks it.
PARTS = {
    "xz": lambda: xz(bytes(64 * MI), "-0", "--block-size=8MiB"),
    "zstd": lambda: zstd(bytes(8 * MI), f"--stream-size={8 * MI}") * 8,
    "unknown": lambda: zstd(bytes(8 * MI)) * 8,
    "long": lambda: zstd(bytes(64 * MI)),
}


@pytest.mark.all
@pytest.mark.parametrize("given", ["file", "pipe"], indirect=True)
@pytest.mark.parametrize("kind", PARTS)
def test_a_bomb_of_many_parts_stays_small(hone, given, out, has_xz, kind):
    """What four threads unpack at a time is bounded, however long it is."""
    times = 4
    bomb = PARTS[kind]() * times
    done = given.run("xz" if kind == "xz" else "zstd", bomb, "convert", "-q",
                     "-m", "4", None, out / "x", before=PEAK)
    peak = take_peak(done)
    assert (done.returncode, done.stderr) == (0, b""), done
    assert hone.sanitized or peak < 200 * KI
    assert os.stat(out / "x").st_size == times * 64 * MI
    assert os.stat(out / "x").st_blocks == 0


@pytest.mark.all
def test_the_rest_of_a_file_has_the_memory_of_the_threads(hone, work):
    """Threads unpack frames of 10.9 MB. The window of the next one needs most of
    what they had."""
    long = zstd(images.noise(110 * MI), "-1", "--long=27")
    peaks = []
    for frames in b"", zstd(images.noise(10_900_000)) * 6:
        path = write(work, "a.zst", frames + long)
        peaks.append(hone.peak("digest", "-m", "2", "--memory", "256M", path)[1])
    assert hone.sanitized or peaks[1] < peaks[0] + 16 * KI, peaks


def test_jobs_of_short_members_use_few_pages_of_the_input(hone, work):
    """The input has room for 40 MiB, and a job 256 KiB."""
    path = write(work, "a.gz", bgzip(images.noise(60_000)) * 700)
    _, peak = hone.peak("digest", "-m", "4", "--memory", "1G", path)
    assert hone.sanitized or peak < 40 * KI


def test_many_short_jobs_beside_a_long_rest(hone, work):
    """4 MiB are in the input when 60,000 jobs of 26 bytes begin: a frame that is
    skipped, and one of zeros."""
    noise = zstd(random.Random(1).randbytes(4300 * KI))
    short = bytes.fromhex("502a4d1800000000 28b52ffd8038001000002d00000d00010000")
    path = write(work, "disk.raw.zst", noise + short * 60_000 + noise)
    # a guard: 10 times what it takes
    done = hone.json("map", "--json", path, before=["prlimit", "--cpu=10:10"])
    assert [piece["length"] for piece in done][1:-1] == [60_000 * 4 * KI]


def test_zeros_without_an_end_behind_xz(hone, work, has_xz):
    """The search for the index of a sparse file ends."""
    path = work / "disk.raw.xz"
    with open(path, "wb") as file:
        file.write(bytes.fromhex("fd377a585a000004e6d6b446"))
        file.truncate(4 << 40)
    assert "damaged xz data" in hone.fails("info", path, code=3)


def test_each_stream_of_xz_is_looked_at_once(hone, work, has_xz):
    """12 MiB of empty streams: joined indexes would take some minutes."""
    empty = lzma.compress(b"", check=lzma.CHECK_NONE)
    path = write(work, "disk.raw.xz", lzma.compress(bytes(64 * KI)) +
                 empty * 400_000 + bytes(4) + empty)
    # a guard: 30 times what it takes
    before = ["prlimit", "--cpu=30:30"]
    assert hone.json("info", "--json", path, before=before)["virtual_size"] == 64 * KI
    hone.ok("convert", "-q", path, work / "out", before=before)
    assert os.stat(work / "out").st_size == 64 * KI


def test_the_size_by_the_indexes_of_xz(hone, work, has_xz):
    """One that is longer than what is read at a time, zeros between streams,
    and what is wrong: then the content is counted, which finds the damage."""
    parts = [xz(bytes(24 * MI), "-0", "--block-size=512"),
             lzma.compress(images.noise(100 * KI)), xz(b"end", "--check=sha256")]
    sound = parts[0] + bytes(8) + parts[1] + parts[2] + bytes(400 * KI)
    size = 24 * MI + 100 * KI + 3
    info = "info", "--json", "-f", "raw"
    assert hone.json(*info, write(work, "a.xz", sound))["virtual_size"] == size
    hone.ok("convert", "-q", "-f", "raw", work / "a.xz", work / "out")
    assert os.stat(work / "out").st_size == size
    first = len(parts[0])
    index = 4 * int.from_bytes(sound[first - 8:first - 4], "little") + 4
    assert index > 128 * KI

    def unknown(wrong):
        path = write(work, "a.xz", wrong)
        assert hone.json(*info, path)["virtual_size"] is None
        return path
    for at in (first - 1, first - 8, first - 12, first - 12 - index,
               first - 12 - index // 2, first + 8 + 7, 7):
        wrong = bytearray(sound)
        wrong[at] ^= 1
        path = unknown(wrong)
    assert "xz data" in hone.fails("digest", "-f", "raw", path, code=3)
    unknown(sound + bytes(3))
    path = unknown(sound[:first + 8] + bytes(2) + sound[first + 8:])
    assert "after the end of the xz data" in hone.fails(
        "digest", "-f", "raw", path, code=3)


def test_a_check_of_a_raw_disk_needs_no_scratch_space(hone, work, packing):
    plain = images.noise(64 * KI) + bytes(12 * MI) + images.noise(64 * KI, 2)
    packed = write(work, "a.raw" + SUFFIX[packing], PACK[packing](plain))
    nowhere = {"TMPDIR": str(work / "nowhere")}
    assert hone.json("check", "--json", "--memory", "32M", packed, env=nowhere)["safe"]
    # The signature of a VHD is in the last 512 bytes.
    packed.write_bytes(PACK[packing](plain + b"conectix" + bytes([0, 0, 0, 2])
                                     + bytes([0, 1, 0, 0]) + bytes(496)))
    found = hone.json("check", "--json", "--memory", "32M", packed, code=1, env=nowhere)
    assert not found["safe"] and "VHD" in str(found["checks"])


@pytest.mark.parametrize("name", list(PACKAGE))
def test_a_build_without_the_library_says_so(hone, small, work, out, name):
    if f"{LIBRARIES[name]} ".encode() in hone.version:
        pytest.skip(f"this hone was built with {LIBRARIES[name]}")
    packed = write(work, "a.raw" + SUFFIX[name], PACK[name](small.read_bytes()))
    said = hone.fails("convert", packed, out / "x")
    assert LIBRARIES[name] in said and PACKAGE[name] in said
    assert not os.listdir(out)


def test_no_name_of_another_packing_is_written(hone, tmp_path):
    """Nobody could unpack such a file."""
    disk = write(tmp_path, "disk.img", b"x" * 5000)
    for suffix in "xz", "bz2":
        out = tmp_path / f"out.img.{suffix}"
        line = hone.fails("convert", disk, out)
        assert "that hone cannot write" in line and not out.exists(), line
        assert "a name with '.zst' or '.gz' is packed" in line
        hone.ok("convert", "-O", "raw", disk, out)
        hone.ok("info", "--unpack", "none", out)
    line = hone.fails("convert", disk, tmp_path / "out.vhdx.gz")
    assert "suffix '.vhdx.gz' means a format" in line and "packed" not in line
