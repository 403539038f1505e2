/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * src/mempool/spill.c, on the memory of memory.pml: a stack of magazines to which
 * THREADS threads push and from which they pop, in every order. Each access is a
 * step; its order is a macro named after it. check.py sets these.
 * docs/design/mempool-model.md tells what is covered and what is not.
 *
 * A magazine is its number, from 1. The word of the stack has the number of the
 * top in its last two bits, and the tag above. At first all magazines are on the
 * stack, 1 at the top.
 *
 * More macros:
 *   THREADS, ITEMS: threads, and magazines, at most 3
 *   CALLS: of push and pop by each thread
 *   PROMISES: those that are checked, a sum of the four below
 * Planted bug, if defined:
 *   NO_TAG: a change leaves the tag as it is
 */

/* A magazine has one user at a time. */
#define ONCE 1
/* Who pops a magazine sees what was done with it before. */
#define WRITTEN 2
/* Who finds the stack empty sees the calls that took its magazines. */
#define EMPTIED 4
/* In the end, each magazine is with a thread, or once in the stack. */
#define KEPT 8

/* Locations. DONE is how much of what a thread did is seen. */
#define STACK 0
#define LINK(m) (m)
#define STORED (1 + ITEMS)
#define DONE(thread) (STORED + (thread))
#define LOCATIONS (STORED + THREADS)

/* As many as a load of memory.pml can choose from. */
#define MOST 12
#define RELEASED MOST
#define MESSAGES (STORED * MOST)
#define BASE(x) ((x) * MOST)
#define ROOM(x) MOST
#define NO_SEQ_CST
#include "../../support/model/memory.pml"

#define TOP(word) ((word) & 3)
#ifdef NO_TAG
#define CHANGED(word, top) (top)
#else
#define CHANGED(word, top) (((word) / 4 + 1) * 4 + (top))
#endif

/* By thread: the set of magazines that it has. */
byte held[THREADS];
/* By magazine: who pushed it last, and at which step; who took it. */
byte pusher[ITEMS + 1];
byte pushed[ITEMS + 1];
byte taker[ITEMS + 1];
byte took[ITEMS + 1];
bool started;
byte ended;

hidden byte once, was_written, was_emptied, is_kept;
hidden byte i_, left_;

#define PROMISE(which, name, holds) \
	name = (holds); \
	assert(name || !(PROMISES & which))
#define LAST(x) value[MESSAGE(x, last[x])]

/* Of what the thread did, a step more is not seen by others. */
inline do_more() {
	d_step {
		last[DONE(me)]++;
		SEEN(me, DONE(me)) = last[DONE(me)]
	}
}

/* The thread has a magazine by the swap that it made just now. */
inline take(m) {
	d_step {
		FOR(t_, THREADS,
		    PROMISE(ONCE, once, !(held[t_] & BIT(m))));
		PROMISE(WRITTEN, was_written,
			SEEN(me, DONE(pusher[m])) >= pushed[m]);
		held[me] = held[me] | BIT(m);
		taker[m] = me;
		took[m] = last[DONE(me)]
	}
}

/* There was none. If nothing has happened since, each magazine was taken by a
 * call of which the thread knows. */
inline find_none() {
	d_step {
		FOR(i_, ITEMS,
		    PROMISE(EMPTIED, was_emptied,
			    SEEN(me, STACK) < last[STACK] ||
			    SEEN(me, DONE(taker[i_ + 1])) >=
				    took[i_ + 1]))
	}
}

/* A weak compare-and-swap may succeed if the last value is the expected one,
 * and may fail at any time: then it is a load. */
inline exchange(order, failed, new) {
	if
	:: LAST(STACK) == word ->
		d_step {
			swap(me, STACK, order, CHANGED(word, new));
			tidy();
			done = true
		}
	:: true -> load(me, STACK, failed, word)
	fi
}

/* hone_mempool_spill() */
inline push() {
	atomic {
		calls < CALLS && held[me];
		calls++;
		if
		:: held[me] & BIT(1) -> m = 1
		:: held[me] & BIT(2) -> m = 2
		:: held[me] & BIT(3) -> m = 3
		fi;
		do_more();
		pusher[m] = me;
		pushed[m] = last[DONE(me)];
		held[me] = held[me] & ~BIT(m);
		load(me, STACK, SPILL_LOAD, word)
	}
	do
	:: done -> break
	:: else ->
		/* A link that is stored again is the same to all. */
		if
		:: LAST(LINK(m)) != TOP(word) ->
			store(me, LINK(m), PUT_ON_STORE, TOP(word))
		:: else
		fi;
		atomic {
			exchange(SPILL_SWAP, SPILL_FAIL, m)
		}
	od;
	forget_call()
}

/* hone_mempool_take_spilled() and hone_mempool_pop_spilled() */
inline pop() {
	atomic {
		calls < CALLS;
		calls++;
		do_more();
		load(me, STACK, TAKE_LOAD, word)
	}
	do
	:: done -> break
	:: !done && !TOP(word) ->
		find_none();
		break
	:: else ->
		load(me, LINK(TOP(word)), BELOW_LOAD, below);
		atomic {
			m = TOP(word);
			exchange(POP_SWAP, POP_FAIL, below);
			IF(done, take(m))
		}
	od;
	forget_call()
}

inline forget_call() {
	d_step {
		m = 0;
		word = 0;
		below = 0;
		done = false
	}
}

inline start() {
	value[MESSAGE(STACK, 0)] = 1;
	FOR(i_, ITEMS,
	    IF(i_ + 1 < ITEMS, value[MESSAGE(LINK(i_ + 1), 0)] = i_ + 2));
	started = true
}

/* Nobody does anything any more. */
inline check_kept() {
	left_ = 0;
	FOR(t_, THREADS, left_ = left_ | held[t_]);
	is_kept = true;
	i_ = TOP(LAST(STACK));
	do
	:: i_ && is_kept ->
		is_kept = !(left_ & BIT(i_));
		left_ = left_ | BIT(i_);
		i_ = LAST(LINK(i_))
	:: else -> break
	od;
	PROMISE(KEPT, is_kept, is_kept && left_ == BIT(ITEMS + 1) - 2)
}

inline end() {
	d_step {
		IF(ended == THREADS - 1, check_kept());
		gone[me] = true;
		FOR(x_, LOCATIONS, SEEN(me, x_) = 0);
		tidy();
		ended++
	}
}

active [THREADS] proctype user() {
	byte calls, m, word, below;
	bool done;
	byte me = _pid;

	atomic {
		if
		:: me == 0 -> start()
		:: else -> started
		fi
	}
	do
	:: push()
	:: pop()
	:: calls == CALLS -> break
	od;
	end()
}
