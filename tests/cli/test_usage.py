# SPDX-License-Identifier: BSD-3-Clause
"""Words on the command line: what is wrong exits 2, what asks for help 0."""
import hashlib
import json
import os
import re
import subprocess
import tarfile

import pytest

import images
from harness import ENV, assert_same, failure, write

COMMANDS = ("convert", "map", "info", "compare", "digest", "cpu")
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
    "slow rate": ["convert", "--rate-limit", "10", "SRC", "DST"],
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
    "unknown -o key": ["convert", "-O", "qcow2", "-o", "colour=red", "SRC", "DST"],
    "cluster size for raw": ["convert", "-O", "raw", "-o",
                             "cluster_size=64k", "SRC", "DST"],
    "progress without a number": ["convert", "--progress-fd", "x", "SRC", "DST"],
    "negative progress": ["convert", "--progress-fd", "-1", "SRC", "DST"],
    "huge progress": ["convert", "--progress-fd", HUGE, "SRC", "DST"],
    "map without an image": ["map"],
    "map of two": ["map", "SRC", "SRC"],
    "info without an image": ["info"],
    "compare of one": ["compare", "SRC"],
    "compare of three": ["compare", "SRC", "SRC", "SRC"],
    "digest without an image": ["digest"],
    "digest of - and -": ["digest", "-", "SRC", "-"],
    "info of - and -": ["info", "SRC", "-", "-"],
    "blocks of two": ["digest", "--json", "--blocks", "4k", "SRC", "SRC"],
    "one digest of two": ["digest", "--expect", f"sha256:{'0' * 64}", "SRC", "SRC"],
    "unknown compare format": ["compare", "-F", "floppy", "SRC", "SRC"],
    "cpu with a word": ["cpu", "SRC"],
    "map with an unknown option": ["map", "-q", "SRC"],
    "help of -": ["help", "-"],
}
for size in ("0", "511", "513", "1", "3k", "4M", "2097153", "-4096", "+4096",
             "4kk", "4kB", "4Ki", "4iB", "4KiBi", "4B", "4@", "4z", "k", "",
             "KiB", " 4k", "4 k", "4 KiB", "0x1000", "1e3", "4.0k", HUGE,
             HUGE + "T", "16777216T", "16E", "16384PiB",
             "99999999999999999999"):
    MISUSES[f"cluster size '{size}'"] = [
        "convert", "-O", "qcow2", "-o", f"cluster_size={size}", "SRC", "DST"]
    MISUSES[f"scan block '{size}'"] = ["convert", "-S", size, "SRC", "DST"]
    MISUSES[f"scan block of map '{size}'"] = ["map", "-S", size, "SRC"]


@pytest.mark.parametrize("words", MISUSES.values(), ids=MISUSES)
def test_a_misuse_exits_2_with_one_line_and_makes_nothing(hone, small, out, words):
    names = {"SRC": str(small), "DST": str(out / "disk")}
    hone.misused(*[names.get(word, word) for word in words], cwd=out)
    assert not os.listdir(out)


@pytest.mark.parametrize("most, has, options", [
    (12, "zlib has 1 to 12; zstd (-o compression_type=zstd) has 1 to 19", []),
    (9, "zlib with --window 12 has 1 to 9", ["--window", "12"]),
    (3, "zlib with --fast has 1 to 3", ["--fast"]),
    (19, "zstd has 1 to 19", ["-o", "compression_type=zstd"])], ids=str)
def test_a_level_that_the_codec_does_not_have(hone, small, out, most, has, options):
    disk = out / "disk.qcow2"
    for level in "0", "-1", "x", str(most + 1):
        said = hone.misused("convert", "-c", *options, "--level", level, small, disk)
        assert said == f"hone: --level: '{level}': {has}"
    hone.ok("convert", "-q", "-c", *options, "--level", str(most), small, disk)


@pytest.mark.parametrize("words, said", [
    (["convert"], "convert needs SRC and DST"),
    (["convert", "a"], "convert needs SRC and DST; DST is missing"),
    (["convert", "a", "b", "http://u:hidden@h/c"],
     "convert takes SRC and DST; 'http://h/c' is one operand too many"),
    (["compare", "a"], "compare needs A and B; B is missing"),
    (["map"], "map needs IMAGE"), (["info"], "info needs IMAGE"),
    (["cpu", "a"], "cpu takes no operand; 'a' is one operand too many"),
    (["help", "map", "all", "cpu"],
     "help takes [COMMAND [GROUP]]; 'cpu' is one operand too many")], ids=str)
def test_the_operand_that_is_missing_or_too_many_is_named(hone, words, said):
    assert hone.misused(*words) == f"hone: {said}"


@pytest.mark.parametrize("words, word", [
    (["--cpu-limit", "sse2,avx1024", "cpu"], "--cpu-limit: 'avx1024' is not a CPU"),
    (["map", "-S", "5000", "a"], "--sparse-size: '5000' is not a power of two"),
    (["convert", "a", "b", "-O"], "'-O' needs a value"),
    (["-="], "'-=' is not an option of hone"),
    (["-=x"], "'-=' is not an option of hone"),
    (["convert", "-="], "'-=' is not an option of hone convert")], ids=str)
def test_the_word_that_is_wrong_is_named(hone, words, word):
    assert word in hone.misused(*words)


@pytest.mark.parametrize("command", ["convert", "compare", "digest"])
def test_a_rate_needs_a_unit(hone, small, out, command):
    last = {"convert": [out / "d"], "compare": [small], "digest": []}[command]
    for number in "1", "10", "1023":
        assert hone.misused(command, "--rate-limit", number, small, *last) == (
            f"hone: --rate-limit: '{number}' is {number} bytes a second; add "
            f"a unit: {number}M is {number} MiB/s")
    assert "is not a valid size" in hone.misused(
        command, "--rate-limit", "0k", small, *last)
    assert not os.listdir(out)
    hone.ok(command, "--rate-limit", "1024k", small, *last)


def test_the_report_has_the_unit_of_the_bar(hone, small, out):
    said = hone.ok("convert", small, out / "d").stdout.decode()
    assert re.search(r"; \d+\.\d\d s(, \d+(\.\d)? ([KMG]iB|bytes)/s)?\n$", said), said
    assert "MB/s" not in said


def test_zstd_without_compression_is_warned_about(hone, small, out):
    words = ["convert", "-o", "compression_type=zstd", "--force", small,
             out / "d.qcow2"]
    done = hone.run(*words)
    assert (done.returncode, done.stderr) == (
        0, f"hone: warning: {out / 'd.qcow2'}: compression_type=zstd "
        "compresses nothing without -c\n".encode())
    for option in "-q", "-c":
        hone.ok(*words, option)
    hone.ok(*words, "-o", "compression_type=zlib")


@pytest.mark.parametrize("name", ["y.tar.gz", "y.TGZ"])
def test_an_archive_has_several_formats(hone, small, out, name):
    said = hone.fails("convert", small, out / name)
    assert said.startswith(
        f"hone: {out / name}: the name does not say which format; add one "
        "of: -O "), said
    assert said.endswith(" (gce is the archive that Google imports)")
    assert "-O raw" in said and not os.listdir(out)


@pytest.mark.parametrize("name", ["qcow2", "vmdk"])
def test_a_file_that_is_not_of_the_format_is_shown_by_its_bytes(hone, work, name):
    path = write(work, "disk", b"\x80\0\x01A" + bytes(65536))
    assert hone.fails("map", "-f", name, path) == (
        f"hone: {path}: is not a {name.replace('vmdk', 'VMDK')} image (first "
        "bytes 80 00 01 41)")


def test_an_option_of_compression_without_compression(hone, small, out):
    for option in ["--level", "1"], ["--fast"], ["--window", "12"]:
        for name, why in (
                ("disk.qcow2", " has no effect without -c"),
                ("disk.vhd", ": vhd cannot be compressed"),
                ("disk.raw", ": raw cannot be compressed")):
            assert hone.misused("convert", *option, small, out / name) == (
                f"hone: {option[0]}{why}")
        assert not os.listdir(out)


def test_a_format_without_compression_names_what_has_it(hone, small, out):
    for name in "raw", "vhd":
        assert hone.misused("convert", "-c", small, out / f"disk.{name}") == (
            f"hone: -c: {name} cannot be compressed; -O qcow2 can, and --pack zst "
            "packs a raw DST")
    assert not os.listdir(out)


def test_an_option_of_zlib_is_refused_with_zstd(hone, small, out):
    for option in ["--fast"], ["--window", "12"]:
        assert hone.misused(
            "convert", "-c", *option, "-o", "compression_type=zstd", small,
            out / "disk.qcow2") == (
                f"hone: {option[0]} needs compression_type=zlib, but it is "
                "zstd")


@pytest.mark.parametrize("bits, sizes", [
    (12, ["4096", "4k", "4K", "4KiB", "4kib", "4KIB"]),
    (21, ["2m", "2M", "2MiB", "2048k", "2097152"])])
def test_sizes_have_binary_suffixes_in_both_cases(hone, small, out, bits, sizes):
    for size in sizes:
        assert cluster_bits(hone, small, out / "d", "-S", size, "-o",
                            f"cluster_size={size}") == bits
        assert_same(small, out / "d", "qcow2")


@pytest.mark.parametrize("unit, bits", [
    ("g", 30), ("G", 30), ("GiB", 30), ("t", 40), ("T", 40), ("TiB", 40),
    ("P", 50), ("pib", 50), ("E", 60), ("EiB", 60)])
def test_large_units_are_powers_of_1024(hone, small, unit, bits):
    """They are sizes, and too large for what takes one."""
    said = hone.misused("map", "-S", f"15{unit}", small)
    assert "is not a power of two from 512 to 2M" in said
    said = hone.misused("map", "-S", f"{1 << (64 - bits)}{unit}", small)
    assert "is not a valid size" in said


def cluster_bits(hone, small, output, *options):
    """Convert with these options; the exponent in the header."""
    hone.ok("convert", "-q", "--force", "-O", "qcow2", *options, small, output)
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
        said = hone.misused("convert", "--progress-fd", word, small, out / "d")
        assert f"'{word}' is not a file descriptor" in said


def test_an_unknown_format_is_answered_with_the_known_ones(hone, small):
    said = hone.misused("info", "-f", "floppy", small)
    assert "'floppy' is not a format; the formats are qcow2, vmdk, " in said


@pytest.mark.parametrize("size, shown", [
    (0, "0 bytes"), (1, "1 byte"), (2, "2 bytes"), (1023, "1023 bytes"),
    (1024, "1.0 KiB"), (102348, "99.9 KiB"), (102349, "100 KiB"),
    (102399, "100 KiB"), (1048063, "1023 KiB"),
    (1048064, "1.0 MiB"), (1048575, "1.0 MiB"), (1 << 20, "1.0 MiB"),
    ((1 << 30) - 1, "1.0 GiB"), ((1 << 40) - 1, "1.0 TiB")])
def test_sizes_for_people_are_rounded_to_the_unit_they_name(hone, work, size, shown):
    path = work / "disk"
    images.pieces(path, size)
    lines = hone.ok("info", path).stdout.decode().splitlines()
    line = next(line for line in lines if line.startswith("virtual size:"))
    assert line.split(":")[1].split("(")[0].strip() == shown


@pytest.mark.parametrize("words, named", [
    (["convert", "", "d"], "SRC"), (["convert", "", ""], "SRC"),
    (["convert", "-", ""], "DST"), (["compare", "-", ""], "B"),
    (["digest", "-", "a", ""], "IMAGE"),
    *(([command, ""], "IMAGE")
      for command in ("map", "info", "check", "digest"))], ids=str)
def test_an_empty_operand_is_a_mistake(hone, words, named):
    assert hone.misused(*words) == f"hone: the name of {named} is empty"


HABITS = {
    "convert": {"-r": "--rate-limit", "-l": "--snapshot",
                "-C": "by itself", "-B": "--allow-backing",
                "-b": "--allow-backing", "--backing=a": "--allow-backing",
                "--backing-format=raw": "qemu-img rebase",
                "--copy-range-offloading": "by itself",
                "-F": "qemu-img rebase", "--object=secret": "qemu-nbd",
                "--salvage": "unreadable data", "--bitmaps": "not copied",
                "--target-image-opts": "its path",
                "--image-opts": "its path"},
    "compare": {"--output=json": "--json", "-s": "--strict"},
    "check": {"-r": "repairs nothing", "--repair=all": "repairs nothing",
              "--cache=none": "metadata", "--object=x": "qemu-nbd"},
    "info": {"--output=json": "--json", "--backing-chain": "backing file",
             "--limits": "use qemu-img", "-t": "metadata"},
    "map": {"--output=json": "--json", "-s": "the whole disk",
            "--start-offset=1": "the whole disk", "--max-length=1": "the whole disk"},
    "digest": {"--output=json": "--json", "--object=x": "qemu-nbd"},
}


@pytest.mark.parametrize("command", HABITS)
def test_who_comes_from_qemu_img_is_told_what_to_type(hone, small, command):
    for word, told in HABITS[command].items():
        said = hone.misused(command, word, small, small)
        assert (f"'{word.split('=')[0]}' is not an option of hone {command}: " in said)
        assert told in said


@pytest.mark.parametrize("words, named", [
    (["-zy"], "-z"), (["-qB", "base"], "-B"), (["-Fqcow2"], "-F"),
    (["--frob=1", "-z"], "--frob"), (["--salvage=1"], "--salvage"),
    (["--object", "--frob"], "--object")], ids=str)
def test_the_first_unknown_option_is_answered(hone, small, out, words, named):
    said = hone.misused("convert", *words, small, out / "d")
    assert said.startswith(f"hone: '{named}' is not an option of hone convert")
    assert not os.listdir(out)


def test_only_options_make_an_abbreviation_ambiguous(hone, small, out):
    """Not what hone has no option for: --target-image-opts, --object."""
    hone.ok("convert", "-q", "--target-i", small, out / "a")
    hone.ok("convert", "-q", "--target-c", "none", small, out / "b")
    assert hone.misused("convert", "--o", small, out / "d") == (
        "hone: '--o' is ambiguous: --output-format, --oci-type, --options, "
        "--out-of-order, --oci-annotation")
    for word in "--object", "--ob":
        said = hone.misused("convert", word, "--frob", small, out / "d")
        assert (f"'{word}' is not an option of hone convert: hone does not "
                f"support" in said)
    # Nor an alias: --parallel, --source-format, --cache.
    for words in ["--pa", "gz"], ["--so=none"], ["--source=none"]:
        hone.ok("convert", "-q", *words, small, out / f"d{words[0]}")
    done = hone.run("compare", "--cac=/none", small, out / "a")
    assert b"is not an option" not in done.stderr, done
    assert b"ambiguous" not in done.stderr, done
    for command, word, hint in (
            ("convert", "--target-im", ": DST is named by its path"),
            ("convert", "--para", ""),
            ("cpu", "--o", "")):
        assert hone.misused(command, word, small, out / "d") == (
            f"hone: '{word}' is not an option of hone {command}{hint}")


def test_the_long_names_of_qemu_11_are_accepted(hone, image, out):
    """Those that differ from the names here."""
    source = image("mixed")
    found = hone.json("convert", "--json", "--source-format", "raw", source, out / "a",
                      "--target-format", "qcow2", "--target-format-options",
                      "cluster_size=4k", "--parallel=1", "--oob-writes")
    assert (found["threads"], found["format"]) == (1, "qcow2")
    assert hone.json("info", "--json", out / "a")["cluster_size"] == 4096
    hone.ok("compare", "-q", "--a-format=raw", "--b-format=qcow2", "--cache=none",
            source, out / "a")
    for words, taken in ((["convert", "--oob-writes=1"],
                          "'--out-of-order' takes no value"),
                         (["compare", "--parallel=1"],
                          "'--parallel' is not an option of hone compare")):
        assert taken in hone.misused(*words, source, source)


def test_what_means_the_same_as_in_qemu_img_is_accepted(hone, image, out):
    """-p -W mean nothing here, -m is --threads."""
    source = image("mixed")
    found = hone.json("convert", "--json", "-p", "-W", "-m", "1", "-t",
                      "writeback", "-T", "unsafe", source, out / "a.qcow2")
    assert found["threads"] == 1
    hone.ok("convert", "-q", "-pWm2", "-t", "none", "-T", "directsync", source,
            out / "b.qcow2")
    assert (out / "a.qcow2").read_bytes() == (out / "b.qcow2").read_bytes()
    hone.ok("compare", "-q", "-p", "-m", "2", "-T", "none", source, out / "a.qcow2")
    for option in "-t", "-T":
        assert f"{option}: 'fast' is not none, writeback" in hone.misused(
            "convert", option, "fast", source, out / "c")


@pytest.mark.parametrize("options, direct", [
    (["-t", "none", "-T", "writeback"], {"DST"}),
    (["-T", "none", "-t", "unsafe"], {"SRC"}),
    (["-T", "directsync", "-t", "directsync"], {"SRC", "DST"}),
    (["--direct", "-T", "writeback"], {"SRC", "DST"})], ids=str)
def test_the_modes_of_the_cache_are_of_each_side(
        hone, strace, small, out, work, options, direct):
    trace = work / "trace"
    hone.ok("convert", "-q", *options, small, out / "d", before=[
        *strace, "-qq", "-y", "-o", trace, "-e", "trace=openat,open"])
    opened = {"SRC" if small.name in line else "DST"
              for line in trace.read_text().splitlines()
              if "O_DIRECT|" in line or "O_DIRECT)" in line
              or "O_DIRECT " in line}
    assert opened == direct, trace.read_text()


@pytest.mark.parametrize("name", [
    "nbd+tcp://host/disk", "rbd:pool/disk", 'json:{"driver": "file"}',
    "ftp://host/disk", "file:disk"])
def test_what_qemu_takes_for_a_protocol_is_no_file(hone, small, out, name):
    shown = re.sub("//.*", "//", name)
    for words in (["map", name], ["check", name], ["compare", small, name],
                  ["convert", name, out / "d"]):
        said = hone.misused(*words)
        assert (f"'{shown}' is not a file: \"qemu-nbd --read-only --connect /dev/nbd0 "
                "ADDRESS\" serves it as a block device; ./NAME is a file of that "
                "name\n") in f"{said}\n"
    said = hone.misused("convert", small, name, cwd=out)
    assert f"'{shown}' is not a file: write a file, then" in said
    assert "; ./NAME is" in said
    if "/" not in name:
        hone.ok("convert", "-q", small, "./" + name, cwd=out)
        assert os.listdir(out) == [name]
    hone.ok("convert", "-q", small, "a:b", cwd=out)


@pytest.mark.parametrize("name, shown", [
    ("FTP://me:hidden@host/disk", "FTP://"),
    ("ssh://me@host/a@b", "ssh://"), ("Rbd:pool/a@b", "Rbd:pool/a@b")])
def test_a_protocol_is_known_in_upper_case_and_shows_no_password(hone, name, shown):
    said = hone.misused("info", name)
    assert f"'{shown}' is not a file: \"qemu-nbd " in said


@pytest.mark.parametrize("word, shown", [
    ("http://u:hidden@h/a?hidden#hidden", "http://h/a"),
    ("nbd://hidden@h/a", "nbd://h/a"),
    ("HTTPS://u:hid/den@h/a", "HTTPS://"),
    ("ftps://u:h@hidden@h:1/a@b", "ftps://"),
    ("ssh://h/a", "ssh://")])
def test_a_wrong_word_shows_no_secret(hone, small, out, word, shown):
    for words in ([word], ["convert", "-f", word, small, out / "d"],
                  ["convert", "-O", word, small, out / "d"],
                  ["info", "--unpack", word, small],
                  ["convert", "-o", word + "=1", small, out / "d"]):
        said = hone.misused(*words)
        assert shown in said and "hid" not in said.replace(str(out), "")
    said = hone.fails("convert", "--expect", "x:" + word, small, out / "d")
    assert f"hone: x:{shown}: is not safe" in said
    assert "hidden" not in said


def test_formats_of_others_come_with_the_way_out(hone, small, out):
    for name in "vhdx", "vdi", "luks":
        said = hone.misused("convert", "-O", name, small, out / "d")
        assert f"'{name}' cannot be written" in said
        assert f"qemu-img convert -O {name}" in said
        said = hone.misused("convert", "-f", name, small, out / "d")
        assert f"'{name}' cannot be read" in said
        assert f"/dev/nbd0 -f {name} " in said
    for key, told in (("backing_file=a", "rebase"), ("backing_fmt=raw", "rebase"),
                      ("data_file=a", "data_file=FILE"),
                      ("encryption=on", "encrypt.format=luks"),
                      ("encrypt.format=luks", "encrypt.format=luks")):
        said = hone.misused("convert", "-O", "qcow2", "-o", key, small, out / "d")
        key = key.split("=")[0]
        assert f"-o: '{key}' is not possible: " in said and told in said


def test_hints_are_not_only_for_options_of_commands(hone):
    assert hone.misused("-V") == (
        "hone: '-V' is not an option of hone: --version prints the version")
    for word in ("measure", "create", "resize", "rebase", "commit", "amend",
                 "bitmap", "dd"):
        said = hone.misused(word, "x")
        assert f"'{word}' is not a command: " in said and "qemu-img" in said
    assert "hone info lists snapshots" in hone.misused("snapshot", "-l", "x")
    assert "hone --version" in hone.misused("version")
    assert "precedes the command" in hone.misused("info", "--cpu-limit", "sse2", "x")
    assert "hone help --completion SHELL" in hone.misused("completion", "bash")


MEANT = {
    "konvert": "convert", "covnert": "convert", "mpa": "map", "inf": "info",
    "comapre": "compare", "cpus": "cpu",
}


@pytest.mark.parametrize("word", MEANT)
def test_a_mistyped_command_is_answered_with_the_one_meant(hone, word):
    for words in ([word], ["help", word]):
        assert hone.misused(*words) == (
            f"hone: '{word}' is not a command; did you mean {MEANT[word]}?")


@pytest.mark.parametrize("word", ["x", "", "frobnicate", "c" * 40, "convertconvert"])
def test_a_word_like_no_other_gets_no_suggestion(hone, word):
    assert hone.misused(word) == f"hone: '{word}' is not a command"


@pytest.mark.parametrize("word, meant", [
    ("--forse", "--force"), ("--quite", "--quiet"),
    ("--spares-size=4k", "--sparse-size"), ("--jsno", "--json"),
    ("--progress_fd", "--progress-fd")])
def test_a_mistyped_option_is_answered_with_the_one_meant(hone, small, word, meant):
    said = hone.misused("convert", word, small, "d")
    assert said == (f"hone: '{word.split('=')[0]}' is not an option of "
                    f"hone convert; did you mean {meant}?")


def test_a_hidden_option_is_not_suggested(hone, small):
    assert "mean" not in hone.misused("convert", "--methode", small, "d")


def test_an_abbreviation_of_several_options_is_answered_with_them(hone, small):
    assert hone.misused("convert", "--for=x", small, "d") == (
        "hone: '--for' is ambiguous: --format, --force, --force-share")


def test_an_option_of_the_format_is_known_before_its_value_is_read(hone, small, out):
    for word, said in (
            ("colour=red", "'colour' is not an option of qcow2; -o help lists"
             " its options"),
            ("clustersize=4k", "'clustersize' is not an option of qcow2; did "
             "you mean cluster_size?"),
            ("cluster_size=x", "-o cluster_size: 'x' is not a valid size")):
        assert said in hone.misused("convert", "-O", "qcow2", "-o", word,
                                    small, out / "d")
    assert "'compat' is not an option of raw" in hone.misused(
        "convert", "-O", "raw", "-o", "compat=1.1", small, out / "d")


def test_o_help_lists_the_options_of_a_format(hone, small, out):
    qcow2 = b"Options of qcow2"
    for words in (["-O", "qcow2"], ["SRC", out / "d.qcow2"], []):
        words = [small if word == "SRC" else word for word in words]
        for text in ("help", "?", "cluster_size=4k,help"):
            said = hone.ok("convert", "-o", text, *words).stdout
            assert said.startswith(qcow2) and b"cluster_size=SIZE" in said
            assert b"compression_type=zlib|zstd " in said
            assert max(len(line) for line in said.split(b"\n")) <= 80
    assert hone.ok("convert", "-o", "help", "-O", "raw").stdout.startswith(
        b"raw has no options.\n")
    hone.misused("convert", "-o", "help", "-O", "qcow3")
    assert not os.listdir(out)


@pytest.mark.parametrize("command", [None, *COMMANDS, "help"])
def test_the_examples_in_the_help_work(hone, image, out, command):
    said = hone.ok(*[command] if command else [], "--help").stdout.decode()
    examples = said.partition("\nExamples:\n")[2].partition("\n\n")[0]
    examples = examples.splitlines()
    lines = [line[4:] for line in examples if line.startswith("    ")]
    assert 2 <= len(lines) <= 5 and len(examples) == 2 * len(lines)
    for name in ("disk.img", "copy.img", "vm.img"):
        (out / name).write_bytes(image("mixed").read_bytes())
    content = (out / "vm.img").read_bytes()
    (out / "SHA256SUMS").write_text(f"{hashlib.sha256(content).hexdigest()} *vm.img\n")
    with tarfile.open(out / "appliance.ova", "w") as ova:
        ova.add(out / "disk.img", "disk.raw")
    # A file in place of what is on a server, and of a device.
    lines = [line.replace("https://example.org/", "").replace("/dev/", "")
             for line in lines]
    path = f"{os.path.dirname(hone.path)}:{os.environ['PATH']}"
    for line in lines:
        done = subprocess.run(["bash", "-ec", line], cwd=out, check=False,
                              env=dict(ENV, PATH=path),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert (done.returncode, done.stderr) == (0, b""), line


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(hone, command):
    said = hone.ok(command, "--help").stdout
    assert said == hone.ok("help", command).stdout
    assert f"hone {command}".encode() in said
    assert max(len(line) for line in said.split(b"\n")) <= 80


def test_help_names_every_command_and_every_option(hone):
    said = hone.ok("--help").stdout.decode()
    assert said == hone.ok("help").stdout.decode()
    assert max(map(len, said.splitlines())) <= 80
    assert all(command in said for command in COMMANDS)
    assert "3 content refused" in said and "4 try again" in said
    for command in ("compare", "check"):
        text = hone.ok(command, "--help").stdout.decode()
        assert all(f" {status} if" in text.replace("\n", " ")
                   for status in range(5)), command
    said = hone.ok("convert", "--help", "all").stdout.decode()
    for suffix in (".tar", ".tgz", ".txz", ".tzst", ".tbz2", ".ova"):
        assert suffix in said
    for option in ("-f", "-O", "-o", "-S", "--force", "--progress-fd", "--json", "-q"):
        assert option in said


def options_of(hone, command, *group):
    """The options that the help of a command has."""
    said = hone.ok(command, "--help", *group).stdout.decode()
    assert max(map(len, said.splitlines())) <= 80
    return re.findall(r"^  (?:-\w, )?(--[\w-]+)", said, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_option_is_in_one_group_of_the_help(hone, command):
    said = hone.ok(command, "--help").stdout.decode()
    usual, _, more = said.partition("\nMore options:")
    groups = re.findall(r"^  (\w+)", more, re.MULTILINE)
    every = options_of(hone, command, "all")
    if not groups:
        assert options_of(hone, command) == every
        return
    assert groups.pop() == "all" and len(groups) >= 5
    found = [options_of(hone, command, group) for group in groups]
    assert all(found)
    assert sorted(sum(found, [])) == sorted(every)
    assert len(set(every)) == len(every)
    assert 3 <= len(options_of(hone, command)) <= 10 < len(every)
    # The examples come first.
    assert usual.index("\nExamples:") < usual.index("\nMost used options:")


def test_a_group_of_the_help_may_be_named_in_each_way(hone, small, out):
    said = hone.ok("convert", "--help", "network").stdout
    assert b"--cacert FILE" in said and b"--level" not in said
    for words in (["convert", "--help=network"], ["convert", "-h", "network"],
                  ["help", "convert", "network"],
                  ["convert", small, out / "d", "--help", "network"]):
        assert hone.ok(*words).stdout == said
    assert hone.ok("convert", small, out / "d", "--help").stdout == (
        hone.ok("convert", "-qh").stdout)
    for words in ["--help", "nets"], ["--help=nets"], ["-h", "nets"]:
        assert hone.misused("convert", *words) == (
            "hone: --help: 'nets' is not a group of options of hone convert; "
            "the groups are source, output, check, network, speed, progress, "
            "all")
    # Each command has its own.
    assert "the groups are source, check, network, speed, " in (
        hone.misused("info", "--help", "output"))
    assert not os.listdir(out)


def test_version_is_that_of_the_library(hone):
    said = hone.ok("--version").stdout.decode()
    assert said.startswith("hone ") and said.count("\n") == 1
    number = said.split()[1]
    assert all(part.isdigit() for part in number.split("."))


@pytest.mark.parametrize("words", [
    ["--help"], ["--version"], ["help", "convert"], ["cpu"],
    ["cpu", "--json"], ["map", "SRC"],
    ["map", "--json", "SRC"], ["info", "SRC"], ["info", "--json", "SRC"],
    ["compare", "SRC", "SRC"], ["compare", "--json", "SRC", "SRC"],
    ["digest", "SRC"], ["digest", "--json", "SRC"]],
    ids=" ".join)
def test_a_report_that_cannot_be_written_is_a_failure(hone, small, words):
    words = [str(small) if word == "SRC" else word for word in words]
    with open("/dev/full", "wb") as full:
        done = hone.run(*words, stdout=full)
    assert done.returncode == failure(words[0])
    assert done.stderr.startswith(b"hone: ")
    assert done.stderr.count(b"\n") == 1


def test_an_unknown_suffix_is_an_error_that_names_the_formats(hone, small, out):
    for suffix in ("vhdx", "vdi", "qed", "qcow", "QCOW", "lz4", "7z"):
        done = hone.run("convert", small, out / f"disk.{suffix}")
        assert done.returncode in (1, 2) and not done.stdout
        assert b"raw" in done.stderr and b"qcow2" in done.stderr
        assert f"suffix '.{suffix}'".encode() in done.stderr
    assert not os.listdir(out)
    hone.ok("convert", "-q", "-O", "raw", small, out / "disk.vdi")
    assert_same(small, out / "disk.vdi", "raw")
    # The name of an export is not judged.
    done = hone.run("convert", "-n", small, "nbd://127.0.0.1:1/disk.lz")
    assert done.returncode and b"suffix" not in done.stderr


def test_convert_defaults_are_those_the_help_promises(hone, image, out):
    source = image("alternating")
    results = [hone.json("convert", "--json", "--force", *options, source, out / "d")
               for options in ([], ["-S", "4k"], ["-f", "raw", "-O", "raw"])]
    kept = [{key: value for key, value in result.items()
             if key != "seconds"} for result in results]
    assert kept[0] == kept[1] == kept[2]
    assert kept[0]["zero_bytes"] == images.MI


@pytest.mark.parametrize("file, name, words, package", [
    ("libcurl.so.4", "libcurl", ["info", "https://127.0.0.1:1/a"], "libcurl4"),
    ("libnbd.so.0", "libnbd", ["info", "nbd://127.0.0.1:1"], "libnbd0"),
    ("libcrypto.so.3", "OpenSSL", ["digest", None], "libssl3")],
    ids=["libcurl", "libnbd", "libcrypto"])
def test_a_library_that_cannot_be_loaded_is_one_that_is_not_there(
        hone, small, tmp_path, file, name, words, package):
    if f" {name} ".encode() not in hone.version:
        pytest.skip(f"this hone was built without {name}")
    (tmp_path / file).write_bytes(b"")
    env = {"LD_LIBRARY_PATH": f"{tmp_path}:" + os.environ.get("LD_LIBRARY_PATH", "")}
    said = hone.ok("--version", env=env).stdout.decode()
    # libcurl needs libcrypto, too.
    assert re.search(rf" without .*\b{name}\b", said), said
    said = hone.fails(*(word or small for word in words), env=env)
    assert (f"needs {file}, which cannot be loaded (" in said and
            said.endswith(f"; install the package {package}")), said


@pytest.mark.parametrize("host", ["", "localhost"])
def test_the_address_of_a_file_is_a_path(hone, small, out, host):
    """As SRC and as DST."""
    source = write(out, "a disk %41.img", small.read_bytes())
    url = f"file://{host}{out}/"
    name = url + "a%20disk%20%2541.img"
    hone.ok("convert", "-q", "-O", "raw", name, url + "new%2eraw")
    assert (out / "new.raw").read_bytes() == small.read_bytes()
    hone.ok("compare", "-q", name, url + "new.raw")
    shown = hone.ok("info", "--json", name).stdout
    assert json.loads(shown)["file"] == str(source)
    hone.ok("map", name)
    hone.ok("check", name)


@pytest.mark.usefixtures("digests")
@pytest.mark.parametrize("mark", ["@", ""])
def test_the_address_of_a_file_is_a_list_of_digests(hone, small, out, mark):
    digest = hashlib.sha256(small.read_bytes()).hexdigest()
    (out / "SUMS").write_text(f"{digest}  {small.name}\n")
    hone.ok("convert", "-q", "-O", "raw", f"--expect={mark}file://{out}/SUMS",
            f"file://{small}", out / "new")


@pytest.mark.parametrize("url, said", [
    ("file://host/a", "names a file of another host"),
    ("file://me:hidden@host/a", "names a file of another host"),
    ("file://localhost", "has no path"),
    ("file:///a?b", "which is %3F or %23 in a path"),
    ("file:///a%0", "without the two digits"),
    ("file:///a%00", "without the two digits")])
def test_an_address_of_a_file_that_is_none(hone, small, out, url, said):
    for words in [url, out / "new"], [small, url]:
        done = hone.run("convert", *words)
        text = done.stderr.decode()
        assert done.returncode == 2 and said in text and "hidden" not in text
    assert not os.listdir(out)
