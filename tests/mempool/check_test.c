/* SPDX-License-Identifier: BSD-3-Clause */
/* What the debug flavour and the audit find. */
#include "mempool_support.h"

#if ASAN
/* The children abort by design: names in their reports would cost a minute. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "symbolize=0";
}
#endif

#define SIZE 43

static struct hone_mempool *
debug_pool(struct faults *faults)
{
	struct hone_mempool_attr attr = attributes(20, 5, 2);

	attr.object_size = SIZE;
	return noting_pool(faults, attr);
}

/* The debug flavour has no inline path: it checks each object of a burst. */
TEST(a_second_put_by_a_cursor_is_told)
{
	struct faults faults;
	struct hone_mempool *pool = debug_pool(&faults);
	struct hone_mempool_cache *c = opened(pool);
	struct hone_mempool_cursor cursor;
	void *objs[20];

	hone_mempool_cursor_begin(&cursor, c);
	assert_ok(hone_mempool_cursor_get_bulk(&cursor, objs, 20));
	hone_mempool_cursor_put_bulk(&cursor, objs, 20);
	told(&faults, 0, NULL);
	hone_mempool_cursor_put_bulk(&cursor, objs + 7, 1);
	told(&faults, HONE_MEMPOOL_FAULT_DOUBLE_PUT, objs[7]);
	assert_ok(hone_mempool_cursor_get_bulk(&cursor, objs, 20));
	told(&faults, 0, NULL);
	hone_mempool_cursor_end(&cursor);
	audited(pool, 20);
	hone_mempool_put_bulk(c, objs, 20);
	closed_and_destroyed(pool, c);
}

TEST(a_second_put_is_told_and_left_out)
{
	struct faults faults;
	struct hone_mempool *pool = debug_pool(&faults);
	struct hone_mempool_cache *a = opened(pool), *b = opened(pool);
	void *objs[3];

	objs[0] = hone_mempool_get(a);
	hone_mempool_put(a, objs[0]);
	hone_mempool_put(b, objs[0]);
	told(&faults, HONE_MEMPOOL_FAULT_DOUBLE_PUT, objs[0]);
	audited(pool, 0);
	assert_ok(hone_mempool_get_bulk(a, objs, 2));
	objs[2] = objs[0];
	hone_mempool_put_bulk(b, objs, 3);
	told(&faults, HONE_MEMPOOL_FAULT_DOUBLE_PUT, objs[0]);
	audited(pool, 0);
	hone_mempool_cache_close(a);
	closed_and_destroyed(pool, b);
}

TEST(a_foreign_pointer_is_told_and_left_out)
{
	struct faults faults;
	struct hone_mempool *pool = debug_pool(&faults);
	struct hone_mempool_cache *c = opened(pool);
	struct hone_mempool_magazine *m;
	char *obj = hone_mempool_get(c), other[SIZE];

	hone_mempool_put(c, other);
	told(&faults, HONE_MEMPOOL_FAULT_FOREIGN, other);
	hone_mempool_put(c, obj + 1);
	told(&faults, HONE_MEMPOOL_FAULT_FOREIGN, obj + 1);
	hone_mempool_put(c, NULL);
	told(&faults, HONE_MEMPOOL_FAULT_FOREIGN, NULL);
	hone_mempool_put(c, obj);
	m = hone_mempool_get_magazine(c);
	obj = m->objects[1];
	m->objects[1] = other;
	hone_mempool_put_magazine(c, m);
	told(&faults, HONE_MEMPOOL_FAULT_FOREIGN, other);
	audited(pool, 1);
	hone_mempool_put(c, obj);
	closed_and_destroyed(pool, c);
}

/* Whether the sanitizer stops a child that writes there. */
static void
sanitized(volatile char *byte)
{
	pid_t child = fork();

	if (child == 0) {
		(void)freopen("/dev/null", "w", stderr);
		*byte = 0;
		_exit(0);
	}
	assert_int_not_equal(support_end_of(child), 0);
}

TEST(writes_after_put_are_told)
{
	struct faults faults;
	struct hone_mempool *pool = debug_pool(&faults);
	struct hone_mempool_cache *c = opened(pool);
	struct hone_mempool_findings findings;

	for (size_t at = 0; at < SIZE; at++) {
		char *obj = hone_mempool_get(c);

		hone_mempool_put(c, obj);
		if (ASAN) { /* detects the write first, and aborts */
			sanitized(obj + at);
			continue;
		}
		obj[at] ^= 0x40;
		hone_mempool_audit(pool, &findings, note, &faults);
		assert_int_equal(findings.damaged, 1);
		told(&faults, HONE_MEMPOOL_FAULT_WRITE_AFTER_PUT, obj);
		assert_ptr_equal(hone_mempool_get(c), obj);
		told(&faults, HONE_MEMPOOL_FAULT_WRITE_AFTER_PUT, obj);
		hone_mempool_put(c, obj);
		told(&faults, 0, NULL);
	}
	closed_and_destroyed(pool, c);
}

/* obj is out; byte is in the gap at one of its ends. */
static void
written_beside(struct hone_mempool *pool, struct hone_mempool_cache *c,
	struct faults *faults, char *obj, char *byte)
{
	struct hone_mempool_findings findings;

	if (ASAN) {
		sanitized(byte);
		return;
	}
	*byte = 0;
	hone_mempool_put(c, obj);
	told(faults, HONE_MEMPOOL_FAULT_OVERRUN, obj);
	*byte = 0;
	hone_mempool_audit(pool, &findings, NULL, NULL);
	assert_int_equal(findings.damaged, 1);
	assert_ptr_equal(hone_mempool_get(c), obj);
	told(faults, HONE_MEMPOOL_FAULT_OVERRUN, obj);
}

TEST(writes_beside_an_object_are_told_and_those_to_it_are_not)
{
	struct faults faults;
	struct hone_mempool *pool = debug_pool(&faults);
	struct hone_mempool_cache *c = opened(pool);
	void *objs[20];

	assert_ok(hone_mempool_get_bulk(c, objs, 20));
	for (int i = 0; i < 20; i++)
		memset(objs[i], i, SIZE);
	hone_mempool_put_bulk(c, objs, 20);
	audited(pool, 0);
	told(&faults, 0, NULL);
	assert_ok(hone_mempool_get_bulk(c, objs, 20));
	for (int i = 0; i < 20; i++) {
		char *obj = objs[i];

		written_beside(pool, c, &faults, obj, obj + SIZE);
		written_beside(pool, c, &faults, obj, obj - 1);
	}
	hone_mempool_put_bulk(c, objs, 20);
	closed_and_destroyed(pool, c);
}

POOL_TEST(without_a_handler_a_fault_aborts,
	flagged_pool(HONE_MEMPOOL_DEBUG, 4, 2, 1))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		hone_mempool_put(c, &status);
		_exit(0);
	}
	status = support_end_of(child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void
doubled_and_foreign_are_named(
	struct hone_mempool *pool, struct hone_mempool_cache *c, void *object)
{
	struct hone_mempool_findings findings;
	struct faults faults = {0};
	void *stranger = (char *)object + 1;

	hone_mempool_put(c, object);
	hone_mempool_audit(pool, &findings, note, &faults);
	assert_int_equal(findings.doubled, 1);
	assert_int_equal(findings.in_pool, 30);
	told(&faults, HONE_MEMPOOL_FAULT_DOUBLED, object);
	assert_ptr_equal(hone_mempool_get(c), object);
	hone_mempool_put(c, stranger);
	hone_mempool_audit(pool, &findings, note, &faults);
	assert_int_equal(findings.foreign, 1);
	told(&faults, HONE_MEMPOOL_FAULT_FOREIGN, stranger);
	assert_ptr_equal(hone_mempool_get(c), stranger);
}

POOL_TEST(the_audit_names_what_is_out_doubled_or_foreign, pool_of(30, 8, 2))
{
	struct hone_mempool_findings findings;
	struct faults faults = {0};
	void *objs[3];

	assert_ok(hone_mempool_get_bulk(c, objs, 1));
	hone_mempool_audit(pool, &findings, note, &faults);
	told(&faults, HONE_MEMPOOL_FAULT_OUT, objs[0]);
	hone_mempool_put(c, objs[0]);
	if (!ASAN) /* ends with a second put, and poisons a foreign object */
		doubled_and_foreign_are_named(pool, c, objs[0]);
}

#if ASAN
POOL_TEST(the_sanitizer_sees_a_second_put_of_every_flavour, pool_of(30, 8, 2))
{
	void *obj = hone_mempool_get(c);
	pid_t child = fork();

	if (child == 0) {
		hone_mempool_put(c, obj);
		(void)freopen("/dev/null", "w", stderr);
		hone_mempool_put(c, obj);
		_exit(0);
	}
	assert_int_not_equal(support_end_of(child), 0);
	hone_mempool_put(c, obj);
}
#endif

static void
every_object_is_visited_in_order(void *object, size_t index, void *arg)
{
	char **last = arg;

	assert_true(*last == NULL || (char *)object > *last);
	assert_int_equal((uintptr_t)object % 64, 0);
	(void)index;
	*last = object;
}

static void
count_visits(void *object, size_t index, void *arg)
{
	(void)object;
	assert_int_equal(index, (*(size_t *)arg)++);
}

TEST(iteration_visits_every_object)
{
	struct hone_mempool *pool = pool_of(37, 8, 2);
	char *last = NULL;
	size_t n = 0;

	hone_mempool_iterate(pool, every_object_is_visited_in_order, &last);
	hone_mempool_iterate(pool, count_visits, &n);
	assert_int_equal(n, 37);
	destroyed(pool);
}
