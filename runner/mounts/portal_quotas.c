#include "portal_quotas.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"

static const struct {
	const char *host, *user; /* the machine's, and what holds in the reader's user namespace */
} files[] = {
	{"/proc/sys/fs/inotify/max_user_instances", "/proc/sys/user/max_inotify_instances"},
	{"/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches"},
};
static_assert(ARRAY_LENGTH(files) == ARRAY_LENGTH(((struct quotas){{0}}).most), "a number for each");

/* 0: unknown */
static long long read_number(const char *path) {
	char text[24] = "";
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof text - 1) <= 0) return 0;
	return strtoll(text, NULL, 10);
}

void quotas_look(struct quotas *ret_quotas) {
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
		const long long host = read_number(files[i].host), user = read_number(files[i].user);
		ret_quotas->most[i] = (user > 0 && user < host ? user : host) / 2;
	}
}

void quotas_write(const struct quotas *quotas) {
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
		char text[24];
		CLEANUP_FD int fd = quotas->most[i] > 0 ? open(files[i].user, O_WRONLY | O_CLOEXEC) : -1;
		const int size = snprintf(text, sizeof text, "%lld", quotas->most[i]);
		if (fd >= 0) fd_write_all(fd, text, (size_t)size, NULL);
	}
}
