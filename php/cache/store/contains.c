/* SPDX-License-Identifier: BSD-3-Clause */
#include "inner.h"

bool
php_hone_store_contains(const struct php_hone_store *store, const void *address)
{
	uintptr_t at = (uintptr_t)address;

	return at - (uintptr_t)store->ro < store->size ||
	       at - (uintptr_t)store->rw < store->size;
}
