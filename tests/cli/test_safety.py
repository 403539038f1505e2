# SPDX-License-Identifier: BSD-3-Clause
"""What `hone convert` refuses, and what it leaves behind: nothing."""
import os
import stat
import subprocess
import tempfile

import pytest

from harness import assert_same, other_user, snapshot, stamp, write

VDI = bytes(64) + b"\x7f\x10\xda\xbe"
DESCRIPTOR = (b"# a comment\nversion=1\nCID=fffffffe\nparentCID=ffffffff\n"
              b'createType="monolithicFlat"\n'
              b'RW 8 FLAT "/etc/passwd" 0\n')
# What a raw file must not be taken for: offset (negative: from the end), bytes.
DISGUISES = {
    "qcow2": (0, b"QFI\xfb\0\0\0\3"), "QCOW version 1": (
        0, b"QFI\xfb\0\0\0\1"), "vmdk": (0, b"KDMV"),
    "vmdk text": (0, DESCRIPTOR), "VHDX": (0, b"vhdxfile"),
    "vhd": (0, b"conectix"), "VDI": (0, VDI), "QED": (0, b"QED\0"),
    "Parallels": (0, b"WithouFreSpacExt"),
    "Bochs": (0, b"Bochs Virtual HD Image\0"),
    "VHD footer": (-512, b"conectix" + bytes(3) + b"\2\0\1\0\0"),
    "DMG footer": (-512, b"koly\0\0\0\4\0\0\2\0"),
}


@pytest.fixture
def refused(hone, small, out):
    """Convert must fail, change nothing, and say these words."""
    def check(*words, says=(), source=small, where=out, **kwargs):
        before = snapshot(where), snapshot(small.parent), stamp(small)
        line = hone.fails("convert", *words, **kwargs)
        after = snapshot(where), snapshot(small.parent), stamp(small)
        assert after == before
        for word in says:
            assert word in line, line
        return line
    return check


def test_force_replaces_an_existing_output_and_keeps_its_mode(hone, small, out):
    (out / "d").write_bytes(b"old")
    os.chmod(out / "d", 0o640)
    with open(out / "d", "rb") as old:
        hone.ok("convert", "-q", "--force", small, out / "d")
        assert old.read() == b"old", "the old file was written into"
    assert_same(small, out / "d", "raw")
    assert os.stat(out / "d").st_mode & 0o7777 == 0o640
    assert os.listdir(out) == ["d"]


@pytest.mark.parametrize("force", [[], ["--force"]], ids=str)
@pytest.mark.parametrize("fmt", ["raw", "qcow2"])
def test_the_source_is_never_the_output(refused, small, out, force, fmt):
    os.symlink(small, out / "soft")
    os.link(small, out / "hard")
    os.symlink("soft", out / "softer")
    for name in (small, out / "soft", out / "hard", out / "softer",
                 small.parent / ".." / "source" / small.name):
        refused("-O", fmt, *force, small, name)
        if name != small:
            refused("-O", fmt, *force, name, small)


def test_force_says_why_it_does_not_replace_the_source(refused, small):
    refused("--force", small, small, says=["is the source itself"])


def test_force_through_a_symlink_replaces_its_target(hone, small, out, work):
    (out / "target").write_bytes(b"old")
    os.symlink("../out/target", out / "link")
    hone.fails("convert", small, out / "link")
    assert (out / "target").read_bytes() == b"old"
    hone.ok("convert", "-q", "--force", small, out / "link")
    assert os.readlink(out / "link") == "../out/target"
    assert_same(small, out / "target", "raw")
    assert sorted(os.listdir(out)) == ["link", "target"]


@pytest.mark.parametrize("force", [[], ["--force"]], ids=str)
def test_an_output_that_is_no_regular_file_is_refused(refused, small, out, force):
    (out / "directory").mkdir()
    os.mkfifo(out / "fifo")
    os.symlink("fifo", out / "link")
    for name in ("directory", "fifo", "link", "directory/", "."):
        refused(*force, small, f"{out}/{name}")


@pytest.mark.parametrize("force", [[], ["--force"]], ids=str)
def test_a_device_is_never_replaced(refused, small, out, force):
    try:
        os.mknod(out / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        open(out / "null", "wb").close()
    except PermissionError as error:
        pytest.skip(f"may not make a device here: {error}")
    refused(*force, small, out / "null")
    refused(out / "null", out / "d")


@pytest.mark.parametrize("options", [[], ["-f", "raw"]], ids=str)
def test_a_file_that_has_bytes_but_no_size_is_refused(
        hone, refused, small, out, options):
    source = "/proc/version"
    if os.stat(source).st_size:
        pytest.skip(f"{source} has a size here")
    refused(*options, source, out / "d", says=["has data but its size is 0"])
    for words in (["map", source], ["compare", small, source]):
        assert source in hone.fails(*words, *options)


def test_a_missing_directory_is_named(refused, small, out):
    refused(small, out / "none" / "d", says=["none"])
    refused(small, small / "d")
    refused("--force", small, out / "none" / "d")


@pytest.mark.parametrize("suffix", [
    "qcow2", "qcow", "vmdk", "vhdx", "vdi", "qed", "vhd", "vpc"])
def test_a_name_that_promises_another_format_is_not_taken_for_raw(
        refused, hone, small, out, suffix):
    source = small.with_suffix("." + suffix)
    os.link(small, source)
    refused(source, out / "d", says=["-f raw"])
    hone.ok("convert", "-q", "-f", "raw", source, out / "d")
    assert_same(small, out / "d", "raw")


def test_a_damaged_qcow2_source_is_never_taken_for_raw(refused, out):
    source = write(out, "x.qcow2", b"QFI\xfb" + bytes(65532))
    line = refused(source, out / "d")
    # as raw, a damaged image would be turned into garbage
    assert "version 0" in line and "-f raw" not in line
    assert "version 0" in refused("-f", "qcow2", source, out / "d")
    source.write_bytes(b"QFJ\xfb" + bytes(65532))
    assert " header; add -f raw to read it as a raw image" in refused(source, out / "d")


@pytest.fixture
def stranger(hone):
    """A directory that somebody can only enter, and how to be that one."""
    who = {} if os.geteuid() else other_user(hone, 65534)
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o555)
        yield name, who
        os.chmod(name, 0o755)


def test_a_directory_without_permission_is_an_error(hone, stranger, small):
    stranger, who = stranger
    os.chmod(stranger, 0o755)
    source = os.path.join(stranger, "s")
    with open(source, "wb") as file:
        file.write(small.read_bytes())
    os.chmod(source, 0o644)
    os.chmod(stranger, 0o555)
    said = hone.fails("convert", source, os.path.join(stranger, "d"), **who)
    assert "ermission denied" in said
    os.chmod(source, 0)
    for words in (["convert", source, "/tmp/none/d"], ["map", source],
                  ["info", source], ["compare", source, source]):
        assert "ermission denied" in hone.fails(*words, **who)
    assert os.listdir(stranger) == ["s"]


def test_a_link_that_cannot_be_followed_is_told_from_one_to_nowhere(
        hone, stranger, refused, small, out):
    os.symlink("none", out / "nowhere")
    refused("--force", small, out / "nowhere", says=["is a broken symbolic link"])
    stranger, who = stranger
    os.chmod(stranger, 0o755)
    closed = os.path.join(stranger, "closed")
    os.mkdir(closed)
    os.symlink("closed/d", os.path.join(stranger, "link"))
    source = os.path.join(stranger, "s")
    with open(source, "wb") as file:
        file.write(small.read_bytes())
    os.chmod(closed, 0)
    said = hone.fails("convert", "--force", source,
                      os.path.join(stranger, "link"), **who)
    os.chmod(closed, 0o755)
    assert "cannot be resolved: Permission denied" in said


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("fmt", ["raw", "qcow2"])
def test_closed_standard_descriptors_never_spoil_an_output(
        hone, small, out, fmt, closed):
    """The next file opened would take their place, and get the report."""
    content = small.read_bytes()
    done = hone.run("convert", "-O", fmt, small, out / "d", before=[
        "sh", "-c", f'exec "$@" {closed}', "sh"])
    # There is no report of success where none can be written.
    assert done.returncode == (">&-" in closed.split()), done
    assert small.read_bytes() == content
    assert os.listdir(out) == ["d"]
    assert_same(small, out / "d", fmt)
    done = hone.run("convert", small, out / "none" / "d", before=[
        "sh", "-c", f'exec "$@" {closed}', "sh"])
    assert done.returncode == 1


def disguised(tmp, name):
    """A raw file with the content, and a qcow2 image of the same disk."""
    at, content = DISGUISES[name]
    raw, image = tmp / "guest", tmp / "guest.qcow2"
    data = bytearray(1 << 20)
    at %= len(data)
    data[at:at + len(content)] = content
    raw.write_bytes(data)
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2",
                    str(raw), str(image)], check=True)
    return raw, image


@pytest.mark.parametrize("name", DISGUISES)
def test_a_disk_does_not_become_an_image_of_another_format(hone, tmp_path, out, name):
    """A guest chooses what its disk begins and ends with. 'hone check' of the
    qcow2 image passes, so the raw file must not be another image."""
    raw, image = disguised(tmp_path, name)
    if "footer" not in name:  # qemu-img puts the disk's end at the file's end
        hone.ok("check", "-q", image)
    for source in ([image], ["-f", "raw", raw]):
        line = hone.fails("convert", *source, out / "d.raw")
        assert name.split(" ")[0] in line and "--allow-disguised" in line
        assert str(out / "d.raw") in line
        assert os.listdir(out) == []
    hone.ok("convert", "-q", image, out / "d.qcow2")
    hone.ok("convert", "-q", "--allow-disguised", image, out / "d.raw")
    assert (out / "d.raw").read_bytes() == raw.read_bytes()


def test_an_encrypted_disk_is_no_disguise(hone, tmp_path, out):
    """LUKS names no other file, and many disks begin with it."""
    raw, image = tmp_path / "guest", tmp_path / "guest.qcow2"
    raw.write_bytes(b"LUKS\xba\xbe".ljust(1 << 20, b"\0"))
    hone.ok("convert", "-q", "-f", "raw", raw, out / "copy.raw")
    hone.ok("convert", "-q", "-f", "raw", raw, image)
    hone.ok("convert", "-q", image, out / "d.raw")
    assert (out / "d.raw").read_bytes() == raw.read_bytes()
