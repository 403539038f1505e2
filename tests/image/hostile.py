#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Hostile qcow2 images, each with what the command has to say of it.

Run as a program it writes all of them below a directory.
"""
import os
import pathlib
import sys

import hostile_fields  # noqa: F401  pylint: disable=unused-import
import hostile_files  # noqa: F401  pylint: disable=unused-import
import hostile_tables  # noqa: F401  pylint: disable=unused-import
import hostile_bombs  # noqa: F401  pylint: disable=unused-import
from defects import DEFECTS
from qcow2_builder import Builder


def make_image(name, path):
    """Write the image of that name; other files lie beside it."""
    one = DEFECTS[name]
    image = Builder(**one.builder)
    one.make(image, path.parent)
    image.write(path)


def main():
    """Write all of them below the directory that is named."""
    folder = pathlib.Path(sys.argv[1])
    for name in DEFECTS:
        (folder / name).mkdir(parents=True)
        make_image(name, folder / name / "image.qcow2")
    print(len(DEFECTS), "images in", os.fspath(folder))


if __name__ == "__main__":
    main()
