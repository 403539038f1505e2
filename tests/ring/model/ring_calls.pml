/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls of ring.pml. A step goes up to a store or an exchange: nobody
 * notices when a thread loads, and what it could have read earlier, it still
 * can later.
 */

/* hone_ring_follow_marks(): f is filled then. */
inline follow(to) {
	load(me, FILLED, FOLLOW_LOAD_FILLED, f);
again_follow:
	e = f;
	do
	:: e < to ->
		load(me, MARK(e), FOLLOW_LOAD_MARK, m);
		if
		:: m > e && m - e <= SLOTS -> e = m
		:: else -> break
		fi
	:: else -> break
	od;
	if
	:: e == f
	:: else ->
		compare_and_swap(me, FILLED, FOLLOW_SWAP_FILLED, f, e, done);
		if
		:: done -> f = e
		:: else ->
			load(me, FILLED, FOLLOW_FAIL_FILLED, f);
			goto again_follow
		fi
	fi;
	e = 0;
	m = 0;
	done = false
}

inline add() {
	atomic {
		calls < ADDS;
		calls++;
		choose();
		learn(me);
		known = KNOWN(me, HEAD);
		load(me, TAIL, ADD_LOAD_TAIL, t);
again:		load(me, HEAD_SEEN, ROOM_LOAD_HEAD_SEEN, h);
		if
		:: CAPACITY - t + h >= n
		:: else ->
			load(me, HEAD, ROOM_LOAD_HEAD, h);
			store(me, HEAD_SEEN, ROOM_STORE_HEAD_SEEN, h)
		fi;
		k = n;
		IF(CAPACITY - t + h < n, k = CAPACITY - t + h);
		if
		:: CAPACITY - t + h < least ->
			PROMISE(FULL, was_full,
				(h >= head_of[t] ||
				 CAPACITY - t + head_of[t] < least) &&
				CAPACITY - LAST(TAIL) + known < least);
			goto added
		:: else
		fi
	}
	atomic {
#ifdef SINGLE_PRODUCER
		own();
		store_in_turn(me, SLOT(t), ADD_STORE_SLOT, t + 1);
		IF(k > 1,
		   store_in_turn(me, SLOT(t + 1), ADD_STORE_SLOT, t + 2));
		store(me, TAIL, ADD_STORE_TAIL, t + k);
		finish()
	}
	atomic {
		skip;
added:
#else
		compare_and_swap(me, TAIL, ADD_SWAP_TAIL, t, t + k, done);
		if
		:: done ->
			done = false;
			own();
			store_in_turn(me, SLOT(t), ADD_STORE_SLOT, t + 1);
			IF(k > 1,
			   store_in_turn(me, SLOT(t + 1), ADD_STORE_SLOT,
					 t + 2))
		:: else ->
			load(me, TAIL, ADD_FAIL_TAIL, t);
			goto again
		fi;
		h = 0
	}
	atomic {
		load(me, FILLED, ADD_LOAD_FILLED, f);
		if
#ifdef NO_TURN
		:: true ->
#else
		:: f == t ->
#endif
			store_in_turn(me, FILLED, ADD_STORE_FILLED, t + k);
			finish();
			goto added
		:: else ->
			store_in_turn(me, MARK(t), LATE_STORE_MARK, t + k)
		fi
	}
	atomic {
		follow(t + k);
		finish();
added:
#endif
		t = 0;
		h = 0;
		k = 0;
		n = 0;
		f = 0;
		least = 0;
		known = 0
	}
}

/* Which places the thread knows to be published. */
inline know() {
	d_step {
		filled = 0;
		FOR(i_, POSITIONS,
		    IF(published[i_] && KNOWS(me, maker[i_], published[i_]),
		       filled = filled | BIT(i_)));
		i_ = 0
	}
}

/* The thread has moved head from h by k, with what it read in read. */
#define TAKE_ONE(p, item) \
	PROMISE(ONCE, once, !took[p]); \
	PROMISE(FILLED_BEFORE, was_filled, item == (p) + 1); \
	PROMISE(WRITTEN, was_written, KNOWS(me, maker[p], made[p])); \
	taker[p] = me; \
	took[p] = SEEN(me, DONE(me)); \
	published[p] = 0

inline taken() {
	d_step {
		TAKE_ONE(h, item);
		if
		:: k > 1 -> TAKE_ONE(h + 1, item2)
		:: else
		fi
	}
}

/* Before head moves: who sees it move, sees that its slots were read. */
inline moving() {
	d_step {
		if
		:: LAST(HEAD) == h ->
			tick(me);
			tail_of[h + k] = tail_of[h];
			IF(tail_of[h + k] < t, tail_of[h + k] = t);
			IF(tail_of[h + k] < KNOWN(me, TAIL),
			   tail_of[h + k] = KNOWN(me, TAIL))
		:: else
		fi
	}
}

inline read() {
	load(me, SLOT(h), TAKE_LOAD_SLOT, item);
	if
	:: k > 1 -> load(me, SLOT(h + 1), TAKE_LOAD_SLOT, item2)
	:: else
	fi
}

inline told_empty() {
	PROMISE(EMPTY, was_empty,
		(t >= tail_of[h] || tail_of[h] - h < least) &&
		known - LAST(HEAD) < least)
}

inline take() {
	atomic {
		calls < TAKES;
		calls++;
		choose();
		learn(me);
		known = KNOWN(me, TAIL);
		know();
		load(me, HEAD, TAKE_LOAD_HEAD, h);
again:		load(me, TAIL_SEEN, TAKE_LOAD_TAIL_SEEN, t);
		if
		:: t - h >= n
		:: else ->
#ifdef SINGLE_PRODUCER
			load(me, TAIL, TAKE_LOAD_TAIL, t);
#else
			load(me, FILLED, TAKE_LOAD_FILLED, f);
			if
			:: f - h < n ->
				load(me, TAIL, UNTIL_LOAD_TAIL, t);
#ifndef NO_MARKS
				if
				:: t != f -> follow(h + n)
				:: else
				fi
#endif
			:: else
			fi;
			t = f;
			f = 0;
#endif
			store(me, TAIL_SEEN, TAKE_STORE_TAIL_SEEN, t)
		fi;
		if
		:: t - h >= n -> k = n
		:: t - h < n && t - h >= least -> k = t - h
		:: else ->
#ifdef SINGLE_PRODUCER
			told_empty();
			goto took_none
#else
			goto why_not
#endif
		fi
	}
	atomic {
#ifndef HEAD_FIRST
		read();
#endif
		moving();
#ifdef SINGLE_CONSUMER
		store(me, HEAD, LEAVE_STORE_HEAD, h + k);
		done = true;
#else
		compare_and_swap(me, HEAD, LEAVE_SWAP_HEAD, h, h + k, done);
#endif
#ifdef HEAD_FIRST
	}
	atomic {
		read();
#endif
		if
		:: done -> taken(); goto took_none
		:: else ->
			item = 0;
			item2 = 0;
			load(me, HEAD, LEAVE_FAIL_HEAD, h);
			goto again
		fi
	}
#ifndef SINGLE_PRODUCER
	atomic {
		skip;
why_not:	load(me, TAIL, WHY_LOAD_TAIL, t);
		load(me, HEAD, WHY_LOAD_HEAD, m);
		if
		:: t >= h && t - h < least -> told_empty()
		:: else ->
			if
			:: m == h ->
				PROMISE(BUSY, was_busy, t >= h &&
					(!(filled & BIT(h)) ||
					 (least > 1 &&
					  !(filled & BIT(h + 1)))))
			:: else ->
				h = m;
				m = 0;
				goto again
			fi
		fi
	}
#endif
	atomic {
		skip;
took_none:	t = 0;
		h = 0;
		k = 0;
		n = 0;
		f = 0;
		m = 0;
		item = 0;
		item2 = 0;
		done = false;
		filled = 0;
		least = 0;
		known = 0
	}
}
