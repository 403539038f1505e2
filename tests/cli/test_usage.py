# SPDX-License-Identifier: BSD-3-Clause
"""Words on the command line: what is wrong exits 2, what asks for help 0."""
import os

import pytest

import images
from harness import assert_same

COMMANDS = ("convert", "map", "info", "compare", "cpu")
HUGE = str(1 << 64)

MISUSES = {
    "no command": [],
    "unknown command": ["konvert", "a", "b"],
    "empty command": [""],
    "unknown global option": ["--frobnicate", "cpu"],
    "unknown help topic": ["help", "konvert"],
    "unknown feature": ["--cpu-limit", "avx1024", "cpu"],
    "cpu limit without a list": ["--cpu-limit"],
    "no source": ["convert"],
    "no destination": ["convert", "SRC"],
    "three names": ["convert", "SRC", "DST", "DST"],
    "unknown option": ["convert", "--frobnicate", "SRC", "DST"],
    "unknown short option": ["convert", "-Z", "SRC", "DST"],
    "option of another command": ["convert", "--strict", "SRC", "DST"],
    "argument to a flag": ["convert", "--force=yes", "SRC", "DST"],
    "-O without a format": ["convert", "SRC", "DST", "-O"],
    "unknown output format": ["convert", "-O", "qcow3", "SRC", "DST"],
    "empty output format": ["convert", "-O", "", "SRC", "DST"],
    "unknown source format": ["convert", "-f", "floppy", "SRC", "DST"],
    "-o without a value": ["convert", "-O", "qcow2", "-o", "cluster_size",
                           "SRC", "DST"],
    "-o with an empty value": ["convert", "-O", "qcow2", "-o",
                               "cluster_size=", "SRC", "DST"],
    "unknown -o key before a known one": [
        "convert", "-O", "qcow2", "-o", "colour=red", "-o", "cluster_size=4k",
        "SRC", "DST"],
    "unknown -o key": ["convert", "-O", "qcow2", "-o", "colour=red", "SRC",
                       "DST"],
    "cluster size for raw": ["convert", "-O", "raw", "-o",
                             "cluster_size=64k", "SRC", "DST"],
    "progress without a number": ["convert", "--progress-fd", "x", "SRC",
                                  "DST"],
    "negative progress": ["convert", "--progress-fd", "-1", "SRC", "DST"],
    "huge progress": ["convert", "--progress-fd", HUGE, "SRC", "DST"],
    "map without an image": ["map"],
    "map of two": ["map", "SRC", "SRC"],
    "info without an image": ["info"],
    "info of two": ["info", "SRC", "SRC"],
    "compare of one": ["compare", "SRC"],
    "compare of three": ["compare", "SRC", "SRC", "SRC"],
    "unknown compare format": ["compare", "-F", "floppy", "SRC", "SRC"],
    "cpu with a word": ["cpu", "SRC"],
    "map with an unknown option": ["map", "-q", "SRC"],
}
for size in ("0", "511", "513", "1", "3k", "4M", "2097153", "-4096", "+4096",
             "4kk", "4kB", "k", "", " 4k", "4 k", "0x1000", "1e3", "4.0k",
             HUGE, HUGE + "T", "16777216T", "99999999999999999999"):
    MISUSES[f"cluster size '{size}'"] = [
        "convert", "-O", "qcow2", "-o", f"cluster_size={size}", "SRC", "DST"]
    MISUSES[f"scan block '{size}'"] = ["convert", "-S", size, "SRC", "DST"]
    MISUSES[f"scan block of map '{size}'"] = ["map", "-S", size, "SRC"]


@pytest.mark.parametrize("words", MISUSES.values(), ids=MISUSES)
def test_a_misuse_exits_2_with_one_line_and_makes_nothing(
        hone, small, out, words):
    names = {"SRC": str(small), "DST": str(out / "disk")}
    hone.misused(*[names.get(word, word) for word in words], cwd=out)
    assert not os.listdir(out)


@pytest.mark.parametrize("size", ["4096", "4k", "4K"])
def test_sizes_have_binary_suffixes_in_both_cases(hone, small, out, size):
    hone.ok("convert", "-q", "-S", size, "-o", f"cluster_size={size}",
            small, out / "disk.qcow2")
    assert_same(small, out / "disk.qcow2", "qcow2")
    assert b"\0\0\0\x0c" == (out / "disk.qcow2").read_bytes()[20:24]


def cluster_bits(hone, small, output, *options):
    """Convert with these options; the exponent in the header."""
    hone.ok("convert", "-q", "--force", "-O", "qcow2", *options, small,
            output)
    return output.read_bytes()[23]


def test_of_an_option_given_twice_the_last_one_counts(hone, small, out):
    output = out / "disk"
    for options, bits in (
            (["-o", "cluster_size=4k", "-o", "cluster_size=8k"], 13),
            (["-o", "cluster_size=8k", "-o", "cluster_size=4k"], 12),
            (["-o", "cluster_size=8k,cluster_size=4k"], 12)):
        assert cluster_bits(hone, small, output, *options) == bits
    hone.ok("convert", "-q", "-O", "qcow2", "-O", "raw", small, out / "raw")
    assert_same(small, out / "raw", "raw")


def test_a_descriptor_is_a_plain_number(hone, small, out):
    for word in ("1k", "0k", "+1", " 1", "1 ", "0x1", "4294967297"):
        said = hone.misused("convert", "--progress-fd", word, small,
                            out / "d")
        assert f"'{word}' is no descriptor" in said


def test_an_unknown_format_is_answered_with_the_known_ones(hone, small):
    said = hone.misused("info", "-f", "floppy", small)
    assert "'floppy' is no format; known are qcow2, raw" in said


@pytest.mark.parametrize("size, shown", [
    (1023, "1023 bytes"), (1024, "1.0 KiB"), (102348, "99.9 KiB"),
    (102349, "100 KiB"), (102399, "100 KiB"), (1048063, "1023 KiB"),
    (1048064, "1.0 MiB"), (1048575, "1.0 MiB"), (1 << 20, "1.0 MiB"),
    ((1 << 30) - 1, "1.0 GiB"), ((1 << 40) - 1, "1.0 TiB")])
def test_sizes_for_people_are_rounded_to_the_unit_they_name(
        hone, work, size, shown):
    path = work / "disk"
    images.pieces(path, size)
    lines = hone.ok("info", path).stdout.decode().splitlines()
    line = next(line for line in lines if line.startswith("virtual size:"))
    assert line.split(":")[1].split("(")[0].strip() == shown


def test_the_mistaken_word_is_named(hone, small, out):
    for words, word in (
            (["konvert"], "konvert"),
            (["convert", "--frobnicate", "a", "b"], "--frobnicate"),
            (["convert", "-O", "qcow3", "a", "b"], "qcow3"),
            (["convert", "-O", "qcow2", "-o", "colour=red", "a", "b"],
             "colour"),
            (["convert", "-S", "5000", "a", "b"], "5000"),
            (["--cpu-limit", "avx1024", "cpu"], "avx1024")):
        assert word in hone.misused(*words)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(hone, command):
    said = hone.ok(command, "--help").stdout
    assert said == hone.ok("help", command).stdout
    assert f"hone {command}".encode() in said
    assert max(len(line) for line in said.split(b"\n")) <= 80


def test_help_names_every_command_and_every_option(hone):
    said = hone.ok("--help").stdout.decode()
    assert said == hone.ok("help").stdout.decode()
    assert all(command in said for command in COMMANDS)
    said = hone.ok("convert", "--help").stdout.decode()
    for option in ("-f", "-O", "-o", "-S", "--force", "--progress-fd",
                   "--json", "-q"):
        assert option in said


def test_version_is_that_of_the_library(hone):
    said = hone.ok("--version").stdout.decode()
    assert said.startswith("hone ") and said.count("\n") == 1
    number = said.split()[1]
    assert all(part.isdigit() for part in number.split("."))


@pytest.mark.parametrize("words", [
    ["--help"], ["--version"], ["help", "convert"], ["cpu"],
    ["cpu", "--json"], ["map", "SRC"], ["map", "--json", "SRC"],
    ["info", "SRC"], ["info", "--json", "SRC"], ["compare", "SRC", "SRC"],
    ["compare", "--json", "SRC", "SRC"]], ids=" ".join)
def test_a_report_that_cannot_be_written_is_a_failure(hone, small, words):
    words = [str(small) if word == "SRC" else word for word in words]
    with open("/dev/full", "wb") as full:
        done = hone.run(*words, stdout=full)
    assert done.returncode == 1
    assert done.stderr.startswith(b"hone: ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("options", [[], ["--json"]], ids=str)
def test_a_lost_report_of_a_conversion_is_no_success(
        hone, small, out, options):
    with open("/dev/full", "wb") as full:
        done = hone.run("convert", *options, small, out / "d", stdout=full)
    assert done.returncode == 1
    assert done.stderr.startswith(b"hone: ")
    if os.listdir(out):
        assert os.listdir(out) == ["d"]
        assert_same(small, out / "d", "raw")


def test_an_unknown_suffix_is_an_error_that_names_the_formats(
        hone, small, out):
    for suffix in ("vmdk", "vhdx", "vdi", "vhd", "qed"):
        done = hone.run("convert", small, out / f"disk.{suffix}")
        assert done.returncode in (1, 2) and not done.stdout
        assert b"raw" in done.stderr and b"qcow2" in done.stderr
    assert not os.listdir(out)
    hone.ok("convert", "-q", "-O", "raw", small, out / "disk.vmdk")
    assert_same(small, out / "disk.vmdk", "raw")


def test_convert_defaults_are_those_the_help_promises(hone, image, out):
    source = image("alternating")
    results = [hone.json("convert", "--json", "--force", *options, source,
                         out / "d")
               for options in ([], ["-S", "4k"], ["-f", "raw", "-O", "raw"])]
    kept = [{key: value for key, value in result.items()
             if key != "seconds"} for result in results]
    assert kept[0] == kept[1] == kept[2]
    assert kept[0]["zero_bytes"] == images.MI
