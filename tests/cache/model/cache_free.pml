/* SPDX-License-Identifier: BSD-3-Clause */
/* What frees entries in cache.pml: reclaim.c, process.c, epoch.c ("the writer"). */

/* ---- blocks ---- */

/* php_hone_arena_free(): from now on the memory may be anything. */
inline free_entry(i) {
	d_step {
		FOR(r_, READERS,
		    PROMISE(UNUSED, unused, !((has[r_] | kept[r_]) & BIT(i)));
		    PROMISE(READ, was_read,
			    SEEN(me, DONE(r_)) >=
				dropped[r_ * ENTRIES + (i)]);
		    dropped[r_ * ENTRIES + (i)] = 0);
		live = live & ~BIT(i);
		reserved = reserved & ~BIT(i);
		retired = retired & ~BIT(i);
		freed = freed | BIT(i)
	}
}

/* ---- who has what ---- */

/* look_at() of slot r. */
inline look_at(r) {
#ifdef HELD_FIRST
	load(me, HELD(r), LOOK_LOAD_HELD, held);
#endif
	load(me, BUSY(r), LOOK_LOAD_BUSY, busy);
	load(me, PIN(r), LOOK_LOAD_PIN, pin);
	if
	:: busy != IDLE ->
		if
		:: busy == ANYWHERE -> anywhere = true
		:: else -> chains = chains | BIT(busy - BUCKET(0))
		fi;
		load(me, BEGAN(r), LOOK_LOAD_BEGAN, c);
		IF(pin > c, c = pin);
		IF(c < since, since = c);
		IF(c < min_pin, min_pin = c);
		c = 0
	:: else
	fi;
#ifdef BUSY_IGNORED
	anywhere = false;
	chains = 0;
#endif
	if
	:: pin != 0 ->
		IF(pin < min_pin, min_pin = pin);
#ifndef HELD_FIRST
		load(me, HELD(r), LOOK_LOAD_HELD, held);
#endif
		load(me, CLOSE(r), LOOK_LOAD_CLOSE, c);
		if
		:: STATE(c) >= END ->
			closed_held = closed_held | held;
			IF(STATE(c) - END > closed_end,
			   closed_end = STATE(c) - END)
		:: else -> all_held = all_held | held
		fi;
		c = 0
	:: else
	fi;
	held = 0;
	busy = 0;
	pin = 0
}

/* php_hone_readers_look(), after its fence. */
inline look() {
	min_pin = 255;
	since = 255;
	look_at(0);
#if READERS > 1
	look_at(1)
#endif
}

inline looked() {
	min_pin = 0;
	since = 0;
	all_held = 0;
	closed_held = 0;
	closed_end = 0;
	chains = 0;
	anywhere = false
}

/* Of entries that stay in the bucket for good, its number. */
#define CHAIN_OF(i) (BUCKETS == 1 || !(in_second & BIT(i)) -> 0 : 1)

/* php_hone_readers_have() of entry i. */
#define IS_HAD(i) \
	(stamp[i] + 1 >= min_pin && \
	 ((stamp[i] + 1 >= since && \
	   (anywhere || (chains & BIT(CHAIN_OF(i))))) || \
	  (all_held & BIT(i)) || ((closed_held & BIT(i)) && birth[i] <= closed_end)))

/* php_hone_reclaim() */
inline reclaim() {
	atomic {
		FENCE(LOOK_FENCE, me)
	}
	atomic {
		look();
		i = 0;
		do
		:: i < ENTRIES ->
			if
			:: (listed & BIT(i)) && !IS_HAD(i) ->
				free_entry(i);
				listed = listed & ~BIT(i)
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0;
		looked()
	}
}

/* close_slot() of slot r. */
inline close_slot(r) {
	atomic {
		load(me, PIN(r), LOOK_LOAD_PIN, pin);
		load(me, CLOSE(r), LOOK_LOAD_CLOSE, c);
		done = pin != 0;
		pin = 0;
		if
		:: done && STATE(c) == 0 ->
			compare_and_swap(me, CLOSE(r), CLOSE_SWAP_CLOSING, c,
					 c + CLOSING, done);
			c = c + CLOSING
		:: else -> done = done && STATE(c) == CLOSING
		fi;
		FENCE(CLOSE_FENCE, me)
	}
	atomic {
		if
		:: done ->
			load(me, BUSY(r), CLOSE_LOAD_BUSY, busy);
#ifdef CLOSE_UNASKED
			busy = IDLE;
#endif
			if
			:: busy == IDLE ->
				load(me, EPOCH, NOW_LOAD_EPOCH, e);
				compare_and_swap(me, CLOSE(r), CLOSE_SWAP_END,
						 c,
						 GENERATION(c) + END + e, done);
				IF(done, closed(r, e))
			:: else
			fi
		:: else
		fi;
		done = false;
		busy = 0;
		c = 0;
		e = 0
	}
}

/* php_hone_slots_reap(): what the dead process did comes before. */
inline reap() {
	atomic {
#if VICTIM < READERS
		store(me, BUSY(VICTIM), RELEASE, IDLE);
		store(me, PIN(VICTIM), RELEASE, 0);
		store(me, BEGAN(VICTIM), RELAXED, 0);
		store(me, HELD(VICTIM), RELEASE, 0);
#else
		if
		:: filling[VICTIM - READERS] != 0 ->
			i = filling[VICTIM - READERS] - 1;
			filling[VICTIM - READERS] = 0;
			free_entry(i);
			i = 0
		:: else
		fi;
#endif
		reaped = true
	}
}
