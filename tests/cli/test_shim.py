# SPDX-License-Identifier: BSD-3-Clause
"""A source that is cut at any call, and any allocation that fails, by shim.c, which
is preloaded. image/store_test.c and file_test.c have short and interrupted calls."""
import os
import pathlib
import subprocess

import pytest

import qcow2_reader
from harness import assert_same, error_line, failure, need
from tar_builder import END, sparse

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """The library to preload."""
    compiler = os.environ.get("CC", "cc").split()
    need(compiler[0])
    path = tmp_path_factory.mktemp("shim") / "shim.so"
    subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC",
                    "-shared", "-D_GNU_SOURCE", "-o", str(path),
                    str(HERE / "shim.c"), "-ldl"], check=True)
    return path


class Bent:
    """Runs `hone` under the shim and reads its counts."""

    def __init__(self, hone, shim, work):
        self.hone, self.shim, self.count = hone, shim, work / "count"

    def run(self, *words, **settings):
        """The finished run, the calls it made, how many were bent."""
        env = {"SHIM_" + key.upper(): str(value) for key, value in settings.items()}
        done = self.hone.run(*words, env=dict(
            env, LD_PRELOAD=str(self.shim), SHIM_COUNT=str(self.count)))
        calls, bent = map(int, self.count.read_text().split())
        self.count.unlink()
        return done, calls, bent


@pytest.fixture
def bent(hone, shim, work):
    """The command under the shim, if it can be had there."""
    runs = Bent(hone, shim, work)
    done = runs.hone.run("--version", env=dict(
        LD_PRELOAD=str(shim), SHIM_COUNT=str(runs.count)))
    if done.returncode or not runs.count.exists():
        pytest.skip("nothing can be preloaded into this build of hone")
    return runs


@pytest.mark.all
@pytest.mark.parametrize("fmt", ["raw", "qcow2"])
@pytest.mark.parametrize("left", [0, 100, 70000])
def test_a_source_cut_at_any_call_is_an_error_or_was_read_before(
        bent, image, out, work, fmt, left, threads, record_property):
    """Cut before call 1, 2, ... until the run has no such call."""
    content = image("mixed").read_bytes()[:3 << 20]
    source, whole = work / "cut.img", work / "whole.img"
    whole.write_bytes(content)
    refused, at = 0, 1
    while True:
        source.write_bytes(content)
        done, calls, cut = bent.run(
            "convert", "--threads", threads, "-O", fmt, source, out / "d",
            cut=source, at=at, left=left)
        if at > calls:
            assert not cut and done.returncode == 0
            break
        if done.returncode == 0:
            # The cut came before the size was asked, or after the last read.
            size = (qcow2_reader.Qcow2(out / "d").size if fmt == "qcow2"
                    else os.stat(out / "d").st_size)
            assert_same(whole if size >= len(content) else source, out / "d", fmt)
            (out / "d").unlink()
        else:
            assert done.returncode == 1, (at, done)
            assert str(source) in error_line(done.stderr)
            refused += 1
        assert not os.listdir(out), at
        at += 1
    assert refused >= 3
    record_property("faults", at - 1)


def test_an_image_cut_at_any_call_of_map_or_compare_never_crashes(
        bent, image, work, threads):
    content = image("mixed").read_bytes()[:3 << 20]
    source, whole = work / "cut.img", work / "whole.img"
    whole.write_bytes(content)
    for words in (["map", source], ["digest", source],
                  ["compare", source, whole], ["compare", whole, source]):
        refused, at, calls = 0, 1, 1
        while at <= calls:
            source.write_bytes(content)
            done, calls, _ = bent.run(*words, "--threads", threads,
                                      cut=source, at=at, left=5000)
            assert done.returncode in (0, 1, 2), (at, done)
            if done.stderr:
                assert done.returncode == failure(words[0])
                assert str(source) in error_line(done.stderr)
                refused += 1
            at += 1
        assert refused >= 1


def test_an_archive_without_memory_is_no_damage(bent, work, out):
    if b"__asan_init" in pathlib.Path(bent.hone.path).read_bytes():
        pytest.skip("this build's sanitizer brings a malloc of its own")
    archive = work / "disk.tar"
    pieces = [(n * 1024, 512) for n in range(100)]
    archive.write_bytes(sparse("0.1", b"disk.raw", pieces, bytes(51200), 102400) + END)
    clean, made, _ = bent.run("info", archive, starve=1 << 60)
    assert clean.returncode == 0 and made > 0
    refused = 0
    for victim in range(1, made + 1):
        done, _, starved = bent.run("info", archive, starve=victim)
        assert starved == 1 and done.returncode in (0, 1), done
        refused += done.returncode
    assert refused and not os.listdir(out)


@pytest.mark.parametrize("words", [
    ["convert", "-O", "qcow2"], ["map", "--json"], ["info", "--json"], ["compare"],
    *(pytest.param(words, marks=pytest.mark.all) for words in (
        ["convert", "-O", "raw"], ["convert", "-O", "vmdk"],
        ["convert", "-O", "vhd"], ["convert", "-O", "gce"],
        ["digest", "-a", "sha256,md5"],
        ["convert", "--digest=md5", "-O", "raw"]))], ids=" ".join)
def test_every_allocation_that_fails_is_an_error_that_leaves_nothing(
        bent, small, out, words, record_property):
    """Fail allocation 1, 2, ... until the run makes no more."""
    if "digest" in " ".join(words) and b"without OpenSSL" in bent.hone.ok(
            "--version").stdout:
        pytest.skip("this hone was built without OpenSSL")
    if b"__asan_init" in pathlib.Path(bent.hone.path).read_bytes():
        pytest.skip("this build's sanitizer brings a malloc of its own")
    files = [small]
    if words[0] in ("convert", "compare"):
        files.append(out / "d")
    if words[0] == "compare":
        files[1] = small
    clean, made, _ = bent.run(*words, *files, starve=1 << 60)
    assert clean.returncode == 0 and made > 0
    # OpenSSL makes thousands while it starts: every 53rd of those.
    for victim in (v for v in range(1, made + 1)
                   if v % 53 == 0 or min(v, made - v) < 15):
        if (out / "d").exists():
            (out / "d").unlink()
        done, _, starved = bent.run(*words, *files, starve=victim)
        assert starved == 1
        if done.returncode == 0:
            # Somebody could do without: libc's buffer for stdout, say.
            assert words[0] == "convert" or done.stdout == clean.stdout
            assert words[0] != "convert" or (out / "d").exists()
        else:
            assert done.returncode == failure(words[0]), (victim, done)
            assert done.stderr.startswith(b"hone: ")
            assert not os.listdir(out), victim
        if not (out / "d").exists():
            continue
        if words[-1] in ("raw", "qcow2"):
            assert_same(small, out / "d", words[-1])
        else:
            bent.hone.ok("compare", "-q", small, out / "d",
                         *(["-F", "vhd"] if words[-1] == "vhd" else []))
    record_property("faults", made)
