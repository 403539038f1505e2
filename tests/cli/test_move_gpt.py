# SPDX-License-Identifier: BSD-3-Clause
"""--move-gpt: with --size, the backup GPT moves to the new end of the disk."""
import gzip
import hashlib
import lzma
import shutil
import subprocess

import pytest

from harness import write
from gpt_builder import Gpt
from test_device import MIB, stale, write_sparse

SECTORS = {512: 6 * 2048, 4096: 6 * 256}
# How many sectors more: far, and so few that the places of the old backup and
# of the new one have sectors in common.
STEPS = {"far": 7000, "near": 5, "none": 0, "near back": -5, "back": -400}


def gpt(sector, more=0, **how):
    """A disk whose last partition ends far before its end."""
    begin = 2 * MIB // sector
    return Gpt(sector, SECTORS[sector] + more,
               [(begin, begin + 99), (begin + 200, begin + 300)], **how)


def sums(data):
    return hashlib.sha256(data).hexdigest()


def convert(hone, work, source, size, *words, name="d.img"):
    """The raw disk of DST."""
    dst = work / name
    hone.ok("convert", "-q", "--force", *words, "--move-gpt", f"--size={size}",
            source, dst)
    if name == "d.img":
        return dst.read_bytes()
    hone.ok("convert", "-q", "-f", words[1] if "-O" in words else "qcow2",
            "-O", "raw", dst, work / "back")
    return (work / "back").read_bytes()


def partitions(disk, path, sector, backup):
    """What libblkid finds, of the backup alone if the primary is gone."""
    data = bytearray(disk)
    if backup:
        data[sector:sector + 512] = bytes(512)
    path.write_bytes(data)
    lines = subprocess.run(
        ["partx", "-s", "-g", "-o", "START,END", "-S", str(sector), path],
        check=True, stdout=subprocess.PIPE).stdout.decode().splitlines()
    # partx counts in sectors of 512 bytes.
    return [(int(begin) * 512 // sector, int(end) * 512 // sector)
            for begin, end in map(str.split, lines)]


@pytest.mark.parametrize("sector", SECTORS)
@pytest.mark.parametrize("step, how", [
    *((step, {}) for step in STEPS), ("near", {"count": 8}),
    ("far", {"count": 300}), ("near back", {"count": 2048, "entry_size": 512})],
    ids=str)
def test_the_disk_is_that_of_a_new_table(hone, work, sector, step, how):
    """To the byte, and other programs agree."""
    source = gpt(sector, **how)
    write_sparse(work / "disk.img", source.bytes())
    wanted = gpt(sector, STEPS[step], **how)
    words = ["--verify"] if step == "far" else []
    found = convert(hone, work, work / "disk.img", wanted.sectors * sector, *words)
    assert found == wanted.bytes()
    if "entry_size" in how:
        # libblkid takes entries of 128 bytes alone.
        return
    if not shutil.which("partx"):
        pytest.skip("partx (util-linux) is not installed")
    for backup in False, True:
        assert partitions(found, work / "copy", sector, backup) == source.partitions
    for command, text in ((["sfdisk", "--verify"], "No errors detected"),
                          (["sgdisk", "-v"], "No problems found")):
        if sector == 512 and shutil.which(command[0]):
            said = subprocess.run([*command, work / "d.img"],
                                  check=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT).stdout.decode()
            assert text in said


@pytest.mark.parametrize("size", [10 * MIB, 5 * MIB])
@pytest.mark.parametrize("words, name", [
    (["-O", "qcow2"], "d.qcow2"), (["-O", "qcow2", "-c"], "d.qcow2"),
    (["-O", "vmdk"], "d.vmdk"), (["-O", "vhd"], "d.vhd"),
    (["-m", "4"], "d.img")], ids=str)
def test_each_format_has_the_new_table(digests, hone, work, words, name, size):
    """The digest is that of SRC, --verify is about DST."""
    source = gpt(512).bytes()
    write_sparse(work / "disk.img", source)
    wanted = gpt(512, (size - len(source)) // 512).bytes()
    assert convert(hone, work, work / "disk.img", size, *words, "--verify",
                   name=name) == wanted
    said = hone.json("convert", "--json", "--force", *words, "--digest=sha256",
                     f"--expect-disk=sha256:{sums(source)}", "--move-gpt",
                     f"--size={size}", work / "disk.img", work / name)
    assert said["digests"]["sha256"] == sums(source)
    assert said["virtual_size"] == size
    (work / "wanted").write_bytes(wanted)
    hone.ok("compare", "-q", work / "wanted", work / name,
            *(["-F", "vhd"] if name == "d.vhd" else []))


def test_the_archive_for_google(digests, hone, work):
    source = gpt(4096).bytes()
    write_sparse(work / "disk.img", source)
    words = ["convert", "--json", "-O", "gce", "--move-gpt", "--digest=sha256"]
    said = hone.json(*words, "--verify", "--size=1G", work / "disk.img",
                     work / "d.tar.gz")
    assert said["digests"]["sha256"] == sums(source)
    hone.ok("convert", "-q", work / "d.tar.gz", work / "back")
    with open(work / "back", "rb") as file:
        head = file.read(6 * MIB)
        file.seek(-5 * 4096, 2)
        tail = file.read()
    wanted = gpt(4096, (1024 - 6) * 256)
    wanted.sectors = SECTORS[4096]
    assert head[4096:8192] == wanted.bytes()[4096:8192]
    assert tail[:len(wanted.array)] == wanted.array
    assert not any(head[-5 * 4096:])
    said = hone.fails("convert", "-O", "gce", "--move-gpt", "--size=8M",
                      work / "disk.img", work / "e.tar.gz")
    assert said.endswith("would be rounded up to 1073741824 bytes, behind the "
                         "backup GPT; use --size 1073741824")


@pytest.mark.parametrize("kind", ["xz", "qcow2"])
@pytest.mark.parametrize("words", [["-q"], ["-q", "-c", "-O", "qcow2"]], ids=str)
@pytest.mark.parametrize("sector", SECTORS)
def test_a_stream_of_known_size(digests, hone, work, kind, words, sector):
    """Its backup is made from the primary, and the old one is cleared."""
    source = gpt(sector).bytes()
    write_sparse(work / "disk.img", source)
    wanted = gpt(sector, 8 * MIB // sector).bytes()
    (work / "disk.img.xz").write_bytes(lzma.compress(source, preset=0))
    hone.ok("convert", "-q", "-c", work / "disk.img", work / "disk.qcow2")
    if kind == "xz":
        hone.need("liblzma")
        address, stdin = work / "disk.img.xz", b""
    else:
        address, stdin = "-", (work / "disk.qcow2").read_bytes()
    for more in [], ["--verify"], ["--verify", "--digest=md5"]:
        hone.run("convert", *words, "--force", *more, "--move-gpt",
                 f"--expect-disk=sha256:{sums(source)}", "--size", "14M", address,
                 work / "d", input=stdin).check_returncode()
        hone.ok("convert", "-q", "-O", "raw", "--force", work / "d", work / "back")
        assert (work / "back").read_bytes() == wanted


def unpacked(path):
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    return subprocess.run(["zstd", "-dcq", path], check=True,
                          stdout=subprocess.PIPE).stdout


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_packed_disk(digests, hone, work, kind):
    """Larger, smaller, and of a stream."""
    if kind == "zst":
        hone.need("libzstd")
    source = gpt(512).bytes()
    write_sparse(work / "disk.img", source)
    hone.ok("convert", "-q", work / "disk.img", work / "disk.qcow2")
    for name, more in ("disk.img", 8192), ("disk.img", -2048), ("-", 8192):
        wanted = gpt(512, more).bytes()
        stdin = (work / "disk.qcow2").read_bytes() if name == "-" else b""
        hone.run("convert", "-q", "--force", "--verify", "--move-gpt",
                 f"--expect-disk=sha256:{sums(source)}", f"--size={len(wanted)}", name,
                 f"d.img.{kind}", cwd=work, input=stdin).check_returncode()
        assert unpacked(work / f"d.img.{kind}") == wanted


def test_a_lost_write_of_the_new_table_is_found(digests, hone, strace, work):
    """Also in the copy of a stream, whose digest is that of SRC."""
    write_sparse(work / "disk.img", gpt(512).bytes())
    hone.ok("convert", "-q", work / "disk.img", work / "disk.qcow2")
    stdin = (work / "disk.qcow2").read_bytes()
    words = ["convert", "-q", "--verify", "-m", "1", "--force", "--move-gpt",
             "--size=14M", "-", work / "d.img"]
    log = work / "log"
    hone.run(*words, input=stdin, before=[
        *strace, "-o", str(log), "-e", "trace=pwrite64"]).check_returncode()
    lengths = [int(line.rsplit("= ")[-1]) for line in
               log.read_text().splitlines() if "pwrite64" in line]
    for number, length in enumerate(lengths, 1):
        said = hone.fails(*words, input=stdin, before=[
            *strace, "-qq", "-o", "/dev/null", "-e", "trace=pwrite64", "-e",
            f"inject=pwrite64:retval={length}:when={number}"])
        assert "differs from the source" in said
    assert len(lengths) >= 4


def test_stdout_and_a_larger_file(hone, work):
    source = gpt(512)
    write_sparse(work / "disk.img", source.bytes())
    wanted = gpt(512, 4 * 2048).bytes()
    words = ["convert", "-q", "--move-gpt", "--size", "+4M"]
    assert hone.ok(*words, "-O", "raw", work / "disk.img", "-").stdout == wanted
    target = write(work, "target.img", stale(12 * MIB))
    hone.ok(*words, "-n", "--verify", work / "disk.img", target)
    assert target.read_bytes() == wanted + bytes(2 * MIB)


def test_a_table_that_is_not_at_the_end(hone, work):
    """Of a disk that was grown without --move-gpt."""
    write_sparse(work / "disk.img", gpt(512).bytes())
    hone.ok("convert", "-q", "--size=10M", work / "disk.img", work / "e.img")
    wanted = gpt(512, 4 * 2048).bytes()
    assert convert(hone, work, work / "e.img", 10 * MIB) == wanted


def test_the_rest_behind_a_stream_is_kept(digests, hone, work):
    write_sparse(work / "disk.img", gpt(512).bytes())
    hone.ok("convert", "-q", work / "disk.img", work / "disk.qcow2")
    target = write(work, "target.img", stale(12 * MIB))
    hone.run("convert", "-q", "-n", "--keep-rest", "--verify", "--move-gpt",
             "--size=10M", "-", target,
             input=(work / "disk.qcow2").read_bytes()).check_returncode()
    assert target.read_bytes() == (gpt(512, 8192).bytes() + stale(12 * MIB)[10 * MIB:])


def fields_of(*headers):
    """Makes changes of fields of these headers."""
    def make(**fields):
        def change(table):
            for name in headers:
                getattr(table, name).update(fields)
        return change
    return make


header, backup = fields_of("header"), fields_of("backup")
both = fields_of("header", "backup")


def other(**fields):
    def change(table):
        for name, value in fields.items():
            setattr(table, name, value)
    return change


def partition(begin, end):
    def change(table):
        table.array[32:48] = begin.to_bytes(8, "little") + end.to_bytes(8, "little")
    return change


def byte_of_array(at):
    """Both checksums are those of the array before."""
    def change(table):
        table.header["array_crc"] = table.backup["array_crc"] = 5
        table.array[at] ^= 1
    return change


BAD = [
    (header(crc=7), 3, "CRC of the primary header is 0x00000007, and its"),
    (backup(crc=7), 3, "CRC of the backup header is 0x00000007, and its"),
    (byte_of_array(300), 3, "CRC of the primary array is 0x00000005"),
    (header(revision=0x20000), 3, "Revision is 131072, not 65536"),
    (header(size=91), 3, "HeaderSize is 91, not 92 to 512"),
    (header(size=1 << 31), 3, "HeaderSize is 2147483648, not 92 to 512"),
    (header(my=2), 3, "sector 1 whose MyLBA is 2, not 1"),
    (backup(my=1), 3, "sector 12287 whose MyLBA is 1, not 12287"),
    (header(alternate=0), 3, "AlternateLBA is 0, not 2 to 12287"),
    (header(alternate=12288), 3, "AlternateLBA is 12288, not 2 to 12287"),
    (header(alternate=(1 << 64) - 1), 3, "AlternateLBA is 184467440737095516"),
    (header(alternate=12286), 3, "has no backup GPT header in sector 12286"),
    (backup(alternate=2), 3, "sector 12287 whose AlternateLBA is 2, not 1"),
    (both(first=0), 3, "FirstUsableLBA is 0, not 2 to 12254"),
    (both(first=33), 3, "array is in the sectors 2 to 33, past sector 32"),
    (both(first=1 << 63), 3, "FirstUsableLBA is 9223372036854775808"),
    (both(last=12287), 3, "LastUsableLBA is 12287, not 2 to 12286"),
    (both(last=12255), 3, "PartitionEntryLBA is 12255, not 12256"),
    (header(entries=0), 3, "PartitionEntryLBA is 0, not 2 to 34"),
    (header(entries=1 << 60), 3, "PartitionEntryLBA is 1152921504606846976"),
    (backup(entries=2), 3, "PartitionEntryLBA is 2, not 12255"),
    (backup(entries=12256), 3, "PartitionEntryLBA is 12256, not 12255"),
    (both(count=0), 3, "NumberOfPartitionEntries is 0, not 1 to 8192"),
    (both(count=8193), 3, "NumberOfPartitionEntries is 8193, not 1 to 8192"),
    (both(count=(1 << 32) - 1), 3, "NumberOfPartitionEntries is 4294967295"),
    (both(entry_size=0), 3, "SizeOfPartitionEntry is 0, not 128 to 1048576"),
    (both(entry_size=1 << 31), 3, "SizeOfPartitionEntry is 2147483648, not"),
    (both(entry_size=192), 3, "SizeOfPartitionEntry is 192, not a power"),
    (backup(guid=bytes(16)), 3, "DiskGUID is not that of the primary one"),
    (backup(count=127), 3, "NumberOfPartitionEntries is 127, not 128"),
    (backup(last=12000), 3, "LastUsableLBA is 12000, not 12254"),
    (backup(array_crc=9), 3, "PartitionEntryArrayCRC32 is 9, not "),
    (partition(33, 40), 3, "partition 1 has the sectors 33 to 40, which are "),
    (partition(50, 49), 3, "partition 1 has the sectors 50 to 49, which are "),
    (partition(50, 12255), 3, "partition 1 has the sectors 50 to 12255"),
    (partition(0, (1 << 64) - 1), 3, "sectors 0 to 18446744073709551615"),
    (partition(50, 12254), 1, "partition 1 ends at sector 12254, and "
     "LastUsableLBA of the new disk is 10206"),
    (other(types=[0xee, 0x83, 0, 0]), 1, "hybrid MBR, whose entry 2 has the "
     "type 0x83"),
    (other(types=[0xee, 0, 0, 0xee]), 1, "hybrid MBR, whose entry 4 has the"),
    (other(types=[0, 0, 0, 0]), 1, "without an entry of the type 0xee"),
    (other(begin=2), 1, "without an entry of the type 0xee that begins at"),
    (other(signature=0), 3, "no MBR: its signature is 0x0000, not 0xaa55"),
]


@pytest.mark.parametrize("change, code, text", BAD, ids=[text for _, _, text in BAD])
def test_a_table_that_is_refused(hone, work, change, code, text):
    """Before anything is written."""
    table = gpt(512)
    change(table)
    write_sparse(work / "disk.img", table.bytes())
    (work / "target.img").write_bytes(stale(6 * MIB))
    said = hone.fails("convert", "-q", "-n", "--move-gpt", "--size=5M",
                      work / "disk.img", work / "target.img", code=code)
    assert said.startswith(f"hone: {work}/disk.img: has ")
    assert text in said
    assert (work / "target.img").read_bytes() == stale(6 * MIB)


def test_a_backup_that_was_changed(hone, work):
    data = bytearray(gpt(512).bytes())
    data[-33 * 512] ^= 1
    write_sparse(work / "disk.img", data)
    said = hone.fails("convert", "--move-gpt", "--size=8M", work / "disk.img",
                      work / "d.img", code=3)
    assert "has a GPT whose CRC of the backup array is 0x" in said


def test_sizes_of_sectors(hone, work):
    """512 and 4096 at once are not to be told apart."""
    words = ["convert", "--move-gpt", work / "disk.img", work / "d.img"]
    data = bytearray(gpt(4096).bytes())
    data[512:520] = b"EFI PART"
    for disk, text in ((bytes(data), "may have either size"),
                       (bytes(MIB), "there is no 'EFI PART' at offset 512 or"),
                       (b"", "there is no 'EFI PART' at"),
                       (gpt(4096).bytes()[:1023], "there is no 'EFI PART'")):
        (work / "disk.img").write_bytes(disk)
        assert text in hone.fails(*words, "--size=9M")
    (work / "disk.img").write_bytes(gpt(4096).bytes())
    said = hone.fails(*words, "--size=9438208")
    assert "sectors of 4096 bytes, and 9438208 is not a multiple" in said
    for size in "4096", "32K":
        said = hone.fails(*words, f"--size={size}")
        assert "too few for a backup GPT behind it" in said


def test_what_it_needs(hone, work):
    (work / "disk.img").write_bytes(gpt(512).bytes())
    said = hone.misused("convert", "--move-gpt", work / "disk.img", work / "d.img")
    assert said.endswith("--move-gpt needs --size: the GPT moves to the end that it sets")
    said = hone.fails("convert", "-f", "raw", "--move-gpt", "--size=8M", "-",
                      work / "d.img", input=gpt(512).bytes())
    assert "is read once and has an unknown size, and --move-gpt needs" in said
    (work / "disk.img.gz").write_bytes(gzip.compress(gpt(512).bytes()))
    hone.ok("convert", "-q", "--move-gpt", "--size=8M", work / "disk.img.gz",
            work / "d.img")
    hone.ok("convert", "-q", "--move-gpt", "--size=8M", work / "disk.img",
            work / "e.img")
    assert (work / "d.img").read_bytes() == (work / "e.img").read_bytes()
    # Without the option, the backup is data that is not cut off.
    for sector in SECTORS:
        (work / "disk.img").write_bytes(gpt(sector).bytes())
        said = hone.fails("convert", "--size=5M", work / "disk.img", work / "d.img")
        assert "has data at offset" in said
        assert said.endswith("; if this is the backup GPT, add --move-gpt")
