# SPDX-License-Identifier: BSD-3-Clause
"""`hone info` and `hone cpu`."""
import os

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


def test_cpu_limit_takes_features_away_and_never_adds_any(hone):
    plain = hone.json("cpu", "--json")
    assert hone.json("--cpu-limit", "all", "cpu", "--json") == plain
    none = hone.json("--cpu-limit", "none", "cpu", "--json")
    assert none["features"] == []
    assert none["variants"]["zero"] == "generic"
    for feature in ("sse2", "neon", "sve", "avx512bw"):
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
