/*
 * filter_make: prints the programs of filter.h as C. Runs when sbx is built: libseccomp takes longer for one program
 * than the kernel for a whole sandbox, and doesn't survive a lack of memory.
 */
#include "filter.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "calls/call_table.h"

#ifndef F_SETDELEG /* Linux 6.19 */
#define F_SETDELEG 1040
#endif

#define LOW32 0xffffffffULL /* what the kernel looks at of an int or unsigned int */

/* Calls that fail whatever their arguments. By name: libseccomp 2.5 doesn't know the newest ones, those get numbers. */
static const struct {
	const char *name;
	int code;
} refused[] = {
	/* mounts, the old and the new way (attacks F9, F10; CVE-2021-41133) */
	{"mount", EPERM},
	{"umount", EPERM},
	{"umount2", EPERM},
	{"pivot_root", EPERM},
	{"chroot", EPERM},
	{"open_tree", EPERM},
	{"move_mount", EPERM},
	{"fsopen", EPERM},
	{"fsconfig", EPERM},
	{"fsmount", EPERM},
	{"fspick", EPERM},
	{"mount_setattr", EPERM},
	/* namespaces: clone3's flags are behind a pointer, so glibc is sent back to clone (K4) */
	{"clone3", ENOSYS},
	/* openat2's flags and mode are behind a pointer, too, and could change between a look at them and the call.
	 * Programs that call it also run on kernels before Linux 5.6, which don't have it. */
	{"openat2", ENOSYS},
	{"setns", EPERM},
	/* large kernel surface that tools can do without, or that gets round this filter */
	{"io_uring_setup", ENOSYS}, /* N8 */
	{"io_uring_enter", ENOSYS},
	{"io_uring_register", ENOSYS},
	{"bpf", EPERM},
	{"userfaultfd", EPERM},
	{"perf_event_open", EPERM},
	{"fanotify_init", EPERM},
	{"open_by_handle_at", EPERM}, /* the shocker way out of a mount namespace */
	{"kexec_load", EPERM},
	{"kexec_file_load", EPERM},
	{"init_module", EPERM},
	{"finit_module", EPERM},
	{"delete_module", EPERM},
	{"reboot", EPERM},
	{"swapon", EPERM},
	{"swapoff", EPERM},
	{"acct", EPERM},
	{"quotactl", EPERM},
	{"quotactl_fd", EPERM},
	{"syslog", EPERM},
	{"uselib", EPERM},
	{"nfsservctl", EPERM},
	{"lookup_dcookie", EPERM},
	{"vhangup", EPERM},
	/* keyrings are not in any namespace */
	{"add_key", EPERM},
	{"request_key", EPERM},
	{"keyctl", EPERM},
};

/* Newer than libseccomp 2.5.4; these numbers are the same on every architecture (since 424). */
static const struct {
	int number, code;
} refused_numbers[] = {
	{467, EPERM}, /* open_tree_attr, Linux 6.15 */
};

/* Calls that fail for some bits or values of one argument. */
static const struct {
	const char *name;
	uint64_t mask, value;
	unsigned argument;
	int code;
} refused_values[] = {
	{"ioctl", LOW32, TIOCSTI, 1, EPERM}, /* K1: type into the user's terminal */
	{"ioctl", LOW32, TIOCLINUX, 1, EPERM},
	/* F1: on btrfs they make a name, with a whole tree in it, that no trap sees */
	{"ioctl", LOW32, BTRFS_IOC_SUBVOL_CREATE, 1, EPERM},
	{"ioctl", LOW32, BTRFS_IOC_SUBVOL_CREATE_V2, 1, EPERM},
	{"ioctl", LOW32, BTRFS_IOC_SNAP_CREATE, 1, EPERM},
	{"ioctl", LOW32, BTRFS_IOC_SNAP_CREATE_V2, 1, EPERM},
	/* K5: who opens a leased file waits for up to 45 s (fcntl(2)), and whatever can be read can be leased */
	{"fcntl", LOW32, F_SETLEASE, 1, EINVAL},
	{"fcntl", LOW32, F_SETDELEG, 1, EINVAL},
	{"clone", CLONE_NEWNS, CLONE_NEWNS, 0, EPERM},
	{"clone", CLONE_NEWUTS, CLONE_NEWUTS, 0, EPERM},
	{"clone", CLONE_NEWIPC, CLONE_NEWIPC, 0, EPERM},
	{"clone", CLONE_NEWUSER, CLONE_NEWUSER, 0, EPERM},
	{"clone", CLONE_NEWPID, CLONE_NEWPID, 0, EPERM},
	{"clone", CLONE_NEWNET, CLONE_NEWNET, 0, EPERM},
	{"clone", CLONE_NEWCGROUP, CLONE_NEWCGROUP, 0, EPERM},
	{"unshare", CLONE_NEWNS, CLONE_NEWNS, 0, EPERM},
	{"unshare", CLONE_NEWUTS, CLONE_NEWUTS, 0, EPERM},
	{"unshare", CLONE_NEWIPC, CLONE_NEWIPC, 0, EPERM},
	{"unshare", CLONE_NEWUSER, CLONE_NEWUSER, 0, EPERM},
	{"unshare", CLONE_NEWPID, CLONE_NEWPID, 0, EPERM},
	{"unshare", CLONE_NEWNET, CLONE_NEWNET, 0, EPERM},
	{"unshare", CLONE_NEWCGROUP, CLONE_NEWCGROUP, 0, EPERM},
	{"unshare", CLONE_NEWTIME, CLONE_NEWTIME, 0, EPERM},
	/* a listener of the tool's own could answer for what a later filter of ours traps (K4) */
	{"seccomp", SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_FILTER_FLAG_NEW_LISTENER, 1, EBUSY},
	{"socket", 0xf, SOCK_PACKET, 1, EPERM},
	/* N7, N15: fast open connects by sending, past what traps connect */
	{"sendto", MSG_FASTOPEN, MSG_FASTOPEN, 3, EOPNOTSUPP},
	{"sendmsg", MSG_FASTOPEN, MSG_FASTOPEN, 2, EOPNOTSUPP},
	{"sendmmsg", MSG_FASTOPEN, MSG_FASTOPEN, 3, EOPNOTSUPP},
};

/* N15: ioctls about interfaces (0x89..: linux/sockios.h; 0x8b..: linux/wireless.h), which on a socket of the host would
 * tell of the host's. What is about the socket itself stays: owner, mark, time stamp (0x8900-0x8907), SIOCOUTQNSD
 * (0x894b). FIONREAD and TIOCOUTQ are elsewhere. */
static const struct {
	uint64_t mask, value;
} refused_interfaces[] = {
	{0xfffffff8, 0x8908}, {0xfffffff0, 0x8910}, {0xffffffe0, 0x8920}, {0xfffffff8, 0x8940},
	{0xfffffffe, 0x8948}, {0xffffffff, 0x894a}, {0xfffffffc, 0x894c}, {0xfffffff0, 0x8950},
	{0xffffffe0, 0x8960}, {0xffffff80, 0x8980}, {0xffffff00, 0x8b00},
};

/* N15: options by which a socket of the host would send elsewhere than it was connected to: out by another interface,
 * or by way of another machine (source routing); and those that make another protocol of it. */
static const struct {
	int level, option;
} refused_options[] = {
	{SOL_SOCKET, SO_BINDTODEVICE},
	{SOL_SOCKET, SO_BINDTOIFINDEX},
	{IPPROTO_IP, IP_OPTIONS},
	{IPPROTO_IPV6, IPV6_RTHDR},
	{IPPROTO_IPV6, 6 /* IPV6_2292PKTOPTIONS */},
	{IPPROTO_TCP, TCP_ULP},
};

/* What is looked at first of what sockets do (socket_calls.h), and for whom. */
enum { FOR_SERVERS = TRAPS_SERVERS | TRAPS_DIRECT, FOR_SOCKETS = TRAPS_SOCKETS | FOR_SERVERS };
static const struct {
	const char *name;
	unsigned wanted;
	unsigned address; /* trapped only if this argument is no NULL; 0: always */
	unsigned flags;   /* and with `address`: where MSG_FASTOPEN would be, which is refused above */
} trapped_sockets[] = {
	{"connect", FOR_SOCKETS, 0, 0},
	{"sendto", FOR_SOCKETS, 4, 3},
	{"bind", FOR_SERVERS, 0, 0},
	{"listen", FOR_SERVERS, 0, 0},
};

/* The families that stay: local, IPv4, IPv6 and route netlink. All others, known and to come, are refused (N7). */
static const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
enum { FAMILY_END = 64 }; /* AF_MAX is 46 in Linux 6.12 */

/* What makes an open one that may change something (open(2)): trapped when one of these is so. */
static const struct {
	uint64_t mask, value;
} open_writes[] = {
	{O_ACCMODE, O_WRONLY}, {O_ACCMODE, O_RDWR}, {O_ACCMODE, O_ACCMODE},
	{O_CREAT, O_CREAT},    {O_TRUNC, O_TRUNC},  {O_TMPFILE & ~O_DIRECTORY, O_TMPFILE & ~O_DIRECTORY},
};

static int add_rule(scmp_filter_ctx context, int code, int number, unsigned count, const struct scmp_arg_cmp *compare) {
	if (number == __NR_SCMP_ERROR) return 0; /* this libseccomp doesn't know it; neither does this architecture */
	int r = seccomp_rule_add_array(context, SCMP_ACT_ERRNO((uint32_t)code), number, count, compare);
	return r == -EDOM ? 0 : r; /* EDOM: not on this architecture */
}

static int add_families(scmp_filter_ctx context, const char *name) {
	const int number = seccomp_syscall_resolve_name(name);
	int r = 0;
	for (int family = 0; r == 0 && family < FAMILY_END; family++) {
		bool stays = false;
		for (size_t i = 0; i < ARRAY_LENGTH(families); i++) stays |= families[i] == family;
		const struct scmp_arg_cmp is = SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, (scmp_datum_t)family);
		if (!stays) r = add_rule(context, EAFNOSUPPORT, number, 1, &is);
	}
	/* with anything in the high half, too: nobody has a reason to put it there */
	const struct scmp_arg_cmp above = SCMP_A0(SCMP_CMP_GE, FAMILY_END, 0);
	if (r == 0) r = add_rule(context, EAFNOSUPPORT, number, 1, &above);
	const struct scmp_arg_cmp other_netlink[] = {SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, AF_NETLINK),
						     SCMP_A2(SCMP_CMP_NE, NETLINK_ROUTE, 0)};
	if (r == 0) r = add_rule(context, EAFNOSUPPORT, number, ARRAY_LENGTH(other_netlink), other_netlink);
	const struct scmp_arg_cmp raw[][2] = {
		{SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, AF_INET), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, SOCK_RAW)},
		{SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, AF_INET6), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, SOCK_RAW)},
	};
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(raw); i++) r = add_rule(context, EPERM, number, 2, raw[i]);
	return r;
}

static int add_fast_open(scmp_filter_ctx context) {
	const struct scmp_arg_cmp is[] = {SCMP_A1(SCMP_CMP_MASKED_EQ, LOW32, IPPROTO_TCP),
					  SCMP_A2(SCMP_CMP_MASKED_EQ, LOW32, TCP_FASTOPEN_CONNECT)};
	return add_rule(context, ENOPROTOOPT, seccomp_syscall_resolve_name("setsockopt"), ARRAY_LENGTH(is), is);
}

static int add_interfaces(scmp_filter_ctx context) {
	const int number = seccomp_syscall_resolve_name("ioctl");
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(refused_interfaces); i++) {
		const struct scmp_arg_cmp is =
			SCMP_A1(SCMP_CMP_MASKED_EQ, refused_interfaces[i].mask, refused_interfaces[i].value);
		r = add_rule(context, EPERM, number, 1, &is);
	}
	return r;
}

static int add_options(scmp_filter_ctx context) {
	const int number = seccomp_syscall_resolve_name("setsockopt");
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(refused_options); i++) {
		const struct scmp_arg_cmp is[] = {
			SCMP_A1(SCMP_CMP_MASKED_EQ, LOW32, (scmp_datum_t)refused_options[i].level),
			SCMP_A2(SCMP_CMP_MASKED_EQ, LOW32, (scmp_datum_t)refused_options[i].option)};
		r = add_rule(context, EPERM, number, ARRAY_LENGTH(is), is);
	}
	return r;
}

static bool is_trapped(const struct call_shape *shape, unsigned wanted) {
	switch (shape->class) {
	case CALL_OTHER:
		return false;
	case CALL_LOOK:
		return shape->flags == CALL_FLAGS_ACCESS && (wanted & TRAPS_WRITES);
	case CALL_OPEN:
	case CALL_NAMES:
	case CALL_CHANGE:
		return wanted & (TRAPS_WRITES | TRAPS_OPENS);
	case CALL_EXECUTE:
		return wanted & (TRAPS_PROGRAMS | TRAPS_OPENS);
	}
	return false;
}

/* One rule for each bit of CALL_SET_ID. The runner carries the call out where it is of a folder (hold/set_id.h). */
static const unsigned set_id[] = {S_ISUID, S_ISGID};

static int add_set_id(scmp_filter_ctx context, const struct call_shape *shape, unsigned wanted) {
	const uint32_t action = wanted ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(EPERM);
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(set_id); i++) {
		const struct scmp_arg_cmp has = SCMP_CMP(shape->mode_at - 1U, SCMP_CMP_MASKED_EQ, set_id[i], set_id[i]);
		r = seccomp_rule_add_array(context, action, shape->number, 1, &has);
	}
	return r;
}

/* Only where it names something else than the descriptor: a path that is NULL is the descriptor's own. */
static int add_named(scmp_filter_ctx context, const struct call_shape *shape, unsigned wanted) {
	const unsigned char path = shape->paths[0].path;
	int r = shape->mode_at ? add_set_id(context, shape, wanted) : 0;
	if (r < 0 || !path) return r;
	const struct scmp_arg_cmp has = SCMP_CMP(path - 1U, SCMP_CMP_NE, 0, 0);
	return seccomp_rule_add_array(context, SCMP_ACT_NOTIFY, shape->number, 1, &has);
}

static int add_trap(scmp_filter_ctx context, const struct call_shape *shape, unsigned wanted) {
	if (shape->flags == CALL_FLAGS_ACCESS) {
		const struct scmp_arg_cmp writes = SCMP_CMP(shape->flags_at - 1U, SCMP_CMP_MASKED_EQ, W_OK, W_OK);
		return seccomp_rule_add_array(context, SCMP_ACT_NOTIFY, shape->number, 1, &writes);
	}
	if (shape->class == CALL_CHANGE && shape->paths[0].folder && !(wanted & (TRAPS_DESCRIPTORS | TRAPS_OPENS)))
		return add_named(context, shape, wanted);
	if (shape->flags != CALL_FLAGS_OPEN || (wanted & TRAPS_OPENS))
		return seccomp_rule_add_array(context, SCMP_ACT_NOTIFY, shape->number, 0, NULL);
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(open_writes); i++) {
		const struct scmp_arg_cmp is =
			SCMP_CMP(shape->flags_at - 1U, SCMP_CMP_MASKED_EQ, open_writes[i].mask, open_writes[i].value);
		r = seccomp_rule_add_array(context, SCMP_ACT_NOTIFY, shape->number, 1, &is);
	}
	return r;
}

static int add_traps(scmp_filter_ctx context, unsigned wanted) {
	int r = 0;
	for (size_t i = 0; r == 0 && i < call_shape_count; i++) {
		const struct call_shape *shape = &call_shapes[i];
		if (shape->number < 0) continue;
		if (is_trapped(shape, wanted))
			r = add_trap(context, shape, wanted);
		else if (shape->class == CALL_CHANGE && shape->mode_at)
			r = add_set_id(context, shape, wanted);
	}
	return r;
}

static int add_socket_traps(scmp_filter_ctx context, unsigned wanted) {
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(trapped_sockets); i++) {
		if (!(trapped_sockets[i].wanted & wanted)) continue;
		const struct scmp_arg_cmp has[] = {
			SCMP_CMP(trapped_sockets[i].address, SCMP_CMP_NE, 0, 0),
			SCMP_CMP(trapped_sockets[i].flags, SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, 0),
		};
		r = seccomp_rule_add_array(context, SCMP_ACT_NOTIFY,
					   seccomp_syscall_resolve_name(trapped_sockets[i].name),
					   trapped_sockets[i].address ? ARRAY_LENGTH(has) : 0, has);
	}
	return r;
}

static int add_rules(scmp_filter_ctx context, unsigned wanted) {
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(refused); i++)
		r = add_rule(context, refused[i].code, seccomp_syscall_resolve_name(refused[i].name), 0, NULL);
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(refused_numbers); i++)
		r = add_rule(context, refused_numbers[i].code, refused_numbers[i].number, 0, NULL);
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(refused_values); i++) {
		const struct scmp_arg_cmp compare = SCMP_CMP(refused_values[i].argument, SCMP_CMP_MASKED_EQ,
							     refused_values[i].mask, refused_values[i].value);
		r = add_rule(context, refused_values[i].code, seccomp_syscall_resolve_name(refused_values[i].name), 1,
			     &compare);
	}
	if (r == 0) r = add_families(context, "socket");
	if (r == 0) r = add_fast_open(context);
	if (r == 0 && (wanted & TRAPS_DIRECT)) r = add_interfaces(context);
	if (r == 0 && (wanted & TRAPS_DIRECT)) r = add_options(context);
	if (r == 0) r = add_socket_traps(context, wanted);
	return r == 0 ? add_traps(context, wanted) : r;
}

/* libseccomp 2.5 writes programs to descriptors only. */
static int export_filter(scmp_filter_ctx context, struct sock_filter **ret_filter, uint32_t *ret_count,
			 struct error *error) {
	CLEANUP_FD int fd = memfd_create("sbx-filter", MFD_CLOEXEC);
	if (fd < 0) return error_errno(error, "making a memfd");
	int r = seccomp_export_bpf(context, fd);
	if (r < 0) return error_set(error, -r, "writing the system call filter");
	struct stat status;
	if (fstat(fd, &status) < 0) return error_errno(error, "reading the system call filter");
	const size_t size = (size_t)status.st_size, count = size / sizeof(struct sock_filter);
	if (count == 0 || count > BPF_MAXINSNS)
		return error_set(error, E2BIG, "the system call filter has %zu steps", count);
	struct sock_filter *filter = mem_array(struct sock_filter, count);
	if (pread(fd, filter, size, 0) != (ssize_t)size) {
		free(filter);
		return error_set(error, EIO, "reading the system call filter");
	}
	*ret_filter = filter;
	*ret_count = (uint32_t)count;
	return 0;
}

static int build(unsigned wanted, struct sock_filter **ret_filter, uint32_t *ret_count, struct error *error) {
	scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
	if (!context) return error_set(error, ENOMEM, "making the system call filter");
	int r = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
	/* a binary search for the call's number: calls whose arguments are looked at run all of the program */
	if (r == 0) r = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r == 0) r = add_rules(context, wanted);
	if (r < 0)
		error_set(error, -r, "making the system call filter");
	else
		r = export_filter(context, ret_filter, ret_count, error);
	seccomp_release(context);
	return r;
}

struct program {
	struct sock_filter *steps;
	uint32_t count;
	unsigned same; /* the first that has the same steps */
};

/* Of the low half of an argument, counted from 1. */
static uint32_t place_of(unsigned char argument) {
	const size_t half = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(uint32_t) : 0;
	return (uint32_t)(offsetof(struct seccomp_data, args) + sizeof(uint64_t) * (argument - 1U) + half);
}

enum { MADE_FLAGS = O_CREAT | (O_TMPFILE & ~O_DIRECTORY) };

static struct sock_filter load(size_t place) {
	return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)place);
}

/* Over so many steps when the test of what was loaded holds, and when it doesn't. */
static struct sock_filter jump(unsigned test, uint32_t value, size_t if_true, size_t if_false) {
	return (struct sock_filter)BPF_JUMP(BPF_JMP | test | BPF_K, value, (uint8_t)if_true, (uint8_t)if_false);
}

static bool is_made(const struct call_shape *shape) {
	return shape->number >= 0 && shape->mode_at && (shape->class == CALL_OPEN || shape->class == CALL_NAMES);
}

static size_t made_size(const struct call_shape *shape) {
	return shape->flags_at ? 5 : 3;
}

/* `over`: to the end of all of these, from the end of this one. */
static void refuse_made(const struct call_shape *shape, struct sock_filter *steps, size_t over) {
	if (shape->flags_at) {
		*steps++ = load(place_of(shape->flags_at));
		*steps++ = jump(BPF_JSET, MADE_FLAGS, 0, over + 3);
	}
	*steps++ = load(place_of(shape->mode_at));
	*steps++ = jump(BPF_JSET, CALL_SET_ID, 0, over + 1);
	*steps = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
}

/* No file is made with one of these bits (attack R12). libseccomp has no rule that holds whatever another rule says of
 * the same call, so this comes before its program: the number, a jump for each of the calls, one over all, what each
 * does. */
static void refuse_all_made(struct program *program) {
	const struct call_shape *made[8];
	size_t count = 0, size = 0, at = 0, done = 0;
	for (size_t i = 0; i < call_shape_count; i++) {
		if (!is_made(&call_shapes[i])) continue;
		made[count++] = &call_shapes[i];
		size += made_size(&call_shapes[i]);
	}
	assert(count < ARRAY_LENGTH(made));
	struct sock_filter *steps = mem_array(struct sock_filter, count + 2 + size + program->count);
	steps[at++] = load(offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < count; done += made_size(made[i++]))
		steps[at++] = jump(BPF_JEQ, (uint32_t)made[i]->number, count - i + done, 0);
	steps[at++] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)size);
	for (size_t i = 0; i < count; i++) {
		size -= made_size(made[i]);
		refuse_made(made[i], steps + at, size);
		at += made_size(made[i]);
	}
	memcpy(steps + at, program->steps, program->count * sizeof *steps);
	free(program->steps);
	program->steps = steps;
	program->count += (uint32_t)at;
}

static int make(struct program *programs, unsigned wanted, struct error *error) {
	struct program *program = &programs[wanted];
	int r = build(wanted, &program->steps, &program->count, error);
	if (r < 0) return r;
	refuse_all_made(program);
	while (programs[program->same].count != program->count ||
	       memcmp(programs[program->same].steps, program->steps, program->count * sizeof *program->steps) != 0)
		program->same++;
	return 0;
}

static void print(const struct program *program, unsigned wanted) {
	if (program->same != wanted) return;
	printf("static const struct sock_filter steps_%u[] = {\n", wanted);
	for (uint32_t i = 0; i < program->count; i++) {
		const struct sock_filter *step = &program->steps[i];
		printf("\t{%#x, %u, %u, %#x},\n", step->code, step->jt, step->jf, step->k);
	}
	printf("};\n");
}

int main(void) {
	struct error error = ERROR_NONE;
	struct program programs[FILTER_COUNT] = {0};
	int r = 0;
	/* notifications: what the kernel that this is built on has says nothing of the one that it will run on */
	seccomp_api_set(5);
	for (unsigned wanted = 0; r == 0 && wanted < FILTER_COUNT; wanted++) r = make(programs, wanted, &error);
	if (r < 0) {
		fprintf(stderr, "filter_make: %s\n", error.message);
		return 1;
	}
	printf("#include \"runner/sandbox/filter.h\"\n");
	for (unsigned wanted = 0; wanted < FILTER_COUNT; wanted++) print(&programs[wanted], wanted);
	printf("const struct filter filters[FILTER_COUNT] = {\n");
	for (unsigned wanted = 0; wanted < FILTER_COUNT; wanted++) {
		const unsigned same = programs[wanted].same;
		printf("\t{steps_%u, sizeof steps_%u / sizeof *steps_%u},\n", same, same, same);
		free(programs[wanted].steps);
	}
	printf("};\n");
	return fflush(stdout) == 0 ? 0 : 1;
}
