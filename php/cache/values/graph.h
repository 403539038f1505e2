/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_VALUES_GRAPH_H
#define PHP_HONE_VALUES_GRAPH_H
/*
 * A value with objects is stored as an array, the *directory*:
 *
 *	[value, objects, arrays, shapes, depth, calls]
 *
 * `objects` is the list of the objects in the order of serialize(). Each is a
 * *node*, a list:
 *
 *	[shape, dynamic properties or null, declared properties ...]
 *
 * A declared property that has no value is undefined. If the class has
 * __serialize(), the node has the array that __serialize() returned in place of
 * the dynamic properties, and no declared ones. A *shape*, one for each class,
 * is the list
 *
 *	[name of the class, number of the shape, its kind,
 *	 names of the declared properties as PHP mangles them ...]
 *
 * `calls` is null, or the list of the numbers of the objects whose
 * __unserialize() or __wakeup() is called, in the order of unserialize(): an
 * object comes after the objects in it.
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
	PHP_HONE_CALLS_AT,
	PHP_HONE_DIRECTORY
};

/* The elements of a node. */
enum { PHP_HONE_NODE_SHAPE, PHP_HONE_NODE_PROPERTIES, PHP_HONE_NODE_HEAD };

/* The elements of a shape. */
enum {
	PHP_HONE_SHAPE_CLASS,
	PHP_HONE_SHAPE_NUMBER,
	PHP_HONE_SHAPE_KIND,
	PHP_HONE_SHAPE_HEAD
};

/* Kinds of classes, as bits. */
#define PHP_HONE_KIND_ENUM 1
/* The class has __serialize() and __unserialize(). */
#define PHP_HONE_KIND_DATA 2
/* A fetch calls __wakeup(). */
#define PHP_HONE_KIND_WAKEUP 4
/* Only serialize() and unserialize() can store the objects. */
#define PHP_HONE_KIND_OPAQUE 8
/* __sleep() chooses the properties. No shape has this bit: unserialize() does
 * not call __sleep(). */
#define PHP_HONE_KIND_SLEEP 16
/* The object of a class of the kind DATA has an answer that needs no call:
 * php_hone_date_is_plain(). No class has this bit. */
#define PHP_HONE_KIND_DATE 32

/* PHP would initialize the lazy objects of PHP 8.4. */
static zend_always_inline bool
php_hone_object_is_lazy(const zend_object *object)
{
#ifdef IS_OBJ_LAZY_UNINITIALIZED
	return (OBJ_EXTRA_FLAGS(object) &
		       (IS_OBJ_LAZY_UNINITIALIZED | IS_OBJ_LAZY_PROXY)) != 0;
#else
	(void)object;
	return false;
#endif
}

/* Whether the object has only properties, and no handlers in C. */
static zend_always_inline bool
php_hone_object_is_plain(const zend_object *object)
{
	return !php_hone_object_is_lazy(object) &&
	       (object->handlers == zend_get_std_object_handlers() ||
		       (object->ce->ce_flags & ZEND_ACC_ENUM));
}

/* The place of a class in builder->met_classes.known. */
static zend_always_inline struct php_hone_class *
php_hone_class_place(
	struct php_hone_builder *builder, const zend_class_entry *class)
{
	uint64_t bits = (uintptr_t) class * UINT64_C(0x9e3779b97f4a7c15);

	return &builder->met_classes.known[(bits >> 32) % PHP_HONE_CLASSES];
}

/* Whether the builder knows the class of the object, and the object is of a
 * class without methods that a store calls. */
static zend_always_inline bool
php_hone_object_is_silent(
	struct php_hone_builder *builder, const zend_object *object)
{
	const struct php_hone_class *known =
		php_hone_class_place(builder, object->ce);

	return known->class == object->ce && known->silent &&
	       php_hone_object_is_plain(object) &&
	       (object->properties == NULL || known->loose);
}

/* Whether objects of the class may have dynamic properties. */
static zend_always_inline bool
php_hone_class_is_loose(const zend_class_entry *class)
{
	return (class->ce_flags & ZEND_ACC_ALLOW_DYNAMIC_PROPERTIES) != 0 ||
	       class == zend_standard_class_def;
}

/* The kind of a class. In a fetch, the class may differ from the stored one of
 * the same name. */
static inline uint32_t
php_hone_class_kind(const zend_class_entry *class)
{
	uint32_t kind = 0;

	if (class->ce_flags & ZEND_ACC_ENUM)
		return class->type == ZEND_USER_CLASS ? PHP_HONE_KIND_ENUM
						      : PHP_HONE_KIND_OPAQUE;
	if (class == zend_standard_class_def)
		return 0;
	if (!(class->ce_flags & ZEND_ACC_LINKED) ||
		(class->ce_flags &
			(ZEND_ACC_NOT_SERIALIZABLE | ZEND_ACC_ANON_CLASS |
				ZEND_ACC_INTERFACE | ZEND_ACC_TRAIT |
				ZEND_ACC_EXPLICIT_ABSTRACT_CLASS |
				ZEND_ACC_IMPLICIT_ABSTRACT_CLASS)))
		return PHP_HONE_KIND_OPAQUE;
	if (class->__serialize != NULL && class->__unserialize != NULL)
		return PHP_HONE_KIND_DATA;
	if (class->type != ZEND_USER_CLASS || class->create_object != NULL ||
		class->serialize != NULL || class->unserialize != NULL ||
		class->__serialize != NULL || class->__unserialize != NULL)
		return PHP_HONE_KIND_OPAQUE;
	if (zend_hash_str_exists(&class->function_table, ZEND_STRL("__sleep")))
		kind |= PHP_HONE_KIND_SLEEP;
	if (zend_hash_str_exists(&class->function_table, ZEND_STRL("__wakeup")))
		kind |= PHP_HONE_KIND_WAKEUP;
	return kind;
}

#endif
