# SPDX-License-Identifier: BSD-3-Clause
"""`hone digest`: what hashlib and the coreutils say of the raw disk."""
import hashlib
import os
import subprocess

import pytest

import images
from harness import of_its_build, write

KI, MI = images.KI, images.MI
ALGORITHMS = ("sha256", "sha512", "sha384", "sha224", "sha1", "md5", "blake2b")


@pytest.fixture(autouse=True)
def with_openssl(request, hone):
    """Skips in a build without OpenSSL; one test is of that build."""
    of_its_build(request, hone, "OpenSSL")


def expected(path, algorithm="sha256"):
    """The digest of a file."""
    found = hashlib.new(algorithm)
    with open(path, "rb") as file:
        while block := file.read(MI):
            found.update(block)
    return found.hexdigest()


def digests(hone, *words):
    """What --json says, by algorithm."""
    found = hone.json("digest", "--json", *words)
    assert found["command"] == "digest"
    return found["digests"]


@pytest.mark.parametrize("name", ["mixed", "written_zeros", "one_byte_set",
                                  "fragmented", "preallocated"])
def test_a_raw_image_has_the_digest_of_the_file(hone, image, name, threads):
    path = image(name)
    said = hone.ok("digest", "--threads", threads, path).stdout.decode()
    assert said == f"{expected(path)}  {path}\n"


FORMS = {"zlib": ["-c"], "zstd": ["-c", "-o", "compression_type=zstd"],
         "plain": [], "512": ["-o", "cluster_size=512"],
         "2M": ["-c", "-o", "cluster_size=2M"],
         "subclusters": ["-o", "extended_l2=on,cluster_size=128k"]}


@pytest.mark.parametrize("form", FORMS)
def test_a_qcow2_image_has_the_digest_of_its_raw_disk(
        hone, image, work, qemu_img, form, threads):
    disk, raw = work / "disk.qcow2", work / "disk.raw"
    assert qemu_img("convert", "-f", "raw", "-O", "qcow2", *FORMS[form],
                    str(image("mixed")), str(disk))[0] == 0
    assert qemu_img("convert", "-O", "raw", str(disk), str(raw))[0] == 0
    assert digests(hone, "-m", threads, disk) == {"sha256": expected(raw)}


def test_every_algorithm_alone_and_all_at_once(hone, image, threads):
    path = image("mixed")
    every = {name: expected(path, name) for name in ALGORITHMS}
    assert digests(hone, "-m", threads, "-a", ",".join(every), path) == every
    for name in ALGORITHMS:
        said = hone.ok("digest", "-a", name, path).stdout.decode()
        assert said == f"{every[name]}  {path}\n"
    said = hone.ok("digest", "--algorithm=sha512,blake2b,md5", path).stdout
    assert said.decode() == (f"SHA512 ({path}) = {every['sha512']}\n"
                             f"BLAKE2b ({path}) = {every['blake2b']}\n"
                             f"MD5 ({path}) = {every['md5']}\n")


@pytest.mark.parametrize("name", ["disk", "new\nline", "back\\slash",
                                  "\n\\\n", "\N{GREEK SMALL LETTER ALPHA}",
                                  "a  b", "re\\nd"])
def test_the_lines_are_those_of_the_coreutils(hone, work, name):
    images.pieces(work / name, 100, (3, b"abc"))
    rival = subprocess.run(["sha256sum", name], cwd=work, check=True,
                           stdout=subprocess.PIPE).stdout
    assert hone.ok("digest", name, cwd=work).stdout == rival
    both = b"".join(subprocess.run([tool, "--tag", name], cwd=work, check=True,
                                   stdout=subprocess.PIPE).stdout
                    for tool in ("md5sum", "sha384sum"))
    said = hone.ok("digest", "-a", "md5,sha384", name, cwd=work).stdout
    assert said == both
    assert hone.json("digest", "--json", name, cwd=work)["image"] == name


def test_the_coreutils_check_what_is_printed(hone, image):
    for options in ([], ["-a", "sha256,sha512"]):
        said = hone.ok("digest", *options, image("mixed")).stdout
        subprocess.run(["cksum" if options else "sha256sum", "--check",
                        "--strict", "-"], input=said, check=True,
                       stdout=subprocess.DEVNULL)


def test_json_names_the_image_its_format_and_its_size(hone, image, out):
    disk = out / "disk.qcow2"
    hone.ok("convert", "-q", image("mixed"), disk)
    found = hone.json("digest", "--json", "-a", "md5", disk)
    assert found["image"] == str(disk) and found["format"] == "qcow2"
    assert found["virtual_size"] == (5 * MI + 777 + 511) // 512 * 512
    assert list(found["digests"]) == ["md5"]


@pytest.mark.parametrize("options", [
    ["--direct"], ["-T", "none"], ["--cache", "drop"], ["--cache", "keep"],
    ["--cache", "auto", "--memory", "8M"], ["-p", "-m", "2"],
    ["--rate-limit", "1G"], ["-U"], ["-f", "raw"]], ids=" ".join)
def test_options_of_reading_change_no_digest(hone, image, options):
    path = image("mixed")
    assert digests(hone, *options, path) == {"sha256": expected(path)}


@pytest.mark.parametrize("words, said", [
    (["-a", "sha257"], "--algorithm: 'sha257' is not an algorithm"),
    (["-a", ""], "--algorithm: '' is not an algorithm"),
    (["-a", "md5,"], "--algorithm: '' is not an algorithm"),
    (["-a", "SHA256"], "--algorithm: 'SHA256' is not an algorithm"),
    (["-a", "md5,sha1,md5"], "--algorithm: md5 is listed twice"),
    (["--cache", "often"], "--cache: 'often' is not keep, drop or auto"),
    (["-T", "fast"], "-T: 'fast' is not none"),
    (["-f", "floppy"], "'floppy' is not a format"),
    (["--memory", "1"], "--memory: '1' is less than 8M"),
    (["--progress-fd", "x"], "'x' is not a file descriptor"),
    (["-m", "65"], "--threads: '65' is not a number"),
    (["--blocks", "64k"], "--blocks needs --json"),
    *((["--json", "--blocks", size], f"--blocks: '{size}' is not a power of")
      for size in ("0", "256", "513", "3M", "32M", "x")),
    (["-q"], "'-q' is not an option of hone digest")], ids=str)
def test_a_misuse_of_digest_names_the_mistake(hone, small, words, said):
    assert said in hone.misused("digest", *words, small)


@pytest.mark.parametrize("listed, said", [
    ("crc", "--digest: 'crc' is not an algorithm; the algorithms are sha256, sha512, "
     "sha384, sha224, sha1, md5, blake2b"),
    ("md5,md5", "--digest: md5 is listed twice")])
def test_a_misuse_of_the_option_names_the_mistake(hone, small, out, listed, said):
    assert said in hone.misused("convert", "--digest", listed, small, out / "d")
    assert not os.listdir(out)


def blocks_of(path, size, *algorithms):
    """What --blocks has to list."""
    found = []
    with open(path, "rb") as file:
        index = 0
        while block := file.read(size):
            if block.strip(b"\0"):
                found.append({
                    "index": index, "offset": index * size,
                    "length": len(block), "digests": {
                        name: hashlib.new(name, block).hexdigest()
                        for name in algorithms}})
            index += 1
    return found


@pytest.mark.parametrize("size", [512, 4 * KI, 64 * KI, 512 * KI, MI, 4 * MI, 16 * MI])
def test_the_digests_of_blocks_with_data(hone, image, out, size, threads):
    """In the same order, from any format, at any number of threads."""
    for name in "mixed", "written_zeros":
        path = image(name)
        expect = blocks_of(path, size, "sha256")
        found = hone.json("digest", "--json", "--blocks", str(size), "-m",
                          threads, path)
        assert found["blocks"] == expect
        assert (found["block_size"], found["virtual_size"]) == (
            size, os.stat(path).st_size)
    hone.ok("convert", "-q", "-c", image("mixed"), out / "d.qcow2")
    hone.ok("convert", "-q", out / "d.qcow2", out / "d.raw")
    found = hone.json("digest", "--json", "--blocks", str(size), "-a",
                      "md5,sha1", out / "d.qcow2")
    assert found["blocks"] == blocks_of(out / "d.raw", size, "md5", "sha1")


def test_a_list_of_blocks_that_is_not_complete_is_no_json(hone, work):
    source, disk = work / "disk.raw", work / "disk.qcow2"
    images.pieces(source, 4 * MI, (0, b"x"), (2 * MI, b"abc" * 300000))
    hone.ok("convert", "-q", "-c", source, disk)
    with open(disk, "r+b") as file:
        file.seek(193 * KI)
        file.write(b"\xff" * 400)
    done = hone.run("digest", "--json", "--blocks", "64k", disk)
    assert done.returncode == 3 and done.stderr.startswith(b"hone: ")
    assert not done.stdout.endswith(b"}\n")
    with open("/dev/full", "wb") as full:
        done = hone.run("digest", "--json", "--blocks", "512", source, stdout=full)
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1


def test_the_progress_ends_after_the_digest(hone, work):
    """A hole takes its time, too."""
    path = work / "disk"
    for parts in ([], [(0, b"x")]):
        images.pieces(path, 64 * MI, *parts)
        reader, writer = os.pipe()
        hone.ok("digest", "--progress-fd", str(writer), path, pass_fds=[writer])
        os.close(writer)
        with open(reader, "rb") as lines:
            assert lines.read().decode().split() == [f"{n}/100" for n in range(101)]


TARGETS = {"raw": ["-O", "raw"], "qcow2": ["-O", "qcow2"],
           "compressed": ["-c", "-O", "qcow2"],
           "2M": ["-O", "qcow2", "-o", "cluster_size=2M"],
           "direct": ["--direct", "-O", "raw"]}
# Raw and compressed targets with both numbers of threads.
each_target = pytest.mark.parametrize("target, threads", [
    ("raw", "1"), ("raw", "3"), ("qcow2", "3"), ("compressed", "1"),
    ("compressed", "3"), ("2M", "3"), ("direct", "3")])


@each_target
def test_a_conversion_prints_the_digest_of_what_it_copied(
        hone, image, out, target, threads):
    for name in "mixed", "one_byte_set":
        path = image(name)
        both = {a: expected(path, a) for a in ("sha256", "md5")}
        found = hone.json("convert", "--json", "--force", "-m", threads,
                          "--digest", "sha256,md5", *TARGETS[target], path,
                          out / "d")
        assert found["digests"] == both
        hone.ok("compare", "-q", path, out / "d")
    said = hone.ok("convert", "--force", "--digest=md5", *TARGETS[target],
                   path, out / "d").stdout.decode().splitlines()
    assert said[1:] == [f"{both['md5']}  {out / 'd'}"]
    said = hone.ok("convert", "--force", "--digest=md5,sha256",
                   *TARGETS[target], path, out / "d").stdout.decode()
    assert said.splitlines()[1:] == [f"MD5 ({out / 'd'}) = {both['md5']}",
                                     f"SHA256 ({out / 'd'}) = "
                                     f"{both['sha256']}"]


def test_without_the_option_a_conversion_has_no_digests(hone, image, out):
    assert "digests" not in hone.json("convert", "--json", image("mixed"), out / "d")
    said = hone.ok("convert", "-q", "--digest", "sha1", image("mixed"),
                   out / "e").stdout
    assert said == b""


def test_a_conversion_of_a_compressed_chain_has_its_digest(
        hone, image, work, out, qemu_img):
    top, raw = work / "top.qcow2", work / "raw"
    assert qemu_img("create", "-f", "qcow2", "-F", "raw", "-b",
                    str(image("mixed")), str(top), "9M")[0] == 0
    assert qemu_img("convert", "-O", "raw", str(top), str(raw))[0] == 0
    found = hone.json("convert", "--json", "--digest", "sha256", "--verify",
                      "--allow-backing", image("mixed").parent, top, out / "d")
    assert found["digests"] == {"sha256": expected(raw)}


@each_target
def test_other_content_than_is_expected_is_refused(hone, image, out, target, threads):
    path = image("mixed")
    right = expected(path)
    words = ["convert", "-m", threads, *TARGETS[target]]
    for old, algorithm, digits in (
            (None, "sha256", "0" * 64), (None, "sha512", "f" * 128),
            (b"old", "sha256", right[:-1] + ("0" if right[-1] != "0" else "1"))):
        if old:
            (out / "d").write_bytes(old)
        done = hone.run(*words, "--force", "--expect-content",
                        f"{algorithm}:{digits}", path, out / "d")
        assert (done.returncode, done.stdout) == (3, b"")
        said = done.stderr.decode()
        assert said == (f"hone: {path}: the content is refused: its "
                        f"{algorithm} is {expected(path, algorithm)}, "
                        f"not {digits}\n")
        assert os.listdir(out) == (["d"] if old else [])
    assert (out / "d").read_bytes() == b"old"
    for digits in right, right.upper():
        said = hone.ok(*words, "--force", "--expect-content",
                       f"sha256:{digits}", path, out / "d").stdout
        assert said.count(b"\n") == 1
        hone.ok("compare", "-q", path, out / "d")


def test_what_is_expected_and_what_is_printed_are_independent(hone, image, out):
    path = image("mixed")
    right = f"sha384:{expected(path, 'sha384')}"
    for listed in (["sha256"], ["sha384"], ["sha1", "sha384"]):
        said = hone.ok("convert", "--force", "--digest", ",".join(listed),
                       "--expect-content", right, path, out / "d").stdout
        assert said.count(b"\n") == 1 + len(listed)
        found = hone.json("convert", "--json", "--force", "--digest",
                          ",".join(listed), "--expect-content", right, path,
                          out / "d")
        assert set(found["digests"]) == {*listed, "sha384"}


def test_a_build_without_openssl_says_so(hone, small, out):
    said = hone.fails("digest", small)
    assert "OpenSSL's libcrypto" in said and "libssl-dev" in said
    assert "libssl-dev" in hone.fails("convert", "--digest", "md5", small, out / "d")
    assert not os.listdir(out)
    assert b" without OpenSSL" in hone.version


def test_digests_of_several_images(hone, image, small, work):
    """Each is on a line of its own, as by sha256sum."""
    files = [image("mixed"), small, image("mixed")]
    for words in [], ["-a", "sha256,md5"], ["--json"]:
        said = hone.ok("digest", *words, *files).stdout
        assert said == b"".join(hone.ok("digest", *words, file).stdout
                                for file in files)
    with open(small, "rb") as file:
        said = hone.ok("digest", files[0], "-", stdin=file).stdout.decode()
    assert said == f"{expected(files[0])}  {files[0]}\n{expected(small)}  -\n"
    done = hone.run("digest", work / "gone", small)
    assert done.returncode == 1
    assert done.stdout.decode() == f"{expected(small)}  {small}\n"
    assert done.stderr.startswith(b"hone: " + bytes(work / "gone"))


def test_several_images_are_expected_by_a_list(hone, small, work):
    other = write(work, "other.img", b"y" * 4096)
    sums = work / "sums"
    sums.write_text(f"{expected(small)}  {small.name}\n"
                    f"{expected(other)}  {other.name}\n")
    words = ["digest", "--expect", f"@{sums}", other, small]
    said = hone.ok(*words).stdout.decode()
    assert said == (f"{expected(other)}  {other}\n{expected(small)}  {small}\n")
    other.write_bytes(b"z" * 4096)
    done = hone.run(*words)
    assert done.returncode == 3
    assert done.stdout.decode() == f"{expected(small)}  {small}\n"
    assert b"other.img: the file is refused" in done.stderr
    assert hone.misused("digest", "--expect", f"sha256:{expected(small)}",
                        small, other) == (
        "hone: --expect-file: a digest is that of one image; @FILE has those of "
        "several")
