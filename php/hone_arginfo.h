/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: e541336be2aae8fdbc2e6487ce5d6f0e13a3c8b2 */

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Hone_Cache___construct, 0, 0, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_Cache_enabled, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_Cache_fetch, 0, 1, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, default, IS_MIXED, 0, "null")
	ZEND_ARG_INFO_WITH_DEFAULT_VALUE(1, found, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_Cache_fetch_multi, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, keys, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_Cache_fetch_field, 0, 2, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_MASK(0, path, MAY_BE_ARRAY|MAY_BE_STRING|MAY_BE_LONG, NULL)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, default, IS_MIXED, 0, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_Cache_store, 0, 2, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, value, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, ttl, IS_LONG, 0, "0")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, tags, IS_ARRAY, 0, "[]")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_Cache_store_multi, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, values, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, ttl, IS_LONG, 0, "0")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, tags, IS_ARRAY, 0, "[]")
ZEND_END_ARG_INFO()

#define arginfo_class_Hone_Cache_add arginfo_class_Hone_Cache_store

#define arginfo_class_Hone_Cache_replace arginfo_class_Hone_Cache_store

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_Cache_delete, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_Cache_delete_multi, 0, 1, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, keys, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_Cache_delete_prefix, 0, 1, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, prefix, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_Cache_invalidate_tag, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, tag, IS_STRING, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Hone_Cache_exists arginfo_class_Hone_Cache_delete

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Hone_Cache_inc, 0, 1, MAY_BE_LONG|MAY_BE_FALSE)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, step, IS_LONG, 0, "1")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, ttl, IS_LONG, 0, "0")
ZEND_END_ARG_INFO()

#define arginfo_class_Hone_Cache_dec arginfo_class_Hone_Cache_inc

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_Cache_cas, 0, 3, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, old, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, new, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_Cache_remember, 0, 3, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, ttl, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, compute, IS_CALLABLE, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, grace, IS_LONG, 0, "0")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, wait, IS_DOUBLE, 0, "5.0")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, tags, IS_ARRAY, 0, "[]")
ZEND_END_ARG_INFO()

#define arginfo_class_Hone_Cache_clear arginfo_class_Hone_Cache_enabled

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_Cache_save, 0, 0, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, path, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_Cache_load, 0, 1, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, path, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Hone_Cache_entries, 0, 0, Hone\\CacheEntries, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, prefix, IS_STRING, 0, "\"\"")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_Cache_info, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_Cache_memory_map, 0, 0, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, parts, IS_LONG, 0, "1024")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_Cache_metrics, 0, 0, IS_STRING, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Hone_CacheEntries___construct arginfo_class_Hone_Cache___construct

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_CacheEntries_current, 0, 0, IS_MIXED, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Hone_CacheEntries_key arginfo_class_Hone_CacheEntries_current

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hone_CacheEntries_next, 0, 0, IS_VOID, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Hone_CacheEntries_rewind arginfo_class_Hone_CacheEntries_next

#define arginfo_class_Hone_CacheEntries_valid arginfo_class_Hone_Cache_enabled


ZEND_METHOD(Hone_Cache, __construct);
ZEND_METHOD(Hone_Cache, enabled);
ZEND_METHOD(Hone_Cache, fetch);
ZEND_METHOD(Hone_Cache, fetch_multi);
ZEND_METHOD(Hone_Cache, fetch_field);
ZEND_METHOD(Hone_Cache, store);
ZEND_METHOD(Hone_Cache, store_multi);
ZEND_METHOD(Hone_Cache, add);
ZEND_METHOD(Hone_Cache, replace);
ZEND_METHOD(Hone_Cache, delete);
ZEND_METHOD(Hone_Cache, delete_multi);
ZEND_METHOD(Hone_Cache, delete_prefix);
ZEND_METHOD(Hone_Cache, invalidate_tag);
ZEND_METHOD(Hone_Cache, exists);
ZEND_METHOD(Hone_Cache, inc);
ZEND_METHOD(Hone_Cache, dec);
ZEND_METHOD(Hone_Cache, cas);
ZEND_METHOD(Hone_Cache, remember);
ZEND_METHOD(Hone_Cache, clear);
ZEND_METHOD(Hone_Cache, save);
ZEND_METHOD(Hone_Cache, load);
ZEND_METHOD(Hone_Cache, entries);
ZEND_METHOD(Hone_Cache, info);
ZEND_METHOD(Hone_Cache, memory_map);
ZEND_METHOD(Hone_Cache, metrics);
ZEND_METHOD(Hone_CacheEntries, __construct);
ZEND_METHOD(Hone_CacheEntries, current);
ZEND_METHOD(Hone_CacheEntries, key);
ZEND_METHOD(Hone_CacheEntries, next);
ZEND_METHOD(Hone_CacheEntries, rewind);
ZEND_METHOD(Hone_CacheEntries, valid);


static const zend_function_entry class_Hone_Cache_methods[] = {
	ZEND_ME(Hone_Cache, __construct, arginfo_class_Hone_Cache___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Hone_Cache, enabled, arginfo_class_Hone_Cache_enabled, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, fetch, arginfo_class_Hone_Cache_fetch, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, fetch_multi, arginfo_class_Hone_Cache_fetch_multi, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, fetch_field, arginfo_class_Hone_Cache_fetch_field, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, store, arginfo_class_Hone_Cache_store, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, store_multi, arginfo_class_Hone_Cache_store_multi, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, add, arginfo_class_Hone_Cache_add, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, replace, arginfo_class_Hone_Cache_replace, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, delete, arginfo_class_Hone_Cache_delete, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, delete_multi, arginfo_class_Hone_Cache_delete_multi, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, delete_prefix, arginfo_class_Hone_Cache_delete_prefix, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, invalidate_tag, arginfo_class_Hone_Cache_invalidate_tag, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, exists, arginfo_class_Hone_Cache_exists, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, inc, arginfo_class_Hone_Cache_inc, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, dec, arginfo_class_Hone_Cache_dec, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, cas, arginfo_class_Hone_Cache_cas, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, remember, arginfo_class_Hone_Cache_remember, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, clear, arginfo_class_Hone_Cache_clear, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, save, arginfo_class_Hone_Cache_save, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, load, arginfo_class_Hone_Cache_load, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, entries, arginfo_class_Hone_Cache_entries, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, info, arginfo_class_Hone_Cache_info, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, memory_map, arginfo_class_Hone_Cache_memory_map, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Hone_Cache, metrics, arginfo_class_Hone_Cache_metrics, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_FE_END
};


static const zend_function_entry class_Hone_CacheEntries_methods[] = {
	ZEND_ME(Hone_CacheEntries, __construct, arginfo_class_Hone_CacheEntries___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Hone_CacheEntries, current, arginfo_class_Hone_CacheEntries_current, ZEND_ACC_PUBLIC)
	ZEND_ME(Hone_CacheEntries, key, arginfo_class_Hone_CacheEntries_key, ZEND_ACC_PUBLIC)
	ZEND_ME(Hone_CacheEntries, next, arginfo_class_Hone_CacheEntries_next, ZEND_ACC_PUBLIC)
	ZEND_ME(Hone_CacheEntries, rewind, arginfo_class_Hone_CacheEntries_rewind, ZEND_ACC_PUBLIC)
	ZEND_ME(Hone_CacheEntries, valid, arginfo_class_Hone_CacheEntries_valid, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};

static zend_class_entry *register_class_Hone_Cache(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Hone", "Cache", class_Hone_Cache_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Hone_CacheEntries(zend_class_entry *class_entry_Iterator)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Hone", "CacheEntries", class_Hone_CacheEntries_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_Iterator);

	return class_entry;
}
