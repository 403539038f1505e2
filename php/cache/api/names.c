/* SPDX-License-Identifier: BSD-3-Clause */
#include "names.h"

zend_string *php_hone_names[PHP_HONE_NAME_COUNT];

void
php_hone_names_minit(void)
{
	static const char *const names[] = {
#define NAME(name) #name,
		PHP_HONE_NAMES(NAME)
#undef NAME
	};

	for (unsigned i = 0; i < PHP_HONE_NAME_COUNT; i++)
		php_hone_names[i] = zend_string_init_interned(
			names[i], strlen(names[i]), true);
}
