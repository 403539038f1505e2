# SPDX-License-Identifier: BSD-3-Clause
"""Who may do what with the output: umask, ACLs, owners, /tmp."""
import gzip
import hashlib
import os
import stat
import subprocess

import pytest

import images
from harness import Stalled, assert_same, need, write
from without import NO_TMPFILE, Without, rule

OTHER = 12345
GROUP = 54321


@pytest.fixture(autouse=True)
def umask():
    """The usual one."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path):
    """Permission bits and the others below them."""
    return stat.S_IMODE(os.stat(path).st_mode)


def setfacl(*words):
    """Set an ACL, or skip."""
    need("setfacl")
    done = subprocess.run(["setfacl", *map(str, words)], check=False,
                          stderr=subprocess.PIPE)
    if done.returncode:
        pytest.skip(done.stderr.decode())


def acl(path):
    """The entries of a file's ACL, with numbers for names."""
    said = subprocess.run(["getfacl", "-cnpE", str(path)], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    return said.split()


@pytest.mark.parametrize("bits", [0o000, 0o022, 0o027, 0o077], ids=oct)
def test_a_new_file_gets_what_the_umask_leaves(either, small, out, bits):
    os.chmod(small, 0o666)
    os.umask(bits)
    either.ok("convert", "-q", small, out / "d")
    assert mode(out / "d") == 0o666 & ~bits


def test_a_new_file_gets_the_default_acl_of_its_directory(either, small, out):
    setfacl("-d", "-m", f"u:{OTHER}:rw,g::r,o::-", out)
    os.chmod(small, 0o666)
    either.ok("convert", "-q", small, out / "d")
    (out / "touched").touch()
    assert acl(out / "d") == acl(out / "touched")
    assert acl(out / "d") == [
        "user::rw-", f"user:{OTHER}:rw-", "group::r--", "mask::rw-",
        "other::---"]


@pytest.mark.parametrize("other_group", [False, True])
@pytest.mark.parametrize("bits, got, of_another_group", [
    (0o600, 0o600, 0o600), (0o640, 0o640, 0o600), (0o604, 0o604, 0o600),
    (0o644, 0o644, 0o644), (0o660, 0o640, 0o600), (0o664, 0o644, 0o644),
    (0o444, 0o444, 0o444), (0o400, 0o400, 0o400), (0o4755, 0o644, 0o644)], ids=oct)
def test_a_new_file_has_no_more_permissions_than_the_source(
        request, either, small, out, bits, got, of_another_group, other_group):
    if other_group:
        request.getfixturevalue("root")
        os.chown(small, 0, GROUP)
    os.chmod(small, bits)
    either.ok("convert", "-q", small, out / "d")
    assert mode(out / "d") == (of_another_group if other_group else got)


def test_a_packed_source_and_a_file_as_stdin_give_their_permissions(
        hone, digests, small, out):
    packed = write(out, "d.raw.gz", gzip.compress(small.read_bytes()))
    for path in packed, small:
        os.chmod(path, 0o600)
    right = f"sha256:{hashlib.sha256(small.read_bytes()).hexdigest()}"
    hone.ok("convert", "-q", packed, out / "unpacked")
    hone.ok("convert", "-q", "--expect", right, small, out / "expected")
    with open(small, "rb") as file:
        hone.ok("convert", "-q", "-f", "raw", "-", out / "stdin", stdin=file)
    for name in "unpacked", "expected", "stdin":
        assert mode(out / name) == 0o600, name


def test_a_pipe_gives_what_the_umask_leaves(hone, small, out):
    hone.ok("convert", "-q", "-f", "raw", "-", out / "d", input=small.read_bytes())
    assert mode(out / "d") == 0o644


def test_a_secret_backing_file_gives_a_secret_disk(hone, qemu_img, small, out):
    """One for reading alone does not make the disk one."""
    qemu_img("create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(small),
             str(out / "overlay.qcow2"))
    os.chmod(out / "overlay.qcow2", 0o644)
    for bits, got in (0o600, 0o600), (0o444, 0o644), (0o640, 0o640):
        os.chmod(small, bits)
        hone.ok("convert", "-q", "--allow-backing", small.parent,
                out / "overlay.qcow2", out / f"d{bits}")
        assert mode(out / f"d{bits}") == got


def test_a_directory_may_give_the_group_of_the_source(either, root, small, out):
    for group, got in (GROUP, 0o640), (0, 0o600):
        os.chown(small, 0, group)
        os.chmod(small, 0o640)
        os.chown(out, 0, GROUP)
        os.chmod(out, 0o2755)
        either.ok("convert", "-q", small, out / f"d{group}")
        assert os.stat(out / f"d{group}").st_gid == GROUP
        assert mode(out / f"d{group}") == got


def test_who_was_kept_out_of_the_source_as_its_owner_stays_out(hone, root, small, out):
    os.chown(small, OTHER, 0)
    os.chmod(small, 0o066)
    hone.ok("convert", "-q", small, out / "d")
    assert mode(out / "d") == 0


def test_an_acl_of_the_source_gives_no_more_than_each_of_its_entries(
        either, small, out):
    for entries, got in (
            (f"u:{OTHER}:-,g::r,m::rw,o::r", 0o600),
            (f"u:{OTHER}:rw,g::-,m::rw,o::-", 0o600),
            (f"u:{OTHER}:r,g:{GROUP}:rw,g::rw,m::rw,o::r", 0o644)):
        setfacl("-b", small)
        setfacl("-m", entries, small)
        either.ok("convert", "-q", "--force", small, out / "d")
        assert mode(out / "d") == got, entries
        os.unlink(out / "d")


def test_a_default_acl_opens_no_secret(either, small, out):
    """The group bits of a file are the mask of its ACL."""
    setfacl("-d", "-m", f"u:{OTHER}:rw,g::rw,o::rw", out)
    for bits, mask in (0o600, "mask::---"), (0o640, "mask::---"), (0o644, "mask::r--"):
        os.chmod(small, bits)
        either.ok("convert", "-q", small, out / f"d{bits}")
        assert mask in acl(out / f"d{bits}")


def test_a_mount_may_give_each_file_the_group_of_its_directory(
        either, root, small, work):
    disk, folder = work / "fs", work / "mount"
    folder.mkdir()
    images.pieces(disk, 8 << 20)
    for words in (["mkfs.ext4", "-q", disk],
                  ["mount", "-o", "loop,grpid", disk, folder]):
        try:
            done = subprocess.run(words, check=False, stderr=subprocess.PIPE)
        except OSError as error:
            pytest.skip(str(error))
        if done.returncode:
            pytest.skip(done.stderr.decode())
    try:
        os.chown(folder, 0, GROUP)
        os.chmod(small, 0o640)
        either.ok("convert", "-q", small, folder / "d")
        assert os.stat(folder / "d").st_gid == GROUP
        assert mode(folder / "d") == 0o600
        assert sorted(os.listdir(folder)) == ["d", "lost+found"]
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_secret_is_closed_to_others_at_any_moment(hone, image, out):
    source = write(out, "source.img", image("filled_ext4").read_bytes())
    os.chmod(source, 0o600)
    for turn, how in enumerate((Without(hone, NO_TMPFILE), hone)):
        with Stalled(how, "convert", "-q", source, out / f"d{turn}") as held:
            found = os.listdir(out)
            assert {mode(out / name) for name in found} == {0o600}
            # The source, and a file with a temporary name.
            assert len(found) == 2
            assert held.go_on()[0] == 0
        assert mode(out / f"d{turn}") == 0o600


def test_force_keeps_an_acl_as_it_is(either, small, out):
    (out / "d").write_bytes(b"old")
    setfacl("-m", f"u:{OTHER}:rw,g:{GROUP}:-,g::-,m::rw,o::r", out / "d")
    before = acl(out / "d")
    either.ok("convert", "-q", "--force", small, out / "d")
    assert acl(out / "d") == before
    assert_same(small, out / "d", "raw")


def test_force_gives_no_acl_to_a_file_that_had_none(either, small, out):
    (out / "d").write_bytes(b"old")
    os.chmod(out / "d", 0o604)
    setfacl("-d", "-m", f"u:{OTHER}:rw,g::rw,o::rw", out)
    either.ok("convert", "-q", "--force", small, out / "d")
    assert acl(out / "d") == ["user::rw-", "group::---", "other::r--"]


@pytest.mark.parametrize("bits, got", [
    *((bits, bits) for bits in (0o600, 0o640, 0o604, 0o466, 0o066, 0)), (0o6755, 0o755)],
    ids=oct)
def test_force_keeps_every_permission_bit(either, small, out, bits, got):
    """But what runs as its owner does so no more."""
    (out / "d").write_bytes(b"old")
    os.chmod(out / "d", bits)
    either.ok("convert", "-q", "--force", small, out / "d")
    assert mode(out / "d") == got


NO_CHOWN = rule("fchown", "EPERM")


@pytest.mark.parametrize("old, new", [
    (0o664, 0o604), (0o604, 0o600), (0o644, 0o604), (0o466, 0o404),
    (0o266, 0o202), (0o600, 0o600)], ids=oct)
def test_who_was_kept_out_stays_out_when_the_owner_cannot_be_kept(
        hone, root, small, out, old, new):
    """As for somebody who is not root.

    The old owner and the old group then have the permissions of all others.
    """
    (out / "d").write_bytes(b"old")
    os.chown(out / "d", OTHER, GROUP)
    os.chmod(out / "d", old)
    Without(hone, NO_CHOWN).ok("convert", "-q", "--force", small, out / "d")
    assert os.stat(out / "d").st_uid == 0
    assert mode(out / "d") == new


# Whose file has which ACL, and the ACL then.
LOST = {
    "the new group gets nothing": (
        0, GROUP, f"u:{OTHER}:rw,g::r,m::rw,o::rw",
        ["user::rw-", f"user:{OTHER}:rw-", "group::---", "mask::rw-", "other::r--"]),
    "the mask limits the old group": (
        0, GROUP, f"u:{OTHER}:rw,g::rw,m::r,o::rw",
        ["user::rw-", f"user:{OTHER}:rw-", "group::---", "mask::r--", "other::r--"]),
    "nobody gets more of the owner": (
        OTHER, 0, f"u::r,g:{GROUP}:rw,g::rw,m::rw,o::rw",
        ["user::r--", "group::r--", f"group:{GROUP}:r--", "mask::rw-", "other::r--"]),
}


@pytest.mark.parametrize("owner, group, entries, then", LOST.values(), ids=LOST)
def test_an_acl_whose_owner_or_group_cannot_be_kept(
        hone, root, small, out, owner, group, entries, then):
    """The old owner and the old group then have the permissions of all others."""
    (out / "d").write_bytes(b"old")
    os.chown(out / "d", owner, group)
    setfacl("-m", entries, out / "d")
    Without(hone, NO_CHOWN).ok("convert", "-q", "--force", small, out / "d")
    assert acl(out / "d") == then


def test_force_keeps_the_attributes_of_the_user(either, small, out):
    (out / "d").write_bytes(b"old")
    try:
        os.setxattr(out / "d", "user.origin", b"a\0b")
        os.setxattr(out / "d", "user.empty", b"")
    except OSError as error:
        pytest.skip(f"no attributes here: {error}")
    either.ok("convert", "-q", "--force", small, out / "d")
    assert os.getxattr(out / "d", "user.origin") == b"a\0b"
    assert os.getxattr(out / "d", "user.empty") == b""


@pytest.mark.parametrize("owner, bits", [(OTHER, 0), (OTHER, 0o200),
                                         (0, 0o600)], ids=str)
def test_a_file_that_may_not_be_read_can_be_replaced(either, somebody, owner, bits):
    who, place = somebody
    (place / "d").write_bytes(b"old")
    os.chown(place / "d", owner, owner)
    os.chmod(place / "d", bits)
    either.ok("convert", "-q", "--force", place / "s", place / "d", **who)
    assert os.stat(place / "d").st_uid == OTHER
    assert mode(place / "d") == bits
    assert_same(place / "s", place / "d", "raw")


def test_the_acl_of_a_file_that_may_not_be_read_is_kept(either, somebody):
    who, place = somebody
    (place / "d").write_bytes(b"old")
    os.chown(place / "d", 0, OTHER)
    setfacl("-m", f"u::rw,u:{OTHER}:-,u:{GROUP}:rw,g::-,m::rw,o::-", place / "d")
    either.ok("convert", "-q", "--force", place / "s", place / "d", **who)
    assert acl(place / "d") == [
        "user::rw-", f"user:{OTHER}:---", f"user:{GROUP}:rw-", "group::---",
        "mask::rw-", "other::---"]


def test_a_directory_that_may_not_be_listed_takes_a_file(either, somebody):
    who, place = somebody
    os.chmod(place, 0o733)
    either.ok("convert", "-q", place / "s", place / "d", **who)
    assert_same(place / "s", place / "d", "raw")


def test_who_may_not_write_the_directory_learns_it_before_the_copy(either, somebody):
    who, place = somebody
    os.chmod(place, 0o755)
    (place / "d").write_bytes(b"old")
    os.chmod(place / "d", 0o666)
    for words in (["e"], ["--force", "e"], ["--force", "d"]):
        said = either.fails("convert", *words[:-1], place / "s",
                            place / words[-1], **who)
        assert "cannot be created: Permission denied" in said


def test_the_group_is_kept_where_the_owner_cannot_be(either, somebody):
    who, place = somebody
    (place / "d").write_bytes(b"old")
    os.chown(place / "d", 0, GROUP)
    os.chmod(place / "d", 0o464)
    either.ok("convert", "-q", "--force", place / "s", place / "d",
              **dict(who, extra_groups=[GROUP]))
    got = os.stat(place / "d")
    assert (got.st_uid, got.st_gid) == (OTHER, GROUP)
    assert mode(place / "d") == 0o444
