/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * php/cache/store: READERS and WRITERS on the memory of memory.pml. The order of
 * each access of the protocol is a macro named after it. check.py sets these.
 * docs/design/cache-model.md has what is covered and what is not.
 *
 * More macros:
 *   REQUESTS, FETCHES: of each reader, at most
 *   LOOKS: chains that one fetch looks at, 1 or 2
 *   BUCKETS: chains; each has one entry at first
 *   CHAIN: 1 if a chain may have several entries
 *   OPS: stores and removals of each writer
 *   CLOSES: 1 if writers close slots, OWNER_CLOSES: 1 if readers do
 *   SLEEPS: 1 if a reader may stay pinned for ever
 *   UNPINNED: 1 if a fetch may be without a pin
 *   LARGE: 1 if the mutex is given back between reservation and publication
 *   DYING: 1 if thread VICTIM may be killed at any step
 *   NARROW: 1 if a fetch announces its chain, 0 if it announces "anywhere"
 *   FORMS: 1 if values may be cold, and twins are made; then CHAIN is 0
 *   NESTED: 1 if the second chain is that of a fetch within the first one
 *   PROMISES: those that are checked, a sum of the ones below
 */

/* Nothing is freed while a reader has it. */
#define UNUSED 1
/* A reader never finds what is free. */
#define FOUND_LIVE 2
/* What a reader did with an entry happens before the entry is freed. */
#define READ 4
/* What was written before the publication is seen by who finds the entry. */
#define WRITTEN 8
/* An entry that retired before a request's epoch is not found by it. */
#define STAMPED 16
/* What a closed slot keeps was born by the epoch of its end. */
#define BORN 32
/* In the end, only what a sleeping reader has is held back. */
#define HELD_BACK 64
/* In the end, each entry is live and linked, or retired and listed, or free. */
#define ACCOUNTED 128

#define THREADS (READERS + WRITERS)
#define ENTRIES (BUCKETS + WRITERS * OPS)
#define NONE 15

/* Locations. Of the last ones only what is seen of them matters: how much was
 * written to entries, and how much each reader read. */
#define EPOCH 0
#define LINK(b) (1 + (b))
#define NEXTS (CHAIN * ENTRIES)
#define NEXT(n) (1 + BUCKETS + (n))
#define SLOT(r) (1 + BUCKETS + NEXTS + 5 * (r))
#define PIN(r) SLOT(r)
#define BUSY(r) (SLOT(r) + 1)
#define HELD(r) (SLOT(r) + 2)
#define CLOSE(r) (SLOT(r) + 3)
#define BEGAN(r) (SLOT(r) + 4)
#define STORED SLOT(READERS)
#define DATA STORED
#define DONE(r) (STORED + 1 + (r))
#define LOCATIONS (STORED + 1 + READERS)

#define EPOCHS (WRITERS * OPS + 1 + 2 * DYING)
#define LINKS (WRITERS * OPS + 1)
#define NEXT_ROOM (WRITERS * OPS + 1)
#define PINS (2 * REQUESTS + 1 + DYING)
#define BUSIES (FETCHES * (2 + 2 * NESTED) + 1 + DYING)
#define HELDS (FETCHES * LOOKS + REQUESTS + 1 + DYING)
#define CLOSINGS (3 * REQUESTS + 3)
#define SLOTS_AT (EPOCHS + BUCKETS * LINKS + NEXTS * NEXT_ROOM)
#define BEGINNINGS (FETCHES + 1 + DYING)
#define SLOT_ROOM (PINS + BUSIES + HELDS + CLOSINGS + BEGINNINGS)
#define RELEASED (SLOTS_AT + READERS * SLOT_ROOM)
#define MESSAGES RELEASED
#define WHICH(x) (((x) - SLOT(0)) % 5)
#define IS_SLOT(x) ((x) >= SLOT(0))
#define IS_NEXT(x) ((x) > BUCKETS && !IS_SLOT(x))
/* Of location x: 0 and 1 as numbers pick the term. */
#define BASE(x) \
	(((x) > 0 && (x) <= BUCKETS) * (EPOCHS + ((x) - 1) * LINKS) + \
	 IS_NEXT(x) * (EPOCHS + BUCKETS * LINKS + \
		       ((x) - 1 - BUCKETS) * NEXT_ROOM) + \
	 IS_SLOT(x) * (SLOTS_AT + ((x) - SLOT(0)) / 5 * SLOT_ROOM + \
		       (WHICH(x) > 0) * PINS + (WHICH(x) > 1) * BUSIES + \
		       (WHICH(x) > 2) * HELDS + (WHICH(x) > 3) * CLOSINGS))
#define ROOM(x) \
	(((x) == EPOCH) * EPOCHS + ((x) > 0 && (x) <= BUCKETS) * LINKS + \
	 IS_NEXT(x) * NEXT_ROOM + \
	 IS_SLOT(x) * ((WHICH(x) == 0) * PINS + (WHICH(x) == 1) * BUSIES + \
		       (WHICH(x) == 2) * HELDS + (WHICH(x) == 3) * CLOSINGS + \
		       (WHICH(x) == 4) * BEGINNINGS))
#define NO_SEQ_CST
#include "../../support/model/memory.pml"

#define LAST(x) value[MESSAGE(x, last[x])]

/*
 * Values. Epochs begin with 0; a pin or a beginning is the epoch and 1. The word `close` is
 * the generation times 16, and 0, CLOSING, or the epoch of the end and END.
 * busy is IDLE, ANYWHERE or BUCKET(b). A link of 0 is the first entry of its
 * chain, a next of 0 none, and a next else the entry and 1.
 */
#define CLOSING 1
#define END 2
#define STATE(close) ((close) & 15)
#define GENERATION(close) ((close) & 240)
#define IDLE 0
#define ANYWHERE 1
#define BUCKET(b) (2 + (b))

/* Sets of entries: by state of the block; those in the list of retired ones;
 * those that are free. */
byte fresh = BUCKETS;
int live = (1 << BUCKETS) - 1;
int reserved, retired, listed, freed;
/* By entry. */
byte birth[ENTRIES];
byte stamp[ENTRIES];
byte made[ENTRIES];
int stamped;
/* By reader: what it has until the end of the fetch, and of the request; the
 * same of the readers that are asleep or dead. */
int has[READERS];
int kept[READERS];
/* By reader and entry: the step at which it gave the entry back. */
byte dropped[READERS * ENTRIES];

/* The mutex of the shard, and what its last owner has seen. */
byte owner = NONE;
byte mutex_seen[LOCATIONS];
/* What the last fence has seen: fence() below. */
byte fence_seen[LOCATIONS];
/* By writer: php_hone_slot.reserved, of what it fills without the mutex. */
byte filling[WRITERS];

bool killed, dead, reaped;
byte ended;

hidden byte unused, found_live, was_read, was_written, is_stamped;
hidden byte was_born, is_not_held_back, is_accounted;
hidden byte i_, r_;

#define PROMISE(which, name, holds) \
	name = (holds); \
	assert(name || !(PROMISES & which))

/* ---- memory ---- */

/*
 * A seq_cst fence: all fences have one order, and who comes later sees what
 * those before have seen. So a fence is an exchange of one location that nothing
 * else uses, by acquire and release; docs/design/cache-model.md has why.
 */
inline fence(thread) {
	d_step {
		FOR(x_, LOCATIONS,
		    SEE(thread, x_, fence_seen[x_]);
		    fence_seen[x_] = SEEN(thread, x_));
		tidy();
		FOR(x_, LOCATIONS,
		    IF(fence_seen[x_] <= oldest[x_], fence_seen[x_] = 0);
		    IF(mutex_seen[x_] <= oldest[x_], mutex_seen[x_] = 0));
		x_ = 0
	}
}
#define FENCE(which, thread) if :: which -> fence(thread) :: else fi

inline lock() {
	atomic {
		owner == NONE || (dead && owner == VICTIM);
		d_step {
			IF(owner != NONE, recovering = true);
			owner = me;
			FOR(x_, LOCATIONS, SEE(me, x_, mutex_seen[x_]);
			    mutex_seen[x_] = 0);
			tidy()
		}
	}
#if DYING
	IF(recovering, recover())
#endif
}

inline unlock() {
	d_step {
		FOR(x_, LOCATIONS,
		    mutex_seen[x_] =
			(SEEN(me, x_) > oldest[x_] -> SEEN(me, x_) : 0));
		owner = NONE
	}
}

/* php_hone_epoch_retire(). */
inline count_removal(into) {
	d_step {
		into = LAST(EPOCH);
		swap(me, EPOCH, RETIRE_ADD_EPOCH, into + 1);
		tidy()
	}
}

#include "cache_reader.pml"
#include "cache_free.pml"
#include "cache_writer.pml"

#if DYING
/* SIGKILL. */
active proctype killer() {
	killed = true
}
#endif
