# SPDX-License-Identifier: BSD-3-Clause
"""`hone info` and `hone cpu`."""
import os
import re
import shutil
import subprocess
import time

import pytest

import extents
from harness import assert_same


def test_info_tells_format_sizes_and_disk_usage(hone, image):
    path = image("mixed")
    found = hone.json("info", "--json", path)
    assert (found["format"], found["virtual_size"], found["file_size"],
            found["disk_usage"]) == (
                "raw", os.stat(path).st_size, os.stat(path).st_size,
                extents.disk_usage(path))
    said = hone.ok("info", path).stdout.decode()
    for word in (str(path), "raw", str(os.stat(path).st_size)):
        assert word in said


@pytest.mark.parametrize("bits, size", [(9, "512"), (16, "64k"),
                                        (21, "2M")])
def test_info_shows_the_header_of_a_qcow2_file(hone, image, out, bits, size):
    output = out / "disk.qcow2"
    hone.ok("convert", "-q", "-o", f"cluster_size={size}", image("mixed"),
            output)
    found = hone.json("info", "--json", output)
    assert (found["format"], found["version"], found["cluster_size"]) == (
        "qcow2", 3, 1 << bits)
    assert found["file_size"] == os.stat(output).st_size
    virtual = (os.stat(image("mixed")).st_size + 511) // 512 * 512
    assert found["virtual_size"] == virtual
    assert "qcow2" in hone.ok("info", output).stdout.decode()


def test_info_of_a_cut_qcow2_header_does_not_invent_fields(hone, work):
    for length in (4, 8, 24, 71, 72, 100, 103):
        path = work / "disk.qcow2"
        path.write_bytes((b"QFI\xfb\0\0\0\3" + bytes(100))[:length])
        done = hone.run("info", "--json", path)
        assert done.returncode in (0, 1)
        if done.returncode == 0:
            assert b"cluster_size" not in done.stdout


def test_cpu_names_a_variant_for_each_part(hone):
    found = hone.json("cpu", "--json")
    assert found["variants"]["zero"]
    said = hone.ok("cpu").stdout.decode()
    assert found["variants"]["zero"] in said and "zero" in said
    for feature in found["features"]:
        assert feature in said


def test_cpu_shows_the_traits(hone):
    traits = hone.json("cpu", "--json")["traits"]
    assert list(traits) == ["load_bytes", "store_bytes", "rep_movsb_min",
                            "rep_movsb_max", "erms", "fsrm", "fzrm", "fsrs",
                            "stream_min"]
    shown = dict(line.split(maxsplit=1) for line in
                 hone.ok("cpu").stdout.decode().splitlines())
    for label, trait in (("loads", "load_bytes"), ("stores", "store_bytes")):
        assert shown[label] == (f"{traits[trait]} B a cycle" if traits[trait]
                                else "unknown")
    assert shown["rep"].startswith(
        "movsb  from" if traits["rep_movsb_max"] else "movsb  never")
    assert re.fullmatch("from [0-9.]+ [KMGT]iB|never", shown["streams"])
    fast = [bit for bit in ("erms", "fsrm", "fzrm", "fsrs") if traits[bit]]
    assert shown["fast"] == f"rep   {' '.join(fast) or 'none'}"


NUMBER = r"(\d+|max)"
LINE = re.compile(rf"hone-copy 1 cpu=([A-Za-z0-9_-]+) threshold={NUMBER} "
                  rf"rep_movsb_min={NUMBER} rep_movsb_max={NUMBER} "
                  rf"store_bytes={NUMBER}")
MAX = 2 ** 64 - 1


def as_number(text):
    """A number of a saved line."""
    return MAX if text == "max" else int(text)


def test_calibration_prints_what_it_measured_and_the_line(hone):
    found = hone.json("cpu", "--calibrate", "--json")
    assert list(found) == ["command", "version", "vectors", "hot", "cold",
                           "store_bytes", "rep_movsb_min", "rep_movsb_max",
                           "threshold", "line"]
    cpu = hone.json("cpu", "--json")
    traits = cpu["traits"]
    vectors = [512 << i for i in range(6)]
    assert [row["size"] for row in found["vectors"]] == (
        vectors if cpu["variants"]["copy"] == "avx512" else [])
    for row in found["vectors"]:
        assert list(row) == ["size", "by_32_ps", "by_64_ps", "clear_32",
                             "clear_64"]
        assert row.pop("clear_32") + row.pop("clear_64") <= 9
    sizes = [4096 << i for i in range(13)] if traits["erms"] else []
    assert [row["size"] for row in found["hot"]] == sizes
    assert [row["size"] for row in found["cold"]] == [
        65536 << i for i in range(10)]
    for row in found["hot"]:
        assert list(row) == ["size", "loop_ns", "rep_movsb_ns", "clear"]
        assert 0 <= row.pop("clear") <= 9
    for row in found["cold"]:
        assert list(row) == ["size", "keep_ns", "stream_ns"]
    for row in found["vectors"] + found["hot"] + found["cold"]:
        assert min(row.values()) > 0
    line = LINE.fullmatch(found["line"])
    assert [as_number(line[i]) for i in (2, 3, 4, 5)] == [
        found[key] for key in ("threshold", "rep_movsb_min", "rep_movsb_max",
                               "store_bytes")]


def test_calibration_prints_a_table_and_the_line_last(hone):
    cpu = hone.json("cpu", "--json")
    erms = cpu["traits"]["erms"]
    wide = cpu["variants"]["copy"] == "avx512"
    lines = hone.ok("cpu", "--calibrate").stdout.decode().splitlines()
    heads = [line.split("  ")[0] for line in lines]
    sizes = ["4.0 KiB", "16.0 MiB"] if erms else []
    for each in [*sizes, "64.0 KiB", "32.0 MiB", "rep movsb", "cold, then read"]:
        assert each in heads
    assert ("hot copy" in heads) == bool(erms)
    assert ("by vectors" in heads) == ("vectors" in heads) == wide
    rows = [line for line in lines
            if re.fullmatch(r"[\d.]+ (bytes|[KM]iB) +[\d.]+ [nu]s +[\d.]+ [nu]s"
                            r"(   (\d and )?\d of 9)?", line)]
    assert len(rows) == 10 + 13 * bool(erms) + 6 * wide
    line = LINE.fullmatch(lines[-1])
    assert lines[-2].startswith(
        "streams    never" if line[2] == "max" else "streams    from ")
    assert lines[-3].startswith("rep movsb  " + (
        "never" if line[4] == "0" else "from "))


def test_calibration_under_a_limit_measures_no_hot_copies(hone):
    found = hone.json("--cpu-limit", "none", "cpu", "--calibrate", "--json")
    traits = hone.json("cpu", "--json")["traits"]
    assert found["vectors"] == found["hot"] == []
    assert len(found["cold"]) == 10
    for key in ("rep_movsb_min", "rep_movsb_max", "store_bytes"):
        assert found[key] == traits[key]


def test_calibration_without_memory_is_a_failure(hone):
    with open(hone.path, "rb") as file:
        if b"__asan_init" in file.read():
            pytest.skip("the sanitizer needs more memory")
    before = ["sh", "-c", 'ulimit -v 100000; exec "$@"', "sh"]
    assert "memory" in hone.fails("cpu", "--calibrate", before=before)


def test_cpu_limit_takes_features_away_and_never_adds_any(hone):
    plain = hone.json("cpu", "--json")
    assert hone.json("--cpu-limit", "all", "cpu", "--json") == plain
    none = hone.json("--cpu-limit", "none", "cpu", "--json")
    assert none["features"] == []
    assert none["variants"]["zero"] == "generic"
    for feature in ("sse2", "neon", "sve", "rvv", "avx512bw"):
        found = hone.json("--cpu-limit", feature, "cpu", "--json")
        assert set(found["features"]) == {feature} & set(plain["features"])


@pytest.mark.parametrize("limit", ["none", "sse2", "sse2,avx2", "all"])
def test_a_conversion_reports_the_variant_it_was_limited_to(
        hone, small, out, limit):
    variant = hone.json("--cpu-limit", limit, "cpu", "--json")[
        "variants"]["zero"]
    result = hone.json("--cpu-limit", limit, "convert", "--json", small,
                       out / "d")
    assert result["zero_variant"] == variant
    assert_same(small, out / "d", "raw")


def test_sizes_and_dates_of_an_image_are_for_people(hone, work):
    """JSON has the numbers."""
    image = work / "disk.qcow2"
    if not shutil.which("qemu-img"):
        pytest.skip("qemu-img is not installed")
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", image, "1G"],
                   check=True)
    subprocess.run(["qemu-img", "snapshot", "-c", "s", image], check=True)
    found = hone.json("info", "--json", image)
    date = time.gmtime(found["snapshots"][0]["date"])
    text = hone.ok("info", image).stdout.decode()
    assert "cluster_size:      64.0 KiB (65536 bytes)\n" in text
    assert "\nsnapshots:\n" in text
    assert f"date:          {time.strftime('%Y-%m-%d %H:%M:%S UTC', date)}\n" \
        in text
    assert "vm_state_size: 0 bytes\n" in text
