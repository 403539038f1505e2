/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_FILEREAD_OTHERS_H
#define PHP_HONE_FILEREAD_OTHERS_H
/* What other extensions may have put in the place of PHP's own code, or
 * before it: fileread_others.c. */
#include "fileread.h"

/*
 * When the module starts: remember PHP's operations of plain files. False if
 * they are not PHP's any more, for another extension was there first.
 */
bool hone_fileread_know_files(void);

/* As they were then; only read from then on. */
extern const php_stream_wrapper_ops *hone_fileread_wrapper_ops;
extern php_stream_ops hone_fileread_stream_ops;

/*
 * Whether those of streams still are. One by one and in line: memcmp() costs
 * 10 ns more (bench/php_reads.py, fread 12 of 64k wanted).
 */
static zend_always_inline bool
hone_fileread_same_streams(void)
{
	const php_stream_ops *now = &php_stream_stdio_ops;
	const php_stream_ops *was = &hone_fileread_stream_ops;

	return now->read == was->read && now->close == was->close &&
	       now->stat == was->stat && now->seek == was->seek &&
	       now->cast == was->cast && now->set_option == was->set_option &&
	       now->write == was->write && now->flush == was->flush;
}

/* Whether all still are. PHP's own for the opener and its like are constant. */
static zend_always_inline bool
hone_fileread_same_files(void)
{
	return php_plain_files_wrapper.wops == hone_fileread_wrapper_ops &&
	       hone_fileread_same_streams();
}

/* Whether nothing but PHP's own code is behind that handler. */
bool hone_fileread_is_php(const char *name, zif_handler handler);

#endif
