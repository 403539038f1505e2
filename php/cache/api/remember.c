/* SPDX-License-Identifier: BSD-3-Clause */
/* If a value is missing, one process computes it, while others get the old
 * value or wait. The callback runs without a mutex, and may use the cache. */
#include "../cache.h"

/* After this time, other processes compute the value, too. */
#define CLAIM_SECONDS 60

static void
unclaim(zend_string *key)
{
	struct php_hone_key of = php_hone_key_of(key);

	php_hone_store_unclaim(&HONE_G(cache).member, &of);
}

/* After a fatal error, the memory of PHP is still valid. */
void
php_hone_claims_end(void)
{
	for (struct php_hone_claim *claim = HONE_G(cache).claims; claim != NULL;
		claim = claim->next)
		unclaim(claim->key);
	HONE_G(cache).claims = NULL;
}

/* Fibers may end in another order than they began. */
static void
forget_claim(const struct php_hone_claim *claim)
{
	struct php_hone_claim **at = &HONE_G(cache).claims;

	while (*at != NULL && *at != claim)
		at = &(*at)->next;
	if (*at != NULL)
		*at = claim->next;
}

static bool
call(const struct php_hone_remember *how, zend_string *key, zval *value)
{
	zval argument;

	ZVAL_STR_COPY(&argument, key);
	how->fci->retval = value;
	how->fci->param_count = 1;
	how->fci->params = &argument;
	zend_call_function(how->fci, how->fcc);
	zval_ptr_dtor(&argument);
	if (EG(exception) || Z_ISUNDEF_P(value)) {
		zval_ptr_dtor(value);
		ZVAL_NULL(value);
		return false;
	}
	if (Z_ISREF_P(value))
		zend_unwrap_reference(value);
	return true;
}

static void
compute(const struct php_hone_remember *how, zend_string *key, bool claimed,
	zval *value)
{
	struct php_hone_claim *claim = NULL;
	bool done = false;

	if (claimed) {
		claim = emalloc(sizeof *claim);
		claim->key = zend_string_copy(key);
		claim->next = HONE_G(cache).claims;
		HONE_G(cache).claims = claim;
	}
	if (call(how, key, value)) {
		done = php_hone_cache_store(key, value, &how->write);
		/* __serialize() may have thrown. */
		if (EG(exception)) {
			zval_ptr_dtor(value);
			ZVAL_NULL(value);
		}
	}
	if (claimed) {
		forget_claim(claim);
		if (!done)
			unclaim(key);
		zend_string_release(claim->key);
		efree(claim);
	}
}

void
php_hone_cache_remember(
	zend_string *key, const struct php_hone_remember *how, zval *value)
{
	struct php_hone_member *member = php_hone_cache_open();
	int64_t now, until = 0;
	struct php_hone_key of = php_hone_key_of(key);
	int error;

	if (member == NULL) {
		call(how, key, value);
		return;
	}
	if (php_hone_cache_fetch(key, value) || EG(exception))
		return;
	for (;;) {
		error = php_hone_cache_result(member,
			php_hone_store_claim(member, &of, CLAIM_SECONDS));
		if (error != -EBUSY)
			break;
		if (how->grace > 0 &&
			php_hone_cache_peek(key, how->grace, value))
			return;
		now = php_hone_store_milliseconds();
		if (until == 0)
			until = now + how->wait_ms;
		if (EG(exception) || now >= until)
			break;
		error = php_hone_store_wait(
			member, &of, (unsigned)(until - now));
		if (php_hone_cache_peek(key, 0, value) || EG(exception))
			return;
		/* The process that computes the value waits for this thread. */
		if (error == -EDEADLK)
			break;
	}
	/* The owner of the earlier claim may have stored the value between the
	 * fetch and this claim. */
	if (error == 0 && (php_hone_cache_peek(key, 0, value) || EG(exception)))
		unclaim(key);
	else if (!EG(exception))
		compute(how, key, error == 0, value);
}
