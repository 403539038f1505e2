/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics as C has them, for spin, which by itself knows only sequential
 * consistency. docs/design/mempool-model.md has the limits.
 *
 * Memory keeps all that was ever stored to a location, in order: messages 0
 * (the initial value) to last[x]. A thread may read any of them that is not
 * older than what it has seen. The orders of the operations tell what it sees:
 *
 * - A release store puts what its thread has seen into its message; an acquire
 *   load takes it over.
 * - A compare-and-swap that succeeds has read the last message.
 * - All that is seq_cst has one order, of which everybody sees a part. It need
 *   not be that in which the model happens to run it: only some pairs are in
 *   order by the rules. A load that reads what is older than a seq_cst store
 *   comes before this store. If by the rules it comes after it, that would be
 *   a circle, and the load cannot read so. To find circles, the model keeps
 *   the seq_cst stores that come before each thread's next operation, before
 *   each seq_cst store, and so on, as sets.
 *
 * Who includes this defines:
 *   THREADS and LOCATIONS, how many;
 *   BASE(x), ROOM(x): where the messages of location x begin, and how many;
 *   MESSAGES: those of all locations; STORED: how many locations have any;
 *   RELEASED: the messages in front that may be stored as release or seq_cst.
 * Of the locations, only the last ones may have no messages: nobody reads them,
 * and what a thread has seen of them tells what happened before.
 * A location is stored to by one thread only, or by compare-and-swap only, or
 * by a thread that has seen the last message only; for others, the order in
 * which C has the stores is not that of the model. They are told by
 *   RACED(x): any thread may read any message of x at any time,
 * which is more than C allows. NO_SEQ_CST, if defined, leaves out what keeps
 * that order.
 */
#ifndef RACED
#define RACED(x) false
#endif
#ifdef NO_SEQ_CST
#define SEQ_CST_ONLY(body) skip
#else
#define SEQ_CST_ONLY(body) body
#endif
#define RELAXED 0
#define ACQUIRE 1
#define RELEASE 2
#define ACQ_REL 3
#define SEQ_CST 7
#define ACQUIRES(order) (((order) & 1) != 0)
#define RELEASES(order) (((order) & 2) != 0)
#define ORDERED(order) ((order) == SEQ_CST)

#define MESSAGE(x, i) (BASE(x) + (i))
#define SEEN(thread, x) seen[(thread) * LOCATIONS + (x)]
#define CARRIES(m, x) carries[(m) * LOCATIONS + (x)]
#define BIT(m) (1 << (m))
/* Of location x, the messages in front of i, and those behind. */
#define BELOW(x, i) (BIT(MESSAGE(x, i)) - BIT(BASE(x)))
#define NEWER(x, i) (BELOW(x, last[x] + 1) - BELOW(x, (i) + 1))

byte value[MESSAGES];
byte last[LOCATIONS];
/* By thread and location, the oldest message that it may still read; by
 * location, the oldest that anybody may: what is older, the model forgets. */
byte seen[THREADS * LOCATIONS];
byte oldest[LOCATIONS];
bool gone[THREADS];

/* What an acquire load of a message adds to seen, and to before. */
byte carries[RELEASED * LOCATIONS];
#ifndef NO_SEQ_CST
int carries_before[RELEASED];
#endif

#ifndef NO_SEQ_CST
/* Sets of seq_cst stores, each a bit by its message. All there are; then those
 * that come before a seq_cst store, before anything seq_cst that the thread
 * will do, before some seq_cst load of the location so far, and before every
 * seq_cst load of it from now on. */
int ordered;
int store_before[RELEASED];
int before[THREADS];
int read_before[LOCATIONS];
int always_before[LOCATIONS];
#endif

/* A choice in progress: between which messages, and which. Else 0. */
int choices;
byte choice;

/* For use within one step only, hence no part of the state. */
hidden byte m_, x_, t_, old_;
hidden int set_, late_;

#define FOR(variable, end, body) \
	variable = 0; \
	do \
	:: variable < (end) -> body; variable++ \
	:: else -> break \
	od
#define IF(condition, body) if :: (condition) -> body :: else fi

/* Into set_: what comes before a seq_cst load of message i. */
inline load_after(thread, x, i) {
	set_ = ordered & BELOW(x, (i) + 1);
	FOR(m_, RELEASED,
	    IF(set_ & BIT(m_), set_ = set_ | store_before[m_]));
	set_ = set_ | before[thread] | always_before[x]
}

#define PUT_BEFORE(set) IF(late_ & set, set = set | set_)

/* Now set_ comes before the stores late_, and so before what follows them. */
inline put_before() {
	FOR(m_, RELEASED,
	    IF((late_ & BIT(m_)) || (late_ & store_before[m_]),
	       store_before[m_] = store_before[m_] | set_);
	    PUT_BEFORE(carries_before[m_]));
	FOR(t_, THREADS, PUT_BEFORE(before[t_]));
	FOR(x_, LOCATIONS, PUT_BEFORE(read_before[x_]);
	    PUT_BEFORE(always_before[x_]))
}

#define SEE(thread, x, i) IF(SEEN(thread, x) < (i), SEEN(thread, x) = i)

/* The thread has read message m, of x: it sees what that carries. */
inline acquire(thread, m) {
	if
	:: m < RELEASED ->
		FOR(x_, LOCATIONS, SEE(thread, x_, CARRIES(m, x_)));
		SEQ_CST_ONLY(before[thread] =
			before[thread] | carries_before[m])
	:: else
	fi
}

/* A message that nobody will read again. */
inline forget(x, i) {
	value[MESSAGE(x, i)] = 0;
	if
	:: MESSAGE(x, i) < RELEASED ->
		SEQ_CST_ONLY(always_before[x] =
				always_before[x] | store_before[MESSAGE(x, i)];
			late_ = late_ | BIT(MESSAGE(x, i));
			store_before[MESSAGE(x, i)] = 0;
			carries_before[MESSAGE(x, i)] = 0);
		FOR(m_, LOCATIONS, CARRIES(MESSAGE(x, i), m_) = 0)
	:: else
	fi
}

/*
 * Forget what can no longer matter, so that states which differ in nothing
 * else are one. No load can come before a store that all have seen.
 */
inline tidy() {
	late_ = 0;
	FOR(x_, LOCATIONS,
	    old_ = last[x_];
	    FOR(t_, THREADS,
		IF(!gone[t_] && SEEN(t_, x_) < old_, old_ = SEEN(t_, x_)));
	    do
	    :: oldest[x_] < old_ ->
		    IF(x_ < STORED, forget(x_, oldest[x_]));
		    oldest[x_]++
	    :: else -> break
	    od);
#ifndef NO_SEQ_CST
	if
	:: late_ ->
		ordered = ordered & ~late_;
		FOR(t_, THREADS, before[t_] = before[t_] & ~late_);
		FOR(x_, LOCATIONS,
		    read_before[x_] = read_before[x_] & ~late_;
		    always_before[x_] = always_before[x_] & ~late_);
		FOR(m_, RELEASED,
		    store_before[m_] = store_before[m_] & ~late_;
		    carries_before[m_] = carries_before[m_] & ~late_)
	:: else
	fi;
#endif
	FOR(m_, RELEASED,
	    FOR(x_, LOCATIONS,
		IF(CARRIES(m_, x_) <= oldest[x_], CARRIES(m_, x_) = 0)));
	/* spin refuses a loop at the end of some d_steps. */
	set_ = 0
}

/* A load of x by the thread, into a variable. */
inline load(thread, x, order, into) {
	atomic {
		d_step {
			old_ = (RACED(x) -> 0 : SEEN(thread, x));
			do
			:: old_ <= last[x] ->
				late_ = 0;
				SEQ_CST_ONLY(IF(ORDERED(order),
				   load_after(thread, x, old_);
				   late_ = set_ & NEWER(x, old_)));
				IF(!late_, choices = choices | BIT(old_));
				old_++
			:: else -> break
			od
		}
		if
		:: choices & BIT(0) -> choice = 0
		:: choices & BIT(1) -> choice = 1
		:: choices & BIT(2) -> choice = 2
		:: choices & BIT(3) -> choice = 3
		:: choices & BIT(4) -> choice = 4
		:: choices & BIT(5) -> choice = 5
		:: choices & BIT(6) -> choice = 6
		:: choices & BIT(7) -> choice = 7
		:: choices & BIT(8) -> choice = 8
		:: choices & BIT(9) -> choice = 9
		:: choices & BIT(10) -> choice = 10
		:: choices & BIT(11) -> choice = 11
		fi;
		d_step {
#ifndef NO_SEQ_CST
			if
			:: ORDERED(order) ->
				load_after(thread, x, choice);
				late_ = ordered & NEWER(x, choice);
				put_before();
				before[thread] = before[thread] | set_;
				read_before[x] = read_before[x] | set_
			:: else
			fi;
#endif
			IF(!RACED(x), SEE(thread, x, choice));
			into = value[MESSAGE(x, choice)];
			printf("thread %d loads %d, %d: message %d of %d\n",
			       thread, x, into, choice, last[x]);
			IF(ACQUIRES(order),
			   acquire(thread, MESSAGE(x, choice)));
			choices = 0;
			choice = 0;
			tidy()
		}
	}
}

/* A new last message of x. Inside a step; late_ is its set as a store. */
inline append(thread, x, order, new) {
#ifndef NO_SEQ_CST
	late_ = before[thread];
	if
	:: ORDERED(order) ->
		load_after(thread, x, last[x]);
		late_ = set_ | read_before[x]
	:: else
	fi;
#endif
	last[x]++;
	assert(last[x] < ROOM(x));
	IF(!RACED(x), SEEN(thread, x) = last[x]);
	value[MESSAGE(x, last[x])] = new;
	printf("thread %d stores %d, %d: message %d\n",
	       thread, x, value[MESSAGE(x, last[x])], last[x]);
	assert(!RELEASES(order) || MESSAGE(x, last[x]) < RELEASED);
	if
	:: RELEASES(order) ->
		/* Not what comes before the store itself: that would order
		 * it before what the reader does next. */
		SEQ_CST_ONLY(carries_before[MESSAGE(x, last[x])] =
			carries_before[MESSAGE(x, last[x])] | before[thread]);
		FOR(m_, LOCATIONS,
		    IF(CARRIES(MESSAGE(x, last[x]), m_) < SEEN(thread, m_),
		       CARRIES(MESSAGE(x, last[x]), m_) = SEEN(thread, m_)))
	:: else
	fi
#ifndef NO_SEQ_CST
	;
	if
	:: ORDERED(order) ->
		store_before[MESSAGE(x, last[x])] = late_;
		ordered = ordered | BIT(MESSAGE(x, last[x]));
		before[thread] = before[thread] | late_ |
				 BIT(MESSAGE(x, last[x]))
	:: else
	fi
#endif
}

inline store(thread, x, order, new) {
	d_step {
		append(thread, x, order, new);
		tidy()
	}
}

/* What the last message carries goes on with the new one: both are parts of
 * one release sequence. */
inline swap(thread, x, order, new) {
	SEE(thread, x, last[x]);
	FOR(x_, LOCATIONS,
	    CARRIES(MESSAGE(x, last[x] + 1), x_) =
		CARRIES(MESSAGE(x, last[x]), x_));
	SEQ_CST_ONLY(carries_before[MESSAGE(x, last[x] + 1)] =
		carries_before[MESSAGE(x, last[x])]);
	append(thread, x, order, new);
	IF(ACQUIRES(order), acquire(thread, MESSAGE(x, last[x] - 1)))
}

/*
 * A strong compare-and-swap by a thread that has seen the expected value, of a
 * location whose values never come back. If it fails it is a relaxed load of
 * something newer; of all that this may be, the oldest leaves most open.
 */
inline compare_and_swap(thread, x, order, expected, new, done) {
	d_step {
		if
		:: value[MESSAGE(x, last[x])] == expected ->
			done = true;
			swap(thread, x, order, new)
		:: else ->
			done = false;
			printf("thread %d does not swap %d\n", thread, x);
			do
			:: SEEN(thread, x) < last[x] &&
			   value[MESSAGE(x, SEEN(thread, x))] <= expected ->
				SEEN(thread, x)++
			:: else -> break
			od
		fi;
		tidy()
	}
}
