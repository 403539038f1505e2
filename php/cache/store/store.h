/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_STORE_H
#define PHP_HONE_STORE_H
/*
 * Bytes under a key in memory that several processes share. Nothing here knows
 * PHP. docs/design/cache.md has the reasons.
 *
 *	mapping   head | slots | shards | index 0 | arena 0 | index 1 | ...
 *
 *	index     buckets; a link is the offset of the next entry, 0 at the end
 *
 *	          bucket      entry        entry
 *	          +------+    +------+     +------+
 *	          | link ---->| next ----->| next |
 *	          +------+    +------+     +------+
 *
 *	arena     blocks without gaps; a word of each: its size and state
 *
 *	          +------+----------+------+---------+------+----------+
 *	          | live | reserved | free | retired | live | free     |
 *	          +------+----------+------+---------+------+----------+
 *
 *	entry     a reserved, live or retired block: head | key | tags | data
 *
 *	slot      what a process announces: the epoch of its request (pin),
 *	          where its fetch looks now (busy), where it found what it
 *	          still uses (held)
 *
 *	epoch     a counter of removals. An entry has the epochs of its
 *	          publication and of its removal. A writer compares them with
 *	          the slots, and frees a retired entry if no reader can have it.
 *
 * A hash chooses a shard, and a bucket of its index. A shard has one mutex, for
 * writers. Readers take none. inner.h has the structures.
 *
 * A fetch:
 *
 *	php_hone_member_pin()       epoch.c    once a request
 *	php_hone_fetch_find()       index.c
 *	  php_hone_lookup()         index.c    walks the chain of the key
 *	    php_hone_fetch_chain()  epoch.c    busy with that chain
 *	  php_hone_tags_valid()     publish.c  only if the entry has tags
 *	  php_hone_fetch_keep()     epoch.c    held: valid until the unpin
 *	the caller reads the value
 *	php_hone_fetch_end()        epoch.c    idle
 *
 * A store:
 *
 *	php_hone_store_reserve()    publish.c
 *	  php_hone_lock()           process.c  recovers if the owner died;
 *	                                       fails if the owner is stopped
 *	  php_hone_make_room()      reclaim.c  frees what no reader has; evicts
 *	    php_hone_arena_alloc()  arena.c    a block, reserved
 *	the caller fills the data in
 *	php_hone_store_publish()    publish.c
 *	  php_hone_link_of_key()    index.c    the entry that is replaced
 *	  php_hone_link()           index.h    readers find the new entry
 *	  php_hone_retire()         reclaim.c  the old one, at a new epoch
 *	  php_hone_unlock()         process.c
 *
 * Other files: claim.c (one process computes a value), info.c (figures).
 *
 * Functions return 0 or a negative errno. One that writes, claims or waits also
 * returns -ETIMEDOUT: a process that is stopped, or has lost the CPU, has the
 * mutex of the shard for a tenth of a second.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct php_hone_store;

/* Offsets have 32 bits, and sums of two must not overflow: 128 GiB. */
#define PHP_HONE_STORE_LEAST ((size_t)1 << 20)
#define PHP_HONE_STORE_MOST ((size_t)1 << 37)

struct php_hone_store_attr {
	size_t size;     /* of the mapping; rounded up to a huge page */
	unsigned shards; /* 0: one for each 16 MiB, at most 16 */
	/* processes and threads that may read at one time; 0: 1024; fewer if
	 * they would take more than an eighth of the mapping */
	unsigned slots;
	bool protect;     /* readers have a view without the right to write */
	bool huge_pages;  /* explicit ones; -ENOMEM if too few are free */
	const char *name; /* at most 31 bytes, copied; may be NULL */
};

/* Make a store. Call this before the processes that share it are forked. */
int php_hone_store_create(
	struct php_hone_store **store, const struct php_hone_store_attr *attr);
/* Returns a size above `now` of a store with so many slots that has room for a
 * value of so many bytes, or 0. */
size_t php_hone_store_size_for(size_t bytes, size_t now, unsigned slots);
/* Unmap it in this process. Other processes keep theirs. */
void php_hone_store_unmap(struct php_hone_store *store);
/* Whether an address is in one of its views. Safe in a signal handler. */
bool php_hone_store_contains(
	const struct php_hone_store *store, const void *address);

/* Evictions so soon after the start show that the store is too small. */
#define PHP_HONE_EARLY 600

/* Entries of php_hone_member.known; a power of two. */
#define PHP_HONE_KNOWN 64
/* The most entries that a store leaves to be packed, and their bytes. */
#define PHP_HONE_PACKS 32
#define PHP_HONE_PACK_BYTES ((size_t)256 << 10)

/*
 * One process, or one thread of a ZTS server. Calls with one member come from
 * one thread at a time. After fork(), the child has a copy of the parent's
 * member: the child calls php_hone_member_forget(), and then joins.
 */
struct php_hone_member {
	struct php_hone_store *store;
	struct php_hone_slot *slot; /* NULL: not joined */
	/* the rest belongs to the store; all zero at first */
	struct php_hone_entry *reserved; /* neither published nor cancelled */
	unsigned stuck;         /* shards whose mutex it could not take; a bit
				   each */
	uint32_t stuck_at;      /* when that was */
	uint32_t waited_at;     /* when it waited for memory in vain */
	unsigned pins, fetches; /* depth of nesting */
	bool open;              /* of the last fetch; see "A fetch" below */
	/* This member made the first eviction of the store, within
	 * PHP_HONE_EARLY seconds. The caller clears this. */
	bool evicted;
	/* The caller sets this, and calls php_hone_store_to_pack() after each
	 * store until n_packs is 0. */
	bool packs;
	unsigned n_packs;
	struct {
		uint64_t hash;
		uint32_t offset;
	} pack[PHP_HONE_PACKS];
	/* Entries left to be packed without a twin, up to PHP_HONE_PACKS; then
	 * the stores of a pause. */
	unsigned in_vain, pack_pause;
	uint64_t outermost; /* what the outermost fetch announced */
	uint64_t lookups;   /* for sampled counts */
	/* found since the pin, by their hash: php_hone_store_known() */
	const struct php_hone_entry *known[PHP_HONE_KNOWN];
};

/* -EAGAIN if every slot is taken by a process that lives. */
int php_hone_member_join(
	struct php_hone_member *member, struct php_hone_store *store);
void php_hone_member_leave(struct php_hone_member *member);
void php_hone_member_forget(struct php_hone_member *member);
/*
 * Instead of php_hone_member_forget(), if the parent was pinned, had no fetch
 * in progress, and stays pinned until this returns. Joins, pinned once, so that
 * what the parent had found stays valid in the child. -EAGAIN as above; then
 * the member is as after php_hone_member_forget().
 */
int php_hone_member_inherit(struct php_hone_member *member);

/* ---- reading ---- */

enum php_hone_kind {
	PHP_HONE_VALUE, /* an ordinary key */
	PHP_HONE_TAG,   /* a tag: its generation */
	PHP_HONE_CLAIM, /* a process computes the value of this key */
};

/*
 * Readers find an entry without a mutex. Only fields that are marked "atomic"
 * change while a reader can have it. An entry begins at a multiple of 64 bytes,
 * and so do the data, unless they are cold.
 */
struct php_hone_entry {
	uint64_t block;    /* arena.h: size and state; atomic */
	uint64_t hash;     /* of the key, as the caller computes it */
	uint32_t next;     /* index.h: the next entry of the chain; atomic */
	uint32_t link;     /* the next retired entry; for the mutex's owner */
	uint64_t birth;    /* epoch of publication */
	uint64_t retired;  /* 0; a mark shortly before its removal, then the
			      epoch of the removal; atomic */
	uint64_t value[2]; /* the caller's, but for PHP_HONE_PACKABLE; [0] is
			      atomic: the mutex's owner changes it */
	uint32_t created;  /* seconds since the store was made */
	uint32_t expires;  /* the same clock; 0: never */
	uint32_t key_len;
	uint32_t data_at; /* bytes from the entry to the data */
	uint32_t data_size;
	uint8_t kind;
	uint8_t used; /* 0 to 3, for eviction; atomic, may be lost */
	union {
		struct {
			uint8_t flags; /* the caller's; PHP_HONE_COLD */
			uint8_t n_tags;
		};
		/* both: a fetch looks at them by one instruction */
		uint16_t special;
	};
	uint32_t hits; /* sampled; atomic, may be lost */
	uint32_t date; /* seconds since 1970, when it was created */
	/* The caller's head of the key, then the key and a NUL: a zend_string.
	 * Then the tags. */
	unsigned char bytes[] __attribute__((aligned(8)));
};

/*
 * A value has two forms, which the caller makes: the *warm* one, whose data
 * readers use in place, and the shorter *cold* one, whose data they read within
 * the fetch. While memory is short, warm entries that could be cold are evicted
 * first, as long as they take more than a tenth of their shard and readers do
 * not have them.
 */
#define PHP_HONE_COLD                                                          \
	0x80 /* of entry.flags; the caller sets it, but of twins */
/* Of entry.value[1]: the value has a cold form. */
#define PHP_HONE_PACKABLE ((uint64_t)1 << 63)

/* Fetches of a cold entry in about a minute from which on a warm one pays. */
#define PHP_HONE_HOT 8

/* Bytes between the struct and the key: the head of a zend_string. */
#define PHP_HONE_KEY_HEAD 24
/* Bytes of the longest key, and of the longest tag. */
#define PHP_HONE_KEY_MOST 65535

struct php_hone_key {
	const char *bytes;
	size_t len;
	uint64_t hash;
};

/* Between pin and unpin, what an open fetch found stays valid. Pins nest. The
 * last unpin cancels a reservation that was not published. */
void php_hone_member_pin(struct php_hone_member *member);
void php_hone_member_unpin(struct php_hone_member *member);

/*
 * Each of these three begins a fetch, also if it finds nothing, and
 * php_hone_fetch_end() ends it. Until then, what it found is valid; after that,
 * until the last unpin, if it is not cold and the member is open: it has a pin,
 * and its slot is not closed. `open` does not change until the fetch ends.
 *
 * A fetch may begin within another one. If the two look at different keys,
 * writers free little until the inner one ends.
 */
/* The live entry of a key that has not expired, or NULL. Counts a hit or a miss
 * in the slot. */
const struct php_hone_entry *php_hone_fetch_find(
	struct php_hone_member *member, const struct php_hone_key *key);
/* The same, without counting, and also if it has expired. */
const struct php_hone_entry *php_hone_fetch_peek(
	struct php_hone_member *member, const struct php_hone_key *key);
/* A fetch of more than one key. Writers free little until it ends. */
void php_hone_fetch_begin(struct php_hone_member *member);

void php_hone_fetch_end(struct php_hone_member *member);

/* Whether a cold entry was found PHP_HONE_HOT times in about a minute. */
bool php_hone_store_is_hot(const struct php_hone_entry *entry);

/* Fetches that begin from now on are not open, until the next pin. */
void php_hone_member_close(struct php_hone_member *member);

/* Seconds since the store was made, from a coarse clock. */
uint32_t php_hone_store_now(const struct php_hone_store *store);

/* What php_hone_fetch_find() would return, if it has returned that entry since
 * the pin; or NULL, also if it would find one. Only while pinned; needs no
 * fetch, and the entry stays valid until the last unpin. Counts a hit. */
const struct php_hone_entry *php_hone_store_known(
	struct php_hone_member *member, const struct php_hone_key *key);

/* ---- writing ---- */

struct php_hone_room {
	size_t data; /* bytes of the data; 0: the value has none */
	const struct php_hone_key *key;
	const struct php_hone_key *tags;
	unsigned n_tags;
	uint32_t ttl; /* seconds; 0: no expiry */
	bool spare;   /* only of memory that is free: nothing is evicted */
	bool cold;    /* the data follow the key at a multiple of 8 bytes */
};

/* Bytes of a cold entry besides its data. */
size_t php_hone_store_others(size_t key_len, unsigned n_tags);
/* Whether memory is short for a key of this hash: store the cold form. */
bool php_hone_store_presses(
	const struct php_hone_member *member, uint64_t hash);

/*
 * Take a block for an entry, which is not visible to others yet; evict if
 * needed. The caller fills value, flags, the head of the key, and the data.
 * -ENOMEM if there is no room, -EFBIG if the entry is larger than a shard can
 * ever hold, -EINVAL if the key or a tag is longer than PHP_HONE_KEY_MOST or
 * there are more than 255 tags.
 *
 * A member has one reservation at a time. For a small block, the shard's mutex
 * is kept until the entry is published: the caller does nothing in between that
 * may leave by longjmp(), call PHP code or sleep. If that happens nevertheless,
 * the next call that writes, waits or reads figures, the last unpin, or leaving
 * cancels the reservation.
 *
 * *entry is the address to write to. With attr.protect, readers see the entry
 * at another address: php_hone_store_view().
 */
int php_hone_store_reserve(struct php_hone_member *member,
	const struct php_hone_room *room, struct php_hone_entry **entry);
/* The address under which readers see what a writer has at `writable`. */
void *php_hone_store_view(const struct php_hone_store *store, void *writable);

/*
 * Reserve the other form of an entry that a fetch in progress has found: a
 * *twin*. It keeps the times, hits and generations of tags, and ends no claim.
 * NULL if another member has the mutex, or if the entry was removed. A warm
 * twin takes only memory that is free, and while memory is short only a tenth
 * of a shard. The caller fills value, and the data.
 */
struct php_hone_entry *php_hone_store_reserve_twin(
	struct php_hone_member *member, const struct php_hone_entry *of,
	size_t data, bool cold);
/* Put a twin in the place of its entry, unless the entry was removed. */
void php_hone_store_publish_twin(struct php_hone_member *member,
	struct php_hone_entry *twin, const struct php_hone_entry *of);

/*
 * While memory is short, the hand leaves warm entries that it would evict to be
 * packed: the caller puts cold twins in their place. Begins a fetch of the next
 * one, which php_hone_fetch_end() ends, and returns the entry. NULL, and no
 * fetch begins, if there is none. After PHP_HONE_PACKS in vain, the hand leaves
 * none for a while.
 */
const struct php_hone_entry *php_hone_store_to_pack(
	struct php_hone_member *member);

enum php_hone_publish {
	PHP_HONE_STORE,   /* whether or not the key exists */
	PHP_HONE_ADD,     /* -EEXIST if it exists */
	PHP_HONE_REPLACE, /* -ENOENT if it does not exist */
};

/* Make the entry visible, and retire the one it replaces. On an error, the
 * block is freed; after -ETIMEDOUT, by a later call. */
int php_hone_store_publish(struct php_hone_member *member,
	struct php_hone_entry *entry, enum php_hone_publish how);
void php_hone_store_cancel(
	struct php_hone_member *member, struct php_hone_entry *entry);

/* -ENOENT if there is none (or it has expired). */
int php_hone_store_delete(
	struct php_hone_member *member, const struct php_hone_key *key);
/* Delete this entry if it is still the one of its key. Otherwise -ENOENT. */
int php_hone_store_delete_entry(
	struct php_hone_member *member, const struct php_hone_entry *entry);

/* A change of the number in value[0]. */
struct php_hone_change {
	uint8_t type;    /* what the low byte of value[1] has to be */
	bool compare;    /* value[0] has to be `old`, and becomes `by` */
	uint64_t old;    /* only to compare */
	uint64_t by;     /* added if it is not to compare; the sum wraps */
	uint64_t result; /* set if this succeeds: the new value[0] */
};

/* -ENOENT; -ECANCELED if the type or the old number is another one, or if flags
 * are not 0. */
int php_hone_store_change(struct php_hone_member *member,
	const struct php_hone_key *key, struct php_hone_change *change);

/* Remove every entry. After -ETIMEDOUT, those of a shard are left. */
int php_hone_store_clear(struct php_hone_member *member);

/*
 * Call `visit` with every live value, each once, but for entries that are added
 * or removed meanwhile. No mutex is held, so `visit` may call any function of
 * the store. The entry is valid until `visit` returns; if the caller is between
 * php_hone_fetch_begin() and _end(), until that end. Such a fetch should be
 * short: stores wait for it.
 *
 * When `visit` returns false, the walk ends after the entries of its bucket,
 * which are few. *cursor is 0 at first. A later call continues at *cursor,
 * which is UINT64_MAX after the last entry.
 */
void php_hone_store_walk(struct php_hone_member *member, uint64_t *cursor,
	bool (*visit)(const struct php_hone_entry *entry, void *opaque),
	void *opaque);

/* ---- tags ---- */

/* Make every entry that has this tag invalid. 0 also if there is none; -EINVAL
 * if the tag is longer than PHP_HONE_KEY_MOST. The eviction of a tag makes its
 * entries invalid, too. */
int php_hone_store_invalidate_tag(
	struct php_hone_member *member, const struct php_hone_key *tag);
/* The name of a tag of an entry, 0 to n_tags - 1, valid until the end of the
 * caller's php_hone_fetch_begin(). Returns false if the tag was invalidated or
 * evicted.
 */
bool php_hone_store_tag(struct php_hone_member *member,
	const struct php_hone_entry *entry, unsigned i,
	struct php_hone_key *name);

/* ---- claims: one process computes a value ---- */

/*
 * Claim a key for `seconds`. -EBUSY if another living process has claimed it
 * and its time has not passed. -EINVAL if the key is too long; such a call
 * cancels no reservation. A claim ends by php_hone_store_unclaim(), by
 * publishing the key, by time, or by the end of the process.
 */
int php_hone_store_claim(struct php_hone_member *member,
	const struct php_hone_key *key, uint32_t seconds);
void php_hone_store_unclaim(
	struct php_hone_member *member, const struct php_hone_key *key);
/*
 * Wait until a claim of the key has ended, or for that many milliseconds: 0 or
 * -ETIMEDOUT. -EDEADLK at once if the owner of the claim waits for a claim of
 * this member, directly or through other owners. Of such a circle, only the
 * member that came last gets -EDEADLK.
 */
int php_hone_store_wait(struct php_hone_member *member,
	const struct php_hone_key *key, unsigned milliseconds);
/* The clock of php_hone_store_wait(). */
int64_t php_hone_store_milliseconds(void);

/* ---- figures: without those of a shard whose mutex cannot be taken ---- */

/* What the log has a line about, at most once a minute. */
enum php_hone_news {
	PHP_HONE_TELL_STOPPED, /* -ETIMEDOUT */
	PHP_HONE_TELL_REFUSED, /* a value that was not stored */
	PHP_HONE_TELL_DAMAGED, /* a value that cannot be read */
	PHP_HONE_TELL_SLOTS,   /* a process that has no slot */
	PHP_HONE_TELL_NO_POOL, /* a process that uses no pool */
	PHP_HONE_NEWS,
};

/* Whether the caller is to write such a line now: of all processes, one is. */
bool php_hone_store_tell(struct php_hone_store *store, enum php_hone_news news);

struct php_hone_store_info {
	const char *name;
	size_t size, used, retired, free, largest_free, largest_value;
	size_t whole; /* the largest free block of each shard, together */
	uint64_t entries, hits, misses, stores, evictions, expirations,
		recoveries, closed_slots;
	/* of the above: cold entries, and the fetches that found one */
	uint64_t cold_entries, cold_bytes, cold_hits;
	uint64_t packed; /* values that were written in the cold form */
	uint64_t warmed; /* cold entries that were replaced by warm ones */
	unsigned shards, slots_used, slots;
	uint64_t epoch;
	int64_t start; /* seconds since 1970 when it was made or cleared */
};

void php_hone_store_info(
	struct php_hone_member *member, struct php_hone_store_info *info);

/* A request that holds back memory of values that were removed. */
struct php_hone_holder {
	int32_t pid;
	uint32_t slot;    /* of the process, or of the thread */
	uint32_t seconds; /* since it began */
	size_t bytes;     /* others may hold back the same bytes */
};

/* The requests that hold back most, in descending order. Returns their number,
 * at most `most`. */
unsigned php_hone_store_holders(struct php_hone_member *member,
	struct php_hone_holder *holders, unsigned most);

/* A map of the memory: `parts` bytes. Each byte is the kind in the middle of
 * its part: 0 free, 1 live, 2 retired, 3 the store's own. */
void php_hone_store_map(
	struct php_hone_member *member, unsigned char *map, size_t parts);

#endif
