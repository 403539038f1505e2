/* SPDX-License-Identifier: BSD-3-Clause */
/* Step 3 of a call with a path: opens the file, here or by PHP. */
#include <errno.h>
#include <fcntl.h>
#include "fileread.h"

/* Counts the failure, and reports a signal. PHP reports all other errors. */
static enum php_hone_open
not_opened(const zend_string *path, bool context, int error)
{
	php_hone_fall_back(PHP_HONE_REASON_OPEN);
	if (error != EINTR)
		return PHP_HONE_OPEN_FAILED;
	php_hone_take_numbers(0, context);
#if PHP_VERSION_ID >= 80600
	/* The context may turn the warning into an exception. */
	php_stream_wrapper_warn(&php_plain_files_wrapper, FG(default_context),
		REPORT_ERRORS, OpenFailed, "Failed to open stream: %s",
		strerror(EINTR));
#else
	php_error_docref1(NULL, ZSTR_VAL(path), E_WARNING,
		"Failed to open stream: %s", strerror(EINTR));
#endif
	return PHP_HONE_OPEN_REPORTED;
}

enum php_hone_open
php_hone_open(struct php_hone_file *file, const zend_string *path, bool context)
{
	const realpath_cache_bucket *known = php_hone_known(path, &file->place);

	if (known == NULL)
		return PHP_HONE_OPEN_UNKNOWN;
	if (known->is_dir) {
		php_hone_fall_back(PHP_HONE_REASON_KIND);
		return PHP_HONE_OPEN_FAILED;
	}
	file->fd = open(known->realpath, O_RDONLY);
	if (UNEXPECTED(file->fd < 0))
		return not_opened(path, context, errno);
	return PHP_HONE_OPENED;
}

php_stream *
php_hone_open_by_php(const zend_string *path, bool context)
{
	php_stream *stream =
		php_stream_open_wrapper_ex(ZSTR_VAL(path), "rb", REPORT_ERRORS,
			NULL, php_stream_context_from_zval(NULL, !context));

	php_hone_note_opened(path, stream != NULL);
	return stream;
}
