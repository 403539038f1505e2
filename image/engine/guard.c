/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include "engine/guard.h"

static _Thread_local sigjmp_buf back;
static _Thread_local volatile sig_atomic_t armed;
static struct sigaction before;
static unsigned started;

/* Somebody else's SIGBUS: behave as if this handler were not there. */
static void
pass_on(int signal_number, siginfo_t *info, void *context)
{
	bool ignored =
		!(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_IGN;
	/* Only kill() can be ignored; the kernel ends who ignores a fault. */
	if (ignored && info->si_code <= 0)
		return;
	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(signal_number, info, context);
		return;
	}
	if (before.sa_handler != SIG_DFL && !ignored) {
		before.sa_handler(signal_number);
		return;
	}
	/* A fault meets the old action again on return; kill() does not. */
	sigaction(signal_number, &before, NULL);
	if (info->si_code <= 0)
		raise(signal_number);
}

static void
on_bus(int signal_number, siginfo_t *info, void *context)
{
	/* No page there, or one whose memory is broken. */
	bool fault =
		info->si_code == BUS_ADRERR || info->si_code == BUS_MCEERR_AR;
	if (armed && fault)
		siglongjmp(back, 1);
	pass_on(signal_number, info, context);
}

void
image_guard_start(void)
{
	if (started++)
		return;
	struct sigaction action = {.sa_sigaction = on_bus};
	sigemptyset(&action.sa_mask);
	/*
	 * SA_NODEFER leaves SIGBUS unblocked in the handler, so that neither
	 * sigsetjmp() nor siglongjmp() has to save and restore the mask with
	 * a system call each.
	 */
	action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
	sigaction(SIGBUS, &action, &before);
}

void
image_guard_stop(void)
{
	if (--started == 0)
		sigaction(SIGBUS, &before, NULL);
}

bool
image_guard_call(void (*fn)(void *), void *arg)
{
	if (sigsetjmp(back, 0) == 0) {
		armed = 1;
		fn(arg);
		armed = 0;
		return true;
	}
	armed = 0;
	return false;
}
