/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of bytes for which there is no memory. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <hone/zero.h>
#include "blocks/cache.h"

bool
blocks_is_moved(const struct image_blocks *b, uint64_t index)
{
	return index / 64 < b->words_moved &&
	       (b->moved[index / 64] >> index % 64 & 1);
}

static int
begin_spill(struct image_blocks *b, struct image_error *err)
{
	const struct image_spill *spill = b->spill;
	char path[PATH_MAX];

	if (!spill)
		return image_fail(err, b->store.name, -ENOSPC,
			"has tables behind its data, and there is no space to "
			"keep the data; write it to a file first");
	if (spill->begin)
		spill->begin(spill->opaque, b->store.name, spill->folder);
	b->fd = open(spill->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	/* Not every file system has O_TMPFILE. */
	if (b->fd < 0 && snprintf(path, sizeof(path), "%s/hone-XXXXXX",
				 spill->folder) < (int)sizeof(path)) {
		b->fd = mkostemp(path, O_CLOEXEC);
		if (b->fd >= 0)
			unlink(path);
	}
	return b->fd >= 0 ? 0
			  : image_fail(err, spill->folder, -errno,
				    "a temporary file cannot be made there: %s",
				    strerror(errno));
}

static int
write_block(const struct image_blocks *b, const struct block *block,
	struct image_error *err)
{
	size_t done = 0;

	while (done < block->filled) {
		ssize_t n =
			pwrite(b->fd, block->bytes + done, block->filled - done,
				(off_t)(block->index * BLOCK + done));
		if (n < 0 && errno == EINTR)
			continue;
		int code = n < 0 ? errno : ENOSPC;
		if (n <= 0)
			return image_fail(err, b->spill->folder, -code,
				"the temporary file cannot be written: %s",
				strerror(code));
		done += (size_t)n;
	}
	return 0;
}

/* Zeros need no space. */
int
blocks_move(struct image_blocks *b, struct block *block)
{
	uint64_t word = block->index / 64, before = b->words_moved;
	struct image_error err;
	int rc = 0;

	pthread_mutex_unlock(&b->lock);
	if (b->fd < 0)
		rc = begin_spill(b, &err);
	if (rc == 0 && !hone_buffer_is_zero(block->bytes, block->filled))
		rc = write_block(b, block, &err);
	pthread_mutex_lock(&b->lock);
	if (rc == 0)
		rc = image_grow(&b->moved, &b->words_moved, word + 1,
			sizeof(*b->moved), &err);
	if (rc < 0)
		return blocks_fail(b, rc, &err);
	memset(b->moved + before, 0,
		(b->words_moved - before) * sizeof(*b->moved));
	b->moved[word] |= (uint64_t)1 << block->index % 64;
	return 0;
}

int
blocks_read_moved(struct image_blocks *b, uint64_t offset, unsigned char *buf,
	size_t length, struct image_error *err)
{
	size_t done = 0;

	/* A block of zeros at the end of the file was not written. */
	memset(buf, 0, length);
	while (done < length) {
		ssize_t n = pread(b->fd, buf + done, length - done,
			(off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return image_fail(err, b->spill->folder, -errno,
				"the temporary file cannot be read: %s",
				strerror(errno));
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return 0;
}
