/* SPDX-License-Identifier: BSD-3-Clause */
#include "hash/hash.h"
#include "support.h"
#include "verdicts.h"

/* A larger disk is read, but its zeros are not hashed. */
#define LARGEST ((uint64_t)64 << 20)

const char *
verdict_try(int which)
{
	static const char *const names[VERDICT_TRIES] = {
		"alone", "with --untrusted", "with --untrusted and --expect"};

	return names[which];
}

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
	assert_int_equal(image_hash_create(&hash, expect->algorithm, &err), 0);
	assert_int_equal(image_hash_begin(hash, &err), 0);
	assert_int_equal(image_hash_add(hash, bytes, length, &err), 0);
	assert_int_equal(image_hash_end(hash, expect->bytes, &err), 0);
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

	if (!image_source_is_unsized(source) &&
		image_source_size(source) > LARGEST)
		return image_map(
			source, &run, true, true, ignore_extent, NULL, err);
	int rc = image_digest(source, &run, &digests, err);
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

void
verdicts_of(struct verdicts *found, enum way way, const char *name,
	const char *format, const void *bytes, size_t length)
{
	struct image_open how = {.whole = true, .threads = 1};
	struct image_expect expect;

	digest_of(bytes, length, &expect);
	if (format)
		how.format = image_format_by_name(format);
	for (int i = 0; i < VERDICT_TRIES; i++) {
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
