/* SPDX-License-Identifier: BSD-3-Clause */
/* A store over a stream. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>
#include <hone/zero.h>
#include "store/forward.h"

/* As much as a pipe holds. */
#define BLOCK ((size_t)64 << 10)
#define SECTORS (BLOCK / IMAGE_SECTOR)

/* Fewest blocks in memory. */
#define MIN_BLOCKS 8

/*
 * Released blocks that stay in memory. A cluster that is compressed can share a
 * sector with one that another thread reads a little later.
 */
#define KEEP 32

/* Blocks that have the last bytes of the stream, besides that which the stream
 * fills. */
#define ENDS (IMAGE_FORWARD_END / BLOCK)

struct block {
	TAILQ_ENTRY(block) age;
	struct block *next;
	/* its offset in the stream, in blocks */
	uint64_t index;
	unsigned filled;
	unsigned n_released;
	uint64_t released[SECTORS / 64];
	unsigned char bytes[];
};
TAILQ_HEAD(blocks, block);

struct forward {
	struct image_store store;
	struct image_stream *stream;
	const struct image_spill *spill;
	size_t max_blocks;
	bool keeps_ends;

	pthread_mutex_t lock;
	pthread_cond_t pulled;
	/* Everything below is used under the lock. */
	/* a thread reads the stream, without the lock */
	bool pulling;
	bool ended;
	/* bytes of the stream that came */
	uint64_t position;
	/* the block that the next byte belongs to, or NULL */
	struct block *head;
	/* each in the order of the stream or of their release */
	struct blocks needed;
	struct blocks released;
	size_t n_released;
	size_t n_blocks;
	/* by index % max_blocks */
	struct block **table;
	/* the file of the bytes that left the memory, or -1; each block has its
	 * offset in the stream */
	int fd;
	/* a bit for each block of the stream: it is in the file, or is zero */
	uint64_t *moved;
	uint64_t n_moved;
	/* not 0: a failure of the stream or of the file */
	int rc;
	struct image_error err;
};

static const struct image_store_ops forward_ops;

static struct forward *
of(struct image_store *store)
{
	return (struct forward *)store;
}

static struct block *
find(const struct forward *f, uint64_t index)
{
	struct block *b = f->table[index % f->max_blocks];

	while (b && b->index != index)
		b = b->next;
	return b;
}

static void
insert(struct forward *f, struct block *b)
{
	struct block **slot = &f->table[b->index % f->max_blocks];

	b->next = *slot;
	*slot = b;
}

static void
remove_block(struct forward *f, struct block *b)
{
	struct block **slot = &f->table[b->index % f->max_blocks];

	while (*slot != b)
		slot = &(*slot)->next;
	*slot = b->next;
}

static bool
is_released(const struct block *b)
{
	return b->n_released == SECTORS;
}

static bool
is_moved(const struct forward *f, uint64_t index)
{
	return index < f->n_moved && (f->moved[index / 64] >> index % 64 & 1);
}

/* Set the bit of a block that leaves the memory. */
static int
set_moved(struct forward *f, uint64_t index)
{
	if (index >= f->n_moved) {
		uint64_t n = f->n_moved ? 2 * f->n_moved : 1024;
		while (n <= index)
			n *= 2;
		uint64_t *moved = realloc(f->moved, n / 8);
		if (!moved)
			return image_no_memory(&f->err);
		memset(moved + f->n_moved / 64, 0, (n - f->n_moved) / 8);
		f->moved = moved;
		f->n_moved = n;
	}
	f->moved[index / 64] |= (uint64_t)1 << index % 64;
	return 0;
}

/* File systems without O_TMPFILE return one of these. */
static bool
no_tmpfile(int code)
{
	return code == EOPNOTSUPP || code == EISDIR || code == ENOENT ||
	       code == EINVAL;
}

/* Returns a file without a name in a directory, or a negative errno. */
static int
open_unnamed(const char *folder)
{
	char path[IMAGE_NAME_MAX];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || !no_tmpfile(errno))
		return fd < 0 ? -errno : fd;
	if ((size_t)snprintf(path, sizeof(path), "%s/hone-XXXXXX", folder) >=
		sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

/* Open the file for bytes that leave the memory. */
static int
begin_spill(struct forward *f)
{
	const struct image_spill *spill = f->spill;

	if (!spill)
		return image_fail(&f->err, f->store.name, -ENOSPC,
			"has tables behind its data, and there is no space to "
			"keep the data; write it to a file first");
	if (spill->begin)
		spill->begin(spill->opaque, f->store.name, spill->folder);
	f->fd = open_unnamed(spill->folder);
	if (f->fd >= 0)
		return 0;
	int code = f->fd;
	f->fd = -1;
	return image_fail(&f->err, spill->folder, code,
		"a temporary file cannot be made there: %s", strerror(-code));
}

static int
write_block(struct forward *f, const struct block *b)
{
	size_t done = 0;

	while (done < b->filled) {
		ssize_t n = pwrite(f->fd, b->bytes + done, b->filled - done,
			(off_t)(b->index * BLOCK + done));
		if (n < 0 && errno == EINTR)
			continue;
		int code = n < 0 ? errno : ENOSPC;
		if (n <= 0)
			return image_fail(&f->err, f->spill->folder, -code,
				"the temporary file cannot be written: %s",
				strerror(code));
		done += (size_t)n;
	}
	return 0;
}

/* Move a block that is needed out of memory. Zeros need no space. */
static int
move_block(struct forward *f, const struct block *b)
{
	int rc = 0;

	if (f->fd < 0)
		rc = begin_spill(f);
	if (rc == 0 && !hone_buffer_is_zero(b->bytes, b->filled))
		rc = write_block(f, b);
	return rc == 0 ? set_moved(f, b->index) : rc;
}

/*
 * A cluster that is compressed may begin in the last sector of a block whose
 * clusters were all read.
 */
static bool
next_is_needed(const struct forward *f, const struct block *b)
{
	const struct block *next = find(f, b->index + 1);

	return next ? !is_released(next) : is_moved(f, b->index + 1);
}

/* Returns whether the block has bytes at an end of what came so far. */
static bool
is_end(const struct forward *f, const struct block *b)
{
	return b->index == 0 || b->index + ENDS >= f->position / BLOCK;
}

/* Take the oldest released block out of its list, or return NULL. */
static struct block *
take_released(struct forward *f)
{
	struct block *next;

	for (struct block *b = TAILQ_FIRST(&f->released); b; b = next) {
		next = TAILQ_NEXT(b, age);
		if (f->keeps_ends && is_end(f, b))
			continue;
		TAILQ_REMOVE(&f->released, b, age);
		f->n_released--;
		if (!next_is_needed(f, b))
			return b;
		TAILQ_INSERT_TAIL(&f->needed, b, age);
	}
	return NULL;
}

static struct block *
allocate(struct forward *f)
{
	struct block *b = malloc(sizeof(*b) + BLOCK);

	f->n_blocks += b != NULL;
	return b;
}

/* Returns memory for a block, or NULL after setting f->err and *rc. */
static struct block *
take_memory(struct forward *f, int *rc)
{
	struct block *b = NULL;

	*rc = 0;
	if (f->n_released > KEEP)
		b = take_released(f);
	if (!b && f->n_blocks < f->max_blocks) {
		b = allocate(f);
		if (!b)
			*rc = image_no_memory(&f->err);
		return b;
	}
	if (!b)
		b = take_released(f);
	if (!b) {
		b = TAILQ_FIRST(&f->needed);
		*rc = move_block(f, b);
		if (*rc < 0)
			return NULL;
		TAILQ_REMOVE(&f->needed, b, age);
	}
	remove_block(f, b);
	return b;
}

/* Make f->head a block with room. */
static int
prepare_head(struct forward *f)
{
	int rc;

	if (f->head && f->head->filled < BLOCK)
		return 0;
	f->head = NULL;
	struct block *b = take_memory(f, &rc);
	if (!b)
		return rc;
	b->index = f->position / BLOCK;
	b->filled = b->n_released = 0;
	memset(b->released, 0, sizeof(b->released));
	insert(f, b);
	TAILQ_INSERT_TAIL(&f->needed, b, age);
	f->head = b;
	return 0;
}

/* Read the stream once. Called with the lock, which is free during the read. */
static void
pull(struct forward *f)
{
	size_t got = 0;

	f->rc = prepare_head(f);
	if (f->rc < 0) {
		pthread_cond_broadcast(&f->pulled);
		return;
	}
	struct block *b = f->head;
	f->pulling = true;
	pthread_mutex_unlock(&f->lock);
	struct image_error err;
	int rc = image_stream_read(
		f->stream, b->bytes + b->filled, BLOCK - b->filled, &got, &err);
	pthread_mutex_lock(&f->lock);
	f->pulling = false;
	b->filled += (unsigned)got;
	f->position += got;
	if (rc < 0) {
		f->rc = rc;
		f->err = err;
	} else if (got == 0) {
		f->ended = true;
	}
	pthread_cond_broadcast(&f->pulled);
}

/* Read the stream up to end, or to its own end. */
static int
pull_to(struct forward *f, uint64_t end, struct image_error *err)
{
	while (f->position < end && !f->ended && f->rc == 0) {
		if (f->pulling)
			pthread_cond_wait(&f->pulled, &f->lock);
		else
			pull(f);
	}
	/* Bytes that came before a failure are valid. */
	if (f->position >= end || f->rc == 0)
		return 0;
	*err = f->err;
	return f->rc;
}

static int
read_moved(struct forward *f, uint64_t offset, unsigned char *buf,
	size_t length, struct image_error *err)
{
	size_t done = 0;

	/* A block of zeros at the end of the file was not written. */
	memset(buf, 0, length);
	while (done < length) {
		ssize_t n = pread(f->fd, buf + done, length - done,
			(off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return image_fail(err, f->spill->folder, -errno,
				"the temporary file cannot be read: %s",
				strerror(errno));
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return 0;
}

/* Read bytes that came, all of one block. */
static int
read_part(struct forward *f, uint64_t offset, unsigned char *buf, size_t length,
	struct image_error *err)
{
	const struct block *b = find(f, offset / BLOCK);

	if (b && offset % BLOCK + length <= b->filled) {
		memcpy(buf, b->bytes + offset % BLOCK, length);
		return 0;
	}
	if (is_moved(f, offset / BLOCK))
		return read_moved(f, offset, buf, length, err);
	return image_fail(err, f->store.name, -ESPIPE,
		"comes as a stream, and its bytes at offset %" PRIu64
		" are needed a second time; write it to a file first",
		offset);
}

static int
forward_read(struct image_store *store, uint64_t offset, void *buf,
	size_t length, struct image_error *err)
{
	struct forward *f = of(store);
	unsigned char *to = buf;
	int rc = 0;

	pthread_mutex_lock(&f->lock);
	while (rc == 0 && length) {
		size_t part = BLOCK - offset % BLOCK;
		if (part > length)
			part = length;
		rc = pull_to(f, offset + part, err);
		if (rc == 0 && f->position < offset + part)
			rc = image_damaged(err, store->name, -EIO,
				"has no data at offset %" PRIu64
				": it ends at offset %" PRIu64,
				offset > f->position ? offset : f->position,
				f->position);
		if (rc == 0)
			rc = read_part(f, offset, to, part, err);
		offset += part;
		to += part;
		length -= part;
	}
	pthread_mutex_unlock(&f->lock);
	return rc;
}

static int
forward_reach(struct image_store *store, uint64_t offset, size_t length,
	uint64_t *reached, struct image_error *err)
{
	struct forward *f = of(store);

	pthread_mutex_lock(&f->lock);
	int rc = pull_to(f, offset + length, err);
	uint64_t left = offset < f->position ? f->position - offset : 0;
	*reached = left < length ? left : length;
	pthread_mutex_unlock(&f->lock);
	return rc;
}

/* Release the sectors from first to end of a block. */
static void
release_part(struct forward *f, uint64_t index, size_t first, size_t end)
{
	struct block *b = find(f, index);

	if (!b || is_released(b))
		return;
	for (size_t i = first; i < end; i++) {
		uint64_t bit = (uint64_t)1 << i % 64;
		b->n_released += !(b->released[i / 64] & bit);
		b->released[i / 64] |= bit;
	}
	if (!is_released(b))
		return;
	TAILQ_REMOVE(&f->needed, b, age);
	TAILQ_INSERT_TAIL(&f->released, b, age);
	f->n_released++;
}

static void
forward_release(struct image_store *store, uint64_t offset, uint64_t length)
{
	struct forward *f = of(store);
	uint64_t at = (offset + IMAGE_SECTOR - 1) / IMAGE_SECTOR;
	uint64_t end = (offset + length) / IMAGE_SECTOR;

	pthread_mutex_lock(&f->lock);
	if (end > f->position / IMAGE_SECTOR)
		end = f->position / IMAGE_SECTOR;
	while (at < end) {
		uint64_t index = at / SECTORS;
		uint64_t next = (index + 1) * SECTORS;
		if (next > end)
			next = end;
		release_part(f, index, at % SECTORS,
			(size_t)(next - index * SECTORS));
		at = next;
	}
	pthread_mutex_unlock(&f->lock);
}

/* Called with the lock. The bytes are not kept. */
static int
drain(struct forward *f, void *buffer)
{
	size_t got;

	while (f->rc == 0 && !f->ended) {
		f->rc = image_stream_read(
			f->stream, buffer, BLOCK, &got, &f->err);
		if (f->rc == 0)
			f->position += got;
		f->ended = f->rc == 0 && got == 0;
	}
	return f->rc;
}

int
image_forward_drain(struct image_store *store, struct image_error *err)
{
	struct forward *f = of(store);
	void *buffer = malloc(BLOCK);

	assert(store->ops == &forward_ops);
	if (!buffer)
		return image_no_memory(err);
	pthread_mutex_lock(&f->lock);
	while (f->pulling)
		pthread_cond_wait(&f->pulled, &f->lock);
	int rc = drain(f, buffer);
	if (rc < 0)
		*err = f->err;
	pthread_mutex_unlock(&f->lock);
	free(buffer);
	return rc;
}

/* That of a pipe. */
static int
forward_usage(const struct image_store *store, struct image_usage *usage,
	struct image_error *err)
{
	(void)err;
	usage->file_size = usage->disk_usage = store->size;
	return 0;
}

static void
free_blocks(struct blocks *blocks)
{
	struct block *b;

	while ((b = TAILQ_FIRST(blocks))) {
		TAILQ_REMOVE(blocks, b, age);
		free(b);
	}
}

static void
forward_close(struct image_store *store)
{
	struct forward *f = of(store);

	image_stream_close(f->stream);
	if (f->fd >= 0)
		close(f->fd);
	free_blocks(&f->needed);
	free_blocks(&f->released);
	free(f->table);
	free(f->moved);
	pthread_cond_destroy(&f->pulled);
	pthread_mutex_destroy(&f->lock);
	free(store->name);
	free(f);
}

static const struct image_store_ops forward_ops = {
	.read = forward_read,
	.reach = forward_reach,
	.release = forward_release,
	.unchanged = image_forward_drain,
	.usage = forward_usage,
	.close = forward_close,
};

void
image_forward_spill(struct image_store *store, const struct image_spill *spill)
{
	if (store->ops == &forward_ops)
		of(store)->spill = spill;
}

void
image_forward_keep_ends(struct image_store *store)
{
	if (store->ops == &forward_ops)
		of(store)->keeps_ends = true;
}

int
image_forward_open(struct image_stream *stream, uint64_t memory,
	struct image_store **out, struct image_error *err)
{
	struct forward *f = calloc(1, sizeof(*f));
	uint64_t n = (memory ? memory : IMAGE_FORWARD_MEMORY) /
		     (sizeof(struct block) + BLOCK);

	*out = NULL;
	if (!f) {
		image_stream_close(stream);
		return image_no_memory(err);
	}
	f->store.ops = &forward_ops;
	f->store.below = stream->store;
	f->store.size = stream->size;
	f->store.forward = true;
	f->stream = stream;
	f->fd = -1;
	f->max_blocks = n < MIN_BLOCKS ? MIN_BLOCKS : (size_t)n;
	TAILQ_INIT(&f->needed);
	TAILQ_INIT(&f->released);
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->pulled, NULL);
	f->store.name = strdup(stream->name);
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): a table of pointers */
	f->table = calloc(f->max_blocks, sizeof(*f->table));
	if (!f->store.name || !f->table) {
		image_store_close(&f->store);
		return image_no_memory(err);
	}
	*out = &f->store;
	return 0;
}
