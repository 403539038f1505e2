/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Huge pages and memory of a NUMA node, as the kernel reports them. If the test
 * runs as root, it reserves the huge pages for its run.
 */
#include <sys/file.h>
#include "mmap_wrap.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define SET_ASIDE "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
#define FREE "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"
#define ADVISED "/sys/kernel/mm/transparent_hugepage/enabled"
#define NEEDED 4 /* huge pages, of which a pool here takes two */
#define POPULATE_WRITE 23

/* What madvise() returns for POPULATE_WRITE, if not 0. The linker redirects
 * these calls of the library to this file. */
static int populate_error, populated;

STANDS_FOR(int, madvise, void *addr, size_t size, int advice)
{
	if (advice == POPULATE_WRITE) {
		populated++;
		errno = populate_error;
		if (populate_error)
			return -1;
	}
	return __real_madvise(addr, size, advice);
}

static long
number_in(const char *path)
{
	FILE *file = fopen(path, "r");
	long n = -1;

	if (file && fscanf(file, "%ld", &n) != 1)
		n = -1;
	if (file)
		(void)fclose(file);
	return n;
}

/* Change the number of reserved huge pages; returns by how many it changed. */
static long
set_aside(long more)
{
	long before, after;
	int fd = open(SET_ASIDE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return 0;
	(void)flock(fd, LOCK_EX); /* another run of this test */
	before = number_in(SET_ASIDE);
	(void)dprintf(fd, "%ld", before + more);
	after = number_in(SET_ASIDE);
	close(fd);
	return after - before;
}

static void
needs_huge_pages(void)
{
	if (number_in(FREE) >= NEEDED)
		return;
	printf("# %d huge pages are needed, %ld are free, and setting some "
	       "aside takes root and memory\n",
		NEEDED, number_in(FREE));
	skip();
}

/*
 * Copy the line of /proc/self/NAME that starts with key, of the mapping that
 * contains addr. Returns false if there is no such line.
 */
static bool
told_of(const char *name, void *addr, const char *key, char line[1024])
{
	FILE *file = fopen(name, "r");
	unsigned long from, to, at = (unsigned long)addr;
	bool in = false, found = false;

	while (file && !found && fgets(line, 1024, file)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			in = at >= from && at < to;
		found = in && strncmp(line, key, strlen(key)) == 0;
	}
	if (file)
		(void)fclose(file);
	return found;
}

static void
first_object(void *object, size_t index, void *arg)
{
	if (index == 0)
		*(void **)arg = object;
}

/* Three megabytes of objects; returns the first of them. */
static void *
objects_of(struct hone_mempool **pool, unsigned flags, int node)
{
	struct hone_mempool_attr attr = attributes(3000, 10, 2);
	void *first = NULL;

	attr.object_size = 1024;
	attr.flags = flags | HONE_MEMPOOL_NO_COLOUR;
	attr.numa_node = node;
	assert_ok(hone_mempool_create(pool, &attr));
	hone_mempool_iterate(*pool, first_object, &first);
	return first;
}

/* AddressSanitizer poisons the objects that are in the pool. */
static void
write_to_all(struct hone_mempool *pool)
{
	static void *objects[3000];
	struct hone_mempool_cache *cache = opened(pool);

	assert_ok(hone_mempool_get_bulk(cache, objects, 3000));
	for (size_t i = 0; i < 3000; i++)
		memset(objects[i], (int)i, 1024);
	hone_mempool_put_bulk(cache, objects, 3000);
	hone_mempool_cache_close(cache);
}

TEST(huge_pages_are_asked_for_politely)
{
	char line[1024];
	struct hone_mempool *pool, *plain;
	void *first = objects_of(&pool, HONE_MEMPOOL_HUGE_ADVISE, -1);
	void *other = objects_of(&plain, 0, -1);
	bool advised = told_of("/proc/self/smaps", first, "VmFlags:", line);
	bool marked = advised && strstr(line, " hg");

	/* Where a huge page may begin. */
	assert_int_equal((uintptr_t)first % HUGE_PAGE, 0);
	if (told_of("/proc/self/smaps", other, "VmFlags:", line))
		assert_null(strstr(line, " hg"));
	destroyed(pool);
	destroyed(plain);
	if (!advised || access(ADVISED, F_OK) != 0) {
		printf("# no transparent huge pages here, or it is not told\n");
		skip();
	}
	assert_true(marked);
}

TEST(huge_pages_that_were_set_aside_are_used)
{
	struct hone_mempool *pool;
	char line[1024];
	void *first;

	needs_huge_pages();
	first = objects_of(&pool, HONE_MEMPOOL_HUGETLB, -1);
	assert_int_equal((uintptr_t)first % HUGE_PAGE, 0);
	assert_true(
		told_of("/proc/self/smaps", first, "KernelPageSize:", line));
	assert_non_null(strstr(line, " 2048 kB"));
	write_to_all(pool);
	destroyed(pool);
	assert_false(
		told_of("/proc/self/smaps", first, "KernelPageSize:", line));
	assert_int_equal(mapped, 0);
}

/* Huge pages have the alignment of 2 MiB alone. */
TEST(objects_in_huge_pages_may_have_a_larger_alignment)
{
	struct hone_mempool_attr attr = attributes(1, 1, 1);
	struct hone_mempool *pool;
	struct hone_mempool_cache *c;
	void *obj;

	needs_huge_pages();
	attr.flags = HONE_MEMPOOL_HUGETLB;
	attr.object_size = attr.alignment = 2 * HUGE_PAGE;
	assert_ok(hone_mempool_create(&pool, &attr));
	/* enough wherever the mapping begins */
	assert_true(mapped >= attr.object_size + attr.alignment - HUGE_PAGE);
	c = opened(pool);
	obj = hone_mempool_get(c);
	assert_int_equal((uintptr_t)obj % attr.alignment, 0);
	memset(obj, 1, attr.object_size);
	hone_mempool_put(c, obj);
	closed_and_destroyed(pool, c);
	assert_int_equal(mapped, 0);
}

TEST(without_huge_pages_there_is_no_pool)
{
	struct hone_mempool_attr attr = attributes(1, 1, 1);
	struct hone_mempool *pool = NULL;

	attr.flags = HONE_MEMPOOL_HUGETLB;
	attr.object_size = (size_t)1 << 40; /* more than a machine has */
	if (sizeof(size_t) < 8 || number_in(FREE) > 1 << 19) {
		printf("# this machine may have a TiB of huge pages, or no "
		       "room for it\n");
		skip();
	}
	assert_int_equal(hone_mempool_create(&pool, &attr), -ENOMEM);
	assert_null(pool);
	assert_int_equal(mapped, 0);
}

/* Whether this system can bind memory; if not, why. */
static void
needs_nodes(void)
{
	struct hone_mempool_attr attr = attributes(1, 1, 1);
	struct hone_mempool *pool;
	int error;

	attr.numa_node = 0;
	error = hone_mempool_create(&pool, &attr);
	if (error == 0) {
		destroyed(pool);
		return;
	}
	/* The kernel or emulator lacks it, or it is not allowed. */
	assert_true(error == -ENOSYS || error == -EPERM);
	printf("# mbind: %s\n", strerror(-error));
	skip();
}

TEST(objects_lie_on_the_node_asked_for)
{
	struct hone_mempool *pool;
	bool bound = false;
	char line[1024];
	void *first;
	FILE *file;

	needs_nodes();
	first = objects_of(&pool, 0, 0);
	write_to_all(pool);
	/* A line has the address of a mapping and its policy. */
	file = fopen("/proc/self/numa_maps", "r");
	while (file && !bound && fgets(line, sizeof(line), file))
		bound = strtoul(line, NULL, 16) == (unsigned long)first &&
			strstr(line, " bind:0 ");
	if (!file)
		printf("# where it is bound to is not told here\n");
	else
		(void)fclose(file);
	assert_true(bound || !file);
	destroyed(pool);
	assert_int_equal(mapped, 0);
}

TEST(a_node_that_is_not_there_is_refused)
{
	struct hone_mempool_attr attr = attributes(100, 10, 2);
	struct hone_mempool *pool = NULL;

	needs_nodes();
	attr.numa_node = 1023;
	assert_int_equal(hone_mempool_create(&pool, &attr), -EINVAL);
	assert_null(pool);
	assert_int_equal(mapped, 0);
}

/* Pages were reserved, but not on that node. */
TEST(a_node_without_huge_pages_is_told_at_once)
{
	struct hone_mempool_attr attr = attributes(3000, 10, 2);
	struct hone_mempool *pool = NULL;

	needs_nodes();
	needs_huge_pages();
	populated = 0;
	(void)objects_of(&pool, HONE_MEMPOOL_HUGETLB, 0);
	assert_int_equal(populated, 1);
	write_to_all(pool);
	destroyed(pool);
	pool = NULL;
	attr.object_size = 1024;
	attr.flags = HONE_MEMPOOL_HUGETLB;
	attr.numa_node = 0;
	populate_error = EFAULT;
	assert_int_equal(hone_mempool_create(&pool, &attr), -ENOMEM);
	assert_null(pool);
	populate_error = EINVAL; /* an old kernel */
	assert_ok(hone_mempool_create(&pool, &attr));
	populate_error = 0;
	destroyed(pool);
	assert_int_equal(mapped, 0);
}

static int
run(void)
{
	return run_all_tests(NULL, NULL);
}

/* In a child, so that the pages are released even if a test crashes. */
int
main(void)
{
	long ours = number_in(FREE) < NEEDED ? set_aside(NEEDED) : 0;
	pid_t child = fork();
	int status = 1;

	if (child == 0)
		return run();
	if (child > 0)
		(void)waitpid(child, &status, 0);
	return set_aside(-ours) + ours != 0 || status != 0;
}
