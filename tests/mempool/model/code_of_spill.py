# SPDX-License-Identifier: BSD-3-Clause
"""Whether the stacks of magazines that spill are still what the model follows."""
from code_of_exact import orders_in, shape_of
from spill_cases import ROWS, SHAPE

# The functions of each file that the model has.
MODELLED = {
    "src/mempool/spill.h": ["take_spilled"],
    "src/mempool/spill.c": ["top_of", "changed", "magazine", "below", "put_on",
                            "spill", "pop_spilled"],
}


def orders(_directory):
    return orders_in("spill.c", MODELLED, ROWS)


def shape(_directory):
    return shape_of("spill.c", MODELLED, SHAPE, "spill.pml", "spill_cases.py")
