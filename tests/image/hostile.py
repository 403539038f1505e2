# SPDX-License-Identifier: BSD-3-Clause
"""Hostile qcow2 images, each with what the command has to say of it."""
import hostile_fields  # noqa: F401  pylint: disable=unused-import
import hostile_tables  # noqa: F401  pylint: disable=unused-import
from defects import DEFECTS
from qcow2_builder import Builder


def make_image(name, path):
    """Write the image of that name; other files lie beside it."""
    one = DEFECTS[name]
    image = Builder(**one.builder)
    one.make(image, path.parent)
    image.write(path)
