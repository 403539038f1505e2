/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * src/ring/queue.c, on the memory of memory.pml: PUTTERS put, GETTERS get and
 * wait, in every order. Each access is a step; its order is a macro named after it.
 * check.py sets these. docs/design/ring.md tells what is covered and what is not.
 *
 * The ring has no limit, so no put waits: that is the same code. Of several
 * producers, each takes a place by an exchange of the tail, and adds the place to
 * the set of the filled ones. ring.pml has what the ring does in truth.
 *
 * More macros:
 *   ADDS, TAKES: calls of each thread; if there is a CLOSER, 0 or 1, all get
 *     until the queue is over
 *   PARKS: how often a thread goes to sleep; what comes after that is cut off
 *   HURRIED: getters, the first ones, whose deadline may pass
 *   BARRIERS, if defined: there is membarrier()
 *   SINGLE, if defined: one producer
 *   PROMISES: those that are checked, a sum of the two below
 * Planted bugs, if defined:
 *   NO_SECOND_LOOK: a thread that has announced itself does not try again
 *   NO_BARRIER: it makes no barrier
 *   SEQUENCE_LATE: it reads the sequence number after the second look
 *   NO_SEQUENCE: a wake does not change the number
 *   NO_PASS: a woken thread does not look for others
 *   KEEPS_WOKEN: a thread that leaves does not note that it has run
 *   CLOSE_WAKES_ONE: closing wakes one thread (not searched: it takes minutes)
 *   NOT_INSIDE: closing does not look whether a put is inside
 *   NO_SETTLE: a put that was inside does not finish closing
 *   PLACES_LEFT: closing does not take the places of several producers
 */

/* In the end, no thread sleeps beside an element, or at the end of a queue. */
#define WOKEN 1
/* Each element whose put succeeded was got when the last get saw the end. */
#define DRAINED 2

#define THREADS (PUTTERS + GETTERS + CLOSER)
#define TAIL 0
#define HEAD 1
#define STATE 2
#define SEQUENCE 3
#define CLOSED 4
/* With one producer, whether that one is inside; else the set of filled places. */
#define INSIDE 5
#define FILLED 5
#ifdef BARRIERS
#define STORED 6
#else
#define ORDER 6
#define STORED 7
#endif
#define LOCATIONS STORED
#define MOST 12
#define MESSAGES (STORED * MOST)
#define RELEASED MESSAGES
#define BASE(x) ((x) * MOST)
#define ROOM(x) MOST
#define NO_SEQ_CST
#include "../../support/model/memory.pml"

#define LAST(x) value[MESSAGE(x, last[x])]
/* All places from here on are taken. */
#define NO_MORE 16
#define PLACES(tail) ((tail) & 15)
#ifdef SINGLE
#define PUBLISHED TAIL
#define HAS(published, place) ((published) > (place))
#else
#define PUBLISHED FILLED
#define HAS(published, place) (((published) & BIT(place)) != 0)
#endif

/* The threads in the kernel's queue. */
byte asleep;
byte accepted;
/* A thread went to sleep more often than the search follows. */
bool cut;
#ifdef BARRIERS
/* What threads had stored at the last barrier, or when they ended. */
byte known[LOCATIONS];
#endif

hidden byte is_woken, is_drained, new_;

#define PROMISE(which, name, holds) \
	name = (holds); \
	assert(name || !(PROMISES & which))

/* An exchange that is repeated until it succeeds, or an addition. */
inline change(x, order, new) {
	d_step {
		new_ = new;
		swap(me, x, order, new_);
		tidy()
	}
}

inline order_of() {
#ifndef BARRIERS
	change(ORDER, ORDER_ADD, 1)
#else
	skip
#endif
}

/* queue_heavy(): a full barrier of each thread, at some point of the call. */
inline heavy() {
#ifdef NO_BARRIER
	skip
#else
#ifdef BARRIERS
	d_step {
		FOR(t_, THREADS,
		    FOR(x_, LOCATIONS,
			IF(known[x_] < SEEN(t_, x_), known[x_] = SEEN(t_, x_));
			SEE(t_, x_, SEEN(me, x_))));
		FOR(x_, LOCATIONS,
		    IF(SEEN(me, x_) < known[x_], SEEN(me, x_) = known[x_]));
		printf("thread %d makes a barrier\n", me);
		tidy()
	}
#else
	order_of()
#endif
#endif
}

inline wake_some(all) {
#ifndef NO_SEQUENCE
	change(SEQUENCE, WAKE_ADD, LAST(SEQUENCE) + 1);
#endif
	atomic {
		if
		:: all -> asleep = 0
		:: !all && !asleep -> skip
		:: !all && (asleep & BIT(PUTTERS)) ->
			asleep = asleep & ~BIT(PUTTERS)
		:: !all && (asleep & BIT(PUTTERS + 1)) ->
			asleep = asleep & ~BIT(PUTTERS + 1)
		:: !all && (asleep & BIT(PUTTERS + 2)) ->
			asleep = asleep & ~BIT(PUTTERS + 2)
		fi
	}
}

/* queue_look() and queue_wake_one() */
inline look() {
	atomic {
		load(me, STATE, LOOK_LOAD, m);
		if
		:: m >= 2 && m % 2 == 0 && LAST(STATE) >= 2 &&
		   LAST(STATE) % 2 == 0 ->
			change(STATE, WOKEN_SWAP, LAST(STATE) + 1);
			m = 1
		:: else -> m = 0
		fi
	}
	if
	:: m -> wake_some(false)
	:: else
	fi;
	m = 0
}

/* queue_settle() */
inline settle() {
	atomic {
		if
		:: LAST(CLOSED) == 1 ->
			change(CLOSED, SETTLE_SWAP, 2);
			m = 1
		:: else -> m = 0
		fi
	}
	if
#ifdef CLOSE_WAKES_ONE
	:: m -> wake_some(false)
#else
	:: m -> wake_some(true)
#endif
	:: else
	fi;
	m = 0
}

/* queue_put_single() or hone_ring_enqueue() */
inline put_one() {
#ifdef SINGLE
	store(me, INSIDE, ENTER_STORE, 1);
	order_of();
	/* Two steps: the barrier of another thread may come between them. */
	load(me, CLOSED, ENTER_LOAD, m);
	if
	:: m == 0 ->
		store(me, TAIL, RELEASE, calls + 1);
		done = true
	:: else
	fi;
	m = 0;
	store(me, INSIDE, EXIT_STORE, 0);
	order_of();
#ifndef NO_SETTLE
	load(me, CLOSED, EXIT_LOAD, m);
	if
	:: m == 1 -> settle()
	:: else
	fi;
	m = 0
#endif
#else
	atomic {
		if
		:: LAST(TAIL) < NO_MORE ->
			place = LAST(TAIL);
			change(TAIL, ACQ_REL, place + 1);
			done = true
		:: else
		fi
	}
	if
	:: done ->
		change(FILLED, RELEASE, LAST(FILLED) | BIT(place));
		place = 0
	:: else
	fi;
	order_of()
#endif
}

/* hone_ring_dequeue(), in one step: it has one exchange. */
inline take() {
	do
	:: load(me, HEAD, ACQUIRE, place);
		load(me, PUBLISHED, ACQUIRE, m);
		if
		:: HAS(m, place) && LAST(HEAD) == place ->
			change(HEAD, ACQ_REL, place + 1);
			done = true;
			break
		:: HAS(m, place) && LAST(HEAD) != place ->
			SEEN(me, HEAD) = last[HEAD]
		:: else -> break
		fi
	od;
	m = 0;
	place = 0
}

/* queue_is_over() */
inline look_for_end() {
	if
	:: CLOSER && !done ->
		load(me, CLOSED, OVER_LOAD, m);
		if
		:: m == 2 ->
			load(me, TAIL, ACQUIRE, m);
			load(me, HEAD, ACQUIRE, place);
			over = PLACES(m) == place;
			place = 0
		:: else
		fi;
		m = 0
	:: else
	fi
}

/* Of queue_sleep(): what the kernel does in one step. A thread that does not sleep
 * has seen the number that the kernel saw. */
inline fall_asleep() {
	if
	:: done || over -> skip
	:: !done && !over && LAST(SEQUENCE) == sequence ->
		asleep = asleep | BIT(me)
	:: else -> SEEN(me, SEQUENCE) = last[SEQUENCE]
	fi
}

/* Of queue_park(): before the barrier. */
inline announce() {
	parks++;
#ifndef SEQUENCE_LATE
	load(me, SEQUENCE, PARK_LOAD, sequence);
#endif
	change(STATE, PARK_ADD, LAST(STATE) + 2);
	waits = true
}

/* The rest of queue_park(), but for its last try. */
inline park() {
	heavy();
#ifndef NO_SECOND_LOOK
	atomic {
		take()
	}
#endif
	look_for_end();
#ifdef SEQUENCE_LATE
	load(me, SEQUENCE, PARK_LOAD, sequence);
#endif
	atomic {
		fall_asleep()
	}
end_asleep:
	atomic {
		if
		:: !(asleep & BIT(me))
		:: (asleep & BIT(me)) && me < PUTTERS + HURRIED ->
			asleep = asleep & ~BIT(me);
			late = true
		fi;
		sequence = 0;
		waits = false
	}
	atomic {
		m = LAST(STATE);
#ifdef KEEPS_WOKEN
		change(STATE, LEAVE_SWAP, m - 2);
#else
		change(STATE, LEAVE_SWAP, (m - 2) / 2 * 2);
#endif
		owes = owes || (m % 2 && m > 3);
		m = 0
	}
}

/* hone_queue_get() and queue_wait() */
inline get() {
	do
	:: atomic {
			if
			:: !done -> take()
			:: else
			fi;
			look_for_end();
			if
			:: done || over || late -> skip
			:: !done && !over && !late && parks < PARKS ->
				announce()
			:: else ->
				cut = true;
end_cut:			false
			fi
		}
		if
		:: waits -> park()
		:: else -> break
		fi
	od;
#ifndef NO_PASS
	if
	:: owes ->
		heavy();
		atomic {
			load(me, TAIL, ACQUIRE, m);
			load(me, HEAD, ACQUIRE, place);
			owes = PLACES(m) > place;
			m = 0;
			place = 0
		}
		if
		:: owes -> look()
		:: else
		fi
	:: else
	fi;
#endif
	owes = false
}

inline end() {
	d_step {
		gone[me] = true;
#ifdef BARRIERS
		FOR(x_, LOCATIONS,
		    IF(known[x_] < SEEN(me, x_), known[x_] = SEEN(me, x_)));
#endif
		FOR(x_, LOCATIONS, SEEN(me, x_) = 0);
		tidy()
	}
}

active [PUTTERS] proctype putter() {
	byte calls, m, place;
	bool done;
	byte me = _pid;

	do
	:: calls == ADDS -> break
	:: else ->
		put_one();
		if
		:: done ->
			accepted++;
			look();
			done = false;
			calls++
		:: else -> break
		fi
	od;
	end()
}

active [GETTERS] proctype getter() {
	byte calls, m, place, sequence, parks;
	bool done, over, late, owes, waits;
	byte me = _pid;

	do
	:: over || late || (!CLOSER && calls == TAKES) -> break
	:: else ->
		get();
		if
		:: done && !CLOSER -> calls++
		:: else
		fi;
		done = false
	od;
	end()
}

#if CLOSER
active proctype closer() {
	byte m;
	byte me = _pid;

	change(CLOSED, CLOSE_SWAP, 1);
#ifdef SINGLE
	heavy();
#ifndef NOT_INSIDE
	load(me, INSIDE, CLOSE_LOAD, m);
#endif
	if
	:: m == 0 -> settle()
	:: else
	fi;
	m = 0;
#else
#ifndef PLACES_LEFT
	change(TAIL, CLOSE_OR, LAST(TAIL) + NO_MORE);
#endif
	settle();
#endif
	end()
}
#endif

/* Nobody does anything any more. */
active proctype judge() {
	timeout ->
	d_step {
		PROMISE(WOKEN, is_woken, cut || asleep == 0 ||
			(!HAS(LAST(PUBLISHED), LAST(HEAD)) && !LAST(CLOSED)));
		PROMISE(DRAINED, is_drained, cut || asleep || !LAST(CLOSED) ||
			accepted == LAST(HEAD))
	}
}
