# SPDX-License-Identifier: BSD-3-Clause
"""A pool and the model of it: which objects are out, and how many each cache
has in reserve. The model does not track what a cache has loaded. So if other
caches are open, the number of objects that a get finds has two bounds."""
import ctypes
import errno

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant

from library import SIZE, VOID, declare, numbers

INT, UNSIGNED = ctypes.c_int, ctypes.c_uint
POINTERS = ctypes.POINTER(VOID)
CONSTRUCTOR = ctypes.CFUNCTYPE(None, VOID, SIZE, VOID)
ON_FAULT = ctypes.CFUNCTYPE(None, INT, VOID, VOID)
CACHE_MAX = 504
NO_COLOUR, DEBUG, EXACT = 4, 8, 32
(OUT, DOUBLED, FOREIGN, DOUBLE_PUT, WRITE_AFTER_PUT, OVERRUN, NO_MAGAZINE) = range(1, 8)


class Attr(ctypes.Structure):
    """struct hone_mempool_attr"""
    _fields_ = [("object_size", SIZE), ("alignment", SIZE), ("capacity", SIZE),
                ("cache_size", SIZE), ("max_caches", UNSIGNED),
                ("flags", UNSIGNED), ("numa_node", INT), ("memory", VOID),
                ("memory_size", SIZE), ("constructor", CONSTRUCTOR),
                ("constructor_arg", VOID), ("on_fault", ON_FAULT),
                ("on_fault_arg", VOID), ("name", ctypes.c_char_p),
                ("reserved", VOID * 4)]


class Cursor(ctypes.Structure):
    """struct hone_mempool_cursor"""
    _fields_ = [("cache", VOID), ("private", SIZE * 3)]


class Magazine(ctypes.Structure):
    """struct hone_mempool_magazine"""
    _fields_ = [("count", SIZE),
                ("hidden", VOID * (64 // ctypes.sizeof(SIZE) - 1)),
                ("objects", VOID * CACHE_MAX)]


class Stats(ctypes.Structure):
    """struct hone_mempool_stats"""
    _fields_ = [("capacity", SIZE), ("cache_size", SIZE), ("stride", SIZE),
                ("shared", SIZE), ("loaded", SIZE), ("reserved", SIZE),
                ("caches", UNSIGNED), ("max_caches", UNSIGNED),
                ("refills", SIZE), ("flushes", SIZE), ("steals", SIZE),
                ("failures", SIZE), ("later", SIZE * 4)]


class Findings(ctypes.Structure):
    """struct hone_mempool_findings"""
    _fields_ = [*((name, SIZE) for name in
                  ("in_pool", "out", "doubled", "foreign", "damaged")),
                ("reserved", SIZE * 3)]


attr_init = declare("hone_mempool_attr_init", None, ctypes.POINTER(Attr))
memory_size = declare("hone_mempool_memory_size", SIZE, ctypes.POINTER(Attr))
create = declare("hone_mempool_create", INT, POINTERS, ctypes.POINTER(Attr))
destroy = declare("hone_mempool_destroy", INT, VOID)
cache_open = declare("hone_mempool_cache_open", INT, VOID, POINTERS)
cache_close = declare("hone_mempool_cache_close", None, VOID)
thread_cache = declare("hone_mempool_thread_cache", VOID, VOID)
get = declare("hone_mempool_get", VOID, VOID)
put = declare("hone_mempool_put", None, VOID, VOID)
get_bulk = declare("hone_mempool_get_bulk", INT, VOID, POINTERS, SIZE)
get_burst = declare("hone_mempool_get_burst", SIZE, VOID, POINTERS, SIZE)
put_bulk = declare("hone_mempool_put_bulk", None, VOID, POINTERS, SIZE)
cursor_begin = declare("hone_mempool_cursor_begin", None, ctypes.POINTER(Cursor), VOID)
cursor_get = declare("hone_mempool_cursor_get", VOID, ctypes.POINTER(Cursor))
cursor_put = declare("hone_mempool_cursor_put", None, ctypes.POINTER(Cursor), VOID)
cursor_get_bulk = declare("hone_mempool_cursor_get_bulk", INT,
                          ctypes.POINTER(Cursor), POINTERS, SIZE)
cursor_put_bulk = declare("hone_mempool_cursor_put_bulk", None,
                          ctypes.POINTER(Cursor), POINTERS, SIZE)
cursor_end = declare("hone_mempool_cursor_end", None, ctypes.POINTER(Cursor))
get_magazine = declare("hone_mempool_get_magazine", ctypes.POINTER(Magazine), VOID)
put_magazine = declare("hone_mempool_put_magazine", None, VOID,
                       ctypes.POINTER(Magazine))
reserve = declare("hone_mempool_reserve", INT, VOID, SIZE)
after_fork = declare("hone_mempool_after_fork", SIZE, VOID)
available = declare("hone_mempool_available", SIZE, VOID)
get_stats = declare("hone_mempool_get_stats", None, VOID, ctypes.POINTER(Stats))
iterate = declare("hone_mempool_iterate", None, VOID, CONSTRUCTOR, VOID)
audit = declare("hone_mempool_audit", None, VOID, ctypes.POINTER(Findings),
                ON_FAULT, VOID)

SHAPES = st.fixed_dictionaries({
    "object_size": st.sampled_from([1, 7, 8, 24, 64, 100, 2048]),
    "alignment": st.sampled_from([1, 8, 16, 64, 256]),
    "capacity": st.one_of(st.integers(1, 12), st.integers(1, 200)),
    "cache_size": st.one_of(st.integers(1, 6), st.integers(0, 40)),
    "max_caches": st.integers(1, 4),
    "flags": st.sampled_from([0, NO_COLOUR, DEBUG, EXACT, EXACT | DEBUG]),
})
ALIGN = 256  # the largest of them


class Cache:
    """The model's state of a cache."""

    def __init__(self, address):
        self.address, self.reserve = address, 0


class Held:
    """A magazine that is out, and the objects that it came with."""

    def __init__(self, magazine):
        self.magazine, self.came = magazine, []
        self.came = self.objects()

    def objects(self):
        return numbers(self.magazine.objects, self.magazine.count)


class PoolAndModel(RuleBasedStateMachine):
    """A pool, its caches, who has which object, and what must hold."""

    @initialize(shape=SHAPES, external=st.booleans())
    def make(self, shape, external):
        self.attr = attr = Attr()
        attr_init(attr)
        for name, value in shape.items():
            setattr(attr, name, value)
        self.made, self.faults = {}, []
        self.callbacks = (CONSTRUCTOR(self.construct), ON_FAULT(self.on_fault))
        attr.constructor, attr.on_fault = self.callbacks
        if external:
            self.give_memory()
        pool = VOID()
        assert create(pool, attr) == 0
        self.pool = pool.value
        self.look_at_objects()
        self.out, self.caches, self.magazines = [], [], []
        self.own = None  # the cache of hone_mempool_thread_cache()
        self.before = self.stats()

    def construct(self, obj, index, _):
        self.made[obj] = index
        ctypes.memset(obj, index % 251, self.attr.object_size)

    def on_fault(self, fault, obj, _):
        self.faults.append((fault, obj))

    def give_memory(self):
        attr, size = self.attr, memory_size(self.attr)
        self.memory = ctypes.create_string_buffer(size + ALIGN)
        start = ctypes.addressof(self.memory)
        attr.memory = (start + ALIGN - 1) // ALIGN * ALIGN
        attr.memory_size = size - 1
        assert create(VOID(), attr) == -errno.ENOBUFS
        assert not self.made
        attr.memory_size = size

    def look_at_objects(self):
        seen, attr = [], self.attr
        iterate(self.pool, CONSTRUCTOR(
            lambda obj, index, _: seen.append((obj, index))), None)
        assert dict(seen) == self.made and len(seen) == attr.capacity
        self.objects = [obj for obj, _ in seen]
        stride = self.stats().stride
        assert self.objects == [self.objects[0] + i * stride for i in range(len(seen))]
        assert stride >= attr.object_size
        assert all(obj % attr.alignment == 0 for obj in self.objects)
        self.content = {obj: self.read(obj) for obj in self.objects}
        assert [self.content[obj][0] for obj in self.objects] == [
            i % 251 for i in range(len(seen))]
        if attr.memory:
            end = self.objects[-1] + attr.object_size
            assert attr.memory <= self.objects[0]
            assert end <= attr.memory + attr.memory_size

    def read(self, obj):
        return ctypes.string_at(obj, self.attr.object_size)

    def stats(self):
        stats = Stats()
        get_stats(self.pool, stats)
        return stats

    # What the model predicts.

    def held(self):
        """The objects in magazines that are out."""
        return [obj for held in self.magazines for obj in held.objects()]

    def present(self):
        return self.attr.capacity - len(self.out) - len(self.held())

    def reserved(self):
        return sum(c.reserve for c in self.caches)

    def kept_by_others(self):
        """The most objects that a cache cannot get from the others."""
        if self.attr.flags & EXACT:
            return 0
        return (len(self.caches) - 1) * self.stats().cache_size

    def bounds(self, cache):
        """The fewest and the most objects that this cache can get."""
        most = self.present() - self.reserved()
        others = self.kept_by_others()
        return (max(0, most - others) + cache.reserve, most + cache.reserve)

    def pick(self, which):
        return self.caches[which % len(self.caches)]

    def full(self):
        """The objects of a full magazine."""
        size = self.stats().cache_size
        exact = self.attr.flags & EXACT
        return size - min(size // 4, 64) if exact else size

    def may_hold(self, magazines, caches, back=()):
        """Whether these magazines may be out, once those objects are back:
        all that came full and whose objects are out, and of the others one
        for each cache."""
        out = set(self.out + self.held()) - set(back)
        others = [held for held in magazines
                  if len(held.came) < self.full()
                  or not out.issuperset(held.came)]
        return len(others) <= caches

    # What follows from a step.

    def arrived(self, objs, cache=None, only_got=True):
        """These were got: pairwise different, in the pool, and as put."""
        there = set(self.objects) - set(self.out) - set(self.held())
        assert len(set(objs)) == len(objs) and set(objs) <= there
        for obj in objs:
            assert self.read(obj) == self.content[obj]
            self.out.append(obj)
        if cache:
            self.settle(cache, only_got)

    def settle(self, cache, only_got=True):
        """What was taken out of a reserve is this cache's, and was needed."""
        stats = self.stats()
        drawn = self.reserved() - stats.reserved
        assert 0 <= drawn <= cache.reserve
        cache.reserve -= drawn
        if drawn and only_got:
            assert stats.shared == 0
            assert stats.loaded <= self.kept_by_others()

    def scribble(self, objs):
        for obj in objs:
            value = (self.content[obj][0] * 7 + 13) % 256
            ctypes.memset(obj, value, self.attr.object_size)
            self.content[obj] = self.read(obj)

    def left(self, objs):
        for obj in objs:
            self.out.remove(obj)

    def failed(self):
        """One more get has failed."""
        self.before.failures += 1
        assert self.stats().failures == self.before.failures

    def told(self, *faults):
        """Exactly these faults were reported."""
        assert self.faults == list(faults)
        self.faults.clear()

    # What holds after every step.

    @invariant()
    def counts_agree(self):
        if not hasattr(self, "before"):
            return
        stats = self.stats()
        assert stats.capacity == self.attr.capacity
        assert stats.cache_size == self.attr.cache_size or (
            self.attr.cache_size == 0 and 1 <= stats.cache_size)
        assert stats.caches == len(self.caches)
        assert stats.max_caches == self.attr.max_caches
        assert stats.loaded <= len(self.caches) * stats.cache_size
        assert stats.reserved == self.reserved()
        assert (stats.shared + stats.loaded + stats.reserved
                == available(self.pool) == self.present())
        assert stats.failures == self.before.failures
        for name in ("refills", "flushes", "steals"):
            assert getattr(stats, name) >= getattr(self.before, name)
        self.before = stats

    @invariant()
    def audit_agrees(self):
        if not hasattr(self, "before"):
            return
        findings, absent = Findings(), []
        audit(self.pool, findings, ON_FAULT(
            lambda fault, obj, _: absent.append((obj, fault))), None)
        assert (findings.in_pool, findings.out) == (
            self.present(), self.attr.capacity - self.present())
        assert (findings.doubled, findings.foreign, findings.damaged) == (0, 0, 0)
        assert sorted(absent) == sorted((obj, OUT) for obj in self.out + self.held())
        assert not self.faults
