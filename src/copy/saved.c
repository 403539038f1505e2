/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choices of this part as a line of text, and back. A number has one form:
 * decimal digits without a leading zero, or "max" for SIZE_MAX, whose digits
 * depend on the width of size_t.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <hone/cpu.h>
#include "copy.h"

/* 1: the version of the format. */
#define HEAD "hone-copy 1 cpu="
#define THRESHOLD " threshold="
#define MIN " rep_movsb_min="
#define MAX " rep_movsb_max="
#define STORE " store_bytes="
#define UNLIMITED "max"

#define LETTERS                                                                \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ"                                           \
	"abcdefghijklmnopqrstuvwxyz"
#define NUMBER_SIZE 24 /* digits of 2^64, and a zero byte */

struct choices {
	char cpu[HONE_CPU_NAME_SIZE];
	size_t threshold, min, max, store;
};

/* What is left of a text. */
struct rest {
	const char *at;
	size_t length;
};

static const char *
number_text(char *text, size_t number)
{
	if (number == SIZE_MAX)
		return UNLIMITED;
	snprintf(text, NUMBER_SIZE, "%zu", number);
	return text;
}

int
hone_copy_save(char *text, size_t size)
{
	char line[HONE_COPY_SAVED_SIZE], cpu[HONE_CPU_NAME_SIZE];
	char threshold[NUMBER_SIZE], min[NUMBER_SIZE], max[NUMBER_SIZE];
	char store[NUMBER_SIZE];
	/* hone_copy_apply() refuses a range on a CPU without ERMS. */
	bool erms = hone_cpu_trait(HONE_CPU_TRAIT_ERMS) > 0;
	int length;

	hone_cpu_name(cpu);
	length = snprintf(line, sizeof(line),
		HEAD "%s" THRESHOLD "%s" MIN "%s" MAX "%s" STORE "%s\n", cpu,
		number_text(threshold, hone_copy_threshold()),
		number_text(
			min, erms ? hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN)
				  : 0),
		number_text(
			max, erms ? hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX)
				  : 0),
		number_text(store, hone_cpu_trait(HONE_CPU_TRAIT_STORE_BYTES)));
	assert(length > 0 && (size_t)length < sizeof(line));
	if ((size_t)length >= size)
		return -ENOBUFS;
	memcpy(text, line, (size_t)length + 1);
	return length;
}

static bool
take_word(struct rest *rest, const char *word)
{
	size_t n = strlen(word);

	if (rest->length < n || memcmp(rest->at, word, n) != 0)
		return false;
	rest->at += n;
	rest->length -= n;
	return true;
}

/* Every character that hone_cpu_name() may set. A zero byte ends the name. */
static bool
take_cpu(struct rest *rest, char *cpu)
{
	size_t n = rest->length < HONE_CPU_NAME_SIZE ? rest->length
						     : HONE_CPU_NAME_SIZE - 1;

	if (n > 0)
		memcpy(cpu, rest->at, n);
	cpu[n] = '\0';
	n = strspn(cpu, LETTERS "0123456789_-");
	cpu[n] = '\0';
	rest->at += n;
	rest->length -= n;
	return n > 0;
}

static bool
take_number(struct rest *rest, size_t *number)
{
	size_t value = 0, n = 0;

	if (take_word(rest, UNLIMITED)) {
		*number = SIZE_MAX;
		return true;
	}
	for (; n < rest->length; n++) {
		unsigned digit = (unsigned char)rest->at[n] - (unsigned)'0';

		if (digit > 9)
			break;
		if ((n > 0 && value == 0) ||
			__builtin_mul_overflow(value, 10u, &value) ||
			__builtin_add_overflow(value, digit, &value))
			return false;
	}
	if (n == 0 || value == SIZE_MAX)
		return false;
	*number = value;
	rest->at += n;
	rest->length -= n;
	return true;
}

/* Nothing in *choices counts after false. */
static bool
parse_line(const char *text, size_t length, struct choices *choices)
{
	struct rest rest = {text, length};

	if (!take_word(&rest, HEAD) || !take_cpu(&rest, choices->cpu) ||
		!take_word(&rest, THRESHOLD) ||
		!take_number(&rest, &choices->threshold) ||
		!take_word(&rest, MIN) || !take_number(&rest, &choices->min) ||
		!take_word(&rest, MAX) || !take_number(&rest, &choices->max) ||
		!take_word(&rest, STORE) ||
		!take_number(&rest, &choices->store))
		return false;
	take_word(&rest, "\n");
	/* 0 would mean the default, which a line states in bytes. */
	return rest.length == 0 && choices->threshold > 0;
}

int
hone_copy_apply(const char *text, size_t length)
{
	struct choices choices;
	char cpu[HONE_CPU_NAME_SIZE];
	bool in_range;

	if (!parse_line(text, length, &choices))
		return -EINVAL;
	hone_cpu_name(cpu);
	in_range = choices.max > 0 && choices.min <= choices.max;
	/* The same CPU may have lost ERMS: firmware and hosts can clear it. */
	if (strcmp(choices.cpu, cpu) != 0 ||
		(in_range && hone_cpu_trait(HONE_CPU_TRAIT_ERMS) == 0))
		return -ENODEV;
	hone_copy_set_threshold(choices.threshold);
	hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN, choices.min);
	hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX, choices.max);
	hone_cpu_set_trait(HONE_CPU_TRAIT_STORE_BYTES, choices.store);
	return 0;
}
