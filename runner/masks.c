/*
 * Theory of operation. When something on the host renames over, or removes, a file or folder that is a mount point in
 * another mount namespace, the kernel detaches the mount there (since Linux 3.18; a mount must not keep a host from
 * removing its files). For the sandbox the mask is gone then. The kernel also marks the namespace as changed, which
 * poll reports as POLLERR | POLLPRI on its mountinfo: read it, compare with the plan, have the portal mount again what
 * lacks, shallow before deep.
 *
 * libevent knows no POLLPRI, so the file is in an epoll set of its own and that set in the loop.
 */
#include "masks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"

enum { MASKS_RETRY_MS = 100, MASKS_MOUNTINFO_MAX = 8 * 1024 * 1024 };

struct masks {
	struct masks_options options;
	int mountinfo, poller;
	struct event *changed, *retry;
};

/* mountinfo writes space, tab, newline and backslash as \ooo. */
static char *unescape(const char *text, size_t size) {
	struct string out = {0};
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\\' && i + 3 < size) {
			string_append_char(&out, (char)((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 |
							(text[i + 3] - '0')));
			i += 3;
		} else {
			string_append_char(&out, text[i]);
		}
	}
	return string_steal(&out);
}

/* The fifth field of each line: the mount points. */
static int read_points(const struct masks *masks, struct strings *points) {
	CLEANUP_FREE char *text = NULL;
	if (lseek(masks->mountinfo, 0, SEEK_SET) < 0) return -errno;
	int r = file_read_fd(masks->mountinfo, "mountinfo", MASKS_MOUNTINFO_MAX, &text, NULL, NULL);
	if (r < 0) return r;
	for (char *rest = text, *line; (line = strtok_r(rest, "\n", &rest));) {
		const char *field = line;
		for (int i = 0; field && i < 4; i++) field = strchr(field, ' ') ? strchr(field, ' ') + 1 : NULL;
		if (field) strings_take(points, unescape(field, strcspn(field, " ")));
	}
	strings_sort(points);
	return 0;
}

static int compare_text(const void *a, const void *b) {
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_mounted(const struct strings *points, const char *path) {
	return points->count > 0 && bsearch(&path, points->items, points->count, sizeof *points->items, compare_text);
}

static bool can_be_torn(const struct mount *mount) {
	return mount->kind == MOUNT_READ || mount->kind == MOUNT_WRITE || mount->kind == MOUNT_PIN ||
	       mount->kind == MOUNT_HIDE_FILE || mount->kind == MOUNT_HIDE_FOLDER || mount->kind == MOUNT_HELD;
}

/* True when it lacks still and is worth trying again. */
static bool put_back(const struct masks *masks, struct portal *portal, size_t index, const char *path) {
	struct error error = ERROR_NONE;
	int r = portal_restore_mount(portal, index, &error);
	if (r == -ENOENT || r == -EPIPE) return true;
	masks->options.repaired(masks->options.context, path, -r);
	return false;
}

static void check(struct masks *masks) {
	const struct plan *plan = masks->options.plan;
	CLEANUP_STRINGS struct strings points = {0};
	if (read_points(masks, &points) < 0) return; /* the sandbox is ending */
	struct portal *portal = masks->options.portal(masks->options.context);
	bool again = false;
	for (size_t i = 0; i < plan->count; i++) {
		const struct mount *mount = &plan->mounts[i];
		if (!can_be_torn(mount) || is_mounted(&points, mount->path)) continue;
		again |= !portal || put_back(masks, portal, i, mount->path);
	}
	const struct timeval delay = {.tv_usec = MASKS_RETRY_MS * 1000};
	if (again) evtimer_add(masks->retry, &delay);
}

static void on_change(evutil_socket_t fd, short what, void *argument) {
	struct masks *masks = argument;
	struct epoll_event event;
	(void)fd, (void)what;
	/* The loop's own epoll has asked the file already, and each change is told only once: what is left in this set
	 * says nothing. */
	epoll_wait(masks->poller, &event, 1, 0);
	check(masks);
}

static void on_retry(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	check(argument);
}

int masks_new(const struct masks_options *options, struct masks **ret_masks, struct error *error) {
	struct masks *masks = mem_new(struct masks);
	*masks = (struct masks){.options = *options, .mountinfo = -1, .poller = -1};
	CLEANUP_FREE char *path = string_format("/proc/%d/mountinfo", options->init);
	struct epoll_event event = {.events = EPOLLPRI};
	masks->mountinfo = open(path, O_RDONLY | O_CLOEXEC);
	masks->poller = epoll_create1(EPOLL_CLOEXEC);
	if (masks->mountinfo < 0 || masks->poller < 0 ||
	    epoll_ctl(masks->poller, EPOLL_CTL_ADD, masks->mountinfo, &event) < 0) {
		int r = error_errno(error, "watching the sandbox's mounts");
		masks_free(masks);
		return r;
	}
	masks->changed = event_new(options->base, masks->poller, EV_READ | EV_PERSIST, on_change, masks);
	masks->retry = evtimer_new(options->base, on_retry, masks);
	event_add(masks->changed, NULL);
	*ret_masks = masks;
	return 0;
}

void masks_free(struct masks *masks) {
	if (!masks) return;
	if (masks->changed) event_free(masks->changed);
	if (masks->retry) event_free(masks->retry);
	fd_close(masks->poller);
	fd_close(masks->mountinfo);
	free(masks);
}
