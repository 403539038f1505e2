/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_CLI_CALIBRATE_H
#define HONE_CLI_CALIBRATE_H
/*
 * hone cpu --calibrate, in several rounds. calibrate.c calls the other files:
 * measure.c times copies, decide.c chooses by times, print.c prints.
 */
#include <stdbool.h>
#include <stddef.h>

#define CALIBRATE_ROUNDS 7
/* A choice of fewer rounds is never sure. */
#define CALIBRATE_LEAST_ROUNDS 5
/* No round begins that would probably end later. */
#define CALIBRATE_LIMIT_NS 4.5e9

#define CALIBRATE_SIZES 13
#define CALIBRATE_TURNS 9

/* What is chosen, in this order. */
enum calibrate_kind {
	CALIBRATE_VECTORS,
	CALIBRATE_REP_MOVSB,
	CALIBRATE_STREAMS,
	CALIBRATE_KINDS
};

/* The times of two ways to copy, beside one another. */
struct race {
	/* 0: the library has no such choice here */
	size_t n_sizes;
	/* bytes of the first size; each size is twice the one before it */
	size_t smallest;
	/* odd: the median is one of the times */
	int n_turns;
	/* by way, 0 or 1: vectors of 32 or 64 bytes, loop or rep movsb, KEEP or
	 * STREAM */
	double ns[2][CALIBRATE_SIZES][CALIBRATE_TURNS];
};

/*
 * VECTORS: min is the bytes of a vector; 0 if neither width is clearly faster.
 * REP_MOVSB: the smallest and the largest copy by rep movsb; max 0 if none.
 * STREAMS: min is the threshold; SIZE_MAX if no copy is streamed.
 * Otherwise max is SIZE_MAX.
 */
struct choice {
	size_t min, max;
};

struct agreement {
	/* the choice of most rounds; of several, the earliest */
	struct choice choice;
	/* rounds that made this choice, rounds that were measured */
	int same, n_rounds;
	/* of min in all rounds */
	size_t lowest, highest;
	/* enough rounds, and all made this choice */
	bool sure;
};

struct round {
	struct race race[CALIBRATE_KINDS];
	struct choice choice[CALIBRATE_KINDS];
};

struct calibration {
	int n_rounds;
	struct round round[CALIBRATE_ROUNDS];
};

/* decide.c: depends on its arguments alone. */
/* Whether another round begins, ns after the start of the first. */
bool calibrate_goes_on(int n_rounds, double ns);
/* The choice of one round; the race has sizes. */
struct choice calibrate_decide(
	enum calibrate_kind kind, const struct race *race);
/* The median over all rounds of the medians of each. */
double calibrate_time(const struct calibration *calibration,
	enum calibrate_kind kind, int way, size_t size);
/* n_rounds is 0 if the kind was not measured. */
struct agreement calibrate_agree(
	const struct calibration *calibration, enum calibrate_kind kind);
/* The calls by which a program makes a choice, as lines of C; returns how many:
 * 0 unless the choice is sure. */
#define CALIBRATE_CALLS 2
#define CALIBRATE_CALL 80
int calibrate_calls(enum calibrate_kind kind, const struct agreement *agreement,
	char calls[CALIBRATE_CALLS][CALIBRATE_CALL]);

/* measure.c */
struct arena {
	unsigned char *from, *to;
	/* offset of the next cold copy; wraps at the end */
	size_t at;
};
bool calibrate_open(struct arena *arena);
void calibrate_close(struct arena *arena);
double calibrate_now_ns(void);
/* Whether the library has such a choice here. */
bool calibrate_has(enum calibrate_kind kind);
/* Leaves the traits as the last copies needed them. */
void calibrate_measure(
	struct arena *arena, enum calibrate_kind kind, struct race *race);

/* print.c */
void calibrate_print_text(const struct calibration *calibration);
void calibrate_print_json(const struct calibration *calibration);

#endif
