# SPDX-License-Identifier: BSD-3-Clause
"""hone check of the bitmaps extension."""
import pytest

import qemu
from checks import assert_sound, assert_unsafe, verdict
from damage import Image, make
from qemu import KI, MI

BITMAPS = [
    # offset in the extension or in the directory's entry, code, value
    ("extension", 0, "I", 0, "nb_bitmaps 0"),
    ("extension", 0, "I", 65536, "nb_bitmaps 65536"),
    ("extension", 0, "I", 2, "entry 1 extends past the end of the directory"),
    ("extension", 8, "Q", 1 << 40, "bitmap_directory_size"),
    ("extension", 8, "Q", 24, "extends past the end of the directory"),
    ("extension", 8, "Q", 4096, "but its 1 entry has"),
    ("extension", 16, "Q", 512, "bitmap directory offset 0x200"),
    ("extension", 16, "Q", 1 << 50, "bitmap directory at"),
    ("entry", 0, "Q", 1 << 50, "bitmap table at"),
    ("entry", 0, "Q", 7, "bitmap table offset"),
    ("entry", 8, "I", 0xffffffff, "bitmap table at"),
    ("entry", 12, "I", 8, "flags 8"),
    ("entry", 16, "B", 2, "type 2"),
    ("entry", 17, "B", 8, "granularity_bits 8"),
    ("entry", 17, "B", 32, "granularity_bits 32"),
    ("entry", 18, "H", 0, "name_size 0"),
    ("entry", 18, "H", 1024, "extends past the end"),
    ("entry", 20, "I", 0xffffffff, "extends past the end"),
    ("table", 0, "Q", 2, "bitmap table entry 0"),
    ("table", 0, "Q", 1 << 60, "bitmap table entry 0"),
    ("table", 0, "Q", 1 << 50, "bitmap table entry 0"),
]


@pytest.mark.parametrize("base,at,code,value,text", BITMAPS)
def test_damaged_bitmaps(work, hone, base, at, code, value, text):
    """They are no part of the disk, but refer to its clusters."""
    path = make(work).path
    qemu.img("bitmap", "--add", path, "b")
    qemu.io(path, "write -P 4 1M 1M")
    assert_sound(hone, path)
    image = Image(path)
    image.data.extend(bytes(64 * KI))
    extension = image.extension(0x23852875) + 8
    entry = image.get("Q", extension + 16)
    table = image.get("Q", entry)
    image.put(code, {"extension": extension, "entry": entry,
                     "table": table}[base] + at, value)
    image.write()
    _, failed, _ = verdict(hone, path)
    assert text in failed["bitmaps"], failed
    # Without the bit that says they are consistent they count for nothing.
    image.put("Q", 88, 0)
    image.write()
    safe, failed, _ = verdict(hone, path)
    assert safe, failed


def test_the_bitmap_bit_without_bitmaps(work, hone):
    """An error by the specification."""
    image = make(work)
    image.put("Q", 88, 1)
    image.write()
    assert_unsafe(hone, image.path, ("bitmaps", "no bitmaps extension"))


def test_a_second_bitmaps_extension(work, hone):
    """Of two, each reader could take another one."""
    path = make(work).path
    qemu.img("bitmap", "--add", path, "b")
    image = Image(path)
    first, end = image.extension(0x23852875), image.extension(0)
    image.data[end:end + 32] = image.data[first:first + 32]
    image.write()
    assert_unsafe(hone, path, ("bitmaps", "header has 2 bitmaps extensions"))


def test_info_counts_bitmaps(work, hone):
    """As long as the image marks them as consistent."""
    path = make(work).path
    assert "bitmaps" not in hone.json("info", "--json", path)
    for name in "ab":
        qemu.img("bitmap", "--add", path, name)
    assert hone.json("info", "--json", path)["bitmaps"] == 2
    image = Image(path)
    image.put("Q", 88, 0)
    image.write()
    assert "bitmaps" not in hone.json("info", "--json", path)
