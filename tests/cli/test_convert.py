# SPDX-License-Identifier: BSD-3-Clause
"""Converted images, held against the source, qemu-img and our own reader;
random images, too."""
import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extents
import images
import qcow2_reader
from harness import assert_same, stamp

FORMATS = ("raw", "qcow2")
HUGE = ("empty_8_tib", "empty_8_tib_but_its_end")


def convert(hone, source, output, fmt, *options):
    """Convert, prove that the source stayed; returns the JSON result."""
    before = stamp(source)
    result = hone.json("convert", "-O", fmt, "--json", *options, source, output)
    assert stamp(source) == before
    assert os.listdir(output.parent) == [output.name]
    return result


def ask_qemu(qemu_img, source, output, fmt):
    """qemu-img reads the output and finds the source's bytes in it."""
    status, said = qemu_img("compare", "-f", "raw", "-F", fmt, str(source), str(output))
    assert (status, said) == (0, "Images are identical.\n")
    if fmt == "qcow2":
        status, said = qemu_img("check", "-f", "qcow2", str(output))
        assert status == 0, said
        assert "No errors were found on the image." in said


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("name", images.MAKERS)
def test_output_equals_its_source_to_us_and_to_qemu(
        hone, image, out, qemu_img, name, fmt):
    """It takes little more disk than its data does."""
    source, output = image(name), out / f"disk.{fmt}"
    result = convert(hone, source, output, fmt)
    if name in ("written_zeros", "preallocated", *HUGE):
        assert extents.disk_usage(output) <= 1 << 20
    elif fmt == "raw":
        assert extents.disk_usage(output) <= result["data_bytes"] * 1.01 + 65536
    assert_same(source, output, fmt)
    ask_qemu(qemu_img, source, output, fmt)
    if fmt == "raw":
        hone.ok("compare", "--strict", source, output)


def bytes_of_kinds(path):
    """Bytes of data, zeros and holes."""
    totals = dict.fromkeys(("data", "zero", "hole"), 0)
    for _, length, kind in extents.kinds(path, 4096):
        totals[kind] += length
    return totals


@pytest.mark.parametrize("name", images.MAKERS)
def test_result_accounts_for_every_byte(hone, image, out, name):
    source, output = image(name), out / "disk.raw"
    before = bytes_of_kinds(source)
    result = convert(hone, source, output, "raw")
    totals = bytes_of_kinds(source)
    told = {kind: result[f"{kind}_bytes"] for kind in totals}
    if before != totals:
        # What is allocated but was never written, as the log of XFS, is a hole
        # until it is in the page cache.
        for each in (told, totals):
            each["zero"] += each.pop("hole")
    assert told == totals
    assert result["virtual_size"] == os.stat(source).st_size
    assert result["file_size"] == os.stat(output).st_size
    assert result["disk_usage"] == extents.disk_usage(output)
    assert (result["command"], result["source"], result["destination"],
            result["source_format"], result["format"]) == (
                "convert", str(source), str(output), "raw", "raw")
    assert result["seconds"] >= 0
    assert result["zero_variant"] == hone.json("cpu", "--json")["variants"]["zero"]


@pytest.mark.parametrize("size", [0, 1, 511, 512, 1000, 1536])
def test_the_size_told_is_that_of_the_new_image(hone, work, out, size):
    """qcow2 rounds it up to 512 bytes."""
    source = work / "s"
    images.pieces(source, size)
    for fmt, told in (("raw", size), ("qcow2", (size + 511) // 512 * 512)):
        output = out / f"d.{fmt}"
        result = convert(hone, source, output, fmt)
        assert result["virtual_size"] == told
        assert hone.json("info", "--json", output)["virtual_size"] == told
        kinds = ("data_bytes", "zero_bytes", "hole_bytes")
        assert sum(result[kind] for kind in kinds) == size
        output.unlink()
    said = hone.ok("convert", source, output).stdout.decode()
    shown = {0: "0 bytes", 512: "512 bytes", 1024: "1.0 KiB", 1536: "1.5 KiB"}[told]
    assert f"d.qcow2: qcow2, {shown}" in said


def test_the_default_qcow2_is_version_3_with_64_kib_clusters(hone, image, out):
    output = out / "disk.qcow2"
    convert(hone, image("mixed"), output, "qcow2")
    result = qcow2_reader.Qcow2(output)
    assert (result.version, result.cluster) == (3, 65536)


def test_the_same_source_gives_the_same_bytes_under_every_variant(hone, image, out):
    outputs = set()
    for limit in ("none", "sse2", "sse2,avx2", "neon", "all"):
        output = out / "disk.qcow2"
        hone.ok("--cpu-limit", limit, "convert", "-q", "--force",
                image("mixed"), output)
        outputs.add(output.read_bytes())
    assert len(outputs) == 1


@pytest.mark.parametrize("name, fmt", [
    ("d.qcow2", "qcow2"), ("d.QCOW2", "qcow2"), ("d.raw", "raw"),
    ("d.img", "raw"), ("d.bin", "raw"), ("d", "raw"),
    ("qcow2.d/x.y/d", "raw")])
def test_the_suffix_names_the_format(hone, small, out, name, fmt):
    output = out / name
    output.parent.mkdir(parents=True, exist_ok=True)
    result = hone.json("convert", "--json", small, output)
    assert result["format"] == fmt
    assert_same(small, output, fmt)


def test_too_small_clusters_for_a_huge_disk_are_refused(hone, image, out):
    said = hone.fails("convert", "-o", "cluster_size=512",
                      image("empty_8_tib"), out / "disk.qcow2")
    assert "cluster" in said or "L1" in said
    assert not os.listdir(out)


@pytest.mark.parametrize("words, name", [
    (["disk.img", "d", "-q", "-O", "raw"], "d"),
    (["disk.img", "d", "-q", "-O", "qcow2"], "d"),
    (["-q", "disk.img", "copy.raw"], "copy.raw"),
    (["-q", "--", "disk.img", "-q"], "-q")], ids=str)
def test_options_may_follow_names_up_to_two_dashes(hone, small, words, name):
    """Names without a directory are of the current one."""
    hone.ok("convert", *words, cwd=small.parent)
    assert_same(small, small.parent / name, "qcow2" if "qcow2" in words else "raw")


def test_a_person_gets_one_line_and_quiet_means_none(hone, small, out):
    said = hone.ok("convert", small, out / "a").stdout
    assert said.endswith(b"\n") and said.count(b"\n") == 1
    assert not hone.ok("convert", "-q", small, out / "b").stdout


def test_memory_bounds_what_compresses(hone, work, out):
    """At level 19 of zstd each thread takes 2 MiB: fewer threads work."""
    source = work / "a.img"
    block = bytes(i & 255 for i in range(65536))
    with open(source, "wb") as file:
        for i in range(1024):
            file.write(bytes([i & 255, i >> 8]) + block[2:])
    options = ["-c", "--level", "19", "-o", "compression_type=zstd", "-m", "64"]
    for name, memory, least, most in (("a", 8, 1, 1), ("b", 64, 2, 20),
                                      ("c", 400, 21, 60)):
        done, peak = hone.peak("convert", "--json", *options, "--memory",
                               f"{memory}M", source, out / f"{name}.qcow2")
        assert least <= json.loads(done.stdout)["threads"] <= most
        # Chunks and contexts have three quarters. The program, its libraries
        # and that Python take less than 16 MiB.
        assert hone.sanitized or peak < (memory * 3 // 4 + 16) * 1024
    assert len({(out / f"{name}.qcow2").read_bytes() for name in "abc"}) == 1


def test_decoders_have_memory_before_what_compresses(hone, work, out):
    """Fewer threads work if the source is packed."""
    source, packed = work / "a.img", work / "a.raw.gz"
    images.pieces(source, 64 << 20)
    hone.ok("convert", "-q", source, packed)
    alone, shared = (hone.json(
        "convert", "--json", "-c", "--level", "19", "-o",
        "compression_type=zstd", "-m", "64", "--memory", "64M", path,
        out / f"{path.name}.qcow2")["threads"] for path in (source, packed))
    assert alone > shared


SIZES = ("512", "1k", "2048", "4K", "8k", "64k", "256K", "2M")
BYTES = dict(zip(SIZES, (512, 1024, 2048, 4096, 8192, 1 << 16, 1 << 18, 1 << 21)))
# Borders near those of clusters, pages, read buffers and windows.
EDGES = st.one_of(
    st.integers(0, 600 * 1024),
    st.builds(lambda base, off: max(0, base + off),
              st.sampled_from([4096, 65536, 512 << 10, 2 << 20, 4 << 20]),
              st.integers(-513, 513)))
PARTS = st.lists(st.tuples(
    EDGES, st.one_of(st.integers(1, 3), st.integers(1, 9000),
                     st.sampled_from([512, 4096, 65536, 3 << 20])),
    st.sampled_from(["zero", "speck", "noise"])), max_size=7)


def content(kind, length):
    """Bytes to write: zeros, zeros but for one, or no zeros."""
    if kind == "noise":
        return b"\xa5" * length
    return bytes(length - 1) + (b"\1" if kind == "speck" else b"\0")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory for one source and one output."""
    return tmp_path_factory.mktemp("random")


@settings(max_examples=settings.default.max_examples * 3 // 2)
@given(size=EDGES, parts=PARTS, fmt=st.sampled_from(["raw", "qcow2"]),
       cluster=st.sampled_from(SIZES), scan=st.sampled_from(SIZES),
       threads=st.sampled_from(["1", "2", "5"]))
def test_any_image_comes_out_equal_sound_and_sparse(
        hone, place, size, parts, fmt, cluster, scan, threads):
    source, output = place / "source", place / "output"
    images.pieces(source, size, *(
        (at, content(kind, length)[:max(0, size - at)])
        for at, length, kind in parts if at < size))
    before = stamp(source)
    options = ["-o", f"cluster_size={cluster}"] if fmt == "qcow2" else []
    result = hone.json("convert", "--force", "--json", "-O", fmt, "-S", scan,
                       "--threads", threads, *options, source, output)
    assert stamp(source) == before
    assert sorted(os.listdir(place)) == ["output", "source"]
    assert_same(source, output, fmt)
    totals = dict.fromkeys(("data", "zero", "hole"), 0)
    block = BYTES[scan]
    if fmt == "qcow2":
        block = max(block, BYTES[cluster])
        image = qcow2_reader.Qcow2(output)
        if BYTES[cluster] >= BYTES[scan]:
            assert all(any(image.read(guest)) for guest in image.where)
    for _, length, kind in extents.kinds(source, block):
        totals[kind] += length
    assert [result[f"{kind}_bytes"] for kind in totals] == list(totals.values())
