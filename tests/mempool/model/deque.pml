/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * src/mempool/deque.h: one owner, THIEVES thieves, on the memory of memory.pml.
 * Each access is a step; its order is a macro named after it. check.py sets
 * these. docs/design/mempool-model.md tells what is covered and what is not.
 *
 * More macros:
 *   SLOTS: mask + 1, a power of two
 *   ITEMS: how many there are; an item taken can be pushed again
 *   PUSHES: at most so many pushes
 *   CALLS: of push and pop by the owner, in every succession
 *   STEALS: calls of steal by each thief
 *   TOLD: 1 if a steal may happen after all that the owner has done so far
 *   PROMISES: those that are checked, a sum of the five below
 * Planted bugs, if defined:
 *   NO_LIMIT: push does not look whether there is room
 *   LAST_BY_STORE: pop takes the last one by a store to top
 *   BOTTOM_STAYS: pop leaves bottom where it was for the last one
 *   NO_RETRY: steal returns NULL if another was faster
 */

/* An item is taken by one call. */
#define ONCE 1
/* What is taken was pushed, at this index. */
#define PUSHED 2
/* Who takes an item sees what was written before it was pushed. */
#define WRITTEN 4
/* NULL is returned only if there was none. */
#define EMPTY 8
/* What was pushed and not taken is still there. */
#define KEPT 16

#define THREADS (THIEVES + 1)
#define OWNER THIEVES

/* Locations. DATA stands for what items point to: seen of it is how much. */
#define TOP 0
#define BOTTOM 1
#define SLOT(i) (2 + (i) % SLOTS)
#define STORED (2 + SLOTS)
#define DATA STORED
#define LOCATIONS (STORED + 1)

#define TOPS (PUSHES + 2)
#define BOTTOMS (3 * PUSHES + 1)
#define SLOT_ROOM (PUSHES + 1)
#define RELEASED (TOPS + BOTTOMS)
#define MESSAGES (RELEASED + SLOTS * SLOT_ROOM)
/* Of location x: 0 and 1 as numbers pick the term. */
#define BASE(x) \
	(((x) == BOTTOM) * TOPS + \
	 ((x) > BOTTOM) * (RELEASED + ((x) - 2) * SLOT_ROOM))
#define ROOM(x) \
	(((x) == TOP) * TOPS + ((x) == BOTTOM) * BOTTOMS + \
	 ((x) > BOTTOM) * SLOT_ROOM)
#include "../../support/model/memory.pml"

/*
 * Every push has a number, from 1, and it is this that it puts into the slot:
 * so the second push of an item is not mistaken for the first.
 */
byte pushes;
byte held = ITEMS;
/* Sets of pushes. */
int pushed;
int taken;
/* Of those not taken: the index, and the message of bottom that told it. */
byte place[PUSHES + 1];
byte public[PUSHES + 1];
/* What the owner is about to take. */
byte popping;
byte ended;

hidden byte once, was_pushed, was_written, was_empty, is_kept;
hidden byte i_, left_;

#define PROMISE(which, name, holds) \
	name = (holds); \
	assert(name || !(PROMISES & which))

/* The thread takes the item that it found at index i. */
inline take(thread, i) {
	PROMISE(ONCE, once, !(taken & BIT(item)));
	PROMISE(PUSHED, was_pushed, (pushed & BIT(item)) &&
		((taken & BIT(item)) || place[item] == i));
	PROMISE(WRITTEN, was_written, SEEN(thread, DATA) >= item);
	taken = taken | BIT(item);
	place[item] = 0;
	public[item] = 0;
	held++
}

inline push() {
	atomic {
		calls < CALLS && pushes < PUSHES && held > 0;
		calls++;
		/* One step with the next: only the owner stores to it. */
		load(OWNER, BOTTOM, PUSH_LOAD_BOTTOM, b);
#ifndef NO_LIMIT
		if
		:: b == end_ ->
			load(OWNER, TOP, PUSH_LOAD_TOP, t);
			end_ = t + SLOTS;
			t = 0;
			if
			:: b == end_ -> goto refused
			:: else
			fi
		:: else -> goto room
		fi
#endif
	}
	atomic {
		skip;
room:		held--;
		pushes++;
		d_step {
			last[DATA] = pushes;
			SEEN(OWNER, DATA) = pushes
		}
		store(OWNER, SLOT(b), PUSH_STORE_SLOT, pushes)
	}
	atomic {
		store(OWNER, BOTTOM, PUSH_STORE_BOTTOM, b + 1);
		pushed = pushed | BIT(pushes);
		place[pushes] = b;
		public[pushes] = last[BOTTOM];
refused:	b = 0
	}
}

inline pop() {
	atomic {
		calls < CALLS;
		calls++;
		/* One step with the next: only the owner stores to it. */
		load(OWNER, BOTTOM, POP_LOAD_BOTTOM, b);
		load(OWNER, TOP, POP_LOAD_TOP_EARLY, t);
		if
		:: b <= t ->
			PROMISE(EMPTY, was_empty, pushed == taken);
			goto popped
		:: else
		fi
	}
	atomic {
		b--;
		store(OWNER, BOTTOM, POP_STORE_BOTTOM, b);
		popping = value[MESSAGE(SLOT(b), last[SLOT(b)])]
	}
	atomic {
		load(OWNER, TOP, POP_LOAD_TOP, t);
		/* As above. */
		load(OWNER, SLOT(b), POP_LOAD_SLOT, item);
		if
		:: t < b ->
			take(OWNER, b);
			goto popped
		:: t > b -> goto gone_already
		:: else
		fi
	}
	atomic {
#ifdef LAST_BY_STORE
		store(OWNER, TOP, POP_SWAP_TOP, b + 1);
		done = true;
#else
		compare_and_swap(OWNER, TOP, POP_SWAP_TOP, b, b + 1, done);
#endif
		if
		:: done -> take(OWNER, b)
		:: else ->
gone_already:		item = 0
		fi
	}
	atomic {
#ifndef BOTTOM_STAYS
		store(OWNER, BOTTOM, POP_STORE_BOTTOM_BACK, b + 1);
#endif
		if
		:: item == 0 ->
			PROMISE(EMPTY, was_empty, pushed == taken)
		:: else
		fi;
popped:		b = 0;
		t = 0;
		item = 0;
		done = false;
		popping = 0
	}
}

/* There was none: of what the thief could know of at the start of its call,
 * all is taken, or about to be taken by the owner. */
inline nothing_stolen() {
	left_ = 0;
	FOR(i_, PUSHES + 1,
	    IF((pushed & ~taken & BIT(i_)) && public[i_] <= known &&
	       i_ != popping, left_++));
	PROMISE(EMPTY, was_empty, left_ == 0)
}

/* The thread acquires what the other released just now. */
inline learn(thread, other) {
	d_step {
		FOR(x_, LOCATIONS, SEE(thread, x_, SEEN(other, x_)));
		tidy();
		before[thread] = before[thread] | before[other]
	}
}

inline steal() {
	atomic {
		calls < STEALS;
		calls++;
#if TOLD
		if
		:: true
		:: true -> learn(me, OWNER)
		fi;
#endif
		known = SEEN(me, BOTTOM);
again:		skip;
		load(me, TOP, STEAL_LOAD_TOP, t)
	}
	atomic {
		load(me, BOTTOM, STEAL_LOAD_BOTTOM, b);
		if
		:: b <= t ->
			nothing_stolen();
			goto stolen
		:: else -> b = 0
		fi
	}
	load(me, SLOT(t), STEAL_LOAD_SLOT, item);
	atomic {
		compare_and_swap(me, TOP, STEAL_SWAP_TOP, t, t + 1, done);
		if
		:: done -> take(me, t)
		:: else ->
			item = 0;
			t = 0;
#ifdef NO_RETRY
			nothing_stolen()
#else
			goto again
#endif
		fi;
stolen:		b = 0;
		t = 0;
		item = 0;
		done = false;
		known = 0
	}
}

/* Nobody does anything any more: what is left lies from top to bottom. */
inline count() {
	left_ = 0;
	is_kept = true;
	FOR(i_, PUSHES + 1,
	    IF(pushed & ~taken & BIT(i_),
	       left_++;
	       IF(place[i_] < value[MESSAGE(TOP, last[TOP])] ||
		  place[i_] >= value[MESSAGE(BOTTOM, last[BOTTOM])] ||
		  value[MESSAGE(SLOT(place[i_]), last[SLOT(place[i_])])] != i_,
		  is_kept = false)));
	PROMISE(KEPT, is_kept, is_kept && left_ + held == ITEMS &&
		left_ + value[MESSAGE(TOP, last[TOP])] ==
			value[MESSAGE(BOTTOM, last[BOTTOM])])
}

inline end(thread) {
	d_step {
		gone[thread] = true;
		FOR(x_, LOCATIONS, SEEN(thread, x_) = 0);
		before[thread] = 0;
		tidy();
		IF(ended == THREADS - 1, count());
		ended++
	}
}

active proctype owner() {
	byte calls, b, t, item;
	byte end_ = SLOTS;
	bool done;

	do
	:: push()
	:: pop()
	:: calls == CALLS -> break
	od;
	end(OWNER)
}

active [THIEVES] proctype thief() {
	byte calls, b, t, item, known;
	bool done;
	byte me = _pid - 1;

	do
	:: steal()
	:: calls == STEALS -> break
	od;
	end(me)
}
