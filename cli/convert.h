/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_CLI_CONVERT_H
#define HONE_CLI_CONVERT_H
/* What the files of `hone convert` share. */
#include "cli.h"

/* A conversion: what was asked, and what came of it. */
struct job {
	const struct cli *cli;
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
	struct output output;
	struct image_copied copied;
	/* bytes of the new image's virtual disk */
	uint64_t size;
	double seconds;
};

/* create.c: sets format and create; 0 or the exit status. */
int create_parse(struct job *job);

/* cache.c: whether the page cache is to be bypassed or left clean. Before the
 * source is opened, and again once its size is known. */
int cache_parse(struct job *job);

/* memory.c: bytes that the page cache can take: what the machine has left, or
 * the limit of the process's cgroup. root is "", or a folder in place of /. */
uint64_t memory_available(const char *root);

/* report.c: the result as text or JSON. */
void report_print(const struct job *job);

#endif
