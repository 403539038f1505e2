/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Other extensions. The fast path must not bypass an extension that was loaded
 * earlier to observe or forbid reads. An extension that is loaded later wraps
 * the handlers of this one.
 */
#include <dlfcn.h>
#include "fileread.h"

/*
 * PHP's operations, one set for the process. They are written when the module
 * starts, before a second thread exists, and only read afterwards.
 */
const php_stream_wrapper_ops *php_hone_wrapper_ops;
php_stream_ops php_hone_stream_ops;

/* Whether two addresses lie in the same program or shared library. */
static bool
same_object(const void *code, const void *other)
{
	Dl_info one, two;

	return dladdr(code, &one) != 0 && dladdr(other, &two) != 0 &&
	       one.dli_fbase == two.dli_fbase;
}

/* `pointers` is a struct of pointers only, such as the structs of operations.
 * Some pointers are NULL. */
static bool
are_in_php(const void *pointers, size_t size)
{
	for (size_t at = 0; at < size; at += sizeof(void *)) {
		const void *one;

		memcpy(&one, (const char *)pointers + at, sizeof one);
		if (one != NULL && !same_object(one, php_error_docref))
			return false;
	}
	return true;
}

bool
php_hone_note_files(void)
{
	const php_stream_wrapper_ops *wrapper_ops =
		php_plain_files_wrapper.wops;

	php_hone_wrapper_ops = wrapper_ops;
	php_hone_stream_ops = php_stream_stdio_ops;
	return same_object(wrapper_ops, php_error_docref) &&
	       are_in_php(wrapper_ops, sizeof *wrapper_ops) &&
	       are_in_php(&php_stream_stdio_ops, sizeof php_stream_stdio_ops);
}

static const zend_module_entry *
module_named(const char *name)
{
	return zend_hash_str_find_ptr(&module_registry, name, strlen(name));
}

/* PHP's own handler, even if the table of functions has another one: the module
 * that declares the function keeps its own list. */
static zif_handler
declared(const char *name)
{
	const zend_module_entry *standard = module_named("standard");
	const zend_function_entry *entry =
		standard != NULL ? standard->functions : NULL;

	while (entry != NULL && entry->fname != NULL) {
		if (strcmp(entry->fname, name) == 0)
			return entry->handler;
		entry++;
	}
	return NULL;
}

/*
 * Whether phar calls this handler for paths outside of archives. Phar keeps the
 * original handlers in its globals. The layout of the globals is private, but
 * every module declares their address and size, and no other value there equals
 * the address of a handler.
 */
static bool
phar_keeps(const zend_module_entry *phar, zif_handler handler)
{
#ifdef ZTS
	const char *globals = TSRMG_BULK(*phar->globals_id_ptr, const char *);
#else
	const char *globals = phar->globals_ptr;
#endif
	for (size_t at = 0; at + sizeof handler <= phar->globals_size;
		at += sizeof handler)
		if (memcmp(globals + at, &handler, sizeof handler) == 0)
			return true;
	return false;
}

/* In some builds, phar's handler wraps PHP's own. Such a handler counts as
 * PHP's. */
bool
php_hone_is_php(const char *name, zif_handler handler)
{
	const zend_module_entry *phar = module_named("phar");
	zif_handler php = declared(name);

	return php != NULL &&
	       (handler == php || (phar != NULL &&
					  same_object(handler,
						  phar->module_startup_func) &&
					  phar_keeps(phar, php)));
}
