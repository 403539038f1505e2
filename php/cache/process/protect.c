/* SPDX-License-Identifier: BSD-3-Clause */
/* hone.cache_protect: prints the function of PHP that wrote to a value of the
 * cache. Then the process ends as without this handler. */
#include "../cache.h"
#include <signal.h>
#include <unistd.h>

static struct sigaction before;
static bool installed;

static void
put(const char *text)
{
	(void)!write(STDERR_FILENO, text, strlen(text));
}

/* Prints the current place in PHP code. Only reads memory, because the process
 * may be in any state: snprintf() of an int takes neither memory nor a lock. */
static void
put_place(const zend_execute_data *at)
{
	const zend_function *function = at != NULL ? at->func : NULL;
	char line[11];

	if (function == NULL || function->common.function_name == NULL) {
		put("the main script");
	} else {
		if (function->common.scope != NULL) {
			put(ZSTR_VAL(function->common.scope->name));
			put("::");
		}
		put(ZSTR_VAL(function->common.function_name));
		put("()");
	}
	while (at != NULL &&
		(at->func == NULL || !ZEND_USER_CODE(at->func->type)))
		at = at->prev_execute_data;
	if (at != NULL && at->opline != NULL) {
		put(" in ");
		put(ZSTR_VAL(at->func->op_array.filename));
		put(":");
		snprintf(line, sizeof line, "%" PRIu32, at->opline->lineno);
		put(line);
	}
}

static void
on_fault(int signal, siginfo_t *info, void *context)
{
	struct php_hone_store *store = php_hone_pools_store();

	(void)signal, (void)context;
	/* First, so that a fault in this function ends the process. */
	sigaction(SIGSEGV, &before, NULL);
	if (store == NULL || !php_hone_store_contains(store, info->si_addr))
		return;
	put("hone: ");
	put_place(EG(current_execute_data));
	put(" wrote to a value of the shared cache (hone.cache_protect)\n");
	/* The CPU repeats the instruction, which faults again. */
}

void
php_hone_protect_begin(void)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};

	action.sa_sigaction = on_fault;
	sigemptyset(&action.sa_mask);
	installed = sigaction(SIGSEGV, &action, &before) == 0;
}

void
php_hone_protect_end(void)
{
	if (installed)
		sigaction(SIGSEGV, &before, NULL);
	installed = false;
}
