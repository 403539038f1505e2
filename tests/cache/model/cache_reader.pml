/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The readers of cache.pml: epoch.c, "the reader", and index.c. A step goes up
 * to a store or an exchange: nobody notices when a thread loads, and what it
 * could have read earlier, it still can later.
 */

/* The reader no longer has these entries. Who sees what it does next, sees
 * that. */
inline drop(set) {
	d_step {
		last[DONE(me)]++;
		SEEN(me, DONE(me)) = last[DONE(me)];
		FOR(i_, ENTRIES,
		    IF(set & BIT(i_),
		       dropped[me * ENTRIES + i_] = last[DONE(me)]));
		set = 0
	}
}

/* The slot is closed: it keeps nothing that was born later. */
inline closed(r, end) {
	d_step {
		FOR(i_, ENTRIES,
		    IF(kept[r] & BIT(i_),
		       PROMISE(BORN, was_born, birth[i_] <= end)));
		i_ = 0
	}
}

/* php_hone_member_pin() */
inline pin_slot() {
	atomic {
		!pin && requests < REQUESTS;
		requests++;
		IF(LAST(HELD(me)), store(me, HELD(me), PIN_STORE_HELD, 0))
	}
	atomic {
		load(me, CLOSE(me), PIN_LOAD_CLOSE, c);
		store(me, CLOSE(me), PIN_STORE_CLOSE, GENERATION(c) + 16);
		c = 0
	}
	atomic {
		load(me, EPOCH, NOW_LOAD_EPOCH, e);
#ifdef PIN_NEXT_EPOCH
		e++;
#endif
		pin = e + 1;
		e = 0;
		store(me, PIN(me), ANNOUNCE_SWAP, pin);
		FENCE(PIN_FENCE, me)
	}
}

/* php_hone_member_unpin() */
inline unpin_slot() {
	atomic {
		pin != 0;
#ifdef UNPIN_FIRST
		store(me, PIN(me), UNPIN_STORE_PIN, 0);
	}
	atomic {
		drop(kept[me]);
#else
		drop(kept[me]);
		store(me, PIN(me), UNPIN_STORE_PIN, 0);
#endif
		pin = 0
	}
}

/* The reader follows a link: to entry n, or NONE. */
inline found() {
	d_step {
		if
		:: n != NONE ->
			PROMISE(FOUND_LIVE, found_live, !(freed & BIT(n)));
			PROMISE(WRITTEN, was_written,
				SEEN(me, DATA) >= made[n]);
			PROMISE(STAMPED, is_stamped, !(stamped & BIT(n)) ||
				pin == 0 || stamp[n] + 1 >= pin);
			has[me] = has[me] | BIT(n)
		:: else
		fi
	}
}

#if NARROW
#define ANNOUNCED(b) BUCKET(b)
#else
#define ANNOUNCED(b) ANYWHERE
#endif

/* php_hone_lookup() of chain b, and php_hone_fetch_keep(). */
inline look_up() {
	load(me, LINK(b), FOLLOW_LOAD_LINK, n);
	IF(n == 0, n = b);
	found();
#if CHAIN
	do
	:: n != NONE ->
		load(me, NEXT(n), FOLLOW_LOAD_LINK, e);
		n = (e == 0 -> NONE : e - 1);
		e = 0;
		found()
	:: true -> break
	od;
#endif
	if
	:: n != NONE && open ->
		kept[me] = kept[me] | BIT(n);
		closed(me, (STATE(LAST(CLOSE(me))) < END ->
			255 : STATE(LAST(CLOSE(me))) - END));
		e = LAST(HELD(me)) | BIT(n);
		IF(e != LAST(HELD(me)),
		   store(me, HELD(me), KEEP_STORE_HELD, e));
		e = 0
#if FORMS
	/* keep_special() of a cold entry: it is read before the end of the fetch. */
	:: n != NONE && open ->
#ifdef COLD_KEPT
		kept[me] = kept[me] | BIT(n)
#else
		skip
#endif
#endif
	:: else
	fi;
	n = 0
}

inline fetch() {
	atomic {
		fetches < FETCHES && (pin || UNPINNED);
		fetches++;
		if
		:: b = 0
#if BUCKETS > 1
		:: b = 1
#endif
		fi;
	/* begin() of epoch.c */
#ifndef CLOSE_FIRST
#ifdef BEGIN_ASTRAY
		store(me, BUSY(me), ANNOUNCE_SWAP, BUCKET(1 - b));
#else
		store(me, BUSY(me), ANNOUNCE_SWAP, ANNOUNCED(b));
#endif
		FENCE(BEGIN_FENCE, me)
	}
	atomic {
#endif
		load(me, CLOSE(me), BEGIN_LOAD_CLOSE, c);
#ifdef CLOSE_IGNORED
		c = 0;
#endif
		open = pin && STATE(c) == 0;
		if
		:: STATE(c) != 0 ->
			load(me, EPOCH, NOW_LOAD_EPOCH, e);
#ifdef BEGAN_NEXT_EPOCH
			e++;
#endif
			store(me, BEGAN(me), BEGAN_STORE, e + 1);
#ifdef BEGAN_NEXT_EPOCH
			e--;
#endif
		:: else
		fi;
		if
		:: STATE(c) == CLOSING ->
			compare_and_swap(me, CLOSE(me), BEGIN_SWAP_CLOSE, c,
					 GENERATION(c) + END + e, done);
			IF(done, closed(me, e));
			done = false
		:: else
		fi;
		e = 0;
		c = 0
	}
#ifdef CLOSE_FIRST
	atomic {
		store(me, BUSY(me), ANNOUNCE_SWAP, ANNOUNCED(b));
		FENCE(BEGIN_FENCE, me)
	}
#endif
#ifdef KEEP_LATE
	atomic { drop(has[me]); store(me, BUSY(me), END_STORE_BUSY, IDLE) }
#endif
	atomic { look_up() }
#if LOOKS > 1
	atomic {
		first = has[me];
#if NESTED && !defined(NO_WIDEN)
		/* begin_nested() */
		store(me, BUSY(me), ANNOUNCE_SWAP, ANYWHERE);
		FENCE(WIDEN_FENCE, me);
#endif
		b = 1 - b
	}
	atomic { look_up() }
#endif
#if NESTED
	/* php_hone_fetch_end() of the inner fetch: what only the second chain had is
	 * dropped. */
	atomic {
		second = has[me] & ~first;
		has[me] = first;
		drop(second);
#ifdef BACK_ASTRAY
		store(me, BUSY(me), BACK_STORE_BUSY, ANNOUNCED(b));
#else
		store(me, BUSY(me), BACK_STORE_BUSY, ANNOUNCED(1 - b));
#endif
		first = 0
	}
#endif
	/* php_hone_fetch_end() */
	atomic {
		drop(has[me]);
#ifndef KEEP_LATE
		store(me, BUSY(me), END_STORE_BUSY, IDLE);
#endif
		open = false;
		b = 0
	}
}

/* php_hone_member_close() */
inline close_own() {
	atomic {
		pin && OWNER_CLOSES;
		load(me, CLOSE(me), RELAXED, c);
		if
		:: STATE(c) < END ->
			load(me, EPOCH, NOW_LOAD_EPOCH, e);
			compare_and_swap(me, CLOSE(me), OWN_SWAP_CLOSE, c,
					 GENERATION(c) + END + e, done);
			IF(done, closed(me, e));
			e = 0;
			done = false
		:: else
		fi;
		c = 0
	}
}

inline see_nothing() {
	gone[me] = true;
	FOR(x_, LOCATIONS, SEEN(me, x_) = 0);
	tidy();
	ended++
}

active [READERS] proctype reader() {
	byte requests, fetches, pin, c, e, n, b;
	int first, second;
	bool open, done;
	byte me = _pid;

	{
		do
		:: pin_slot()
		:: fetch()
		:: unpin_slot()
#if OWNER_CLOSES
		:: close_own()
#endif
		:: pin == 0 || SLEEPS -> break
		od;
		skip;
		d_step { see_nothing() }
	} unless {
		/* A process that is gone reads nothing. */
		d_step {
			killed && me == VICTIM && !gone[me];
			dead = true;
			has[me] = 0;
			kept[me] = 0;
			FOR(i_, ENTRIES, dropped[me * ENTRIES + i_] = 0);
			see_nothing()
		}
	}
}
