/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_CLI_OUTPUT_H
#define HONE_CLI_OUTPUT_H
/*
 * Declarations for the files of this folder. Each function returns 0, or -1
 * with a message in output->text.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include "cli.h"

/* musl has statx(), but not these values of the kernel. */
#ifndef STATX_ATTR_IMMUTABLE
#define STATX_ATTR_IMMUTABLE 0x10
#endif
#ifndef STATX_ATTR_APPEND
#define STATX_ATTR_APPEND 0x20
#endif

/* refuse.c: set output->text; returns -1. */
__attribute__((format(printf, 2, 3))) int output_refuse(
	struct output *output, const char *format, ...);

/* place.c: set folder, name and directory. */
int output_find_place(struct output *output, const char *name);
/* Fail if the user's path no longer leads to the directory. */
int output_check_place(struct output *output);

/* place.c: open an existing file, and refuse a file that must not be replaced.
 */
int output_judge(struct output *output);
/* Returns true if the name still belongs to the file that was judged. */
bool output_judged(const struct output *output);

/*
 * place.c: returns the attributes of chattr(1) and others as STATX_ATTR_* of
 * statx(2); 0 if unknown.
 */
uint64_t output_attributes(int fd);
/* inherit.c: copy owner, permissions and attributes of the old file. */
int output_inherit(struct output *output);

/* inherit.c: the group that a new file will get, unless a mount option chooses
 * another one; and the mode with which a new file of that group is created. */
gid_t output_group(const struct output *output);
mode_t output_mode(const struct output *output, gid_t group);

/*
 * output.c: set output->temporary to ".NAME.hone-XXXXXX", with NAME shortened
 * if needed. output_abandon() frees the name. Returns -1 with errno and no
 * message.
 */
int output_draw_name(struct output *output);
/* The path of a descriptor, in a buffer of the block. */
#define OUTPUT_PATH_TEXT 32
#define OUTPUT_PATH(fd) output_path((char[OUTPUT_PATH_TEXT]){""}, fd)
const char *output_path(char path[OUTPUT_PATH_TEXT], int fd);
/* Give the open file a name that does not exist. Returns -1 with errno. */
int output_link(int fd, int directory, const char *name);

/* Give the temporary name the final one; without how.force, fail with EEXIST.
 */
int output_rename(const struct output *output);

/* folder.c: the same for how.folder; and remove a folder of that name. */
int output_publish_folder(struct output *output);
void output_remove_folder(const struct output *output, const char *name);
#define OUTPUT_FOLDER_EXISTS "exists; an OCI layout needs a new folder"

/* output.c: fsync(), again after a signal. */
int output_sync(int fd);

#endif
