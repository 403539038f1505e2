/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * threads INI SCRIPT REQUESTS: PHP with threads, as a server has it. SCRIPT is
 * run by the main thread, then by four threads, REQUESTS times by each at one
 * time, and again by the main thread. It finds 'first', the number of its
 * thread from 1 on, or 'last' in $thread, and in $request the number of the
 * request. Exits 1 if a script ended with an error.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sapi/embed/php_embed.h>

#define THREADS 4

static const char *script;
static long requests;
static _Atomic unsigned failed;
static pthread_barrier_t all_there;

static void
set_variable(const char *name, zval value)
{
	zend_hash_str_update(&EG(symbol_table), name, strlen(name), &value);
}

/* exit() and errors leave by longjmp(), and so skip what follows the script. */
static void
run(zval thread, long request)
{
	zend_file_handle file;
	zval number;

	if (php_request_startup() == FAILURE) {
		failed++;
		return;
	}
	ZVAL_LONG(&number, request);
	zend_stream_init_filename(&file, script);
	zend_first_try
	{
		set_variable("thread", thread);
		set_variable("request", number);
		php_execute_script(&file);
	}
	zend_end_try();
	zend_destroy_file_handle(&file);
	if (EG(exit_status) != 0)
		failed++;
	php_request_shutdown(NULL);
}

static void
run_named(const char *name)
{
	zval value;

	ZVAL_STR(&value, zend_string_init(name, strlen(name), 1));
	run(value, 0);
}

static void *
serve(void *number)
{
	zval thread;

	ts_resource(0);
	ZVAL_LONG(&thread, *(long *)number);
	pthread_barrier_wait(&all_there);
	for (long i = 0; i < requests; i++)
		run(thread, i);
	ts_free_thread();
	return NULL;
}

/* One that PHP does not know, as a library may have: fork() calls handlers. */
static void *
fork_often(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&all_there);
	for (unsigned i = 0; i < 50; i++) {
		int status = 1;
		pid_t child = fork();
		if (child == 0)
			_exit(0);
		if (waitpid(child, &status, 0) != child || status != 0)
			failed++;
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t thread[THREADS + 1];
	long number[THREADS];

	if (argc != 4)
		return 2;
	php_embed_module.php_ini_path_override = argv[1];
	php_embed_module.phpinfo_as_text = 1;
	script = argv[2];
	requests = atol(argv[3]);
	if (php_embed_init(0, NULL) == FAILURE)
		return 2;
	php_request_shutdown(NULL);
	run_named("first");
	pthread_barrier_init(&all_there, NULL, THREADS + 1);
	for (long i = 0; i < THREADS; i++) {
		number[i] = i + 1;
		pthread_create(&thread[i], NULL, serve, &number[i]);
	}
	pthread_create(&thread[THREADS], NULL, fork_often, NULL);
	for (unsigned i = 0; i <= THREADS; i++)
		pthread_join(thread[i], NULL);
	run_named("last");
	/* php_embed_shutdown() ends a request, too. */
	php_request_startup();
	php_embed_shutdown();
	return failed != 0;
}
