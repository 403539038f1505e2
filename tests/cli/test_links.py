# SPDX-License-Identifier: BSD-3-Clause
"""Symbolic links on the path of DST, and files of others there.

Each destination follows one rule: a new file, --force, -n, a block device. The
command follows links itself, so that the kernel's setting does not matter.
"""
import os
import stat
import tempfile

import pytest

from harness import assert_same

OTHER, THIRD = 12345, 23456
STICKY = 0o1777
SIZE = 1 << 20

needs_root = pytest.mark.usefixtures("root")
# With -n and --force the file of DST exists before.
WAYS = pytest.mark.parametrize("words", [[], ["--force"], ["-n"]], ids=" ".join)


@pytest.fixture
def tmp(out):
    """A directory like /tmp."""
    os.chmod(out, STICKY)
    return out


@pytest.fixture
def precious(work, words):
    """The path of DST in a directory of root."""
    folder = work / "precious"
    folder.mkdir()
    if words:
        (folder / "d").write_bytes(bytes(SIZE))
    return folder / "d"


def link(path, target, owner):
    """A symbolic link of that user."""
    os.symlink(target, path)
    os.lchown(path, owner, owner)


def unchanged(path, words):
    """Nothing was written there."""
    return path.read_bytes() == bytes(SIZE) if words else not path.exists()


@needs_root
@WAYS
def test_the_link_of_another_in_a_sticky_directory_is_refused(
        hone, small, tmp, precious, work, words):
    """At the end of the path, in the middle, and behind an own link."""
    link(tmp / "d", precious, OTHER)
    link(tmp / "folder", precious.parent, OTHER)
    link(work / "mine", tmp / "folder" / "d", 0)
    link(work / "folder", "out/folder", 0)
    whose = f"a symbolic link of another user ({OTHER}) in a sticky directory"
    through = f"leads through 'folder', {whose}"
    for path, said in (
            (tmp / "d", f"is {whose}"), (f"{tmp}/folder/d", through),
            (f"{tmp}/folder/./d", through), (f"{tmp}/folder/../precious/d", through),
            (work / "mine", through), (work / "folder" / "d", through)):
        assert hone.fails("convert", *words, "-O", "raw", small, path) == (
            f"hone: {path}: {said}")
    assert unchanged(precious, words)


@needs_root
@pytest.mark.parametrize("words", [["--force"], ["-n"]], ids=" ".join)
@pytest.mark.parametrize("bits, owner, folder", [
    (STICKY, 0, 0), (STICKY, OTHER, OTHER), (0o1755, OTHER, 0),
    (0o1775, OTHER, 0), (0o777, OTHER, 0)], ids=str)
def test_a_link_that_the_kernel_would_follow_is_followed(
        hone, small, tmp, precious, words, bits, owner, folder):
    """Root may write into a user's own directory."""
    link(tmp / "d", precious, owner)
    link(tmp / "folder", precious.parent, owner)
    os.chown(tmp, folder, folder)
    os.chmod(tmp, bits)
    for path in tmp / "d", tmp / "folder" / "d":
        precious.write_bytes(bytes(SIZE))
        hone.ok("convert", "-q", *words, "-O", "raw", small, path)
        assert precious.read_bytes().strip(b"\0")
    assert os.path.islink(tmp / "d") and os.path.islink(tmp / "folder")


@needs_root
@pytest.mark.parametrize("bits, words", [
    (STICKY, ["-n"]), (0o1770, ["-n"]), (STICKY, ["--force"]),
    (0o1770, ["--force"])], ids=str)
def test_the_file_of_another_in_a_sticky_directory_is_refused(
        hone, small, tmp, bits, words):
    (tmp / "d").write_bytes(bytes(SIZE))
    os.chown(tmp / "d", OTHER, OTHER)
    os.chmod(tmp, bits)
    said = hone.fails("convert", *words, "-O", "raw", small, tmp / "d")
    assert f"belongs to another user ({OTHER}) in a sticky directory" in said
    assert (tmp / "d").read_bytes() == bytes(SIZE)


@needs_root
@pytest.mark.parametrize("words", [["--force"], ["-n"]], ids=" ".join)
@pytest.mark.parametrize("bits, owner, folder", [
    (STICKY, 0, THIRD), (STICKY, OTHER, OTHER), (0o1755, OTHER, 0),
    (0o777, OTHER, 0)], ids=str)
def test_a_file_that_the_kernel_would_open_is_written(
        hone, small, tmp, words, bits, owner, folder):
    (tmp / "d").write_bytes(bytes(SIZE))
    os.chown(tmp / "d", owner, owner)
    os.chown(tmp, folder, folder)
    os.chmod(tmp, bits)
    hone.ok("convert", "-q", *words, small, tmp / "d")
    assert (tmp / "d").read_bytes().strip(b"\0")
    found = os.stat(tmp / "d")
    assert (found.st_uid, found.st_gid) == (owner, owner)


@needs_root
def test_the_link_of_another_to_a_device_is_refused(hone, small, tmp, work):
    """No driver has the device: whoever opens it fails otherwise."""
    try:
        os.mknod(work / "disk", 0o600 | stat.S_IFBLK, os.makedev(511, 7))
    except OSError as error:
        pytest.skip(f"no device can be made here: {error}")
    link(tmp / "d", work / "disk", OTHER)
    link(tmp / "folder", work, OTHER)
    for path in tmp / "d", tmp / "folder" / "disk":
        said = hone.fails("convert", small, path)
        assert "a symbolic link of another user" in said
    os.lchown(tmp / "d", 0, 0)
    said = hone.fails("convert", small, tmp / "d")
    assert "cannot be opened for writing" in said


def test_who_is_not_root_follows_the_same_rule(hone, somebody):
    who, place = somebody
    os.chmod(place, STICKY)
    own = place / "own"
    own.mkdir()
    os.chown(own, OTHER, OTHER)
    for name, owner, followed in ("a", OTHER, True), ("b", 0, True), (
            "c", THIRD, False):
        link(place / name, own, owner)
        done = hone.run("convert", "-q", place / "s", place / name / name, **who)
        assert (done.returncode == 0) == followed, done.stderr
        assert (own / name).exists() == followed
    (place / "f").write_bytes(bytes(SIZE))
    os.chown(place / "f", THIRD, THIRD)
    os.chmod(place / "f", 0o666)
    for words in "-n", "--force":
        said = hone.fails("convert", words, place / "s", place / "f", **who)
        assert f"belongs to another user ({THIRD}) in a sticky directory" in said


def test_links_of_any_length_lead_to_the_file(hone, small, work):
    (work / "a" / "b").mkdir(parents=True)
    links = {"l1": "a//b/", "l2": "./l1/../b", "l3": str(work / "a/../l1"),
             "a/b/up": "../../"}
    for name, target in links.items():
        os.symlink(target, work / name)
    for i, path in enumerate(("l1/d", "l3/./d", "a/b/up/l3//d", "l1/up/a/d")):
        hone.ok("convert", "-q", small, work / path)
        os.symlink(path, work / f"direct{i}")
        said = hone.fails("convert", small, work / f"direct{i}")
        assert "already exists; --force replaces it" in said
        hone.ok("convert", "-q", "-n", "-O", "raw", small, work / f"direct{i}")
        assert_same(small, work / path, "raw")
        os.unlink(work / path)


@pytest.mark.parametrize("words", [[], ["--force"], ["-n"]], ids=" ".join)
def test_a_link_that_leads_nowhere_is_refused(hone, small, out, words):
    os.symlink("none", out / "broken")
    os.symlink("loop", out / "loop")
    os.symlink(small, out / "file")
    (out / "folder").mkdir()
    os.symlink("folder/", out / "folder link")
    for name, reason in (
            ("broken", "is a broken symbolic link"),
            ("loop", "is a broken symbolic link"),
            ("broken/d", "its directory cannot be opened: No such file"),
            ("loop/d", "its directory cannot be opened: Too many levels"),
            ("file/d", "its directory cannot be opened: Not a directory")):
        said = hone.fails("convert", *words, "-O", "raw", small, out / name)
        assert f"{name}: {reason}" in said
    said = hone.fails("convert", *words, "-O", "raw", small, out / "folder link")
    assert ("is neither" if "-n" in words else "is a directory") in said
    assert sorted(os.listdir(out)) == ["broken", "file", "folder",
                                       "folder link", "loop"]


def test_a_descriptor_is_a_destination(hone, small, work):
    """Of -n, also if the file has no name; a new file needs one."""
    with tempfile.TemporaryFile(dir=work) as file:
        file.truncate(os.stat(small).st_size)
        path = f"/proc/self/fd/{file.fileno()}"
        hone.ok("convert", "-q", "-n", "-O", "raw", small, path,
                pass_fds=[file.fileno()])
        assert file.read() == small.read_bytes()
        said = hone.fails("convert", "--force", "-O", "raw", small, path,
                          pass_fds=[file.fileno()])
        assert said.endswith("is a link to an open file: use '-' for stdout, or "
                             "-n for a file or block device")


def test_no_call_resolves_the_whole_path(hone, strace, small, work):
    """Somebody could exchange a part of the path between two calls."""
    folder = work / "folder"
    folder.mkdir()
    (folder / "d").write_bytes(bytes(SIZE))
    hone.ok("convert", "-q", "-n", "-O", "raw", small, folder / "d",
            before=[*strace, "-qq", "-o", str(work / "log"), "-e", "trace=%file"])
    calls = [line for line in (work / "log").read_text().splitlines()
             if "execve" not in line]
    assert any('"d", O_RDWR' in line and "O_NOFOLLOW" in line for line in calls)
    assert not [line for line in calls if "folder/d" in line]
