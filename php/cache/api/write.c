/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Store, delete, and ints that change in place. The steps of
 * php_hone_cache_store():
 *
 *	build    the form of the value: flat, a graph of objects, or a text
 *	reserve  a block of the store, which may evict others
 *	place    the data in the block
 *	publish  the entry
 *
 * Code of the user runs only in the first step.
 */
#include "../cache.h"
#include "zend_exceptions.h"
#include <ctype.h>

/* 68 years. A longer ttl means that the value never expires. */
#define TTL_MAX 0x7fffffff

#define TAGS_ON_STACK 16

void
php_hone_write_head(struct php_hone_entry *entry, zend_ulong hash, size_t len)
{
	zend_string *head = (zend_string *)entry->bytes;

	GC_SET_REFCOUNT(head, 2);
	GC_TYPE_INFO(head) = GC_STRING | (IS_STR_INTERNED << GC_FLAGS_SHIFT);
	ZSTR_H(head) = hash;
	ZSTR_LEN(head) = len;
}

/* What is stored under the key. */
struct form {
	const struct php_hone_value *copied; /* NULL: what the builder has */
	uint8_t flags;                       /* of the entry */
	/* of values with objects; undefined if nothing is held */
	zval held;                       /* the value, while its methods run */
	struct php_hone_answers answers; /* of its methods */
	zend_string *text;
};

/* Calls no function of PHP, which may leave by longjmp(). */
static int
reserve_place_publish(struct php_hone_member *member,
	const struct php_hone_room *room, const zend_string *key,
	const struct form *form, enum php_hone_publish how)
{
	const struct php_hone_builder *builder = &HONE_G(cache).builder;
	struct php_hone_entry *entry;
	zval root;
	int error = php_hone_store_reserve(member, room, &entry);

	if (error < 0)
		return error;
	ZVAL_COPY_VALUE(&root, &builder->root);
	if (room->data != 0 && EXPECTED(!room->cold)) {
		char *to = (char *)entry + entry->data_at;
		void *view = php_hone_store_view(member->store, to);
		if (UNEXPECTED(form->copied != NULL))
			php_hone_value_copy(form->copied, to, view, &root);
		else
			php_hone_value_place(builder, to, view, &root);
	}
	php_hone_set_root(entry, &root);
	if (UNEXPECTED(form->flags & PHP_HONE_COLD))
		php_hone_cold_place(entry, HONE_G(cache).cold.bytes.bytes,
			HONE_G(cache).cold.made);
	entry->flags = form->flags;
	php_hone_write_head(entry, ZSTR_H(key), ZSTR_LEN(key));
	return php_hone_store_publish(member, entry, how);
}

/* With html_errors, PHP writes these characters to the log as entities. A key
 * with a line feed would make a line of its own. */
void
php_hone_make_plain(char *text)
{
	for (; *text != '\0'; text++)
		if (iscntrl((unsigned char)*text) ||
			strchr("\"&<>", *text) != NULL)
			*text = '?';
}

/* A value was not stored. APCu then only returns false, and frameworks turn a
 * warning into an exception, so the functions of APCu write to the log. */
static ZEND_COLD void
tell(const struct php_hone_write *how, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	php_hone_make_plain(text);
	if (how->apcu)
		php_hone_pools_refused(&HONE_G(cache).member, text);
	else
		php_error_docref(NULL, E_WARNING, "%s", text);
}

static void
too_long(const struct php_hone_write *how, const char *what,
	const struct php_hone_key *key)
{
	tell(how,
		"A %s of the shared cache is limited to %d bytes: '%.40s...' "
		"has %zu",
		what, PHP_HONE_KEY_MOST, key->bytes, key->len);
}

bool
php_hone_cache_invalidate(zend_string *tag)
{
	struct php_hone_member *member = php_hone_cache_open();
	struct php_hone_key of = php_hone_key_of(tag);
	int error;

	if (member == NULL)
		return false;
	error = php_hone_cache_result(
		member, php_hone_store_invalidate_tag(member, &of));
	if (error == -EINVAL)
		too_long(&(const struct php_hone_write){0}, "tag", &of);
	return error == 0;
}

/* The larger number is rounded up, the smaller one down. */
static ZEND_COLD void
too_large(struct php_hone_member *member, const struct php_hone_room *room,
	const struct php_hone_write *how)
{
	const size_t tenth = (1 << 20) / 10;
	size_t needs = room->data + room->key->len, most;
	struct php_hone_store_info info;
	char advice[128];

	php_hone_store_info(member, &info);
	php_hone_pools_advise(needs, advice, sizeof advice);
	needs = needs / tenth + 1;
	most = info.largest_value / (tenth + 1);
	tell(how,
		"'%.100s' needs %zu.%zu MiB; a value of this cache may have "
		"%zu.%zu MiB: %s",
		room->key->bytes, needs / 10, needs % 10, most / 10, most % 10,
		advice);
}

static ZEND_COLD void
complain(int error, struct php_hone_member *member,
	const struct php_hone_room *room, const struct php_hone_write *how)
{
	const char *key = room->key->bytes;

	switch (error) {
	case -EEXIST:
	case -ENOENT:
		return;
	case -ETIMEDOUT:
		php_hone_pools_stopped(member);
		return;
	case -EFBIG:
		too_large(member, room, how);
		return;
	case -ENOMEM:
		tell(how, "No memory in the shared cache for '%.256s'", key);
		return;
	case -EINVAL:
		if (room->key->len > PHP_HONE_KEY_MOST) {
			too_long(how, "key", room->key);
			return;
		}
		for (unsigned i = 0; i < room->n_tags; i++)
			if (room->tags[i].len > PHP_HONE_KEY_MOST) {
				too_long(how, "tag", &room->tags[i]);
				return;
			}
		return;
	case -EBADMSG:
		tell(how,
			"The value of '%.256s' cannot be stored: a tag is no "
			"longer a string",
			key);
		return;
	default:
		tell(how, "The shared cache could not store '%.256s': %s", key,
			strerror(-error));
	}
}

/* Code of the user may have changed tags that are references, since the
 * arguments were checked. */
static bool
take_tags(struct php_hone_key *to, HashTable *tags)
{
	zval *tag;

	ZEND_HASH_FOREACH_VAL(tags, tag)
	{
		ZVAL_DEREF(tag);
		if (UNEXPECTED(Z_TYPE_P(tag) != IS_STRING))
			return false;
		*to++ = php_hone_key_of(Z_STR_P(tag));
	}
	ZEND_HASH_FOREACH_END();
	return true;
}

/* Returns false with a warning on failure. */
static bool
put(struct php_hone_member *member, zend_string *key, struct form *form,
	const struct php_hone_write *how)
{
	uint32_t n_tags =
		how->tags != NULL ? zend_hash_num_elements(how->tags) : 0;
	struct php_hone_key of = php_hone_key_of(key), few[TAGS_ON_STACK],
			    *tags = few;
	struct php_hone_room room = {
		.data = form->copied != NULL ? form->copied->size
					     : HONE_G(cache).builder.size,
		.key = &of,
		.ttl = how->ttl > TTL_MAX ? 0 : (uint32_t)how->ttl,
		.n_tags = n_tags,
	};
	int error = -EBADMSG;

	if ((form->copied != NULL ||
		    Z_TYPE(HONE_G(cache).builder.root) == IS_ARRAY) &&
		php_hone_cold_store(member, &room, form->copied,
			form->flags == PHP_HONE_OBJECTS)) {
		form->flags |= PHP_HONE_COLD;
		room.cold = true;
		room.data = HONE_G(cache).cold.bytes.used;
	}
	if (n_tags > TAGS_ON_STACK)
		tags = safe_emalloc(n_tags, sizeof *tags, 0);
	room.tags = tags;
	if (n_tags == 0 || take_tags(tags, how->tags))
		error = reserve_place_publish(
			member, &room, key, form, how->how);
	if (UNEXPECTED(member->evicted))
		php_hone_pools_evicted(member);
	if (UNEXPECTED(member->n_packs != 0))
		php_hone_cold_pack(member);
	if (UNEXPECTED(error < 0))
		complain(error, member, &room, how);
	if (tags != few)
		efree(tags);
	return error >= 0;
}

/* The value has expired already: the result is that of add() or replace(). */
static bool
store_nothing(zend_string *key, enum php_hone_publish how)
{
	if (how == PHP_HONE_ADD)
		return !php_hone_cache_exists(key);
	return php_hone_cache_delete(key) || how == PHP_HONE_STORE;
}

static ZEND_COLD void
refuse(const zend_string *key, enum php_hone_refused why,
	const struct php_hone_write *how)
{
	if (why == PHP_HONE_REFUSED_TOLD)
		return;
	if (how->apcu && why == PHP_HONE_REFUSED_CLOSURE)
		zend_throw_exception(
			NULL, "Serialization of 'Closure' is not allowed", 0);
	else
		tell(how,
			"The value of '%.256s' cannot be stored: it contains "
			"%s",
			ZSTR_VAL(key), php_hone_refused_text(why));
}

/* A method may assign to a reference to the value. */
static void
hold(struct form *form, const zval *value)
{
	if (Z_TYPE(form->held) == IS_UNDEF)
		ZVAL_COPY(&form->held, value);
}

/* This may run destructors. */
static void
release(struct form *form)
{
	php_hone_hooks_free(&form->answers);
	if (form->text != NULL)
		zend_string_release_ex(form->text, 0);
	zval_ptr_dtor(&form->held);
}

/* The methods of the objects run first, and the form holds their answers. */
static enum php_hone_built
build_graph(zend_string *key, zval *value, struct form *form)
{
	struct php_hone_builder *builder = &HONE_G(cache).builder;
	zend_ulong hash = ZSTR_HASH(key);
	zend_ulong *hooked = &HONE_G(cache).hooked[hash % PHP_HONE_HOOKED];
	enum php_hone_built built = PHP_HONE_BUILT_HOOKS;

	form->flags = PHP_HONE_OBJECTS;
	/* The value of a key often has what the last one had. */
	if (*hooked != hash)
		built = php_hone_value_build_objects(builder, value, NULL);
	if (built != PHP_HONE_BUILT_HOOKS)
		return built;
	hold(form, value);
	built = php_hone_hooks_run(&form->held, &form->answers);
	*hooked = form->answers.n != 0 ? hash : 0;
	if (built == PHP_HONE_BUILT_GRAPH)
		built = php_hone_value_build_objects(
			builder, &form->held, &form->answers);
	return built;
}

static enum php_hone_built
build_text(zval *value, struct form *form)
{
	struct php_hone_builder *builder = &HONE_G(cache).builder;
	zval text;

	hold(form, value);
	/* A destructor of an answer may throw. */
	php_hone_hooks_free(&form->answers);
	if (!EG(exception)) {
		if (php_hone_value_is_refused(builder, &form->held))
			return PHP_HONE_BUILT_REFUSED;
		form->text =
			php_hone_value_serialize(&form->held, &form->flags);
	}
	/* An exception or a warning has the reason. */
	builder->refused = PHP_HONE_REFUSED_TOLD;
	if (form->text == NULL)
		return PHP_HONE_BUILT_REFUSED;
	ZVAL_STR(&text, form->text);
	return php_hone_value_build(builder, &text);
}

/* serialize() would initialize the object, which may read a whole database. */
static bool
is_lazy(const zval *value)
{
#ifdef IS_OBJ_LAZY_UNINITIALIZED
	return Z_TYPE_P(value) == IS_OBJECT &&
	       (OBJ_EXTRA_FLAGS(Z_OBJ_P(value)) & IS_OBJ_LAZY_UNINITIALIZED);
#else
	(void)value;
	return false;
#endif
}

static enum php_hone_built
build_objects(zend_string *key, zval *value, const struct php_hone_write *how,
	struct form *form)
{
	enum php_hone_built built = PHP_HONE_BUILT_TEXT;

	/* APCu initializes a lazy object. */
	if (!how->apcu && is_lazy(value)) {
		HONE_G(cache).builder.refused = PHP_HONE_REFUSED_LAZY;
		return PHP_HONE_BUILT_REFUSED;
	}
	if (!HONE_G(cache).serialize_objects)
		built = build_graph(key, value, form);
	if (built == PHP_HONE_BUILT_TEXT)
		built = build_text(value, form);
	return built;
}

/* The value, if the request has fetched it, or NULL. */
static zend_always_inline const struct php_hone_value *
fetched(const zval *value, struct php_hone_value *stored)
{
	return Z_TYPE_P(value) == IS_ARRAY &&
			       UNEXPECTED(GC_FLAGS(Z_ARR_P(value)) &
					  IS_ARRAY_IMMUTABLE) &&
			       php_hone_cache_fetched(Z_ARR_P(value), stored)
		       ? stored
		       : NULL;
}

bool
php_hone_cache_store(
	zend_string *key, zval *value, const struct php_hone_write *how)
{
	struct php_hone_member *member = php_hone_cache_open();
	struct php_hone_builder *builder = &HONE_G(cache).builder;
	enum php_hone_built built = PHP_HONE_BUILT_FLAT;
	struct php_hone_value known;
	struct form form = {.flags = 0};
	bool stored = false;

	if (UNEXPECTED(member == NULL))
		return false;
	ZVAL_DEREF(value);
	if (UNEXPECTED(how->ttl < 0))
		return store_nothing(key, how->how);
	form.copied = fetched(value, &known);
	if (EXPECTED(form.copied == NULL))
		built = php_hone_value_build(builder, value);
	if (UNEXPECTED(built == PHP_HONE_BUILT_OBJECT))
		built = build_objects(key, value, how, &form);
	if (EXPECTED(built != PHP_HONE_BUILT_REFUSED))
		stored = put(member, key, &form, how);
	else
		refuse(key, builder->refused, how);
	if (UNEXPECTED(Z_TYPE(form.held) != IS_UNDEF))
		release(&form);
	return stored;
}

bool
php_hone_cache_delete(zend_string *key)
{
	struct php_hone_member *member = php_hone_cache_open();
	struct php_hone_key of = php_hone_key_of(key);

	if (member == NULL)
		return false;
	return php_hone_cache_result(
		       member, php_hone_store_delete(member, &of)) == 0;
}

bool
php_hone_cache_add_to(zend_string *key, zend_long step,
	const struct php_hone_write *how, zend_long *result)
{
	/* The sum wraps around, as in APCu. */
	struct php_hone_change wanted = {
		.type = IS_LONG,
		.by = (uint64_t)step,
	};
	struct php_hone_member *member = php_hone_cache_open();
	struct php_hone_key of = php_hone_key_of(key);
	zval first;
	int error;

	if (member == NULL)
		return false;
	error = php_hone_cache_result(
		member, php_hone_store_change(member, &of, &wanted));
	if (error == -ENOENT) {
		ZVAL_LONG(&first, step);
		if (php_hone_cache_store(key, &first, how)) {
			*result = step;
			return how->ttl >= 0;
		}
		/* Another process may have stored the key meanwhile. */
		error = php_hone_store_change(member, &of, &wanted);
	}
	*result = (zend_long)wanted.result;
	return error == 0;
}

bool
php_hone_cache_cas(zend_string *key, zend_long old, zend_long new_value)
{
	struct php_hone_change wanted = {
		.type = IS_LONG,
		.compare = true,
		.old = (uint64_t)old,
		.by = (uint64_t)new_value,
	};
	struct php_hone_member *member = php_hone_cache_open();
	struct php_hone_key of = php_hone_key_of(key);

	if (member == NULL)
		return false;
	return php_hone_cache_result(member,
		       php_hone_store_change(member, &of, &wanted)) == 0;
}
