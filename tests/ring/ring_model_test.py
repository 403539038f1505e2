# SPDX-License-Identifier: BSD-3-Clause
"""The ring of the installed libhone against a list: in every mode, any order
of calls gives what a list gives. The inline functions are called through the
copies that the library exports."""
import collections
import ctypes
import errno

from hypothesis import strategies as st
from hypothesis.stateful import (RuleBasedStateMachine, initialize, invariant,
                                 rule)

from library import SIZE, VOID, declare, numbers, words

POINTER, INT, UNSIGNED = ctypes.POINTER(VOID), ctypes.c_int, ctypes.c_uint
create = declare("hone_ring_create", INT, POINTER, SIZE, UNSIGNED)
destroy = declare("hone_ring_destroy", None, VOID)
size_of = declare("hone_ring_size", SIZE, SIZE, UNSIGNED)
init = declare("hone_ring_init", INT, VOID, SIZE, UNSIGNED)
enqueue = declare("hone_ring_enqueue", INT, VOID, VOID)
enqueue_bulk = declare("hone_ring_enqueue_bulk", INT, VOID, POINTER, SIZE)
enqueue_burst = declare("hone_ring_enqueue_burst", SIZE, VOID, POINTER, SIZE)
dequeue = declare("hone_ring_dequeue", INT, VOID, POINTER)
dequeue_bulk = declare("hone_ring_dequeue_bulk", INT, VOID, POINTER, SIZE)
dequeue_burst = declare("hone_ring_dequeue_burst", SIZE, VOID, POINTER, SIZE)
count = declare("hone_ring_count", SIZE, VOID)
free_count = declare("hone_ring_free_count", SIZE, VOID)
capacity_of = declare("hone_ring_capacity", SIZE, VOID)

MODES = range(4)
ALIGN = 64
MAX_CAPACITY = 1 << 31
CANARY = 0x5A5A5A5A
MARGIN = 3  # words beside what a call may write
CAPACITIES = st.one_of(st.integers(1, 9), st.integers(1, 300))
ELEMENT = st.integers(0, (1 << 8 * ctypes.sizeof(VOID)) - 1)
GROUP = st.lists(ELEMENT, max_size=40)
WISH = st.one_of(st.integers(0, 12), st.integers(0, 400))


class Ring(RuleBasedStateMachine):
    """A ring beside a list, and memory of its own or of the caller."""

    @initialize(capacity=CAPACITIES, flags=st.sampled_from(MODES),
                own=st.booleans(), shift=st.integers(0, 3))
    def make(self, capacity, flags, own, shift):
        self.model, self.capacity = collections.deque(), capacity
        self.memory = None
        if own:
            ring = VOID()
            assert create(ring, capacity, flags) == 0
            self.ring = ring.value
            return
        size = size_of(capacity, flags)
        self.memory = ctypes.create_string_buffer(size + 6 * ALIGN)
        start = ctypes.addressof(self.memory)
        self.ring = (start + ALIGN - 1) // ALIGN * ALIGN + shift * ALIGN
        self.tail = self.ring + size - start
        ctypes.memset(start, 0xA5, len(self.memory))
        assert init(self.ring, capacity, flags) == 0

    @rule(element=ELEMENT)
    def add_one(self, element):
        full = len(self.model) == self.capacity
        assert enqueue(self.ring, element) == (-errno.ENOBUFS if full else 0)
        if not full:
            self.model.append(element)

    @rule(group=GROUP)
    def add_bulk(self, group):
        fits = len(self.model) + len(group) <= self.capacity
        assert enqueue_bulk(self.ring, words(group), len(group)) == (
            0 if fits else -errno.ENOBUFS)
        if fits:
            self.model.extend(group)

    @rule(group=GROUP)
    def add_burst(self, group):
        room = self.capacity - len(self.model)
        added = enqueue_burst(self.ring, words(group), len(group))
        assert added == min(room, len(group))
        self.model.extend(group[:added])

    @rule()
    def take_one(self):
        got = words([CANARY])
        if self.model:
            assert dequeue(self.ring, got) == 0
            assert numbers(got, 1) == [self.model.popleft()]
        else:
            assert dequeue(self.ring, got) == -errno.ENOENT

    @rule(wish=WISH)
    def take_bulk(self, wish):
        got = words([CANARY] * (wish + MARGIN))
        if wish <= len(self.model):
            assert dequeue_bulk(self.ring, got, wish) == 0
            self.must_have_taken(got, wish)
        else:
            assert dequeue_bulk(self.ring, got, wish) == -errno.ENOENT
        assert got[wish:] == [CANARY] * MARGIN

    @rule(wish=WISH)
    def take_burst(self, wish):
        got = words([CANARY] * (wish + MARGIN))
        taken = dequeue_burst(self.ring, got, wish)
        assert taken == min(wish, len(self.model))
        self.must_have_taken(got, taken)
        assert got[wish:] == [CANARY] * MARGIN

    def must_have_taken(self, got, taken):
        assert numbers(got, taken) == [
            self.model.popleft() for _ in range(taken)]

    @rule()
    def fill(self):
        room = self.capacity - len(self.model)
        more = list(range(1, room + 1))
        assert enqueue_bulk(self.ring, words(more), room) == 0
        self.model.extend(more)

    @rule()
    def move(self):
        """A ring has no pointers inside, so it works at another address."""
        if self.memory is None:
            return
        start = ctypes.addressof(self.memory)
        copy = ctypes.create_string_buffer(self.memory.raw, len(self.memory))
        delta = (start - ctypes.addressof(copy)) % ALIGN
        if delta == 0:
            self.ring += ctypes.addressof(copy) - start
            self.memory = copy

    @invariant()
    def counts(self):
        assert count(self.ring) == len(self.model)
        assert free_count(self.ring) == self.capacity - len(self.model)
        assert capacity_of(self.ring) == self.capacity

    def teardown(self):
        if not hasattr(self, "model"):
            return
        got = words([CANARY] * (len(self.model) + MARGIN))
        rest = len(self.model)
        assert dequeue_burst(self.ring, got, rest + 1) == rest
        self.must_have_taken(got, rest)
        if self.memory is None:
            destroy(self.ring)
        else:
            assert set(self.memory.raw[self.tail:-1]) <= {0xA5}


TestRing = Ring.TestCase


def test_what_cannot_be_made_is_refused():
    ring = VOID(CANARY)
    for capacity, flags in ((0, 0), (MAX_CAPACITY + 1, 0), (1, 4), (1, 1 << 31)):
        assert size_of(capacity, flags) == 0
        assert create(ring, capacity, flags) == -errno.EINVAL
        assert init(None, capacity, flags) == -errno.EINVAL
    assert ring.value == CANARY
    destroy(None)
