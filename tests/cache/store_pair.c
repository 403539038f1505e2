/* SPDX-License-Identifier: BSD-3-Clause */
#include "store_pair.h"

struct php_hone_member reader, writer;

int
pair_setup(void **state)
{
	(void)state;
	stop_clock();
	struct php_hone_store *store = make_store((size_t)4 << 20, 1);
	assert_int_equal(php_hone_member_join(&reader, store), 0);
	assert_int_equal(php_hone_member_join(&writer, store), 0);
	return 0;
}

int
pair_teardown(void **state)
{
	(void)state;
	struct php_hone_store *store = writer.store;
	int result = audit_aloud(&writer);
	php_hone_member_leave(&reader);
	php_hone_member_leave(&writer);
	php_hone_store_unmap(store);
	return result;
}
