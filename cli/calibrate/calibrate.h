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
/* A round begins only if it will probably end before this limit. */
#define CALIBRATE_LIMIT_NS 4.5e9

#define CALIBRATE_SIZES 13
#define CALIBRATE_TURNS 9

/* The choices, in the order of their measurement. */
enum calibrate_kind {
	CALIBRATE_VECTORS,
	CALIBRATE_REP_MOVSB,
	CALIBRATE_STREAMS,
	CALIBRATE_KINDS
};

/* The times of two ways to copy. */
struct race {
	/* 0: the library has no such choice on this machine */
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
	/* the most frequent choice; if there are several, the earliest */
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

/* decide.c: the results depend on the arguments alone. */
/* Returns whether another round begins, ns after the start of the first. */
bool calibrate_goes_on(int n_rounds, double ns);
/* Returns the choice of one round. race->n_sizes is not 0. */
struct choice calibrate_decide(
	enum calibrate_kind kind, const struct race *race);
/* Returns the median of the medians of all rounds. */
double calibrate_time(const struct calibration *calibration,
	enum calibrate_kind kind, int way, size_t size);
/* n_rounds is 0 if the kind was not measured. */
struct agreement calibrate_agree(
	const struct calibration *calibration, enum calibrate_kind kind);
/*
 * Write the calls by which a program makes a choice, as lines of C. Returns the
 * number of lines, 0 unless the choice is sure.
 */
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
/* Returns whether the library has such a choice on this machine. */
bool calibrate_has(enum calibrate_kind kind);
/* The call changes the traits. */
void calibrate_measure(
	struct arena *arena, enum calibrate_kind kind, struct race *race);

/* print.c */
void calibrate_print_text(const struct calibration *calibration);
void calibrate_print_json(const struct calibration *calibration);

#endif
