/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_CLI_CONVERT_H
#define HONE_CLI_CONVERT_H
/*
 * Declarations for the files of `hone convert`, in the order of control:
 *
 *   convert.c   the command: options, the copy, --verify, what is refused
 *   create.c    options of the new image: -O, --pack, -o, -c, --level
 *   size.c      --size and --move-gpt
 *   cache.c     use of the page cache; memory.c: how large the cache may be
 *   layout.c    DST is an OCI layout
 *   expect.c    --expect-file and --expect-disk are parsed, the latter compared
 *   new_file.c  DST is a new file
 *   in_place.c  DST exists, and its ends are written last; or stdout
 *   report.c    the result, as text or JSON
 */
#include "cli.h"

/* A conversion: its options and its results. */
struct job {
	const struct cli *cli;
	/* of SRC and DST in messages: "stdin" and "stdout" for "-" */
	const char *source;
	const char *name;
	const struct image_format *format;
	struct image_create create;
	struct image_open open;
	struct image_write write;
	struct image_run run;
	struct progress progress;

	struct image_source *src;
	struct image_sink *dst;
	/* DST if it is a new file; usage: of both */
	struct output output;
	/* DST if it is an OCI layout; path is NULL if it is not */
	struct {
		char *path;
		struct image_layout_how how;
		/* after target.fill */
		struct image_layout files;
	} layout;
	/* DST if it exists and is written in place, or stdout */
	struct image_store *store;
	/* what DST in place has after a failure, as the end of a message */
	const char *state;
	struct image_copied copied;
	/* --digest, and then --expect-disk if its algorithm is another */
	struct image_digests digests;
	/* the first ones, which are printed; and in JSON */
	size_t n_printed;
	size_t n_reported;
	/* which of them --expect-disk is about, and what it is to be; no
	 * algorithm: none */
	size_t expected;
	struct image_expect expect;
	/* which of them --verify of a stream compares */
	size_t verified;
	/* of --expect-file; open.expect is NULL without the option */
	struct image_expect expect_file;
	/* bytes of the new image's virtual disk */
	uint64_t size;
	double seconds;
};

/* Returns whether DST is packed. */
static inline bool
job_packs(const struct job *job)
{
	return job->create.packing > IMAGE_PACKING_NONE;
}

/* layout.c: set job->layout by DST and --oci-type. Returns 0 or the exit
 * status. */
int layout_parse(struct job *job);

/* create.c: set format and create. Returns 0 or the exit status. */
int create_parse(struct job *job);

/*
 * cache.c: set the use of the page cache. Called before the source is opened.
 * Returns 0 or the exit status.
 */
int cache_parse(struct job *job);

/*
 * memory.c: returns the bytes that the page cache can use: the available memory
 * of the machine, or the lower limit of the process's cgroup. root is "", or a
 * folder that replaces /.
 */
uint64_t memory_available(const char *root);

/* size.c: --size and --move-gpt. Both return 0 or the exit status. */
int size_parse(struct job *job);
/* SRC is open: set the size in create, move the GPT, and leave out the end of
 * SRC. */
int size_apply(struct job *job);
/* job->dst is created: refuse a size that was rounded up behind the GPT. */
int size_check(const struct job *job, struct image_error *err);

/* expect.c: --digest, --expect-disk and --expect-file. */
/* Set the digests, and open.expect. Returns 0 or the exit status. */
int expect_parse(struct job *job);
/* Set job->verified to the digest for --verify of a stream. */
void expect_stream(struct job *job);
/* Returns -EINVAL and sets err->refused if the digest is not that expected. */
int expect_verify(struct job *job, struct image_error *err);

/* convert.c: returns whether DST is "-". */
bool convert_to_stdout(const struct job *job);
/*
 * convert.c: copy SRC to job->dst, up to image_finish(). Refuses what was
 * written if its digest or its signature is wrong.
 */
int convert_fill(struct job *job, struct image_error *err);

/*
 * One of two ways to write DST. Called in this order. A function that fails
 * returns a negative errno and sets err.
 */
struct target {
	/* Make DST ready, and create job->dst on it. A failure leaves nothing
	 * to abandon. */
	int (*begin)(struct job *job, struct image_error *err);
	/* convert_fill(), and sync DST. After that, job->dst is closed. */
	int (*fill)(struct job *job, struct image_error *err);
	/* Open what was written, for --verify. */
	int (*reopen)(struct job *job, struct image_source **back,
		struct image_error *err);
	/* Replace what was there by DST. A failure leaves nothing to abandon.
	 * NULL: fill did. */
	int (*commit)(struct job *job, struct image_error *err);
	/* In place of commit, after a failure of fill or of --verify. Adds to
	 * the message what is known. */
	void (*abandon)(struct job *job, struct image_error *err);
};

/* new_file.c: a file that appears under its name when it is complete. */
extern const struct target target_new_file;

/* in_place.c: a block device, an export, stdout, or with -n a file. */
extern const struct target target_in_place;
/*
 * Set job->store to DST if it exists and is written in place. Returns 0 or the
 * exit status.
 */
int in_place_open(struct job *job);

/* report.c: the result as text or JSON. */
void report_print(const struct job *job);

#endif
