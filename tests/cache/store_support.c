/* SPDX-License-Identifier: BSD-3-Clause */
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <time.h>
#include "arena.h"
#include "index.h"
#include "inner.h"
#include "store_support.h"

/* NULL, or why processes cannot be killed here. */
#if defined(EMULATED)
static const char *const cannot = "an emulator has no robust mutexes";
#else
static const char *const cannot =
	TSAN ? "TSan does not follow killed processes" : NULL;
#endif

void
skip_if_nobody_can_be_killed(void)
{
	if (cannot == NULL)
		return;
	printf("# skipped: %s\n", cannot);
	skip();
}

void
skip_if_zombies_count_as_alive(void)
{
#if defined(EMULATED)
	printf("# skipped: /proc is hidden from emulated tests, and without it "
	       "a zombie counts as alive\n");
	skip();
#endif
}

static _Atomic int64_t stopped_ms; /* 0: the clock is the kernel's */
static _Atomic int64_t step_ms;    /* between two looks at a stopped clock */

STANDS_FOR(int, clock_gettime, clockid_t clock, struct timespec *now)
{
	int64_t ms = stopped_ms;
	if (clock != CLOCK_MONOTONIC_COARSE || ms == 0)
		return __real_clock_gettime(clock, now);
	*now = (struct timespec){ms / 1000, ms % 1000 * 1000000};
	stopped_ms += step_ms;
	return 0;
}

static _Atomic bool limited;
static _Atomic unsigned waits;

STANDS_FOR(int, pthread_mutex_timedlock, pthread_mutex_t *mutex,
	const struct timespec *until)
{
	if (!limited)
		return pthread_mutex_lock(mutex);
	waits++;
	return __real_pthread_mutex_timedlock(mutex, until);
}

unsigned
mutex_waits(void)
{
	return waits;
}

void
wait_for_mutexes(bool without_limit)
{
	limited = !without_limit;
	waits = 0;
}

void
stop_clock(void)
{
	stopped_ms = 1000000000;
	step_ms = 0;
}

void
clock_steps(unsigned ms)
{
	step_ms = ms;
}

void
time_passes(unsigned ms)
{
	stopped_ms += ms;
}

void
until_a_slot_waits(const struct php_hone_store *store)
{
	for (int looks = 0; looks < 5000; looks++) {
		for (uint32_t i = 0; i < store->n_slots; i++) {
			if (php_hone_get64(&store->slots[i].waits) != 0)
				return;
		}
		usleep(1000);
	}
	fprintf(stderr, "no process waits\n");
	/* In the parent, too, which has lines of its tests. */
	fflush(NULL);
	_exit(1);
}

uint64_t
hash_of(const char *bytes, size_t len)
{
	uint64_t hash = 5381;
	for (size_t i = 0; i < len; i++)
		hash = hash * 33 + (unsigned char)bytes[i];
	return hash | (uint64_t)1 << 63;
}

struct php_hone_key
key_of(const char *name)
{
	size_t len = strlen(name);
	return (struct php_hone_key){name, len, hash_of(name, len)};
}

struct php_hone_store_info
info_of(struct php_hone_member *member)
{
	struct php_hone_store_info info;
	php_hone_store_info(member, &info);
	return info;
}

const char *
numbered(const char *prefix, uint64_t number)
{
	static _Thread_local char name[32];
	snprintf(name, sizeof name, "%s%llu", prefix,
		(unsigned long long)number);
	return name;
}

struct php_hone_store *
make_store(size_t size, unsigned shards)
{
	struct php_hone_store *store = NULL;
	struct php_hone_store_attr attr = {
		.size = size, .shards = shards, .name = "test"};
	assert_ok(php_hone_store_create(&store, &attr));
	return store;
}

struct php_hone_member
join_new_store(size_t size, unsigned shards)
{
	struct php_hone_member member;
	assert_ok(php_hone_member_join(&member, make_store(size, shards)));
	return member;
}

void
end_store(struct php_hone_member *member)
{
	struct php_hone_store *store = member->store;
	assert_ok(audit_aloud(member));
	php_hone_member_leave(member);
	php_hone_store_unmap(store);
}

int
member_setup(void **state)
{
	struct php_hone_member *m = calloc(1, sizeof *m);
	assert_non_null(m);
	stop_clock();
	*m = join_new_store((size_t)8 << 20, 2);
	php_hone_member_pin(m);
	*state = m;
	return 0;
}

int
member_teardown(void **state)
{
	struct php_hone_member *m = *state;
	int result = audit_aloud(m);
	php_hone_member_unpin(m);
	end_store(m);
	free(m);
	return result;
}

int
audit_aloud(struct php_hone_member *member)
{
	const char *problem = audit(member);
	if (problem == NULL)
		return 0;
	printf("# audit: %s\n", problem);
	return 1;
}

/* The words of a stored value follow each other by xorshift. */
static uint64_t
next_word(uint64_t *state)
{
	uint64_t x = *state;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

static uint64_t
state_of(uint64_t number)
{
	return number * 2 + 1;
}

/* Eight bytes anywhere. Without optimization, a memcpy() of them is a call. */
struct word {
	uint64_t is;
} __attribute__((packed, may_alias));

/* Bytes of the data that follow from the number: flags has PARTLY or 0. */
#define PARTLY 1

static size_t
filled(const struct php_hone_entry *entry)
{
	return (entry->flags & PARTLY) != 0 ? PART : entry->data_size;
}

static void
fill(struct php_hone_entry *entry, uint64_t number)
{
	uint64_t state = state_of(number);
	unsigned char *data = (unsigned char *)entry + entry->data_at;
	size_t size = filled(entry), at = 0;
	for (; at + 8 <= size; at += 8)
		((struct word *)(data + at))->is = next_word(&state);
	uint64_t last = next_word(&state);
	memcpy(data + at, &last, size - at);
	entry->value[0] = entry->value[1] = number;
}

static int
reserve_and_fill(struct php_hone_member *member,
	const struct php_hone_room *room, uint64_t number, uint8_t flags,
	struct php_hone_entry **entry)
{
	int error = php_hone_store_reserve(member, room, entry);
	if (error != 0)
		return error;
	(*entry)->flags = room->cold ? flags | PHP_HONE_COLD : flags;
	fill(*entry, number);
	return 0;
}

int
reserve(struct php_hone_member *member, const struct php_hone_room *room,
	uint64_t number, struct php_hone_entry **entry)
{
	return reserve_and_fill(member, room, number, 0, entry);
}

int
reserve_part(struct php_hone_member *member, const struct php_hone_room *room,
	uint64_t number, struct php_hone_entry **entry)
{
	return reserve_and_fill(member, room, number, PARTLY, entry);
}

int
put_room(struct php_hone_member *member, const struct php_hone_room *room,
	uint64_t number)
{
	struct php_hone_entry *entry;
	int error = reserve(member, room, number, &entry);
	return error != 0
		       ? error
		       : php_hone_store_publish(member, entry, PHP_HONE_STORE);
}

int
put(struct php_hone_member *member, const char *name, uint64_t number,
	size_t bytes)
{
	struct php_hone_key key = key_of(name);
	struct php_hone_room room = {.key = &key, .data = bytes};
	return put_room(member, &room, number);
}

int
claim(struct php_hone_member *member, const char *name, uint32_t seconds)
{
	struct php_hone_key key = key_of(name);
	return php_hone_store_claim(member, &key, seconds);
}

int
erase(struct php_hone_member *member, const char *name)
{
	struct php_hone_key key = key_of(name);
	return php_hone_store_delete(member, &key);
}

int
put_form(struct php_hone_member *member, const char *name, uint64_t number,
	size_t bytes, bool cold)
{
	struct php_hone_key key = key_of(name);
	struct php_hone_room room = {.key = &key, .data = bytes, .cold = cold};
	struct php_hone_entry *entry;
	int error = reserve(member, &room, number, &entry);
	if (error != 0)
		return error;
	entry->value[0] = 0;
	entry->value[1] |= PHP_HONE_PACKABLE;
	return php_hone_store_publish(member, entry, PHP_HONE_STORE);
}

struct php_hone_entry *
reserve_twin(struct php_hone_member *member, const struct php_hone_entry *of)
{
	bool cold = (of->flags & PHP_HONE_COLD) == 0;
	size_t bytes = cold ? of->data_size / 4 : (size_t)of->data_size * 4;
	struct php_hone_entry *twin =
		php_hone_store_reserve_twin(member, of, bytes, cold);
	if (twin == NULL)
		return NULL;
	fill(twin, of->value[1] & ~PHP_HONE_PACKABLE);
	twin->value[1] |= PHP_HONE_PACKABLE;
	return twin;
}

void
change_form(struct php_hone_member *member, const struct php_hone_entry *of)
{
	struct php_hone_entry *twin = reserve_twin(member, of);
	if (twin != NULL)
		php_hone_store_publish_twin(member, twin, of);
}

unsigned
pack_all(struct php_hone_member *member)
{
	const struct php_hone_entry *entry;
	unsigned n = 0;
	for (; (entry = php_hone_store_to_pack(member)) != NULL; n++) {
		change_form(member, entry);
		php_hone_fetch_end(member);
	}
	return n;
}

bool
is_whole(const struct php_hone_entry *entry, uint64_t *number)
{
	*number = entry->value[1] & ~PHP_HONE_PACKABLE;
	uint64_t state = state_of(*number);
	const unsigned char *data =
		(const unsigned char *)entry + entry->data_at;
	size_t size = filled(entry), at = 0;
	for (; at + 8 <= size; at += 8)
		if (((const struct word *)(data + at))->is != next_word(&state))
			return false;
	uint64_t last = next_word(&state);
	return memcmp(data + at, &last, size - at) == 0;
}

bool
count_whole(const struct php_hone_entry *entry, void *opaque)
{
	uint64_t number = 0;
	*(unsigned *)opaque += is_whole(entry, &number);
	return true;
}

const struct php_hone_entry *
fetch(struct php_hone_member *member, const char *name)
{
	struct php_hone_key key = key_of(name);
	return php_hone_fetch_find(member, &key);
}

int
get(struct php_hone_member *member, const char *name, uint64_t *number)
{
	const struct php_hone_entry *entry = fetch(member, name);
	int result = -ENOENT;
	if (entry != NULL)
		result = is_whole(entry, number) ? 0 : -EILSEQ;
	php_hone_fetch_end(member);
	return result;
}

void
expect(struct php_hone_member *member, const char *name, uint64_t number)
{
	uint64_t is = 0;
	assert_ok(get(member, name, &is));
	assert_int_equal(is, number);
}

void
expect_none(struct php_hone_member *member, const char *name)
{
	uint64_t is = 0;
	assert_int_equal(get(member, name, &is), -ENOENT);
}

const struct php_hone_entry *
find(struct php_hone_member *member, const char *name)
{
	struct php_hone_key key = key_of(name);
	return find_key(member, &key);
}

const struct php_hone_entry *
find_key(struct php_hone_member *member, const struct php_hone_key *key)
{
	const struct php_hone_entry *entry = php_hone_fetch_find(member, key);
	php_hone_fetch_end(member);
	return entry;
}

bool
is_open(struct php_hone_member *member)
{
	php_hone_fetch_begin(member);
	php_hone_fetch_end(member);
	return member->open;
}

pid_t
fork_member(struct php_hone_store *store,
	void (*run)(struct php_hone_member *child))
{
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		struct php_hone_member child;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (php_hone_member_join(&child, store) != 0)
			_exit(1);
		run(&child);
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

pid_t
fork_ready(struct php_hone_store *store,
	void (*run)(struct php_hone_member *child))
{
	int status = 0;
	pid_t pid = fork_member(store, run);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

/* What the child of start_stopped() runs. */
static void (*traced)(struct php_hone_member *child);

static void
run_traced(struct php_hone_member *child)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		_exit(1);
	raise(SIGSTOP);
	traced(child);
	raise(SIGSTOP);
}

pid_t
start_stopped(struct php_hone_store *store,
	void (*run)(struct php_hone_member *child))
{
	int status = 0;
	traced = run;
	support_one_cpu();
	pid_t pid = fork_member(store, run_traced);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	return pid;
}

bool
single_step(pid_t pid)
{
	int status = 0;
	assert_ok(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
}

/* Whether all that a shard keeps agrees. */

/* Count the free blocks of one class; a class that is wrong counts 0. */
static uint64_t
count_class(const struct php_hone_shard *shard, unsigned class)
{
	uint64_t n = 0;
	uint32_t before = 0;
	for (uint32_t at = shard->heads[class]; at != 0; n++) {
		const struct php_hone_free_block *b =
			php_hone_free_at(shard, at);
		uint32_t units = php_hone_word_units(b->word);
		if (php_hone_word_state(b->word) != PHP_HONE_FREE ||
			php_hone_class_of(units) != class ||
			b->prev != before ||
			*php_hone_footer(shard, at + units) != units)
			return 0;
		before = at;
		at = b->next;
	}
	bool bit = shard->class_bits[class / 64] >> class % 64 & 1;
	return bit == (n != 0) ? n : 0;
}

/* Units in the quick lists; a list that is wrong counts as 0. */
static uint64_t
count_quick(const struct php_hone_shard *shard)
{
	uint64_t sum = 0;
	for (uint32_t units = 1; units < PHP_HONE_QUICK_SIZES; units++) {
		for (uint32_t at = shard->quick[units]; at != 0;) {
			if (php_hone_state_at(shard, at) != PHP_HONE_QUICK ||
				php_hone_units_at(shard, at) != units)
				return 0;
			sum += units;
			at = php_hone_entry_at(shard->store, at)->link;
		}
	}
	return sum;
}

static const char *
audit_arena(const struct php_hone_shard *shard)
{
	uint64_t sums[PHP_HONE_STATES] = {0};
	uint64_t n_free = 0;
	bool hand = false;
	bool sweep = shard->sweep == 0;
	bool prev_free = false;
	uint32_t at = shard->first;
	while (at < shard->end) {
		uint64_t word = php_hone_block(shard, at);
		unsigned state = php_hone_word_state(word);
		if (php_hone_word_units(word) == 0 || state >= PHP_HONE_STATES)
			return "a block without a size or state";
		if (prev_free != ((word & PHP_HONE_PREV_FREE) != 0))
			return "a flag of a free neighbour";
		if (prev_free && state == PHP_HONE_FREE)
			return "free neighbours that are not merged";
		prev_free = state == PHP_HONE_FREE;
		n_free += prev_free;
		sums[state] += php_hone_word_units(word);
		hand |= at == shard->hand;
		sweep |= at == shard->sweep;
		at += php_hone_word_units(word);
	}
	if (at != shard->end)
		return "a block beyond the end";
	if (!hand || !sweep)
		return "a hand inside a block";
	if (memcmp(sums, shard->sums, sizeof sums) != 0)
		return "the sums of blocks";
	if (count_quick(shard) != sums[PHP_HONE_QUICK])
		return "the lists of quick blocks";
	for (unsigned class = 0; class < PHP_HONE_CLASSES; class ++)
		n_free -= count_class(shard, class);
	return n_free != 0 ? "the lists of free blocks" : NULL;
}

static const char *
audit_chain(const struct php_hone_shard *shard, struct php_hone_place place,
	uint64_t *n, uint64_t *units, struct php_hone_shard *forms)
{
	const struct php_hone_store *store = shard->store;
	const uint32_t *link = php_hone_bucket(store, place);
	for (uint32_t at; (at = php_hone_follow(link)) != 0;) {
		if (at < shard->first || at >= shard->end)
			return "a link that leads out of the arena";
		const struct php_hone_entry *entry =
			php_hone_entry_at(store, at);
		struct php_hone_place is = php_hone_place(store, entry->hash);
		if (php_hone_state_at(shard, at) != PHP_HONE_LIVE)
			return "a link to what is not live";
		if (php_hone_get64(&entry->retired) != 0)
			return "a live entry with the mark of a removal";
		if (is.shard != place.shard || is.bucket != place.bucket)
			return "an entry in another bucket's chain";
		if (++*n > shard->entries)
			return "more entries in chains than counted";
		*units += php_hone_units_at(shard, at);
		php_hone_count_form(forms, entry, 1);
		link = &entry->next;
	}
	return NULL;
}

static bool
audit_list(const struct php_hone_shard *shard, uint32_t at, uint64_t *n,
	uint64_t *units)
{
	for (; at != 0; ++*n) {
		if (php_hone_state_at(shard, at) != PHP_HONE_RETIRED ||
			*n > shard->n_retired)
			return false;
		*units += php_hone_units_at(shard, at);
		at = php_hone_entry_at(shard->store, at)->link;
	}
	return true;
}

static const char *
audit_shard(const struct php_hone_shard *shard)
{
	const struct php_hone_store *store = shard->store;
	const char *problem = audit_arena(shard);
	struct php_hone_place place = {(unsigned)(shard - store->shards), 0};
	struct php_hone_shard forms = {0};
	uint64_t n = 0;
	uint64_t units = 0;
	for (; place.bucket <= store->bucket_mask && problem == NULL;
		place.bucket++)
		problem = audit_chain(shard, place, &n, &units, &forms);
	if (problem != NULL)
		return problem;
	if (n != shard->entries || units != shard->sums[PHP_HONE_LIVE])
		return "live entries that no chain has";
	if (memcmp(forms.form_entries, shard->form_entries,
		    sizeof forms.form_entries) != 0 ||
		memcmp(forms.form_units, shard->form_units,
			sizeof forms.form_units) != 0)
		return "the sums of the forms";
	n = units = 0;
	if (!audit_list(shard, shard->held_list, &n, &units))
		return "the list of what is held back";
	if (n != shard->n_held)
		return "the sum of what is held back";
	if (!audit_list(shard, shard->retired_list, &n, &units))
		return "the list of retired entries";
	return n == shard->n_retired && units == shard->sums[PHP_HONE_RETIRED]
		       ? NULL
		       : "the sum of retired entries";
}

const char *
audit(struct php_hone_member *member)
{
	struct php_hone_shard *shard = member->store->shards;
	const char *problem = NULL;
	php_hone_settle(member);
	for (unsigned i = 0; i < member->store->n_shards && problem == NULL;
		i++, shard++) {
		php_hone_lock(member, shard);
		problem = audit_shard(shard);
		php_hone_unlock(shard);
	}
	return problem;
}

struct php_hone_member reader, writer;

int
pair_setup(void **state)
{
	(void)state;
	stop_clock();
	struct php_hone_store *store = make_store((size_t)4 << 20, 1);
	assert_ok(php_hone_member_join(&reader, store));
	assert_ok(php_hone_member_join(&writer, store));
	return 0;
}

int
pair_teardown(void **state)
{
	(void)state;
	struct php_hone_store *store = writer.store;
	int result = audit_aloud(&writer);
	php_hone_member_leave(&reader);
	php_hone_member_leave(&writer);
	php_hone_store_unmap(store);
	return result;
}
