/*
 * attack: what a hostile tool does that a shell can't. `runner_attack NAME [ARG…]` tries, prints "worked" or the
 * errno's name, and exits 0; anything else is the filter killing it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static long fs_rename(char **argv) {
	return rename(argv[0], argv[1]);
}

static long fs_exchange(char **argv) {
	return syscall(SYS_renameat2, AT_FDCWD, argv[0], AT_FDCWD, argv[1], 2U /* RENAME_EXCHANGE */);
}

static long fs_unlink(char **argv) {
	return unlink(argv[0]);
}

static long fs_write(char **argv) {
	return open(argv[0], O_WRONLY | O_CLOEXEC);
}

static long fs_chmod(char **argv) {
	return chmod(argv[0], 0777);
}

static long fs_umount(char **argv) {
	return umount2(argv[0], MNT_DETACH);
}

static long fs_unshare(char **argv) {
	(void)argv;
	return unshare(CLONE_NEWUSER | CLONE_NEWNS);
}

static long kernel_tiocsti(char **argv) {
	(void)argv;
	return syscall(SYS_ioctl, 0, TIOCSTI, "#");
}

static long kernel_tiocsti_high(char **argv) {
	(void)argv;
	return syscall(SYS_ioctl, 0, TIOCSTI | 1UL << 32, "#");
}

static long kernel_tioclinux(char **argv) {
	char paste = 3;
	(void)argv;
	return syscall(SYS_ioctl, 0, TIOCLINUX | 1UL << 33, &paste);
}

/* Call 20 of i386 is getpid; through int 0x80 the filter sees another architecture. */
static long kernel_i386(char **argv) {
	(void)argv;
#ifdef __x86_64__
	long result;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
	if (result < 0) errno = (int)-result;
	return result < 0 ? -1 : 0;
#else
	errno = ENOSYS;
	return -1;
#endif
}

static long kernel_x32(char **argv) {
	(void)argv;
	return syscall(0x40000000 + SYS_getpid);
}

static long kernel_ptrace_init(char **argv) {
	(void)argv;
	return ptrace(PTRACE_ATTACH, 1, NULL, NULL);
}

static long kernel_init_memory(char **argv) {
	(void)argv;
	return open("/proc/1/mem", O_RDWR | O_CLOEXEC);
}

static long kernel_init_program(char **argv) {
	(void)argv;
	return open("/proc/1/exe", O_WRONLY | O_CLOEXEC);
}

static long kernel_listener(char **argv) {
	struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
	const struct sock_fprog program = {.len = 1, .filter = &allow};
	(void)argv;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static long kernel_clone3(char **argv) {
	(void)argv;
	return syscall(SYS_clone3, NULL, 0);
}

static long net_abstract(char **argv) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t size = strlen(argv[0]);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	memcpy(address.sun_path + 1, argv[0], size);
	return connect(fd, (const struct sockaddr *)&address,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size));
}

static long net_unix(char **argv) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", argv[0]);
	return connect(fd, (const struct sockaddr *)&address, sizeof address);
}

static long net_vsock(char **argv) {
	(void)argv;
	return socket(AF_VSOCK, SOCK_STREAM, 0);
}

/* Connect by sending (tcp(7)), in the ways that the kernel knows. */
static const struct sockaddr_in elsewhere = {.sin_family = AF_INET, .sin_port = 0x5000, .sin_addr = {0x01010101}};

static long net_fast_sendto(char **argv) {
	(void)argv;
	return sendto(socket(AF_INET, SOCK_STREAM, 0), "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL,
		      (const struct sockaddr *)&elsewhere, sizeof elsewhere);
}

static long net_fast_sendmsg(char **argv) {
	struct iovec part = {.iov_base = (void *)"x", .iov_len = 1};
	struct mmsghdr messages[1] = {{.msg_hdr = {.msg_name = (void *)&elsewhere,
						   .msg_namelen = sizeof elsewhere,
						   .msg_iov = &part,
						   .msg_iovlen = 1}}};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (argv[0][0] == 'm') return sendmmsg(fd, messages, 1, MSG_FASTOPEN | MSG_NOSIGNAL);
	return sendmsg(fd, &messages[0].msg_hdr, MSG_FASTOPEN | MSG_NOSIGNAL);
}

static long net_fast_connect(char **argv) {
	const int on = 1;
	(void)argv;
	return setsockopt(socket(AF_INET, SOCK_STREAM, 0), IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof on);
}

/* Descriptors besides 0, 1, 2: errno EMFILE stands for "there is one". */
static long fs_descriptors(char **argv) {
	(void)argv;
	for (int fd = 3; fd < 4096; fd++) {
		if (fcntl(fd, F_GETFD) >= 0) return 0;
	}
	errno = EBADF;
	return -1;
}

static const struct {
	const char *name;
	long (*attempt)(char **argv);
	int arguments;
} attempts[] = {
	{"rename", fs_rename, 2},
	{"exchange", fs_exchange, 2},
	{"unlink", fs_unlink, 1},
	{"write", fs_write, 1},
	{"chmod", fs_chmod, 1},
	{"umount", fs_umount, 1},
	{"unshare", fs_unshare, 0},
	{"descriptors", fs_descriptors, 0},
	{"tiocsti", kernel_tiocsti, 0},
	{"tiocsti-high", kernel_tiocsti_high, 0},
	{"tioclinux", kernel_tioclinux, 0},
	{"i386", kernel_i386, 0},
	{"x32", kernel_x32, 0},
	{"ptrace-init", kernel_ptrace_init, 0},
	{"init-memory", kernel_init_memory, 0},
	{"init-program", kernel_init_program, 0},
	{"listener", kernel_listener, 0},
	{"clone3", kernel_clone3, 0},
	{"abstract", net_abstract, 1},
	{"unix", net_unix, 1},
	{"vsock", net_vsock, 0},
	{"fast-sendto", net_fast_sendto, 0},
	{"fast-sendmsg", net_fast_sendmsg, 1},
	{"fast-connect", net_fast_connect, 0},
};

int main(int argc, char **argv) {
	for (size_t i = 0; argc > 1 && i < sizeof attempts / sizeof *attempts; i++) {
		if (strcmp(attempts[i].name, argv[1]) != 0 || argc - 2 != attempts[i].arguments) continue;
		errno = 0;
		long result = attempts[i].attempt(argv + 2);
		printf("%s\n", result >= 0 ? "worked" : strerrorname_np(errno));
		return 0;
	}
	return 2;
}
