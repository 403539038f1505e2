/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mutex of a shard. It is robust: if its owner dies, the kernel marks it,
 * and the next owner puts the shard in order before it does anything else. If
 * that process dies as well, the mark stays.
 */
#include <assert.h>
#include "inner.h"

static void
have(struct php_hone_member *member, unsigned i, int error)
{
	struct php_hone_shard *shard = php_hone_shard_at(member->store, i);
	if (error == EOWNERDEAD) {
		php_hone_recover(member->store, shard);
		pthread_mutex_consistent(&shard->mutex);
	}
	member->locked |= 1u << i;
}

void
php_hone_lock(struct php_hone_member *member, unsigned i)
{
	struct php_hone_shard *shard = php_hone_shard_at(member->store, i);
	assert((member->locked & 1u << i) == 0);
	int error = pthread_mutex_lock(&shard->mutex);
	assert(error == 0 || error == EOWNERDEAD);
	have(member, i, error);
}

bool
php_hone_trylock(struct php_hone_member *member, unsigned i)
{
	struct php_hone_shard *shard = php_hone_shard_at(member->store, i);
	int error = pthread_mutex_trylock(&shard->mutex);
	if (error != 0 && error != EOWNERDEAD)
		return false;
	have(member, i, error);
	return true;
}

void
php_hone_unlock(struct php_hone_member *member, unsigned i)
{
	member->locked &= ~(1u << i);
	pthread_mutex_unlock(&php_hone_shard_at(member->store, i)->mutex);
}

void
php_hone_settle(struct php_hone_member *member)
{
	if (member->reserved != NULL)
		php_hone_store_cancel(member, member->reserved);
}
