#include "limits.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/random.h"
#include "calls/regular.h"
#include "schema/limits.h"

enum { LIMITS_CGROUP_TEXT = 64 * 1024 };

static bool write_value(const char *folder, const char *name, const char *value) {
	CLEANUP_FREE char *path = path_join(folder, name);
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && fd_write_all(fd, value, strlen(value), NULL) == 0;
}

/* Are groups below `folder` given the memory controller, and may we make one? */
static bool is_delegated(const char *folder) {
	CLEANUP_FREE char *control = path_join(folder, "cgroup.subtree_control");
	CLEANUP_FREE char *text = NULL;
	if (access(folder, W_OK) < 0 || regular_read(control, 4096, &text, NULL, NULL) < 0) return false;
	for (char *rest = text, *word; (word = strtok_r(rest, " \n", &rest));)
		if (string_equal(word, "memory")) return true;
	return false;
}

/* A group of ours in `folder` with that limit; false leaves nothing behind. */
static bool make_group(const char *folder, int64_t memory, struct limits *limits) {
	char token[RANDOM_TOKEN_SIZE], value[24];
	random_token(token);
	CLEANUP_FREE char *group = string_format("%s/sbx-%.12s", folder, token);
	if (mkdir(group, 0755) < 0) return false;
	snprintf(value, sizeof value, "%lld", (long long)memory);
	CLEANUP_FREE char *procs = path_join(group, "cgroup.procs");
	if (write_value(group, "memory.max", value) && (limits->procs = open(procs, O_WRONLY | O_CLOEXEC)) >= 0) {
		write_value(group, "memory.swap.max", "0"); /* not there without swap accounting */
		write_value(group, "memory.oom.group", "1");
		limits->cgroup = STEAL(group);
		return true;
	}
	rmdir(group);
	return false;
}

void limits_make(const struct view_limits *wanted, const char *root, const char *own, struct limits *ret_limits) {
	*ret_limits = (struct limits){.procs = -1, .by_rlimit = wanted->memory > 0};
	const char *line = string_starts(own, "0::/") ? own : strstr(own, "\n0::/");
	if (wanted->memory <= 0 || !line) return;
	line = strstr(line, "0::") + 3;
	CLEANUP_FREE char *path = string_copy_bytes(line, strcspn(line, "\n"));
	CLEANUP_FREE char *at = NULL;
	if (path_normalise(NULL, path, &at, NULL) < 0) return;
	for (;;) {
		CLEANUP_FREE char *folder = string_format("%s%s", root, at);
		if (is_delegated(folder) && make_group(folder, wanted->memory, ret_limits)) {
			ret_limits->by_rlimit = false;
			return;
		}
		if (string_equal(at, "/")) return;
		char *parent = path_parent(at);
		free(at);
		at = parent;
	}
}

/* A quota that the kernel counts by user: no sandbox gets more than `most`, nor than a part of what the user has. */
static const struct share {
	uint32_t resource;
	rlim_t most;
	unsigned part;
} shares[] = {
	{RLIMIT_NPROC, LIMIT_SANDBOX_PROCESSES, 4},
	{RLIMIT_NOFILE, LIMIT_SANDBOX_FILES, 1}, /* by process; what is in flight (unix(7)) is compared with it */
	{RLIMIT_SIGPENDING, LIMIT_SANDBOX_SIGNALS, 4},
	{RLIMIT_MSGQUEUE, LIMIT_SANDBOX_QUEUE_BYTES, 2},
	{RLIMIT_MEMLOCK, LIMIT_SANDBOX_LOCKED, 1},
};

static void add(struct launch_orders *orders, uint32_t resource, rlim_t soft, rlim_t hard) {
	orders->limits[orders->limit_count].resource = resource;
	orders->limits[orders->limit_count].soft = soft;
	orders->limits[orders->limit_count++].hard = hard;
}

static void add_share(struct launch_orders *orders, const struct share *share) {
	struct rlimit own;
	rlim_t hard = share->most;
	if (getrlimit(share->resource, &own) == 0 && own.rlim_max != RLIM_INFINITY && own.rlim_max / share->part < hard)
		hard = own.rlim_max / share->part;
	add(orders, share->resource, RLIM_INFINITY, hard);
}

static int64_t value_of(const struct view_limits *wanted, uint32_t resource) {
	if (resource == RLIMIT_NPROC) return wanted->processes;
	return resource == RLIMIT_NOFILE ? wanted->open_files : 0;
}

/* No core file, and no program of the host's that is given one (core(5), a pipe in core_pattern): the kernel starts it
 * at a limit of 0, too, and not at 1 (do_coredump() of fs/coredump.c). */
enum { LIMITS_NO_CORE = 1 };

void limits_for_orders(const struct limits *limits, const struct view_limits *wanted, struct launch_orders *orders) {
	if (limits->by_rlimit) add(orders, RLIMIT_DATA, (rlim_t)wanted->memory, (rlim_t)wanted->memory);
	if (wanted->cpu_time_ms > 0) {
		const rlim_t seconds = (rlim_t)(wanted->cpu_time_ms + 999) / 1000;
		add(orders, RLIMIT_CPU, seconds > 1 ? seconds - 1 : seconds, seconds); /* XCPU first */
	}
	add(orders, RLIMIT_CORE, LIMITS_NO_CORE, LIMITS_NO_CORE);
	for (size_t i = 0; i < ARRAY_LENGTH(shares); i++) {
		const rlim_t value = (rlim_t)value_of(wanted, shares[i].resource);
		if (value > 0)
			add(orders, shares[i].resource, value, value);
		else
			add_share(orders, &shares[i]);
	}
}

void limits_finish(struct limits *limits) {
	fd_close_p(&limits->procs);
	/* the kernel counts a process out of its group a moment after it was reaped */
	for (int i = 0; limits->cgroup && rmdir(limits->cgroup) < 0 && i < 100; i++) usleep(1000);
	free(limits->cgroup);
	*limits = (struct limits){.procs = -1};
}
