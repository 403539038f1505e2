/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The promises of image/pipeline/pipeline.h that depend on which thread is
 * first: gates hold a stage back until another one has been reached.
 */
#include <time.h>
#include "support.h"
#include "fake_source.h"
#include "pipeline/pipeline.h"

/* A pipeline whose stages wait for each other, and fail, as a test says. */

#define CHUNK ((uint64_t)4096)
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
	/* the chunk at which order() returns order_rc */
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
cut(void *opaque, uint64_t offset, struct image_extent *extent,
	struct image_error *err)
{
	struct staged *play = opaque;
	uint64_t hole = play->hole * CHUNK;

	(void)err;
	*extent = (struct image_extent){.offset = offset,
		.length = (offset < hole ? hole : play->plan.size) - offset,
		.kind = offset < hole ? IMAGE_HOLE : IMAGE_DATA,
		.host = IMAGE_NO_HOST};
	return 0;
}

static int
work(void *opaque, struct image_scratch *scratch, struct image_chunk *chunk,
	struct image_error *err)
{
	struct staged *play = opaque;
	uint64_t index = chunk->offset / CHUNK;
	sigset_t blocked;

	(void)scratch;
	atomic_fetch_add(&play->worked, 1);
	fake_raise(&play->most_held, atomic_fetch_add(&play->held, 1) + 1);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	if (sigismember(&blocked, SIGTERM) ==
		(int)pthread_equal(pthread_self(), play->main))
		atomic_fetch_add(&play->signals, 1);
	memset(chunk->data, (int)index, CHUNK);
	return take_step(&play->work[index], index, "work", err);
}

static int
order(void *opaque, struct image_chunk *chunk, struct image_error *err)
{
	struct staged *play = opaque;

	play->ordered++;
	if (chunk->offset != play->next)
		return image_fail(err, "play", -EPROTO, "not in order");
	if (play->order_rc && chunk->offset == play->order_at * CHUNK)
		return play->order_rc < 0 ? image_fail(err, "play",
						    play->order_rc, "order")
					  : play->order_rc;
	play->next += chunk->length;
	return 0;
}

static int
write_chunk(void *opaque, struct image_scratch *scratch,
	struct image_chunk *chunk, struct image_error *err)
{
	struct staged *play = opaque;
	uint64_t index = chunk->offset / CHUNK;
	unsigned now = atomic_fetch_add(&play->writing, 1) + 1;

	(void)scratch;
	fake_raise(&play->most_writing, now);
	int rc = take_step(&play->write[index], index, "write", err);
	for (size_t i = 0; i < CHUNK; i++)
		if (chunk->data[i] != index)
			atomic_fetch_add(&play->overwritten, 1);
	atomic_fetch_sub(&play->writing, 1);
	atomic_fetch_sub(&play->held, 1);
	return rc;
}

static void
note(void *opaque, uint64_t done)
{
	((struct staged *)opaque)->progress = done;
}

/* A disk of that many chunks of data, at most CHUNKS. */
static void
staged_init(struct staged *play, uint64_t chunks, unsigned threads)
{
	*play = (struct staged){
		.plan = {.size = chunks * CHUNK,
			.chunk = CHUNK,
			.buffer = CHUNK,
			.own = sizeof(uint64_t),
			.cut = cut,
			.work = work,
			.order = order,
			.write = write_chunk,
			.opaque = play},
		.how = {.threads = threads, .progress = note, .opaque = play},
		.main = pthread_self(),
	};
	for (size_t i = 0; i < CHUNKS; i++)
		play->work[i].begun = play->work[i].ended =
			play->write[i].begun = play->write[i].ended =
				(struct fake_gate)FAKE_GATE;
}

/* ---- the promises ---- */

static int
run(struct staged *play)
{
	int rc = image_pipeline_run(
		&play->plan, &play->how, &play->threads, &play->err);

	assert_int_equal(atomic_load(&play->overwritten), 0);
	return rc;
}

/* A thread that found nothing to do writes what another one has put in order.
 */
TEST(a_chunk_in_order_wakes_a_writer)
{
	struct staged play;

	staged_init(&play, 2, 2);
	play.work[0].until = &play.work[1].ended;
	/* Each is written while the other one is. */
	play.write[0].until = &play.write[1].begun;
	play.write[1].until = &play.write[0].begun;
	assert_int_equal(run(&play), 0);
	assert_int_equal(play.threads, 2);
	assert_int_equal(play.next, play.plan.size);
	assert_int_equal(play.progress, play.plan.size);
}

/* With as many chunks as threads: who finds none waits for one. */
TEST(a_chunk_that_was_written_wakes_a_reader)
{
	struct staged play;

	staged_init(&play, 4, 2);
	play.plan.writers = 1;
	/* Chunks have a quarter. Each has a page for itself, and one of data.
	 */
	play.how.memory = 4 * 2 * 2 * CHUNK;
	play.work[0].until = &play.work[1].begun;
	play.write[0].until = &play.work[1].ended;
	play.write[1].until = &play.work[2].begun;
	assert_int_equal(run(&play), 0);
	assert_int_equal(play.threads, 2);
	assert_int_equal(atomic_load(&play.most_writing), 1);
	assert_int_equal(atomic_load(&play.most_held), 2);
}

/* Each thread has two chunks. While one is written, the others go round. */
TEST(a_chunk_that_is_written_is_not_used_again)
{
	struct staged play;

	staged_init(&play, 8, 2);
	play.work[0].until = &play.work[3].ended;
	play.write[0].until = &play.write[5].ended;
	assert_int_equal(run(&play), 0);
	assert_int_equal(play.next, play.plan.size);
}

TEST(writers_are_as_many_as_allowed)
{
	struct staged play;

	staged_init(&play, 4, 4);
	play.plan.writers = 1;
	play.work[0].until = &play.work[3].ended;
	play.work[1].until = &play.work[3].ended;
	assert_int_equal(run(&play), 0);
	assert_int_equal(play.threads, 4);
	assert_int_equal(atomic_load(&play.most_writing), 1);
	staged_init(&play, 4, 4);
	play.plan.writers = 2;
	play.work[0].until = &play.work[3].ended;
	play.write[0].until = &play.write[1].begun;
	play.write[1].until = &play.write[0].begun;
	assert_int_equal(run(&play), 0);
	assert_int_equal(atomic_load(&play.most_writing), 2);
}

TEST(a_later_failure_of_work_that_comes_first_is_not_reported)
{
	struct staged play;

	staged_init(&play, 4, 2);
	play.work[0].until = &play.work[1].ended;
	play.work[0].rc = -EIO;
	play.work[1].rc = -EINVAL;
	assert_int_equal(run(&play), -EIO);
	assert_string_equal(play.err.text, "work 0 failed");
	assert_int_equal(play.progress, 0);
	/* it is not even reached */
	staged_init(&play, 4, 2);
	play.work[0].until = &play.work[1].ended;
	play.work[1].rc = -EINVAL;
	play.order_rc = 1;
	assert_int_equal(run(&play), 1);
	/* nor is a chunk that waits for its turn */
	staged_init(&play, 4, 2);
	play.work[0].until = &play.work[1].ended;
	play.order_rc = 1;
	assert_int_equal(run(&play), 1);
	assert_int_equal(play.ordered, 1);
}

TEST(the_first_failure_of_several_writes_is_kept)
{
	struct staged play;

	staged_init(&play, 8, 2);
	play.work[0].until = &play.work[1].ended;
	play.write[0].until = &play.write[1].ended;
	play.write[1].until = &play.write[0].begun;
	play.write[0].rc = -EIO;
	play.write[1].rc = -ENOSPC;
	assert_int_equal(run(&play), -ENOSPC);
	assert_string_equal(play.err.text, "write 1 failed");
	/* nothing is begun after a failure */
	assert_true(atomic_load(&play.worked) <= 4);
}

TEST(a_failure_of_order_is_reported)
{
	struct staged play;

	for (unsigned threads = 1; threads <= 3; threads++) {
		staged_init(&play, 6, threads);
		play.order_at = 3;
		play.order_rc = -EFBIG;
		assert_int_equal(run(&play), -EFBIG);
		assert_string_equal(play.err.text, "order");
		assert_int_equal(play.progress, 3 * CHUNK);
		assert_false(play.write[3].ended.open);
	}
}

/* At a byte a second, a second chunk would take more than an hour. */
TEST(holes_pass_at_any_rate)
{
	struct staged play;

	staged_init(&play, 8, 2);
	play.hole = 8;
	play.how.rate = 1;
	assert_int_equal(run(&play), 0);
	assert_int_equal(atomic_load(&play.worked), 0);
	staged_init(&play, 8, 2);
	play.hole = 7;
	play.how.rate = 1;
	assert_int_equal(run(&play), 0);
	assert_int_equal(play.progress, 8 * CHUNK);
}

static atomic_uint looks;

STANDS_FOR(int, clock_gettime, clockid_t clock, struct timespec *now)
{
	atomic_fetch_add(&looks, 1);
	return __real_clock_gettime(clock, now);
}

/* Twice 0.2 seconds: a thread that does not sleep looks at the clock all the
 * time. */
TEST(a_rate_is_waited_for_without_cpu)
{
	struct staged play;

	staged_init(&play, 3, 2);
	play.how.rate = 5 * CHUNK;
	atomic_store(&looks, 0);
	assert_int_equal(run(&play), 0);
	assert_in_range(atomic_load(&looks), 3, 100);
}

/* The program's own handlers expect the thread that it knows. */
TEST(signals_go_to_the_caller_alone)
{
	struct staged play;
	sigset_t blocked;

	staged_init(&play, 2, 2);
	play.work[0].until = &play.work[1].begun;
	assert_int_equal(run(&play), 0);
	assert_int_equal(atomic_load(&play.signals), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	assert_int_equal(sigismember(&blocked, SIGTERM), 0);
}

TEST(no_more_threads_than_chunks)
{
	struct staged play;

	staged_init(&play, 3, 16);
	assert_int_equal(run(&play), 0);
	assert_true(play.threads <= 3);
	/* one byte more is a chunk more */
	staged_init(&play, 1, 16);
	play.plan.size++;
	play.work[0].until = &play.work[1].begun;
	assert_int_equal(run(&play), 0);
	assert_int_equal(play.threads, 2);
	assert_int_equal(play.progress, CHUNK + 1);
}
