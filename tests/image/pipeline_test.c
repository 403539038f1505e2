/* SPDX-License-Identifier: BSD-3-Clause */
/* The promises of image/pipeline/pipeline.h, with disks that are made up. */
#include <time.h>
#include "memory.h"
#include "pipeline/pipeline.h"
#include "store/store.h"
#include "fakes.h"
#include "support.h"

#define CHUNK ((uint64_t)4096)

/* A disk in which every extent of `step` bytes is data or a hole in turn. */
struct disk {
	uint64_t size;
	uint64_t step;
	/* what happened; the order stage is serial, the others count */
	uint64_t next;
	uint64_t next_ticket;
	uint64_t data;
	uint64_t holes;
	uint64_t progress;
	atomic_uint in_flight;
	atomic_uint most_in_flight;
	uint64_t fail_cut;
	uint64_t fail_work;
	uint64_t fail_write;
	/* of the plan */
	size_t scratch;
	size_t spare;
	size_t spare_chunks;
	/* what the run returned besides */
	unsigned threads;
	struct image_error err;
};

static int
cut(void *opaque, uint64_t offset, struct image_extent *extent,
	struct image_error *err)
{
	struct disk *disk = opaque;
	uint64_t step = disk->step;
	uint64_t left = disk->size - offset;

	if (disk->fail_cut && offset >= disk->fail_cut)
		return image_fail(err, "disk", -EIO, "cut failed");
	*extent = (struct image_extent){.offset = offset,
		.length = step - offset % step,
		.kind = offset / step % 2 ? IMAGE_HOLE : IMAGE_DATA,
		.host = IMAGE_NO_HOST};
	if (extent->length > left)
		extent->length = left;
	return 0;
}

static int
work(void *opaque, struct image_scratch *scratch, struct image_chunk *chunk,
	struct image_error *err)
{
	struct disk *disk = opaque;
	uint64_t *own = chunk->own;

	(void)scratch;
	fake_raise(&disk->most_in_flight,
		atomic_fetch_add(&disk->in_flight, 1) + 1);
	assert_false(chunk->hole);
	assert_true(chunk->length <= CHUNK);
	assert_int_equal((uintptr_t)chunk->data % IMAGE_ALIGN, 0);
	assert_int_equal(chunk->offset / CHUNK,
		(chunk->offset + chunk->length - 1) / CHUNK);
	/* Later tickets are often done first. */
	if (chunk->ticket % 3 == 0)
		nanosleep(&(struct timespec){0, 50000}, NULL);
	memset(chunk->data, (int)chunk->ticket, CHUNK);
	own[0] = chunk->ticket;
	if (disk->fail_work && chunk->offset >= disk->fail_work)
		return image_fail(err, "disk", -EINVAL, "work failed at %u",
			(unsigned)(chunk->offset / CHUNK));
	return 0;
}

static int
order(void *opaque, struct image_chunk *chunk, struct image_error *err)
{
	struct disk *disk = opaque;

	(void)err;
	assert_int_equal(chunk->ticket, disk->next_ticket);
	assert_int_equal(chunk->offset, disk->next);
	assert_true(chunk->length > 0 && chunk->offset % CHUNK == 0);
	disk->next_ticket++;
	disk->next += chunk->length;
	*(chunk->hole ? &disk->holes : &disk->data) += chunk->length;
	return 0;
}

static int
write_chunk(void *opaque, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err)
{
	struct disk *disk = opaque;
	const uint64_t *own = chunk->own;

	(void)scratch;
	/* The chunk still has what work() put there. */
	assert_int_equal(own[0], chunk->ticket);
	assert_int_equal(chunk->data[CHUNK - 1], chunk->ticket & 0xff);
	nanosleep(&(struct timespec){0, 20000}, NULL);
	atomic_fetch_sub(&disk->in_flight, 1);
	if (disk->fail_write && chunk->offset >= disk->fail_write)
		return image_fail(err, "disk", -ENOSPC, "write failed");
	return 0;
}

static void
note(void *opaque, uint64_t done)
{
	struct disk *disk = opaque;

	assert_true(done > disk->progress);
	disk->progress = done;
}

static int
run(struct disk *disk, struct image_run how)
{
	struct image_plan plan = {.size = disk->size,
		.chunk = CHUNK,
		.buffer = CHUNK,
		.own = sizeof(uint64_t),
		.scratch = disk->scratch,
		.spare = disk->spare,
		.spare_chunks = disk->spare_chunks,
		.cut = cut,
		.work = work,
		.order = order,
		.write = write_chunk,
		.opaque = disk};

	how.progress = note;
	how.opaque = disk;
	return image_pipeline_run(&plan, &how, &disk->threads, &disk->err);
}

static uint64_t
holes(const struct disk *disk)
{
	uint64_t rest = disk->size % (2 * disk->step);
	return disk->size / (2 * disk->step) * disk->step +
	       (rest > disk->step ? rest - disk->step : 0);
}

TEST(chunks_cover_the_disk_in_order)
{
	static const uint64_t sizes[] = {1, 511, 4096, 4097, 1 << 20, 999999};
	static const uint64_t steps[] = {512, 4096, 5000, 64 << 10, 1 << 21};

	for (unsigned i = 0; i < 3 * 6 * 5; i++) {
		struct image_run how = {.threads = 1 + i / 30 * 2};
		struct disk disk = {
			.size = sizes[i / 5 % 6], .step = steps[i % 5]};
		assert_ok(run(&disk, how));
		assert_int_equal(disk.next, disk.size);
		assert_int_equal(disk.progress, disk.size);
		assert_int_equal(disk.data + disk.holes, disk.size);
		/* Whole chunks that are holes are not read. */
		if (disk.step % CHUNK == 0)
			assert_int_equal(disk.holes, holes(&disk));
		assert_in_range(disk.threads, 1, how.threads);
		assert_int_equal(disk.in_flight, 0);
	}
}

TEST(an_empty_disk_has_no_chunk)
{
	struct image_run how = {.threads = 4};
	struct disk disk = {.step = 1};

	assert_ok(run(&disk, how));
	assert_int_equal(disk.next_ticket, 0);
}

TEST(the_parts_of_the_memory_are_the_whole)
{
	static const uint64_t limits[] = {
		8 << 20, 100000007, IMAGE_MEMORY, UINT64_C(1) << 33};

	for (size_t i = 0; i < 4; i++) {
		struct image_memory m = image_memory(limits[i]);
		uint64_t sum = m.unpack + m.chunks + m.blocks + m.tables;
		assert_in_range(limits[i] - sum, 0, 15);
	}
	assert_int_equal(image_memory(0).unpack, IMAGE_MEMORY / 2);
}

TEST(scratch_and_chunks_share_what_is_spare)
{
	/* the pages of the memory: a quarter is for chunks of two pages */
	static const struct {
		size_t memory;
		size_t scratch;
		size_t spare;
		size_t spare_chunks;
		unsigned threads;
	} pages[] = {{1, 0, 0, 0, 1}, {28, 0, 0, 0, 3}, {48, 0, 0, 0, 6},
		{28, 2, 0, 0, 1}, {28, 2, 5, 0, 3}, {28, 0, 64, 0, 3},
		{28, 2, 9, 9, 4}, {28, 2, 64, 1, 4}, {28, 99, 9, 9, 1}};

	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		struct image_run how = {
			.threads = 8, .memory = pages[i].memory * CHUNK};
		struct disk disk = {.size = 100 * CHUNK,
			.step = 100 * CHUNK,
			.scratch = pages[i].scratch * CHUNK,
			.spare = pages[i].spare * CHUNK,
			.spare_chunks = pages[i].spare_chunks * CHUNK};
		assert_ok(run(&disk, how));
		assert_int_equal(disk.threads, pages[i].threads);
		assert_in_range(disk.most_in_flight, 1, disk.threads);
		assert_int_equal(disk.next, disk.size);
	}
}

TEST(the_error_does_not_depend_on_threads)
{
	for (unsigned threads = 1; threads <= 8; threads++) {
		struct image_run how = {.threads = threads};
		struct disk disk = {.size = 100 * CHUNK,
			.step = 100 * CHUNK,
			.fail_work = 37 * CHUNK};
		assert_int_equal(run(&disk, how), -EINVAL);
		assert_string_equal(disk.err.text, "work failed at 37");
		assert_int_equal(disk.next, 37 * CHUNK);

		disk = (struct disk){.size = 100 * CHUNK,
			.step = CHUNK,
			.fail_cut = 50 * CHUNK};
		assert_int_equal(run(&disk, how), -EIO);
		assert_string_equal(disk.err.text, "cut failed");
		assert_int_equal(disk.next, 50 * CHUNK);
	}
}

TEST(a_write_that_fails_stops_the_run)
{
	for (unsigned threads = 1; threads <= 4; threads++) {
		struct image_run how = {.threads = threads};
		struct disk disk = {.size = 1000 * CHUNK,
			.step = 1000 * CHUNK,
			.fail_write = 10 * CHUNK};
		assert_int_equal(run(&disk, how), -ENOSPC);
		assert_string_equal(disk.err.text, "write failed");
		/* Others go on until the thread of the write is heard. */
		if (threads == 1)
			assert_int_equal(disk.next, 11 * CHUNK);
	}
}

/*
 * The promises of image/pipeline/pipeline.h that depend on which thread is
 * first: gates hold a stage back until another one has been reached.
 */

#define CHUNKS 8

/* A stage of a chunk: what it waits for, and what it returns. */
struct step {
	/* opened at its beginning and at its end */
	struct fake_gate begun;
	struct fake_gate ended;
	/* what it waits for between them; a pause follows */
	struct fake_gate *until;
	int rc;
};

struct staged {
	struct image_plan plan;
	struct image_run how;
	unsigned threads;
	struct image_error err;
	struct step work[CHUNKS];
	struct step write[CHUNKS];
	/* the chunk at which gate_order() returns order_rc */
	uint64_t order_at;
	int order_rc;
	/* chunks that begin the disk as a hole */
	uint64_t hole;
	/* what happened */
	unsigned ordered;
	uint64_t next;
	uint64_t progress;
	atomic_uint writing;
	atomic_uint most_writing;
	atomic_uint held;
	atomic_uint most_held;
	atomic_uint worked;
	atomic_uint signals;
	atomic_uint overwritten;
	pthread_t main;
};

static struct staged play;

static int
take_step(struct step *step, uint64_t index, const char *stage,
	struct image_error *err)
{
	fake_open(&step->begun);
	if (step->until) {
		fake_wait(step->until);
		fake_pause();
	}
	fake_open(&step->ended);
	return step->rc ? image_fail(err, "play", step->rc, "%s %u failed",
				  stage, (unsigned)index)
			: 0;
}

static int
gate_cut(void *opaque, uint64_t offset, struct image_extent *extent,
	struct image_error *err)
{
	uint64_t hole = play.hole * CHUNK;

	(void)opaque;
	(void)err;
	*extent = (struct image_extent){.offset = offset,
		.length = (offset < hole ? hole : play.plan.size) - offset,
		.kind = offset < hole ? IMAGE_HOLE : IMAGE_DATA,
		.host = IMAGE_NO_HOST};
	return 0;
}

static int
gate_work(void *opaque, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err)
{
	uint64_t index = chunk->offset / CHUNK;
	sigset_t blocked;

	(void)opaque;
	(void)scratch;
	atomic_fetch_add(&play.worked, 1);
	fake_raise(&play.most_held, atomic_fetch_add(&play.held, 1) + 1);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	if (sigismember(&blocked, SIGTERM) ==
		(int)pthread_equal(pthread_self(), play.main))
		atomic_fetch_add(&play.signals, 1);
	memset(chunk->data, (int)index, CHUNK);
	return take_step(&play.work[index], index, "work", err);
}

static int
gate_order(void *opaque, struct image_chunk *chunk, struct image_error *err)
{
	(void)opaque;
	play.ordered++;
	if (chunk->offset != play.next)
		return image_fail(err, "play", -EPROTO, "not in order");
	if (play.order_rc && chunk->offset == play.order_at * CHUNK) {
		snprintf(err->text, sizeof(err->text), "order");
		return play.order_rc;
	}
	play.next += chunk->length;
	return 0;
}

static int
gate_write_chunk(void *opaque, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err)
{
	uint64_t index = chunk->offset / CHUNK;
	unsigned now = atomic_fetch_add(&play.writing, 1) + 1;

	(void)opaque;
	(void)scratch;
	fake_raise(&play.most_writing, now);
	int rc = take_step(&play.write[index], index, "write", err);
	for (size_t i = 0; i < CHUNK; i++)
		if (chunk->data[i] != index)
			atomic_fetch_add(&play.overwritten, 1);
	atomic_fetch_sub(&play.writing, 1);
	atomic_fetch_sub(&play.held, 1);
	return rc;
}

static void
gate_note(void *opaque, uint64_t done)
{
	(void)opaque;
	play.progress = done;
}

/* A disk of that many chunks of data, at most CHUNKS. */
static void
begin(uint64_t chunks, unsigned threads)
{
	play = (struct staged){
		.plan = {.size = chunks * CHUNK,
			.chunk = CHUNK,
			.buffer = CHUNK,
			.own = sizeof(uint64_t),
			.cut = gate_cut,
			.work = gate_work,
			.order = gate_order,
			.write = gate_write_chunk},
		.how = {.threads = threads, .progress = gate_note},
		.main = pthread_self(),
	};
	for (size_t i = 0; i < CHUNKS; i++)
		play.work[i].begun = play.work[i].ended = play.write[i].begun =
			play.write[i].ended = (struct fake_gate)FAKE_GATE;
}

/* ---- the promises ---- */

static int
gate_run(void)
{
	int rc = image_pipeline_run(
		&play.plan, &play.how, &play.threads, &play.err);

	assert_int_equal(play.overwritten, 0);
	return rc;
}

/* A thread that found nothing to do writes what another one has put in
 * order.
 */
TEST(a_chunk_in_order_wakes_a_writer)
{
	begin(2, 2);
	play.work[0].until = &play.work[1].ended;
	/* Each is written while the other one is. */
	play.write[0].until = &play.write[1].begun;
	play.write[1].until = &play.write[0].begun;
	assert_ok(gate_run());
	assert_int_equal(play.threads, 2);
	assert_int_equal(play.next, play.plan.size);
	assert_int_equal(play.progress, play.plan.size);
}

/* With as many chunks as threads: who finds none waits for one. */
TEST(a_chunk_that_was_written_wakes_a_reader)
{
	begin(4, 2);
	play.plan.writers = 1;
	/* Chunks have a quarter. Each has a page for itself, and one of data.
	 */
	play.how.memory = 4 * 2 * 2 * CHUNK;
	play.work[0].until = &play.work[1].begun;
	play.write[0].until = &play.work[1].ended;
	play.write[1].until = &play.work[2].begun;
	assert_ok(gate_run());
	assert_int_equal(play.threads, 2);
	assert_int_equal(play.most_writing, 1);
	assert_int_equal(play.most_held, 2);
}

/* Each thread has two chunks. While one is written, the others go round. */
TEST(a_chunk_that_is_written_is_not_used_again)
{
	begin(8, 2);
	play.work[0].until = &play.work[3].ended;
	play.write[0].until = &play.write[5].ended;
	assert_ok(gate_run());
	assert_int_equal(play.next, play.plan.size);
}

TEST(writers_are_as_many_as_allowed)
{
	begin(4, 4);
	play.plan.writers = 1;
	play.work[0].until = &play.work[3].ended;
	play.work[1].until = &play.work[3].ended;
	assert_ok(gate_run());
	assert_int_equal(play.threads, 4);
	assert_int_equal(play.most_writing, 1);
	begin(4, 4);
	play.plan.writers = 2;
	play.work[0].until = &play.work[3].ended;
	play.write[0].until = &play.write[1].begun;
	play.write[1].until = &play.write[0].begun;
	assert_ok(gate_run());
	assert_int_equal(play.most_writing, 2);
}

TEST(a_later_failure_of_work_that_comes_first_is_not_reported)
{
	begin(4, 2);
	play.work[0].until = &play.work[1].ended;
	play.work[0].rc = -EIO;
	play.work[1].rc = -EINVAL;
	assert_int_equal(gate_run(), -EIO);
	assert_string_equal(play.err.text, "work 0 failed");
	assert_int_equal(play.progress, 0);
	/* it is not even reached */
	begin(4, 2);
	play.work[0].until = &play.work[1].ended;
	play.work[1].rc = -EINVAL;
	play.order_rc = 1;
	assert_int_equal(gate_run(), 1);
	/* nor is a chunk that waits for its turn */
	begin(4, 2);
	play.work[0].until = &play.work[1].ended;
	play.order_rc = 1;
	assert_int_equal(gate_run(), 1);
	assert_int_equal(play.ordered, 1);
}

TEST(the_first_failure_of_several_writes_is_kept)
{
	begin(8, 2);
	play.work[0].until = &play.work[1].ended;
	play.write[0].until = &play.write[1].ended;
	play.write[1].until = &play.write[0].begun;
	play.write[0].rc = -EIO;
	play.write[1].rc = -ENOSPC;
	assert_int_equal(gate_run(), -ENOSPC);
	assert_string_equal(play.err.text, "write 1 failed");
	/* nothing is begun after a failure */
	assert_true(play.worked <= 4);
}

TEST(order_may_fail_or_end_the_run)
{
	for (unsigned i = 0; i < 8; i++) {
		begin(6, 1 + i / 2);
		play.order_at = 3;
		play.order_rc = i % 2 ? 1 : -EFBIG;
		assert_int_equal(gate_run(), play.order_rc);
		assert_string_equal(
			play.err.text, play.order_rc < 0 ? "order" : "");
		assert_int_equal(play.progress, 3 * CHUNK);
		assert_false(play.write[3].ended.open);
	}
}

/* At a byte a second, a second chunk would take more than an hour. */
TEST(a_hole_of_any_length_is_one_chunk_and_passes_at_any_rate)
{
	begin(UINT64_C(1) << 31, 2);
	play.hole = UINT64_C(1) << 31;
	play.how.rate = 1;
	assert_ok(gate_run());
	assert_int_equal(play.ordered, 1);
	assert_int_equal(play.worked, 0);
	begin(8, 2);
	play.hole = 7;
	play.how.rate = 1;
	assert_ok(gate_run());
	assert_int_equal(play.ordered, 2);
	assert_int_equal(play.progress, 8 * CHUNK);
}

static atomic_uint looks;
/* The first time that a look gave, and the last one that was waited for. */
static struct timespec first_look, due;

STANDS_FOR(int, clock_gettime, clockid_t clock, struct timespec *now)
{
	int rc = __real_clock_gettime(clock, now);

	if (atomic_fetch_add(&looks, 1) == 0)
		first_look = *now;
	return rc;
}

STANDS_FOR(int, pthread_cond_timedwait, pthread_cond_t *changed,
	pthread_mutex_t *lock, const struct timespec *until)
{
	due = *until;
	return __real_pthread_cond_timedwait(changed, lock, until);
}

static double
seconds_between(struct timespec from, struct timespec to)
{
	return (double)(to.tv_sec - from.tv_sec) +
	       (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
}

/* Twice 0.2 seconds: a thread that does not sleep looks at the clock all the
 * time. On a busy machine the run takes longer than it asks for. */
TEST(a_rate_is_kept_and_waited_for_without_cpu)
{
	struct timespec from, to;

	begin(3, 2);
	play.how.rate = 5 * CHUNK;
	__real_clock_gettime(CLOCK_MONOTONIC, &from);
	atomic_store(&looks, 0);
	assert_ok(gate_run());
	assert_in_range(atomic_load(&looks), 3, 100);
	__real_clock_gettime(CLOCK_MONOTONIC, &to);
	assert_true(seconds_between(from, to) > 0.39);
	double asked = seconds_between(first_look, due);
	assert_true(asked > 0.39 && asked < 0.41);
}

/* The program's own handlers expect the thread that it knows. */
TEST(signals_go_to_the_caller_alone)
{
	sigset_t blocked;

	begin(2, 2);
	play.work[0].until = &play.work[1].begun;
	assert_ok(gate_run());
	assert_int_equal(play.signals, 0);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	assert_int_equal(sigismember(&blocked, SIGTERM), 0);
}

TEST(no_more_threads_than_chunks)
{
	begin(3, 16);
	assert_ok(gate_run());
	assert_true(play.threads <= 3);
	/* one byte more is a chunk more */
	begin(1, 16);
	play.plan.size++;
	play.work[0].until = &play.work[1].begun;
	assert_ok(gate_run());
	assert_int_equal(play.threads, 2);
	assert_int_equal(play.progress, CHUNK + 1);
}
