/*
 * Theory of operation.
 *
 * sbxd gives up rights in three steps. Before anything else (sbxd.c): capabilities, new privileges, being dumped or
 * traced, core files. Then it forks into the background, takes its socket, opens its database and starts its helpers.
 * Then, here, the last thing before it serves, whatever of the kernel it won't use any more.
 *
 * The list is an allow list: what isn't on it reaches no code of the kernel's. A call that isn't gets SIGSYS, and the
 * handler writes a line, since the kernel's own goes where a user can't read it. Then there are two kinds:
 *
 *   calls that no library of ours has a use for (`alarms`)   somebody else's code runs in here: the broker ends, and
 *                                                            with it every question is denied
 *   all others                                               -ENOSYS, as from a kernel that doesn't have it: a newer
 *                                                            libc tries its new call first and then does without;
 *                                                            whatever doesn't is an error on the way to a verdict,
 *                                                            which denies
 *
 * The handler is for the log alone: who replaces it in a broker taken over still gets no call through. Calls of another
 * architecture's table end the process at once (seccomp(2), SCMP_ACT_KILL_PROCESS).
 *
 * Paths are behind pointers, where no filter sees them. But all that is written is open by then (SQLite keeps what is
 * temporary in memory, store.c), so nothing can be opened for writing, no mode changed, no name moved; and the sockets
 * through which a program could be started elsewhere (session bus, container services) or keys be used (agents) are
 * streams, which it can't make. No other process is signalled, not even by a descriptor whose events it is told of
 * (fcntl(2), F_SETOWN). What is left to a broker taken over: it reads what the user may read, unlinks the names of the
 * user's files (SQLite's log and our own socket are unlinked at the end), binds sockets by name, and sends datagrams,
 * with descriptors in them, to whoever of the user's receives such; and it answers requests.
 * Landlock, which knows paths, is not to be had: a process under it may look at no other process (landlock(7), ptrace
 * restrictions), and a client's namespaces tell a sandbox from its user (peer.c).
 *
 * By name, so that one list serves every architecture; a name that one doesn't have is passed over. Those with a 64 are
 * 32-bit machines' (large files, times after 2038).
 */
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

#define LOW32 0xffffffffULL /* what the kernel looks at of an int or unsigned int */

enum { NUMBERS_TOLD = 1024 };

/* Allowed whatever their arguments, by who needs them. */
static const struct {
	const char *who;
	const char *names[24];
} allowed[] = {
	{"SQLite, policies, the log, time zones: files",
	 {"close", "read", "pread64", "write", "writev", "pwrite64", "lseek", "_llseek", "ftruncate", "ftruncate64",
	  "fallocate", "fsync", "fdatasync", "unlink"}},
	{"SQLite's and our own looks at names; /proc for a peer's namespaces",
	 {"fstat", "fstat64", "stat", "stat64", "lstat", "lstat64", "newfstatat", "fstatat64", "statx", "access",
	  "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd", "getdents64"}},
	{"malloc; locks within libc", {"brk", "munmap", "mremap", "madvise", "futex", "futex_time64"}},
	{"libevent's loop; timers of the user's clock",
	 {"poll", "ppoll", "ppoll_time64", "timerfd_settime", "timerfd_settime64"}},
	{"signals: libevent's, and back from SIGSYS",
	 {"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigreturn", "restart_syscall"}},
	{"files that change (inotify)", {"inotify_add_watch", "inotify_rm_watch"}},
	{"clients and their pidfds; syslog(3) and the listener made anew",
	 {"accept4", "bind", "listen", "connect", "recvfrom", "recv", "recvmsg", "sendto", "send", "sendmsg",
	  "pidfd_open"}},
	{"clocks where there is no vDSO; SQLite's waits",
	 {"clock_gettime", "clock_gettime64", "gettimeofday", "time", "clock_nanosleep", "clock_nanosleep_time64",
	  "nanosleep"}},
	{"tokens, jansson's seed", {"getrandom"}},
	{"who it is; qsort(3) asks how much memory there is",
	 {"getpid", "gettid", "getuid", "getuid32", "geteuid", "geteuid32", "getgid", "getgid32", "getegid",
	  "getegid32", "sysinfo", "uname"}},
	{"the end", {"exit", "exit_group"}},
};

/* Allowed while each (argument & mask) == value. */
struct condition {
	unsigned argument;
	uint64_t mask, value;
};

enum { CONDITIONS = 2, WRITING = O_ACCMODE | O_CREAT | O_TRUNC, TYPE = 0xf };

static const struct {
	const char *name;
	struct condition conditions[CONDITIONS]; /* mask 0: none */
} limited[] = {
	{"open", {{1, WRITING, O_RDONLY}}}, /* policies, time zones, /proc */
	{"openat", {{2, WRITING, O_RDONLY}}},
	{"mmap", {{2, PROT_EXEC, 0}}}, /* malloc, json */
	{"mmap2", {{2, PROT_EXEC, 0}}},
	{"mprotect", {{2, PROT_EXEC, 0}}},
	{"socket", {{0, LOW32, AF_UNIX}, {1, TYPE, SOCK_SEQPACKET}}}, /* the listener made anew (listener_resume) */
	{"socket", {{0, LOW32, AF_UNIX}, {1, TYPE, SOCK_DGRAM}}},     /* syslog(3) */
	{"getsockopt", {{1, LOW32, SOL_SOCKET}}},                     /* peers */
	{"setsockopt", {{1, LOW32, SOL_SOCKET}, {2, LOW32, SO_PASSCRED}}},
	{"pidfd_send_signal", {{1, LOW32, SIGKILL}, {3, LOW32, 0}}}, /* runners that don't end (session_terminate) */
	{"pidfd_send_signal", {{1, LOW32, SIGSTOP}, {3, LOW32, 0}}}, /* those that don't confirm (sandbox) */
	{"pidfd_send_signal", {{1, LOW32, SIGCONT}, {3, LOW32, 0}}},
	{"ioctl", {{1, LOW32, TCGETS}}}, /* the log: is its terminal raw? */
	{"fcntl", {{1, LOW32, F_SETFL}, {2, O_ASYNC, 0}}},
	{"fcntl64", {{1, LOW32, F_SETFL}, {2, O_ASYNC, 0}}},
};

/* Flags, copies and locks (SQLite's). Whatever says who is signalled of a descriptor (F_SETOWN, F_SETSIG, F_NOTIFY,
 * F_SETLEASE …) is not among them: it would reach any process of the user's. */
static const int fcntl_commands[] = {F_GETFD, F_SETFD,  F_GETFL,     F_DUPFD_CLOEXEC, F_GETLK,
				     F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK,     F_OFD_SETLKW};

/* What nobody here ever calls by mistake. */
static const char *const alarms[] = {"execve",
				     "execveat",
				     "fork",
				     "vfork",
				     "clone",
				     "clone3",
				     "ptrace",
				     "process_vm_readv",
				     "process_vm_writev",
				     "pidfd_getfd",
				     "kill",
				     "tkill",
				     "pidfd_send_signal",
				     "socket",
				     "setuid",
				     "setgid",
				     "setresuid",
				     "setresgid",
				     "setreuid",
				     "setregid",
				     "setgroups",
				     "capset",
				     "mount",
				     "umount2",
				     "pivot_root",
				     "chroot",
				     "open_tree",
				     "move_mount",
				     "fsopen",
				     "fsmount",
				     "mount_setattr",
				     "unshare",
				     "setns",
				     "bpf",
				     "perf_event_open",
				     "userfaultfd",
				     "io_uring_setup",
				     "keyctl",
				     "add_key",
				     "request_key",
				     "memfd_create",
				     "open_by_handle_at"};

/* For the handler, which can't look names up (that takes memory) and has no other place to remember in. */
static int alarm_numbers[ARRAY_LENGTH(alarms)];
static bool told[NUMBERS_TOLD];

static const char *alarm_of(int number) {
	for (size_t i = 0; i < ARRAY_LENGTH(alarms); i++)
		if (alarm_numbers[i] == number) return alarms[i];
	return NULL;
}

static bool is_told(int number) {
	if (number < 0 || number >= NUMBERS_TOLD) return false;
	bool before = told[number];
	told[number] = true;
	return before;
}

static bool fail_call(ucontext_t *context, int code) {
#if defined(__x86_64__)
	context->uc_mcontext.gregs[REG_RAX] = -code;
#elif defined(__i386__)
	context->uc_mcontext.gregs[REG_EAX] = -code;
#elif defined(__aarch64__)
	context->uc_mcontext.regs[0] = (uint64_t)-code;
#elif defined(__arm__)
	context->uc_mcontext.arm_r0 = (unsigned long)-code;
#elif defined(__riscv)
	context->uc_mcontext.__gregs[REG_A0] = (unsigned long)-code;
#else
	(void)context;
	(void)code;
	return false; /* whoever brings such a machine adds a line */
#endif
	return true;
}

/* SIGSYS comes at the very call, so nothing is interrupted that log_line needs: it has neither heap nor locks. */
static void on_refused(int signal, siginfo_t *info, void *context) {
	(void)signal;
	const char *name = alarm_of(info->si_syscall);
	if (name) {
		log_error("system call %s was tried, which sbxd never makes: ended", name);
		_exit(CONFINE_ALARM);
	}
	if (!is_told(info->si_syscall))
		log_error("system call %d of architecture %#x isn't one that sbxd makes: refused", info->si_syscall,
			  info->si_arch);
	if (!fail_call(context, ENOSYS)) _exit(CONFINE_ALARM);
}

static int add_rule(scmp_filter_ctx filter, const char *name, unsigned count, const struct scmp_arg_cmp *compare) {
	int number = seccomp_syscall_resolve_name(name);
	if (number == __NR_SCMP_ERROR) return 0; /* newer than this libseccomp; refused then, which is told */
	int r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, count, compare);
	return r == -EDOM ? 0 : r; /* not on this architecture */
}

static int add_rules(scmp_filter_ctx filter) {
	int r = 0;
	for (size_t i = 0; i < ARRAY_LENGTH(allowed); i++)
		for (const char *const *name = allowed[i].names; r == 0 && *name; name++)
			r = add_rule(filter, *name, 0, NULL);
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(limited); i++) {
		struct scmp_arg_cmp compare[CONDITIONS];
		unsigned count = 0;
		for (; count < CONDITIONS && limited[i].conditions[count].mask != 0; count++) {
			const struct condition *condition = &limited[i].conditions[count];
			compare[count] = (struct scmp_arg_cmp){.arg = condition->argument,
							       .op = SCMP_CMP_MASKED_EQ,
							       .datum_a = condition->mask,
							       .datum_b = condition->value};
		}
		r = add_rule(filter, limited[i].name, count, compare);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(fcntl_commands); i++) {
		const struct scmp_arg_cmp command = {.arg = 1,
						     .op = SCMP_CMP_MASKED_EQ,
						     .datum_a = LOW32,
						     .datum_b = (scmp_datum_t)fcntl_commands[i]};
		r = add_rule(filter, "fcntl", 1, &command);
		if (r == 0) r = add_rule(filter, "fcntl64", 1, &command);
	}
	/* abort(3) signals itself. */
	const struct scmp_arg_cmp self = {.arg = 0, .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)getpid()};
	return r == 0 ? add_rule(filter, "tgkill", 1, &self) : r;
}

static int load_filter(struct error *error) {
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_TRAP);
	if (!filter) mem_exhausted();
	int r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	/* A tree by number instead of a long chain; the kernel remembers most answers anyway (Linux 5.11). */
	if (r == 0) r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r == 0) r = add_rules(filter);
	if (r == 0) r = seccomp_load(filter);
	seccomp_release(filter);
	return r < 0 ? error_set(error, -r, "filtering its system calls: %s", strerror(-r)) : 0;
}

static int catch_refused(struct error *error) {
	struct sigaction action = {.sa_sigaction = on_refused, .sa_flags = SA_SIGINFO};
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_LENGTH(alarms); i++) alarm_numbers[i] = seccomp_syscall_resolve_name(alarms[i]);
	return sigaction(SIGSYS, &action, NULL) < 0 ? error_errno(error, "catching SIGSYS") : 0;
}

int confine_self(bool *ret_confined, struct error *error) {
	*ret_confined = !SANITIZED;
	if (SANITIZED) {
		log_warning("built with a sanitizer, so sbxd is not confined");
		return 0;
	}
	int r = catch_refused(error);
	if (r == 0) r = load_filter(error);
	return r < 0 ? error_prefix(error, "giving up rights") : 0;
}
