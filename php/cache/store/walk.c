/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All entries, bucket by bucket. The cursor is the number of the shard in the
 * high half, and that of the bucket in the low one.
 */
#include "epoch.h"
#include "index.h"

struct walk {
	struct php_hone_member *member;
	uint32_t now;
	bool (*visit)(const struct php_hone_entry *entry, void *opaque);
	void *opaque;
};

static bool
visit_chain(const struct walk *walk, uint32_t at)
{
	struct php_hone_member *member = walk->member;
	bool more = true;
	while (at != 0) {
		const struct php_hone_entry *entry =
			php_hone_seen_at(member->store, at);
		if (entry->kind == PHP_HONE_VALUE &&
			!php_hone_expired(entry, walk->now) &&
			(entry->n_tags == 0 ||
				php_hone_tags_valid(member, entry)))
			more = walk->visit(entry, walk->opaque) && more;
		at = php_hone_follow(&entry->next);
	}
	return more;
}

void
php_hone_store_walk(struct php_hone_member *member, uint64_t *cursor,
	bool (*visit)(const struct php_hone_entry *entry, void *opaque),
	void *opaque)
{
	const struct php_hone_store *store = member->store;
	struct walk walk = {member, php_hone_store_now(store), visit, opaque};
	bool more = true;
	while (more && *cursor != UINT64_MAX) {
		struct php_hone_place place = {
			(unsigned)(*cursor >> 32), (uint32_t)*cursor};
		if (place.shard >= store->n_shards) {
			*cursor = UINT64_MAX;
			return;
		}
		*cursor = place.bucket < store->bucket_mask
				  ? *cursor + 1
				  : (uint64_t)(place.shard + 1) << 32;
		/* Most buckets are empty: no fetch begins for those. */
		const uint32_t *bucket = php_hone_bucket(store, place);
		if (php_hone_follow(bucket) == 0)
			continue;
		php_hone_fetch_begin(member);
		php_hone_fetch_narrow(member,
			php_hone_busy_bucket(place.shard, place.bucket));
		more = visit_chain(&walk, php_hone_follow(bucket));
		php_hone_fetch_end(member);
	}
}
