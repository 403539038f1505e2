/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_VALUES_GRAPH_H
#define PHP_HONE_VALUES_GRAPH_H
/*
 * A value with objects is stored as an array, the *directory*:
 *
 *	[value, objects, arrays, shapes, depth]
 *
 * `objects` is the list of the objects in the order in which serialize() meets
 * them. Each is a *node*, a list:
 *
 *	[shape, dynamic properties or null, declared properties ...]
 *
 * A declared property that has no value is undefined. A *shape*, one for each
 * class, is the list
 *
 *	[name of the class, number of the shape, whether it is an enum,
 *	 names of the declared properties as PHP mangles them ...]
 *
 * `arrays` is the list of the arrays that have an object at any depth, or null.
 * Each array comes after the arrays in it.
 *
 * In place of an object, or of such an array, the data has a *marker*: type
 * IS_OBJECT, not counted, and the number of the object, or the complement of
 * the number of the array. So no other structure changes: a marker is not a
 * pointer, and readers share all other arrays, which are immutable.
 */
#include "layout.h"

/* The elements of a directory. */
enum {
	PHP_HONE_VALUE_AT,
	PHP_HONE_OBJECTS_AT,
	PHP_HONE_ARRAYS_AT,
	PHP_HONE_SHAPES_AT, /* the number of shapes */
	PHP_HONE_DEPTH_AT,  /* counted as for unserialize_max_depth */
	PHP_HONE_DIRECTORY
};

/* The elements of a node. */
enum { PHP_HONE_NODE_SHAPE, PHP_HONE_NODE_PROPERTIES, PHP_HONE_NODE_HEAD };

/* The elements of a shape. */
enum {
	PHP_HONE_SHAPE_CLASS,
	PHP_HONE_SHAPE_NUMBER,
	PHP_HONE_SHAPE_ENUM,
	PHP_HONE_SHAPE_HEAD
};

/*
 * Objects have nodes if unserialize() makes them without calling code of the
 * class.
 */

/* PHP would initialize the lazy objects of PHP 8.4. */
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

/* Whether objects of the class may have dynamic properties. */
static zend_always_inline bool
php_hone_class_is_loose(const zend_class_entry *class)
{
	return (class->ce_flags & ZEND_ACC_ALLOW_DYNAMIC_PROPERTIES) != 0 ||
	       class == zend_standard_class_def;
}

/*
 * Whether the class has neither methods of serialization nor handlers in C. In
 * a fetch, the class may differ from the stored one of the same name.
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
