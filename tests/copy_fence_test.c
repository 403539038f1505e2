/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A streamed copy must end with a fence, a kept one must not pay for one.
 * No run of two threads shows a missing fence for sure, so a child is
 * single-stepped and the instructions that it executes are looked at.
 * x86-64 only: elsewhere non-temporal stores need no fence.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <hone/hone.h>
#include "copy/copy.h"
#include "support.h"

#define SIZE ((size_t)8192)
#define MAX_STEPS 2000000

struct traced {
	int policy;
	bool clear;
	bool batch; /* end with hone_copy_fence() */
};

static unsigned char source[SIZE], target[SIZE];

static void
child(const struct traced *t)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	if (t->clear)
		hone_memset_zero(target, SIZE, t->policy);
	else
		hone_memcpy(target, source, SIZE, t->policy);
	if (t->batch)
		hone_copy_fence();
	raise(SIGSTOP);
	_exit(0);
}

/* SFENCE is 0f ae f8: Intel SDM volume 2B. */
static bool
at_sfence(pid_t pid)
{
	struct user_regs_struct regs;
	long word;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0)
		fail_msg("PTRACE_GETREGS: %s", strerror(errno));
	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, (void *)regs.rip, NULL);
	return errno == 0 && (word & 0xffffff) == 0xf8ae0f;
}

/* How many fences the child executes between its two stops. */
static int
count_fences(const struct traced *t)
{
	int status, fences = 0;
	pid_t pid = fork();

	if (pid == 0)
		child(t);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (int step = 0;; step++) {
		assert_true(step < MAX_STEPS);
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0)
			fail_msg("PTRACE_SINGLESTEP: %s", strerror(errno));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
			break;
		fences += at_sfence(pid);
	}
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return fences;
}

static void
expect(const struct traced *t, int fences)
{
	for (size_t i = 0; i < hone_copy_n_variants; i++) {
		const struct hone_copy_variant *v = &hone_copy_variants[i];
		int wanted = v->needs == 0 ? 0 : fences; /* generic: stores */
		int got;

		if (!hone_cpu_has(v->needs))
			continue;
		hone_cpu_limit(v->needs);
		got = count_fences(t);
		hone_cpu_limit(HONE_CPU_ALL);
		if (got != wanted)
			fail_msg("%s: policy %#x: %d fences, not %d", v->name,
				(unsigned)t->policy, got, wanted);
	}
}

static void
a_streamed_copy_ends_with_one_fence(void **state)
{
	(void)state;
	expect(&(struct traced){.policy = HONE_COPY_STREAM}, 1);
	expect(&(struct traced){.policy = HONE_COPY_STREAM_PROTECT}, 1);
	expect(&(struct traced){.policy = HONE_COPY_STREAM, .clear = true}, 1);
}

static void
a_kept_copy_has_no_fence(void **state)
{
	(void)state;
	expect(&(struct traced){.policy = HONE_COPY_KEEP}, 0);
	expect(&(struct traced){.policy = HONE_COPY_AUTO}, 0);
	expect(&(struct traced){.policy = HONE_COPY_KEEP, .clear = true}, 0);
}

static void
auto_fences_above_the_threshold(void **state)
{
	(void)state;
	hone_copy_set_threshold(SIZE);
	expect(&(struct traced){.policy = HONE_COPY_AUTO}, 1);
	hone_copy_set_threshold(0);
}

static void
a_batch_is_fenced_by_its_end_alone(void **state)
{
	int policy = HONE_COPY_STREAM | HONE_COPY_NO_FENCE;

	(void)state;
	expect(&(struct traced){.policy = policy}, 0);
	expect(&(struct traced){.policy = policy, .batch = true}, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_streamed_copy_ends_with_one_fence),
		cmocka_unit_test(a_kept_copy_has_no_fence),
		cmocka_unit_test(auto_fences_above_the_threshold),
		cmocka_unit_test(a_batch_is_fenced_by_its_end_alone),
	};

	return cmocka_run_group_tests_name("copy-fence", tests, NULL, NULL);
}
