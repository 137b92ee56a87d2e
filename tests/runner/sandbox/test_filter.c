/*
 * What the filter does with each call: its program is run here step by step (the classic BPF that seccomp(2) takes).
 */
#include "sandbox/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/string.h"
#include "calls/call_table.h"
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
		case BPF_JMP | BPF_JSET | BPF_K:
			at += a & step->k ? step->jt : step->jf;
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

static const unsigned for_servers = TRAPS_SERVERS | TRAPS_DIRECT;
static const unsigned for_sockets = TRAPS_SOCKETS | TRAPS_SERVERS | TRAPS_DIRECT;

/* Besides a descriptor. */
static bool names_something(const struct call_shape *shape, const uint64_t arguments[CALL_ARGUMENTS]) {
	const unsigned char path = shape->paths[0].path;
	return !shape->paths[0].folder || (path && arguments[path - 1] != 0);
}

/* Calls with pointers alone in their way: trapped or not whatever their arguments. */
static bool expect_trap(int number, const uint64_t arguments[CALL_ARGUMENTS], unsigned wanted) {
	const struct call_shape *shape = call_shape_of(number);
	const unsigned writes = TRAPS_WRITES | TRAPS_OPENS, programs = TRAPS_PROGRAMS | TRAPS_OPENS;
	if (number == SYS_connect) return wanted & for_sockets;
	if (number == SYS_listen) return wanted & for_servers;
	if (number == SYS_bind && (wanted & for_servers)) return true;
	if (!shape) return false;
	switch (shape->class) {
	case CALL_OPEN:
		return wanted & (shape->flags == CALL_FLAGS_OPEN ? TRAPS_OPENS : writes);
	case CALL_NAMES:
		return wanted & writes;
	case CALL_CHANGE:
		if (!names_something(shape, arguments) && !(wanted & (TRAPS_DESCRIPTORS | TRAPS_OPENS)))
			return (wanted & writes) && shape->mode_at && (arguments[shape->mode_at - 1] & CALL_SET_ID);
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
	for (unsigned wanted = 0; wanted < FILTER_COUNT; wanted++) {
		const struct filter *program = &filters[wanted];
		for (int number = 0; number < NUMBERS; number++) {
			for (size_t i = 0; i < ARRAY_LENGTH(arguments); i++) {
				const struct call_shape *shape = call_shape_of(number);
				uint32_t before = of_call(plain, number, arguments[i]);
				uint32_t after = of_call(program, number, arguments[i]);
				bool opens = shape && shape->flags == CALL_FLAGS_OPEN && i == 1; /* flags differ */
				if (opens && !(wanted & TRAPS_OPENS)) continue;
				if (number == SYS_sendto && arguments[i][4] != 0 && (wanted & for_sockets))
					before = SECCOMP_RET_USER_NOTIF;
				uint32_t expected =
					expect_trap(number, arguments[i], wanted) ? SECCOMP_RET_USER_NOTIF : before;
				if (after != expected)
					fail_msg("wanted %u, call %d: %#x, not %#x", wanted, number, after, expected);
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

static void attack_r_12_no_call_gives_a_file_such_a_bit_unseen(void **state) {
	(void)state;
	const mode_t bits[] = {S_ISUID, S_ISGID, S_ISUID | S_ISGID};
	for (unsigned wanted = 0; wanted < FILTER_COUNT; wanted++) {
		for (size_t i = 0; i < call_shape_count; i++) {
			const struct call_shape *shape = &call_shapes[i];
			if (!shape->mode_at || shape->number < 0) continue;
			const bool changes = shape->class == CALL_CHANGE;
			const uint32_t refused = SECCOMP_RET_ERRNO | EPERM;
			for (size_t j = 0; j < ARRAY_LENGTH(bits); j++) {
				uint64_t arguments[CALL_ARGUMENTS] = {0};
				arguments[shape->mode_at - 1] = 0755 | bits[j] | UINT64_C(1) << 40;
				if (shape->flags == CALL_FLAGS_OPEN) {
					const uint32_t read =
						wanted & TRAPS_OPENS ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;
					assert_int_equal(of_call(&filters[wanted], shape->number, arguments), read);
					arguments[shape->flags_at - 1] = j == 0 ? O_CREAT : O_TMPFILE;
				}
				assert_int_equal(of_call(&filters[wanted], shape->number, arguments),
						 changes && wanted ? SECCOMP_RET_USER_NOTIF : refused);
			}
		}
	}
}

static void attack_kernel_02_foreign_calls_are_refused(void **state) {
	(void)state;
	const uint32_t foreign[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_MIPS, 0, UINT32_MAX};
	for (unsigned wanted = 0; wanted < FILTER_COUNT; wanted++) {
		const struct filter *program = &filters[wanted];
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
		{SYS_sendto, {3, 1, 1, MSG_FASTOPEN | MSG_NOSIGNAL, 1, 16}, EOPNOTSUPP},
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
		{SYS_sendto, {3, 1, 1, MSG_NOSIGNAL}},
	};
	for (unsigned wanted = 0; wanted < FILTER_COUNT; wanted++) {
		const struct filter *program = &filters[wanted];
		for (size_t i = 0; i < ARRAY_LENGTH(calls); i++)
			assert_int_equal(of_call(program, calls[i].number, calls[i].arguments),
					 SECCOMP_RET_ERRNO | (uint32_t)calls[i].code);
		for (size_t i = 0; i < ARRAY_LENGTH(allowed); i++)
			assert_int_equal(of_call(program, allowed[i].number, allowed[i].arguments), SECCOMP_RET_ALLOW);
	}
}

static void sends_are_told_by_their_address(void **state) {
	(void)state;
	const struct {
		uint64_t flags, address;
		bool trapped;
	} sends[] = {
		{0, 0, false},
		{MSG_NOSIGNAL, 0, false},
		{0, 1, true},
		{MSG_NOSIGNAL | MSG_DONTWAIT, 0x7fff12345678, true},
		{0, UINT64_C(1) << 32, true}, /* a pointer has all 64 bits */
		{UINT64_MAX << 32, 1, true},  /* flags haven't (K1) */
	};
	for (unsigned wanted = 0; wanted < FILTER_COUNT; wanted++) {
		for (size_t i = 0; i < ARRAY_LENGTH(sends); i++) {
			const uint64_t arguments[CALL_ARGUMENTS] = {3, 4, 5, sends[i].flags, sends[i].address, 16};
			const bool trapped = sends[i].trapped && (wanted & for_sockets);
			assert_int_equal(of_call(&filters[wanted], SYS_sendto, arguments),
					 trapped ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW);
		}
	}
}

static void attack_net_07_fast_open_is_refused_however_it_is_asked_for(void **state) {
	(void)state;
	const uint64_t high = UINT64_C(0xdead) << 32;
	const struct {
		int number;
		uint64_t arguments[CALL_ARGUMENTS];
		uint32_t expected;
	} calls[] = {
		{SYS_sendto, {3, 1, 1, MSG_FASTOPEN, 1, 16}, SECCOMP_RET_ERRNO | EOPNOTSUPP},
		{SYS_sendto, {3, 1, 1, MSG_FASTOPEN, 0, 0}, SECCOMP_RET_ERRNO | EOPNOTSUPP},
		{SYS_sendto, {3, 1, 1, MSG_FASTOPEN | MSG_MORE | high, 1, 16}, SECCOMP_RET_ERRNO | EOPNOTSUPP},
		{SYS_sendmsg, {3, 1, MSG_FASTOPEN}, SECCOMP_RET_ERRNO | EOPNOTSUPP},
		{SYS_sendmsg, {3, 1, MSG_FASTOPEN | MSG_NOSIGNAL | high}, SECCOMP_RET_ERRNO | EOPNOTSUPP},
		{SYS_sendmsg, {3, 1, MSG_NOSIGNAL | MSG_DONTWAIT}, SECCOMP_RET_ALLOW},
		{SYS_sendmsg, {3, 1, (uint64_t)MSG_FASTOPEN << 32}, SECCOMP_RET_ALLOW},
		{SYS_sendmmsg, {3, 1, 2, MSG_FASTOPEN}, SECCOMP_RET_ERRNO | EOPNOTSUPP},
		{SYS_sendmmsg, {3, 1, 2, UINT32_MAX}, SECCOMP_RET_ERRNO | EOPNOTSUPP},
		{SYS_sendmmsg, {3, 1, MSG_FASTOPEN, 0}, SECCOMP_RET_ALLOW}, /* that many messages */
		{SYS_setsockopt, {3, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1, 4}, SECCOMP_RET_ERRNO | ENOPROTOOPT},
		{SYS_setsockopt,
		 {3, IPPROTO_TCP | high, TCP_FASTOPEN_CONNECT | high, 1, 4},
		 SECCOMP_RET_ERRNO | ENOPROTOOPT},
		{SYS_setsockopt, {3, SOL_SOCKET, TCP_FASTOPEN_CONNECT, 1, 4}, SECCOMP_RET_ALLOW},
		{SYS_setsockopt, {3, IPPROTO_TCP, TCP_NODELAY, 1, 4}, SECCOMP_RET_ALLOW},
		{SYS_setsockopt, {3, IPPROTO_TCP, TCP_FASTOPEN, 1, 4}, SECCOMP_RET_ALLOW}, /* of a server */
	};
	for (unsigned wanted = 0; wanted < FILTER_COUNT; wanted++)
		for (size_t i = 0; i < ARRAY_LENGTH(calls); i++)
			if (of_call(&filters[wanted], calls[i].number, calls[i].arguments) != calls[i].expected)
				fail_msg("wanted %u, row %zu", wanted, i);
}

static void attack_net_07_families_and_types_that_are_no_tools_business(void **state) {
	(void)state;
	const struct {
		uint64_t family, type, protocol;
		int code; /* 0: allowed */
	} sockets[] = {
		{AF_PACKET, SOCK_RAW, 0, EAFNOSUPPORT},
		{AF_PACKET, SOCK_DGRAM, 0, EAFNOSUPPORT},
		{AF_VSOCK, SOCK_STREAM, 0, EAFNOSUPPORT},
		{AF_VSOCK | UINT64_C(1) << 32, SOCK_STREAM, 0, EAFNOSUPPORT},
		{AF_BLUETOOTH, SOCK_STREAM, 0, EAFNOSUPPORT},
		{AF_CAN, SOCK_RAW, 0, EAFNOSUPPORT},
		{AF_ALG, SOCK_SEQPACKET, 0, EAFNOSUPPORT},
		{AF_XDP, SOCK_RAW, 0, EAFNOSUPPORT},
		{63, SOCK_STREAM, 0, EAFNOSUPPORT},
		{UINT32_MAX, SOCK_STREAM, 0, EAFNOSUPPORT},
		{AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP, EPERM},
		{AF_INET6, SOCK_RAW | SOCK_NONBLOCK, IPPROTO_ICMPV6, EPERM},
		{AF_INET, SOCK_PACKET, 0, EPERM},
		{AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER, EAFNOSUPPORT},
		{AF_NETLINK, SOCK_DGRAM, NETLINK_SOCK_DIAG, EAFNOSUPPORT},
		{AF_NETLINK, SOCK_DGRAM, NETLINK_KOBJECT_UEVENT, EAFNOSUPPORT},
		{AF_NETLINK, SOCK_DGRAM, NETLINK_GENERIC, EAFNOSUPPORT},
		{AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, 0},
		{AF_INET, SOCK_STREAM, 0, 0},
		{AF_INET6, SOCK_DGRAM, 0, 0},
		{AF_UNIX, SOCK_SEQPACKET, 0, 0},
	};
	for (unsigned wanted = 0; wanted < FILTER_COUNT; wanted++) {
		for (size_t i = 0; i < ARRAY_LENGTH(sockets); i++) {
			const uint64_t arguments[CALL_ARGUMENTS] = {sockets[i].family, sockets[i].type,
								    sockets[i].protocol};
			const uint32_t expected =
				sockets[i].code ? SECCOMP_RET_ERRNO | (uint32_t)sockets[i].code : SECCOMP_RET_ALLOW;
			if (of_call(&filters[wanted], SYS_socket, arguments) != expected)
				fail_msg("wanted %u, row %zu", wanted, i);
		}
	}
}

static bool is_of_the_socket(unsigned request) {
	static const unsigned legal[] = {FIOSETOWN,  SIOCSPGRP,      FIOGETOWN,        SIOCGPGRP,
					 SIOCATMARK, SIOCGSTAMP_OLD, SIOCGSTAMPNS_OLD, SIOCOUTQNSD};
	for (size_t i = 0; i < ARRAY_LENGTH(legal); i++)
		if (legal[i] == request) return true;
	return request == 0x8900; /* nobody's */
}

static void attack_net_15_ioctls_tell_nothing_of_interfaces(void **state) {
	(void)state;
	for (unsigned wanted = 0; wanted < FILTER_COUNT; wanted++) {
		for (unsigned request = 0; request <= 0xffff; request++) {
			const unsigned kind = request >> 8;
			if (request == TIOCSTI || request == TIOCLINUX) continue;
			const bool interfaces = kind == 0x8b || (kind == 0x89 && !is_of_the_socket(request));
			const uint64_t arguments[CALL_ARGUMENTS] = {3, request | UINT64_C(0x9) << 32};
			const uint32_t expected =
				interfaces && (wanted & TRAPS_DIRECT) ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_ALLOW;
			if (of_call(&filters[wanted], SYS_ioctl, arguments) != expected)
				fail_msg("wanted %u, ioctl %#x", wanted, request);
		}
		const uint64_t stamp[CALL_ARGUMENTS] = {3, SIOCGSTAMP_NEW}, unread[CALL_ARGUMENTS] = {3, SIOCINQ};
		assert_int_equal(of_call(&filters[wanted], SYS_ioctl, stamp), SECCOMP_RET_ALLOW);
		assert_int_equal(of_call(&filters[wanted], SYS_ioctl, unread), SECCOMP_RET_ALLOW);
	}
}

static void attack_net_15_options_lead_nowhere_else(void **state) {
	(void)state;
	static const struct {
		int level, option, code; /* only with TRAPS_DIRECT */
	} rows[] = {
		{SOL_SOCKET, SO_BINDTODEVICE, EPERM},
		{SOL_SOCKET, SO_BINDTOIFINDEX, EPERM},
		{IPPROTO_IP, IP_OPTIONS, EPERM},
		{IPPROTO_IPV6, IPV6_RTHDR, EPERM},
		{IPPROTO_TCP, TCP_ULP, EPERM},
		{IPPROTO_TCP, TCP_NODELAY, 0},
		{IPPROTO_TCP, TCP_KEEPIDLE, 0}, /* as IP_OPTIONS is numbered */
		{SOL_SOCKET, SO_KEEPALIVE, 0},
		{SOL_SOCKET, SO_SNDBUF, 0},
		{IPPROTO_IP, IP_TOS, 0},
		{IPPROTO_IPV6, IPV6_TCLASS, 0},
	};
	for (unsigned wanted = 0; wanted < FILTER_COUNT; wanted++) {
		for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
			const uint64_t arguments[CALL_ARGUMENTS] = {3, (uint64_t)rows[i].level | UINT64_C(1) << 32,
								    (uint64_t)rows[i].option | UINT64_C(1) << 32};
			const bool refused = rows[i].code && (wanted & TRAPS_DIRECT);
			const uint32_t expected =
				refused ? SECCOMP_RET_ERRNO | (uint32_t)rows[i].code : SECCOMP_RET_ALLOW;
			if (of_call(&filters[wanted], SYS_setsockopt, arguments) != expected)
				fail_msg("wanted %u, row %zu", wanted, i);
		}
	}
}

static void programs_that_are_alike_are_there_once(void **state) {
	(void)state;
	size_t steps = 0;
	for (unsigned wanted = 0; wanted < FILTER_COUNT; wanted++) {
		bool again = false;
		for (unsigned i = 0; i < wanted; i++) again |= filters[i].steps == filters[wanted].steps;
		if (!again) steps += filters[wanted].count;
	}
	assert_in_range(steps, filters[0].count, 15000);
	assert_ptr_equal(filters[TRAPS_DIRECT].steps, filters[TRAPS_DIRECT | for_sockets].steps);
}

static void it_is_short_enough_for_the_kernel(void **state) {
	(void)state;
	for (unsigned wanted = 0; wanted < FILTER_COUNT; wanted++) {
		const struct filter *program = &filters[wanted];
		assert_in_range(program->count, 50, BPF_MAXINSNS);
	}
}

/* What the kernel has to look at anew each time, since it depends on arguments. A list instead of a tree needs 110. */
static void what_is_let_through_costs_few_steps(void **state) {
	(void)state;
	static const int often[] = {SYS_getppid, SYS_read,    SYS_newfstatat, SYS_statx, SYS_openat,
				    SYS_sendto,  SYS_sendmsg, SYS_setsockopt, SYS_write};
	for (unsigned wanted = 0; wanted < FILTER_COUNT; wanted++) {
		const struct filter *program = &filters[wanted];
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
		cmocka_unit_test(attack_r_12_no_call_gives_a_file_such_a_bit_unseen),
		cmocka_unit_test(attack_kernel_02_foreign_calls_are_refused),
		cmocka_unit_test(refusals_hold_with_traps),
		cmocka_unit_test(sends_are_told_by_their_address),
		cmocka_unit_test(attack_net_07_fast_open_is_refused_however_it_is_asked_for),
		cmocka_unit_test(attack_net_07_families_and_types_that_are_no_tools_business),
		cmocka_unit_test(attack_net_15_ioctls_tell_nothing_of_interfaces),
		cmocka_unit_test(attack_net_15_options_lead_nowhere_else),
		cmocka_unit_test(programs_that_are_alike_are_there_once),
		cmocka_unit_test(it_is_short_enough_for_the_kernel),
		cmocka_unit_test(what_is_let_through_costs_few_steps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
