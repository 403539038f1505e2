/* SPDX-License-Identifier: BSD-3-Clause */
/* The stores are made when PHP starts, before it forks. A process uses one
 * store. */
#include "../cache.h"
#include "SAPI.h"
#include "php_syslog.h"
#include <pthread.h>
#include <unistd.h>

/* A store has room for a name of 31 bytes. */
#define NAME_ROOM 32
#define POOLS_MAX 32
_Static_assert(POOLS_MAX == 32 && NAME_ROOM == 32, "as warnings have it");
#define NO_POOL                                                                \
	"hone.cache_pool is empty, and there is no pool of hone.cache_size"

struct pool {
	char name[NAME_ROOM + 1]; /* of a setting; cut off if it is too long */
	const char *setting;
	zend_long size;
	struct php_hone_store *store;
};

/* State of the process, written before a second thread exists. */
static struct pool pools[POOLS_MAX + 1]; /* the last one is never made */
static unsigned n_pools;
static struct php_hone_store *chosen;
static const struct pool *mine; /* the pool of `chosen`, set by choose() */
static bool has_chosen;
static const char *off = "the module has not started";
static pid_t maker;
static pthread_once_t choose_once;

/* A name is part of a path, and of a label of Prometheus, which is UTF-8. */
static bool
is_printable(char c)
{
	return c > ' ' && c <= '~';
}

static bool
is_name(const char *name)
{
	for (; *name != '\0'; name++)
		if (!is_printable(*name) || *name == '/')
			return false;
	return true;
}

/* `text`: the pool as its setting describes it. */
static void
refuse(const char *setting, const char *text, const char *why)
{
	char shown[128];

	snprintf(shown, sizeof shown, "%s", text);
	for (char *at = shown; *at != '\0'; at++)
		if (!is_printable(*at))
			*at = '?';
	zend_error(E_WARNING, "%s: \"%s\": %s; this pool is off", setting,
		shown, why);
}

static bool
exists(const char *name)
{
	for (unsigned i = 0; i < n_pools; i++)
		if (strcmp(pools[i].name, name) == 0)
			return true;
	return false;
}

static int
create(struct pool *pool)
{
	struct php_hone_store_attr attr = {
		.size = (size_t)pool->size,
		.slots = (unsigned)HONE_G(cache).slots,
		.protect = HONE_G(cache).protect,
		.huge_pages = HONE_G(cache).huge_pages,
		.name = pool->name,
	};
	int error = php_hone_store_create(&pool->store, &attr);

	if (error < 0 && attr.huge_pages) {
		zend_error(E_WARNING,
			"hone.cache_huge_pages: not enough huge pages for the "
			"pool \"%s\" (%s); it gets ordinary pages",
			pool->name, strerror(-error));
		attr.huge_pages = false;
		error = php_hone_store_create(&pool->store, &attr);
	}
	return error;
}

/* NULL: there is none. */
static const char *
problem_of(const struct pool *pool)
{
	if (pool->size < (zend_long)PHP_HONE_STORE_LEAST ||
		pool->size > (zend_long)PHP_HONE_STORE_MOST)
		return "the size of a pool must be 1M to 128G";
	if (n_pools == POOLS_MAX)
		return "there are 32 pools already";
	if (pool->name[0] == '\0' || strlen(pool->name) >= NAME_ROOM)
		return "a name must have 1 to 31 bytes";
	if (!is_name(pool->name))
		return "a name must have only printable ASCII characters "
		       "other than \"/\"";
	if (exists(pool->name))
		return "a pool of this name exists already";
	return NULL;
}

/* Make the pool after the last one, whose name, setting and size are set. */
static void
make(const char *text)
{
	struct pool *pool = &pools[n_pools];
	const char *problem = problem_of(pool);
	char why[80];
	int error = problem == NULL ? create(pool) : 0;

	if (error < 0) {
		snprintf(why, sizeof why, "its memory cannot be mapped: %s",
			strerror(-error));
		problem = why;
	}
	if (problem != NULL)
		refuse(pool->setting, text, problem);
	else
		n_pools++;
}

/* NAME=SIZE */
static void
make_one(const char *text)
{
	struct pool *pool = &pools[n_pools];
	const char *equals = strchr(text, '=');
	zend_string *size, *problem = NULL;

	pool->setting = "hone.cache_pools";
	if (equals == NULL) {
		refuse(pool->setting, text, "the form must be NAME=SIZE");
		return;
	}
	snprintf(pool->name, sizeof pool->name, "%.*s", (int)(equals - text),
		text);
	size = zend_string_init(equals + 1, strlen(equals + 1), 1);
	pool->size = zend_ini_parse_quantity(size, &problem);
	zend_string_release_ex(size, 1);
	if (problem == NULL) {
		make(text);
	} else {
		zend_string_release(problem);
		refuse(pool->setting, text,
			"the size must be a number such as 64M or 1G");
	}
}

/* hone.cache_pools: "name=64M,other=256M". */
static void
make_list(const char *list)
{
	char *copy = strdup(list), *last = NULL;
	const char *pool = copy != NULL ? strtok_r(copy, ", \t", &last) : NULL;

	if (copy == NULL)
		zend_error(E_WARNING,
			"hone.cache_pools: there is no memory to read it; its "
			"pools are not made");
	for (; pool != NULL; pool = strtok_r(NULL, ", \t", &last))
		make_one(pool);
	free(copy);
}

bool
php_hone_pools_command_line(void)
{
	return strcmp(sapi_module.name, "cli") == 0 ||
	       strcmp(sapi_module.name, "phpdbg") == 0;
}

/* Users of APCu keep their settings: apc.shm_size is the size if
 * hone.cache_size is not set. */
static void
describe_default(struct pool *pool)
{
	strcpy(pool->name, PHP_HONE_DEFAULT_POOL);
	pool->setting = "hone.cache_size";
	pool->size = HONE_G(cache).size;
	if (php_hone_apcu_offered() && HONE_G(cache).apc.shm_size > 0 &&
		php_hone_cache_is_set("apc.shm_size") &&
		!php_hone_cache_is_set("hone.cache_size")) {
		pool->setting = "apc.shm_size";
		pool->size = HONE_G(cache).apc.shm_size;
	}
}

void
php_hone_pools_make(int type)
{
	const pthread_once_t once = PTHREAD_ONCE_INIT;
	const char *list = HONE_G(cache).pools;
	struct pool *standard = &pools[0];

	choose_once = once;
	n_pools = 0;
	chosen = NULL;
	has_chosen = false;
	maker = getpid();
	off = NULL;
	describe_default(standard);
	if (type == MODULE_TEMPORARY)
		off = "loaded by dl()";
	else if (php_hone_pools_command_line() && !HONE_G(cache).cli &&
		 !(php_hone_apcu_offered() && HONE_G(cache).apc.enable_cli))
		off = "hone.cache_cli is off";
	else if (standard->size == 0 && (list == NULL || *list == '\0'))
		off = "hone.cache_size is 0";
	if (off != NULL)
		return;
	if (standard->size != 0)
		make(zend_ini_string(
			standard->setting, strlen(standard->setting), 0));
	if (list != NULL)
		make_list(list);
	if (n_pools == 0) {
		off = "no store could be made";
		has_chosen = true; /* none, as any process will */
		return;
	}
	/* Not NULL, so that the process counts as having a store.
	 * php_hone_pools_choose() sets the final one. */
	chosen = pools[0].store;
	if (HONE_G(cache).protect)
		php_hone_protect_begin();
}

/* The pool that this request names. */
static const char *
wanted_name(void)
{
	const char *name = HONE_G(cache).pool;

	return name == NULL || *name == '\0' ? PHP_HONE_DEFAULT_POOL : name;
}

/* To the log, so that the page of this request has no warning. A site without a
 * cache may be meant, so its processes have one line a minute. */
static ZEND_COLD void
tell_no_pool(const char *name)
{
	const char *setting = HONE_G(cache).pool;

	if (setting != NULL && *setting != '\0') {
		off = "the pool of hone.cache_pool does not exist";
		php_hone_log(LOG_WARNING,
			"hone.cache_pool: \"%.100s\" is not in "
			"hone.cache_pools; the cache is off in this process",
			name);
		return;
	}
	off = NO_POOL;
	if (PG(log_errors) &&
		php_hone_store_tell(pools[0].store, PHP_HONE_TELL_NO_POOL))
		php_hone_log(LOG_NOTICE,
			NO_POOL "; the cache is off in this process");
}

static void
choose(void)
{
	const char *name = wanted_name();

	mine = NULL;
	has_chosen = true;
	for (unsigned i = 0; i < n_pools && mine == NULL; i++)
		if (strcmp(pools[i].name, name) == 0)
			mine = &pools[i];
	chosen = mine != NULL ? mine->store : NULL;
	if (mine == NULL)
		tell_no_pool(name);
	for (unsigned i = 0; i < n_pools; i++) {
		if (&pools[i] != mine) {
			php_hone_store_unmap(pools[i].store);
			pools[i].store = NULL;
		}
	}
}

/* FPM as a daemon forks after the modules have started. This child is the
 * master and leads a session, unlike a worker. */
bool
php_hone_pools_is_maker(void)
{
	return getpid() == maker ||
	       (php_hone_early_is_fpm() && getsid(0) == getpid());
}

/* FPM sets hone.cache_pool in a worker after the fork. The master may run a
 * request before that, for opcache.preload, and must keep all stores. */
void
php_hone_pools_choose(void)
{
	if (n_pools != 0 &&
		!(php_hone_early_is_fpm() && php_hone_pools_is_maker()))
		pthread_once(&choose_once, choose);
}

/* fastcgi_param PHP_ADMIN_VALUE and virtual hosts of Apache can name another
 * pool in each request, but the stores of other pools are unmapped. */
bool
php_hone_pools_match(void)
{
	const char *name = wanted_name();

	if (!has_chosen ||
		(mine != NULL ? strcmp(mine->name, name) == 0 : !exists(name)))
		return true;
	php_hone_log(LOG_WARNING,
		"hone.cache_pool: this request names the pool "
		"\"%.100s\", but its process uses \"%s\" since its first "
		"request; the cache is off in this request. Give each site a "
		"pool of FPM with php_admin_value[hone.cache_pool], not "
		"PHP_ADMIN_VALUE, which stays in effect for later requests",
		name, mine != NULL ? mine->name : "");
	return false;
}

/* Log the first eviction, once for all processes of the pool. */
ZEND_COLD void
php_hone_pools_evicted(struct php_hone_member *member)
{
	struct php_hone_store_info info;

	member->evicted = false;
	if (!PG(log_errors) || mine == NULL)
		return;
	php_hone_store_info(member, &info);
	php_hone_log(LOG_NOTICE,
		"The shared cache \"%s\" of %zu bytes is full %u "
		"s "
		"after its start: it holds %llu keys in %zu bytes and "
		"evicts the least used ones. Raise %s if they are still "
		"needed.",
		info.name, info.size,
		(unsigned)php_hone_store_now(member->store),
		(unsigned long long)info.entries, info.used, mine->setting);
}

/* To the log: the script may go on, and an error handler may turn a warning
 * into an exception. */
static void
tell(struct php_hone_store *store, enum php_hone_news news, int severity,
	const char *what)
{
	if (PG(log_errors) && mine != NULL && php_hone_store_tell(store, news))
		php_hone_log(severity,
			"The shared cache \"%s\": %.380s; the log has at most "
			"one such line a minute",
			mine->name, what);
}

ZEND_COLD void
php_hone_pools_refused(struct php_hone_member *member, const char *why)
{
	tell(member->store, PHP_HONE_TELL_REFUSED, LOG_NOTICE, why);
}

ZEND_COLD void
php_hone_pools_damaged(struct php_hone_member *member, const char *why)
{
	tell(member->store, PHP_HONE_TELL_DAMAGED, LOG_WARNING, why);
}

ZEND_COLD void
php_hone_pools_stopped(struct php_hone_member *member)
{
	tell(member->store, PHP_HONE_TELL_STOPPED, LOG_WARNING,
		"a write fails, because a process has kept a lock of the cache "
		"for 0.1 s; is a process stopped, by a signal, a debugger or a "
		"paused container?");
}

ZEND_COLD void
php_hone_pools_full(struct php_hone_store *store)
{
	tell(store, PHP_HONE_TELL_SLOTS, LOG_WARNING,
		"it is off in this request: more processes than "
		"hone.cache_slots use it");
}

/* As the settings have it: "64M". */
static void
print_size(char *to, size_t room, size_t size)
{
	static const char units[] = {'\0', 'K', 'M', 'G', '\0'};
	unsigned unit = 0;

	for (; units[unit + 1] != '\0' && size % 1024 == 0 && size != 0; unit++)
		size /= 1024;
	snprintf(to, room, "%zu%.1s", size, &units[unit]);
}

ZEND_COLD void
php_hone_pools_advise(size_t needs, char *text, size_t room)
{
	size_t size = php_hone_store_size_for(
		needs, (size_t)mine->size, (unsigned)HONE_G(cache).slots);
	char now[24], to[24];

	print_size(now, sizeof now, (size_t)mine->size);
	print_size(to, sizeof to, size);
	if (size == 0)
		snprintf(text, room, "divide it");
	else if (strcmp(mine->name, PHP_HONE_DEFAULT_POOL) == 0)
		snprintf(text, room, "raise %s, now %s, to %s", mine->setting,
			now, to);
	else
		snprintf(text, room,
			"raise the size of '%s' in %s, now %s, to %s",
			mine->name, mine->setting, now, to);
}

void
php_hone_pools_unmap(void)
{
	for (unsigned i = 0; i < n_pools; i++)
		if (pools[i].store != NULL)
			php_hone_store_unmap(pools[i].store);
	n_pools = 0;
	chosen = NULL;
	has_chosen = false;
	off = "the module has ended";
}

bool
php_hone_pools_is_left_out(void)
{
	return has_chosen && mine == NULL;
}

struct php_hone_store *
php_hone_pools_store(void)
{
	return chosen;
}

const char *
php_hone_pools_off(void)
{
	return chosen != NULL ? NULL : off;
}

void
php_hone_pools_add(zval *sizes)
{
	for (unsigned i = 0; i < n_pools; i++)
		add_assoc_long(sizes, pools[i].name, pools[i].size);
}

void
php_hone_pools_each_made(
	void (*visit)(const char *name, struct php_hone_store *store))
{
	for (unsigned i = 0; i < n_pools && php_hone_pools_is_maker(); i++)
		if (pools[i].store != NULL)
			visit(pools[i].name, pools[i].store);
}
