/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include "fake_stages.h"

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

void
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
