# SPDX-License-Identifier: BSD-3-Clause
"""`--expect`: an image whose file has to have a digest."""
import hashlib
import os
import re
import shutil
import subprocess
import threading

import pytest

import images
from harness import error_line, piped, write

MI = images.MI

pytestmark = pytest.mark.usefixtures("digests")

TARGETS = {"raw": ["-O", "raw"], "qcow2": ["-O", "qcow2"],
           "zlib": ["-O", "qcow2", "-c"]}


def digest(path, algorithm="sha256"):
    """Of the file as it is."""
    return hashlib.new(algorithm, path.read_bytes()).hexdigest()


def wrong(digits):
    """Another digest, which differs in its last digit."""
    return digits[:-1] + ("1" if digits[-1] == "0" else "0")


@pytest.fixture(params=["raw", "qcow2", "packed"])
def source(request, hone, image, work):
    """An image of a disk, in each form."""
    path = work / f"disk.{request.param}"
    if request.param == "raw":
        shutil.copyfile(image("mixed"), path)
    else:
        hone.ok("convert", "-q", "-O", "qcow2",
                *(["-c"] if request.param == "packed" else []),
                image("mixed"), path)
    return path


@pytest.mark.parametrize("target, threads", [
    ("raw", "1"), ("qcow2", "3"), ("zlib", "1"), ("zlib", "3")])
def test_an_image_with_its_digest_is_converted(
        hone, image, source, out, target, threads):
    algorithm = "sha256" if threads == "1" else "sha512"
    right = digest(source, algorithm)
    for digits in right, right.upper():
        hone.ok("convert", "-q", "--force", "-m", threads, *TARGETS[target],
                "--expect", f"{algorithm}:{digits}", source, out / "d")
    hone.ok("compare", "-q", image("mixed"), out / "d")
    plain = out / "plain"
    hone.ok("convert", "-q", *TARGETS[target], source, plain)
    assert plain.read_bytes() == (out / "d").read_bytes()


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_with_another_digest_is_refused(hone, source, out, target):
    right = digest(source)
    for old, digits in (None, "0" * 64), (b"old", wrong(right)):
        if old:
            (out / "d").write_bytes(old)
        said = hone.fails("convert", "--force", *TARGETS[target], "--expect",
                          f"sha256:{digits}", source, out / "d", code=3)
        assert said == (f"hone: {source}: the file is refused: its sha256 is "
                        f"{right}, not {digits}")
        assert os.listdir(out) == (["d"] if old else [])
    assert (out / "d").read_bytes() == b"old"


def test_a_digest_is_of_an_image_with_its_digest(hone, source, threads):
    right = digest(source)
    said = hone.ok("digest", "-m", threads, "--expect", f"sha256:{right}",
                   source).stdout
    assert said == hone.ok("digest", source).stdout
    said = hone.fails("digest", "-m", threads, "--expect", f"sha256:{wrong(right)}",
                      source, code=3)
    assert f"its sha256 is {right}, not" in said


def test_a_list_of_blocks_ends_only_with_the_right_digest(hone, source):
    words = ["digest", "--json", "--blocks", "64k", "--expect"]
    whole = hone.json(*words, f"sha256:{digest(source)}", source)
    done = hone.run(*words, "sha256:" + "0" * 64, source)
    assert done.returncode == 3
    assert b"the file is refused" in done.stderr
    assert done.stdout.count(b"index") == len(whole["blocks"])
    assert not done.stdout.endswith((b"]", b"\n", b"]}"))


def test_the_file_is_read_once_in_its_order(hone, strace, source, work, out):
    trace = work / "trace"
    hone.ok("convert", "-q", "-m", "1", "--expect",
            f"sha256:{digest(source)}", source, out / "d",
            before=[*strace, "-qq", "-y", "-o", trace, "-e",
                    "trace=pread64,preadv2,read,mmap"])
    content, at = source.read_bytes(), 0
    for line in trace.read_text().splitlines():
        if f"<{source}>" not in line:
            continue
        length = int(line.rpartition("= ")[2])
        offset = int(re.search(r", (\d+)\) +=", line).group(1))
        assert offset >= at and "pread64(" in line, line
        # A hole is not read.
        assert not any(content[at:offset]), line
        at = offset + length
    assert not any(content[at:])


@pytest.mark.parametrize("less", [1, 511, 70000, 2 * MI])
def test_a_file_that_was_cut_is_refused(hone, source, out, less):
    right = digest(source)
    os.truncate(source, max(os.stat(source).st_size - less, 1))
    # Also if a table lies past the end of the file then.
    form = "raw" if source.suffix == ".raw" else "qcow2"
    for words in ["convert", source, out / "d"], ["digest", source]:
        assert "the file is refused" in hone.fails(
            words[0], "-f", form, "--expect", f"sha256:{right}", *words[1:], code=3)
    assert not os.listdir(out)


def test_tables_at_the_end_are_read(hone, work, out, qemu_img, threads):
    """qemu-img moves a table that grows behind the data."""
    path, raw = work / "disk.qcow2", work / "disk.raw"
    noise = write(work, "noise", images.noise(3 * MI))
    assert qemu_img("create", "-f", "qcow2", str(path), "8M")[0] == 0
    subprocess.run(["qemu-io", "-c", f"write -s {noise} 1M 3M", str(path)],
                   check=True, stdout=subprocess.DEVNULL)
    assert qemu_img("resize", str(path), "70G")[0] == 0
    assert qemu_img("resize", "--shrink", str(path), "9M")[0] == 0
    with open(path, "rb") as file:
        file.seek(40)
        assert int.from_bytes(file.read(8), "big") > 3 * MI
    assert qemu_img("convert", "-O", "raw", str(path), str(raw))[0] == 0
    right = digest(path)
    hone.ok("convert", "-q", "-m", threads, "--expect", f"sha256:{right}",
            path, out / "d")
    hone.ok("compare", "-q", "--strict", raw, out / "d")
    hone.fails("convert", "--expect", f"sha256:{wrong(right)}", path, out / "e", code=3)


def test_the_result_is_read_back(hone, source, out):
    for target in TARGETS.values():
        found = hone.json("convert", "--json", "--verify", "--force", *target,
                          "--expect", f"sha256:{digest(source)}", source,
                          out / "d")
        assert found["verified"]
        assert found["expect"] == {"sha256": digest(source)}
        assert "digests" not in found
        assert found["shared_bytes"] == 0


def test_content_and_file_have_digests_of_their_own(hone, source, out):
    content = hone.json("digest", "--json", source)["digests"]["sha256"]
    file = digest(source)
    words = ["convert", "-q", "--force", "-O", "raw"]
    hone.ok(*words, "--expect", f"sha256:{file}", "--expect-content",
            f"sha256:{content}", source, out / "d")
    said = hone.fails(*words, "--expect", f"sha256:{file}", "--expect-content",
                      f"sha256:{wrong(content)}", source, out / "d", code=3)
    assert "the content is refused" in said
    said = hone.fails(*words, "--expect", f"sha256:{wrong(file)}", "--expect-content",
                      f"sha256:{content}", source, out / "d", code=3)
    assert "the file is refused" in said


def test_the_bytes_of_a_pipe_have_a_digest(hone, image, source, out):
    right = digest(source)
    words = ["convert", "-q", "-O", "raw", "--force", "--expect"]
    piped(hone.ok, source, *words, f"sha256:{right}", "-", out / "d")
    hone.ok("compare", "-q", image("mixed"), out / "d")
    (out / "d").unlink()
    for more, part in ([*words[1:], f"sha256:{wrong(right)}"], "file"), (
            ["--expect-content", "sha256:" + "0" * 64], "content"):
        assert piped(hone.fails, source, "convert", *more, "-", out / "d",
                     code=3).startswith(f"hone: stdin: the {part} is refused: ")
        assert not os.listdir(out)
    assert "has no file name" in hone.fails("digest", "--expect", f"@{source}", "-")


def test_a_pipe_gets_the_bytes_and_a_status(hone, source):
    right = digest(source)
    plain = hone.ok("convert", "-q", "-O", "raw", source, "-").stdout
    assert hone.ok("convert", "-q", "-O", "raw", "--expect",
                   f"sha256:{right}", source, "-").stdout == plain
    done = hone.run("convert", "-q", "-O", "raw", "--expect",
                    f"sha256:{wrong(right)}", source, "-")
    assert done.returncode == 3
    assert "the file is refused" in error_line(done.stderr)


def gnu(path):
    """A line of sha256sum."""
    return f"{digest(path)} *{path.name}\n"


def tagged(path):
    """A line of sha512sum --tag."""
    return f"SHA512 ({path.name}) = {digest(path, 'sha512')}\n"


# sums_test.c has the lines of every tool, and signed messages.
@pytest.mark.parametrize("line", [gnu, tagged])
def test_a_list_has_the_digest(hone, source, work, out, line):
    sums = work / "SHA256SUMS"
    sums.write_text("0" * 64 + "  other\n" + line(source))
    hone.ok("convert", "-q", "--expect", f"@{sums}", source, out / "d")
    hone.ok("digest", "--expect", f"@{sums}", source)
    with open(source, "ab") as file:
        file.write(b"x")
    said = hone.fails("digest", "--expect", f"@{sums}", source, code=3)
    assert f"hone: {source}: the file is refused" in said


def test_the_coreutils_write_lists(hone, work):
    path = work / "back\\slash\nand line"
    images.pieces(path, 100, (3, b"abc"))
    for options in [], ["--tag"], ["--binary"]:
        (work / "sums").write_bytes(subprocess.run(
            ["sha256sum", *options, path.name], cwd=work, check=True,
            stdout=subprocess.PIPE).stdout)
        hone.ok("digest", "--expect", "@sums", path.name, cwd=work)
        hone.ok("digest", "--expect", "@sums", path, cwd=work)
    assert "lists no SHA-2 or BLAKE2b digest of" in hone.fails(
        "digest", "--expect", "@sums", "sums", cwd=work)


def test_a_list_comes_through_a_pipe(hone, source):
    """As from gpg --decrypt."""
    for text, status in (gnu(source), 0), ("0" * 64 + "  other\n", 1):
        reader, writer = os.pipe()
        sender = threading.Thread(
            target=lambda to=writer, data=text.encode(): (
                os.write(to, data), os.close(to)))
        sender.start()
        done = hone.run("digest", "--expect", f"@/dev/fd/{reader}", source,
                        pass_fds=[reader])
        sender.join()
        os.close(reader)
        assert done.returncode == status


def test_a_list_without_the_digest_is_refused(hone, small, work, out):
    sums = work / "sums"
    sums.write_text("")
    for words in ["convert", small, out / "d"], ["digest", small]:
        assert hone.fails(words[0], "--expect", f"@{sums}", *words[1:]) == (
            f"hone: {sums}: lists no SHA-2 or BLAKE2b digest of 'disk.img' (the "
            "name in the list must be that of the image's file)")
    assert not os.listdir(out)


def test_a_list_that_cannot_be_read_is_an_error(hone, small, work):
    def fails(what):
        return hone.fails("digest", "--expect", what, small)

    missing = work / "missing"
    assert f"hone: {missing}: cannot be opened: No such file" in fails(f"@{missing}")
    assert "Is a directory" in fails(f"@{work}")
    large = work / "large"
    images.pieces(large, 16 * MI + 1)
    assert "is larger than 16 MiB" in fails(f"@{large}")
    images.pieces(large, 16 * MI - 1)
    assert "lists no SHA-2 or BLAKE2b digest of" in fails(f"@{large}")
    # An address of a scheme that is not ours may have a secret at any place.
    for what, shown in (("http://host/SHA256SUMS", "http://host/SHA256SUMS"),
                        ("@ftp://host/SHA256SUMS", "ftp://")):
        assert f"hone: {shown}: is not safe" in fails(what)


@pytest.mark.parametrize("value, said", [
    ("sha256", "'sha256' is not ALGORITHM:HEX"), ("", "'' is not ALGORITHM:HEX"),
    ("crc:00", "'crc' is not an algorithm; the algorithms are sha256, sha512, sha384, "
     "sha224, blake2b"),
    ("sha256:00", "'00' is not the 64 hexadecimal digits of sha256"),
    ("sha256:" + "0" * 65, "is not the 64 hexadecimal digits of sha256"),
    ("sha224:" + "x" * 56, "is not the 56 hexadecimal digits of sha224"),
    ("md5:" + "0" * 32, "another image can be made that has the same md5; use sha256"),
    ("sha1:" + "0" * 40, "the same sha1; use sha256")], ids=range(8))
def test_a_misuse_of_expect(hone, small, out, value, said):
    for option, *words in (["--expect-file", "convert", small, out / "d"],
                           ["--expect-disk", "convert", small, out / "d"],
                           ["--expect-file", "digest", small]):
        text = hone.misused(words[0], option, value, *words[1:])
        assert text.startswith(f"hone: {option}: ") and said in text
    assert not os.listdir(out)


def test_a_list_has_a_name(hone, small):
    assert "--expect-file: '@' is not followed by the name of a list" in hone.misused(
        "digest", "--expect", "@", small)
    assert "or @FILE" in hone.misused("digest", "--expect", "", small)


def test_the_names_say_what_is_expected(hone, small, out):
    """The file, or its disk. The earlier names are accepted."""
    right = f"sha256:{hashlib.sha256(small.read_bytes()).hexdigest()}"
    wrong = "sha256:" + "0" * 64
    for name in "--expect-file", "--expect", "--expect-f":
        hone.ok("digest", name, right, small)
        assert "the file is refused" in hone.fails(
            "convert", name, wrong, small, out / "d", code=3)
    # Of both names of one option.
    hone.ok("digest", "--exp", right, small)
    for name in "--expect-disk", "--expect-content", "--expect-d":
        hone.ok("convert", "-q", "--force", name, right, small, out / "d")
        assert "the content is refused" in hone.fails(
            "convert", "--force", name, wrong, small, out / "d", code=3)
    said = hone.ok("convert", "--help", "check").stdout.decode()
    assert "--expect-file WHAT" in said and "--expect-disk ALGO" in said
    assert "--expect " not in said and "--expect-content" not in said
    assert hone.misused("convert", "--exp", right, small, out / "e") == (
        "hone: '--exp' is ambiguous: --expect-file, --expect-disk")
