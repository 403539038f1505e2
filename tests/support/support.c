/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <sched.h>
#include <time.h>
#include <hone/cpu.h>
#include "part.h"
#include "support.h"

uint64_t
support_seed(void)
{
	const char *given = getenv("HONE_SEED");
	struct timespec now;
	uint64_t seed;

	if (given) {
		seed = strtoull(given, NULL, 0);
	} else {
		clock_gettime(CLOCK_REALTIME, &now);
		seed = (uint64_t)now.tv_sec * 1000000000u +
		       (uint64_t)now.tv_nsec;
	}
	seed += seed == 0;
	printf("# HONE_SEED=%" PRIu64 "\n", seed);
	fflush(stdout); /* abort() drops what is buffered */
	return seed;
}

uint64_t
support_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

size_t
support_below(uint64_t *state, size_t below)
{
	return (size_t)(support_random(state) >> 11) % below;
}

void
support_threads(void *(*fn)(void *), void *arguments, unsigned n, size_t size)
{
	pthread_t threads[16];

	assert_true(n <= sizeof(threads) / sizeof(*threads));
	for (unsigned i = 0; i < n; i++)
		assert_ok(pthread_create(
			&threads[i], NULL, fn, (char *)arguments + i * size));
	for (unsigned i = 0; i < n; i++)
		assert_ok(pthread_join(threads[i], NULL));
}

int
support_end_of(pid_t child)
{
	int status = 0;

	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

void
support_exits_with_0(pid_t child)
{
	int status = support_end_of(child);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

void
support_one_cpu(void)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(&one);
	if (cpu >= 0) {
		CPU_SET((size_t)cpu, &one);
		(void)sched_setaffinity(0, sizeof(one), &one);
	}
}

static bool
must_run(const char *what)
{
	const char *list = getenv("HONE_MUST_RUN");
	size_t n = strlen(what);

	while (list && *list) {
		size_t word = strcspn(list, ",");

		if (word == n && strncmp(list, what, n) == 0)
			return true;
		list += word + (list[word] == ',');
	}
	return false;
}

int
support_lift_limit(void **state)
{
	(void)state;
	hone_cpu_limit(HONE_CPU_ALL);
	return 0;
}

int
support_skip_all(const char *what, const char *why)
{
	if (must_run(what)) {
		printf("1..1\nnot ok 1 - %s must run here, but %s\n", what,
			why);
		return 1;
	}
	printf("1..0 # SKIP %s: %s\n", what, why);
	return 0;
}

struct support_choice
support_choose(int argc, char **argv, const void *table, size_t n, size_t bytes)
{
	struct support_choice choice = {NULL, 2, 1};
	const char *entry = table;

	for (; argc > 1 && n > 0; entry += bytes, n--) {
		const struct hone_variant *row = (const void *)entry;

		if (strcmp(row->name, argv[1]) != 0)
			continue;
		if (argc > 2)
			choice.stride = strtoul(argv[2], NULL, 10);
		if (hone_cpu_has(row->needs))
			choice.variant = entry;
		else
			choice.status = support_skip_all(
				row->name, "this CPU lacks a feature it needs");
		return choice;
	}
	fprintf(stderr, "usage: %s VARIANT [STRIDE]\n", argv[0]);
	return choice;
}

void
fence_create(struct fence *f, size_t size, size_t align)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t at;

	size = (size + page - 1) & ~(page - 1);
	f->map_size = size + align + 2 * page;
	f->map = mmap(NULL, f->map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);
	if (f->map == MAP_FAILED) {
		perror("fence: mmap");
		exit(1);
	}
	at = ((uintptr_t)f->map + page + align - 1) & ~(align - 1);
	f->start = (unsigned char *)at;
	f->end = f->start + size;
	if (mprotect(f->start, size, PROT_READ | PROT_WRITE) != 0) {
		perror("fence: mprotect");
		exit(1);
	}
}

void
fence_destroy(struct fence *f)
{
	munmap(f->map, f->map_size);
}
