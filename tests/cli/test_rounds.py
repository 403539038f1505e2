# SPDX-License-Identifier: BSD-3-Clause
"""Names and --unpack unpack, in as many rounds as they say. What a guest wrote
never does."""
import lzma
import os

import pytest

import images
from http_server import Server
from harness import converted, write
from images import KI, PACK, SUFFIX
from tar_builder import archive as tar

DISK = images.noise(8 * KI)
PACKINGS = ["gzip", "xz", "bzip2"]


@pytest.fixture(autouse=True)
def libraries(hone):
    """Skip without the libraries of the packings."""
    hone.need("liblzma")
    hone.need("libbz2")


def pack(data, *packings):
    """Packed, the first packing inside."""
    for packing in packings:
        data = PACK[packing](data)
    return data


def guest(packing="gzip"):
    """A disk that a guest made begin as a packed file: zeros follow it."""
    data = pack(bytes(1024), packing)
    return data + bytes(8 * KI - len(data))


def refused(hone, out, said, *words):
    """Each command refuses it, convert with nothing left."""
    line = hone.fails("convert", *words, out / "x", code=3)
    assert said in line, line
    for command in ("info", "map"):
        assert said in hone.fails(command, *words, code=3)
    assert not os.listdir(out)


@pytest.mark.parametrize("rounds", [
    ("gzip",), ("gzip", "gzip"), ("xz", "gzip"), ("gzip", "xz", "bzip2"),
    ("gzip", "gzip", "xz", "xz")], ids=",".join)
def test_a_name_says_each_round(hone, work, out, rounds):
    suffixes = "".join(SUFFIX[packing] for packing in rounds)
    data = pack(DISK, *rounds)
    named = write(work, "disk.raw" + suffixes, data)
    assert converted(hone, out, named) == DISK
    assert converted(hone, out, "-f", "raw", named) == DISK
    listed = ",".join(reversed(rounds))
    other = write(work, "disk.img", data)
    assert converted(hone, out, "--unpack", listed, other) == DISK
    assert converted(hone, out, "--unpack", "none", "-f", "raw", named) == data
    assert hone.json("check", "--json", named)["safe"]


def test_five_rounds_are_too_many(hone, work, out):
    rounds = ["gzip"] * 5
    named = write(work, "disk.raw" + ".gz" * 5, pack(DISK, *rounds))
    said = hone.fails("convert", named, out / "x")
    assert "is packed more than 4 times" in said
    said = hone.misused("convert", "--unpack", ",".join(rounds), named, out / "x")
    assert "has more than 4 packings" in said
    inside = write(work, "a.tar.gz.gz.gz", pack(tar(
        {"disk.raw.gz.gz": pack(DISK, "gzip", "gzip")}), *rounds[:3]))
    said = hone.fails("convert", "--member", "disk.raw.gz.gz", inside, out / "x")
    assert "is packed more than 4 times" in said


def test_a_list_of_packings_has_packings_only(hone, work, out):
    packed = write(work, "disk.raw.gz", pack(DISK, "gzip"))
    for word, part in (("gzip,", "''"), (",gzip", "''"),
                       ("gzip,none", "'none'"), ("auto,gzip", "'auto'"),
                       ("gzip,lzip", "'lzip'"), ("gzip,,xz", "''")):
        said = hone.misused("convert", "--unpack", word, packed, out / "x")
        assert f"--unpack: {part} is not auto, none, gzip" in said


@pytest.mark.parametrize("name", ["disk.img", "disk.raw", "disk.dd", "a.BIN",
                                  "disk.iso"])
def test_a_guest_does_not_choose_the_packing(hone, work, out, name):
    for packing in PACKINGS:
        disk = write(work, name, guest(packing))
        said = f"begins as {packing}: --unpack {packing} or -f raw"
        refused(hone, out, said, disk)
        assert said in hone.fails("convert", "--untrusted", disk, out / "x", code=3)
        assert converted(hone, out, "-f", "raw", disk) == guest(packing)
        found = hone.json("check", "--json", disk, code=1)
        assert not found["safe"]


def test_compare_names_the_option_of_the_second_image(hone, work):
    disk = write(work, "disk.img", guest())
    other = write(work, "other", DISK)
    assert "begins as gzip: --unpack gzip or -f raw" in hone.fails(
        "compare", disk, other, code=3)
    assert hone.fails("compare", other, disk, code=3).endswith("begins as gzip: -F raw")


def test_a_guest_does_not_choose_behind_a_name(hone, work, out):
    packed = write(work, "disk.raw.xz", pack(guest(), "xz"))
    refused(hone, out, "begins as gzip: --unpack xz,gzip or -f raw", packed)
    assert converted(hone, out, "-f", "raw", packed) == guest()
    # Nor behind --unpack, nor after what the bytes of a pipe said.
    refused(hone, out, "--unpack xz,gzip or -f raw", "--unpack", "xz", packed)
    said = hone.fails("convert", "-", "-O", "raw", out / "x",
                      input=pack(DISK, "xz", "gzip"), code=3)
    assert "begins as xz: --unpack gzip,xz or -f raw" in said
    assert not os.listdir(out)


def test_a_tar_that_a_guest_wrote_is_no_archive(hone, work, out):
    archive = tar({"other.raw": DISK})
    refused(hone, out, "begins as a tar archive: --member NAME or -f raw",
            write(work, "disk.img", archive))
    refused(hone, out, "begins as a tar archive: --member NAME or -f raw",
            write(work, "disk.gz", pack(archive, "gzip")))
    assert converted(hone, out, "--member", "other.raw", work / "disk.img") == DISK
    assert converted(hone, out, work / "disk.img", "-f", "raw") == archive


def test_pipes_and_other_names_are_judged_by_their_bytes(hone, work, out):
    data = pack(DISK, "gzip")
    for name in ("upload", "a.dat", "disk.img.part"):
        assert converted(hone, out, write(work, name, data)) == DISK
    assert converted(hone, out, "-O", "raw", "-", input=data) == DISK
    archive = pack(tar({"disk.raw": DISK}), "gzip")
    assert converted(hone, out, write(work, "blob", archive)) == DISK
    with open(work / "upload", "rb") as file:
        assert converted(hone, out, "-", stdin=file) == DISK


@pytest.mark.usefixtures("libcurl")
def test_what_is_uploaded_is_the_file(web, out):
    with Server(pack(DISK, "gzip")) as server:
        web.ok("convert", "-q", server.url("/disk.img"), out / "x")
    assert (out / "x").read_bytes() == DISK


def test_a_member_is_unpacked_by_its_name(hone, work, out):
    packed = pack(DISK, "gzip")
    for archive in (write(work, "a.tar", tar({"disk.img.gz": packed})),
                    write(work, "a.ova", tar({"d/disk.img.gz": packed})),
                    write(work, "a.tar.xz", pack(tar({"disk.img.gz": packed}), "xz"))):
        name = "d/disk.img.gz" if archive.suffix == ".ova" else "disk.img.gz"
        assert converted(hone, out, "--member", name, archive) == DISK
        assert converted(hone, out, "-f", "raw", "--member", name, archive) == DISK
        found = hone.json("info", "--json", "--member", name, archive)
        assert (found["member"], found["format"]) == (name, "raw")
    # Not by what a guest wrote.
    archive = write(work, "b.tar", tar({"disk.img": guest(), "other": guest()}))
    for name in ("disk.img", "other"):
        refused(hone, out, "begins as gzip: extract it, then --unpack gzip, "
                "or -f raw", "--member", name, archive)
        assert converted(hone, out, "-f", "raw", "--member", name, archive) == guest()
    assert converted(hone, out, "--unpack", "none", "-f", "raw", "--member",
                     "disk.img.gz", work / "a.tar") == packed


@pytest.mark.parametrize("packing", PACKINGS)
def test_what_follows_the_packed_data_is_left(hone, work, out, packing):
    """As the metadata of OpenWrt does; without the option it is an error."""
    suffix, data = SUFFIX[packing], pack(DISK[:KI], packing)
    both = data + pack(DISK[KI:], packing)
    for rest in (b"{\"metadata\": 1}FWx0", b"\0" * 700 + b"x", b"x" * (300 * KI)):
        packed = write(work, "disk.raw" + suffix, both + rest)
        said = hone.fails("convert", packed, out / "x", code=3)
        assert "has other data after the end" in said
        assert said.endswith("; --trailing-data leaves it")
        for words in ([packed], ["--unpack", packing, "-"]):
            with open(packed, "rb") as file:
                done = hone.run("convert", "-O", "raw", "--trailing-data",
                                *words, out / "x", stdin=file)
            said = done.stderr.decode()
            assert done.returncode == 0, done
            assert said.count("\n") == 1 and said.endswith(
                f": {len(rest)} bytes behind the packed data were left\n")
            assert (out / "x").read_bytes() == DISK
            os.unlink(out / "x")
        assert converted(hone, out, "--trailing-data", packed) == DISK
    packed = write(work, "disk.raw" + suffix, both + b"x")
    assert hone.run("digest", "--trailing-data", packed).stderr.endswith(
        b": 1 byte behind the packed data was left\n")
    # Not more than that: data that begins is not left, nor is a wrong start.
    for wrong in (b"x" + both, both[:-3], both + data[:-3]):
        packed = write(work, "disk.raw" + suffix, wrong)
        done = hone.run("convert", "--trailing-data", packed, out / "x")
        assert done.returncode in (1, 3), done
        assert not os.listdir(out)


def test_the_rounds_share_the_memory(hone, work, out):
    """Each of two dictionaries has half of what decoders have, which is half."""
    data = lzma.compress(lzma.compress(DISK, preset=5), preset=5)
    packed = write(work, "disk.raw.xz.xz", data)
    assert converted(hone, out, "--memory", "64M", packed) == DISK
    said = hone.fails("convert", "--memory", "32M", packed, out / "x")
    assert "cannot be unpacked" in said
