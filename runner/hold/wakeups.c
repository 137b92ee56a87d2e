/*
 * Theory of operation. The flag is of the listener, and changing it is a call, so it is no matter of each answer: who
 * watches the readers looks now and then how many tasks of the machine can run (proc_loadavg(5)). One of them is the
 * one that looks. Of a tool that makes one call after the other and the reader that answers them at most one more can
 * run at any time.
 */
#include "wakeups.h"

#include <ctype.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS      SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

enum { WAKEUPS_LOAD = 128, WAKEUPS_ALONE = 2 };

static void set(struct wakeups *wakeups, bool synchronous) {
	ioctl(wakeups->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, synchronous ? SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP : 0UL);
	wakeups->synchronous = synchronous;
}

struct wakeups wakeups_new(int listener) {
	struct wakeups wakeups = {.listener = listener, .load = open("/proc/loadavg", O_RDONLY | O_CLOEXEC)};
	set(&wakeups, true);
	return wakeups;
}

/* "0.20 0.18 0.12 1/80 11206": the number before the slash; 0: it can't be told. */
static long tasks_that_run(int fd) {
	char text[WAKEUPS_LOAD];
	const ssize_t size = pread(fd, text, sizeof text - 1, 0);
	if (size <= 0) return 0;
	text[size] = '\0';
	const char *slash = strchr(text, '/'), *number = slash;
	while (number && number > text && isdigit((unsigned char)number[-1])) number--;
	return number ? strtol(number, NULL, 10) : 0;
}

void wakeups_look(struct wakeups *wakeups) {
	const bool alone = tasks_that_run(wakeups->load) <= WAKEUPS_ALONE;
	if (alone != wakeups->synchronous) set(wakeups, alone);
}

void wakeups_finish(struct wakeups *wakeups) {
	fd_close(wakeups->load);
	wakeups->load = -1;
}
