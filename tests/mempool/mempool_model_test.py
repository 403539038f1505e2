# SPDX-License-Identifier: BSD-3-Clause
"""The pools of the installed libhone against a model: any order of calls, by
any cache, leaves each object where the model has it. The inline functions
are called through the copies that the library exports."""
import ctypes
import errno
import os
import threading
import time

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

import mempool_model as lib
from library import VOID, numbers, words
from mempool_model import Cache, Held, PoolAndModel

WHICH = st.integers(0, 3)  # of the caches that are open
COUNT = st.one_of(st.integers(0, 8), st.integers(0, 220))


def with_cache(condition=lambda self: True):
    """For rules that need an open cache."""
    return precondition(lambda self: self.caches and condition(self))


def debug(condition=lambda self: True):
    """For rules that need the debug flavour."""
    return with_cache(lambda self: self.attr.flags & lib.DEBUG and condition(self))


class Pool(PoolAndModel):
    """The operations on a pool."""

    # Caches.

    @rule()
    def open(self):
        address = VOID(1)
        error = lib.cache_open(self.pool, address)
        if len(self.caches) == self.attr.max_caches:
            assert error == -errno.EAGAIN and address.value == 1
        else:
            assert error == 0
            assert address.value not in [c.address for c in self.caches]
            self.caches.append(Cache(address.value))

    @rule()
    def open_own(self):
        address = lib.thread_cache(self.pool)
        if self.own in self.caches:
            assert address == self.own.address
        elif len(self.caches) == self.attr.max_caches:
            assert address is None
        else:
            self.own = Cache(address)
            self.caches.append(self.own)

    @with_cache()
    @rule(which=WHICH)
    def close(self, which):
        cache = self.pick(which)
        if self.may_hold(self.magazines, len(self.caches) - 1):
            lib.cache_close(cache.address)
            self.caches.remove(cache)
            if not self.caches:
                assert self.stats().shared == self.present()

    @precondition(lambda self: len(self.caches) < self.attr.max_caches)
    @rule(count=COUNT, back=COUNT)
    def visit_of_a_thread(self, count, back):
        """Its cache closes with it, and other caches can get its objects."""
        got = words([], room=count + 1)
        taken = []

        def visit():
            address = lib.thread_cache(self.pool)
            taken.append(lib.get_burst(address, got, count))
            lib.put_bulk(address, got, min(back, taken[0]))

        thread = threading.Thread(target=visit)
        thread.start()
        thread.join()
        # Python is done with a thread shortly before the system is.
        while self.stats().caches > len(self.caches):
            time.sleep(0.0001)
        if taken[0] < count:
            self.failed()
        self.arrived(numbers(got, taken[0])[min(back, taken[0]):])

    # Objects.

    @with_cache()
    @rule(which=WHICH)
    def get_one(self, which):
        cache = self.pick(which)
        fewest, most = self.bounds(cache)
        obj = lib.get(cache.address)
        if obj is None:
            assert fewest == 0
            self.failed()
        else:
            assert most > 0
            self.arrived([obj], cache)

    @with_cache()
    @rule(which=WHICH, n=COUNT)
    def get_bulk(self, which, n):
        cache, objs = self.pick(which), words([], room=n + 1)
        fewest, most = self.bounds(cache)
        error = lib.get_bulk(cache.address, objs, n)
        if error:
            assert error == -errno.ENOBUFS and n > fewest
            self.failed()
            self.settle(cache)
        else:
            assert n <= most
            self.arrived(numbers(objs, n), cache)
        assert objs[n] is None

    @with_cache()
    @rule(which=WHICH, n=COUNT)
    def get_burst(self, which, n):
        cache, objs = self.pick(which), words([], room=n + 1)
        fewest, most = self.bounds(cache)
        got = lib.get_burst(cache.address, objs, n)
        assert min(n, fewest) <= got <= min(n, most)
        if got < n:
            self.failed()
        self.arrived(numbers(objs, got), cache)
        assert objs[n] is None

    def giving(self, n):
        """Up to n objects that may go back now, written to before."""
        objs = self.out[-n:] if n else []
        if not self.may_hold(self.magazines, len(self.caches), objs):
            return []
        self.scribble(objs)
        return objs

    @with_cache(lambda self: self.out)
    @rule(which=WHICH)
    def put_one(self, which):
        for obj in self.giving(1):
            lib.put(self.pick(which).address, obj)
            self.left([obj])

    @with_cache()
    @rule(which=WHICH, n=COUNT)
    def put_bulk(self, which, n):
        objs = self.giving(n)
        lib.put_bulk(self.pick(which).address, words(objs), len(objs))
        self.left(objs)

    @with_cache(lambda self: self.out)
    @rule(which=WHICH)
    def put_and_get_back(self, which):
        """The object that was put last comes first."""
        cache = self.pick(which)
        for obj in self.giving(1):
            lib.put(cache.address, obj)
            self.left([obj])
            assert lib.get(cache.address) == obj
            self.arrived([obj], cache)

    @with_cache()
    @rule(which=WHICH, gets=st.lists(st.booleans(), max_size=30))
    def cursor(self, which, gets):
        cache, cursor = self.pick(which), lib.Cursor()
        fewest, most = self.bounds(cache)
        got, failures = [], 0
        lib.cursor_begin(cursor, cache.address)
        for is_get in gets:
            if is_get:
                obj = lib.cursor_get(cursor)
                assert len(got) < most if obj else len(got) >= fewest
                got += [obj] if obj else []
                failures += not obj
            elif got and not self.magazines:
                lib.cursor_put(cursor, got[-1])
                assert lib.cursor_get(cursor) == got[-1]
                lib.cursor_put(cursor, got.pop())
        lib.cursor_end(cursor)
        self.before.failures += failures
        self.arrived(got, cache, only_got=all(gets))

    @with_cache()
    @rule(which=WHICH, counts=st.lists(st.integers(-60, 60), max_size=12))
    def cursor_in_bulk(self, which, counts):
        """Above 0: get that many; below 0: put at most that many."""
        cache, cursor = self.pick(which), lib.Cursor()
        fewest, most = self.bounds(cache)
        got, failures = [], 0
        lib.cursor_begin(cursor, cache.address)
        for n in counts:
            if n >= 0:
                objs = words([], room=n + 1)
                error = lib.cursor_get_bulk(cursor, objs, n)
                assert error in (0, -errno.ENOBUFS) and objs[n] is None
                assert len(got) + n <= most if not error else (len(got) + n > fewest)
                got += [] if error else numbers(objs, n)
                failures += error != 0
            elif got and not self.magazines:
                back, got = got[n:], got[:n]
                lib.cursor_put_bulk(cursor, words(back), len(back))
        lib.cursor_end(cursor)
        self.before.failures += failures
        self.arrived(got, cache, only_got=min(counts, default=0) >= 0)

    # Reserves.

    @with_cache()
    @rule(which=WHICH, n=COUNT)
    def reserve(self, which, n):
        cache = self.pick(which)
        fewest, most = self.bounds(cache)
        error = lib.reserve(cache.address, n)
        if error:
            assert error == -errno.ENOBUFS and n > fewest
            self.failed()
        else:
            assert n <= most
            cache.reserve = n

    @with_cache()
    @rule(which=WHICH)
    def get_as_many_as_are_reserved(self, which):
        cache = self.pick(which)
        n = cache.reserve
        objs = words([], room=n + 1)
        assert lib.get_bulk(cache.address, objs, n) == 0
        self.arrived(numbers(objs, n), cache)

    # Magazines.

    @with_cache()
    @rule(which=WHICH)
    def get_magazine(self, which):
        cache, stats = self.pick(which), self.stats()
        full = stats.shared >= self.full()
        if not self.may_hold(self.magazines, len(self.caches) - (not full)):
            return
        fewest, most = (n - cache.reserve for n in self.bounds(cache))
        magazine = lib.get_magazine(cache.address)
        if not magazine:
            assert fewest == 0
            self.failed()
            return
        held = Held(magazine.contents)
        assert most > 0 and 1 <= len(held.came) <= stats.cache_size
        assert len(held.came) >= self.full() or not full
        assert ctypes.addressof(held.magazine) % 64 == 0
        self.arrived(held.came)
        del self.out[-len(held.came):]
        self.magazines.append(held)

    @with_cache(lambda self: self.magazines)
    @rule(which=WHICH, index=WHICH)
    def put_magazine(self, which, index):
        held = self.magazines[index % len(self.magazines)]
        others = [other for other in self.magazines if other is not held]
        if self.may_hold(others, len(self.caches), held.objects()):
            self.scribble(held.objects())
            lib.put_magazine(self.pick(which).address, held.magazine)
            self.magazines = others

    @precondition(lambda self: self.magazines)
    @rule(index=WHICH, n=COUNT)
    def take_out_of_a_magazine(self, index, n):
        m = self.magazines[index % len(self.magazines)].magazine
        n = min(n, m.count)
        self.out += numbers(m.objects, m.count)[m.count - n:]
        m.count -= n

    @precondition(lambda self: self.magazines)
    @rule(index=WHICH, n=COUNT)
    def fill_into_a_magazine(self, index, n):
        m = self.magazines[index % len(self.magazines)].magazine
        n = min(n, len(self.out), self.stats().cache_size - m.count)
        for _ in range(n):
            m.objects[m.count] = self.out.pop(0)
            m.count += 1

    # The debug flavour.

    @debug()
    @rule(which=WHICH, index=st.integers(0, 199))
    def put_what_is_in_the_pool(self, which, index):
        obj = self.objects[index % len(self.objects)]
        if obj not in self.out and obj not in self.held():
            lib.put(self.pick(which).address, obj)
            self.told((lib.DOUBLE_PUT, obj))

    @debug()
    @rule(which=WHICH, index=st.integers(0, 199), off=st.integers(1, 4000))
    def put_what_is_no_object(self, which, index, off):
        address = self.objects[index % len(self.objects)] + off
        if address not in self.made:
            lib.put(self.pick(which).address, address)
            self.told((lib.FOREIGN, address))

    @debug(lambda self: self.out)
    @rule(which=WHICH)
    def write_after_put(self, which):
        cache = self.pick(which)
        for obj in self.giving(1):
            lib.put(cache.address, obj)
            self.left([obj])
            self.scribble([obj])
            assert lib.get(cache.address) == obj
            self.told((lib.WRITE_AFTER_PUT, obj))
            self.arrived([obj], cache)

    @debug(lambda self: self.out)
    @rule(which=WHICH, before=st.booleans())
    def write_beside(self, which, before):
        for obj in self.giving(1):
            ctypes.memset(obj - 1 if before else obj + self.attr.object_size, 0x11, 1)
            lib.put(self.pick(which).address, obj)
            self.told((lib.OVERRUN, obj))
            self.left([obj])

    # Ends.

    @rule()
    def destroy_while_in_use(self):
        others = [c for c in self.caches if c is not self.own]
        if others or self.out or self.magazines:
            assert lib.destroy(self.pool) == -errno.EBUSY
            self.caches = others  # it closes the thread's own

    @rule()
    def fork(self):
        child = os.fork()
        if child == 0:
            os._exit(self.life_of_the_child())
        assert os.waitpid(child, 0)[1] == 0

    def life_of_the_child(self):
        """Returns 0 if the child can get every object that is not out."""
        try:
            n, address = self.present(), VOID()
            absent = self.out + self.held()
            assert lib.after_fork(self.pool) == len(absent)
            assert lib.cache_open(self.pool, address) == 0
            objs = words([], room=n + 1)
            assert lib.get_burst(address, objs, n + 1) == n
            assert not set(numbers(objs, n)) & set(absent)
            lib.put_bulk(address, objs, n)
            lib.put_bulk(address, words(absent), len(absent))
            lib.cache_close(address)
            assert lib.destroy(self.pool) == 0
            return 0
        except BaseException:  # any exception: the parent reports it
            return 1

    def teardown(self):
        if not hasattr(self, "before"):
            return
        if not self.caches:
            self.open()
        address = self.caches[0].address
        for held in self.magazines:
            lib.put_magazine(address, held.magazine)
        lib.put_bulk(address, words(self.out), len(self.out))
        for cache in self.caches:
            lib.cache_close(cache.address)
        assert lib.available(self.pool) == self.attr.capacity
        assert lib.destroy(self.pool) == 0
        assert not self.faults


TestPool = Pool.TestCase
TestPool.settings = settings(stateful_step_count=60)


def test_attributes_out_of_range_are_refused():
    for name, value in (("object_size", 0), ("capacity", 0),
                        ("alignment", 3),
                        ("cache_size", lib.CACHE_MAX + 1),
                        ("max_caches", 65536), ("flags", 128),
                        ("numa_node", -2), ("object_size", 2 ** 63),
                        ("capacity", 2 ** 63), ("memory", 8)):
        attr, pool = lib.Attr(), VOID(1)
        lib.attr_init(attr)
        attr.object_size = attr.capacity = 8
        assert lib.memory_size(attr) > 0
        setattr(attr, name, value)
        assert lib.memory_size(attr) == 0, name
        assert lib.create(pool, attr) == -errno.EINVAL, name
        assert pool.value == 1
