# SPDX-License-Identifier: BSD-3-Clause
"""`hone info` and `hone cpu`."""
import json
import os
import re
import subprocess
import time

import pytest

import extents
from harness import assert_same, error_line, need, write


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


@pytest.mark.parametrize("bits, size", [(9, "512"), (16, "64k"), (21, "2M")])
def test_info_shows_the_header_of_a_qcow2_file(hone, image, out, bits, size):
    output = out / "disk.qcow2"
    hone.ok("convert", "-q", "-o", f"cluster_size={size}", image("mixed"), output)
    found = hone.json("info", "--json", output)
    assert (found["format"], found["version"], found["cluster_size"]) == (
        "qcow2", 3, 1 << bits)
    assert found["file_size"] == os.stat(output).st_size
    virtual = (os.stat(image("mixed")).st_size + 511) // 512 * 512
    assert found["virtual_size"] == virtual
    assert "qcow2" in hone.ok("info", output).stdout.decode()


def test_info_of_a_cut_qcow2_header_does_not_invent_fields(hone, work):
    for length in (4, 8, 24, 71, 72, 100, 103):
        path = write(work, "disk.qcow2", (b"QFI\xfb\0\0\0\3" + bytes(100))[:length])
        done = hone.run("info", "--json", path)
        assert done.returncode in (0, 1, 3)
        if done.returncode == 0:
            assert b"cluster_size" not in done.stdout


def faulty(hone, path, *words):
    """Info shows the header, then the fault; JSON has both. Returns the JSON."""
    done = hone.run("info", path)
    line = error_line(done.stderr)
    assert done.returncode == 3 and line.startswith(f"hone: {path}: "), done
    assert all(word in line for word in words), line
    for field in "virtual size", "file size", "cluster_size":
        assert f"\n{field}:" in done.stdout.decode(), done
    done = hone.run("info", "--json", path)
    assert (done.returncode, error_line(done.stderr)) == (3, line)
    found = json.loads(done.stdout)
    assert line == f"hone: {path}: {found['fault']}"
    return found


def test_info_of_half_a_file_shows_the_header_then_the_fault(hone, image, out):
    """A download that was cut. Our own writer puts its tables last."""
    path = out / "disk.qcow2"
    hone.ok("convert", "-q", image("mixed"), path)
    virtual = hone.json("info", "--json", path)["virtual_size"]
    size = os.stat(path).st_size
    os.truncate(path, size // 2)
    found = faulty(hone, path, "table at 0x", "past the end of the file")
    assert (found["virtual_size"], found["file_size"]) == (virtual, size // 2)
    os.truncate(path, 200)
    found = faulty(hone, path, "past the end of the file (200 bytes)")
    assert (found["virtual_size"], found["file_size"]) == (virtual, 200)


def test_info_shows_the_snapshots_that_are_whole(hone, out):
    path = out / "disk.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", path, "1M"], check=True)
    for name in "first", "second":
        subprocess.run(["qemu-img", "snapshot", "-c", name, path], check=True)
    with open(path, "r+b") as file:
        table = int.from_bytes(os.pread(file.fileno(), 8, 64), "big")
        entry = os.pread(file.fileno(), 256, table)
        second = table + (entry.index(b"first") + 5 + 7) // 8 * 8
        # the length of the second one's ID
        os.pwrite(file.fileno(), b"\xff\xff", second + 12)
    os.truncate(path, table + 400)
    found = faulty(hone, path, "snapshot table entry 1")
    assert [each["name"] for each in found["snapshots"]] == ["first"]


def test_info_shows_a_fault_in_place_of_a_refusal(hone, image, out):
    """An encrypted image is shown with exit status 0, but half of one is not
    whole."""
    path = out / "disk.qcow2"
    hone.ok("convert", "-q", image("mixed"), path)
    with open(path, "r+b") as file:
        os.pwrite(file.fileno(), (1).to_bytes(4, "big"), 32)
        assert hone.json("info", "--json", path)["encryption"] == "aes"
        l1_table = int.from_bytes(os.pread(file.fileno(), 8, 40), "big")
        os.pwrite(file.fileno(), (1 << 40).to_bytes(8, "big"), l1_table)
    found = faulty(hone, path, "L2 table at 0x10000000000")
    assert found["encryption"] == "aes"


def test_cpu_names_a_variant_for_each_part(hone):
    found = hone.json("cpu", "--json")
    assert found["variants"]["zero"]
    said = hone.ok("cpu").stdout.decode()
    assert found["variants"]["zero"] in said and "zero" in said
    for feature in found["features"]:
        assert feature in said


def test_cpu_shows_the_traits(hone):
    traits = hone.json("cpu", "--json")["traits"]
    assert list(traits) == ["copy_min", "copy_max", "stream_min", "stream_l2"]
    shown = dict(line.split(maxsplit=1) for line in
                 hone.ok("cpu").stdout.decode().splitlines())
    assert shown["own"].startswith(
        "copies from" if traits["copy_max"] else "copies never")
    assert re.fullmatch("from [0-9.]+ [KMGT]iB|never", shown["streams"])
    assert "loads" not in shown and "fast" not in shown


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
def test_a_conversion_reports_the_variant_it_was_limited_to(hone, small, out, limit):
    variant = hone.json("--cpu-limit", limit, "cpu", "--json")["variants"]["zero"]
    result = hone.json("--cpu-limit", limit, "convert", "--json", small, out / "d")
    assert result["zero_variant"] == variant
    assert_same(small, out / "d", "raw")


def test_sizes_and_dates_of_an_image_are_for_people(hone, work):
    """JSON has the numbers."""
    image = work / "disk.qcow2"
    need("qemu-img")
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", image, "1G"], check=True)
    subprocess.run(["qemu-img", "snapshot", "-c", "s", image], check=True)
    found = hone.json("info", "--json", image)
    date = time.gmtime(found["snapshots"][0]["date"])
    text = hone.ok("info", image).stdout.decode()
    assert "cluster_size:      64.0 KiB (65536 bytes)\n" in text
    assert "\nsnapshots:\n" in text
    assert f"date:          {time.strftime('%Y-%m-%d %H:%M:%S UTC', date)}\n" \
        in text
    assert "vm_state_size: 0 bytes\n" in text


@pytest.mark.parametrize("name, shown", [
    ("https://u:hidden@127.0.0.1:1/x?hidden", "https://127.0.0.1:1/x"),
    ("https:///u:hidden@h/x", "https:///h/x"),
    ("https://h:8/https:///u:hidden@h/", "https://h:8/https://"),
    ("https:u:hidden@h/x", "https:h/x"),
    ("https:/u:hidden@h/x", "https:/h/x"),
    ('https://u:a"hidden@h/x', "https://h/x"),
    ("ftp://hidden@h/x", "ftp://"),
    ('json:{"file.url": "http://u:hidden@h/x?hidden", "a": 1}', "json:"),
    (r'json:{"file.url":"https:\/\/u:hidden@h\/x"}', "json:"),
    ("./a@b://c", "./a@b://")])
def test_a_backing_file_shows_no_secret(hone, work, out, qemu_img, name, shown):
    top = work / "top.qcow2"
    assert qemu_img("create", "-u", "-f", "qcow2", "-b", name, "-F", "raw",
                    top, "1M")[0] == 0
    assert hone.json("info", "--json", top)["backing_file"] == shown
    for words in (["info"], ["check"], ["check", "--json"], ["map"],
                  ["map", "--allow-backing", work]):
        done = hone.run(*words, top)
        said = (done.stdout + done.stderr).decode()
        assert "hidden" not in said and shown[:5] in said, said
    said = hone.fails("convert", top, out / "d").replace(r"\\", "\\")
    assert f"its backing_file '{shown}' is not opened" in said


def test_info_of_several_images(hone, image, small, work):
    """Each has its name; the exit status is the worst."""
    page, gone = work / "a.qcow2", work / "gone"
    page.write_bytes(b"QFI\xfb\0\0\0\x03" + bytes(4096))
    files = [image("mixed"), small, image("mixed")]
    said = hone.ok("info", *files).stdout
    assert said == b"\n".join(hone.ok("info", file).stdout for file in files)
    done = hone.run("info", "--json", small, gone, page, small)
    assert done.returncode == 3
    # One object a line, those that there are.
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines == [hone.json("info", "--json", small)] * 2
    lines = done.stderr.decode().splitlines()
    assert [line.split(": ")[1] for line in lines] == [str(gone), str(page)]
    assert hone.run("info", small, gone, small).returncode == 1
    # A server that may answer later is better than a file that is not there.
    if b" libcurl " in hone.version:
        later = "http://127.0.0.1:1/a"
        for names, code in ([later, small], 4), ([gone, later], 1), (
                [later, page, gone], 3):
            assert hone.run("info", *names).returncode == code, names


def test_info_of_several_images_ends_with_the_output(hone, small, work):
    with open("/dev/full", "wb") as full:
        done = hone.run("info", small, work / "gone", small, stdout=full)
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1, done.stderr


def test_info_shows_no_secret_of_any_image(hone, small):
    done = hone.run("info", small, "http://u:hidden@127.0.0.1:1/a?hidden",
                    "http://hidden@127.0.0.1:1/b?hidden")
    assert done.returncode in (1, 4) and b"hidden" not in done.stderr
    assert done.stderr.count(b"http://127.0.0.1:1/") == 2
