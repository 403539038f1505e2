/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which bytes of an image are locked, and whose locks are respected. Locks of
 * two open file descriptions conflict within a process too.
 */
#include "image.h"
#include "host/host.h"
#include "support.h"

/* QEMU's: block/file-posix.c, raw_apply_lock_bytes(). */
#define DOES 100
#define FORBIDS 200
#define READ_CONSISTENT 0
#define WRITE 1
#define RESIZE 3

static int ours = -1;
static int peer = -1;

FIXTURE(begin)
{
	char path[40];

	ours = memfd_create("lock", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ours);
	peer = open(path, O_RDWR | O_CLOEXEC);
	return ours < 0 || peer < 0;
}

FIXTURE(end)
{
	close(ours);
	close(peer);
	return 0;
}

static void
lock_as_peer(short type, off_t first, off_t length)
{
	struct flock lock = {.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = first,
		.l_len = length};

	assert_ok(fcntl(peer, F_OFD_SETLK, &lock));
}

/* The bytes from 90 to 220 that we have locked, which the peer finds. */
static void
check_locked(const char *expected)
{
	char found[256] = "";

	for (off_t at = 90; at < 220; at++) {
		struct flock lock = {.l_type = F_WRLCK,
			.l_whence = SEEK_SET,
			.l_start = at,
			.l_len = 1};
		assert_ok(fcntl(peer, F_OFD_GETLK, &lock));
		if (lock.l_type == F_UNLCK)
			continue;
		/* QEMU's are all shared. */
		assert_int_equal(lock.l_type, F_RDLCK);
		size_t used = strlen(found);
		snprintf(found + used, sizeof(found) - used, "%d ", (int)at);
	}
	assert_string_equal(found, expected);
}

TEST_WITH(a_reader_locks_what_qemu_locks, begin, end)
{
	char text[256];

	assert_ok(image_lock_shared(ours, text, sizeof(text)));
	check_locked("100 201 203 ");
}

TEST_WITH(a_writer_locks_what_qemu_locks, begin, end)
{
	char text[256];

	assert_ok(image_lock_exclusive(ours, text, sizeof(text)));
	check_locked("101 200 201 202 203 204 ");
}

/* Each byte alone, locked by another program. */
static void
check_each(int (*lock)(int fd, char *text, size_t size), const int *refused,
	const char *hint)
{
	for (int at = 90; at < 220; at++) {
		char text[256] = "";
		bool wrong = false;
		for (const int *i = refused; *i; i++)
			wrong = wrong || *i == at;
		lock_as_peer(F_RDLCK, at, 1);
		if (lock(ours, text, sizeof(text)) != (wrong ? -EBUSY : 0))
			fail_msg("byte %d: %s", at, text);
		if (wrong && (!strstr(text, hint) ||
				     !strstr(text, "another process")))
			fail_msg("byte %d: %s", at, text);
		lock_as_peer(F_UNLCK, 0, 0);
		/* without what we took */
		end(NULL);
		assert_int_equal(begin(NULL), 0);
	}
}

TEST_WITH(a_reader_is_kept_out_by_writers, begin, end)
{
	static const int refused[] = {
		DOES + WRITE, DOES + RESIZE, FORBIDS + READ_CONSISTENT, 0};

	check_each(image_lock_shared, refused, "--force-share");
}

TEST_WITH(a_writer_is_kept_out_by_everyone, begin, end)
{
	static const int refused[] = {
		100, 101, 102, 103, 104, 200, 201, 202, 203, 204, 0};

	check_each(image_lock_exclusive, refused, "is in use by");
}

/* Not QEMU's: nothing there can be locked beside it. */
TEST_WITH(an_exclusive_lock_of_the_file_is_respected, begin, end)
{
	char text[256];

	lock_as_peer(F_WRLCK, 0, 0);
	assert_int_equal(image_lock_shared(ours, text, sizeof(text)), -EBUSY);
	assert_non_null(strstr(text, "is locked by"));
	assert_int_equal(
		image_lock_exclusive(ours, text, sizeof(text)), -EBUSY);
	/* bytes that QEMU does not use */
	lock_as_peer(F_UNLCK, 0, 0);
	lock_as_peer(F_WRLCK, 0, 100);
	lock_as_peer(F_WRLCK, 205, 0);
	assert_ok(image_lock_shared(ours, text, sizeof(text)));
}

TEST_WITH(readers_share_and_writers_do_not, begin, end)
{
	char text[256];

	assert_ok(image_lock_shared(ours, text, sizeof(text)));
	assert_ok(image_lock_shared(peer, text, sizeof(text)));
	assert_int_equal(
		image_lock_exclusive(peer, text, sizeof(text)), -EBUSY);
}

int
main(void)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

	begin(NULL);
	int rc = fcntl(ours, F_OFD_SETLK, &lock);
	end(NULL);
	if (rc < 0)
		return support_skip_all("locks", "no locks of descriptions");
	return run_all_tests(NULL, NULL);
}
