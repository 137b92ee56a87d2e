/*
 * What the filter does with each call: its program is run here step by step (the classic BPF that seccomp(2) takes).
 */
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/string.h"
#include "call_table.h"
#include "support/cmocka.h"

enum { NUMBERS = 1024 };

#ifdef __x86_64__
static const uint32_t native = AUDIT_ARCH_X86_64;
#elif defined __aarch64__
static const uint32_t native = AUDIT_ARCH_AARCH64;
#endif

/* What it returns, and after how many steps. */
static uint32_t run(const struct filter *program, const struct seccomp_data *data, uint32_t *ret_steps) {
	uint32_t a = 0, x = 0, at = 0;
	while (at < program->count) {
		const struct sock_filter *step = &program->steps[at++];
		++*ret_steps;
		switch (step->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(step->k + sizeof a <= sizeof *data);
			memcpy(&a, (const char *)data + step->k, sizeof a);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= step->k;
			break;
		case BPF_MISC | BPF_TAX:
			x = a;
			break;
		case BPF_MISC | BPF_TXA:
			a = x;
			break;
		case BPF_JMP | BPF_JA:
			at += step->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			at += a == step->k ? step->jt : step->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			at += a > step->k ? step->jt : step->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			at += a >= step->k ? step->jt : step->jf;
			break;
		case BPF_RET | BPF_K:
			return step->k;
		default:
			fail_msg("step %u has the code %#x", at - 1, step->code);
		}
	}
	fail_msg("the program runs past its end");
	return 0;
}

static uint32_t of_call(const struct filter *program, int number, const uint64_t arguments[CALL_ARGUMENTS]) {
	struct seccomp_data data = {.nr = number, .arch = native};
	if (arguments) memcpy(data.args, arguments, sizeof data.args);
	uint32_t steps = 0;
	return run(program, &data, &steps);
}

static const unsigned all_wanted[] = {0,
				      TRAPS_WRITES,
				      TRAPS_PROGRAMS,
				      TRAPS_WRITES | TRAPS_PROGRAMS,
				      TRAPS_OPENS,
				      TRAPS_WRITES | TRAPS_PROGRAMS | TRAPS_OPENS};

/* Calls with pointers alone in their way: trapped or not whatever their arguments. */
static bool expect_trap(const struct call_shape *shape, unsigned wanted) {
	if (!shape) return false;
	const unsigned writes = TRAPS_WRITES | TRAPS_OPENS, programs = TRAPS_PROGRAMS | TRAPS_OPENS;
	switch (shape->class) {
	case CALL_OPEN:
		return wanted & (shape->flags == CALL_FLAGS_OPEN ? TRAPS_OPENS : writes);
	case CALL_NAMES:
	case CALL_CHANGE:
		return wanted & writes;
	case CALL_EXECUTE:
		return wanted & programs;
	case CALL_LOOK:
	case CALL_OTHER:
		return false;
	}
	return false;
}

static void traps_change_nothing_but_what_they_trap(void **state) {
	(void)state;
	const uint64_t arguments[][CALL_ARGUMENTS] = {
		{0}, /* read-only for open and openat */
		{2, 1, 0, 7, 8, 9},
		{UINT64_MAX << 32, UINT64_MAX << 32, UINT64_MAX << 32, 0, 0, 0},
	};
	const struct filter *plain = &filters[0];
	for (size_t w = 0; w < ARRAY_LENGTH(all_wanted); w++) {
		const struct filter *program = &filters[all_wanted[w]];
		for (int number = 0; number < NUMBERS; number++) {
			for (size_t i = 0; i < ARRAY_LENGTH(arguments); i++) {
				const struct call_shape *shape = call_shape_of(number);
				uint32_t before = of_call(plain, number, arguments[i]);
				uint32_t after = of_call(program, number, arguments[i]);
				bool opens = shape && shape->flags == CALL_FLAGS_OPEN && i == 1; /* flags differ */
				if (opens && !(all_wanted[w] & TRAPS_OPENS)) continue;
				uint32_t expected = expect_trap(shape, all_wanted[w]) ? SECCOMP_RET_USER_NOTIF : before;
				if (after != expected)
					fail_msg("wanted %u, call %d: %#x, not %#x", all_wanted[w], number, after,
						 expected);
			}
		}
	}
}

static void opens_are_told_by_their_flags(void **state) {
	(void)state;
	const struct {
		uint64_t flags;
		bool trapped;
	} opens[] = {
		{O_RDONLY, false},
		{O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, false},
		{O_RDONLY | O_DIRECTORY, false}, /* half of O_TMPFILE */
		{O_PATH | O_DIRECTORY, false},
		{O_RDONLY | UINT64_C(1) << 32, false}, /* the kernel doesn't look there */
		{O_WRONLY, true},
		{O_RDWR, true},
		{O_ACCMODE, true},
		{O_RDONLY | O_CREAT, true},
		{O_RDONLY | O_TRUNC, true},
		{O_TMPFILE | O_RDWR, true},
		{O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, true},
		{O_WRONLY | UINT64_C(1) << 63, true}, /* K1 */
		{O_CREAT | UINT64_MAX << 32, true},
	};
	const struct filter *writes = &filters[TRAPS_WRITES], *all = &filters[TRAPS_OPENS];
	const struct filter *programs = &filters[TRAPS_PROGRAMS];
	for (size_t i = 0; i < ARRAY_LENGTH(opens); i++) {
		for (size_t j = 0; j < call_shape_count; j++) {
			const struct call_shape *shape = &call_shapes[j];
			if (shape->flags != CALL_FLAGS_OPEN || shape->number < 0) continue;
			uint64_t arguments[CALL_ARGUMENTS] = {0};
			arguments[shape->flags_at - 1] = opens[i].flags;
			assert_int_equal(of_call(writes, shape->number, arguments),
					 opens[i].trapped ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW);
			assert_int_equal(of_call(all, shape->number, arguments), SECCOMP_RET_USER_NOTIF);
			assert_int_equal(of_call(programs, shape->number, arguments), SECCOMP_RET_ALLOW);
		}
	}
}

static void access_is_told_by_its_mode(void **state) {
	(void)state;
	const struct {
		uint64_t mode;
		bool trapped;
	} modes[] = {{F_OK, false},
		     {R_OK | X_OK, false},
		     {UINT64_C(2) << 32, false},
		     {W_OK, true},
		     {R_OK | W_OK | X_OK, true}};
	const struct filter *writes = &filters[TRAPS_WRITES], *opens = &filters[TRAPS_OPENS];
	size_t seen = 0;
	for (size_t i = 0; i < ARRAY_LENGTH(modes); i++) {
		for (size_t j = 0; j < call_shape_count; j++) {
			const struct call_shape *shape = &call_shapes[j];
			if (shape->flags != CALL_FLAGS_ACCESS || shape->number < 0) continue;
			uint64_t arguments[CALL_ARGUMENTS] = {0};
			arguments[shape->flags_at - 1] = modes[i].mode;
			assert_int_equal(of_call(writes, shape->number, arguments),
					 modes[i].trapped ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW);
			assert_int_equal(of_call(opens, shape->number, arguments), SECCOMP_RET_ALLOW);
			seen++;
		}
	}
	assert_true(seen >= 2 * ARRAY_LENGTH(modes));
}

static void attack_kernel_02_foreign_calls_are_refused(void **state) {
	(void)state;
	const uint32_t foreign[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_MIPS, 0, UINT32_MAX};
	for (size_t w = 0; w < ARRAY_LENGTH(all_wanted); w++) {
		const struct filter *program = &filters[all_wanted[w]];
		for (int number = 0; number < NUMBERS; number++) {
			for (size_t i = 0; i < ARRAY_LENGTH(foreign); i++) {
				const struct seccomp_data data = {.nr = number, .arch = foreign[i]};
				uint32_t steps = 0;
				assert_int_equal(run(program, &data, &steps), SECCOMP_RET_ERRNO | ENOSYS);
			}
#ifdef __x86_64__
			assert_int_equal(of_call(program, 0x40000000 + number, NULL), SECCOMP_RET_ERRNO | ENOSYS);
#endif
		}
	}
}

static void refusals_hold_with_traps(void **state) {
	(void)state;
	const struct {
		int number;
		uint64_t arguments[CALL_ARGUMENTS];
		int code;
	} calls[] = {
		{SYS_mount, {0}, EPERM},
		{SYS_setns, {0}, EPERM},
		{SYS_clone3, {0}, ENOSYS},
		{SYS_io_uring_setup, {0}, ENOSYS},
		{467, {0}, EPERM},
		{SYS_ioctl, {0, TIOCSTI}, EPERM},
		{SYS_ioctl, {0, TIOCSTI | UINT64_C(1) << 32}, EPERM},
		{SYS_seccomp, {SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER}, EBUSY},
		{SYS_seccomp,
		 {SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | 1 | UINT64_C(1) << 40},
		 EBUSY},
		{SYS_socket, {AF_VSOCK}, EAFNOSUPPORT},
		{SYS_socket, {AF_INET, SOCK_RAW}, EPERM},
	};
	const struct {
		int number;
		uint64_t arguments[CALL_ARGUMENTS];
	} allowed[] = {
		{SYS_read, {0}},
		{SYS_ioctl, {0, TIOCGWINSZ}},
		{SYS_seccomp, {SECCOMP_SET_MODE_FILTER, 0}},
		{SYS_socket, {AF_UNIX, SOCK_STREAM}},
		{SYS_socket, {AF_INET, SOCK_STREAM}},
		{SYS_clone, {0x11}},
	};
	for (size_t w = 0; w < ARRAY_LENGTH(all_wanted); w++) {
		const struct filter *program = &filters[all_wanted[w]];
		for (size_t i = 0; i < ARRAY_LENGTH(calls); i++)
			assert_int_equal(of_call(program, calls[i].number, calls[i].arguments),
					 SECCOMP_RET_ERRNO | (uint32_t)calls[i].code);
		for (size_t i = 0; i < ARRAY_LENGTH(allowed); i++)
			assert_int_equal(of_call(program, allowed[i].number, allowed[i].arguments), SECCOMP_RET_ALLOW);
	}
}

static void it_is_short_enough_for_the_kernel(void **state) {
	(void)state;
	for (size_t w = 0; w < ARRAY_LENGTH(all_wanted); w++) {
		const struct filter *program = &filters[all_wanted[w]];
		assert_in_range(program->count, 50, BPF_MAXINSNS);
	}
}

/* What the kernel has to look at anew each time, since it depends on arguments. A list instead of a tree needs 110. */
static void what_is_let_through_costs_few_steps(void **state) {
	(void)state;
	static const int often[] = {SYS_getppid, SYS_read, SYS_newfstatat, SYS_statx, SYS_openat};
	for (size_t w = 0; w < ARRAY_LENGTH(all_wanted); w++) {
		const struct filter *program = &filters[all_wanted[w]];
		for (size_t i = 0; i < ARRAY_LENGTH(often); i++) {
			const struct seccomp_data data = {.nr = often[i], .arch = native};
			uint32_t steps = 0;
			run(program, &data, &steps);
			assert_in_range(steps, 3, 40);
		}
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(traps_change_nothing_but_what_they_trap),
		cmocka_unit_test(opens_are_told_by_their_flags),
		cmocka_unit_test(access_is_told_by_its_mode),
		cmocka_unit_test(attack_kernel_02_foreign_calls_are_refused),
		cmocka_unit_test(refusals_hold_with_traps),
		cmocka_unit_test(it_is_short_enough_for_the_kernel),
		cmocka_unit_test(what_is_let_through_costs_few_steps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
