#include "runner/native_needs.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "calls/regular.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

static bool has_notification(void) {
	const unsigned action = SECCOMP_RET_USER_NOTIF;
	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

/* Without it a signal would have a call made again that was carried out already. Known flags get as far as the program,
 * which is at no address. */
static bool has_killable_wait(void) {
	const unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, NULL) < 0 && errno == EFAULT;
}

static bool has_getfd(void) {
	return syscall(SYS_pidfd_getfd, -1, 0, 0U) < 0 && errno == EBADF;
}

/* Yama's 3 lets nobody at another process's descriptors, whatever they are to it (its documentation in the kernel). */
static bool may_getfd(void) {
	CLEANUP_FREE char *scope = NULL;
	return regular_read("/proc/sys/kernel/yama/ptrace_scope", 16, &scope, NULL, NULL) < 0 || scope[0] != '3';
}

static bool has_cookie(void) {
	unsigned long long cookie;
	socklen_t size = sizeof cookie;
	CLEANUP_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) == 0;
}

struct machine_need {
	bool (*is_there)(void);
	const char *name;
};

static const char *first_lacking(const struct machine_need *needs, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (!needs[i].is_there()) return needs[i].name;
	return NULL;
}

const char *sandbox_lacks(void) {
	static const struct machine_need needs[] = {
		{has_getfd, "no pidfd_getfd (Linux 5.6; some containers refuse it)"},
		{may_getfd, "kernel.yama.ptrace_scope is 3"},
	};
	return first_lacking(needs, ARRAY_LENGTH(needs));
}

const char *native_lacks(void) {
	static const struct machine_need needs[] = {
		{has_notification, "no user notification of seccomp (SECCOMP_RET_USER_NOTIF, Linux 5.0)"},
		{has_killable_wait, "no SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (Linux 5.19)"},
		{has_cookie, "no SO_NETNS_COOKIE (Linux 5.14)"},
	};
	return first_lacking(needs, ARRAY_LENGTH(needs));
}
