/* SPDX-License-Identifier: BSD-3-Clause */
/* Ints that are changed in place. */
#include "cache.h"

struct change {
	zend_long step, old, result;
	bool compare;
};

/* Called with the mutex of the key's shard. */
static bool
change(const struct php_hone_entry *entry, uint64_t *to, void *opaque)
{
	struct change *change = opaque;
	zend_long now = (zend_long)entry->value[0];

	if ((uint8_t)entry->value[1] != IS_LONG || entry->flags != 0)
		return false;
	if (change->compare && now != change->old)
		return false;
	/* Wraps, as in APCu. */
	change->result = change->compare
				 ? change->step
				 : (zend_long)((zend_ulong)now +
					       (zend_ulong)change->step);
	*to = (uint64_t)change->result;
	return true;
}

bool
php_hone_cache_add_to(
	zend_string *key, zend_long step, zend_long ttl, zend_long *result)
{
	struct php_hone_write how = {.how = PHP_HONE_ADD, .ttl = ttl};
	struct change wanted = {.step = step};
	struct php_hone_member *member = php_hone_cache_open();
	struct php_hone_key of;
	zval first;
	int error;

	if (member == NULL)
		return false;
	php_hone_key_of(&of, key);
	error = php_hone_store_change(member, &of, change, &wanted);
	if (error == -ENOENT) {
		ZVAL_LONG(&first, step);
		if (php_hone_cache_store(key, &first, &how)) {
			*result = step;
			return ttl >= 0;
		}
		/* Another process may have made it meanwhile. */
		error = php_hone_store_change(member, &of, change, &wanted);
	}
	*result = wanted.result;
	return error == 0;
}

bool
php_hone_cache_cas(zend_string *key, zend_long old, zend_long new_value)
{
	struct change wanted = {
		.step = new_value,
		.old = old,
		.compare = true,
	};
	struct php_hone_member *member = php_hone_cache_open();
	struct php_hone_key of;

	if (member == NULL)
		return false;
	php_hone_key_of(&of, key);
	return php_hone_store_change(member, &of, change, &wanted) == 0;
}
