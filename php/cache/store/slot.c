/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slots of processes, and those of processes that died.
 *
 * The word `owner` of a slot changes by compare-and-exchange: from 0 to a
 * process that joins, from a dead process to the one that cleans up after it,
 * and from its owner to 0. So a process that is killed while it cleans up is
 * itself a dead owner.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "arena.h"

/*
 * The state of a process and its start time in clock ticks since boot, from
 * /proc/PID/stat; false if the file cannot be read.
 */
static bool
read_stat(pid_t pid, char *state, unsigned *threads, uint32_t *start)
{
	char path[32];
	char text[1024];
	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	/* The name of the program may have any characters: fields 3, 20 and 22
	 * are counted from the last parenthesis. */
	const char *p = strrchr(text, ')');
	if (p == NULL || p[1] != ' ')
		return false;
	*state = p[2];
	for (int field = 2; field < 22; field++) {
		p = strchr(p, ' ');
		if (p == NULL)
			return false;
		p++;
		if (field + 1 == 20)
			*threads = (unsigned)strtoul(p, NULL, 10);
	}
	*start = (uint32_t)strtoull(p, NULL, 10);
	return true;
}

static uint64_t
own_identity(void)
{
	char state = 0;
	unsigned threads = 0;
	uint32_t start = 0;
	pid_t pid = getpid();
	if (!read_stat(pid, &state, &threads, &start))
		start = 0;
	return (uint64_t)(uint32_t)pid << 32 | start;
}

bool
php_hone_owner_lives(uint64_t owner)
{
	pid_t pid = (pid_t)(owner >> 32);
	if (kill(pid, 0) != 0 && errno == ESRCH)
		return false;
	/* Without /proc, or if it hides processes of other users, a pid that
	 * exists is taken for the owner. */
	char state = 0;
	unsigned threads = 0;
	uint32_t start = 0;
	if ((uint32_t)owner == 0 || !read_stat(pid, &state, &threads, &start))
		return true;
	if (start != (uint32_t)owner)
		return false;
	/* A zombie, unless other threads of it still run. */
	return !((state == 'Z' || state == 'X') && threads <= 1);
}

/* A slot that this process owns is as at first. */
static void
clean(struct php_hone_slot *slot)
{
	/* Release: for a slot of this process, all its reads come before. */
	__atomic_store_n(&slot->busy, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->pin, 0, __ATOMIC_RELEASE);
	php_hone_set64(&slot->began, 0);
	for (unsigned i = 0; i < PHP_HONE_HELD_WORDS; i++)
		__atomic_store_n(&slot->held[i], 0, __ATOMIC_RELEASE);
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
		/* Before the slot is used: writers look at slots below it. */
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
		/* To free a dead owner's reservation, one needs a slot: the
		 * reaper works in the slot of the first dead owner. */
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
	clean(slot);
	__atomic_store_n(&slot->owner, 0, __ATOMIC_RELEASE);
	memset(member, 0, sizeof *member);
}

void
php_hone_member_forget(struct php_hone_member *member)
{
	memset(member, 0, sizeof *member);
}

/* Free the block that a dead process was filling. False: a mutex is taken. */
static bool
free_reserved(struct php_hone_member *member, struct php_hone_slot *slot,
	struct php_hone_shard *held)
{
	struct php_hone_store *store = member->store;
	uint32_t offset = php_hone_get32(&slot->reserved);
	if (offset == 0)
		return true;
	unsigned i = php_hone_shard_of(store, offset);
	struct php_hone_shard *shard = php_hone_shard_at(store, i);
	/* With a mutex, one does not wait for another. */
	if (shard != held && !php_hone_trylock(member, i))
		return false;
	/* Read again: to lock may have been to recover. */
	if (php_hone_get32(&slot->reserved) == offset) {
		php_hone_set32(&slot->reserved, 0);
		php_hone_arena_free(store, shard, offset);
	}
	if (shard != held)
		php_hone_unlock(member, i);
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
			/* Whoever looks next finds the dead owner again. */
			__atomic_store_n(&slot->owner, owner, __ATOMIC_RELEASE);
			continue;
		}
		clean(slot);
		__atomic_store_n(&slot->owner, 0, __ATOMIC_RELEASE);
	}
}
