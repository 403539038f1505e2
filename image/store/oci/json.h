/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_OCI_JSON_H
#define HONE_IMAGE_OCI_JSON_H
/*
 * Reads JSON where it stands: no tree is made, so that a hostile text takes no
 * memory but its own. Texts are not checked to be UTF-8.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value of a text that image_json_parse() has accepted. */
struct image_json {
	const char *at;
	const char *end;
};

/* Returns whether the text is one value of JSON, nested at most 32 deep. */
bool image_json_parse(const char *text, size_t length, struct image_json *root);

/* Set *value to a member of an object. Returns how many members have this name:
 * only one has a meaning. Returns 0 if this is no object. */
unsigned image_json_get(
	struct image_json object, const char *name, struct image_json *value);

/*
 * Set *item to the next item of an array. *list is the array before the first
 * call. Returns false at the end, or if this is no array.
 */
bool image_json_next(struct image_json *list, struct image_json *item);

/* Copy a string, without its escapes. Returns false if this is no string, if it
 * does not fit, or if it has a NUL or a surrogate. */
bool image_json_text(struct image_json value, char *text, size_t size);

/* Returns false if this is no number, or not one of 0 to UINT64_MAX without a
 * fraction and an exponent. */
bool image_json_number(struct image_json value, uint64_t *number);

/* image_json_text() of the one member of this name. text is "" after a failure.
 */
bool image_json_member(
	struct image_json object, const char *name, char *text, size_t size);

#endif
