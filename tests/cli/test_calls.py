# SPDX-License-Identifier: BSD-3-Clause
"""The calls by which files are opened, made and named, one at a time."""
import os
import re
import socket

import pytest

import images
from harness import Stalled, assert_same
from test_output import refused_at_once
from without import NO_TMPFILE, Without, rule


@pytest.fixture
def opened(strace, work):
    """Call it with a command and words: its calls of openat()."""
    def run(hone, *words, check=True):
        log = work / "trace"
        done = hone.run(*words, before=[*strace, "-o", str(log), "-e", "trace=openat"])
        assert not check or done.returncode == 0, done
        return log.read_text().splitlines()
    return run


def calls_of(lines, name):
    """The calls whose path ends with that name."""
    return [line for line in lines if re.search(f'["/]{name}"', line)]


def test_what_is_no_image_is_not_even_opened(hone, opened, out):
    """A tape would notice, and a socket has nothing to open."""
    os.mkfifo(out / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(out / "socket"))
    for name, kind in ("fifo", "a FIFO"), ("socket", "a socket"):
        assert f"is {kind};" in hone.fails("map", out / name)
        assert not calls_of(opened(hone, "map", out / name, check=False), name)
    assert "is a character device;" in hone.fails("map", "/dev/null")


@pytest.mark.parametrize("words", [["info"], ["map"], ["check"],
                                   ["digest", "--untrusted"]])
def test_the_first_bytes_are_read_once(hone, strace, work, words):
    """By which packings, archives and formats are detected, and the signatures
    of others."""
    path, log = work / "image", work / "trace"
    path.write_bytes(images.noise(images.MI))
    hone.ok(*words, path, before=[*strace, "-y", "-o", str(log), "-e", "trace=pread64"])
    assert log.read_text().count(", 512, 0) = 512") == 1


def test_what_is_no_file_is_not_opened_to_be_replaced(hone, opened, small, out):
    os.mkfifo(out / "fifo")
    lines = opened(hone, "convert", "--force", small, out / "fifo", check=False)
    assert not [line for line in calls_of(lines, "fifo") if "O_PATH" not in line]


def test_direct_opens_source_and_output_so(hone, opened, small, out):
    lines = opened(hone, "convert", "-q", "--direct", small, out / "d")
    direct = [line for line in lines if "O_DIRECT|" in line]
    assert len(direct) == 2
    assert "O_RDONLY" in direct[0] and "O_RDWR" in direct[1]


def test_direct_compares_whole_chunks(hone, strace, out):
    for name in "a", "b":
        (out / name).write_bytes(b"\1" * (4 << 20))
    log = out / "trace"
    done = hone.run("compare", "-T", "none", out / "a", out / "b",
                    before=[*strace, "-o", str(log), "-e", "trace=pread64"])
    assert done.returncode == 0, done
    long = re.findall(r"= 1048576$", log.read_text(), re.M)
    assert len(long) == 8


def test_a_temporary_file_is_new(hone, opened, small, out):
    """Whatever another program has put under a name that was drawn."""
    lines = opened(Without(hone, NO_TMPFILE), "convert", "-q", small, out / "d")
    made = calls_of(lines, r"\.d\.hone-\w{6}")
    assert len(made) == 1 and "O_EXCL|O_NOFOLLOW" in made[0], made


def test_what_replaces_a_file_is_made_closed_to_others(hone, opened, small, out):
    """Until it has the permissions of the file."""
    (out / "d").write_bytes(b"old")
    for tool, text in ((hone, "O_TMPFILE"), (Without(hone, NO_TMPFILE), "O_CREAT")):
        lines = opened(tool, "convert", "-q", "--force", small, out / "d")
        made = [line for line in lines if text in line]
        assert made and all(", 0600)" in line for line in made), lines


def test_what_exists_is_refused_before_the_copy(either, image, out):
    (out / "d").write_bytes(b"precious")
    refused_at_once(either, image, out, "already exists; --force replaces")


def test_an_empty_name_is_refused_before_the_copy(either, image, out):
    said = either.fails("convert", image("filled_ext4"), f"{out}/")
    assert "is not the name of a file" in said


def test_a_name_is_drawn_without_random_bytes(hone, strace, small, out):
    """At early boot, or in a sandbox: nothing waits for them."""
    log = out / "trace"
    (out / "d").touch()
    for error in "EAGAIN", "ENOSYS", "EPERM":
        hone.ok("convert", "-q", "--force", "-O", "raw", small, out / "d", before=[
            *strace, "-o", str(log), "-e", "trace=getrandom",
            "-e", f"inject=getrandom:error={error}"])
        # glibc's malloc() may ask before.
        last = [line for line in log.read_text().split("\n") if "getrandom" in line][-1]
        assert ", GRND_NONBLOCK)" in last


def test_a_name_that_is_taken_is_drawn_again(hone, strace, small, out, tmp_path):
    """The one that is there stays. Without O_TMPFILE, the first three names
    are taken."""
    calls = tmp_path / "calls"
    done = hone.run("convert", "-q", small, out / "d", before=[
        *strace, "-o", calls, "-P", out, "-e", "trace=openat", "-e",
        "inject=openat:error=EEXIST:when=5..8"])
    assert done.returncode == 0, done
    assert os.listdir(out) == ["d"]
    refused = [line for line in calls.read_text().split("\n") if "(INJECTED)" in line]
    assert "O_TMPFILE" in refused[0], refused
    names = {re.search(r'"(\.d\.hone-\w{6})".*O_EXCL', line)[1] for line in refused[1:]}
    assert len(names) == 3, refused


NO_RENAME = [rule("renameat2", "EINVAL")]
NO_LINK = [rule("link", "EPERM"), rule("linkat", "EPERM")]
NAMES = {"link": [], "link alone": NO_RENAME, "rename": [NO_TMPFILE],
         "link of a name": [NO_TMPFILE, *NO_RENAME],
         "plain rename": [NO_TMPFILE, *NO_RENAME, *NO_LINK]}


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize("rules", NAMES.values(), ids=NAMES)
def test_what_appears_meanwhile_is_not_replaced_without_force(
        hone, image, out, rules, link):
    """In each way by which the new file gets its name. A link may lead nowhere."""
    with Stalled(Without(hone, *rules), "convert", image("filled_ext4"),
                 out / "d") as held:
        if link:
            os.symlink("nowhere", out / "d")
        else:
            (out / "d").write_bytes(b"precious")
        status, _, error = held.go_on()
    assert status == 1
    assert b"already exists" in error
    assert os.listdir(out) == ["d"]
    if link:
        assert os.readlink(out / "d") == "nowhere"
    else:
        assert (out / "d").read_bytes() == b"precious"


def test_a_directory_that_cannot_be_synced_loses_the_new_file(hone, strace, small, out):
    """A file that was replaced is gone: its successor stays."""
    before = [*strace, "-o", "/dev/null", "-P", str(out), "-e",
              "inject=fsync:error=EIO"]
    said = hone.fails("convert", small, out / "d", before=before)
    assert "its directory cannot be synced" in said
    assert not os.listdir(out)
    (out / "d").write_bytes(b"old")
    hone.fails("convert", "--force", small, out / "d", before=before)
    assert_same(small, out / "d", "raw")
