/* SPDX-License-Identifier: BSD-3-Clause */
/* The class Hone\CacheEntries: an iterator over keys; and the names of results.
 */
#include "../cache.h"
#include "names.h"
#include "zend_interfaces.h"

zend_string *php_hone_names[PHP_HONE_NAME_COUNT];

static const char *const names[] = {
#define NAME(name) #name,
	PHP_HONE_NAMES(NAME)
#undef NAME
};

struct entries {
	struct php_hone_walk walk;
	zend_string *prefix;
	bool started;
	zend_object std;
};

static zend_class_entry *entries_class;
static zend_object_handlers entries_handlers;

static struct entries *
entries_of(zend_object *object)
{
	return (struct entries *)((char *)object -
				  offsetof(struct entries, std));
}

static zend_object *
create(zend_class_entry *class)
{
	struct entries *entries = zend_object_alloc(sizeof *entries, class);

	zend_object_std_init(&entries->std, class);
	entries->std.handlers = &entries_handlers;
	return &entries->std;
}

static void
destroy(zend_object *object)
{
	struct entries *entries = entries_of(object);

	php_hone_walk_reset(&entries->walk);
	if (entries->prefix != NULL)
		zend_string_release(entries->prefix);
	zend_object_std_dtor(object);
}

void
php_hone_entries_minit(zend_class_entry *class)
{
	for (unsigned i = 0; i < PHP_HONE_NAME_COUNT; i++)
		php_hone_names[i] = zend_string_init_interned(
			names[i], strlen(names[i]), true);
	entries_class = class;
	class->create_object = create;
	memcpy(&entries_handlers, &std_object_handlers,
		sizeof entries_handlers);
	entries_handlers.offset = offsetof(struct entries, std);
	entries_handlers.free_obj = destroy;
	entries_handlers.clone_obj = NULL;
}

void
php_hone_entries_new(zval *object, zend_string *prefix)
{
	object_init_ex(object, entries_class);
	entries_of(Z_OBJ_P(object))->prefix = zend_string_copy(prefix);
}

static void
rewind_entries(struct entries *entries)
{
	php_hone_walk_reset(&entries->walk);
	entries->started = true;
	php_hone_walk_batch(&entries->walk, entries->prefix);
}

static const struct php_hone_item *
present(zval *object)
{
	struct entries *entries = entries_of(Z_OBJ_P(object));

	if (!entries->started)
		rewind_entries(entries);
	return entries->walk.at < entries->walk.n
		       ? &entries->walk.items[entries->walk.at]
		       : NULL;
}

ZEND_METHOD(Hone_CacheEntries, __construct)
{
	ZEND_PARSE_PARAMETERS_NONE();
}

ZEND_METHOD(Hone_CacheEntries, rewind)
{
	ZEND_PARSE_PARAMETERS_NONE();
	rewind_entries(entries_of(Z_OBJ_P(ZEND_THIS)));
}

ZEND_METHOD(Hone_CacheEntries, valid)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_BOOL(present(ZEND_THIS) != NULL);
}

ZEND_METHOD(Hone_CacheEntries, key)
{
	const struct php_hone_item *item;

	ZEND_PARSE_PARAMETERS_NONE();
	item = present(ZEND_THIS);
	if (item != NULL)
		RETURN_STR_COPY(item->key);
}

ZEND_METHOD(Hone_CacheEntries, current)
{
	const struct php_hone_item *item;
	zval type;

	ZEND_PARSE_PARAMETERS_NONE();
	item = present(ZEND_THIS);
	if (item == NULL)
		return;
	array_init_size(return_value, 6);
	ZVAL_STRING(&type, item->flags & PHP_HONE_OBJECTS ? "objects"
			   : item->flags != 0
				   ? "serialized"
				   : zend_get_type_by_const(item->type));
	php_hone_named_add(return_value, PHP_HONE_NAME_type, &type);
#define ADD(name, number)                                                      \
	php_hone_named_add_long(return_value, PHP_HONE_NAME_##name, number)
	ADD(size, (zend_long)item->size);
	ADD(hits, item->hits);
	ADD(created, item->created);
	ADD(expires, item->expires);
	ADD(tags, item->n_tags);
#undef ADD
}

ZEND_METHOD(Hone_CacheEntries, next)
{
	struct entries *entries = entries_of(Z_OBJ_P(ZEND_THIS));

	ZEND_PARSE_PARAMETERS_NONE();
	if (present(ZEND_THIS) != NULL && ++entries->walk.at == entries->walk.n)
		php_hone_walk_batch(&entries->walk, entries->prefix);
}
