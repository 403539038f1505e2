/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol between readers and writers: a writer frees nothing that a
 * reader may have. The words of a reader, and what writers rely on:
 *
 *   pin     Written when a request begins. An entry that retired before that
 *           epoch was unlinked before the request read anything.
 *   busy    Not 0 during a fetch: the reader may have any entry of the chain
 *           that it names.
 *   began   If the slot is closed, the epoch at which the fetch, or an
 *           earlier one, began. The fetch finds no entry that retired before.
 *   held    At the end of a fetch, a bit is set for what it found.
 *   close   A writer forbids the reader to keep more. Once the reader was seen
 *           idle, it has nothing that was born after that epoch.
 *
 * A writer first unlinks, then reads `busy` and then `held` of each slot; a
 * reader first writes `busy`, then reads links. Either the writer sees `busy`,
 * or the reader sees that the entry is gone (Dekker). Both sides have a full
 * barrier in between: the exchange of the reader, the fence of the writer.
 */
#include "epoch.h"
#include "index.h"

/* Seconds in which requests begin closed, after a store found no room. */
#define SHORT_SECONDS 60

#define GENERATION_SHIFT 48
#define END_MASK (((uint64_t)1 << GENERATION_SHIFT) - 1)
#define END_OPEN ((uint64_t)0)
#define END_CLOSING END_MASK

/*
 * Store, and let no later load pass it. On x86 an exchange is a full barrier.
 * Elsewhere C's sequentially consistent exchange orders only accesses that are
 * sequentially consistent too: AArch64 may run later loads before its store.
 */
static inline void
announce(uint64_t *word, uint64_t to)
{
	(void)__atomic_exchange_n(word, to, __ATOMIC_SEQ_CST);
#if !defined(__x86_64__)
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* The barrier of a writer: its unlinks come before its look at the slots. */
static inline void
barrier(struct php_hone_store *store)
{
#if defined(__SANITIZE_THREAD__)
	/* ThreadSanitizer does not know fences. On x86, an addition of 0 is a
	 * full barrier, too. */
	(void)__atomic_fetch_add(&store->region->epoch, 0, __ATOMIC_SEQ_CST);
#else
	(void)store;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

uint64_t
php_hone_epoch_now(const struct php_hone_store *store)
{
	/* Acquire: pairs with the release in php_hone_epoch_retire(). A process
	 * that reads an epoch also sees the unlinks of all earlier ones. */
	return __atomic_load_n(&store->region->epoch, __ATOMIC_ACQUIRE);
}

uint64_t
php_hone_epoch_retire(struct php_hone_store *store)
{
	/* Release: the unlink comes first, for php_hone_epoch_now(). */
	return __atomic_fetch_add(&store->region->epoch, 1, __ATOMIC_SEQ_CST);
}

/* ---- the reader ---- */

void
php_hone_member_pin(struct php_hone_member *member)
{
	struct php_hone_slot *slot = member->slot;
	if (member->pins++ != 0)
		return;
	/* Release, for the bits and for `close`: the reads of the last request
	 * come before. A writer reads the bits first, then `close`. If it reads
	 * words of two requests, it frees less. */
	for (unsigned i = 0; i < PHP_HONE_HELD_WORDS; i++) {
		if (php_hone_get64(&slot->held[i]) != 0)
			__atomic_store_n(&slot->held[i], 0, __ATOMIC_RELEASE);
	}
	memset(member->known, 0, sizeof member->known);
	uint64_t close = php_hone_get64(&slot->close) >> GENERATION_SHIFT;
	__atomic_store_n(&slot->close, (close + 1) << GENERATION_SHIFT,
		__ATOMIC_RELEASE);
	php_hone_set32(&slot->since, php_hone_store_now(member->store));
	/* The epoch may have advanced before the announcement. Then writers
	 * take the request for an older one, and free less. */
	announce(&slot->pin, php_hone_epoch_now(member->store));
	if (php_hone_get32(&member->store->region->short_until) >
		php_hone_get32(&slot->since))
		php_hone_member_close(member);
}

void
php_hone_member_unpin(struct php_hone_member *member)
{
	if (--member->pins != 0)
		return;
	if (member->reserved != NULL)
		php_hone_settle(member);
	/* Release: all reads of the request come before. */
	__atomic_store_n(&member->slot->pin, 0, __ATOMIC_RELEASE);
}

/* A writer has closed the slot, or wants it closed. Returns false, as the fetch
 * is not open. */
static __attribute__((noinline, cold)) bool
begin_closed(struct php_hone_member *member, uint64_t close)
{
	uint64_t now = php_hone_epoch_now(member->store);
	/* Release: the reads of earlier fetches come before. A writer that
	 * sees an older epoch frees less. */
	__atomic_store_n(&member->slot->began, now, __ATOMIC_RELEASE);
	/* All that the request has found before this fetch was born at the
	 * present epoch or before. */
	if ((close & END_MASK) == END_CLOSING)
		(void)__atomic_compare_exchange_n(&member->slot->close, &close,
			(close & ~END_MASK) | now, false, __ATOMIC_SEQ_CST,
			__ATOMIC_RELAXED);
	return false;
}

/* A fetch within a fetch. If both look at one chain, nothing changes. */
static void
begin_nested(struct php_hone_slot *slot, uint64_t busy)
{
	uint64_t announced = php_hone_get64(&slot->busy);
	if (announced != busy && announced != PHP_HONE_ANYWHERE)
		announce(&slot->busy, PHP_HONE_ANYWHERE);
}

static inline void
begin(struct php_hone_member *member, uint64_t busy)
{
	struct php_hone_slot *slot = member->slot;
	if (member->fetches++ != 0) {
		begin_nested(slot, busy);
		return;
	}
	member->outermost = busy;
	announce(&slot->busy, busy);
	/* After the exchange: if a writer saw the slot idle after it had set
	 * "closing", this load sees "closing". */
	uint64_t close = __atomic_load_n(&slot->close, __ATOMIC_SEQ_CST);
	if (__builtin_expect((close & END_MASK) == END_OPEN, 1))
		member->open = member->pins != 0;
	else
		member->open = begin_closed(member, close);
}

void
php_hone_fetch_begin(struct php_hone_member *member)
{
	begin(member, PHP_HONE_ANYWHERE);
}

void
php_hone_fetch_chain(
	struct php_hone_member *member, struct php_hone_place place)
{
	begin(member, php_hone_busy_bucket(place));
}

void
php_hone_fetch_end(struct php_hone_member *member)
{
	struct php_hone_slot *slot = member->slot;
	unsigned left = --member->fetches;
	/* Release, of both: the reads of the fetch and its bits come before.
	 * Back to one chain without a barrier: a writer that still sees
	 * "anywhere" frees less. */
	if (left == 0)
		__atomic_store_n(&slot->busy, PHP_HONE_IDLE, __ATOMIC_RELEASE);
	else if (left == 1)
		__atomic_store_n(
			&slot->busy, member->outermost, __ATOMIC_RELEASE);
}

void
php_hone_fetch_keep(
	struct php_hone_member *member, const struct php_hone_entry *entry)
{
	if (!member->open)
		return;
	const struct php_hone_store *store = member->store;
	unsigned region =
		php_hone_region_of(store, php_hone_seen_offset(store, entry));
	uint64_t *word = &member->slot->held[region / 64];
	uint64_t bit = (uint64_t)1 << region % 64;
	uint64_t held = php_hone_get64(word);
	/* Release: a writer that sees the bit also sees the `close` of this
	 * request. */
	if ((held & bit) == 0)
		__atomic_store_n(word, held | bit, __ATOMIC_RELEASE);
}

void
php_hone_member_close(struct php_hone_member *member)
{
	uint64_t *word = &member->slot->close;
	uint64_t close = __atomic_load_n(word, __ATOMIC_RELAXED);
	/* The fetch in progress may still keep what it finds, so the next fetch
	 * takes the epoch. */
	uint64_t end = member->fetches != 0 ? END_CLOSING
					    : php_hone_epoch_now(member->store);
	/* If a writer does the same at this time, its epoch stands. */
	while ((close & END_MASK) == END_OPEN ||
		(close & END_MASK) == END_CLOSING) {
		if (__atomic_compare_exchange_n(word, &close,
			    (close & ~END_MASK) | end, false, __ATOMIC_SEQ_CST,
			    __ATOMIC_RELAXED) ||
			end == END_CLOSING)
			break;
	}
}

int
php_hone_member_inherit(struct php_hone_member *member)
{
	const struct php_hone_slot *parent = member->slot;
	int error = php_hone_member_join(member, member->store);
	if (error < 0)
		return error;
	struct php_hone_slot *slot = member->slot;
	for (unsigned i = 0; i < PHP_HONE_HELD_WORDS; i++)
		__atomic_store_n(&slot->held[i],
			php_hone_get64(&parent->held[i]), __ATOMIC_RELEASE);
	/* The parent's end, with the next generation of this slot. */
	uint64_t close = php_hone_get64(&slot->close) >> GENERATION_SHIFT;
	uint64_t end = php_hone_get64(&parent->close) & END_MASK;
	__atomic_store_n(&slot->close, (close + 1) << GENERATION_SHIFT | end,
		__ATOMIC_RELEASE);
	php_hone_set32(&slot->since, php_hone_get32(&parent->since));
	member->pins = 1;
	/* Last, since a writer looks at the rest only if there is a pin. Until
	 * then the parent's slot protects all of this. */
	announce(&slot->pin, php_hone_get64(&parent->pin));
	return 0;
}

/* ---- the writer ---- */

static void
add_busy(struct php_hone_readers *readers, uint64_t busy, uint64_t since)
{
	if (since < readers->min_pin)
		readers->min_pin = since;
	if (busy != PHP_HONE_ANYWHERE && readers->n_busy < PHP_HONE_BUSY_MOST) {
		readers->busy[readers->n_busy] = busy;
		readers->since[readers->n_busy++] = since;
	} else if (since < readers->anywhere) {
		readers->anywhere = since;
	}
}

/* Returns where the bits of a slot that was closed at `end` are added. */
static uint64_t *
add_closed(struct php_hone_readers *readers, uint64_t end)
{
	struct php_hone_closed *closed = &readers->closed[readers->n_closed];
	if (readers->n_closed < PHP_HONE_CLOSED_MOST) {
		memset(closed, 0, sizeof *closed);
		readers->n_closed++;
	} else {
		closed--;
	}
	if (end > closed->end)
		closed->end = end;
	return closed->held;
}

static void
look_at(const struct php_hone_slot *slot, struct php_hone_readers *readers)
{
	/* Loaded before the bits: a fetch that ended before this load has set
	 * its bits, and a fetch that begins after it does not find what was
	 * unlinked. */
	uint64_t busy = __atomic_load_n(&slot->busy, __ATOMIC_ACQUIRE);
	uint64_t pin = __atomic_load_n(&slot->pin, __ATOMIC_ACQUIRE);
	if (busy != PHP_HONE_IDLE) {
		/* This may be of a later fetch than `busy`. Then the fetch of
		 * `busy` has ended, and the later one does not find what was
		 * unlinked. */
		uint64_t began =
			__atomic_load_n(&slot->began, __ATOMIC_ACQUIRE);
		add_busy(readers, busy, began > pin ? began : pin);
	}
	if (pin == 0)
		return;
	if (pin < readers->min_pin)
		readers->min_pin = pin;
	uint64_t held[PHP_HONE_HELD_WORDS];
	for (unsigned i = 0; i < PHP_HONE_HELD_WORDS; i++)
		held[i] = __atomic_load_n(&slot->held[i], __ATOMIC_ACQUIRE);
	/* Loaded after the bits: the bits of a new request are never taken for
	 * those of an old request that was closed. */
	uint64_t end =
		__atomic_load_n(&slot->close, __ATOMIC_ACQUIRE) & END_MASK;
	bool closed = end != END_OPEN && end != END_CLOSING;
	uint64_t *into = closed ? add_closed(readers, end) : readers->held;
	for (unsigned i = 0; i < PHP_HONE_HELD_WORDS; i++)
		into[i] |= held[i];
}

static void
look_begin(const struct php_hone_store *store, struct php_hone_readers *readers)
{
	memset(readers, 0, offsetof(struct php_hone_readers, closed));
	readers->min_pin = UINT64_MAX;
	readers->anywhere = UINT64_MAX;
	barrier((struct php_hone_store *)store);
}

void
php_hone_readers_look_at(const struct php_hone_store *store, uint32_t slot,
	struct php_hone_readers *readers)
{
	look_begin(store, readers);
	look_at(&store->slots[slot], readers);
}

void
php_hone_readers_look(
	const struct php_hone_store *store, struct php_hone_readers *readers)
{
	look_begin(store, readers);
	/* After the barrier: a process raises it before it uses a new slot.
	 * Either this load sees that, or the process does not find what was
	 * unlinked. */
	uint32_t n =
		__atomic_load_n(&store->region->slots_high, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < n; i++)
		look_at(&store->slots[i], readers);
}

_Static_assert(
	sizeof(struct php_hone_readers) % 8 == 0, "the sum reads all of it");

uint64_t
php_hone_readers_sum(const struct php_hone_store *store, uint64_t with)
{
	struct php_hone_readers readers;
	php_hone_readers_look(store, &readers);
	const unsigned char *bytes = (const unsigned char *)&readers;
	size_t size = offsetof(struct php_hone_readers, closed) +
		      readers.n_closed * sizeof readers.closed[0];
	for (size_t i = 0; i < size; i += 8) {
		uint64_t word;
		memcpy(&word, bytes + i, 8);
		with = (with ^ word) * 0x9e3779b97f4a7c15;
		with ^= with >> 32;
	}
	return with;
}

bool
php_hone_readers_hold(const struct php_hone_store *store,
	const struct php_hone_readers *readers,
	const struct php_hone_entry *entry)
{
	unsigned region =
		php_hone_region_of(store, php_hone_offset(store, entry));
	return (readers->held[region / 64] >> region % 64 & 1) != 0;
}

bool
php_hone_readers_have(const struct php_hone_store *store,
	const struct php_hone_readers *readers,
	const struct php_hone_entry *entry, uint64_t retired)
{
	if (retired < readers->min_pin)
		return false;
	if (retired >= readers->anywhere)
		return true;
	if (readers->n_busy != 0) {
		struct php_hone_place place =
			php_hone_place(store, entry->hash);
		uint64_t bucket = php_hone_busy_bucket(place);
		for (unsigned i = 0; i < readers->n_busy; i++) {
			if (readers->busy[i] == bucket &&
				retired >= readers->since[i])
				return true;
		}
	}
	unsigned region =
		php_hone_region_of(store, php_hone_offset(store, entry));
	uint64_t bit = (uint64_t)1 << region % 64;
	if (php_hone_readers_hold(store, readers, entry))
		return true;
	for (unsigned i = 0; i < readers->n_closed; i++) {
		const struct php_hone_closed *closed = &readers->closed[i];
		if ((closed->held[region / 64] & bit) != 0 &&
			entry->birth <= closed->end)
			return true;
	}
	return false;
}

static void
close_slot(struct php_hone_store *store, struct php_hone_slot *slot)
{
	uint64_t close = __atomic_load_n(&slot->close, __ATOMIC_ACQUIRE);
	if ((close & END_MASK) == END_OPEN) {
		/* If a new request begins now, its generation makes this fail.
		 */
		if (!__atomic_compare_exchange_n(&slot->close, &close,
			    close | END_CLOSING, false, __ATOMIC_SEQ_CST,
			    __ATOMIC_RELAXED))
			return;
		close |= END_CLOSING;
		__atomic_fetch_add(
			&store->region->closed_slots, 1, __ATOMIC_RELAXED);
	}
	if ((close & END_MASK) != END_CLOSING)
		return;
	/* "Closing" is stored before this load of `busy`. A fetch stores `busy`
	 * before it loads `close`. */
	barrier(store);
	if (__atomic_load_n(&slot->busy, __ATOMIC_SEQ_CST) != PHP_HONE_IDLE)
		return;
	uint64_t end = php_hone_epoch_now(store);
	(void)__atomic_compare_exchange_n(&slot->close, &close,
		(close & ~END_MASK) | end, false, __ATOMIC_SEQ_CST,
		__ATOMIC_RELAXED);
}

void
php_hone_readers_keep_nothing(struct php_hone_store *store)
{
	php_hone_set32(&store->region->short_until,
		php_hone_store_now(store) + SHORT_SECONDS);
	php_hone_readers_close(store, 0);
}

void
php_hone_readers_close(struct php_hone_store *store, uint32_t seconds)
{
	uint32_t now = php_hone_store_now(store);
	uint32_t n =
		__atomic_load_n(&store->region->slots_high, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < n; i++) {
		struct php_hone_slot *slot = &store->slots[i];
		if (__atomic_load_n(&slot->pin, __ATOMIC_ACQUIRE) != 0 &&
			now - php_hone_get32(&slot->since) + 1 > seconds)
			close_slot(store, slot);
	}
}
