/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_FILEREAD_OTHERS_H
#define PHP_HONE_FILEREAD_OTHERS_H
/* Detects other extensions that replace or wrap PHP's own code: others.c. */
#include "fileread.h"

/*
 * Records PHP's operations of plain files when the module starts. Returns false
 * if an extension that was loaded earlier has replaced them.
 */
bool php_hone_note_files(void);

/* The recorded operations, only read afterwards. */
extern const php_stream_wrapper_ops *php_hone_wrapper_ops;
extern php_stream_ops php_hone_stream_ops;

/*
 * Whether the operations that a read may call are unchanged. Compares one by
 * one and inline: memcmp() costs 10 ns more (bench/php/reads.py, fread 12 of
 * 64k wanted). `write` is left out: phpdbg replaces it for the output of the
 * script, and no read calls it.
 */
static zend_always_inline bool
php_hone_same_streams(void)
{
	const php_stream_ops *now = &php_stream_stdio_ops;
	const php_stream_ops *was = &php_hone_stream_ops;

	return now->read == was->read && now->close == was->close &&
	       now->stat == was->stat && now->seek == was->seek &&
	       now->cast == was->cast && now->set_option == was->set_option &&
	       now->flush == was->flush;
}

/* The same for the operation by which copy() writes the target. */
static zend_always_inline bool
php_hone_same_writes(void)
{
	return php_stream_stdio_ops.write == php_hone_stream_ops.write;
}

/* Whether all operations are unchanged. The operations of PHP's wrapper are
 * constant, so their address is enough. */
static zend_always_inline bool
php_hone_same_files(void)
{
	return php_plain_files_wrapper.wops == php_hone_wrapper_ops &&
	       php_hone_same_streams();
}

/* Whether a handler calls only PHP's own code. */
bool php_hone_is_php(const char *name, zif_handler handler);

#endif
