/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * src/mempool/exact.c, on the memory of memory.pml: gets and puts of a pool with
 * HONE_MEMPOOL_EXACT, and the search for what other caches have loaded. Each
 * thread has a cache. check.py sets the macros; the order of each access is one
 * of them. docs/design/mempool-model.md tells what is covered and what is not.
 *
 * A full magazine holds one object; a cache loads one, or two. A full deque has
 * room for one magazine, and is one word: deque.pml is its model. Empty magazines
 * are always there. A magazine is the set of its objects.
 *
 * More macros:
 *   THREADS, ITEMS: threads, and objects, at most 3
 *   LOADS: objects that a cache loads at most, 1 or 2
 *   SEARCHERS, SEARCHES: the first threads, and calls of each; their gets search
 *   CALLS: of each other thread; its gets end before the search
 *   PLACE1 to PLACE3: where an object is at first: with thread t, if t; loaded in
 *     its cache, if 10 + t; in its deque, if 20 + t; in the partial magazine, if 30
 *   TOLD: 1 if a get may happen after all that the others have done so far
 *   GIVES_UP: 1 if a search may give up a call of another thread
 *   MOST: messages of a location, at most 12
 *   PROMISES: those that are checked, a sum of the four below
 * Planted bugs, if defined:
 *   NO_BARRIER: a claim makes no barrier
 *   CLAIM_IGNORED: an owner does not look whether its cache is claimed
 *   CLAIM_HURRIED: a claim does not wait for a call that has begun
 *   NO_RESCAN: a search does not look whether anything changed
 *   NO_WAIT: a search does not wait for the calls of others
 *   LENGTH_IN_CALL: a search trusts the length in the middle of a call
 *   OWN_POPPED: a search pops its own magazines
 *   KEPT_IN_HAND: a get keeps what it has while it waits for the mutex
 *   COUNT_STALE: a magazine that is passed on has what is above, too
 *   TAKES_FULL: a search takes no more than a full magazine has
 */

/* An object has one user at a time. */
#define ONCE 1
/* Who takes a magazine sees what was done with its object before. */
#define WRITTEN 2
/* A get fails only if there are too few objects. */
#define FOUND 4
/* In the end, each object is with a thread or at one place in the pool. */
#define KEPT 8

/* Locations. DONE is how much of what a thread did is seen. */
#define NUMBER(c) (c)
#define CHANGES(c) (THREADS + (c))
#define LENGTH(c) (2 * THREADS + (c))
#define CLAIMED(c) (3 * THREADS + (c))
#define DEQUE(c) (4 * THREADS + (c))
#define MUTEX (5 * THREADS)
#define PARTIAL (5 * THREADS + 1)
#define STORED (5 * THREADS + 2)
#define DONE(thread) (STORED + (thread))
#define LOCATIONS (STORED + THREADS)

#define MESSAGES (STORED * MOST)
#define RELEASED MESSAGES
#define BASE(x) ((x) * MOST)
#define ROOM(x) MOST
#define NO_SEQ_CST
#include "../../support/model/memory.pml"

/* By cache: the objects that are loaded; who used the view last, and at which
 * step. */
byte loaded[THREADS];
byte viewer[THREADS];
byte viewed[THREADS];
/* Sets of objects: those that users have, by thread; and those that calls or
 * users have. */
byte held[THREADS];
byte in_hand;
/* Those whose put has not ended. */
byte putting;
/* By thread with a get: the objects that were in the pool when it began, so far
 * as it could know, and that no other get has had since. */
byte sure[THREADS];
/* By object: who put it, and the message that ended the put. */
byte putter[ITEMS + 1];
byte put_at[ITEMS + 1];
/* Who used its magazine last, and at which step. */
byte toucher[ITEMS + 1];
byte touched[ITEMS + 1];
bool started;
byte ended;

hidden byte once, was_written, was_found, is_kept;
hidden byte i_, left_;
hidden byte known[LOCATIONS];

#define PROMISE(which, name, holds) \
	name = (holds); \
	assert(name || !(PROMISES & which))
#define COUNT(set) (((set) >> 1 & 1) + ((set) >> 2 & 1) + ((set) >> 3 & 1))
/* The first object of a set, as a set. */
#define FIRST(set) ((set) & -(set))
#define LAST(x) value[MESSAGE(x, last[x])]
#define LIMIT (me < SEARCHERS -> SEARCHES : CALLS)

/* A strong compare-and-swap. If it fails, the thread has seen another value
 * than the one that it had loaded. */
inline exchange(x, order, expected, new) {
	d_step {
		done = (LAST(x) == expected);
		if
		:: done -> swap(me, x, order, new)
		:: else -> IF(SEEN(me, x) < last[x], SEEN(me, x)++)
		fi;
		tidy()
	}
}

/* Of what the thread did, a step more is not seen by others. */
inline do_more() {
	last[DONE(me)]++;
	SEEN(me, DONE(me)) = last[DONE(me)]
}

/* The thread uses the magazine of these objects. */
inline touch(objects) {
	do_more();
	FOR(i_, ITEMS,
	    if
	    :: (objects) & BIT(i_ + 1) ->
		    PROMISE(WRITTEN, was_written,
			    SEEN(me, DONE(toucher[i_ + 1])) >= touched[i_ + 1]);
		    toucher[i_ + 1] = me;
		    touched[i_ + 1] = last[DONE(me)]
	    :: else
	    fi)
}

/* The thread uses the view of a cache. */
inline view(c) {
	do_more();
	PROMISE(WRITTEN, was_written, SEEN(me, DONE(viewer[c])) >= viewed[c]);
	viewer[c] = me;
	viewed[c] = last[DONE(me)]
}

/* The thread may acquire what the others released just now. */
inline learn() {
#if TOLD
	if
	:: true
	:: true ->
		d_step {
			FOR(t_, THREADS,
			    FOR(x_, LOCATIONS, SEE(me, x_, SEEN(t_, x_))));
			tidy()
		}
	fi
#else
	skip
#endif
}

/* What the thread knows to be in the pool. */
inline begin() {
	d_step {
		sure[me] = 0;
		FOR(i_, ITEMS,
		    sure[me] = sure[me] | BIT(i_ + 1));
		FOR(t_, THREADS, sure[me] = sure[me] & ~held[t_]);
		FOR(i_, ITEMS,
		    IF(SEEN(me, NUMBER(putter[i_ + 1])) < put_at[i_ + 1],
		       sure[me] = sure[me] & ~BIT(i_ + 1)));
		sure[me] = sure[me] & ~putting
	}
}

/* Waits for a message of x that has not been seen. */
inline wait_for_news(x) {
	atomic {
		last[x] > SEEN(me, x);
		d_step {
			SEEN(me, x)++;
			tidy()
		}
	}
}

/* A call begins, so far as the thread does not look at CLAIMED. */
inline enter_locked() {
	atomic {
		m = (LAST(NUMBER(me)) + 1) | 1;
		store(me, NUMBER(me), ENTER_STORE_CALLS, m);
		m = 0
	}
}

/* hone_mempool_enter(). What hone_mempool_enter_ordered() does after a claim is
 * the same here, in weaker orders. */
inline enter() {
	do
	:: enter_locked();
#ifndef CLAIM_IGNORED
		load(me, CLAIMED(me), ENTER_LOAD_CLAIMED, m);
#endif
		if
		:: !m -> break
		:: else ->
			atomic {
				m = LAST(NUMBER(me)) + 1;
				store(me, NUMBER(me), LEAVE_STORE_CALLS, m);
				m = 1
			}
			do
			:: m ->
				wait_for_news(CLAIMED(me));
				load(me, CLAIMED(me), WAIT_LOAD_CLAIMED, m)
			:: else -> break
			od
		fi
	od
}

/* hone_mempool_leave(). The end of a call, if the thread gave or took. */
inline leave() {
	m = LAST(NUMBER(me)) + 1;
	store(me, NUMBER(me), LEAVE_STORE_CALLS, m);
	m = 0;
	d_step {
		IF(given,
		   putting = putting & ~BIT(given);
		   putter[given] = me;
		   put_at[given] = last[NUMBER(me)];
		   given = 0);
		held[me] = held[me] | hand;
		FOR(t_, THREADS, sure[t_] = sure[t_] & ~hand);
		hand = 0
	}
}

/* hone_mempool_add() of refills, flushes or puts */
inline count_change() {
	atomic {
		m = LAST(CHANGES(me)) + 1;
		store(me, CHANGES(me), ADD_STORE_CHANGES, m);
		m = 0
	}
}

/* hone_mempool_set_len(), with what the view has */
inline set_len(c) {
	view(c);
	m = COUNT(loaded[c]);
	store(me, LENGTH(c), SET_LEN_STORE, m);
	m = 0
}

/* hone_mempool_take_full(): an exchange, or item is 0. */
inline take_full() {
	load(me, DEQUE(me), RELAXED, item);
	if
	:: item ->
		exchange(DEQUE(me), ACQ_REL, item, 0);
		IF(!done, item = 0)
	:: else
	fi;
	j = 0;
	do
	:: item || j == THREADS -> break
	:: !item && j == me -> j++
	:: else ->
		load(me, DEQUE(j), ACQUIRE, item);
		if
		:: item ->
			exchange(DEQUE(j), ACQ_REL, item, 0);
			IF(!done, item = 0)
		:: else -> j++
		fi
	od;
	if
	:: item
	:: else ->
		load(me, PARTIAL, PARTIAL_LOAD, item);
		IF(item,
		   d_step {
			item = LAST(PARTIAL);
			swap(me, PARTIAL, PARTIAL_EXCHANGE, 0);
			tidy()
		   })
	fi;
	j = 0;
	done = false
}

/* hone_deque_steal() from the thread's own deque, as a thief */
inline steal_own() {
	do
	:: load(me, DEQUE(me), ACQUIRE, item);
		if
		:: item ->
			exchange(DEQUE(me), ACQ_REL, item, 0);
			if
			:: done -> break
			:: else -> item = 0
			fi
		:: else -> break
		fi
	od;
	done = false
}

/* calls_of(): into m, odd if the wait is given up. */
inline calls_of() {
	do
	:: load(me, NUMBER(i), VISIT_LOAD_CALLS, m);
		if
		:: m % 2 == 0 -> break
#ifdef NO_WAIT
		:: m % 2 -> break
#else
		:: m % 2 -> wait_for_news(NUMBER(i))
#endif
#if GIVES_UP
		:: m % 2 ->
			gave_up = true;
			break
#endif
		fi
	od
}

/* changes() */
inline changes() {
	after = 0;
	i = 0;
	do
	:: i == THREADS -> break
	:: i == me -> i++
	:: else ->
		calls_of();
		load(me, CHANGES(i), VISIT_LOAD_CHANGES, m);
		after = after + m;
		i++
	od;
	m = 0
}

/* loaded_between_calls(): into n_loaded */
inline loaded_between_calls() {
	do
	:: calls_of();
		j = m;
		if
		:: j % 2 -> break
		:: else
		fi;
		load(me, LENGTH(i), VISIT_LOAD_LEN, n_loaded);
		load(me, NUMBER(i), AGAIN_LOAD_CALLS, m);
#ifdef LENGTH_IN_CALL
		break
#else
		if
		:: m == j -> break
		:: else -> n_loaded = 0
		fi
#endif
	od;
	m = 0;
	j = 0
}

/* membarrier(): a full barrier of each thread, at some point of the call. */
inline barrier() {
#ifndef NO_BARRIER
	d_step {
		FOR(t_, THREADS,
		    FOR(x_, LOCATIONS,
			IF(known[x_] < SEEN(t_, x_), known[x_] = SEEN(t_, x_));
			SEE(t_, x_, SEEN(me, x_))));
		FOR(x_, LOCATIONS,
		    IF(SEEN(me, x_) < known[x_], SEEN(me, x_) = known[x_]);
		    known[x_] = 0);
		tidy()
	}
#else
	skip
#endif
}

/* take_loaded(): item is 0 if there is nothing. */
inline take_loaded() {
	loaded_between_calls();
	if
	:: n_loaded ->
		store(me, CLAIMED(i), CLAIM_STORE_CLAIMED, 1);
		barrier();
#ifndef CLAIM_HURRIED
		calls_of();
#endif
		n_loaded = 0;
		if
		:: m % 2 == 0 -> load(me, LENGTH(i), RELAXED, n_loaded)
		:: else
		fi;
		m = 0;
		if
		:: n_loaded ->
			atomic {
				view(i);
#ifdef TAKES_FULL
				item = FIRST(loaded[i])
#else
				item = loaded[i]
#endif
			}
			atomic {
				loaded[i] = 0;
				set_len(i)
			}
		:: else
		fi;
		store(me, CLAIMED(i), DROP_STORE_CLAIMED, 0)
	:: else
	fi;
	n_loaded = 0
}

/* hone_mempool_seize(): an exchange, or item is 0. */
inline seize() {
	changes();
	do
	:: before = after;
		i = 0;
		do
		:: item || i == THREADS -> break
		:: !item && i == me -> i++
		:: else ->
			take_loaded();
			i++
		od;
#ifndef OWN_POPPED
		IF(!item, steal_own());
#endif
		IF(!item, take_full());
		if
		:: item -> break
		:: else
		fi;
#ifdef NO_RESCAN
		break
#else
		changes();
		if
		:: before == after -> break
		:: else
		fi
#endif
	od;
	i = 0;
	before = 0;
	after = 0
}

/* hone_mempool_replace() */
inline replace() {
	atomic {
		loaded[me] = item;
		touch(item);
		item = 0;
		set_len(me)
	}
	count_change()
}

/* hone_mempool_take() of what is loaded */
inline take_own() {
	if
	:: loaded[me] ->
		atomic {
			item = loaded[me];
			IF(COUNT(item) > n - got, item = FIRST(item));
			PROMISE(ONCE, once, !(in_hand & item));
			touch(item);
			in_hand = in_hand | item;
			hand = hand | item;
			loaded[me] = loaded[me] & ~item;
			got = got + COUNT(item);
			item = 0;
			set_len(me)
		}
	:: else
	fi
}

/* hone_mempool_give() of the only object that a get has found: nothing is
 * loaded then. */
inline give_back() {
	if
	:: hand ->
		atomic {
			assert(!loaded[me] && COUNT(hand) == 1);
			loaded[me] = hand;
			touch(hand);
			in_hand = in_hand & ~hand;
			hand = 0;
			got = 0;
			set_len(me)
		}
	:: else
	fi
}

/* The get fails. */
inline fail() {
	d_step {
		left_ = 0;
		FOR(i_, ITEMS, IF(sure[me] & BIT(i_ + 1), left_++));
		PROMISE(FOUND, was_found, gave_up || left_ < n)
	}
}

inline lock() {
#if SEARCHERS > 1
	atomic {
		LAST(MUTEX) == 0;
		d_step {
			swap(me, MUTEX, ACQUIRE, 1);
			tidy()
		}
	}
#else
	skip
#endif
}

inline unlock() {
#if SEARCHERS > 1
	store(me, MUTEX, RELEASE, 0)
#else
	skip
#endif
}

/* get_exact() */
inline get() {
	atomic {
		calls < LIMIT;
		calls++;
		if
		:: n = 1
		:: ITEMS > 1 -> n = 2
		fi;
		learn();
		begin()
	}
	enter();
more:	take_own();
	if
	:: got == n -> goto finish
	:: else
	fi;
	take_full();
	if
	:: !item && searching ->
		seize();
		IF(!item, fail())
	:: else
	fi;
	if
	:: item ->
		replace();
		goto more
	:: !item && searching ->
		give_back();
		goto finish
	:: else
	fi;
#ifdef KEPT_IN_HAND
	atomic {
		m = LAST(NUMBER(me)) + 1;
		store(me, NUMBER(me), LEAVE_STORE_CALLS, m);
		m = 0
	}
#else
	give_back();
	leave();
#endif
	if
	:: me >= SEARCHERS -> goto gave
	:: else
	fi;
	lock();
	searching = true;
	enter_locked();
	goto more;
finish:	if
	:: searching -> unlock()
	:: else
	fi;
	atomic {
		leave();
gave:		n = 0;
		got = 0;
		searching = false;
		gave_up = false;
		sure[me] = 0
	}
}

/* put_exact(), of one object: the first that the thread has */
inline put() {
	atomic {
		calls < LIMIT && held[me];
		/* The deque has room. */
		COUNT(loaded[me]) < LOADS || !LAST(DEQUE(me));
		calls++;
		given = 1;
		do
		:: !(held[me] & BIT(given)) -> given++
		:: else -> break
		od;
		held[me] = held[me] & ~BIT(given);
		putting = putting | BIT(given)
	}
	enter();
	if
	:: COUNT(loaded[me]) == LOADS ->
		/* pass_full(): what is above is in another magazine then. */
		atomic {
			item = FIRST(loaded[me]);
			touch(loaded[me]);
			loaded[me] = loaded[me] & ~item;
#ifdef COUNT_STALE
			item = item | loaded[me];
#endif
			set_len(me)
		}
		d_step {
			swap(me, DEQUE(me), RELEASE, item);
			tidy();
			item = 0
		}
		count_change()
	:: else
	fi;
	atomic {
		loaded[me] = loaded[me] | BIT(given);
		touch(BIT(given));
		in_hand = in_hand & ~BIT(given);
		set_len(me)
	}
	count_change();
	atomic {
		leave()
	}
}

inline place(object, where) {
	if
	:: (where) / 10 == 0 ->
		held[(where) % 10] = held[(where) % 10] | BIT(object);
		in_hand = in_hand | BIT(object)
	:: (where) / 10 == 1 ->
		loaded[(where) % 10] = loaded[(where) % 10] | BIT(object)
	:: (where) / 10 == 2 ->
		value[MESSAGE(DEQUE((where) % 10), 0)] = BIT(object)
	:: else -> value[MESSAGE(PARTIAL, 0)] = BIT(object)
	fi
}

inline start() {
	place(1, PLACE1);
#if ITEMS > 1
	place(2, PLACE2);
#endif
#if ITEMS > 2
	place(3, PLACE3);
#endif
	FOR(t_, THREADS,
	    value[MESSAGE(LENGTH(t_), 0)] = COUNT(loaded[t_]));
	started = true
}

/* The places of an object. */
inline count(object) {
	left_ = 0;
	FOR(t_, THREADS,
	    IF(held[t_] & BIT(object), left_++);
	    IF(loaded[t_] & BIT(object), left_++);
	    IF(LAST(DEQUE(t_)) & BIT(object), left_++))
}

inline end() {
	d_step {
		if
		:: ended == THREADS - 1 ->
			is_kept = true;
			FOR(i_, ITEMS,
			    count(i_ + 1);
			    IF(left_ != 1, is_kept = false));
			PROMISE(KEPT, is_kept, is_kept)
		:: else
		fi;
		/* What it has seen stays: a barrier shows it to others. */
		gone[me] = true;
		tidy();
		ended++
	}
}

active [THREADS] proctype user() {
	byte calls, n, got, item, hand, given, n_loaded, m, i, j, before, after;
	bool done, searching, gave_up;
	byte me = _pid;

	atomic {
		if
		:: me == 0 -> start()
		:: else -> started
		fi
	}
	do
	:: get()
	:: put()
	:: calls == LIMIT -> break
	od;
	end()
}
