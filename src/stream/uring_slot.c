/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One file in io_uring: opened as a direct descriptor, read until a read says
 * that this is the end. A short read proves nothing here: there is no fstat to
 * tell that the file is a regular one. (One by io_uring always goes through a
 * kernel thread and takes longer than all the rest.) The descriptor is closed
 * when the slot's next file takes its place.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include "stream/uring.h"

static unsigned
number_of(const struct hone_uring *u, const struct hone_uring_slot *slot)
{
	return (unsigned)(slot - u->slots);
}

/* There is one: the ring has as many entries as there are slots. */
static struct io_uring_sqe *
entry(struct hone_uring *u)
{
	u->in_flight++;
	return io_uring_get_sqe(&u->ring);
}

static void
ask_open(struct hone_uring *u, struct hone_uring_slot *slot)
{
	struct io_uring_sqe *sqe = entry(u);

	slot->stage = HONE_URING_OPENING;
	/* A direct descriptor is in no table that a child could inherit: the
	 * kernel refuses O_CLOEXEC for it. */
	io_uring_prep_openat_direct(sqe, u->b->read->dirfd,
		u->b->paths[slot->index], slot->open_flags & ~O_CLOEXEC, 0,
		number_of(u, slot));
	io_uring_sqe_set_data64(sqe, number_of(u, slot));
}

static void
ask_read(struct hone_uring *u, struct hone_uring_slot *slot)
{
	struct io_uring_sqe *sqe = entry(u);

	slot->stage = HONE_URING_READING;
	/* -1: from where it stands, so that pipes and files are the same */
	io_uring_prep_read(sqe, (int)number_of(u, slot),
		slot->r.data + slot->r.size,
		(unsigned)hone_reading_wish(&slot->r), (__u64)-1);
	io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
	io_uring_sqe_set_data64(sqe, number_of(u, slot));
}

void
hone_uring_begin(struct hone_uring *u, size_t index)
{
	struct hone_uring_slot *slot = &u->slots[u->idle[--u->n_idle]];

	slot->index = index;
	slot->open_flags = hone_read_open_flags(u->b->read);
	slot->memory = 0;
	slot->r.attr = u->b->read;
	slot->r.data = slot->small;
	slot->r.size = 0;
	slot->r.told = 0;
	slot->r.capacity = HONE_URING_SMALL;
	ask_open(u, slot);
}

static bool
is_small(const struct hone_uring_slot *slot)
{
	return slot->r.data == slot->small;
}

static void
leave(struct hone_uring *u, struct hone_uring_slot *slot)
{
	slot->stage = HONE_URING_IDLE;
	u->memory -= slot->memory;
	slot->memory = 0;
	u->idle[u->n_idle++] = number_of(u, slot);
}

void
hone_uring_drop(struct hone_uring *u, struct hone_uring_slot *slot)
{
	if (!is_small(slot))
		hone_reading_drop(&slot->r);
	leave(u, slot);
}

static void
fail(struct hone_uring *u, struct hone_uring_slot *slot, int error)
{
	hone_uring_drop(u, slot);
	hone_batch_deliver(u->b, &u->b->used.uring, slot->index, error, NULL);
}

/*
 * io_uring can say more than open() and read() do: that it has no memory for
 * requests, that it was told not to open files. Plain calls tell which.
 */
static void
read_again_plain(struct hone_uring *u, struct hone_uring_slot *slot)
{
	hone_uring_drop(u, slot);
	hone_batch_read_plain(u->b, slot->index);
}

static void
finish(struct hone_uring *u, struct hone_uring_slot *slot)
{
	struct hone_file_data file;

	if (is_small(slot)) {
		const struct hone_read_attr *attr = slot->r.attr;
		unsigned char *exact =
			attr->allocate(slot->r.size + 1, attr->arg);

		if (!exact) {
			fail(u, slot, -ENOMEM);
			return;
		}
		memcpy(exact, slot->small, slot->r.size);
		slot->r.data = exact;
		slot->r.capacity = slot->r.size + 1;
	}
	hone_reading_finish(&slot->r, &file);
	leave(u, slot);
	hone_batch_deliver(u->b, &u->b->used.uring, slot->index, 0, &file);
}

/* The size by its path: good enough for the first allocation, and not trusted
 * for the end, since another file may have the path by now. */
static uint64_t
size_hint(const struct hone_uring *u, const struct hone_uring_slot *slot)
{
	struct stat st;
	int follow = slot->open_flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0;

	if (fstatat(u->b->read->dirfd, u->b->paths[slot->index], &st, follow) ||
		!S_ISREG(st.st_mode) || st.st_size <= (off_t)slot->r.size)
		return 0;
	return (uint64_t)st.st_size;
}

/* Would a result of that many bytes be too much beside the others? */
static bool
must_wait(const struct hone_uring *u, uint64_t size)
{
	size_t most = u->b->memory;

	return u->memory > 0 && (u->memory > most || size >= most - u->memory);
}

/* Memory for more than is small. False: the slot is parked or has failed. */
static bool
enlarge(struct hone_uring *u, struct hone_uring_slot *slot)
{
	struct hone_reading larger;
	int error;

	if (slot->stage != HONE_URING_PARKED)
		slot->hint = size_hint(u, slot);
	if (must_wait(u, slot->hint ? slot->hint : 4 * HONE_URING_SMALL)) {
		slot->stage = HONE_URING_PARKED;
		return false;
	}
	error = hone_reading_begin(&larger, u->b->read, slot->hint);
	if (error) {
		fail(u, slot, error);
		return false;
	}
	memcpy(larger.data, slot->small, slot->r.size);
	larger.size = slot->r.size;
	slot->r = larger;
	slot->memory = larger.capacity;
	u->memory += slot->memory;
	return true;
}

static bool
make_room(struct hone_uring *u, struct hone_uring_slot *slot)
{
	size_t before = slot->r.capacity;
	int error;

	if (slot->r.size > u->b->read->limit) {
		fail(u, slot, -EFBIG);
		return false;
	}
	if (slot->r.size < before)
		return true;
	if (is_small(slot))
		return enlarge(u, slot);
	error = hone_reading_make_room(&slot->r);
	if (error) {
		fail(u, slot, error);
		return false;
	}
	slot->memory += slot->r.capacity - before;
	u->memory += slot->r.capacity - before;
	return true;
}

static void
opened(struct hone_uring *u, struct hone_uring_slot *slot, int result)
{
	if (result >= 0) {
		ask_read(u, slot);
	} else if (result == -EPERM && (slot->open_flags & O_NOATIME)) {
		slot->open_flags &= ~O_NOATIME; /* somebody else's file */
		ask_open(u, slot);
	} else if (result == -ENOENT) {
		fail(u, slot, result); /* so common that it is believed */
	} else {
		read_again_plain(u, slot);
	}
}

static void
got(struct hone_uring *u, struct hone_uring_slot *slot, int result)
{
	if (result == 0) {
		finish(u, slot);
	} else if (result > 0) {
		slot->r.size += (size_t)result;
		if (make_room(u, slot))
			ask_read(u, slot);
	} else if (result == -EINTR) {
		ask_read(u, slot);
	} else if (slot->r.size == 0) {
		read_again_plain(u, slot);
	} else {
		fail(u, slot, result); /* what a pipe gave is gone */
	}
}

/* Go on with files that waited for memory, if there is some now. */
static void
unpark(struct hone_uring *u)
{
	for (unsigned i = 0; i < u->b->depth; i++) {
		struct hone_uring_slot *slot = &u->slots[i];

		if (slot->stage == HONE_URING_PARKED &&
			!hone_batch_stopped(u->b) && enlarge(u, slot))
			ask_read(u, slot);
	}
}

void
hone_uring_answer(struct hone_uring *u, unsigned number, int result)
{
	struct hone_uring_slot *slot = &u->slots[number];
	size_t before = u->memory;

	if (hone_batch_stopped(u->b))
		hone_uring_drop(u, slot);
	else if (slot->stage == HONE_URING_OPENING)
		opened(u, slot, result);
	else
		got(u, slot, result);
	if (u->memory < before)
		unpark(u);
}
