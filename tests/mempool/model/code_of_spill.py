# SPDX-License-Identifier: BSD-3-Clause
"""Whether the stacks of magazines that spill are still what the model follows."""
from code_of_exact import accesses, bodies
from modelled import compare_orders, compare_shape
from spill_cases import ROWS, SHAPE

# The functions of each file that the model has.
MODELLED = {
    "src/mempool/spill.h": ["take_spilled"],
    "src/mempool/spill.c": ["top_of", "changed", "magazine", "below", "put_on",
                            "spill", "pop_spilled"],
}


def orders(_directory):
    got = [access for _, name, body in bodies(MODELLED)
           for access in accesses(name, body)]
    want = [tuple(each for each in row[:5] if each != "-") for row in ROWS]
    return compare_orders("spill.c", got, want)


def shape(_directory):
    text = "".join(path + name + body for path, name, body in bodies(MODELLED))
    return compare_shape("spill.c", text, SHAPE, "spill.pml", "spill_cases.py")
