# SPDX-License-Identifier: BSD-3-Clause
"""The list of hostile images; hostile_*.py enter theirs."""
from dataclasses import dataclass, field

DEFECTS = {}


@dataclass
class Defect:
    """An image, and what is expected of it."""
    # called with a Builder and the folder of the image
    make: object
    # what the sentence has; "": the image can be read
    part: str
    # hone info shows the image: it does not read what is wrong
    info: bool = False
    # tests of hone check that fail; None: it cannot be checked
    check: tuple = ("well_formed",)
    # of the Builder
    builder: dict = field(default_factory=dict)
    # of convert, map and compare; {folder} is replaced
    options: tuple = ()
    # of convert alone
    convert: tuple = ()
    # bytes that a command may read: the largest table, and what a sanitizer reads
    # of /proc
    read: int = 65 << 20
    # another file is named, "decoy", which must not be opened
    decoy: bool = False


def defect(part, **expected):
    """Enter a maker under its own name."""
    def enter(make):
        assert make.__name__ not in DEFECTS
        DEFECTS[make.__name__] = Defect(make, part, **expected)
        return make
    return enter


def field_defect(name, fields, part, **expected):
    """Enter an image whose header has these fields."""
    def make(image, _folder):
        image.fields.update(fields)
    assert name not in DEFECTS, name
    DEFECTS[name] = Defect(make, part, **expected)
