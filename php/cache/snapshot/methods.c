/* SPDX-License-Identifier: BSD-3-Clause */
/* Hone\Cache::save() and load(), and hone.cache_snapshot, which is read at the
 * start of the server and written at its end. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "snapshot.h"
#include "main/fopen_wrappers.h"

/* The process of FPM that forks workers; 0 before the first fork. */
static pid_t master;

/* The pool "default" has the path of the setting. Other pools append their
 * name, in which pools.c allows no slash. */
static bool
path_of(const char *pool, char *path, const char **problem)
{
	const char *setting = HONE_G(cache).snapshot;
	bool suffix = strcmp(pool, PHP_HONE_DEFAULT_POOL) != 0;
	int n;

	if (setting[0] != '/') {
		*problem = "it is not an absolute path";
		return false;
	}
	n = snprintf(path, MAXPATHLEN, "%s%s%s", setting, suffix ? "." : "",
		suffix ? pool : "");
	*problem = "the path is too long";
	return n > 0 && n < MAXPATHLEN;
}

static bool
is_set(void)
{
	return HONE_G(cache).snapshot != NULL &&
	       HONE_G(cache).snapshot[0] != '\0';
}

/* Returns false and sets *problem if the folder of the path is not writable. */
static bool
can_be_written(const char *path, const char **problem)
{
	char folder[MAXPATHLEN];
	size_t length = (size_t)(strrchr(path, '/') + 1 - path);

	memcpy(folder, path, length);
	folder[length] = '\0';
	if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0)
		return true;
	*problem = strerror(errno);
	return false;
}

static void
load_pool(const char *pool, struct php_hone_store *store)
{
	char path[MAXPATHLEN], problem[PHP_HONE_PROBLEM];
	const char *phrase;
	bool missing, loaded;

	if (!path_of(pool, path, &phrase)) {
		php_hone_early_warning(
			"hone.cache_snapshot: \"%s\", pool \"%s\": %s; there "
			"is no snapshot",
			HONE_G(cache).snapshot, pool, phrase);
		return;
	}
	loaded = php_hone_snapshot_load(store, path, &missing, problem) >= 0 ||
		 missing;
	if (problem[0] != '\0' && !missing)
		php_hone_early_warning("hone.cache_snapshot: %s: %s%s", path,
			problem, loaded ? "" : "; the cache is empty");
	if (loaded && !can_be_written(path, &phrase))
		php_hone_early_warning(
			"hone.cache_snapshot: %s: the folder is not "
			"writable: %s; the cache will not be saved",
			path, phrase);
}

void
php_hone_snapshot_begin(void)
{
	if (is_set() && php_hone_early_is_server())
		php_hone_pools_each_made(load_pool);
}

/* FPM handles SIGCHLD before it forks workers, and workers do not handle it.
 * The process that was started forks before that, for the daemon and for
 * opcache.preload_user. It must not write the file, and nor must php-fpm -t. */
static bool
forks_workers(void)
{
	struct sigaction now;

	return php_hone_early_is_fpm() && php_hone_pools_is_maker() &&
	       sigaction(SIGCHLD, NULL, &now) == 0 &&
	       now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN;
}

void
php_hone_snapshot_before_fork(void)
{
	if (!forks_workers())
		return;
	master = getpid();
	php_hone_early_repeat();
}

static void
save_pool(const char *pool, struct php_hone_store *store)
{
	char path[MAXPATHLEN], problem[PHP_HONE_PROBLEM];
	char line[MAXPATHLEN + PHP_HONE_PROBLEM + 64];
	const char *phrase;

	if (!path_of(pool, path, &phrase) ||
		php_hone_snapshot_save(store, path, problem))
		return;
	snprintf(line, sizeof line, "hone.cache_snapshot: %s: %s", path,
		problem);
	/* PHP's output has ended, but the log is still open. */
	php_log_err(line);
}

void
php_hone_snapshot_end(void)
{
	php_hone_early_end();
	if (is_set() && php_hone_early_is_server() &&
		(!php_hone_early_is_fpm() || master == getpid()))
		php_hone_pools_each_made(save_pool);
}

/* Returns an absolute path that open_basedir allows, or NULL. The caller calls
 * efree(). */
static char *
resolve(const char *path)
{
	char *absolute;

	if (*path == '\0') {
		zend_argument_value_error(1, "cannot be empty");
		return NULL;
	}
	if (php_check_open_basedir(path))
		return NULL;
	/* CWD_FILEPATH would follow the last symbolic link. */
	absolute = expand_filepath_with_mode(path, NULL, NULL, 0, CWD_EXPAND);
	if (absolute != NULL && php_check_open_basedir(absolute)) {
		efree(absolute);
		return NULL;
	}
	if (absolute != NULL && *absolute != '/') {
		php_error_docref(NULL, E_WARNING,
			"%s: the path of the working directory is unknown",
			absolute);
		efree(absolute);
		return NULL;
	}
	return absolute;
}

static char *
own_path(struct php_hone_member *member)
{
	struct php_hone_store_info info;
	const char *phrase = "it is not set";
	char path[MAXPATHLEN];

	php_hone_store_info(member, &info);
	if (is_set() && path_of(info.name, path, &phrase))
		return estrdup(path);
	php_error_docref(NULL, E_WARNING, "hone.cache_snapshot: %s", phrase);
	return NULL;
}

ZEND_METHOD(Hone_Cache, save)
{
	struct php_hone_member *member = php_hone_cache_open();
	char problem[PHP_HONE_PROBLEM], *path;
	zend_string *given = NULL;
	bool saved;

	ZEND_PARSE_PARAMETERS_START(0, 1)
	Z_PARAM_OPTIONAL
	Z_PARAM_PATH_STR_OR_NULL(given)
	ZEND_PARSE_PARAMETERS_END();
	if (member == NULL)
		RETURN_FALSE;
	path = given != NULL ? resolve(ZSTR_VAL(given)) : own_path(member);
	if (path == NULL)
		RETURN_FALSE;
	saved = php_hone_snapshot_save(member->store, path, problem);
	if (!saved)
		php_error_docref(NULL, E_WARNING, "%s: %s", path, problem);
	efree(path);
	RETURN_BOOL(saved);
}

ZEND_METHOD(Hone_Cache, load)
{
	struct php_hone_member *member = php_hone_cache_open();
	char problem[PHP_HONE_PROBLEM], *path;
	zend_string *given;
	zend_long stored;
	bool missing;

	ZEND_PARSE_PARAMETERS_START(1, 1)
	Z_PARAM_PATH_STR(given)
	ZEND_PARSE_PARAMETERS_END();
	if (member == NULL)
		RETURN_LONG(0);
	path = resolve(ZSTR_VAL(given));
	if (path == NULL)
		RETURN_LONG(0);
	stored = php_hone_snapshot_load(member->store, path, &missing, problem);
	if (problem[0] != '\0')
		php_error_docref(NULL, E_WARNING, "%s: %s", path, problem);
	efree(path);
	RETURN_LONG(stored < 0 ? 0 : stored);
}
