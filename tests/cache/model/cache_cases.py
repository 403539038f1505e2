# SPDX-License-Identifier: BSD-3-Clause
"""What check.py checks of the cache."""
import re
from pathlib import Path

from modelled import compare_orders, compare_shape, functions, orders_of

# The atomic accesses of php/cache/store that the model has: function, operation,
# location, order, that of a failed compare-and-swap, macro of cache.pml. "-" is
# no macro: the model does not need the access, or has it in another way.
TABLE = """
announce   exchange word  seq_cst - ANNOUNCE_SWAP
announce   fence    -     seq_cst - -
barrier    fetch_add epoch seq_cst - -
barrier    fence    -     seq_cst - -
epoch_now  load     epoch acquire - NOW_LOAD_EPOCH
epoch_retire fetch_add epoch seq_cst - RETIRE_ADD_EPOCH
member_pin store    held  release - PIN_STORE_HELD
member_pin store    close release - PIN_STORE_CLOSE
member_unpin store  pin   release - UNPIN_STORE_PIN
begin_closed store  began release - BEGAN_STORE
begin_closed swap   close seq_cst relaxed BEGIN_SWAP_CLOSE
begin      load     close seq_cst - BEGIN_LOAD_CLOSE
fetch_end  store    busy  release - END_STORE_BUSY
fetch_end  store    busy  release - BACK_STORE_BUSY
fetch_keep store    word  release - KEEP_STORE_HELD
member_close load   word  relaxed - PIN_LOAD_CLOSE
member_close swap   word  seq_cst relaxed OWN_SWAP_CLOSE
member_inherit store held release - -
member_inherit store close release - -
look_at    load     busy  acquire - LOOK_LOAD_BUSY
look_at    load     pin   acquire - LOOK_LOAD_PIN
look_at    load     began acquire - LOOK_LOAD_BEGAN
look_at    load     held  acquire - LOOK_LOAD_HELD
look_at    load     close acquire - LOOK_LOAD_CLOSE
readers_look load   slots_high acquire - -
close_slot load     close acquire - LOOK_LOAD_CLOSE
close_slot swap     close seq_cst relaxed CLOSE_SWAP_CLOSING
close_slot fetch_add closed_slots relaxed - -
close_slot load     busy  seq_cst - CLOSE_LOAD_BUSY
close_slot swap     close seq_cst relaxed CLOSE_SWAP_END
readers_close load  slots_high acquire - -
readers_close load  pin   acquire - LOOK_LOAD_PIN
follow     load     link  acquire - FOLLOW_LOAD_LINK
link       store    link  release - LINK_STORE
"""

# Digest of the code that cache.pml follows; check.py prints a new one.
SHAPE = "938ad275f1f10a5b"

# By the name of the assertion in cache.pml.
PROMISES = {"unused": 1, "found_live": 2, "was_read": 4, "was_written": 8,
            "is_stamped": 16, "was_born": 32, "is_not_held_back": 64,
            "is_accounted": 128}

ROWS = [line.split() for line in TABLE.strip().splitlines()]
FENCES = {f"{name}_FENCE": 1 for name in ("PIN", "BEGIN", "WIDEN", "LOOK", "CLOSE")}
ORDERS = {**orders_of(ROWS), **FENCES}


# pylint: disable-next=too-many-arguments
def bounds(fetches=1, ops=1, requests=1, closes=0, sleeps=0, writers=1, **more):
    return {"READERS": 1, "WRITERS": writers, "REQUESTS": requests,
            "FETCHES": fetches, "LOOKS": 1, "BUCKETS": 1, "CHAIN": 0,
            "OPS": ops, "CLOSES": closes, "OWNER_CLOSES": 0, "SLEEPS": sleeps,
            "UNPINNED": 0, "LARGE": 0, "DYING": 0, "VICTIM": 15, "NARROW": 1,
            "NESTED": 0, "FORMS": 0, **more}


CLOSED = bounds(fetches=2, ops=2, closes=1, sleeps=1)
# A slot is closed, an epoch is counted, and what is born then is found.
BORN = bounds(ops=3, closes=1, NARROW=0)
REOPENED = bounds(fetches=2, requests=2, closes=1, NARROW=0)
PAIR = bounds(fetches=2, requests=2)
# A chain, or one that is looked at after another.
CHAIN = bounds(ops=2, CHAIN=1)
WIDE = bounds(BUCKETS=2, LOOKS=2, NARROW=0)
# Without a pin: then it is `busy` alone that keeps the entry.
NESTED = {**WIDE, "NARROW": 1, "NESTED": 1, "UNPINNED": 1}
READER_DIES = bounds(closes=1, DYING=1, VICTIM=0)
WRITER_DIES = bounds(writers=2, DYING=1, VICTIM=2, NARROW=0)
# The same, with a reader that may stay pinned.
ASLEEP = {**WRITER_DIES, "SLEEPS": 1}
LARGE_DIES = bounds(writers=2, DYING=1, VICTIM=2, LARGE=1, NARROW=0)
OWN = bounds(fetches=2, closes=1, OWNER_CLOSES=1, sleeps=1, NARROW=0)
FORMS = bounds(ops=2, sleeps=1, FORMS=1)
FORMS_DIE = {**LARGE_DIES, "FORMS": 1}
OUTSIDE = bounds(fetches=2, ops=2, UNPINNED=1)

# Searched to the end: name, macros.
HOLDS = [
    ("two requests", PAIR),
    ("a chain of entries", CHAIN),
    ("a fetch that looks at two chains", WIDE),
    ("a fetch within a fetch of another chain", NESTED),
    ("a reader dies", READER_DIES),
    ("two forms of a value", FORMS),
]

# Searched only if the word "large" is given.
LARGE = [
    ("what is born after a slot was closed", BORN),
    ("a new request after a slot was closed", REOPENED),
    ("the owner closes its slot", OWN),
    ("a fetch without a pin", OUTSIDE),
    ("a writer dies", ASLEEP),
    ("a writer closes a slot", CLOSED),
    ("a writer dies that fills a large block", LARGE_DIES),
    ("a writer dies that fills a large twin", FORMS_DIE),
]

# Name, where, changes, the promise that breaks.
PLANTED = [(name, {**where, **change}, promise)
           for name, where, change, promise in [
    ("a fetch announces itself without a fence", PAIR,
     {"BEGIN_FENCE": 0}, "found_live"),
    ("a writer looks at the slots without a fence", PAIR,
     {"LOOK_FENCE": 0}, "found_live"),
    ("a fetch announces another chain", NESTED, {"BEGIN_ASTRAY": 1}, "unused"),
    ("the second chain is announced without a fence", NESTED,
     {"WIDEN_FENCE": 0}, "found_live"),
    ("the second chain is not announced", NESTED, {"NO_WIDEN": 1}, "unused"),
    ("a fetch goes back to the wrong chain", NESTED, {"BACK_ASTRAY": 1}, "unused"),
    ("a fetch goes back relaxed", NESTED, {"BACK_STORE_BUSY": "RELAXED"}, "was_read"),
    ("a writer does not look whether a fetch is announced", PAIR,
     {"BUSY_IGNORED": 1}, "unused"),
    ("the bits are looked at before busy", PAIR, {"HELD_FIRST": 1}, "unused"),
    ("the bit is set after the end of the fetch", PAIR, {"KEEP_LATE": 1}, "unused"),
    ("a cold entry is used after the fetch", FORMS, {"COLD_KEPT": 1}, "unused"),
    ("a slot is closed without a fence", BORN, {"CLOSE_FENCE": 0}, "was_born"),
    ("a slot is closed while a fetch is announced", BORN,
     {"CLOSE_UNASKED": 1}, "was_born"),
    ("a fetch looks at close before it announces itself", BORN,
     {"CLOSE_FIRST": 1}, "was_born"),
    ("a fetch does not look at close", BORN, {"CLOSE_IGNORED": 1}, "was_born"),
    ("the stamp comes before the unlink", PAIR, {"STAMP_FIRST": 1}, "is_stamped"),
    ("a request takes the next epoch", PAIR, {"PIN_NEXT_EPOCH": 1}, "unused"),
    ("a closed fetch begins in the next epoch", CLOSED,
     {"BEGAN_NEXT_EPOCH": 1}, "unused"),
    ("the epoch of a closed fetch is stored relaxed", CLOSED,
     {"BEGAN_STORE": "RELAXED"}, "was_read"),
    ("the epoch of a closed fetch is looked at relaxed", CLOSED,
     {"LOOK_LOAD_BEGAN": "RELAXED"}, "was_read"),
    ("an entry is born in the next epoch", CLOSED, {"BORN_LATE": 1}, "was_born"),
    ("the pin is taken away before the last read", PAIR, {"UNPIN_FIRST": 1}, "unused"),
    ("the pin is taken away relaxed", PAIR, {"UNPIN_STORE_PIN": "RELAXED"}, "was_read"),
    ("busy is cleared relaxed", PAIR, {"END_STORE_BUSY": "RELAXED"}, "unused"),
    ("busy is looked at relaxed", PAIR, {"LOOK_LOAD_BUSY": "RELAXED"}, "unused"),
    ("pin is looked at relaxed", PAIR, {"LOOK_LOAD_PIN": "RELAXED"}, "was_read"),
    ("the epoch is read relaxed", PAIR, {"NOW_LOAD_EPOCH": "RELAXED"}, "is_stamped"),
    ("the epoch is counted relaxed", PAIR,
     {"RETIRE_ADD_EPOCH": "RELAXED"}, "is_stamped"),
    ("a link is stored relaxed", PAIR, {"LINK_STORE": "RELAXED"}, "was_written"),
    ("a link is loaded relaxed", PAIR, {"FOLLOW_LOAD_LINK": "RELAXED"}, "was_written"),
    ("a recovery frees what was unlinked", WRITER_DIES, {"RECOVER_FREES": 1}, "unused"),
    ("a recovery keeps an old stamp", ASLEEP, {"RECOVER_OLD_STAMP": 1}, "unused"),
    ("a recovery forgets what was retired", WRITER_DIES,
     {"RECOVER_FORGETS": 1}, "is_accounted"),
]]

STORE = Path(__file__).resolve().parents[3] / "php/cache/store"
# Files, and the functions of each that the model follows; None: all.
MODELLED = {
    "epoch.c": None,
    "reclaim.c": ["php_hone_retire", "php_hone_reclaim"],
    "index.h": ["php_hone_follow", "php_hone_link"],
    "index.c": ["php_hone_lookup", "keep_special"],
    "publish.c": ["reserve", "free_reserved", "php_hone_store_publish",
                  "php_hone_store_reserve_twin", "php_hone_store_publish_twin",
                  "php_hone_publish_locked", "php_hone_remove_locked"],
    "process.c": ["clean", "free_reserved", "php_hone_slots_reap", "mark",
                  "somebody_fills", "forget_finished", "decide",
                  "php_hone_recover"],
}
ORDERED = ["epoch.c", "index.h"]
HEAD = r"(\w+)"
ACCESS = re.compile(r"__atomic_(\w+?)(?:_n)?\(([^;]*?)__ATOMIC_(\w+?)"
                    r"(?:,__ATOMIC_(\w+?))?\)")
WORD = re.compile(r"(?:->|^\(*&?)(\w+)(?:\[i\])?,")


def accesses(name, body):
    """[(function, operation, location, orders...)] in the order of the text."""
    found = []
    for operation, given, order, failed in ACCESS.findall(body):
        operation = {"compare_exchange": "swap",
                     "thread_fence": "fence"}.get(operation, operation)
        word = WORD.search(given if "," in given else given + ",")
        found.append((name.replace("php_hone_", ""), operation,
                      word[1] if word else "-",
                      *(each.lower() for each in (order, failed) if each)))
    return found


def bodies(file):
    chosen = MODELLED[file]
    return {name: body
            for name, body in functions(STORE / file, HEAD).items()
            if chosen is None or name in chosen}


def orders(_directory):
    got = [access for file in ORDERED
           for name, body in bodies(file).items()
           for access in accesses(name, body)]
    want = [tuple(each for i, each in enumerate(row[:5])
                  if each != "-" or i == 2) for row in ROWS]
    return compare_orders("php/cache/store", got, want)


def shape(_directory):
    text = "".join(file + name + body for file in MODELLED
                   for name, body in bodies(file).items())
    return compare_shape("php/cache/store", text, SHAPE, "cache.pml", "cache_cases.py")
