/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes ints in place. */
#include "../cache.h"

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
