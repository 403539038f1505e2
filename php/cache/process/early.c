/* SPDX-License-Identifier: BSD-3-Clause */
/* FPM opens its log after the modules have started, and uses the log as stderr
 * before it forks a worker. Lines that went to an earlier stderr are repeated
 * there. */
#include "../cache.h"
#include "SAPI.h"
#include "php_syslog.h"
#include <unistd.h>
#include <sys/stat.h>

/* The lines, until the log of FPM is open. */
static char *early;
static size_t early_size;
static struct stat early_stderr;

bool
php_hone_early_is_fpm(void)
{
	return strcmp(sapi_module.name, "fpm-fcgi") == 0;
}

/* A php-cgi that runs a command has additional functions; one that runs one
 * request of CGI has its variables. Both are not servers. */
bool
php_hone_early_is_server(void)
{
	if (strcmp(sapi_module.name, "cgi-fcgi") == 0)
		return sapi_module.additional_functions == NULL &&
		       getenv("GATEWAY_INTERFACE") == NULL &&
		       getenv("REQUEST_METHOD") == NULL;
	return !php_hone_pools_command_line();
}

static void
keep(const char *kind, const char *text)
{
	size_t size = strlen("PHP :  \n") + strlen(kind) + strlen(text);
	char *more = realloc(early, early_size + size + 1);

	if (more == NULL)
		return;
	if (early == NULL && fstat(STDERR_FILENO, &early_stderr) != 0)
		memset(&early_stderr, 0, sizeof early_stderr);
	early = more;
	snprintf(early + early_size, size + 1, "PHP %s:  %s\n", kind, text);
	early_size += size;
}

ZEND_COLD void
php_hone_early_warning(const char *format, ...)
{
	char text[2 * MAXPATHLEN + 512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	zend_error(E_WARNING, "%s", text);
	if (php_hone_early_is_fpm())
		keep("Warning", text);
}

ZEND_COLD void
php_hone_log(int severity, const char *format, ...)
{
	const char *kind = severity == LOG_NOTICE ? "Notice" : "Warning";
	char text[640], line[660];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	snprintf(line, sizeof line, "PHP %s:  %s", kind, text);
	php_log_err_with_severity(line, severity);
}

ZEND_COLD void
php_hone_early_notice(const char *text)
{
	if (!PG(log_errors))
		return;
	php_hone_log(LOG_NOTICE, "%s", text);
	if (php_hone_early_is_fpm())
		keep("Notice", text);
}

void
php_hone_early_repeat(void)
{
	struct stat now;

	if (early == NULL || fstat(STDERR_FILENO, &now) != 0 ||
		(now.st_dev == early_stderr.st_dev &&
			now.st_ino == early_stderr.st_ino))
		return;
	/* If the log is not writable, the lines have no other place. */
	(void)!write(STDERR_FILENO, early, early_size);
	php_hone_early_end();
}

void
php_hone_early_end(void)
{
	free(early);
	early = NULL;
	early_size = 0;
}
