/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the model of memory allows and forbids, by the shapes that everybody
 * tests memory models with. TEST names one; the orders of its accesses are A to
 * D, and an outcome that C allows is found as a violation of `forbidden`.
 */
#define THREADS 4
#define LOCATIONS 4
#define STORED 3
#define BASE(x) ((x) * 4)
#define ROOM(x) 4
#define MESSAGES 12
#define RELEASED 12
#include "memory.pml"

#define X 0
#define Y 1
#define Z 2

/* What was read, and which swap succeeded. */
byte r[4];
bool won[2];
byte ended;
hidden byte forbidden;

#define MESSAGE_PASSING 1
/* Each stores to one and then loads the other. */
#define STORE_BUFFERING 2
/* Two readers see two stores in different succession. */
#define INDEPENDENT_READS 3
/* One reader sees two stores to one location in the wrong succession. */
#define COHERENCE 4
/* A message passed on. */
#define CAUSALITY 5
/* A load comes before one store, whose thread misses what the load's saw. */
#define READ_TO_WRITE 6
/* The same, but the load's thread was told of the store by another location. */
#define TOLD_OF_WRITE 7
/* Each of three stores to one and then loads the next. */
#define THREE_BUFFERS 8
/* Two swap the same value. */
#define SWAP 9
/* A message passed by a store that another thread has swapped since. */
#define SEQUENCE 10
/* Each loads one and then stores to the other. */
#define LOAD_BUFFERING 11

#if TEST == MESSAGE_PASSING
#define FIRST  store(0, X, RELAXED, 1); store(0, Y, A, 1)
#define SECOND load(1, Y, B, r[0]); load(1, X, RELAXED, r[1])
#define WEAK   (r[0] == 1 && r[1] == 0)
#elif TEST == STORE_BUFFERING
#define FIRST  store(0, X, A, 1); load(0, Y, B, r[0])
#define SECOND store(1, Y, C, 1); load(1, X, D, r[1])
#define WEAK   (r[0] == 0 && r[1] == 0)
#elif TEST == INDEPENDENT_READS
#define FIRST  store(0, X, A, 1)
#define SECOND store(1, Y, A, 1)
#define THIRD  load(2, X, B, r[0]); load(2, Y, C, r[1])
#define FOURTH load(3, Y, B, r[2]); load(3, X, C, r[3])
#define WEAK   (r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 0)
#elif TEST == COHERENCE
#define FIRST  store(0, X, A, 1); store(0, X, A, 2)
#define SECOND load(1, X, B, r[0]); load(1, X, C, r[1])
#define WEAK   (r[0] > r[1])
#elif TEST == CAUSALITY
#define FIRST  store(0, X, A, 1)
#define SECOND load(1, X, B, r[0]); store(1, Y, C, 1)
#define THIRD  load(2, Y, D, r[1]); load(2, X, RELAXED, r[2])
#define WEAK   (r[0] == 1 && r[1] == 1 && r[2] == 0)
#elif TEST == READ_TO_WRITE
#define FIRST  store(0, X, SEQ_CST, 1)
#define SECOND load(1, X, A, r[0]); load(1, Y, B, r[1])
#define THIRD  store(2, Y, C, 1); load(2, X, D, r[2])
#define WEAK   (r[0] == 1 && r[1] == 0 && r[2] == 0)
#elif TEST == TOLD_OF_WRITE
#define FIRST  store(0, X, SEQ_CST, 1); store(0, Z, A, 1)
#define SECOND load(1, Z, B, r[0]); load(1, Y, SEQ_CST, r[1])
#define THIRD  store(2, Y, SEQ_CST, 1); load(2, X, SEQ_CST, r[2])
#define WEAK   (r[0] == 1 && r[1] == 0 && r[2] == 0)
#elif TEST == THREE_BUFFERS
#define FIRST  store(0, X, A, 1); load(0, Y, B, r[0])
#define SECOND store(1, Y, C, 1); load(1, Z, D, r[1])
#define THIRD  store(2, Z, SEQ_CST, 1); load(2, X, SEQ_CST, r[2])
#define WEAK   (r[0] == 0 && r[1] == 0 && r[2] == 0)
#elif TEST == SWAP
#define FIRST  compare_and_swap(0, X, A, 0, 1, won[0])
#define SECOND compare_and_swap(1, X, A, 0, 1, won[1])
#define WEAK   (won[0] == won[1])
#elif TEST == SEQUENCE
#define FIRST  store(0, Y, RELAXED, 1); compare_and_swap(0, X, A, 0, 1, won[0])
#define SECOND compare_and_swap(1, X, B, 1, 2, won[1])
#define THIRD  load(2, X, C, r[0]); load(2, Y, RELAXED, r[1])
#define WEAK   (r[0] == 2 && r[1] == 0)
#elif TEST == LOAD_BUFFERING
#define FIRST  load(0, X, A, r[0]); store(0, Y, B, 1)
#define SECOND load(1, Y, A, r[1]); store(1, X, B, 1)
#define WEAK   (r[0] == 1 && r[1] == 1)
#endif
#ifndef THIRD
#define THIRD  skip
#endif
#ifndef FOURTH
#define FOURTH skip
#endif

inline end(thread) {
	d_step {
		gone[thread] = true;
		ended++;
		if
		:: ended == THREADS ->
			forbidden = !WEAK;
			assert(forbidden)
		:: else
		fi
	}
}

active proctype first() { FIRST; end(0) }
active proctype second() { SECOND; end(1) }
active proctype third() { THIRD; end(2) }
active proctype fourth() { FOURTH; end(3) }
