/* SPDX-License-Identifier: BSD-3-Clause */
/* The writers of cache.pml: publish.c, reclaim.c and process.c. */

/* The entries of chain b to which links lead: into set. */
inline walk_chain(set) {
	i_ = LAST(LINK(b));
	IF(i_ == 0, i_ = b);
	do
	:: i_ != NONE ->
		set = set | BIT(i_);
#if CHAIN
		i_ = (LAST(NEXT(i_)) == 0 -> NONE : LAST(NEXT(i_)) - 1)
#else
		i_ = NONE
#endif
	:: else -> break
	od
}

/* A link that leads to what followed entry old: spin takes short arguments. */
inline link_past(place, order) {
	e = NONE;
#if CHAIN
	e = LAST(NEXT(old));
	IF(!IS_NEXT(place), e = (e == 0 -> NONE : e - 1));
#endif
	store(me, place, order, e);
	e = 0
}

/* php_hone_retire() of entry old. */
inline stamp_it() {
	count_removal(e);
	d_step {
		stamp[old] = e;
		stamped = stamped | BIT(old);
		e = 0
	}
}

inline retire() {
	if
	:: old != NONE ->
#ifndef STAMP_FIRST
		atomic { stamp_it() }
#endif
		atomic {
			live = live & ~BIT(old);
			retired = retired | BIT(old)
		}
		listed = listed | BIT(old)
	:: else
	fi
}

#ifdef STAMP_FIRST
#define STAMPS_FIRST IF(old != NONE, stamp_it())
#else
#define STAMPS_FIRST skip
#endif

/* php_hone_store_reserve(), of which others see nothing. */
inline reserve_entry() {
	atomic {
		entry = fresh;
		fresh++;
		reserved = reserved | BIT(entry);
#if BUCKETS > 1
		IF(b, in_second = in_second | BIT(entry));
#endif
	}
#if LARGE
	filling[me - READERS] = entry + 1;
	unlock();
	lock()
#endif
}

/* php_hone_publish_locked(): before the chain, or in place of its first. */
inline publish() {
	atomic {
		load(me, EPOCH, NOW_LOAD_EPOCH, e);
#ifdef BORN_LATE
		e++;
#endif
		birth[entry] = e;
		e = 0;
		live = live | BIT(entry);
		reserved = reserved & ~BIT(entry)
	}
	atomic {
		old = LAST(LINK(b));
		IF(old == 0, old = b);
#if CHAIN
		if
		:: old != NONE ->
			e = LAST(NEXT(old));
			store(me, NEXT(entry), RELAXED, e)
		:: old != NONE ->
			e = old + 1;
			store(me, NEXT(entry), RELAXED, e);
			old = NONE
		:: else
		fi;
		e = 0;
#endif
		STAMPS_FIRST;
		d_step {
			last[DATA]++;
			SEEN(me, DATA) = last[DATA];
			made[entry] = last[DATA]
		}
#ifdef STAMP_FIRST
	}
	atomic {
#endif
		store(me, LINK(b), LINK_STORE, entry)
	}
	retire();
	entry = 0;
	filling[me - READERS] = 0
}

/* php_hone_remove_locked() of the first of a chain, or the one after it. */
inline remove() {
	atomic {
		old = LAST(LINK(b));
		IF(old == 0, old = b);
		at = LINK(b);
#if CHAIN
		if
		:: old != NONE && LAST(NEXT(old)) != 0 ->
			at = NEXT(old);
			old = LAST(NEXT(old)) - 1
		:: true
		fi;
#endif
		STAMPS_FIRST;
#ifdef STAMP_FIRST
	}
	atomic {
#endif
		IF(old != NONE, link_past(at, LINK_STORE));
		at = 0
	}
	retire()
}

#if FORMS
inline first_of_chain(into) {
	into = LAST(LINK(b));
	IF(into == 0, into = b)
}

/* php_hone_store_reserve_twin() of the first of chain b, and
 * php_hone_store_publish_twin(). Entries never come back, as in the fetch in which
 * the code makes a twin. */
inline twin() {
	first_of_chain(twin_of);
	if
	:: twin_of != NONE ->
		reserve_entry();
		atomic {
			first_of_chain(old);
			done = old == twin_of;
			old = 0;
			twin_of = 0
		}
		if
		:: done ->
			done = false;
			publish()
		:: else ->
			/* free_reserved() */
			filling[me - READERS] = 0;
			atomic {
				free_entry(entry);
				entry = 0
			}
		fi
	:: else -> twin_of = 0
	fi
}
#endif

/* php_hone_recover(): mark and decide; then count. */
inline recover() {
	do
	:: i < ENTRIES ->
		atomic {
			set = 0;
			d_step {
				walk_chain(set);
#if BUCKETS > 1
				b = 1 - b;
				walk_chain(set);
				b = 1 - b;
#endif
				i_ = 0
			}
			if
			:: set & BIT(i) ->
				live = live | BIT(i);
				retired = retired & ~BIT(i)
			:: !(set & BIT(i)) && (live & BIT(i)) ->
#ifdef RECOVER_FREES
				free_entry(i);
#else
#ifndef RECOVER_OLD_STAMP
				count_removal(e);
				stamp[i] = e;
#endif
				stamped = stamped | BIT(i);
				e = 0;
				live = live & ~BIT(i);
				retired = retired | BIT(i)
#endif
			:: !(set & BIT(i)) && (reserved & BIT(i)) ->
				d_step {
					done = false;
					FOR(r_, WRITERS,
					    IF(filling[r_] == i + 1,
					       done = true));
					r_ = 0
				}
				IF(!done, free_entry(i));
				done = false
			:: else
			fi;
			set = 0;
			i++
		}
	:: else -> break
	od;
	skip;
	d_step {
		/* forget_finished() */
		FOR(r_, WRITERS,
		    IF(filling[r_] && !(reserved & BIT(filling[r_] - 1)),
		       filling[r_] = 0));
		i = 0;
#ifndef RECOVER_FORGETS
		listed = retired;
#endif
		recovering = false
	}
}

/* What a writer does with the mutex; at last, what was left to do. */
inline change() {
	atomic {
		if
		:: ops < OPS ->
			ops++;
			b = 0
#if BUCKETS > 1
		:: ops < OPS ->
			ops++;
			b = 1
#endif
		:: ops == OPS && me == READERS && ended == THREADS - 1 ->
			ops++;
			d_step {
				FOR(x_, LOCATIONS, SEEN(me, x_) = last[x_];
				    fence_seen[x_] = 0);
				tidy()
			}
		fi
	}
	lock();
	if
	:: ops <= OPS ->
		reserve_entry();
		publish()
	:: ops <= OPS -> remove()
#if FORMS
	:: ops <= OPS -> twin()
#endif
	:: else
	fi;
#if DYING
	IF(dead && !reaped, reap());
#endif
	old = 0;
	b = 0;
	if
	:: CLOSES || ops > OPS ->
		close_slot(0);
#if READERS > 1
		close_slot(1)
#endif
	:: ops <= OPS
	fi;
	reclaim();
	IF(ops <= OPS, unlock())
}

/* Nobody does anything any more. */
inline check() {
	d_step {
		set = 0;
		walk_chain(set);
#if BUCKETS > 1
		b = 1;
		walk_chain(set);
#endif
		PROMISE(ACCOUNTED, is_accounted, live == set && !reserved &&
			listed == retired &&
			(live | retired | freed) == BIT(fresh) - 1);
		set = kept[0];
#if READERS > 1
		set = set | kept[1];
#endif
		PROMISE(HELD_BACK, is_not_held_back, !(retired & ~set))
	}
}

/* By bucket of an entry: the first one of the second bucket is entry 1. */
int in_second = 2;

active [WRITERS] proctype writer() {
	byte ops, b, entry, old, at, e, c, i, busy, pin, min_pin, since;
	byte closed_end;
#if FORMS
	byte twin_of;
#endif
	int set, held, all_held, closed_held, chains;
	bool anywhere, done, recovering;
	byte me = _pid;

	{
		do
		:: change()
		:: ops > OPS || (ops == OPS && me != READERS) -> break
		od;
		if
		:: ops > OPS -> check()
		:: else -> d_step { see_nothing() }
		fi
	} unless {
		d_step {
			killed && me == VICTIM && !gone[me];
			dead = true;
			/* The kernel ends it after all that it has stored. */
			IF(owner == me,
			   FOR(x_, LOCATIONS, mutex_seen[x_] = SEEN(me, x_)));
			see_nothing()
		}
	}
}
