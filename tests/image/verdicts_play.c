/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verdicts_play FORMAT FILE...: the verdict of each image on each way on which
 * its bytes come: as a file, in a pipe that is stdin, and from a web server in
 * a thread of this process. Prints what differs from the file, and the number
 * of images that were compared. FORMAT - is that of the bytes. Without
 * arguments, two sound images are played, which have to be read on each way.
 */
#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include "hash/hash.h"
#include "image.h"
#include "small_image.h"
#include "support.h"

enum way {
	WAY_FILE,
	WAY_PIPE,
	/* a server with ranges */
	WAY_RANGES,
	/* a server that answers with the whole file, and has its length */
	WAY_WHOLE,
	/* the same in chunks, without a length */
	WAY_CHUNKED,
	WAYS
};

/*
 * A web server in a thread, on 127.0.0.1. It has one file at a time, and
 * answers one request on each connection, one connection after the other.
 */

#define REQUEST 8192

static int listening = -1;
static pthread_t thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	const char *bytes;
	size_t length;
	enum way answer;
} served;

/* Returns false if the client has left. */
static bool
send_all(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t n = send(fd, bytes, length, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		bytes += n;
		length -= (size_t)n;
	}
	return true;
}

/* Read up to the empty line. Returns false if the client has left. */
static bool
read_request(int fd, char *text)
{
	size_t length = 0;

	text[0] = '\0';
	while (!strstr(text, "\r\n\r\n")) {
		ssize_t n = recv(fd, text + length, REQUEST - 1 - length, 0);
		if (n <= 0)
			return false;
		length += (size_t)n;
		text[length] = '\0';
	}
	return true;
}

/* The range that was asked for, within the file. */
static void
send_range(int fd, const char *request)
{
	static const char field[] = "\r\nRange: bytes=";
	const char *range = strstr(request, field);
	unsigned long first = 0, last = ULONG_MAX;
	char head[256];

	if (range) {
		char *end;
		first = strtoul(range + strlen(field), &end, 10);
		last = strtoul(end + 1, NULL, 10);
	}
	if (last >= served.length && served.length)
		last = served.length - 1;
	if (first > last || served.length == 0) {
		snprintf(head, sizeof(head),
			"HTTP/1.1 416 Range Not Satisfiable\r\n"
			"Connection: close\r\nContent-Length: 0\r\n"
			"Content-Range: bytes */%zu\r\n\r\n",
			served.length);
		send_all(fd, head, strlen(head));
		return;
	}
	snprintf(head, sizeof(head),
		"HTTP/1.1 206 Partial Content\r\nETag: \"one\"\r\n"
		"Connection: close\r\nContent-Length: %lu\r\n"
		"Content-Range: bytes %lu-%lu/%zu\r\n\r\n",
		last - first + 1, first, last, served.length);
	if (send_all(fd, head, strlen(head)))
		send_all(fd, served.bytes + first, last - first + 1);
}

static void
send_whole(int fd)
{
	bool chunked = served.answer == WAY_CHUNKED;
	char head[256];

	if (chunked)
		snprintf(head, sizeof(head),
			"HTTP/1.1 200 OK\r\nConnection: close\r\n"
			"Transfer-Encoding: chunked\r\n\r\n%zx\r\n",
			served.length);
	else
		snprintf(head, sizeof(head),
			"HTTP/1.1 200 OK\r\nConnection: close\r\n"
			"Content-Length: %zu\r\n\r\n",
			served.length);
	if (send_all(fd, head, strlen(head)) &&
		send_all(fd, served.bytes, served.length) && chunked)
		send_all(fd, "\r\n0\r\n\r\n", 7);
}

/* Closes what the client has read, so that no reset cuts the answer. */
static void
hang_up(int fd)
{
	char rest[512];

	shutdown(fd, SHUT_WR);
	while (recv(fd, rest, sizeof(rest), 0) > 0)
		continue;
	close(fd);
}

static void *
serve(void *opaque)
{
	char request[REQUEST];

	(void)opaque;
	for (;;) {
		int fd = accept(listening, NULL, NULL);
		if (fd < 0)
			return NULL;
		if (read_request(fd, request)) {
			pthread_mutex_lock(&lock);
			if (served.answer == WAY_RANGES)
				send_range(fd, request);
			else
				send_whole(fd);
			pthread_mutex_unlock(&lock);
		}
		hang_up(fd);
	}
}

static void
tiny_server_begin(void)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(listening >= 0);
	assert_ok(bind(listening, (struct sockaddr *)&here, sizeof(here)));
	assert_ok(listen(listening, 64));
	assert_ok(pthread_create(&thread, NULL, serve, NULL));
}

static void
tiny_server_end(void)
{
	/* accept() fails then. */
	shutdown(listening, SHUT_RDWR);
	pthread_join(thread, NULL);
	close(listening);
}

static unsigned
tiny_server_port(void)
{
	struct sockaddr_in here = {.sin_port = 0};
	socklen_t length = sizeof(here);

	assert_ok(getsockname(listening, (struct sockaddr *)&here, &length));
	return ntohs(here.sin_port);
}

/* From now on this is the file. The bytes stay the caller's. */
static void
tiny_server_serve(const void *bytes, size_t length, enum way answer)
{
	pthread_mutex_lock(&lock);
	served.bytes = bytes;
	served.length = length;
	served.answer = answer;
	pthread_mutex_unlock(&lock);
}

/* The ways. One image at a time. */

static const char *const way_names[WAYS] = {"a file", "a pipe",
	"a server with ranges", "a server without ranges",
	"a server without a length"};
static char folder[] = "/tmp/hone-ways-XXXXXX";
static char image_address[256];

/* What is written into the pipe. */
static struct {
	pthread_t thread;
	int fd;
	const char *bytes;
	size_t length;
} writer;

static void
write_file(const char *bytes, size_t length)
{
	FILE *file = fopen(image_address, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_ok(fclose(file));
}

static void *
write_pipe(void *opaque)
{
	size_t done = 0;

	(void)opaque;
	while (done < writer.length) {
		ssize_t n = write(
			writer.fd, writer.bytes + done, writer.length - done);
		/* The reader has left. */
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	close(writer.fd);
	return NULL;
}

static void
begin_pipe(const char *bytes, size_t length)
{
	int ends[2];

	assert_ok(pipe2(ends, O_CLOEXEC));
	assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	close(ends[0]);
	writer.fd = ends[1];
	writer.bytes = bytes;
	writer.length = length;
	assert_ok(pthread_create(&writer.thread, NULL, write_pipe, NULL));
}

static void
end_pipe(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	/* Closes the pipe: the writer ends if it has not. */
	assert_int_equal(dup2(null, STDIN_FILENO), STDIN_FILENO);
	close(null);
	pthread_join(writer.thread, NULL);
}

/*
 * Let an image come that way. The bytes stay the caller's until way_end().
 * Returns the address for image_open(), which is valid until then; its last
 * part is name, except in a pipe.
 */
static const char *
way_begin(enum way way, const char *name, const void *bytes, size_t length)
{
	switch (way) {
	case WAY_FILE:
		snprintf(image_address, sizeof(image_address), "%s/%s", folder,
			name);
		write_file(bytes, length);
		break;
	case WAY_PIPE:
		snprintf(image_address, sizeof(image_address), "-");
		begin_pipe(bytes, length);
		break;
	default:
		snprintf(image_address, sizeof(image_address),
			"http://127.0.0.1:%u/%s", tiny_server_port(), name);
		tiny_server_serve(bytes, length, way);
		break;
	}
	return image_address;
}

static void
way_end(enum way way)
{
	if (way == WAY_FILE)
		assert_ok(unlink(image_address));
	else if (way == WAY_PIPE)
		end_pipe();
	else
		/* Waits until the server has left the bytes, which a client
		 * that refused them may not have read. */
		tiny_server_serve("", 0, WAY_WHOLE);
}

/* What the command says of an image that comes on one way. */

/* The exit statuses of the command. */
enum status { READS = 0, FAILS = 1, REFUSES = 3, LOSES = 4 };
enum check { SAFE, UNSAFE, NO_CHECK };

/* The tries: as of hone digest. */
enum { PLAIN, UNTRUSTED, EXPECTED, TRIES };

static const char *const try_names[TRIES] = {
	"alone", "with --untrusted", "with --untrusted and --expect"};

/* What became of one try. */
struct outcome {
	enum status status;
	/* of the disk, if it was read and is not huge */
	unsigned char digest[IMAGE_DIGEST_MAX];
	char text[512];
};

struct verdicts {
	struct outcome read[TRIES];
	/* of hone check */
	enum check check;
	char text[512];
};

/* A larger disk is read, but its zeros are not hashed. */
#define LARGEST_DISK ((uint64_t)64 << 20)

static const struct image_algorithm *
sha256(void)
{
	return image_algorithm_by_name("sha256", strlen("sha256"));
}

static void
digest_of(const void *bytes, size_t length, struct image_expect *expect)
{
	struct image_error err;
	struct image_hash *hash;

	expect->algorithm = sha256();
	assert_ok(image_hash_create(&hash, expect->algorithm, &err));
	assert_ok(image_hash_add(hash, bytes, length, &err));
	assert_ok(image_hash_end(hash, expect->bytes, &err));
	image_hash_destroy(hash);
}

static void
fail_by(struct outcome *outcome, const struct image_error *err)
{
	outcome->status = FAILS;
	if (err->refused || err->damaged)
		outcome->status = REFUSES;
	else if (err->again)
		outcome->status = LOSES;
	snprintf(outcome->text, sizeof(outcome->text), "%s", err->text);
}

static int
ignore_extent(void *opaque, const struct image_extent *extent)
{
	(void)opaque;
	(void)extent;
	return 0;
}

/* Visit the whole image. */
static int
visit(struct image_source *source, struct outcome *outcome,
	struct image_error *err)
{
	struct image_digests digests = {
		.count = 1, .list = {{.algorithm = sha256()}}};
	struct image_run run = {.block = 4096, .threads = 2};

	if (!image_source_is_unsized(source) && source->size > LARGEST_DISK)
		return image_map(source, &run, true, ignore_extent, NULL, err);
	int rc = image_digest(source, UINT64_MAX, &run, &digests, err);
	if (rc == 0)
		memcpy(outcome->digest, digests.list[0].bytes,
			sizeof(outcome->digest));
	return rc;
}

static void
read_image(const char *address, const struct image_open *how,
	struct outcome *outcome)
{
	struct image_source *source;
	struct image_error err;

	*outcome = (struct outcome){.status = READS};
	if (image_open(address, how, &source, &err) < 0) {
		fail_by(outcome, &err);
		return;
	}
	if (visit(source, outcome, &err) < 0) {
		image_source_settle(source, &err);
		fail_by(outcome, &err);
	}
	image_close(source);
}

/* Keeps the first fault. */
static void
note(void *opaque, const struct image_finding *finding)
{
	char *text = opaque;

	if (finding->faults && !text[0])
		memcpy(text, finding->text, sizeof(finding->text));
}

static void
check_image(const char *address, const struct image_open *how,
	struct verdicts *found)
{
	struct image_checked checked;
	struct image_error err;

	found->text[0] = '\0';
	if (image_check(address, how, note, found->text, &checked, &err) == 0) {
		found->check = checked.safe ? SAFE : UNSAFE;
		return;
	}
	found->check = NO_CHECK;
	memcpy(found->text, err.text, sizeof(found->text));
}

/* Let the bytes come that way, once for each verdict. format NULL: none is
 * forced. */
static void
verdicts_of(struct verdicts *found, enum way way, const char *name,
	const char *format, const void *bytes, size_t length)
{
	struct image_open how = {.whole = true, .threads = 1};
	struct image_expect expect;

	digest_of(bytes, length, &expect);
	if (format)
		how.format = image_format_by_name(format);
	for (int i = 0; i < TRIES; i++) {
		how.untrusted = i != PLAIN;
		how.expect = i == EXPECTED ? &expect : NULL;
		read_image(way_begin(way, name, bytes, length), &how,
			&found->read[i]);
		way_end(way);
	}
	how.untrusted = false;
	how.expect = NULL;
	check_image(way_begin(way, name, bytes, length), &how, found);
	way_end(way);
}

/* What differs between two ways. */

/* Most bytes of an image. Larger ones are left out. */
#define LARGEST ((size_t)16 << 20)

/* Prints a difference. Returns 1 if there is one. */
static unsigned
compare(const char *file, enum way way, const char *what, const int verdict[2],
	const char *const text[2])
{
	if (verdict[0] == verdict[1])
		return 0;
	printf("%s: %s: a file %d '%s', %s %d '%s'\n", file, what, verdict[0],
		text[0], way_names[way], verdict[1], text[1]);
	return 1;
}

/* Returns the number of verdicts that differ. */
static unsigned
compare_all(const char *file, enum way way, const struct verdicts *first,
	const struct verdicts *other)
{
	const int checks[2] = {(int)first->check, (int)other->check};
	const char *const texts[2] = {first->text, other->text};
	unsigned wrong = compare(file, way, "check", checks, texts);

	for (int i = 0; i < TRIES; i++) {
		const struct outcome *a = &first->read[i], *b = &other->read[i];
		const int verdict[2] = {(int)a->status, (int)b->status};
		const char *const text[2] = {a->text, b->text};
		/* Alone, an image that is not safe may be read on one way: a
		 * stream sees a table that the disk does not need last. */
		if (i != PLAIN || first->read[UNTRUSTED].status == READS)
			wrong +=
				compare(file, way, try_names[i], verdict, text);
		if (a->status == READS && b->status == READS &&
			memcmp(a->digest, b->digest, sizeof(a->digest)) != 0)
			wrong += compare(file, way, "the digest",
				(const int[2]){0, 1}, text);
	}
	return wrong;
}

/* Returns the bytes of a file, or NULL if there are too many. */
static void *
load(const char *path, size_t *length)
{
	char *bytes = malloc(LARGEST);
	FILE *file = fopen(path, "rb");

	assert_true(file && bytes);
	*length = fread(bytes, 1, LARGEST, file);
	fclose(file);
	if (*length < LARGEST)
		return bytes;
	free(bytes);
	return NULL;
}

/* first: set to the verdicts of the file. */
static unsigned
play(const char *path, const char *format, const void *bytes, size_t length,
	struct verdicts *first)
{
	static struct verdicts other;
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	unsigned wrong = 0;

	verdicts_of(first, WAY_FILE, name, format, bytes, length);
	if (first->read[UNTRUSTED].status != READS &&
		first->read[EXPECTED].status == READS) {
		printf("%s: refused %s, read %s\n", path, try_names[UNTRUSTED],
			try_names[EXPECTED]);
		wrong++;
	}
	for (enum way way = WAY_FILE + 1; way < WAYS; way++) {
		if (way >= WAY_RANGES && !image_http_library())
			continue;
		verdicts_of(&other, way, name, format, bytes, length);
		wrong += compare_all(path, way, first, &other);
	}
	return wrong;
}

/* The images without a file, for the sanitizers. Returns what differs, and what
 * is wrong with those of the file. */
static unsigned
play_sound(unsigned *played)
{
	static unsigned char bytes[SMALL_BYTES];
	static const char *const formats[] = {"qcow2", "raw"};
	static struct verdicts first;
	unsigned wrong = 0;

	for (int i = 0; i < 2; i++) {
		small_image(bytes);
		bytes[0] += (unsigned char)i;
		wrong += play(
			formats[i], formats[i], bytes, SMALL_BYTES, &first);
		wrong += first.check != SAFE;
		++*played;
		for (int j = 0; j < TRIES; j++)
			wrong += first.read[j].status != READS;
	}
	return wrong;
}

int
main(int argc, char **argv)
{
	static struct verdicts first;
	unsigned wrong = 0, played = 0;

	if (argc == 2)
		return 2;
	/* A reader may leave before the end. */
	signal(SIGPIPE, SIG_IGN);
	/* No setting of the user. */
	setenv("no_proxy", "*", 1);
	assert_non_null(mkdtemp(folder));
	tiny_server_begin();
	if (argc == 1)
		wrong = play_sound(&played);
	for (int i = 2; i < argc; i++) {
		const char *format = strcmp(argv[1], "-") ? argv[1] : NULL;
		size_t length;
		void *bytes = load(argv[i], &length);
		if (!bytes)
			continue;
		wrong += play(argv[i], format, bytes, length, &first);
		played++;
		free(bytes);
	}
	tiny_server_end();
	assert_ok(rmdir(folder));
	printf("%u images, %u differences\n", played, wrong);
	return wrong > 0;
}
