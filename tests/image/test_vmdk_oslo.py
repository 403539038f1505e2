# SPDX-License-Identifier: BSD-3-Clause
"""hone check refuses each VMDK whose descriptor OpenStack's inspector refuses.

The rule is that of VMDKInspector in oslo.utils, written anew:
https://opendev.org/openstack/oslo.utils, imageutils/format_inspector.py.
"""
import re
import struct

import pytest

from harness import piped
from test_vmdk_hostile import HOSTILE, packed
from vmdk_builder import DESCRIPTOR, SECTOR, Builder

MOST = (1 << 20) - 1
SUBFORMATS = {"monolithicsparse", "streamoptimized"}
ACCESS = {"rw", "rdonly", "noaccess"}


def text_of(whole):
    """The descriptor up to its first NUL, in lower case; None: refused."""
    if whole[:4] == b"KDMV":
        version, = struct.unpack_from("<I", whole, 4)
        sector, count = struct.unpack_from("<QQ", whole, 28)
        if version not in (1, 2, 3) or sector != 1:
            return None
        whole = whole[SECTOR:SECTOR + min(count * SECTOR, MOST)]
    text = whole.split(b"\0")[0]
    return text.decode().lower() if text.isascii() else None


def kind_of(line):
    """Of a line without blanks at its ends; None: it is not understood."""
    key, equals, _ = line.partition("=")
    if not line or line.startswith(("#", "ddb")):
        return "no matter"
    if equals and " " not in key:
        return "field"
    return "extent" if line.split(" ")[0] in ACCESS else None


def refused_by_oslo(whole):
    """Whether the descriptor is refused."""
    text = text_of(whole)
    if not text:
        return True
    kind = re.search('createtype="([^"]{0,63})"', text)
    first = text.find('createtype="')
    if not kind or kind.start() != first or kind[1] not in SUBFORMATS:
        return True
    lines = [line.strip() for line in text.split("\n")]
    extents = [line for line in lines if kind_of(line) == "extent"]
    return (not all(map(kind_of, lines)) or not extents
            or any("/" in line for line in extents))


EXTENT = 'RW 1024 SPARSE "disk.vmdk"'
TYPE = 'createType="monolithicSparse"'
LINES = [
    'encoding = "UTF-8"', 'encoding="UTF-8"', ' encoding="UTF-8"',
    'encoding\t="UTF-8"', 'a b="c"', '="c"', "nonsense", "é=1", "# é",
    'ddb.x = "1"', 'DDB.x = "1"', "ddb", "ddb x", "ddbx=1", "# a/b",
    'x="a/b"', 'x="', "NOACCESS 8 ZERO", 'noaccess 8 SPARSE "x"',
    'RW\t8\tSPARSE\t"x"', "RW 8 ZERO", "RW", "rw=1", "RW =1", "\r",
    'RW 8 FLAT "a/b" 0', '# createType="x"', 'x=createType="x"',
    '# createType="' + 64 * "x" + '"', '# createType="streamOptimized"',
    '# createType=x', '#createtype="', "\x0b", "\x0c", "\x1c",
]
CHANGES = [(EXTENT, new) for new in (
    "", EXTENT + " 0", EXTENT + " 0 /etc/passwd", EXTENT + ' 0 "a/b"',
    EXTENT + " 0 a=/b", EXTENT.lower(), EXTENT.replace("RW", "RDONLY"),
    EXTENT.replace("RW", "NOACCESS"), EXTENT.replace("disk", "a=b"),
    EXTENT.replace("disk", "a/b"), EXTENT.replace("RW ", "RW  "),
    EXTENT.replace("SPARSE", "SPARSE/"), EXTENT.replace(" ", "\t"),
)] + [(TYPE, new) for new in (
    "", "createType=monolithicSparse", "createType='monolithicSparse'",
    'createType ="monolithicSparse"', 'createType\t="monolithicSparse"',
    'createType= "monolithicSparse"', 'createType="monolithicSparse',
    'createType="MonolithicSparse"', 'CREATETYPE="monolithicSparse"',
    'createType="monolithicSparse" ', 'createType="custom"',
    'createType="streamOptimized"', 'createType="monolithicSparse"x"',
)]


def descriptors():
    """The text of a sound image, changed in one place."""
    sound = DESCRIPTOR.format(kind="monolithicSparse", capacity=1024)
    yield sound
    for line in LINES:
        yield line + "\n" + sound
        yield sound.replace("version=1\n", f"version=1\n{line}\n")
        yield sound + line
    for old, new in CHANGES:
        assert sound.count(old) == 1
        yield sound.replace(old, new)


def judge(hone, image, whole):
    """Both verdicts: whether oslo refuses the image, and whether hone does."""
    image.write_bytes(whole)
    done = hone.run("check", "-q", "-f", "vmdk", image)
    assert done.returncode in (0, 1), done
    return refused_by_oslo(whole), done.returncode == 1


def counted(hone, image, cases):
    """How many each refuses; hone refuses all that oslo does."""
    verdicts = []
    for whole in cases:
        verdicts.append(judge(hone, image, whole))
        assert verdicts[-1] != (True, False), whole[:2 * SECTOR]
    return [sum(each) for each in zip(*verdicts)], len(verdicts)


def test_a_changed_descriptor(hone, tmp_path):
    """In a sparse file. Of those that oslo accepts, many are accepted."""
    def images():
        for text in descriptors():
            image = Builder()
            image.descriptor = text
            yield image.build()
    (oslo, ours), count = counted(hone, tmp_path / "image.vmdk", images())
    assert 40 <= oslo <= ours <= count - 20


def test_a_descriptor_that_is_a_file_of_text(hone, tmp_path):
    """Without extents that are files."""
    (oslo, ours), count = counted(hone, tmp_path / "image.vmdk", (
        text.replace(EXTENT, "RW 8 ZERO").encode("latin-1")
        for text in descriptors()))
    assert 40 <= oslo <= ours < count


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_image(hone, tmp_path, name):
    """What a test of the tables refuses, oslo may accept."""
    oslo, ours = judge(hone, tmp_path / "image.vmdk", HOSTILE[name][0].build())
    assert ours or not oslo


def test_the_rule_refuses_some_hostile_images():
    """An oracle that accepts everything would find nothing."""
    refused = {name for name, case in HOSTILE.items()
               if refused_by_oslo(case[0].build())}
    assert {"create_type", "no_create_type", "line", "bytes", "path",
            "no_extents", "blank_before_equals", "other_place"} <= refused
    assert len(refused) < len(HOSTILE) // 2


def footer_refused_by_oslo(whole):
    """Of an image whose header refers to a footer."""
    marker, footer, end = (whole[len(whole) + at:][:SECTOR]
                           for at in (-3 * SECTOR, -2 * SECTOR, -SECTOR))
    return (footer[:8] != whole[:8] or footer[28:44] != whole[28:44]
            or footer[56:64] == b"\xff" * 8
            or marker[8:] != struct.pack("<II", 0, 3) + bytes(496)
            or any(end))


@pytest.mark.parametrize("stream", [False, True])
def test_a_changed_footer(hone, tmp_path, stream):
    """One byte of each field and of the rest of the markers, in a file and in
    a stream."""
    sound = packed().build()
    assert not footer_refused_by_oslo(sound)
    image = tmp_path / "image.vmdk"
    refused = 0
    for at in [None, *range(0, 3 * SECTOR, 4)][::7 if stream else 3]:
        whole = bytearray(sound)
        if at is not None:
            whole[at - 3 * SECTOR] ^= 1
        image.write_bytes(whole)
        if stream:
            done = piped(hone.run, image, "check", "-q", "-")
        else:
            done = hone.run("check", "-q", image)
        assert done.returncode in (0, 1), done
        assert done.returncode or not footer_refused_by_oslo(whole), at
        refused += done.returncode
    assert refused > 30
