/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALUE_READ_H
#define VALUE_READ_H
/* Reads a stored value as PHP and a fetch read it, without a running PHP. Ends
 * the program if the value is not as they expect it. */
#include "layout.h"

/* A condition that must hold. */
void value_must(bool good);

/* `bytes` have pointers for TEXT_BASE. `graph`: a directory of objects. */
void value_read(const unsigned char *bytes, const zval *root, bool graph);

#endif
