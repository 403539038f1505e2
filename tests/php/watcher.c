/* SPDX-License-Identifier: BSD-3-Clause */
/* An extension that is asked before PHP's file_get_contents(), and refuses. */
#include <php.h>

static ZEND_NAMED_FUNCTION(refuse)
{
	RETURN_STRING("refused");
}

static PHP_MINIT_FUNCTION(watcher)
{
	zend_function *function = zend_hash_str_find_ptr(CG(function_table),
		"file_get_contents", strlen("file_get_contents"));

	function->internal_function.handler = refuse;
	return SUCCESS;
}

static zend_module_entry watcher_module_entry = {STANDARD_MODULE_HEADER,
	"watcher", NULL, PHP_MINIT(watcher), NULL, NULL, NULL, NULL, "0",
	STANDARD_MODULE_PROPERTIES};

ZEND_DLEXPORT zend_module_entry *
get_module(void)
{
	return &watcher_module_entry;
}
