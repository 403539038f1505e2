/* SPDX-License-Identifier: BSD-3-Clause */
#include <endian.h>
#include <time.h>
#include "fakes.h"
#include "support.h"

static char
letter(const struct fake *fake, uint64_t offset)
{
	return fake->map[offset / fake->grain];
}

static bool
is_hole(char kind)
{
	return kind == '-' || kind == '0';
}

/* Eight bytes that look random. */
static uint64_t
mixed(uint64_t number)
{
	uint64_t word = number * UINT64_C(0x9e3779b97f4a7c15);
	word = (word ^ word >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return word ^ word >> 32;
}

unsigned char
fake_byte(const struct fake *fake, uint64_t offset)
{
	if (offset >= fake->source.size)
		return 0;
	char kind = letter(fake, offset);
	if (is_hole(kind) || kind == 'z')
		return 0;
	if (kind == 'r')
		return (unsigned char)(mixed(offset / 8) >> offset % 8 * 8);
	return (unsigned char)((kind * 5 + (offset >> 9) * 37) | 1);
}

void
fake_bytes(const struct fake *fake, uint64_t offset, unsigned char *bytes,
	size_t length)
{
	for (size_t at = 0, n; at < length; at += n) {
		uint64_t from = offset + at;
		bool random = letter(fake, from) == 'r';
		n = random ? 8 - from % 8 : 512 - from % 512;
		if (n > length - at)
			n = length - at;
		if (random) {
			uint64_t word =
				htole64(mixed(from / 8) >> from % 8 * 8);
			memcpy(bytes + at, &word, n);
		} else {
			memset(bytes + at, fake_byte(fake, from), n);
		}
	}
}

static void
check_range(const struct fake *fake, uint64_t offset, uint64_t length)
{
	if (length == 0 || offset >= fake->source.size ||
		length > fake->source.size - offset)
		abort();
}

static int
extent(struct image_source *source, uint64_t offset, uint64_t length,
	struct image_extent *extent, struct image_error *err)
{
	struct fake *fake = (struct fake *)source;
	char kind = letter(fake, offset);
	uint64_t to = offset;

	check_range(fake, offset, length);
	atomic_fetch_add(&fake->extents, 1);
	if (fake->fail_extent && offset >= fake->fail_extent)
		return image_fail(err, "fake", -EINVAL, "extent failed");
	while (to < offset + length && letter(fake, to) == kind)
		to = (to / fake->grain + 1) * fake->grain;
	if (fake->look && to > (offset / fake->look + 1) * fake->look)
		to = (offset / fake->look + 1) * fake->look;
	if (to > offset + length)
		to = offset + length;
	*extent = (struct image_extent){.offset = offset,
		.length = to - offset,
		.kind = is_hole(kind) ? IMAGE_HOLE : IMAGE_DATA,
		.compressed = kind == 'c',
		.zero_cluster = kind == '0',
		.depth = kind == 'b',
		.host = is_hole(kind) || kind == 'c' ? IMAGE_NO_HOST
						     : FAKE_HOST + offset};
	return 0;
}

static int
read_bytes(struct image_source *source, struct image_scratch *scratch,
	uint64_t offset, void *buf, size_t length, struct image_error *err)
{
	struct fake *fake = (struct fake *)source;
	unsigned char *bytes = buf;

	(void)scratch;
	check_range(fake, offset, length);
	if (fake->on_read)
		fake->on_read(fake->opaque, offset, length);
	unsigned number = atomic_fetch_add(&fake->n_reads, 1);
	if (number < FAKE_CALLS)
		fake->reads[number] = (struct fake_call){offset, length};
	if (fake->fail_read && offset + length > fake->fail_read)
		return image_fail(err, "fake", -EIO, "read failed");
	fake_bytes(fake, offset, bytes, length);
	if (fake->flip >= offset && fake->flip - offset < length)
		bytes[fake->flip - offset] ^= 0xff;
	return 0;
}

static int
unchanged(struct image_store *store, struct image_error *err)
{
	const struct fake *fake =
		(struct fake *)((char *)store - offsetof(struct fake, store));

	return fake->changed ? image_fail(err, "fake", -EIO, "changed") : 0;
}

static const struct image_source_ops ops = {
	.extent = extent,
	.read = read_bytes,
};

static const struct image_store_ops source_store_ops = {.unchanged = unchanged};

void
fake_init(struct fake *fake, const char *map, uint64_t grain, uint64_t size)
{
	*fake = (struct fake){.source = {.ops = &ops,
				      .format = &image_format_qcow2,
				      .size = size},
		.store = {.ops = &source_store_ops},
		.map = map,
		.grain = grain,
		.flip = UINT64_MAX};
	fake->source.store = &fake->store;
}

void
fake_random_map(char *map, size_t n, const char *letters, size_t change,
	uint64_t *random)
{
	for (size_t i = 0; i < n; i++)
		map[i] = i && support_below(random, change)
				 ? map[i - 1]
				 : letters[support_below(
					   random, strlen(letters))];
	map[n] = '\0';
}

void
fake_open(struct fake_gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	gate->open = true;
	pthread_cond_broadcast(&gate->changed);
	pthread_mutex_unlock(&gate->lock);
}

void
fake_wait(struct fake_gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	while (!gate->open)
		pthread_cond_wait(&gate->changed, &gate->lock);
	pthread_mutex_unlock(&gate->lock);
}

void
fake_pause(void)
{
	nanosleep(&(struct timespec){0, 30000000}, NULL);
}

static int
reserve(struct image_sink *sink, struct image_place *place,
	struct image_error *err)
{
	struct fake_sink *s = (struct fake_sink *)sink;

	assert_true(place->guest >= s->at);
	assert_true(!s->sink.fill || place->guest == s->at);
	assert_true(place->length > 0 && s->n_places < FAKE_PLACES);
	if (s->fail_reserve && place->guest >= s->fail_reserve)
		return image_fail(err, "sink", -EFBIG, "reserve failed");
	if (s->most && !place->compressed && place->length > s->most)
		place->length = s->most;
	if (!place->compressed)
		place->stored = place->length;
	place->host = s->next_host;
	s->next_host += place->stored + s->gap;
	assert_true(s->next_host <= FAKE_FILE_BYTES);
	s->places[s->n_places++] = *place;
	s->at = place->guest + place->length;
	return 0;
}

static const struct image_sink_ops sink_ops = {.reserve = reserve};

static struct fake_sink *
of(struct image_store *store)
{
	return (struct fake_sink *)((char *)store -
				    offsetof(struct fake_sink, store));
}

static int
write_bytes(struct image_store *store, uint64_t offset, const void *buf,
	size_t length, struct image_error *err)
{
	struct fake_sink *s = of(store);

	if (++s->n_writes == s->fail_write)
		return image_fail(err, "sink", -ENOSPC, "write failed");
	memcpy(s->file + offset, buf, length);
	return 0;
}

static int
zero_bytes(struct image_store *store, uint64_t offset, uint64_t length,
	struct image_error *err)
{
	if (of(store)->zero_fails)
		return image_fail(
			err, "sink", of(store)->zero_fails, "zero failed");
	memset(of(store)->file + offset, 0, (size_t)length);
	return 0;
}

static int
share(struct image_store *store, uint64_t offset, struct image_store *from,
	uint64_t from_offset, uint64_t length, struct image_error *err)
{
	struct fake_sink *s = of(store);

	(void)err;
	if (!s->may_share || from != &s->source_data)
		return -EOPNOTSUPP;
	/* A raw file is shared as a whole. */
	bool whole =
		s->sink.format == &image_format_raw && length == s->sink.size;
	assert_true(!whole || offset + from_offset == 0);
	/* The first block is tried before the copy begins. */
	if (from_offset < FAKE_HOST && !whole) {
		memset(s->file + offset, 'S', (size_t)length);
		return 0;
	}
	if (s->refuses)
		return -EOPNOTSUPP;
	assert_true(offset % 4096 == 0 && from_offset % 4096 == 0 &&
		    length % 4096 == 0);
	s->n_shares++;
	s->shared += length;
	fake_bytes(s->fake, whole ? 0 : from_offset - FAKE_HOST,
		s->file + offset, (size_t)length);
	return 0;
}

static const struct image_store_ops store_ops = {
	.write = write_bytes, .zero = zero_bytes, .share = share};

void
fake_sink_init(struct fake_sink *sink, struct fake *source)
{
	static char name[] = "sink";
	unsigned char *file = sink->file;
	/* A sink that fills has a file of other bytes from its test. */
	size_t used = sink->sink.fill ? FAKE_FILE_BYTES : sink->next_host;

	*sink = (struct fake_sink){
		.sink = {.ops = &sink_ops,
			.format = &image_format_qcow2,
			.store = &sink->store,
			.size = source->source.size},
		.store = {.ops = &store_ops, .name = name},
		.source_data = {.size = 1 << 20},
		.fake = source,
		.file = file,
		.next_host = 4096,
	};
	source->source.data = &sink->source_data;
	memset(file, 0, used);
}

static int
stream_read(struct image_stream *stream, void *buf, size_t length, size_t *got,
	struct image_error *err)
{
	struct fake_stream *s = (struct fake_stream *)stream;
	size_t left = s->length - s->at;
	size_t n = s->piece ? s->piece : 1 + s->n_reads * 7919 % 50000;

	s->n_reads++;
	assert_false(s->failed);
	s->failed = s->fails && s->at >= s->fails_at;
	if (s->failed)
		return image_fail(err, stream->name, s->fails, "is broken");
	n = n < length ? n : length;
	*got = n < left ? n : left;
	memcpy(buf, s->bytes + s->at, *got);
	s->at += *got;
	return 0;
}

static int
stream_skip(struct image_stream *stream, uint64_t unit, uint64_t *length,
	struct image_error *err)
{
	struct fake_stream *s = (struct fake_stream *)stream;

	(void)err;
	if (s->at < s->zeros[0] || s->at >= s->zeros[1])
		return 0;
	*length = (s->zeros[1] - s->at) / unit * unit;
	s->at += (size_t)*length;
	return 0;
}

static void
stream_close(struct image_stream *stream)
{
	struct fake_stream *s = (struct fake_stream *)stream;

	assert_false(s->closed);
	s->closed = true;
}

void
fake_stream_init(struct fake_stream *stream, const void *bytes, size_t length)
{
	static const struct image_stream_ops stream_ops = {.read = stream_read,
		.skip = stream_skip,
		.close = stream_close};
	static char stream_name[] = "fake";

	*stream = (struct fake_stream){.stream = {.ops = &stream_ops,
					       .name = stream_name,
					       .size = IMAGE_SIZE_UNKNOWN},
		.bytes = bytes,
		.length = length,
		.fails_at = length};
}

static struct test_store *
fake_store_of(struct image_store *store)
{
	return (struct test_store *)store;
}

static int
store_read(struct image_store *store, uint64_t offset, void *buf, size_t length,
	struct image_error *err)
{
	if (pread(fake_store_of(store)->fd, buf, length, (off_t)offset) ==
		(ssize_t)length)
		return 0;
	return image_fail(err, store->name, -EIO, "cannot be read");
}

/* Threads write at the same time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns whether the call that begins here is the one that fails. */
static bool
fails(struct test_store *t)
{
	return ++t->calls == t->fail_at;
}

static int
store_write(struct image_store *store, uint64_t offset, const void *buf,
	size_t length, struct image_error *err)
{
	struct test_store *t = fake_store_of(store);

	pthread_mutex_lock(&lock);
	t->last_offset = offset;
	t->last_length = length;
	t->last_was_write = true;
	t->bytes += length;
	bool failed = fails(t);
	pthread_mutex_unlock(&lock);
	if (!failed && (t->fd < 0 || pwrite(t->fd, buf, length,
					     (off_t)offset) == (ssize_t)length))
		return 0;
	return image_fail(err, store->name, -ENOSPC, "cannot be written");
}

static int
store_zero(struct image_store *store, uint64_t offset, uint64_t length,
	struct image_error *err)
{
	static const unsigned char zeros[4096];
	struct test_store *t = fake_store_of(store);
	uint64_t end = offset + length;

	pthread_mutex_lock(&lock);
	t->zeroed += length;
	bool failed = fails(t);
	pthread_mutex_unlock(&lock);
	if (failed)
		return image_fail(err, store->name, -EIO, "cannot be zeroed");
	for (uint64_t at = offset; t->fd >= 0 && at < end;) {
		uint64_t left = end - at;
		size_t n = left < sizeof(zeros) ? (size_t)left : sizeof(zeros);
		assert_int_equal(pwrite(t->fd, zeros, n, (off_t)at), n);
		at += n;
	}
	return 0;
}

static int
store_resize(struct image_store *store, uint64_t size, struct image_error *err)
{
	struct test_store *t = fake_store_of(store);

	t->last_was_write = false;
	if (!fails(t) && (t->fd < 0 || ftruncate(t->fd, (off_t)size) == 0))
		return 0;
	return image_fail(err, store->name, -EFBIG, "cannot be so long");
}

static void
store_close(struct image_store *store)
{
	fake_store_of(store)->closed = true;
}

static char name[] = "file";

static const struct image_store_ops fake_store_ops = {
	.read = store_read,
	.write = store_write,
	.zero = store_zero,
	.resize = store_resize,
	.close = store_close,
};

void
test_store_init(struct test_store *store, int fd)
{
	*store = (struct test_store){
		.store = {.ops = &fake_store_ops, .name = name, .zeros = true},
		.fd = fd};
}

int
test_store_scratch(void)
{
	char path[] = "sink_test.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	return fd;
}

struct image_store *
open_again(int fd)
{
	static const struct image_store_how how;
	struct image_store *store;
	struct image_error err;
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_ok(image_store_open(path, NULL, &how, &store, &err));
	return store;
}

struct image_store *
use(int fd)
{
	static const struct image_store_how how;
	struct image_store *store;
	struct image_error err;

	assert_ok(image_store_use(fd, "file", &how, &store, &err));
	return store;
}

struct reader {
	struct image_store *store;
	const unsigned char *bytes;
	size_t size;
	/* 0: anywhere, or mostly ascending */
	size_t chunk;
	bool ascends;
	/* of all: where the next chunk begins */
	size_t *next;
	uint64_t seed;
	bool failed;
};

/* Returns false after the last range. */
static bool
next_range(struct reader *r, size_t i, size_t *at, size_t *length)
{
	if (r->chunk) {
		*length = r->chunk;
		*at = __atomic_fetch_add(r->next, r->chunk, __ATOMIC_RELAXED);
	} else {
		*at = support_below(&r->seed, r->size);
		*length = support_below(&r->seed, 200000);
		if (r->ascends && i % 8)
			*at = *at / 40 + i * (r->size / 300);
		if (*at >= r->size)
			*at = r->size - 1;
	}
	if (*at >= r->size)
		return false;
	size_t left = r->size - *at;
	if (*length > left)
		*length = left;
	return r->chunk || i < 300;
}

static void *
run_reader(void *opaque)
{
	static _Thread_local unsigned char buf[300000];
	struct reader *r = opaque;
	struct image_error err;
	size_t at, n;

	for (size_t i = 0; !r->failed && next_range(r, i, &at, &n); i++) {
		r->failed = image_store_read(r->store, at, buf, n, &err) < 0 ||
			    memcmp(buf, r->bytes + at, n) != 0;
		if (r->chunk)
			image_store_release(r->store, at & ~511u, n + at % 512);
	}
	return NULL;
}

void
fake_read_by_threads(struct image_store *store, const unsigned char *bytes,
	size_t size, size_t chunk)
{
	uint64_t seed = support_seed();
	struct reader readers[4];
	size_t next = 0;

	for (int i = 0; i < 4; i++)
		readers[i] = (struct reader){store, bytes, size, chunk, i % 2,
			&next, support_random(&seed), false};
	support_threads(run_reader, readers, 4, sizeof(*readers));
	for (int i = 0; i < 4; i++)
		assert_false(readers[i].failed);
}
