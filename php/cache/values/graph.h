/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_VALUES_GRAPH_H
#define PHP_HONE_VALUES_GRAPH_H
/*
 * Values with objects. Their data is that of an array, the *directory*:
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
 * `arrays` is the list of the arrays below which there is an object, each
 *behind those in it, or null.
 *
 * Where a value is an object, or such an array, the data has a *marker*: type
 * IS_OBJECT, not counted, and the number of the object, or the complement of
 * the number of the array. So no other structure changes: a marker
 * is not a pointer, and all other arrays are immutable ones that readers share.
 */
#include "layout.h"

/* The elements of a directory. */
enum {
	PHP_HONE_VALUE_AT,
	PHP_HONE_OBJECTS_AT,
	PHP_HONE_ARRAYS_AT,
	PHP_HONE_SHAPES_AT, /* how many there are */
	PHP_HONE_DEPTH_AT,  /* as unserialize_max_depth counts */
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

#endif
