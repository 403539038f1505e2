# SPDX-License-Identifier: BSD-3-Clause
"""DST exists already: block devices, and with -n a regular file."""
import contextlib
import fcntl
import gzip
import hashlib
import os
import random
import re
import stat
import subprocess

import pytest

import images
from harness import Stalled, error_line, other_user, stamp, write
from qcow2_reader import Qcow2
from test_locks import WRITER, locked

MIB = 1 << 20
STALE = b"what was here before "
INCOMPLETE = "; DST is incomplete now, with zeros in its first and last MiB"
# from <linux/loop.h>
LOOP_CTL_GET_FREE = 0x4C82


def stale(length):
    """Bytes that no image of these tests has."""
    return (STALE * (length // len(STALE) + 1))[:length]


def disk(length, seed=1):
    """Data, zeros inside of data, and long holes, up to an odd end."""
    make = random.Random(seed)
    data = bytearray(length)
    for begin, size in ((0, 70000), (200 << 10, 4096), (300 << 10, 512),
                        (MIB + 512, 8192), (length // 2, 300000),
                        (length - 700000, 900), (length - 400, 400)):
        data[begin:begin + size] = make.randbytes(size)
    return bytes(data[:length])


def write_sparse(path, data):
    """A file of the data with holes."""
    with open(path, "wb") as file:
        file.truncate(len(data))
        for at in range(0, len(data), 4096):
            part = data[at:at + 4096]
            if part.strip(b"\0"):
                file.seek(at)
                file.write(part)
    return path


def content(device):
    """All bytes of a device, read anew."""
    fd = os.open(device, os.O_RDONLY)
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        with open(fd, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(fd)


def call(*words):
    """Run a program of the system. Returns its output."""
    done = subprocess.run(words, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    text = done.stdout.decode().strip()
    assert done.returncode == 0, (words, text)
    return text


def no_loop_device():
    """Why the kernel gives no free loop device; None if it does."""
    try:
        control = os.open("/dev/loop-control", os.O_RDWR)
    except OSError as error:
        return error.strerror
    try:
        number = fcntl.ioctl(control, LOOP_CTL_GET_FREE)
        os.close(os.open(f"/dev/loop{number}", os.O_RDWR))
    except OSError as error:
        return error.strerror
    finally:
        os.close(control)
    return None


@pytest.fixture
def attach():
    """Call it with a file: the path of a loop device in front of it."""
    if os.geteuid() != 0:
        pytest.skip("only root makes loop devices")
    reason = no_loop_device()
    if reason:
        pytest.skip(f"this machine gives no loop device: {reason}")
    with contextlib.ExitStack() as stack:
        def make(file, *options):
            device = call("losetup", "-f", "--show", *options, str(file))
            stack.callback(call, "losetup", "-d", device)
            return device
        yield make


@pytest.fixture
def loop(work, attach):
    """Call it with a size: the path of a loop device with stale data."""
    def make(length, *options, fill=stale):
        file = write(work, f"backing{len(os.listdir(work))}", fill(length))
        return attach(file, *options)
    return make


@pytest.fixture
def zram():
    """A compressed device in memory, of 4 MiB and with stale data."""
    control = "/sys/class/zram-control"
    if os.geteuid() != 0 or not os.path.exists(control):
        pytest.skip("this machine has no zram, or not for this user")
    with open(f"{control}/hot_add", encoding="ascii") as file:
        number = file.read().strip()
    folder, device = f"/sys/block/zram{number}", f"/dev/zram{number}"
    made = not os.path.exists(device)
    try:
        with open(f"{folder}/disksize", "w", encoding="ascii") as file:
            file.write(str(4 * MIB))
        with open(f"{folder}/dev", encoding="ascii") as file:
            major, minor = file.read().split(":")
        if made:
            os.mknod(device, 0o600 | stat.S_IFBLK, os.makedev(int(major), int(minor)))
        with open(device, "wb") as file:
            file.write(stale(4 * MIB))
        yield device
    finally:
        with open(f"{folder}/reset", "w", encoding="ascii") as file:
            file.write("1")
        if made and os.path.exists(device):
            os.unlink(device)
        with open(f"{control}/hot_remove", "w", encoding="ascii") as file:
            file.write(number)


@pytest.fixture
def swap(loop):
    """A device that the kernel uses as swap space."""
    device = loop(2 * MIB)
    call("mkswap", device)
    done = subprocess.run(["swapon", device], check=False, stderr=subprocess.PIPE)
    if done.returncode:
        pytest.skip("no swap space here: " + done.stderr.decode().strip())
    try:
        yield device
    finally:
        call("swapoff", device)


@contextlib.contextmanager
def mount(device, directory):
    """The device is mounted there; it has a new file system."""
    directory.mkdir()
    call("mkfs.ext4", "-q", "-F", device)
    call("mount", device, str(directory))
    try:
        yield
    finally:
        call("umount", str(directory))


@pytest.fixture
def mounted(loop, work):
    """A device that is mounted, and the directory."""
    device, directory = loop(2 * MIB), work / "a mount"
    with mount(device, directory):
        yield device, directory


@pytest.mark.parametrize("options", [[], ["--direct"], ["-S", "512"],
                                     ["--direct", "-S", "512", "-m", "1"],
                                     ["-m", "3", "--cache", "drop"]],
                         ids=" ".join)
@pytest.mark.parametrize("sector, length", [
    ("512", 4 * MIB), ("4096", 3 * MIB), ("4096", 3 * MIB + 517)])
def test_nothing_that_a_device_had_shows_through(
        hone, loop, work, length, sector, options):
    data = disk(length)
    source = write_sparse(work / "disk.img", data)
    device = loop(4 * MIB, "--sector-size", sector)
    hone.ok("convert", "-q", *options, source, device)
    assert content(device) == data + bytes(4 * MIB - length)


def test_a_device_in_memory_is_zeroed(hone, zram, work):
    data = disk(3 * MIB + 100)
    source = write_sparse(work / "disk.img", data)
    hone.ok("convert", "-q", "--verify", source, zram)
    assert content(zram) == data + bytes(MIB - 100)


def test_a_guest_does_not_choose_how_a_device_is_packed(hone, loop, work):
    data = gzip.compress(bytes(1024))
    device = loop(MIB, fill=lambda length: data.ljust(length, b"\0"))
    with open(device, "rb") as file:
        for words in ([device], ["--untrusted", device], ["-"]):
            said = hone.fails("convert", "-O", "raw", *words, work / "x",
                              code=3, stdin=file)
            assert "begins as gzip: --unpack gzip or -f raw" in said
            assert not (work / "x").exists()
    hone.ok("convert", "-q", "-f", "raw", device, work / "x")
    with open(work / "x", "rb") as file:
        assert file.read(len(data)) == data


def test_a_link_to_a_device_is_the_device(hone, loop, work):
    data = disk(2 * MIB)
    source = write_sparse(work / "disk.img", data)
    device = loop(2 * MIB)
    for name, words in ("root", []), ("root.img.gz", ["-O", "raw"]):
        (work / name).symlink_to(device)
        hone.ok("convert", "-q", *words, source, work / name)
        assert content(device) == data
        assert (work / name).is_symlink()


@pytest.mark.parametrize("length", [2 * MIB, 2 * MIB + 1000])
@pytest.mark.parametrize("more", [[], ["--verify"], ["--direct"]], ids=" ".join)
def test_the_rest_is_kept_on_demand(hone, place, work, length, more):
    data = disk(length)
    source = write_sparse(work / "disk.img", data)
    *words, target = place(4 * MIB)
    hone.ok("convert", "-q", "--keep-rest", *more, *words, source, target)
    assert content(target) == data + stale(4 * MIB)[length:]


def zero_calls(log):
    """The modes of the calls of fallocate()."""
    return re.findall(r"fallocate\(\d+, ([A-Z_|]+)", log.read_text())


def test_the_kernel_zeroes_and_nothing_is_discarded(hone, strace, loop, work):
    """What a device returns after BLKDISCARD is not defined."""
    source = write_sparse(work / "disk.img", disk(2 * MIB))
    device, log = loop(4 * MIB), work / "trace"
    hone.ok("convert", "-q", source, device,
            before=[*strace, "-o", str(log), "-e", "trace=fallocate,ioctl,openat"])
    modes = zero_calls(log)
    assert modes and set(modes) == {"FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE"}
    assert "DISCARD" not in log.read_text()
    opened = [line for line in log.read_text().splitlines()
              if f'"{os.path.basename(device)}", O_RDWR' in line]
    assert len(opened) == 1 and "O_EXCL" in opened[0]


@pytest.mark.parametrize("error, when, expected", [
    ("EOPNOTSUPP", "1", {"PUNCH_HOLE", "ZERO_RANGE"}),
    ("EIO", "1", {"PUNCH_HOLE", "ZERO_RANGE"}),
    ("EOPNOTSUPP", "1+", {"PUNCH_HOLE", "ZERO_RANGE"}),
])
def test_what_the_kernel_cannot_zero_is_written(
        hone, strace, loop, work, error, when, expected):
    data = disk(3 * MIB)
    source = write_sparse(work / "disk.img", data)
    device, log = loop(4 * MIB), work / "trace"
    hone.ok("convert", "-q", "-m", "1", source, device,
            before=[*strace, "-o", str(log), "-e", "trace=fallocate", "-e",
                    f"inject=fallocate:error={error}:when={when}"])
    ways = {mode.rpartition("FALLOC_FL_")[2] for mode in zero_calls(log)}
    assert ways == expected
    assert content(device) == data + bytes(MIB)
    # Neither way is tried again if it is not supported.
    if when == "1+":
        assert len(zero_calls(log)) == 2


def test_a_device_of_zeros_is_not_zeroed_again(hone, strace, loop, work):
    data = disk(2 * MIB)
    source = write_sparse(work / "disk.img", data)
    device, log = loop(4 * MIB, fill=bytes), work / "trace"
    hone.ok("convert", "-q", "--target-is-zero", source, device,
            before=[*strace, "-o", str(log), "-e", "trace=fallocate"])
    assert not zero_calls(log)
    assert content(device) == data + bytes(2 * MIB)


def test_verify_reads_the_device_itself(hone, loop, work):
    """What was said of it need not be true."""
    source = write_sparse(work / "disk.img", disk(4 * MIB))
    device = loop(4 * MIB)
    said = hone.fails("convert", "--target-is-zero", "--verify", source, device)
    assert re.search("differs from the source at offset 1.* when read back", said)


def test_a_qcow2_image_on_a_device_is_whole(hone, qemu_img, loop, work):
    data = disk(3 * MIB)
    source = write_sparse(work / "disk.img", data)
    device = loop(8 * MIB)
    hone.ok("convert", "-q", "-O", "qcow2", "--verify", source, device)
    hone.ok("compare", "-f", "raw", source, device)
    hone.ok("check", "-q", device)
    code, text = qemu_img("compare", "-f", "raw", "-F", "qcow2", str(source), device)
    assert code == 0, text
    assert STALE not in content(device)


def test_a_mounted_device_is_refused(hone, mounted, small):
    device, directory = mounted
    before = content(device)
    said = hone.fails("convert", small, device)
    # A name on a terminal has its backslashes doubled, and this has none.
    assert said == f"hone: {device}: is mounted on {directory}"
    assert content(device) == before


def test_swap_space_is_refused(hone, swap, small):
    said = hone.fails("convert", small, swap)
    assert said == f"hone: {swap}: is used as swap space"


def test_a_disk_with_a_mounted_partition_is_refused(hone, loop, small, work):
    device = loop(8 * MIB, "--partscan")
    subprocess.run(["sfdisk", "-q", device], check=True, input=b",6M\n")
    call("partx", "-u", device)
    name = os.path.basename(device) + "p1"
    try:
        with open(f"/sys/class/block/{name}/dev", encoding="ascii") as file:
            major, minor = file.read().split(":")
    except FileNotFoundError:
        pytest.skip("this kernel has no partitions of loop devices")
    node, directory = work / "node", work / "mount"
    os.mknod(node, 0o600 | stat.S_IFBLK, os.makedev(int(major), int(minor)))
    with mount(str(node), directory):
        said = hone.fails("convert", small, device)
    assert said == (f"hone: {device}: has a partition in use: {name} is "
                    f"mounted on {directory}")


def test_a_device_that_another_process_uses_is_refused(hone, loop, small):
    device = loop(2 * MIB)
    fd = os.open(device, os.O_RDONLY | os.O_EXCL)
    try:
        said = hone.fails("convert", small, device)
    finally:
        os.close(fd)
    assert said == (f"hone: {device}: is in use by the system or by another process")
    with locked(device, WRITER):
        assert "is in use by" in hone.fails("convert", small, device)
    assert content(device) == stale(2 * MIB)


def test_nobody_else_takes_the_device_meanwhile(hone, loop, work):
    source = write_sparse(work / "disk.img", disk(8 * MIB))
    device = loop(8 * MIB)
    with Stalled(hone, "convert", "-q", "-m", "1", source, device) as held:
        with pytest.raises(OSError):
            os.close(os.open(device, os.O_RDONLY | os.O_EXCL))
        assert held.go_on()[0] == 0


def test_an_ordinary_user_gets_one_sentence(hone, loop):
    device = loop(2 * MIB)
    # A copy of nothing is a source that everybody may read.
    said = hone.fails("convert", "-f", "raw", hone.path, device,
                      **other_user(hone, 65534))
    assert said == (f"hone: {device}: cannot be opened for writing: Permission denied")


def test_a_device_is_not_copied_to_itself(hone, loop, work):
    device = loop(2 * MIB)
    assert "is the source" in hone.fails("convert", device, device)
    (work / "link").symlink_to(device)
    assert "is the source" in hone.fails("convert", device, work / "link")
    assert content(device) == stale(2 * MIB)


def test_a_device_is_a_source(hone, loop, work):
    data = disk(2 * MIB)
    device = loop(2 * MIB, fill=disk)
    hone.ok("convert", "-q", device, work / "new.img")
    assert (work / "new.img").read_bytes() == data
    second = loop(4 * MIB)
    hone.ok("convert", "-q", device, second)
    assert content(second) == data + bytes(2 * MIB)


def test_a_device_that_is_not_cached_is_read_directly(hone, strace, loop, work):
    """As a file of 64 MiB is."""
    device, log = loop(64 * MIB), work / "trace"
    # The last close of a device drops its pages.
    with open(device, "rb") as keeper:
        for cached in False, True:
            found = content(device)
            if not cached:
                os.posix_fadvise(keeper.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            hone.ok("convert", "-q", "--force", "-f", "raw", device,
                    work / "new", before=[*strace, "-o", str(log), "-e",
                                          "trace=openat"])
            direct = log.read_text().count("O_DIRECT|")
            assert direct == (0 if cached else 2)
            assert (work / "new").read_bytes() == found


def test_the_report_of_a_device_has_its_size(hone, loop, work):
    source = write_sparse(work / "disk.img", disk(2 * MIB))
    told = hone.json("convert", "--json", source, loop(4 * MIB))
    assert told["virtual_size"] == 2 * MIB
    assert told["file_size"] == told["disk_usage"] == 4 * MIB
    # All bytes of a small disk are written last.
    told = hone.json("convert", "--json", source, loop(2 * MIB))
    assert told["shared_bytes"] == 0 < told["data_bytes"]


@pytest.mark.parametrize("more", [[], ["--keep-rest"], ["--direct"]], ids=" ".join)
@pytest.mark.parametrize("length", [8 * MIB, 5 * MIB + 1000, MIB + 600000, 800000])
def test_a_device_has_the_content_whose_digest_holds(
        hone, loop, work, digests, length, more):
    data = disk(length)
    source = write_sparse(work / "disk.img", data)
    device = loop(8 * MIB)
    right = hashlib.sha256(data).hexdigest()
    hone.ok("convert", "-q", *more, "--verify", "--expect-content",
            f"sha256:{right}", source, device)
    rest = 8 * MIB - length
    assert content(device) == data + (
        stale(8 * MIB)[length:] if "--keep-rest" in more else bytes(rest))


@pytest.mark.parametrize("what", ["content", "file"])
@pytest.mark.parametrize("more", [[], ["--keep-rest"]], ids=" ".join)
def test_refused_content_has_no_partition_table(hone, loop, work, digests, more, what):
    length = 6 * MIB
    data = disk(length)
    source = write_sparse(work / "disk.img", data)
    device = loop(8 * MIB)
    wrong = "0" * 64
    option = "--expect-content" if what == "content" else "--expect"
    said = hone.fails("convert", *more, option, f"sha256:{wrong}", source, device,
                      code=3)
    assert said == (
        f"hone: {source}: the {what} is refused: its sha256 is "
        f"{hashlib.sha256(data).hexdigest()}, not {wrong}; DST has that "
        "content now, but zeros in its first and last MiB")
    last = length if more else 8 * MIB
    wanted = bytearray(data + (stale(8 * MIB)[length:] if more else bytes(2 * MIB)))
    wanted[:MIB] = wanted[last - MIB:last] = bytes(MIB)
    # Without the digest nothing says that the rest must be zeroed already.
    assert content(device)[:length] == wanted[:length]
    assert content(device)[last - MIB:last] == bytes(MIB)


def test_a_disguised_disk_has_no_beginning_on_the_device(hone, loop, work, digests):
    """The source is read once, so that its signature is seen late."""
    data = b"QFI\xfb" + disk(6 * MIB)[4:]
    source = write_sparse(work / "disk.img", data)
    device = loop(8 * MIB)
    right = f"sha256:{hashlib.sha256(data).hexdigest()}"
    said = hone.fails("convert", "-f", "raw", "--expect", right, source, device)
    assert "would be a raw file with the signature of qcow2" in said
    assert said.endswith(INCOMPLETE)
    assert content(device)[:MIB] == bytes(MIB)
    hone.ok("convert", "-q", "-f", "raw", "--expect", right,
            "--allow-disguised", source, device)
    assert content(device)[:6 * MIB] == data


def damage_last_cluster(hone, image, out):
    """A qcow2 image whose last compressed cluster does not unpack."""
    hone.ok("convert", "-q", "-c", "-O", "qcow2", image, out)
    at, _ = list(Qcow2(out).packed.values())[-1]
    with open(out, "r+b") as file:
        os.pwrite(file.fileno(), b"\xff" * 64, at)
    return out


def text_disk(length):
    """A disk whose clusters of data can be compressed."""
    return bytes(MIB // 2) + (b"a boot sector and text " * MIB)[
        :length - MIB] + bytes(MIB // 2)


@pytest.fixture(params=["device", "file"])
def place(request):
    """What is written in place: its words and its path, with stale data."""
    def make(length):
        if request.param == "device":
            return [request.getfixturevalue("loop")(length)]
        path = request.getfixturevalue("work") / "target.img"
        path.write_bytes(stale(length))
        return ["-n", path]
    return make


@pytest.mark.parametrize("more", [[], ["--untrusted"], ["--keep-rest"],
                                  ["--direct"]], ids=" ".join)
def test_what_fails_late_has_no_boot_sector(hone, place, work, more):
    """The check of an image does not read its data."""
    data = b"\x55\xaa" + text_disk(6 * MIB)[2:]
    raw = write_sparse(work / "disk.img", data)
    source = damage_last_cluster(hone, raw, work / "disk.qcow2")
    hone.ok("check", "-q", source)
    *words, target = place(8 * MIB)
    said = hone.fails("convert", "-m", "1", *more, *words, "-O", "raw", source, target,
                      code=3)
    assert said.endswith(INCOMPLETE)
    found = content(target)
    last = 6 * MIB if "--keep-rest" in more else 8 * MIB
    assert found[:MIB] == found[last - MIB:last] == bytes(MIB)
    if "--keep-rest" in more:
        assert found[last:] == stale(8 * MIB)[last:]
    # It did fail late.
    assert found[MIB:2 * MIB] == data[MIB:2 * MIB]
    hone.ok("convert", "-q", *more, *words, raw, target)
    assert content(target)[:6 * MIB] == data


@pytest.mark.parametrize("size", [4096, MIB, MIB + 512, 2 * MIB, 2 * MIB + 512,
                                  3 * MIB])
def test_every_size_is_whole_in_place(hone, work, size):
    """The ends of a small disk meet."""
    data = random.Random(size).randbytes(size)
    (work / "disk.img").write_bytes(data)
    for more in 0, 512, 2 * MIB:
        (work / "target.img").write_bytes(stale(size + more))
        hone.ok("convert", "-q", "-n", work / "disk.img", work / "target.img")
        assert (work / "target.img").read_bytes() == data + bytes(more)


def test_the_ends_of_a_file_stay_holes(hone, work):
    images.pieces(work / "disk.img", 8 * MIB, (3 * MIB, b"x"))
    (work / "target.img").write_bytes(stale(8 * MIB))
    hone.ok("convert", "-q", "-n", work / "disk.img", work / "target.img")
    assert os.stat(work / "target.img").st_blocks * 512 <= MIB
    hone.ok("compare", work / "disk.img", work / "target.img")


def test_the_partition_table_is_written_last(hone, strace, loop, work, digests):
    data = disk(8 * MIB)
    source = write_sparse(work / "disk.img", data)
    device = loop(8 * MIB)
    right = hashlib.sha256(data).hexdigest()
    with Stalled(hone, "convert", "-q", "-m", "1", "--expect-content",
                 f"sha256:{right}", source, device) as held:
        half = content(device)
        status, _, said = held.go_on()
    assert half[:MIB] == bytes(MIB) and half[-MIB:] == bytes(MIB)
    assert half[3 * MIB:-MIB] == stale(8 * MIB)[3 * MIB:-MIB]
    assert (status, said) == (0, b"")
    assert content(device) == data
    log = work / "log"
    hone.ok("convert", source, device, before=[
        *strace, "-o", log, "-P", device, "-e", "trace=pwrite64"])
    places = [int(place) for place in re.findall(
        r", (\d+)(?:\) += | <unfin)", log.read_text())]
    # The copy is between the ends. The last MiB follows it, and then the first.
    assert len(places) > 2 and places[-1] < MIB <= 7 * MIB <= places[-2]
    assert all(MIB <= place < 7 * MIB for place in places[:-2]), places


def test_a_failure_says_what_the_device_has(hone, strace, loop, work):
    source = write_sparse(work / "disk.img", disk(4 * MIB))
    device = loop(4 * MIB)
    done = hone.run(
        "convert", "-f", "raw", "--allow-disguised", source, device,
        before=[*strace, "-qq", "-o", "/dev/null", "-P", source, "-e",
                "inject=pread64:error=EIO:when=2+"])
    assert done.returncode == 1
    assert re.fullmatch(f"hone: {source}: cannot be read at offset .*; "
                        "DST is incomplete now, with zeros in its first and "
                        "last MiB", error_line(done.stderr))


def test_what_dst_has_is_said_behind_any_digest_and_name(hone, work, digests):
    """The names of files are as long as they can be."""
    folder = work
    while len(str(folder)) < 3800:
        folder /= "d" * 200
    os.makedirs(folder)
    source, target = folder / ("s" * 200), folder / ("t" * 200)
    write_sparse(source, disk(MIB))
    for option in "--expect", "--expect-content":
        target.write_bytes(stale(2 * MIB))
        said = hone.fails("convert", "-n", "-O", "raw", option, "sha512:" + 128 * "0",
                          source, target, code=3)
        assert said.endswith(
            "0; DST has that content now, but zeros in its first and last MiB")


@pytest.mark.parametrize("more", [[], ["--allow-disguised"]], ids=" ".join)
@pytest.mark.parametrize("way", ["file", "pipe"])
def test_a_stream_that_ends_early_has_no_partition_table(hone, work, more, way):
    """Whatever its disk looks like."""
    packed = write(work, "disk.raw.gz", gzip.compress(disk(3 * MIB))[:-9])
    target = write(work, "target.img", stale(4 * MIB))
    words = [packed] if way == "file" else ["--unpack", "gzip", "-"]
    said = hone.fails("convert", "-n", "-f", "raw", *more, *words, target,
                      input=packed.read_bytes(), code=3)
    assert said.endswith(INCOMPLETE)
    found = target.read_bytes()
    assert found[:MIB] == found[-MIB:] == bytes(MIB)


@pytest.mark.parametrize("more", [[], ["--keep-rest"]], ids=" ".join)
def test_a_pipe_ends_on_a_device(hone, loop, work, more):
    """Its size is known in the end."""
    for length in 2 * MIB + 517, 600000:
        data, device = disk(length), loop(4 * MIB)
        hone.ok("convert", "-q", "-f", "raw", *more, "-", device, input=data)
        rest = stale(4 * MIB)[length:] if more else bytes(4 * MIB - length)
        assert content(device) == data + rest


@pytest.mark.parametrize("more", [[], ["--keep-rest"]], ids=" ".join)
def test_a_pipe_with_a_disguised_disk_is_refused(hone, loop, more):
    device = loop(4 * MIB)
    data = b"QFI\xfb" + disk(3 * MIB)[4:]
    said = hone.fails("convert", "-f", "raw", *more, "-", device, input=data)
    assert "with the signature of qcow2 at offset 0" in said
    assert content(device)[:MIB] == bytes(MIB)
    hone.ok("convert", "-q", "-f", "raw", "--allow-disguised", "-", device, input=data)
    assert content(device) == data + bytes(MIB)


def test_a_pipe_longer_than_dst_is_refused(hone, loop, work):
    data, device = disk(3 * MIB), loop(2 * MIB)
    target = write(work, "target.img", stale(2 * MIB))
    for words in [device], ["-n", target]:
        said = hone.fails("convert", "-f", "raw", "-", *words, input=data)
        assert "has 2097152 bytes, and the image has more; " in said
    assert os.stat(target).st_size == 2 * MIB


@pytest.mark.parametrize("length", [4 * MIB, 3 * MIB, 3 * MIB + 517])
def test_a_file_is_written_in_place(hone, work, length, threads):
    data = disk(length)
    source = write_sparse(work / "disk.img", data)
    target = work / "target.img"
    # The end lies within a page.
    size = 4 * MIB + 700
    target.write_bytes(stale(size))
    before = os.stat(target)
    hone.ok("convert", "-q", "-n", "-m", threads, "--verify", source, target)
    assert target.read_bytes() == data + bytes(size - length)
    assert os.stat(target).st_ino == before.st_ino
    assert os.stat(target).st_blocks < before.st_blocks
    assert sorted(os.listdir(work)) == ["disk.img", "target.img"]


def test_no_file_is_made_in_place(hone, work):
    source = write_sparse(work / "disk.img", disk(2 * MIB))
    target = work / "target.img"
    said = hone.fails("convert", "-n", source, target)
    assert said.endswith(": does not exist; without -n, hone makes the file")
    assert not target.exists()
    said = hone.fails("convert", "-n", source, "/dev/hone-nosuch")
    assert said.endswith("/dev/hone-nosuch: does not exist")
    target.write_bytes(stale(MIB))
    said = hone.fails("convert", "-n", source, target)
    assert said.endswith("has 1048576 bytes, and the image has 2097152")
    assert target.read_bytes() == stale(MIB)
    target.unlink()
    os.mkfifo(target)
    said = hone.fails("convert", "-n", source, target)
    assert said.endswith("is neither a regular file nor a block device")


def test_a_file_is_not_written_over_itself(hone, work):
    source = write_sparse(work / "disk.img", disk(2 * MIB))
    os.link(source, work / "link.img")
    before = stamp(source)
    for name in source, work / "link.img":
        assert "is the source" in hone.fails("convert", "-n", source, name)
    assert stamp(source) == before


def test_only_raw_is_written_in_place(hone, work):
    source = write_sparse(work / "disk.img", disk(2 * MIB))
    target = write(work, "target.qcow2", stale(4 * MIB))
    said = hone.misused("convert", "-n", source, target)
    assert "only a raw DST is written in place, not qcow2" in said
    said = hone.misused("convert", "--keep-rest", "-O", "qcow2", source, target)
    assert "--keep-rest: " in said
    assert target.read_bytes() == stale(4 * MIB)
    for new in (work / "new", "-"):
        said = hone.misused("convert", "--keep-rest", "-O", "raw", source, new)
        assert "--keep-rest: DST is new" in said
    assert not (work / "new").exists()


def test_a_file_that_is_in_use_is_not_written_in_place(hone, work):
    source = write_sparse(work / "disk.img", disk(2 * MIB))
    target = write(work, "target.img", stale(4 * MIB))
    with locked(target, WRITER):
        said = hone.fails("convert", "-n", source, target)
    assert "is in use by another process" in said
    assert target.read_bytes() == stale(4 * MIB)


@pytest.fixture
def backing(work):
    """A file of 4 MiB, with a blank in its name."""
    path = write(work, "a file.img", stale(4 * MIB))
    return path


def test_the_file_behind_a_mounted_device_is_refused(
        hone, attach, backing, small, work):
    device, directory = attach(backing), work / "mount"
    os.link(backing, work / "link.img")
    with mount(device, directory):
        before = stamp(backing)
        for name in backing, work / "link.img":
            assert hone.fails("convert", "-n", small, name) == (
                f"hone: {name}: is the same disk as {device}, which is "
                f"mounted on {directory}")
        assert stamp(backing) == before
    hone.ok("convert", "-q", "-n", small, backing)


def test_another_name_of_the_file_behind_a_device_is_refused(
        hone, attach, backing, small, work):
    """The kernel's path of the file is another file, then none."""
    device, other = attach(backing), work / "other.img"
    os.link(backing, other)
    with mount(device, work / "mount"):
        said = f"is the same disk as {device}, which is mounted on "
        call("mount", "--bind", str(small), str(backing))
        try:
            assert said in hone.fails("convert", "-n", small, other)
        finally:
            call("umount", str(backing))
        backing.unlink()
        assert said in hone.fails("convert", "-n", small, other)
        backing.write_bytes(stale(4 * MIB))
        hone.ok("convert", "-q", "-n", small, backing)


def test_who_may_not_open_the_device_knows_the_path_behind_it(
        hone, strace, attach, backing, small, work):
    device = attach(backing)
    deny = [*strace, "-o", str(work / "trace"), "-e", "trace=ioctl", "-e",
            "inject=ioctl:error=EPERM"]
    with mount(device, work / "mount"):
        said = hone.fails("convert", "-n", small, backing, before=deny)
    assert f"is the same disk as {device}, which is mounted on " in said


def test_the_file_behind_a_device_that_a_process_uses_is_refused(
        hone, attach, backing, small):
    device = attach(backing)
    said = f"hone: {backing}: is the same disk as {device}, which is in use by"
    fd = os.open(device, os.O_RDONLY | os.O_EXCL)
    try:
        assert hone.fails("convert", "-n", small, backing) == (
            f"{said} the system or by another process")
    finally:
        os.close(fd)
    with locked(device, WRITER):
        assert hone.fails("convert", "-n", small, backing).startswith(said)
    assert backing.read_bytes() == stale(4 * MIB)


def test_what_is_behind_a_mounted_device_of_a_device_is_refused(
        hone, attach, backing, small, work):
    lower = attach(backing)
    upper, directory = attach(lower, "-o", str(MIB)), work / "mount"
    with mount(upper, directory):
        for words in [lower], ["-n", backing]:
            assert hone.fails("convert", small, *words) == (
                f"hone: {words[-1]}: is the same disk as {upper}, which is "
                f"mounted on {directory}")


def test_the_file_behind_a_device_that_nobody_uses_is_written(
        hone, attach, backing, work):
    source = write_sparse(work / "disk.img", disk(4 * MIB))
    device = attach(backing)
    hone.ok("convert", "-q", "-n", source, backing)
    assert content(device) == disk(4 * MIB)


def test_a_disk_is_not_copied_to_itself_through_a_device(hone, attach, backing, work):
    first, second = attach(backing), attach(backing, "-o", str(MIB))
    upper = attach(second)
    (work / "link").symlink_to(upper)
    for source, *words in (
            (backing, first), (backing, upper), (first, second),
            (upper, first), (first, work / "link"), (first, backing),
            (first, "--force", backing), (upper, "-n", backing)):
        assert "is the source" in hone.fails("convert", source, *words)
    with open(first, "rb") as file:
        assert "is the source" in hone.fails("convert", "-", second, stdin=file)
    assert backing.read_bytes() == stale(4 * MIB)


def test_a_device_in_front_of_a_backing_file_is_refused(
        hone, qemu_img, attach, backing, work):
    top = work / "top.qcow2"
    code, text = qemu_img("create", "-q", "-f", "qcow2", "-F", "raw", "-b",
                          str(backing), str(top))
    assert code == 0, text
    device = attach(backing)
    said = hone.fails("convert", "--allow-backing", work, top, device)
    assert said == f"hone: {device}: is the source, or a file of it"
    assert backing.read_bytes() == stale(4 * MIB)


def test_two_parts_of_a_file_are_two_disks(hone, attach, backing):
    parts = [attach(backing, "-o", str(n * MIB), "--sizelimit", str(MIB))
             for n in range(3)]
    backing.write_bytes(disk(MIB) + stale(MIB) + disk(2 * MIB, seed=2))
    wanted = [content(part) for part in parts]
    for other in 0, 2:
        hone.ok("convert", "-q", "-f", "raw", parts[other], parts[1])
        assert content(parts[1]) == wanted[other]
    assert [content(parts[n]) for n in (0, 2)] == [wanted[0], wanted[2]]
