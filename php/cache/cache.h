/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_CACHE_H
#define PHP_HONE_CACHE_H
/*
 * The shared cache as PHP has it: docs/php-cache.md for users,
 * docs/design/cache.md for its structure.
 *
 *	cache.c     begin and end of processes, requests and children
 *	fork.c      children of a request
 *	pools.c     which stores there are, and which one this process uses
 *	fetch.c     the three ways to read; block.c has the copies of a request
 *	write.c     store, add, replace, delete
 *	objects.c   objects that a fetch makes; objects_text.c is its fallback,
 *	            with serialize.c, which keeps other objects
 *	methods.c, multi.c, counters.c, remember.c  the class Hone\Cache
 *	walk.c      all keys, in batches; entries.c is their class
 *	info.c      figures
 *	snapshot/   the cache in a file
 *	apcu/       the functions of APCu
 *
 * Serialization, callbacks and destructors run code of the user, which may call
 * all of this again; any allocation of PHP may leave by longjmp(). Neither
 * happens while a mutex of the store is held, nor between a reservation and its
 * publication.
 */
#include "../php_hone.h"
#include "php_ini.h"
#define HONE_ARGS_SHARED
#include "../hone_args.h"

/* ---- cache.c ---- */

/* `cache` and `entries` are the classes as they were registered. */
void php_hone_cache_minit(int type, int module_number, zend_class_entry *cache,
	zend_class_entry *entries);
void php_hone_cache_mshutdown(void);
void php_hone_cache_rinit(void);
void php_hone_cache_post_deactivate(void);
void php_hone_cache_gshutdown(struct php_hone_cache *cache);
void php_hone_cache_minfo(void);

struct php_hone_member *php_hone_cache_open_first(void);
/* Why this request has no cache; NULL if it has one. After
 * php_hone_cache_open().
 */
const char *php_hone_cache_off(void);

/*
 * The member of this thread, pinned until the end of the request; NULL if this
 * process has no cache.
 */
static zend_always_inline struct php_hone_member *
php_hone_cache_open(void)
{
	if (EXPECTED(HONE_G(cache).open))
		return &HONE_G(cache).member;
	return php_hone_cache_open_first();
}

/* ---- fork.c ---- */

void php_hone_fork_minit(void);

/* ---- settings.c ---- */

void php_hone_cache_settings(int type, int module_number);
/* Whether a file, the environment or -d has this setting. */
bool php_hone_cache_is_set(const char *name);

struct php_hone_number {
	zend_long least, most;
	const char *what;      /* for "hone.x: "-1" is not WHAT" */
	const char *otherwise; /* the default */
};
#define PHP_HONE_A_SIZE "a size, such as 64M or 1G"
#define PHP_HONE_A_TIME "a number of seconds"

/*
 * For settings that are numbers. Refuses what PHP would change to a number
 * ("12x" to 12), and numbers out of range, with a warning. mh_arg1 is the place
 * of a zend_long in struct php_hone_cache, mh_arg2 a php_hone_number.
 */
PHP_INI_MH(php_hone_cache_on_number);
/* A row of a table of settings. */
#define PHP_HONE_NUMBER(name, value, when, handler, member, least, most, what) \
	PHP_INI_ENTRY3(name, value, when, handler,                             \
		(void *)offsetof(struct php_hone_cache, member),               \
		(void *)&((const struct php_hone_number){                      \
			least, most, what, value}),                            \
		NULL)

/* ---- pools.c ---- */

void php_hone_pools_make(int type);
/* The first request of a process: unmap the stores of the other pools. */
void php_hone_pools_choose(void);
void php_hone_pools_unmap(void);
/* The store of this process, or NULL. */
struct php_hone_store *php_hone_pools_store(void);
/*
 * Whether the store of this process is the one that this request names. If not,
 * there is a line in the log.
 */
bool php_hone_pools_match(void);
/* Why this process has no store; NULL if it has one. */
const char *php_hone_pools_off(void);
/* Calls `visit` for each pool that was made, also those of others. */
void php_hone_pools_each(
	void (*visit)(const char *name, size_t size, void *opaque),
	void *opaque);

/* Whether this process made the stores, and inherited them from no server. */
bool php_hone_pools_is_maker(void);
/* Calls `visit` for each store that is mapped, if this process made them. */
void php_hone_pools_each_made(
	void (*visit)(
		const char *name, struct php_hone_store *store, void *opaque),
	void *opaque);
/* The pool of hone.cache_size. */
#define PHP_HONE_DEFAULT_POOL "default"
/* Whether PHP runs one program, and is not a server. */
bool php_hone_pools_command_line(void);

/* ---- protect.c ---- */

void php_hone_protect_begin(void);
void php_hone_protect_end(void);

/* ---- serialize.c ---- */

/* The flags of an entry. */
#define PHP_HONE_SERIALIZED 1 /* a string, by PHP's serialize() */
#define PHP_HONE_IGBINARY 2   /* a string, by igbinary */
#define PHP_HONE_OBJECTS 4    /* a directory: values/graph.h */

/*
 * The value as a string, or NULL if it was refused: there is an exception or a
 * warning. Runs code of the user.
 */
zend_string *php_hone_value_serialize(zval *value, uint8_t *flags);
/* The reverse. Returns false, and sets null, if it fails. */
bool php_hone_value_unserialize(
	zval *value, const zend_string *bytes, uint8_t flags);
/*
 * The value whose entry has this root and flags that are not 0. Returns false,
 * and sets null, if it fails. Runs code of the user: autoloaders, and what
 * unserialize() calls.
 */
bool php_hone_value_restore(zval *value, const zval *root, uint8_t flags);

/* ---- objects.c ---- */

/*
 * Make the value of a directory, which stays as it is: values/graph.h. Strings
 * and arrays without objects are shared with the directory. Returns false, and
 * sets null, if it fails.
 */
bool php_hone_objects_make(const zend_array *directory, zval *value);

/* ---- objects_text.c ---- */

/* What serialize() would have written for the value of a directory. */
zend_string *php_hone_objects_text(const zend_array *directory);

static zend_always_inline void
php_hone_key_of(struct php_hone_key *key, zend_string *string)
{
	key->bytes = ZSTR_VAL(string);
	key->len = ZSTR_LEN(string);
	key->hash = ZSTR_HASH(string);
}

/* The root of an entry's value, which belongs to the entry. */
static zend_always_inline void
php_hone_root_of(const struct php_hone_entry *entry, zval *root)
{
	/* Acquire: pairs with the counters' store in php_hone_store_change().
	 * A reader that sees a new number sees earlier replacements, also among
	 * entries that php_hone_store_known() returns. */
	uint64_t bits = __atomic_load_n(&entry->value[0], __ATOMIC_ACQUIRE);

	memcpy(&root->value, &bits, sizeof bits);
	Z_TYPE_INFO_P(root) = (uint32_t)entry->value[1];
}

/* ---- fetch.c ---- */

/* The value of a key, which the caller owns; false if there is none. */
bool php_hone_cache_fetch(zend_string *key, zval *value);
/* The same, but counts no hit or miss; also up to `grace` seconds after the
 * value's end. */
bool php_hone_cache_peek(zend_string *key, uint32_t grace, zval *value);
bool php_hone_cache_exists(zend_string *key);
/* The same for a part of it, which is copied. */
bool php_hone_cache_field(
	zend_string *key, const zval *path, uint32_t n_path, zval *value);

/*
 * Whether this request has fetched the array lately. *stored becomes the value,
 * which the request keeps.
 */
bool php_hone_cache_fetched(
	const zend_array *array, struct php_hone_value *stored);

/* ---- block.c ---- */

/*
 * The entry's value in a copy that lasts as long as the request. False if
 * hone.cache_block_bytes does not allow one more, or there is no memory.
 */
bool php_hone_block_fetch(const struct php_hone_entry *entry,
	const struct php_hone_value *stored, zval *value);
/* The copies end; their memory, at most hone.cache_block_bytes, is kept. */
void php_hone_block_free_all(void);
void php_hone_block_free_memory(struct php_hone_cache *cache);

/* ---- write.c ---- */

struct php_hone_write {
	enum php_hone_publish how;
	zend_long ttl;   /* less than 0: the value has ended already */
	HashTable *tags; /* of strings; NULL: none */
	bool throws;     /* closures and lazy objects: as APCu */
};

/* Returns false if it was not stored; there may be a warning. Runs code of the
 * user if the value has objects. */
bool php_hone_cache_store(
	zend_string *key, zval *value, const struct php_hone_write *how);
bool php_hone_cache_delete(zend_string *key);
/* False if there is no cache, or no tag can be so long: there is a warning. */
bool php_hone_cache_invalidate(zend_string *tag);
/* The head of a key: a zend_string as interned strings are, without a count. */
void php_hone_write_head(
	struct php_hone_entry *entry, zend_ulong hash, size_t len);

/* ---- counters.c ---- */

/*
 * Adds to the int of a key, which is made if it does not exist. False if the
 * value is not an int, or could not be stored.
 */
bool php_hone_cache_add_to(
	zend_string *key, zend_long step, zend_long ttl, zend_long *result);
bool php_hone_cache_cas(zend_string *key, zend_long old, zend_long new_value);

/* ---- methods.c ---- */

/*
 * Whether arguments ttl and tags are right, which have these places; there is
 * an exception if not.
 */
bool php_hone_cache_check(
	zend_long ttl, uint32_t ttl_at, HashTable *tags, uint32_t tags_at);

/* ---- remember.c ---- */

struct php_hone_remember {
	zend_fcall_info *fci;
	zend_fcall_info_cache *fcc;
	struct php_hone_write write;
	uint32_t grace;
	unsigned wait_ms;
};

/* `value` stays undefined if there is an exception. */
void php_hone_cache_remember(
	zend_string *key, const struct php_hone_remember *how, zval *value);
/* Ends the claims that a fatal error has left. */
void php_hone_claims_end(void);

/* ---- walk.c ---- */

/* Items of a batch; a few more if the last bucket has more. */
#define PHP_HONE_WALK_BATCH 64

/* Facts about a key, copied. */
struct php_hone_item {
	zend_string *key;
	size_t size;
	uint32_t hits;
	uint32_t ttl;      /* 0: none */
	zend_long created; /* seconds since 1970 */
	zend_long expires; /* 0: never */
	uint8_t type;      /* IS_*, of the stored value */
	uint8_t flags;
	uint8_t n_tags;
};

struct php_hone_walk {
	uint64_t cursor; /* UINT64_MAX: the end */
	uint32_t at, n;
	struct php_hone_item *items;
};

/*
 * All zero is the beginning. Frees what the last batch had, and makes another
 * one of keys that begin with the prefix; NULL: of all. Returns false at the
 * end.
 */
bool php_hone_walk_batch(struct php_hone_walk *walk, zend_string *prefix);
/* Frees the items. The walk is then at the beginning. */
void php_hone_walk_reset(struct php_hone_walk *walk);
/* The same for one key; false if it does not exist. */
bool php_hone_walk_one(zend_string *key, struct php_hone_item *item);
/* Returns how many were deleted. */
zend_long php_hone_cache_delete_prefix(zend_string *prefix);

/* ---- entries.c ---- */

void php_hone_entries_minit(zend_class_entry *entries);
void php_hone_entries_new(zval *object, zend_string *prefix);

/* ---- info.c ---- */

/* Requests in the lists of those that hold back most. */
#define PHP_HONE_HOLDERS 16

/* ---- snapshot/ ---- */

/* Read and write the files of hone.cache_snapshot. */
void php_hone_snapshot_begin(void);
void php_hone_snapshot_end(void);
void php_hone_snapshot_before_fork(void);

/* ---- apcu/ ---- */

void php_hone_apcu_minit(int type, int module_number);
/* Whether the functions exist. */
bool php_hone_apcu_offered(void);
/* Whether they do anything in this process. */
bool php_hone_apcu_enabled(void);
void php_hone_apcu_settings(int type, int module_number);

#endif
