/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_VALUES_CLASSES_H
#define PHP_HONE_VALUES_CLASSES_H
/* Objects that are stored as they are: those that unserialize() makes without
 * calling code of the class. */
#include "php.h"

/* PHP 8.4 has lazy objects, which PHP would initialize. */
static zend_always_inline bool
php_hone_object_is_plain(const zend_object *object)
{
#ifdef IS_OBJ_LAZY_UNINITIALIZED
	if (OBJ_EXTRA_FLAGS(object) &
		(IS_OBJ_LAZY_UNINITIALIZED | IS_OBJ_LAZY_PROXY))
		return false;
#endif
	return object->handlers == zend_get_std_object_handlers() ||
	       (object->ce->ce_flags & ZEND_ACC_ENUM);
}

static inline bool
php_hone_class_has(const zend_class_entry *class, const char *name, size_t len)
{
	return zend_hash_str_exists(&class->function_table, name, len);
}

/* Whether its objects may have dynamic properties. */
static zend_always_inline bool
php_hone_class_is_loose(const zend_class_entry *class)
{
	return (class->ce_flags & ZEND_ACC_ALLOW_DYNAMIC_PROPERTIES) != 0 ||
	       class == zend_standard_class_def;
}

/*
 * Neither methods of serialization nor code in C take part. The class may be
 * one of another process' with the same name.
 */
static inline bool
php_hone_class_is_plain(const zend_class_entry *class)
{
	if (class->ce_flags & ZEND_ACC_ENUM)
		return class->type == ZEND_USER_CLASS;
	if (class == zend_standard_class_def)
		return true;
	return class->type == ZEND_USER_CLASS && class->create_object == NULL &&
	       class->serialize == NULL && class->unserialize == NULL &&
	       class->__serialize == NULL && class->__unserialize == NULL &&
	       !(class->ce_flags &
		       (ZEND_ACC_NOT_SERIALIZABLE | ZEND_ACC_ANON_CLASS |
			       ZEND_ACC_INTERFACE | ZEND_ACC_TRAIT |
			       ZEND_ACC_EXPLICIT_ABSTRACT_CLASS |
			       ZEND_ACC_IMPLICIT_ABSTRACT_CLASS)) &&
	       (class->ce_flags & ZEND_ACC_LINKED) &&
	       !php_hone_class_has(class, "__sleep", 7) &&
	       !php_hone_class_has(class, "__wakeup", 8);
}

#endif
