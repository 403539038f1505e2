# SPDX-License-Identifier: BSD-3-Clause
"""--verify: what was written is the disk of the source."""
import gzip
import hashlib
import lzma
import os
import re

import pytest

from harness import error_line, piped, write

MI = 1 << 20
TARGETS = {"raw": ["-O", "raw"], "qcow2": ["-O", "qcow2"],
           "qcow2-c": ["-O", "qcow2", "-c"], "vmdk": ["-O", "vmdk"],
           "vhd": ["-O", "vhd"]}


# Writes of what is not needed to read the disk: the tables of counts.
UNREAD = {"qcow2": 2}


def disk():
    """Data, zeros and an odd end: VHD and qcow2 round the size up."""
    return (os.urandom(300_000) + bytes(2 * MI) + b"data" * 30_000 +
            bytes(700_000) + b"end")


@pytest.fixture
def source(work):
    """The bytes of a raw disk."""
    path = write(work, "disk.img", disk())
    return path


def sources(hone, source):
    """Words and stdin for the disk as a stream of each kind."""
    content = source.read_bytes()
    packed = source.with_suffix(".raw.gz")
    packed.write_bytes(gzip.compress(content, 1))
    one_block = source.with_suffix(".raw.xz")
    one_block.write_bytes(lzma.compress(content, preset=0))
    image = source.with_suffix(".qcow2")
    hone.ok("convert", "-q", source, image)
    expect = hashlib.sha256(image.read_bytes()).hexdigest()
    return [(["-f", "raw", "-"], content), (["-"], image.read_bytes()),
            ([packed], b""), ([one_block], b""),
            (["--expect", f"sha256:{expect}", image], b""),
            (["--digest", "md5,sha1", "-f", "raw", "-"], content)]


@pytest.mark.parametrize("target", TARGETS)
def test_a_stream_is_verified_in_one_pass(digests, hone, source, out, target):
    for words, stdin in sources(hone, source):
        done = hone.run("convert", "--json", "--verify", "--force", *TARGETS[target],
                        *words, out / "d", input=stdin)
        assert (done.returncode, done.stderr) == (0, b""), (words, done)
        assert b'"verified": true' in done.stdout
        assert (b"md5" in done.stdout) == ("md5,sha1" in words)
        assert b"sha256" not in re.sub(rb'"expect": {[^}]*}', b"", done.stdout)
        hone.ok("compare", "-q", source, out / "d",
                *(["-F", "vhd"] if target == "vhd" else []))


def test_the_digest_of_a_stream_serves_verify(digests, hone, strace, source, out):
    """Each digest of a copy has a thread."""
    for words, threads in (([], 1), (["--digest=sha1"], 1), (["--digest=sha1,md5"], 2)):
        log = out.parent / "trace"
        done = hone.run(
            "convert", "-q", "--verify", "-m", "1", "--force", *words, "-f", "raw", "-",
            out / "d", input=source.read_bytes(),
            before=[*strace, "-qq", "-o", str(log), "-e", "trace=clone,clone3"])
        assert done.returncode == 0, done
        assert log.read_text().count("CLONE_VM") == threads


def writes(hone, strace, work, words, stdin):
    """What each pwrite64() of a run returned."""
    log = work / "trace"
    done = hone.run(*words, input=stdin,
                    before=[*strace, "-o", str(log), "-e", "trace=pwrite64"])
    assert done.returncode == 0, done
    # A call has two lines if the thread that reads stdin ends during it.
    return [int(n) for n in re.findall(
        r"pwrite64(?:\(| resumed>).* = (\d+)$", log.read_text(), re.M)]


@pytest.mark.parametrize("fmt", ["raw", "qcow2", *(
    pytest.param(fmt, marks=pytest.mark.all) for fmt in ("vmdk", "vhd", "gce"))])
def test_a_write_that_was_lost_is_found(hone, strace, source, work, out, fmt):
    """Each one: the kernel reports a write that it has not done."""
    def fails(words, stdin):
        words = ["convert", "-q", "--verify", "-m", "1", "-O", fmt, *words, out / "d"]
        made = writes(hone, strace, work, words, stdin)
        (out / "d").unlink()
        unread = UNREAD.get(fmt, 0)
        for number, length in enumerate(made, 1):
            done = hone.run(*words, input=stdin, before=[
                *strace, "-qq", "-o", "/dev/null", "-e", "trace=pwrite64",
                "-e", f"inject=pwrite64:retval={length}:when={number}"])
            if done.returncode == 0 and unread:
                unread -= 1
                (out / "d").unlink()
                continue
            assert done.returncode == 1, (number, length, done)
            assert str(out / "d") in error_line(done.stderr)
            assert not os.listdir(out)
        assert len(made) >= 2
    fails([source], b"")
    if fmt != "gce" and b"without OpenSSL" not in hone.version:
        fails(["-f", "raw", "-"], source.read_bytes())


def test_a_stream_on_a_larger_target_is_followed_by_zeros(digests, hone, source, work):
    target = work / "target"
    content = source.read_bytes()
    words = ["convert", "-q", "-n", "--verify", "-f", "raw"]

    def run(*more):
        return hone.run(*words, *more, "-", target, input=content)
    # One thread has the same memory for each chunk.
    for threads in [], ["-m", "1"]:
        target.write_bytes(b"old" * (3 * MI))
        assert run(*threads).returncode == 0
        assert target.read_bytes() == content.ljust(9 * MI, b"\0")
    target.write_bytes(bytes(len(content)) + b"rest" * MI)
    assert run("--keep-rest").returncode == 0
    assert target.read_bytes() == content + b"rest" * MI
    # What --target-is-zero says need not be true.
    for old, *more in (
            (bytes(len(content) + 3 * MI) + b"rest" * MI,),
            (b"old" * (3 * MI),), (b"old" * (3 * MI), "--digest=sha256")):
        target.write_bytes(old)
        done = run("--target-is-zero", *more)
        assert done.returncode == 1
        assert error_line(done.stderr).endswith(
            "differs from the source when read back; DST was written to its end")


@pytest.mark.parametrize("size", ["+2M", "4M"])
@pytest.mark.parametrize("streamed", [False, True])
def test_the_zeros_of_size_are_verified_before_the_rest(
        hone, strace, source, work, streamed, size):
    """The kernel reports holes that it has not made; the source has none."""
    if streamed and b"without OpenSSL" in hone.version:
        pytest.skip("this hone has no digest for a stream")
    content = os.urandom(2 * MI)
    source.write_bytes(content)
    target = work / "target"

    def run(*inject):
        target.write_bytes(b"rest" * (2 * MI))
        return hone.run(
            "convert", "-q", "-n", "--verify", "--keep-rest", "--size", size,
            "-f", "raw", "-" if streamed else source, target,
            input=content if streamed else b"",
            before=[*strace, "-qq", "-o", str(work / "trace"), "-e",
                    "trace=fallocate", *inject])
    assert run().returncode == 0
    assert target.read_bytes() == content + bytes(2 * MI) + b"rest" * MI
    if "fallocate(" not in (work / "trace").read_text():
        pytest.skip("the file system makes no holes")
    done = run("-e", "inject=fallocate:retval=0")
    assert target.read_bytes() == content + b"rest" * (3 * MI // 2)
    assert done.returncode == 1
    assert "differs from the source" in error_line(done.stderr)


def test_an_archive_for_google_is_read_back(hone, source, out, digests):
    found = hone.json("convert", "--json", "--verify", "-O", "gce", source, out / "d")
    assert found["verified"]
    assert "is read as a stream" in piped(
        hone.fails, source, "convert", "--verify", "-O", "gce", "-f", "raw", "-",
        out / "e")
    hone.fails("convert", "-O", "gce", "--expect-content", "sha256:" + "0" * 64,
               source, out / "e", code=3)
