/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A streamed copy must end with a fence, a kept copy must not pay for one. A
 * run of two threads does not reliably show a missing fence. So this test
 * single-steps a child and looks at the instructions that the child executes:
 * which of them are non-temporal stores, and whether a fence follows the last
 * one.
 *
 * x86-64 only: on other CPUs non-temporal stores need no fence.
 */
#include <sys/ptrace.h>
#include <sys/user.h>
#include <hone/hone.h>
#include "copy.h"
#include "support.h"

/* Longer than the page that the source is prefetched ahead. */
#define SIZE ((size_t)HONE_COPY_STREAM_MIN + 512)
#define MAX_STEPS 2000000

struct traced {
	size_t n;
	int policy;
	bool clear;
	bool batch; /* end with hone_copy_fence() */
};

struct seen {
	int fences;
	size_t streamed; /* bytes, by non-temporal stores */
	bool open;       /* one of them comes after the last fence */
};

static unsigned char source[SIZE] __attribute__((aligned(64)));
static unsigned char target[SIZE] __attribute__((aligned(64)));

static void
child(const struct traced *t)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	if (t->clear)
		hone_memset_zero(target, t->n, t->policy);
	else
		hone_memcpy(target, source, t->n, t->policy);
	if (t->batch)
		hone_copy_fence();
	raise(SIGSTOP);
	_exit(0);
}

/* SFENCE is 0f ae f8: Intel SDM volume 2B. */
static bool
is_fence(const unsigned char *code)
{
	return code[0] == 0x0f && code[1] == 0xae && code[2] == 0xf8;
}

/*
 * How many bytes MOVNTDQ or MOVNTPS stores, in legacy, VEX and EVEX encoding; 0
 * for any other instruction: Intel SDM volume 2A, 2.3 and 2.7.
 */
static size_t
streamed_by(const unsigned char *code)
{
	const unsigned char *opcode = code;
	size_t width = 16;

	if (code[0] == 0xc5) { /* VEX of two bytes */
		opcode += 2;
		width <<= code[1] >> 2 & 1;
	} else if (code[0] == 0xc4 && code[1] % 32 == 1) { /* of three, 0f */
		opcode += 3;
		width <<= code[2] >> 2 & 1;
	} else if (code[0] == 0x62 && code[1] % 8 == 1) { /* EVEX, 0f */
		opcode += 4;
		width <<= code[3] >> 5 & 3;
	} else {
		opcode += code[0] == 0x66;   /* operand size */
		opcode += *opcode / 16 == 4; /* REX */
		if (*opcode++ != 0x0f)
			return 0;
	}
	return *opcode == 0xe7 || *opcode == 0x2b ? width : 0;
}

static void
look(pid_t pid, struct seen *seen)
{
	const unsigned char *code;

	errno = 0;
	/* The child has the code of this process. */
	code = (const unsigned char *)ptrace(PTRACE_PEEKUSER, pid,
		(void *)offsetof(struct user_regs_struct, rip), NULL);
	if (errno != 0)
		fail_msg("PTRACE_PEEKUSER: %s", strerror(errno));
	if (is_fence(code)) {
		seen->fences++;
		seen->open = false;
	} else if (streamed_by(code) > 0) {
		seen->streamed += streamed_by(code);
		seen->open = true;
	}
}

/* What the child executes between its two stops. */
static struct seen
trace(const struct traced *t)
{
	struct seen seen = {0};
	int status;
	pid_t pid;

	fflush(NULL);
	support_one_cpu();
	pid = fork();
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
		look(pid, &seen);
	}
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	if (ptrace(PTRACE_DETACH, pid, NULL, NULL) != 0)
		fail_msg("PTRACE_DETACH: %s", strerror(errno));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return seen;
}

/* For each variant: whether it streams all lines, and how many fences it
 * has. */
static void
expect(const struct traced *t, bool streams, int fences)
{
	for (size_t i = 0; i < hone_copy_n_variants; i++) {
		const struct hone_copy_variant *v = &hone_copy_variants[i];
		bool stores = v->row.needs == 0; /* generic */
		size_t bytes = streams && !stores ? t->n : 0;
		/* the end of a batch fences whatever the batch contains */
		int wanted = stores && !t->batch ? 0 : fences;
		struct seen seen;

		if (!hone_cpu_has(v->row.needs))
			continue;
		/* a choice that the limit must undo */
		hone_memcpy(target, source, 1, HONE_COPY_STREAM);
		hone_cpu_limit(v->row.needs);
		seen = trace(t);
		hone_cpu_limit(HONE_CPU_ALL);
		if (seen.fences != wanted || seen.streamed != bytes ||
			seen.open != (bytes > 0 && fences == 0))
			fail_msg("%s: policy %#x: %d fences, not %d; %zu "
				 "bytes streamed, %s",
				v->row.name, (unsigned)t->policy, seen.fences,
				wanted, seen.streamed,
				seen.open ? "then no fence" : "fenced");
	}
}

TEST(a_streamed_copy_ends_with_one_fence)
{
	struct traced t = {.n = SIZE, .policy = HONE_COPY_STREAM};

	expect(&t, true, 1);
	t.clear = true;
	expect(&t, true, 1);
	t.policy = HONE_COPY_STREAM_PROTECT;
	expect(&t, true, 1);
	t.clear = false;
	expect(&t, true, 1);
}

TEST(a_kept_copy_has_no_fence)
{
	struct traced t = {.n = SIZE, .policy = HONE_COPY_KEEP};

	expect(&t, false, 0);
	t.clear = true;
	expect(&t, false, 0);
	t.policy = HONE_COPY_AUTO; /* the default threshold is larger */
	expect(&t, false, 0);
}

TEST(what_is_too_small_to_stream_is_kept)
{
	struct traced t = {
		.n = HONE_COPY_STREAM_MIN - 1, .policy = HONE_COPY_STREAM};

	expect(&t, false, 0);
	t.n++;
	expect(&t, true, 1);
	t.policy = HONE_COPY_AUTO;
	hone_copy_set_threshold(1);
	expect(&t, true, 1);
	t.n--;
	expect(&t, false, 0);
	hone_copy_set_threshold(0);
}

TEST(auto_streams_from_the_threshold_on)
{
	struct traced t = {.n = SIZE, .policy = HONE_COPY_AUTO};

	hone_copy_set_threshold(SIZE);
	expect(&t, true, 1);
	t.clear = true;
	expect(&t, true, 1);
	t.n--;
	expect(&t, false, 0);
	hone_copy_set_threshold(0);
}

TEST(a_batch_is_fenced_by_its_end_alone)
{
	struct traced t = {
		.n = SIZE, .policy = HONE_COPY_STREAM | HONE_COPY_NO_FENCE};

	expect(&t, true, 0);
	t.batch = true;
	expect(&t, true, 1);
	t.clear = true;
	expect(&t, true, 1);
	t.batch = false;
	expect(&t, true, 0);
}
