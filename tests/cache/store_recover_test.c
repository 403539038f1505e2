/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the next owner of a mutex finds, made by hand: steps that a kill at a
 * random instruction seldom meets.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "store_pair.h"
#include "arena.h"
#include "index.h"

static void
recover(void)
{
	php_hone_lock(&writer, 0);
	php_hone_recover(writer.store, php_hone_shard_at(writer.store, 0));
	php_hone_unlock(&writer, 0);
}

/* A writer that was killed after it unlinked an entry, and before it retired
 * the entry. */
PAIR_TEST(what_a_dead_writer_unlinked_stays)
{
	assert_int_equal(put(&writer, "k", 1, 5000), 0);
	php_hone_member_pin(&reader);
	struct php_hone_key key = key_of("k");
	const struct php_hone_entry *entry = find_key(&reader, &key);
	assert_non_null(entry);
	uint32_t *link = php_hone_link_of(
		writer.store, php_hone_offset(writer.store, entry));
	assert_non_null(link);
	php_hone_link(link, entry->next);
	recover();
	uint64_t number = 0;
	assert_int_equal(get(&writer, "k", &number), -ENOENT);
	for (unsigned i = 0; i < 20000; i++) {
		char name[16];
		snprintf(name, sizeof name, "%u", i);
		assert_int_equal(put(&writer, name, i, 300), 0);
	}
	assert_true(is_whole(entry, &number));
	assert_int_equal(number, 1);
	php_hone_member_unpin(&reader);
}

/* The slot of a member has a block until its entry is published. */
PAIR_TEST(reservations_end_when_they_are_published)
{
	struct php_hone_key key = key_of("large");
	struct php_hone_room room = {.key = &key, .data = 40000};
	struct php_hone_entry *entry;
	uint64_t number = 0;
	assert_int_equal(reserve(&reader, &room, 5, &entry), 0);
	uint32_t offset = php_hone_offset(writer.store, entry);
	assert_int_equal(reader.slot->reserved, offset);
	/* It still fills the block. */
	recover();
	assert_int_equal(reader.slot->reserved, offset);
	assert_int_equal(
		php_hone_store_publish(&reader, entry, PHP_HONE_STORE), 0);
	assert_int_equal(get(&writer, "large", &number), 0);
	/* As if it was killed before it cleared the slot. */
	reader.slot->reserved = offset;
	recover();
	assert_int_equal(reader.slot->reserved, 0);
	assert_int_equal(get(&writer, "large", &number), 0);
	assert_int_equal(number, 5);
}
