/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One file in io_uring: opened as a direct descriptor, read until a read
 * returns
 * 0. A short read does not prove the end: without fstat the file may not be a
 * regular one. (An fstat by io_uring always goes through a kernel thread and
 * takes longer than all other requests.) The next file of the slot replaces the
 * descriptor, which closes it.
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

/* Never NULL: the ring has as many entries as there are slots. */
static struct io_uring_sqe *
entry(struct hone_uring *u)
{
	u->in_flight++;
	return io_uring_get_sqe(&u->ring);
}

static void
queue_open(struct hone_uring *u, struct hone_uring_slot *slot)
{
	struct io_uring_sqe *sqe = entry(u);

	slot->stage = HONE_URING_OPENING;
	/* The kernel refuses O_CLOEXEC for a direct descriptor, which no child
	 * inherits. */
	io_uring_prep_openat_direct(sqe, u->b->read->dirfd,
		u->b->paths[slot->index], slot->open_flags & ~O_CLOEXEC, 0,
		number_of(u, slot));
	io_uring_sqe_set_data64(sqe, number_of(u, slot));
}

static void
queue_read(struct hone_uring *u, struct hone_uring_slot *slot)
{
	struct io_uring_sqe *sqe = entry(u);

	slot->stage = HONE_URING_READING;
	/* -1: from the current position, for pipes and files alike */
	io_uring_prep_read(sqe, (int)number_of(u, slot),
		slot->buffer.data + slot->buffer.size,
		(unsigned)hone_file_buffer_request(&slot->buffer), (__u64)-1);
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
	slot->buffer.attr = u->b->read;
	slot->buffer.data = slot->small;
	slot->buffer.size = 0;
	slot->buffer.expected = 0;
	slot->buffer.capacity = HONE_URING_SMALL;
	queue_open(u, slot);
}

static bool
is_small(const struct hone_uring_slot *slot)
{
	return slot->buffer.data == slot->small;
}

static void
uring_slot_leave(struct hone_uring *u, struct hone_uring_slot *slot)
{
	slot->stage = HONE_URING_IDLE;
	u->memory -= slot->memory;
	slot->memory = 0;
	u->idle[u->n_idle++] = number_of(u, slot);
}

void
hone_uring_drop_file(struct hone_uring *u, struct hone_uring_slot *slot)
{
	if (!is_small(slot))
		hone_file_buffer_drop(&slot->buffer);
	uring_slot_leave(u, slot);
}

static void
fail(struct hone_uring *u, struct hone_uring_slot *slot, int error)
{
	hone_uring_drop_file(u, slot);
	hone_batch_deliver(u->b, &u->b->used.uring, slot->index, error, NULL);
}

/*
 * io_uring has more errors than open() and read(): no memory for requests, or a
 * restriction on opening files. Plain calls show which error it is.
 */
static void
read_again_plain(struct hone_uring *u, struct hone_uring_slot *slot)
{
	hone_uring_drop_file(u, slot);
	(void)hone_batch_read_plain(u->b, slot->index);
}

static void
finish(struct hone_uring *u, struct hone_uring_slot *slot)
{
	struct hone_file_data file;

	if (is_small(slot)) {
		const struct hone_read_attr *attr = slot->buffer.attr;
		unsigned char *exact =
			attr->allocate(slot->buffer.size + 1, attr->arg);

		if (!exact) {
			fail(u, slot, -ENOMEM);
			return;
		}
		memcpy(exact, slot->small, slot->buffer.size);
		slot->buffer.data = exact;
		slot->buffer.capacity = slot->buffer.size + 1;
	}
	hone_file_buffer_finish(&slot->buffer, &file);
	uring_slot_leave(u, slot);
	hone_batch_deliver(u->b, &u->b->used.uring, slot->index, 0, &file);
}

/* Returns false if the path is gone. */
static bool
look(const struct hone_uring *u, const struct hone_uring_slot *slot,
	struct stat *st)
{
	int follow = slot->open_flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0;

	return fstatat(u->b->read->dirfd, u->b->paths[slot->index], st,
		       follow) == 0;
}

/*
 * Sets the size by the path: good enough for the first allocation, but no proof
 * of the end, since another file may have the path now. Returns false if the
 * file has more bytes than its size, as in /proc: some such files return
 * nothing to a second read, so read_file.c reads them, from their beginning.
 */
static bool
size_hint(const struct hone_uring *u, struct hone_uring_slot *slot)
{
	struct stat st;

	slot->hint = 0;
	if (!look(u, slot, &st) || !S_ISREG(st.st_mode))
		return true;
	if (st.st_size < (off_t)slot->buffer.size)
		return false;
	if (st.st_size > (off_t)slot->buffer.size)
		slot->hint = (uint64_t)hone_read_size(&st, u->b->read->limit);
	return true;
}

/* Returns true if a result of that many bytes does not fit beside the others.
 */
static bool
must_wait(const struct hone_uring *u, uint64_t size)
{
	size_t most = u->b->memory;

	return u->memory > 0 && (u->memory > most || size >= most - u->memory);
}

/* Allocates memory for a file that is not small. Returns false if the slot is
 * parked or has failed. */
static bool
enlarge(struct hone_uring *u, struct hone_uring_slot *slot)
{
	struct hone_file_buffer larger;
	int error;

	if (slot->stage != HONE_URING_PARKED && !size_hint(u, slot)) {
		read_again_plain(u, slot);
		return false;
	}
	if (must_wait(u, slot->hint ? slot->hint : 4 * HONE_URING_SMALL)) {
		slot->stage = HONE_URING_PARKED;
		return false;
	}
	error = hone_file_buffer_begin(&larger, u->b->read, slot->hint);
	if (error) {
		fail(u, slot, error);
		return false;
	}
	memcpy(larger.data, slot->small, slot->buffer.size);
	larger.size = slot->buffer.size;
	slot->buffer = larger;
	slot->memory = larger.capacity;
	u->memory += slot->memory;
	return true;
}

static bool
uring_slot_make_room(struct hone_uring *u, struct hone_uring_slot *slot)
{
	size_t before = slot->buffer.capacity;
	int error;

	if (slot->buffer.size > u->b->read->limit) {
		fail(u, slot, -EFBIG);
		return false;
	}
	if (is_small(slot))
		return slot->buffer.size < before || enlarge(u, slot);
	error = hone_file_buffer_make_room(&slot->buffer);
	if (error) {
		fail(u, slot, error);
		return false;
	}
	slot->memory += slot->buffer.capacity - before;
	u->memory += slot->buffer.capacity - before;
	return true;
}

static void
opened(struct hone_uring *u, struct hone_uring_slot *slot, int result)
{
	if (result >= 0) {
		queue_read(u, slot);
	} else if (result == -EPERM && (slot->open_flags & O_NOATIME)) {
		slot->open_flags &= ~O_NOATIME; /* the file of another user */
		queue_open(u, slot);
	} else if (result == -ENOENT) {
		fail(u, slot, result); /* common; no second attempt */
	} else {
		read_again_plain(u, slot);
	}
}

/* /dev/kmsg returns -EINVAL for a record that does not fit. The next reader of
 * the path begins at the first record. */
static bool
is_record_lost(const struct hone_uring *u, const struct hone_uring_slot *slot,
	int error)
{
	struct stat st;

	return error == -EINVAL && is_small(slot) && look(u, slot, &st) &&
	       S_ISCHR(st.st_mode);
}

static void
got(struct hone_uring *u, struct hone_uring_slot *slot, int result)
{
	if (result == 0) {
		finish(u, slot);
	} else if (result > 0) {
		slot->buffer.size += (size_t)result;
		if (uring_slot_make_room(u, slot))
			queue_read(u, slot);
	} else if (result == -EINTR) {
		queue_read(u, slot);
	} else if (slot->buffer.size == 0 || is_record_lost(u, slot, result)) {
		read_again_plain(u, slot);
	} else {
		fail(u, slot, result); /* a pipe's bytes cannot be read again */
	}
}

/* Continues files that waited for memory, if it suffices now. */
static void
unpark(struct hone_uring *u)
{
	for (unsigned i = 0; i < u->depth; i++) {
		struct hone_uring_slot *slot = &u->slots[i];

		if (slot->stage == HONE_URING_PARKED &&
			!hone_batch_stopped(u->b) && enlarge(u, slot))
			queue_read(u, slot);
	}
}

void
hone_uring_answer(struct hone_uring *u, unsigned number, int result)
{
	struct hone_uring_slot *slot = &u->slots[number];
	size_t before = u->memory;

	if (hone_batch_stopped(u->b))
		hone_uring_drop_file(u, slot);
	else if (slot->stage == HONE_URING_OPENING)
		opened(u, slot, result);
	else
		got(u, slot, result);
	if (u->memory < before)
		unpark(u);
}
