/*
 * probe: what a hostile program inside a sandbox would try, for the end-to-end tests.
 *
 * `probe NAME [ARG…]` makes one attempt and prints one line: "worked" when it did, else the name of the errno. Exit
 * status 0 either way, so that a death by the filter is seen as such.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { X32_BIT = 0x40000000, I386_MKDIR = 39, I386_UNSHARE = 310, TIOCLINUX_PASTE = 3 };

/* An ioctl whose number carries bits above the 32 that the kernel looks at (CVE-2019-10063). */
static long ioctl_number(unsigned long number, const void *argument) {
	return syscall(SYS_ioctl, STDIN_FILENO, number, argument);
}

static long try_tiocsti(char **arguments) {
	(void)arguments;
	return ioctl_number(TIOCSTI, "#");
}

static long try_tiocsti_high(char **arguments) {
	(void)arguments;
	return ioctl_number((1UL << 32) | TIOCSTI, "#");
}

static long try_tioclinux(char **arguments) {
	char paste = TIOCLINUX_PASTE;
	(void)arguments;
	return ioctl_number(TIOCLINUX, &paste);
}

static long try_tioclinux_high(char **arguments) {
	char paste = TIOCLINUX_PASTE;
	(void)arguments;
	return ioctl_number((1UL << 40) | TIOCLINUX, &paste);
}

#ifdef __x86_64__
/* A system call through the i386 entry: its numbers mean other calls than the filter's (K2). */
static long i386(long number, long first) {
	long result;
	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(first), "c"(0700L)
			 : "memory", "cc", "r8", "r9", "r10", "r11");
	if (result < 0) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

static long try_i386_unshare(char **arguments) {
	(void)arguments;
	return i386(I386_UNSHARE, CLONE_NEWUSER);
}

static long try_x32_unshare(char **arguments) {
	(void)arguments;
	return syscall(X32_BIT | SYS_unshare, CLONE_NEWUSER);
}

static long try_x32_getpid(char **arguments) {
	(void)arguments;
	return syscall(X32_BIT | SYS_getpid);
}
#endif

static long try_userns(char **arguments) {
	(void)arguments;
	return unshare(CLONE_NEWUSER);
}

/* The flag hidden in a structure that a filter can't read. */
static long try_clone3_userns(char **arguments) {
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} clone3 = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
	long child = syscall(SYS_clone3, &clone3, sizeof clone3);
	(void)arguments;
	if (child == 0) _exit(0);
	if (child > 0) waitpid((pid_t)child, NULL, 0);
	return child;
}

static long try_clone_userns(char **arguments) {
	long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	(void)arguments;
	if (child == 0) _exit(0);
	if (child > 0) waitpid((pid_t)child, NULL, 0);
	return child;
}

static long try_mount(char **arguments) {
	(void)arguments;
	return mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
}

static long try_umount(char **arguments) {
	return umount2(arguments[0], MNT_DETACH);
}

static long try_open_tree(char **arguments) {
	(void)arguments;
	return syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */);
}

static long try_fsopen(char **arguments) {
	(void)arguments;
	return syscall(SYS_fsopen, "tmpfs", 0);
}

static long try_mount_setattr(char **arguments) {
	uint64_t attributes[4] = {0, 1 /* clear MOUNT_ATTR_RDONLY */, 0, 0};
	return syscall(SYS_mount_setattr, AT_FDCWD, arguments[0], 0, attributes, sizeof attributes);
}

static long try_chroot(char **arguments) {
	(void)arguments;
	return chroot("/tmp");
}

static long try_io_uring(char **arguments) {
	char parameters[120] = {0};
	(void)arguments;
	return syscall(SYS_io_uring_setup, 4, parameters);
}

static long try_bpf(char **arguments) {
	union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
	(void)arguments;
	return syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes);
}

static long try_userfaultfd(char **arguments) {
	(void)arguments;
	return syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */);
}

static long try_perf(char **arguments) {
	struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
					     .size = sizeof attributes,
					     .config = PERF_COUNT_SW_TASK_CLOCK,
					     .exclude_kernel = 1};
	(void)arguments;
	return syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
}

static long try_keyctl(char **arguments) {
	(void)arguments;
	return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, -4 /* KEY_SPEC_USER_KEYRING */, 1);
}

static long try_add_key(char **arguments) {
	(void)arguments;
	return syscall(SYS_add_key, "user", "sbx-probe", "x", 1, -2 /* KEY_SPEC_PROCESS_KEYRING */);
}

/* socket FAMILY TYPE PROTOCOL, as numbers: families without a name in some headers are tried, too. */
static long try_socket(char **arguments) {
	int number[3] = {0};
	for (int i = 0; i < 3 && arguments[i]; i++) {
		if (sscanf(arguments[i], "%d", &number[i]) != 1) { // NOLINT(cert-err34-c): the tests give it
			errno = EINVAL;
			return -1;
		}
	}
	return socket(number[0], number[1], number[2]);
}

/* connect-unix PATH, where a leading @ means an abstract name. */
static long try_connect_unix(char **arguments) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(arguments[0]);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0 || length >= sizeof address.sun_path) return -1;
	memcpy(address.sun_path, arguments[0], length);
	if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
	return connect(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
}

static long try_ptrace_init(char **arguments) {
	(void)arguments;
	return ptrace(PTRACE_ATTACH, 1, NULL, NULL);
}

static long try_init_memory(char **arguments) {
	(void)arguments;
	return open("/proc/1/mem", O_RDWR | O_CLOEXEC);
}

static long try_init_executable(char **arguments) {
	(void)arguments;
	return open("/proc/1/exe", O_WRONLY | O_CLOEXEC);
}

/* A second filter may only add; a second listener would answer for the first one. */
static long try_listener(char **arguments) {
	struct {
		unsigned short code;
		unsigned char jt, jf;
		unsigned int k;
	} allow = {6 /* BPF_RET */, 0, 0, SECCOMP_RET_ALLOW};
	struct {
		unsigned short length;
		void *filter;
	} program = {1, &allow};
	(void)arguments;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static long try_link(char **arguments) {
	return link(arguments[0], arguments[1]);
}

static long try_write(char **arguments) {
	return open(arguments[0], O_WRONLY | O_CLOEXEC);
}

static long try_mkdir(char **arguments) {
	return mkdir(arguments[0], 0700);
}

static long try_rename(char **arguments) {
	return rename(arguments[0], arguments[1]);
}

static long try_exchange(char **arguments) {
	return renameat2(AT_FDCWD, arguments[0], AT_FDCWD, arguments[1], RENAME_EXCHANGE);
}

static long try_unlink(char **arguments) {
	return unlink(arguments[0]);
}

/* exec-bare PROGRAM: with no argument at all, not even its own name (CVE-2021-4034). */
static long try_exec_bare(char **arguments) {
	char *nothing[] = {NULL};
	return execve(arguments[0], nothing, environ);
}

static const struct {
	const char *name;
	int arguments;
	long (*attempt)(char **arguments);
} attempts[] = {
	{"tiocsti", 0, try_tiocsti},
	{"tiocsti-high", 0, try_tiocsti_high},
	{"tioclinux", 0, try_tioclinux},
	{"tioclinux-high", 0, try_tioclinux_high},
#ifdef __x86_64__
	{"i386-unshare", 0, try_i386_unshare},
	{"x32-unshare", 0, try_x32_unshare},
	{"x32-getpid", 0, try_x32_getpid},
#endif
	{"userns", 0, try_userns},
	{"clone-userns", 0, try_clone_userns},
	{"clone3-userns", 0, try_clone3_userns},
	{"mount", 0, try_mount},
	{"umount", 1, try_umount},
	{"open-tree", 0, try_open_tree},
	{"fsopen", 0, try_fsopen},
	{"mount-setattr", 1, try_mount_setattr},
	{"chroot", 0, try_chroot},
	{"io-uring", 0, try_io_uring},
	{"bpf", 0, try_bpf},
	{"userfaultfd", 0, try_userfaultfd},
	{"perf", 0, try_perf},
	{"keyctl", 0, try_keyctl},
	{"add-key", 0, try_add_key},
	{"socket", 3, try_socket},
	{"connect-unix", 1, try_connect_unix},
	{"ptrace-init", 0, try_ptrace_init},
	{"init-memory", 0, try_init_memory},
	{"init-executable", 0, try_init_executable},
	{"listener", 0, try_listener},
	{"link", 2, try_link},
	{"write", 1, try_write},
	{"mkdir", 1, try_mkdir},
	{"rename", 2, try_rename},
	{"exchange", 2, try_exchange},
	{"unlink", 1, try_unlink},
	{"exec-bare", 1, try_exec_bare},
};

int main(int argc, char **argv) {
	for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
		if (argc < 2 || strcmp(argv[1], attempts[i].name) != 0) continue;
		if (argc - 2 != attempts[i].arguments) break;
		puts(attempts[i].attempt(argv + 2) < 0 ? strerrorname_np(errno) : "worked");
		return 0;
	}
	fputs("probe: no such attempt, or the wrong number of arguments\n", stderr);
	return 2;
}
