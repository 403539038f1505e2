# SPDX-License-Identifier: BSD-3-Clause
"""Any allocation that fails, by shim.c, which is preloaded. image/file_test.c has
short and interrupted calls, and a file that is cut; source_test.c has each read
that fails."""
import os
import pathlib
import subprocess

import pytest

from harness import assert_same, failure, need
from tar_builder import END, sparse


@pytest.fixture(scope="session", name="library")
def library_fixture(tmp_path_factory):
    """The library to preload."""
    compiler = os.environ.get("CC", "cc").split()
    need(compiler[0])
    path = tmp_path_factory.mktemp("shim") / "shim.so"
    subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC",
                    "-shared", "-D_GNU_SOURCE", "-o", path,
                    pathlib.Path(__file__).with_name("shim.c")], check=True)
    return path


@pytest.fixture
def starve(hone, library, work):
    """Call it with the number of an allocation and words: the run in which it
    fails. 0: none fails; the run, and how many it made."""
    if hone.sanitized:
        pytest.skip("this build's sanitizer brings a malloc of its own")
    count = work / "count"

    def run(victim, *words):
        done = hone.run(*words, env={
            "LD_PRELOAD": str(library), "SHIM_COUNT": str(count),
            "SHIM_STARVE": str(victim or 1 << 60)})
        if not victim and done.returncode == 0 and not count.exists():
            pytest.skip("nothing can be preloaded into this build of hone")
        made, failed = map(int, count.read_text().split())
        count.unlink()
        if victim:
            assert failed == 1
            return done
        assert done.returncode == 0 and made > 0
        return done, made
    return run


def test_an_archive_without_memory_is_no_damage(starve, work, out):
    archive = work / "disk.tar"
    pieces = [(n * 1024, 512) for n in range(100)]
    archive.write_bytes(sparse("0.1", b"disk.raw", pieces, bytes(51200), 102400) + END)
    _, made = starve(0, "info", archive)
    codes = [starve(victim, "info", archive).returncode
             for victim in range(1, made + 1)]
    assert set(codes) == {0, 1} and not os.listdir(out)


@pytest.mark.parametrize("words", [
    ["convert", "-O", "qcow2"], ["map", "--json"], ["info", "--json"], ["compare"],
    *(pytest.param(words, marks=pytest.mark.all) for words in (
        ["convert", "-O", "raw"], ["convert", "-O", "vmdk"],
        ["convert", "-O", "vhd"], ["convert", "-O", "gce"],
        ["digest", "-a", "sha256,md5"],
        ["convert", "--digest=md5", "-O", "raw"]))], ids=" ".join)
def test_every_allocation_that_fails_is_an_error_that_leaves_nothing(
        hone, starve, small, out, words, record_property):
    """Fail allocation 1, 2, ... until the run makes no more."""
    if "digest" in " ".join(words):
        hone.need("OpenSSL")
    files = [small] + {"convert": [out / "d"], "compare": [small]}.get(words[0], [])
    clean, made = starve(0, *words, *files)
    # OpenSSL makes thousands while it starts: every 53rd of those.
    for victim in (v for v in range(1, made + 1)
                   if v % 53 == 0 or min(v, made - v) < 15):
        (out / "d").unlink(missing_ok=True)
        done = starve(victim, *words, *files)
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
            hone.ok("compare", "-q", small, out / "d",
                    *(["-F", "vhd"] if words[-1] == "vhd" else []))
    record_property("faults", made)
