/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Other extensions: one that was there first, and watches or forbids, must not
 * be gone round by the short way. Whoever comes later stands before us.
 */
#include <dlfcn.h>
#include "fileread_others.h"

/*
 * PHP's operations, found when the module starts, before there is a second
 * thread, and only read from then on: what they are is true of the process.
 */
const php_stream_wrapper_ops *hone_fileread_wrapper_ops;
php_stream_ops hone_fileread_stream_ops;

/* Whether two addresses are of the same program or shared library. */
static bool
same_object(const void *code, const void *other)
{
	Dl_info one, two;

	return dladdr(code, &one) != 0 && dladdr(other, &two) != 0 &&
	       one.dli_fbase == two.dli_fbase;
}

/* A struct of pointers alone, which those of the operations are; some point
 * nowhere. */
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
hone_fileread_know_files(void)
{
	const php_stream_wrapper_ops *wrapper_ops =
		php_plain_files_wrapper.wops;

	hone_fileread_wrapper_ops = wrapper_ops;
	hone_fileread_stream_ops = php_stream_stdio_ops;
	return same_object(wrapper_ops, php_error_docref) &&
	       are_in_php(wrapper_ops, sizeof *wrapper_ops) &&
	       are_in_php(&php_stream_stdio_ops, sizeof php_stream_stdio_ops);
}

static const zend_module_entry *
module_named(const char *name)
{
	return zend_hash_str_find_ptr(&module_registry, name, strlen(name));
}

/* PHP's own handler, whoever has taken its place in the table of functions:
 * the module that declares it still has its list. */
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
 * Whether phar has that handler to pass calls on to. It keeps what it found in
 * its globals, whose layout is its own; but where they are, and how large, any
 * module tells, and a handler's address is like no other value there.
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

/* Phar stands before PHP's own code in some builds; what it does is known. */
bool
hone_fileread_is_php(const char *name, zif_handler handler)
{
	const zend_module_entry *phar = module_named("phar");
	zif_handler php = declared(name);

	return php != NULL &&
	       (handler == php || (phar != NULL &&
					  same_object(handler,
						  phar->module_startup_func) &&
					  phar_keeps(phar, php)));
}
