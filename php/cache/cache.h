/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_CACHE_H
#define PHP_HONE_CACHE_H
/*
 * The shared cache in PHP. docs/php-cache.md is for users, docs/design/cache.md
 * describes the structure.
 *
 *	process/   processes, requests, children; settings; the stores
 *	api/       the functions and the class Hone\Cache
 *	apcu/      the functions of APCu
 *	objects/   methods of objects before a store, and objects of a fetch
 *	values/    a value as one block
 *	store/     the shared memory
 *	snapshot/  the cache in a file
 *
 * Serialization, callbacks and destructors run code of the user, which may call
 * these functions again. Every allocation of PHP may leave by longjmp().
 * Neither happens while a mutex of the store is held, nor between a reservation
 * and its publication.
 */
#include "../php_hone.h"
#include "php_ini.h"
#include <errno.h>
#define HONE_ARGS_SHARED
#include "../hone_args.h"

/* ---- process/cache.c ---- */

void php_hone_cache_minit(
	int type, int module_number, zend_class_entry *entries);
void php_hone_cache_mshutdown(void);
void php_hone_cache_rinit(void);
void php_hone_cache_post_deactivate(void);
void php_hone_cache_gshutdown(struct php_hone_cache *cache);

struct php_hone_member *php_hone_cache_open_first(void);
/* The reason why this request has no cache, after php_hone_cache_open(); or
 * NULL. */
const char *php_hone_cache_off(void);

/* The member of this thread, pinned until the end of the request. NULL if this
 * process has no cache. */
static zend_always_inline struct php_hone_member *
php_hone_cache_open(void)
{
	if (EXPECTED(HONE_G(cache).open))
		return &HONE_G(cache).member;
	return php_hone_cache_open_first();
}

/* ---- process/fork.c ---- */

void php_hone_fork_minit(void);

/* ---- process/settings.c ---- */

void php_hone_cache_settings(int type, int module_number);
/* Whether a file, the environment or -d has this setting. */
bool php_hone_cache_is_set(const char *name);

struct php_hone_number {
	zend_long least, most;
	const char *what;      /* for a message: "hone.x: "-1" is not WHAT" */
	const char *otherwise; /* the default */
};
#define PHP_HONE_A_SIZE "a size, such as 64M or 1G"
#define PHP_HONE_A_TIME "a number of seconds"

/*
 * For settings that are numbers. Rejects, with a warning, numbers out of range
 * and strings such as "12x", which PHP would convert to 12. mh_arg1 is the
 * offset of a zend_long in struct php_hone_cache, mh_arg2 a php_hone_number.
 */
PHP_INI_MH(php_hone_cache_on_number);
#define PHP_HONE_NUMBER(name, value, when, handler, member, least, most, what) \
	PHP_INI_ENTRY3(name, value, when, handler,                             \
		(void *)offsetof(struct php_hone_cache, member),               \
		(void *)&((const struct php_hone_number){                      \
			least, most, what, value}),                            \
		NULL)

/* ---- process/pools.c ---- */

void php_hone_pools_make(int type);
/* The first request of a process: unmap the stores of the other pools. */
void php_hone_pools_choose(void);
void php_hone_pools_unmap(void);
/* Whether this server has pools, but none for this process. */
bool php_hone_pools_is_left_out(void);
/* The store of this process, or NULL. */
struct php_hone_store *php_hone_pools_store(void);
/* Whether the store of this process is the one that this request names.
 * Otherwise writes a line to the log. */
bool php_hone_pools_match(void);
void php_hone_pools_evicted(struct php_hone_member *member);
/* Logs why a value was not stored, at most once a minute for the pool. */
void php_hone_pools_refused(struct php_hone_member *member, const char *why);
/* The same of a value that cannot be read. */
void php_hone_pools_damaged(struct php_hone_member *member, const char *why);
/* Writes to `text` which setting to raise, so that a value of `needs` bytes can
 * be stored. */
void php_hone_pools_advise(size_t needs, char *text, size_t room);
/* Logs that a process is stopped while it has a mutex of the store. */
void php_hone_pools_stopped(struct php_hone_member *member);
/* Logs that a process has no slot of the store. */
void php_hone_pools_full(struct php_hone_store *store);
/* The reason why this process has no store, or NULL. */
const char *php_hone_pools_off(void);
/* Adds the size of each pool, also of those of other processes. */
void php_hone_pools_add(zval *sizes);

/* Whether this process made the stores. A child inherits them. */
bool php_hone_pools_is_maker(void);
/* Calls `visit` for each mapped store, if this process made the stores. */
void php_hone_pools_each_made(
	void (*visit)(const char *name, struct php_hone_store *store));
/* The pool of hone.cache_size. */
#define PHP_HONE_DEFAULT_POOL "default"
/* Whether PHP runs one program, as opposed to a server. */
bool php_hone_pools_command_line(void);

/* ---- process/early.c ---- */

bool php_hone_early_is_fpm(void);
/* Whether PHP serves requests, as opposed to one program or one request. */
bool php_hone_early_is_server(void);
/* As PHP warns at its start; FPM repeats the line in its own log. */
void php_hone_early_warning(const char *format, ...)
	ZEND_ATTRIBUTE_FORMAT(printf, 1, 2);
/* The same, but only to the log. */
void php_hone_early_notice(const char *text);
/* A line of the log: LOG_NOTICE or LOG_WARNING. */
void php_hone_log(int severity, const char *format, ...)
	ZEND_ATTRIBUTE_FORMAT(printf, 2, 3);
/* Before FPM forks a worker. */
void php_hone_early_repeat(void);
void php_hone_early_end(void);

/* ---- process/protect.c ---- */

void php_hone_protect_begin(void);
void php_hone_protect_end(void);

/* ---- objects/serialize.c ---- */

/* The flags of an entry. */
#define PHP_HONE_SERIALIZED 1 /* a string, by PHP's serialize() */
#define PHP_HONE_IGBINARY 2   /* a string, by igbinary */
#define PHP_HONE_OBJECTS 4    /* a directory: values/graph.h */

/* Returns NULL with an exception or a warning if the value was rejected. Runs
 * code of the user. */
zend_string *php_hone_value_serialize(zval *value, uint8_t *flags);
/* The reverse. On failure, returns false and sets `value` to null. */
bool php_hone_value_unserialize(
	zval *value, const zend_string *bytes, uint8_t flags);
/*
 * The value of an entry with this root and with flags other than 0. On failure,
 * returns false and sets `value` to null. Runs code of the user: autoloaders,
 * and the methods that unserialize() calls.
 */
bool php_hone_value_restore(zval *value, const zval *root, uint8_t flags);

/* ---- objects/hooks.c ---- */

/*
 * Calls __serialize() of each object of a value, in the order of serialize().
 * Calls no method if a part of the value without answers shows that only
 * serialize() can store the value. `answers` is zero; the caller frees the
 * answers, also after a failure. Runs code of the user. Returns:
 *
 *	GRAPH    the answers are complete
 *	TEXT     only serialize() can store the value, and calls methods again
 *	REFUSED  a method threw an exception
 */
enum php_hone_built php_hone_hooks_run(
	zval *value, struct php_hone_answers *answers);
/* Runs code of the user: destructors. */
void php_hone_hooks_free(struct php_hone_answers *answers);

/* ---- objects/objects.c ---- */

/*
 * Make the value of a directory (values/graph.h), which stays unchanged. The
 * value shares strings, and arrays without objects, with the directory. On
 * failure, returns false and sets `value` to null.
 */
bool php_hone_objects_make(const zend_array *directory, zval *value);

/* ---- objects/dates.c ---- */

/* The methods of PHP's date classes. */
void php_hone_dates_minit(void);
/* In the first use of the cache in a request. */
void php_hone_dates_begin(struct php_hone_builder *builder);
/*
 * Does what __unserialize() of DateTime or DateTimeImmutable would do. Returns
 * false, and has done nothing, if only __unserialize() can.
 */
bool php_hone_date_make(zend_object *object, const zval *data);
/* `object` was made by its __unserialize(): php_hone_date_make() may use its
 * time zone. */
void php_hone_date_learn(zend_object *object, const zval *data);
/* At the end of the request. */
void php_hone_dates_end(void);

/* ---- objects/objects_text.c ---- */

/* The result of serialize() for the value of a directory. If the text is too
 * long, returns NULL with a warning. */
zend_string *php_hone_objects_text(const zend_array *directory);

static zend_always_inline struct php_hone_key
php_hone_key_of(zend_string *string)
{
	return (struct php_hone_key){
		ZSTR_VAL(string), ZSTR_LEN(string), ZSTR_HASH(string)};
}

/* Logs -ETIMEDOUT of a function of the store that writes. */
static zend_always_inline int
php_hone_cache_result(struct php_hone_member *member, int error)
{
	if (UNEXPECTED(error == -ETIMEDOUT))
		php_hone_pools_stopped(member);
	return error;
}

static zend_always_inline void
php_hone_set_root(struct php_hone_entry *entry, const zval *root)
{
	memcpy(&entry->value[0], &root->value, sizeof entry->value[0]);
	entry->value[1] = Z_TYPE_INFO_P(root);
	if (Z_TYPE_P(root) == IS_ARRAY)
		entry->value[1] |= PHP_HONE_PACKABLE;
}

/* The root of an entry's value, which belongs to the entry. Not of a cold
 * entry. */
static zend_always_inline void
php_hone_root_of(const struct php_hone_entry *entry, zval *root)
{
	/* Acquire: pairs with the counters' store in php_hone_store_change(). A
	 * reader that sees a new number sees earlier replacements, also among
	 * entries that php_hone_store_known() returns. */
	uint64_t bits = __atomic_load_n(&entry->value[0], __ATOMIC_ACQUIRE);

	memcpy(&root->value, &bits, sizeof bits);
	Z_TYPE_INFO_P(root) = (uint32_t)entry->value[1];
}

/* ---- api/fetch.c ---- */

/* Returns false if the key does not exist. The caller owns the value. */
bool php_hone_cache_fetch(zend_string *key, zval *value);
/* The same, but counts no hit or miss. Also returns a value that expired at
 * most `grace` seconds ago. */
bool php_hone_cache_peek(zend_string *key, uint32_t grace, zval *value);
bool php_hone_cache_exists(zend_string *key);
/* The entry, also one that expired at most `grace` seconds ago; or NULL. The
 * caller ends the fetch. */
const struct php_hone_entry *php_hone_cache_look(
	struct php_hone_member *member, zend_string *key, uint32_t grace);
/* As php_hone_cache_fetch() for one element, which is copied. `path` is a
 * string, an int, or an array of these. */
bool php_hone_cache_field(zend_string *key, zval *path, zval *value);

/* Returns true, and sets *stored, if the request has fetched the array
 * recently. The request keeps this value. */
bool php_hone_cache_fetched(
	const zend_array *array, struct php_hone_value *stored);

/* ---- api/block.c ---- */

/* Copies the value of the entry, until the end of the request. Returns false if
 * the copies would exceed hone.cache_block_bytes, or if memory is exhausted. */
bool php_hone_block_fetch(const struct php_hone_entry *entry,
	const struct php_hone_value *stored, zval *value);
/* The same in steps. Returns false if this request has no copy of the value. */
bool php_hone_block_find(const struct php_hone_entry *entry, zval *value);
/* Memory for a copy until the end of the request, or NULL. */
void *php_hone_block_memory(size_t size);
/* The copy is complete. `copy` is a result of php_hone_block_memory(), which
 * has space for a head before it. */
void php_hone_block_enter(const struct php_hone_entry *entry, const void *copy,
	size_t size, const zval *root);
/* Memory, aligned to PHP_HONE_VALUE_ALIGN, until the next call of a function
 * above; or NULL. */
void *php_hone_block_scratch(size_t size);
/* Frees the copies, and keeps their memory up to hone.cache_block_bytes. */
void php_hone_block_free_all(void);
void php_hone_block_free_memory(struct php_hone_cache *cache);

/* ---- api/cold.c ---- */

/*
 * Makes the value of a cold entry, for a fetch in progress. Returns false if
 * memory is exhausted, or if the bytes are damaged: then the entry is deleted,
 * and the log has a line. *made is the value, or the directory of a value with
 * objects. If *kept is set, it stays until the end of the request; otherwise
 * until the next value that is made or copied.
 */
bool php_hone_cold_make(struct php_hone_member *member,
	const struct php_hone_entry *entry, struct php_hone_value *made,
	bool *kept);
/*
 * Whether a value is to be stored in the cold form: memory is short for its
 * key, and the form saves an eighth. Writes this form to HONE_G(cache).cold.
 * `stored` is NULL for the value in the builder.
 */
bool php_hone_cold_store(const struct php_hone_member *member,
	const struct php_hone_room *room, const struct php_hone_value *stored,
	bool graph);
/* After a store: packs what the hand has left to be packed. */
void php_hone_cold_pack(struct php_hone_member *member);
/* Copies a cold form to an entry, with its sum, and with the bytes of the value
 * that it makes, for a value without objects. */
void php_hone_cold_place(
	struct php_hone_entry *entry, const void *bytes, size_t made);
/* Whether the bytes of a cold entry have the sum with which it was stored. */
bool php_hone_cold_is_whole(const struct php_hone_entry *entry);

/* ---- api/write.c ---- */

struct php_hone_write {
	enum php_hone_publish how;
	zend_long ttl;   /* less than 0: the value has expired already */
	HashTable *tags; /* of strings; NULL: none */
	/* As APCu: closures and lazy objects throw, and there is no warning of
	 * a value that is not stored. */
	bool apcu;
};

/* Returns false if the value was not stored, perhaps with a warning or a line
 * in the log. Runs code of the user if the value has objects. */
bool php_hone_cache_store(
	zend_string *key, zval *value, const struct php_hone_write *how);
bool php_hone_cache_delete(zend_string *key);
/* Returns false without a cache, or with a warning if the tag is too long. */
bool php_hone_cache_invalidate(zend_string *tag);
/* Replaces what a line of the log must not have. */
void php_hone_make_plain(char *text);
/* The header of a key: an interned zend_string, which is not counted. */
void php_hone_write_head(
	struct php_hone_entry *entry, zend_ulong hash, size_t len);

/* Adds to the int of a key, which is made if it does not exist. Returns false
 * if the value is not an int, or could not be stored. */
bool php_hone_cache_add_to(zend_string *key, zend_long step,
	const struct php_hone_write *how, zend_long *result);
bool php_hone_cache_cas(zend_string *key, zend_long old, zend_long new_value);

/* ---- api/remember.c ---- */

struct php_hone_remember {
	zend_fcall_info *fci;
	zend_fcall_info_cache *fcc;
	struct php_hone_write write;
	uint32_t grace;
	unsigned wait_ms;
};

/* `value` is null if there is an exception. */
void php_hone_cache_remember(
	zend_string *key, const struct php_hone_remember *how, zval *value);
/* Releases the claims that a fatal error has left. */
void php_hone_claims_end(void);

/* ---- api/walk.c ---- */

/* Items of a batch. The last bucket may add a few more. */
#define PHP_HONE_WALK_BATCH 64

/* A copy of the facts about a key. */
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

/* Replaces the last batch by the next one, of keys that begin with the prefix;
 * NULL: of all. A walk of zeros is at the beginning. False at the end. */
bool php_hone_walk_batch(struct php_hone_walk *walk, zend_string *prefix);
/* Frees the items, and sets the walk to the beginning. */
void php_hone_walk_reset(struct php_hone_walk *walk);
/* The same for one key. Returns false if the key does not exist. */
bool php_hone_walk_one(zend_string *key, struct php_hone_item *item);
/* Returns the number of deleted keys. */
zend_long php_hone_cache_delete_prefix(zend_string *prefix);

/* ---- api/entries.c ---- */

/* Also makes the strings of names.h. */
void php_hone_entries_minit(zend_class_entry *entries);
void php_hone_entries_new(zval *object, zend_string *prefix);

/* ---- api/info.c ---- */

void php_hone_cache_minfo(void);

/* ---- snapshot/ ---- */

void php_hone_snapshot_begin(void);
void php_hone_snapshot_end(void);
void php_hone_snapshot_before_fork(void);

/* ---- apcu/ ---- */

/* Before the pools: apc.shm_size may be the size of one. */
void php_hone_apcu_minit(int type, int module_number);
/* Logs that APCu itself is loaded, which a server may not mean. */
void php_hone_apcu_tell(void);
/* Whether the functions exist. */
bool php_hone_apcu_offered(void);
/* The same for phpinfo(), with the reason if they do not. */
const char *php_hone_apcu_state(void);
/* Sets apc.enabled to 0 until the end of this request: a script reads that
 * there is no cache. */
void php_hone_apcu_disable(void);
/* Whether the functions have an effect in this process. */
bool php_hone_apcu_enabled(void);

#endif
