/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * src/ring: PRODUCERS and CONSUMERS on the memory of memory.pml. The order of
 * each access is a macro named after it. check.py sets these.
 * docs/design/ring.md tells what is covered and what is not.
 *
 * More macros:
 *   CAPACITY, SLOTS: mask + 1 of these, which need not be a power of two here
 *   GROUP: elements in a call: one or GROUP, bulk or burst
 *   ADDS, TAKES: calls of each producer, and of each consumer
 *   COUNTS: 1 if one more thread counts once, at any time
 *   TOLD: 1 if a call may happen after all that the others have done so far
 *   SINGLE_PRODUCER, SINGLE_CONSUMER: if defined
 *   PROMISES: those that are checked, a sum of the ones below
 * Planted bugs, if defined:
 *   NO_MARKS: consumers do not look for marks
 *   NO_TURN: a producer stores filled without looking whose turn it is
 *   HEAD_FIRST: consumers move head before they read
 */

/* A place is filled by one call, and emptied by one. */
#define ONCE 1
/* What is taken was put there. */
#define FILLED_BEFORE 2
/* Who takes an element sees what was written before it was published. */
#define WRITTEN 4
/* A slot is not filled again before it was read. */
#define READ 8
/* -ENOBUFS, -ENOENT and -EAGAIN were true at one instant. */
#define FULL 16
#define EMPTY 32
#define BUSY 64
/* hone_ring_count() tells 0 to the capacity. */
#define COUNTED 128
/* In the end, what was added and not taken is there. */
#define KEPT 256
/* Who stores to a location that several write knows of all stores before. */
#define IN_ORDER 512

#define THREADS (PRODUCERS + CONSUMERS + COUNTS)
#define POSITIONS (PRODUCERS * ADDS * GROUP)

/* Locations. Of the last ones only what is seen of them matters: how much of
 * what a thread did outside of the ring. */
#define HEAD 0
#define TAIL 1
#define FILLED 2
#define HEAD_SEEN 3
#define TAIL_SEEN 4
#define MARK(p) (5 + (p) % SLOTS)
#define SLOT(p) (5 + SLOTS + (p) % SLOTS)
#define STORED (5 + 2 * SLOTS)
#define DONE(thread) (STORED + (thread))
#define LOCATIONS (STORED + THREADS)
#define RACED(x) ((x) == HEAD_SEEN || (x) == TAIL_SEEN)

#define MOVES (POSITIONS + 1)
#define SEEN_ROOM(calls) (2 * (calls) + 2)
#define HEADS_SEEN SEEN_ROOM(PRODUCERS * ADDS)
#define TAILS_SEEN SEEN_ROOM(CONSUMERS * TAKES)
#define LAPS (POSITIONS / SLOTS + 2)
#define RELEASED (3 * MOVES + HEADS_SEEN + TAILS_SEEN + SLOTS * LAPS)
#define MESSAGES (RELEASED + SLOTS * LAPS)
/* Of location x: 0 and 1 as numbers pick the term. */
#define BASE(x) \
	(((x) < 4) * (x) * MOVES + \
	 ((x) == 4) * (3 * MOVES + HEADS_SEEN) + \
	 ((x) > 4) * (3 * MOVES + HEADS_SEEN + TAILS_SEEN + ((x) - 5) * LAPS))
#define ROOM(x) \
	(((x) < 3) * MOVES + ((x) == 3) * HEADS_SEEN + \
	 ((x) == 4) * TAILS_SEEN + ((x) > 4) * LAPS)
#define NO_SEQ_CST
#include "../../support/model/memory.pml"

/* By position: whether a call has it; who made the element, at which of its
 * steps, and at which one it was published. */
int owned;
byte maker[POSITIONS + 1];
byte made[POSITIONS + 1];
byte published[POSITIONS + 1];
/* Who took it, and at which step. */
byte taker[POSITIONS + 1];
byte took[POSITIONS + 1];
/* By tail, the head that must have been by then; by head, the tail. */
byte head_of[POSITIONS + 1];
byte tail_of[POSITIONS + 1];
byte ended;

hidden byte once, was_filled, was_written, was_read, was_full, was_empty;
hidden byte was_busy, count_fits, is_kept, is_in_order;
hidden byte i_;

#define PROMISE(which, name, holds) \
	name = (holds); \
	assert(name || !(PROMISES & which))
#define LAST(x) value[MESSAGE(x, last[x])]
#define KNOWN(thread, x) value[MESSAGE(x, SEEN(thread, x))]

/* The thread does something that others can notice by what they know. */
inline tick(thread) {
	last[DONE(thread)]++;
	SEEN(thread, DONE(thread)) = last[DONE(thread)]
}

#define KNOWS(thread, other, step) (SEEN(thread, DONE(other)) >= (step))

/* How many a call wants, and how few it takes. */
inline choose() {
	if
	:: n = 1
#if GROUP > 1
	:: n = GROUP
#endif
	fi;
	least = n;
	if
	:: n > 1 -> least = 1
	:: true
	fi
}

/* The thread may acquire what the others released just now. */
inline learn(thread) {
#if TOLD
	if
	:: true
	:: true ->
		d_step {
			FOR(t_, THREADS,
			    FOR(x_, LOCATIONS,
				SEE(thread, x_, SEEN(t_, x_))));
			tidy()
		}
	fi
#else
	skip
#endif
}

/* A location that several threads store to, each in its turn. */
inline store_in_turn(thread, x, order, new) {
	PROMISE(IN_ORDER, is_in_order, SEEN(thread, x) == last[x]);
	store(thread, x, order, new)
}

/* The thread has the places t to t + k - 1 and fills them. */
inline own() {
	d_step {
		tick(me);
		i_ = t;
		do
		:: i_ < t + k ->
			PROMISE(ONCE, once, !(owned & BIT(i_)));
			if
			:: i_ >= SLOTS ->
				PROMISE(READ, was_read, took[i_ - SLOTS] &&
					KNOWS(me, taker[i_ - SLOTS],
					      took[i_ - SLOTS]));
				taker[i_ - SLOTS] = 0
			:: else
			fi;
			owned = owned | BIT(i_);
			maker[i_] = me;
			made[i_] = last[DONE(me)];
			i_++
		:: else -> break
		od;
		head_of[t + k] = head_of[t];
		IF(head_of[t + k] < h, head_of[t + k] = h);
		IF(head_of[t + k] < KNOWN(me, HEAD),
		   head_of[t + k] = KNOWN(me, HEAD))
	}
}

/* What the thread filled is published: by itself, if not by a mark that
 * somebody has followed. */
inline finish() {
	d_step {
		tick(me);
		i_ = t;
		do
		:: i_ < t + k ->
			IF(!took[i_],
			   published[i_] = last[DONE(me)]);
			i_++
		:: else -> break
		od;
		/* spin refuses a loop at the end of some d_steps. */
		i_ = 0
	}
}

#include "ring_calls.pml"

/* Nobody does anything any more. */
inline check_kept() {
	x_ = LAST(HEAD);
	is_kept = true;
	do
	:: x_ < LAST(TAIL) ->
		IF(LAST(SLOT(x_)) != x_ + 1, is_kept = false);
		x_++
	:: else -> break
	od;
#ifndef SINGLE_PRODUCER
	x_ = LAST(FILLED);
	do
	:: x_ < LAST(TAIL) && LAST(MARK(x_)) > x_ -> x_ = LAST(MARK(x_))
	:: else -> break
	od;
	IF(x_ != LAST(TAIL), is_kept = false);
#endif
	PROMISE(KEPT, is_kept, is_kept)
}

inline end(thread) {
	d_step {
		IF(ended == THREADS - 1, check_kept());
		gone[thread] = true;
		FOR(x_, LOCATIONS, SEEN(thread, x_) = 0);
		tidy();
		ended++
	}
}

active [PRODUCERS] proctype producer() {
	byte calls, n, least, known, t, h, k, f, e, m;
	bool done;
	byte me = _pid;

	do
	:: add()
	:: calls == ADDS -> break
	od;
	end(me)
}

active [CONSUMERS] proctype consumer() {
	byte calls, n, least, known, t, h, k, f, e, m, item, item2;
	int filled;
	bool done;
	byte me = _pid;

	do
	:: take()
	:: calls == TAKES -> break
	od;
	end(me)
}

#if COUNTS
active proctype counter() {
	byte h, t, again_h;
	byte me = _pid;

	atomic {
		load(me, HEAD, COUNT_LOAD_HEAD, h);
again_count:	load(me, TAIL, COUNT_LOAD_TAIL, t);
		load(me, HEAD, COUNT_LOAD_AGAIN, again_h);
		if
		:: again_h == h ->
			PROMISE(COUNTED, count_fits,
				t >= h && t - h <= CAPACITY)
		:: else ->
			h = again_h;
			goto again_count
		fi
	}
	end(me)
}
#endif
