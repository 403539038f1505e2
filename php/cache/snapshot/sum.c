/* SPDX-License-Identifier: BSD-3-Clause */
/* The checksum is from PHP's extension hash, which every PHP has. It does not
 * protect against forgery. */
#include "snapshot.h"
#include "ext/hash/php_hash.h"

static const php_hash_ops *ops;

void
php_hone_sum_begin(struct php_hone_sum *sum)
{
	if (ops == NULL) {
		zend_string *name = zend_string_init(ZEND_STRL("xxh64"), 0);
		ops = php_hash_fetch_ops(name);
		zend_string_release_ex(name, 0);
	}
	/* PHP 8.1 and later have this hash. */
	ZEND_ASSERT(ops != NULL && ops->context_size <= sizeof sum->context &&
		    ops->digest_size == sizeof(uint64_t));
	memset(sum, 0, sizeof *sum);
	ops->hash_init(sum->context, NULL);
}

void
php_hone_sum_add(struct php_hone_sum *sum, const void *bytes, size_t size)
{
	ops->hash_update(sum->context, bytes, size);
}

uint64_t
php_hone_sum_end(struct php_hone_sum *sum)
{
	unsigned char digest[sizeof(uint64_t)];
	uint64_t number = 0;

	ops->hash_final(digest, sum->context);
	for (unsigned i = 0; i < sizeof digest; i++)
		number = number << 8 | digest[i];
	return number;
}

uint64_t
php_hone_sum_of(const void *bytes, size_t size)
{
	struct php_hone_sum sum;

	php_hone_sum_begin(&sum);
	php_hone_sum_add(&sum, bytes, size);
	return php_hone_sum_end(&sum);
}
