/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes: their slots and mutexes, and the recovery after one died. */
#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "arena.h"
#include "epoch.h"
#include "index.h"

/* ---- slots ---- */

/*
 * The word `owner` changes by compare-and-exchange from 0 to a process that
 * joins, and from a dead process to the one that cleans up after it. So a
 * process that is killed during the cleaning is itself a dead owner.
 */

/* Of a process, from /proc/PID/stat. */
struct stat_line {
	char state;
	unsigned threads;
	uint64_t start; /* clock ticks since boot */
};

/* Returns false if the file cannot be read. */
static bool
read_stat(pid_t pid, struct stat_line *line)
{
	char path[32];
	char text[1024];
	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	/* The name of the program may have any characters: fields 3, 20 and 22
	 * are counted from the last parenthesis. */
	const char *p = strrchr(text, ')');
	return p != NULL &&
	       sscanf(p,
		       ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		       "%*s %*s %*s %*s %*s %u %*s %" SCNu64,
		       &line->state, &line->threads, &line->start) == 3;
}

/* The identity of a process that does not exist: no pid is so large. */
#define NOBODY ((uint64_t)INT32_MAX << 32)

static uint64_t
own_identity(void)
{
	struct stat_line line;
	pid_t pid = getpid();
	uint32_t start = read_stat(pid, &line) ? (uint32_t)line.start : 0;
	return (uint64_t)(uint32_t)pid << 32 | start;
}

bool
php_hone_owner_lives(uint64_t owner)
{
	struct stat_line line;
	pid_t pid = (pid_t)(owner >> 32);
	uint32_t start = (uint32_t)owner;
	if (kill(pid, 0) != 0 && errno == ESRCH)
		return false;
	/* If there is no /proc, or if it hides processes of other users, a pid
	 * that exists is taken for the owner. */
	if (start == 0 || !read_stat(pid, &line))
		return true;
	if (start != (uint32_t)line.start)
		return false;
	/* A zombie, unless other threads of it still run. */
	return !((line.state == 'Z' || line.state == 'X') && line.threads <= 1);
}

/* Reset a slot that this process owns, but for the block that it fills. */
static void
clean_reads(struct php_hone_slot *slot)
{
	/* Release: for a slot of this process, all its reads come before. */
	__atomic_store_n(&slot->busy, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->pin, 0, __ATOMIC_RELEASE);
	php_hone_set64(&slot->began, 0);
	for (unsigned i = 0; i < PHP_HONE_HELD_WORDS; i++)
		__atomic_store_n(&slot->held[i], 0, __ATOMIC_RELEASE);
}

static void
clean(struct php_hone_slot *slot)
{
	clean_reads(slot);
	php_hone_set32(&slot->reserved, 0);
}

static bool
take(struct php_hone_slot *slot, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(&slot->owner, &from, to, false,
		__ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static struct php_hone_slot *
take_free(struct php_hone_store *store, uint64_t identity)
{
	struct php_hone_region *region = store->region;
	for (uint32_t i = 0; i < store->n_slots; i++) {
		struct php_hone_slot *slot = &store->slots[i];
		if (php_hone_get64(&slot->owner) != 0 ||
			!take(slot, 0, identity))
			continue;
		uint32_t high = php_hone_get32(&region->slots_high);
		/* Raised before the slot is used: writers look only at slots
		 * below it. */
		while (high <= i &&
			!__atomic_compare_exchange_n(&region->slots_high, &high,
				i + 1, false, __ATOMIC_SEQ_CST,
				__ATOMIC_RELAXED))
			;
		return slot;
	}
	return NULL;
}

int
php_hone_member_join(
	struct php_hone_member *member, struct php_hone_store *store)
{
	memset(member, 0, sizeof *member);
	member->store = store;
	uint64_t identity = own_identity();
	struct php_hone_slot *slot = take_free(store, identity);
	if (slot == NULL) {
		php_hone_slots_reap(member, NULL);
		slot = take_free(store, identity);
	}
	if (slot == NULL) {
		member->store = NULL;
		return -EAGAIN;
	}
	clean(slot);
	php_hone_set64(&slot->waits, 0);
	member->slot = slot;
	return 0;
}

void
php_hone_member_leave(struct php_hone_member *member)
{
	struct php_hone_slot *slot = member->slot;
	if (slot == NULL)
		return;
	php_hone_settle(member);
	clean_reads(slot);
	/* A block whose mutex could not be taken is left to
	 * php_hone_slots_reap(), like that of a dead process. */
	__atomic_store_n(&slot->owner, member->reserved != NULL ? NOBODY : 0,
		__ATOMIC_RELEASE);
	memset(member, 0, sizeof *member);
}

void
php_hone_member_forget(struct php_hone_member *member)
{
	memset(member, 0, sizeof *member);
}

/* Free the block that a dead process was filling. Returns false if the mutex of
 * its shard is taken. */
static bool
free_reserved(struct php_hone_member *member, struct php_hone_slot *slot,
	const struct php_hone_shard *held)
{
	uint32_t offset = php_hone_get32(&slot->reserved);
	if (offset == 0)
		return true;
	struct php_hone_shard *shard = member->store->shards;
	while (offset >= shard->end)
		shard++;
	/* The caller may have a mutex, so this does not wait for another. */
	if (shard != held && !php_hone_trylock(member, shard))
		return false;
	/* Read again: the lock may have included a recovery. */
	if (php_hone_get32(&slot->reserved) == offset) {
		php_hone_set32(&slot->reserved, 0);
		php_hone_arena_free(shard, offset);
	}
	if (shard != held)
		php_hone_unlock(shard);
	return true;
}

void
php_hone_slots_reap(struct php_hone_member *member, struct php_hone_shard *held)
{
	struct php_hone_store *store = member->store;
	uint32_t n =
		__atomic_load_n(&store->region->slots_high, __ATOMIC_ACQUIRE);
	uint64_t me = member->slot != NULL
			      ? php_hone_get64(&member->slot->owner)
			      : own_identity();
	for (uint32_t i = 0; i < n; i++) {
		struct php_hone_slot *slot = &store->slots[i];
		uint64_t owner = php_hone_get64(&slot->owner);
		if (owner == 0 || owner == me || php_hone_owner_lives(owner) ||
			!take(slot, owner, me))
			continue;
		if (!free_reserved(member, slot, held)) {
			__atomic_store_n(&slot->owner, owner, __ATOMIC_RELEASE);
			continue;
		}
		clean(slot);
		__atomic_store_n(&slot->owner, 0, __ATOMIC_RELEASE);
	}
}

/* ---- recovery ---- */

/* The index and the words of the blocks are right at each instruction, and the
 * rest is derived from them. If the recovery is killed, the next one begins
 * anew. */

#define REACHED UINT32_MAX

static bool
is_block(const struct php_hone_shard *shard, uint32_t offset)
{
	return offset >= shard->first && offset < shard->end;
}

/* Set `link` to REACHED in entries that the index leads to; to 0 in others. */
static void
mark(struct php_hone_shard *shard)
{
	struct php_hone_store *store = shard->store;
	struct php_hone_place place = {(unsigned)(shard - store->shards), 0};
	for (uint32_t at = shard->first; at < shard->end;
		at += php_hone_units_at(shard, at))
		if (php_hone_state_at(shard, at) != PHP_HONE_FREE)
			php_hone_entry_at(store, at)->link = 0;
	for (; place.bucket <= store->bucket_mask; place.bucket++) {
		uint32_t *link = php_hone_bucket(store, place);
		for (uint32_t at; (at = php_hone_follow(link)) != 0;) {
			struct php_hone_entry *entry =
				php_hone_entry_at(store, at);
			/* A chain that a stray write damaged ends here. */
			if (!is_block(shard, at) || entry->link == REACHED) {
				php_hone_link(link, 0);
				break;
			}
			entry->link = REACHED;
			link = &entry->next;
		}
	}
}

/* Whether a process fills that block without the mutex. */
static bool
somebody_fills(const struct php_hone_store *store, uint32_t offset)
{
	for (uint32_t i = 0; i < store->n_slots; i++) {
		if (php_hone_get32(&store->slots[i].reserved) == offset)
			return true;
	}
	return false;
}

/* Clear the reservations that were finished, but not yet removed from the slot.
 */
static void
forget_finished(const struct php_hone_shard *shard)
{
	struct php_hone_store *store = shard->store;
	for (uint32_t i = 0; i < store->n_slots; i++) {
		uint32_t *reserved = &store->slots[i].reserved;
		uint32_t offset = php_hone_get32(reserved);
		if (!is_block(shard, offset))
			continue;
		/* Only a walk tells whether the offset is that of a block. */
		uint32_t at = shard->first;
		while (at < offset)
			at += php_hone_units_at(shard, at);
		if (at != offset ||
			php_hone_state_at(shard, at) != PHP_HONE_RESERVED)
			php_hone_set32(reserved, 0);
	}
}

static void
decide(struct php_hone_shard *shard, uint32_t at)
{
	struct php_hone_store *store = shard->store;
	struct php_hone_entry *entry = php_hone_entry_at(store, at);
	enum php_hone_state state = php_hone_state_at(shard, at), to = state;
	if (state == PHP_HONE_FREE)
		return;
	if (entry->link == REACHED) {
		/* A removal may have begun: remove its mark. */
		php_hone_set64(&entry->retired, 0);
		to = PHP_HONE_LIVE;
	} else if (state == PHP_HONE_LIVE) {
		/* It was published before, so readers may have it. */
		php_hone_set64(&entry->retired, php_hone_epoch_retire(store));
		to = PHP_HONE_RETIRED;
	} else if (state == PHP_HONE_QUICK ||
		   (state == PHP_HONE_RESERVED && !somebody_fills(store, at))) {
		to = PHP_HONE_FREE;
	}
	if (to != state)
		php_hone_set_block(shard, at,
			php_hone_word(php_hone_units_at(shard, at), to, 0));
}

static void
count(struct php_hone_shard *shard)
{
	for (uint32_t at = shard->first; at < shard->end;
		at += php_hone_units_at(shard, at)) {
		struct php_hone_entry *entry =
			php_hone_entry_at(shard->store, at);
		enum php_hone_state state = php_hone_state_at(shard, at);
		if (state == PHP_HONE_LIVE) {
			shard->entries++;
			php_hone_count_form(shard, entry, 1);
			shard->n_claims += entry->kind == PHP_HONE_CLAIM;
		} else if (state == PHP_HONE_RETIRED) {
			entry->link = shard->retired_list;
			shard->retired_list = at;
			shard->n_retired++;
		}
	}
}

void
php_hone_recover(struct php_hone_shard *shard)
{
	mark(shard);
	for (uint32_t at = shard->first; at < shard->end;
		at += php_hone_units_at(shard, at))
		decide(shard, at);
	forget_finished(shard);
	memset(&shard->min_expires, 0,
		sizeof *shard - offsetof(struct php_hone_shard, min_expires));
	php_hone_arena_rebuild(shard);
	count(shard);
	shard->recoveries++;
}

/* ---- mutexes ---- */

/*
 * The mutex of a shard is robust: if its owner dies, the kernel marks it, and
 * the mark stays until the next owner has put the shard in order.
 *
 * An owner may also be stopped, by SIGSTOP, a debugger or a paused container.
 * Other processes then wait for ten slices, and fail. If all processes lose the
 * CPU at one time, this ends one slice. A member that has waited in vain waits
 * for a short slice only for this shard during a second.
 *
 * The deadlines are of the clock of the day: ThreadSanitizer does not know
 * pthread_mutex_clocklock(), and musl lacks it.
 */
#define SLICES 10
#define SLICE_NS 10000000
#define SHORT_NS 1000000
#define TICKS 16 /* of php_hone_store_tick(), in a second */

static void
have(struct php_hone_member *member, struct php_hone_shard *shard, int error)
{
	if (error == EOWNERDEAD) {
		php_hone_recover(shard);
		pthread_mutex_consistent(&shard->mutex);
	}
	member->stuck &= ~shard->bit;
}

static int
lock_for(pthread_mutex_t *mutex, long ns)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ns;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	return pthread_mutex_timedlock(mutex, &until);
}

/* Another member has the mutex. */
static __attribute__((noinline, cold)) int
lock_in_time(struct php_hone_member *member, struct php_hone_shard *shard)
{
	pthread_mutex_t *mutex = &shard->mutex;
	if (php_hone_store_tick() - member->stuck_at >= TICKS)
		member->stuck = 0;
	if ((member->stuck & shard->bit) != 0)
		return lock_for(mutex, SHORT_NS);
	int error = ETIMEDOUT;
	for (unsigned n = 0; n < SLICES && error == ETIMEDOUT; n++)
		error = lock_for(mutex, SLICE_NS);
	if (error == ETIMEDOUT) {
		if (member->stuck == 0)
			member->stuck_at = php_hone_store_tick();
		member->stuck |= shard->bit;
	}
	return error;
}

bool
php_hone_lock(struct php_hone_member *member, struct php_hone_shard *shard)
{
	int error = pthread_mutex_trylock(&shard->mutex);
	if (__builtin_expect(error == EBUSY, 0))
		error = lock_in_time(member, shard);
	if (error == ETIMEDOUT)
		return false;
	assert(error == 0 || error == EOWNERDEAD);
	have(member, shard, error);
	return true;
}

bool
php_hone_trylock(struct php_hone_member *member, struct php_hone_shard *shard)
{
	int error = pthread_mutex_trylock(&shard->mutex);
	if (error != 0 && error != EOWNERDEAD)
		return false;
	have(member, shard, error);
	return true;
}

void
php_hone_unlock(struct php_hone_shard *shard)
{
	pthread_mutex_unlock(&shard->mutex);
}

void
php_hone_settle(struct php_hone_member *member)
{
	if (member->reserved != NULL)
		php_hone_store_cancel(member, member->reserved);
}
