/* SPDX-License-Identifier: BSD-3-Clause */
/* The class APCUIterator. */
#include "apcu.h"
#include "../api/names.h"
#include "ext/pcre/php_pcre.h"
#include "zend_interfaces.h"

struct iterator {
	struct php_hone_walk walk;
	zend_long format;
	bool constructed;
	bool deleted; /* APC_LIST_DELETED: the list is empty */
	bool totalled;
	zend_long hits, size, count;
	/* Not compiled: pcre frees compiled expressions before PHP frees the
	 * objects of static properties. */
	zend_string *regex;
	HashTable *search; /* keys from the script, or NULL */
	/* The value of the present item; undefined before the first look. */
	zval value;
	uint32_t moves; /* counts changes of the position */
	bool fetching;  /* methods of a value run, which may use the iterator */
	zend_object std;
};

static zend_class_entry *iterator_class;
static zend_object_handlers iterator_handlers;

static struct iterator *
iterator_of(zend_object *object)
{
	return (struct iterator *)((char *)object -
				   offsetof(struct iterator, std));
}

static zend_object *
create(zend_class_entry *class)
{
	struct iterator *iterator = zend_object_alloc(sizeof *iterator, class);

	zend_object_std_init(&iterator->std, class);
	object_properties_init(&iterator->std, class);
	iterator->std.handlers = &iterator_handlers;
	return &iterator->std;
}

/* Call this at each change of the position. A destructor of the value may use
 * the iterator, which is complete by then. */
static void
forget(struct iterator *iterator)
{
	zval value;

	ZVAL_COPY_VALUE(&value, &iterator->value);
	ZVAL_UNDEF(&iterator->value);
	iterator->moves++;
	zval_ptr_dtor(&value);
}

static void
reset(struct iterator *iterator)
{
	php_hone_walk_reset(&iterator->walk);
	forget(iterator);
}

static void
advance(struct iterator *iterator)
{
	iterator->walk.at++;
	forget(iterator);
}

static void
destroy(zend_object *object)
{
	struct iterator *iterator = iterator_of(object);

	reset(iterator);
	if (iterator->regex != NULL)
		zend_string_release(iterator->regex);
	if (iterator->search != NULL)
		zend_array_release(iterator->search);
	zend_object_std_dtor(object);
}

/* A method of the value may have stored the iterator in the value. */
static HashTable *
get_gc(zend_object *object, zval **table, int *n)
{
	*table = &iterator_of(object)->value;
	*n = 1;
	return zend_std_get_properties(object);
}

void
php_hone_apcu_iterator_minit(zend_class_entry *class)
{
	iterator_class = class;
	class->create_object = create;
	memcpy(&iterator_handlers, &std_object_handlers,
		sizeof iterator_handlers);
	iterator_handlers.offset = offsetof(struct iterator, std);
	iterator_handlers.free_obj = destroy;
	iterator_handlers.get_gc = get_gc;
	iterator_handlers.clone_obj = NULL;
}

static bool
matches(struct iterator *iterator, zend_string *key)
{
	pcre_cache_entry *regex;
	zval result;

	if (iterator->search != NULL)
		return zend_hash_exists(iterator->search, key);
	if (iterator->regex == NULL)
		return true;
	regex = pcre_get_compiled_regex_cache(iterator->regex);
	if (regex == NULL)
		return false;
#if PHP_VERSION_ID >= 80400
	php_pcre_match_impl(regex, key, &result, NULL, false, 0, 0);
#else
	php_pcre_match_impl(regex, key, &result, NULL, 0, 0, 0, 0);
#endif
	return Z_TYPE(result) == IS_LONG && Z_LVAL(result) > 0;
}

static void
describe(zval *element, const struct php_hone_item *item, zend_long format,
	const zval *value)
{
	zval copy;

	array_init_size(element, 8);
	if (format & PHP_HONE_ITER_TYPE) {
		ZVAL_INTERNED_STR(&copy, php_hone_names[PHP_HONE_NAME_user]);
		php_hone_named_add(element, PHP_HONE_NAME_type, &copy);
	}
	if (format & PHP_HONE_ITER_KEY) {
		ZVAL_STR_COPY(&copy, item->key);
		php_hone_named_add(element, PHP_HONE_NAME_key, &copy);
	}
	if (format & PHP_HONE_ITER_VALUE) {
		ZVAL_COPY(&copy, value);
		if (Z_ISUNDEF(copy))
			ZVAL_NULL(&copy);
		php_hone_named_add(element, PHP_HONE_NAME_value, &copy);
	}
#define ADD(flag, name, number)                                                \
	if (format & PHP_HONE_ITER_##flag)                                     \
	php_hone_named_add_long(element, PHP_HONE_NAME_##name, number)
	ADD(NUM_HITS, num_hits, item->hits);
	ADD(MTIME, mtime, item->created);
	ADD(CTIME, creation_time, item->created);
	ADD(DTIME, deletion_time, 0);
	ADD(ATIME, access_time, item->created);
	ADD(REFCOUNT, ref_count, 0);
	ADD(MEM_SIZE, mem_size, (zend_long)item->size);
	ADD(TTL, ttl, item->ttl);
#undef ADD
}

/* Removes the items that do not match from the batch. */
static void
filter(struct iterator *iterator)
{
	struct php_hone_walk *walk = &iterator->walk;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < walk->n; i++) {
		if (matches(iterator, walk->items[i].key))
			walk->items[kept++] = walk->items[i];
		else
			zend_string_release(walk->items[i].key);
	}
	walk->n = kept;
}

/* Finds the next batch that has an item. Returns false at the end. */
static bool
more(struct iterator *iterator)
{
	if (iterator->deleted)
		return false;
	while (php_hone_walk_batch(&iterator->walk, NULL)) {
		filter(iterator);
		if (iterator->walk.n > 0)
			return true;
	}
	return false;
}

/* NULL at the end. The key may be gone since it was listed. */
static const struct php_hone_item *
listed(struct iterator *iterator)
{
	struct php_hone_walk *walk = &iterator->walk;

	if (walk->at >= walk->n && !more(iterator))
		return NULL;
	return &walk->items[walk->at];
}

/* Fetches the value of a listed item. Returns false if the key is gone: the
 * iterator is then at the next item; or if methods of the value have moved it.
 */
static bool
take_value(struct iterator *iterator, const struct php_hone_item *item)
{
	zend_string *key = zend_string_copy(item->key);
	uint32_t moves = iterator->moves;
	zval value;

	/* Stays undefined if the key is gone. A value that cannot be
	 * unserialized is null. */
	ZVAL_UNDEF(&value);
	iterator->fetching = true;
	php_hone_cache_peek(key, 0, &value);
	iterator->fetching = false;
	zend_string_release(key);
	if (iterator->moves != moves) {
		zval_ptr_dtor(&value);
		return false;
	}
	if (Z_ISUNDEF(value)) {
		advance(iterator);
		return false;
	}
	ZVAL_COPY_VALUE(&iterator->value, &value);
	return true;
}

/* NULL at the end. If the format has values, keys that are gone are skipped.
 * Methods of a value get items without values: they would run again. */
static const struct php_hone_item *
present(struct iterator *iterator)
{
	const struct php_hone_item *item;

	while ((item = listed(iterator)) != NULL &&
		(iterator->format & PHP_HONE_ITER_VALUE) &&
		Z_ISUNDEF(iterator->value) && !iterator->fetching) {
		if (!take_value(iterator, item) && EG(exception))
			return NULL;
	}
	return item;
}

/* Only strings can be keys of the cache, so an int never matches. */
static HashTable *
flip(HashTable *list)
{
	HashTable *table = zend_new_array(zend_hash_num_elements(list));
	zval *key, null;

	ZVAL_NULL(&null);
	ZEND_HASH_FOREACH_VAL(list, key)
	{
		ZVAL_DEREF(key);
		if (Z_TYPE_P(key) == IS_STRING)
			zend_hash_update(table, Z_STR_P(key), &null);
		else
			zend_hash_index_update(
				table, (zend_ulong)zval_get_long(key), &null);
	}
	ZEND_HASH_FOREACH_END();
	return table;
}

static bool
set_search(struct iterator *iterator, zval *search)
{
	if (search == NULL)
		return true;
	if (Z_TYPE_P(search) == IS_ARRAY) {
		iterator->search = flip(Z_ARRVAL_P(search));
	} else if (Z_TYPE_P(search) == IS_STRING && Z_STRLEN_P(search) > 0) {
		if (pcre_get_compiled_regex_cache(Z_STR_P(search)) == NULL) {
			php_error_docref(NULL, E_ERROR,
				"Could not compile regular expression: %s",
				Z_STRVAL_P(search));
			return false;
		}
		iterator->regex = zend_string_copy(Z_STR_P(search));
	}
	return true;
}

ZEND_METHOD(APCUIterator, __construct)
{
	struct iterator *iterator = iterator_of(Z_OBJ_P(ZEND_THIS));
	zend_long format = PHP_HONE_ITER_ALL, chunk_size = 0,
		  list = PHP_HONE_LIST_ACTIVE;
	zval *search = NULL;

	ZEND_PARSE_PARAMETERS_START(0, 4)
	Z_PARAM_OPTIONAL
	Z_PARAM_ZVAL(search)
	Z_PARAM_LONG(format)
	Z_PARAM_LONG(chunk_size)
	Z_PARAM_LONG(list)
	ZEND_PARSE_PARAMETERS_END();
	if (!php_hone_apcu_enabled()) {
		zend_throw_error(
			NULL, "APC must be enabled to use APCUIterator");
		return;
	}
	if (chunk_size < 0) {
		php_error_docref(NULL, E_ERROR,
			"APCUIterator chunk size must be 0 or greater");
		return;
	}
	if (format > PHP_HONE_ITER_ALL) {
		php_error_docref(
			NULL, E_ERROR, "APCUIterator format is invalid");
		return;
	}
	if (list != PHP_HONE_LIST_ACTIVE && list != PHP_HONE_LIST_DELETED) {
		php_error_docref(
			NULL, E_WARNING, "APCUIterator invalid list type");
		return;
	}
	if (iterator->constructed)
		return;
	iterator->format = format;
	iterator->deleted = list == PHP_HONE_LIST_DELETED;
	iterator->constructed = set_search(iterator, search);
}

static struct iterator *
constructed(zval *object)
{
	struct iterator *iterator = iterator_of(Z_OBJ_P(object));

	if (iterator->constructed)
		return iterator;
	zend_throw_error(NULL, "Trying to use uninitialized APCUIterator");
	return NULL;
}

/* The body of a method without arguments, for a constructed iterator. */
#define METHOD(name)                                                           \
	static void name##_of(struct iterator *iterator, zval *return_value);  \
	ZEND_METHOD(APCUIterator, name)                                        \
	{                                                                      \
		struct iterator *iterator;                                     \
                                                                               \
		ZEND_PARSE_PARAMETERS_NONE();                                  \
		iterator = constructed(ZEND_THIS);                             \
		if (iterator != NULL)                                          \
			name##_of(iterator, return_value);                     \
	}                                                                      \
	static void name##_of(struct iterator *iterator, zval *return_value)

METHOD(rewind)
{
	(void)return_value;
	reset(iterator);
	listed(iterator);
}

METHOD(valid)
{
	RETURN_BOOL(present(iterator) != NULL);
}

METHOD(key)
{
	const struct php_hone_item *item = present(iterator);

	if (item != NULL)
		RETURN_STR_COPY(item->key);
	if (!EG(exception))
		zend_throw_error(NULL, "Cannot call key() on invalid iterator");
}

METHOD(current)
{
	const struct php_hone_item *item = present(iterator);

	if (item != NULL)
		describe(
			return_value, item, iterator->format, &iterator->value);
	else if (!EG(exception))
		zend_throw_error(
			NULL, "Cannot call current() on invalid iterator");
}

METHOD(next)
{
	(void)return_value;
	if (present(iterator) != NULL)
		advance(iterator);
}

/* Uses a second walk, so that the iterator keeps its position. */
static void
total(struct iterator *iterator)
{
	struct php_hone_walk walk = {0};

	if (iterator->totalled)
		return;
	iterator->totalled = true;
	while (php_hone_walk_batch(&walk, NULL)) {
		for (uint32_t i = 0; i < walk.n; i++) {
			if (!matches(iterator, walk.items[i].key))
				continue;
			iterator->size += (zend_long)walk.items[i].size;
			iterator->hits += walk.items[i].hits;
			iterator->count++;
		}
	}
	php_hone_walk_reset(&walk);
}

#define TOTAL_METHOD(name, member)                                             \
	METHOD(name)                                                           \
	{                                                                      \
		total(iterator);                                               \
		RETURN_LONG(iterator->member);                                 \
	}

TOTAL_METHOD(getTotalHits, hits)
TOTAL_METHOD(getTotalSize, size)
TOTAL_METHOD(getTotalCount, count)

bool
php_hone_apcu_iterator_delete(zval *object)
{
	struct iterator *iterator;
	const struct php_hone_item *item;

	if (!instanceof_function(Z_OBJCE_P(object), iterator_class)) {
		php_error_docref(NULL, E_ERROR,
			"apc_delete object argument must be instance of "
			"APCUIterator.");
		return false;
	}
	iterator = constructed(object);
	if (iterator == NULL)
		return false;
	/* Without a look at the values. */
	while ((item = listed(iterator)) != NULL) {
		php_hone_cache_delete(item->key);
		advance(iterator);
	}
	return true;
}
