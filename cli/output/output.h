/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_CLI_OUTPUT_H
#define HONE_CLI_OUTPUT_H
/*
 * What the files of this folder share. Each function returns 0, or -1 with a
 * sentence in output->text.
 */
#include "cli.h"

/* refuse.c: set output->text; returns -1. */
__attribute__((format(printf, 2, 3))) int output_refuse(
	struct output *output, const char *format, ...);

/* place.c: set path, name and directory. */
int output_find_place(struct output *output, const char *name);
/* Fail if the directory is no longer where the user named it. */
int output_check_place(struct output *output);

/* old.c: open what has the name already, and refuse what must stay. */
int output_judge(struct output *output);
/* True if the name still stands for what was judged. */
bool output_judged(const struct output *output);

/* inherit.c: give the new file what the old one has besides its bytes. */
int output_inherit(struct output *output);

/* temporary.c: make the new file, later give it the name. */
int output_make(struct output *output);
int output_publish(struct output *output);

/* attributes.c */
/* What chattr(1) sets, as STATX_ATTR_* of statx(2); 0 if it is not known. */
uint64_t output_attributes(int fd);

#endif
