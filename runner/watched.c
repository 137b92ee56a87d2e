#include "watched.h"

#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

enum { WATCHED_BUFFER = 16 * 1024 };

static const uint32_t interesting = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW;

struct folder {
	int descriptor;
	char *path;
};

struct watched {
	int fd;
	struct event *readable;
	struct folder *folders;
	size_t count;
	void (*stirred)(void *context);
	void *context;
};

/* One buffer a turn: what is left comes with the next, and one answer is enough for all. */
static void on_readable(evutil_socket_t fd, short what, void *argument) {
	struct watched *watched = argument;
	char buffer[WATCHED_BUFFER];
	(void)what;
	if (read(fd, buffer, sizeof buffer) > 0) watched->stirred(watched->context);
}

struct watched *watched_new(struct event_base *base, void (*stirred)(void *context), void *context) {
	struct watched *watched = mem_new(struct watched);
	*watched =
		(struct watched){.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .stirred = stirred, .context = context};
	if (watched->fd < 0) {
		log_debug("changes of the host are seen with the next view only: inotify: %m");
		return watched;
	}
	watched->readable = event_new(base, watched->fd, EV_READ | EV_PERSIST, on_readable, watched);
	event_add(watched->readable, NULL);
	return watched;
}

static void remove_folder(struct watched *watched, size_t index) {
	inotify_rm_watch(watched->fd, watched->folders[index].descriptor);
	free(watched->folders[index].path);
	watched->folders[index] = watched->folders[--watched->count];
}

static bool is_watched(const struct watched *watched, const char *path) {
	for (size_t i = 0; i < watched->count; i++)
		if (string_equal(watched->folders[i].path, path)) return true;
	return false;
}

void watched_follow(struct watched *watched, const struct strings *folders) {
	if (watched->fd < 0) return;
	for (size_t i = watched->count; i-- > 0;)
		if (!strings_contain(folders, watched->folders[i].path)) remove_folder(watched, i);
	for (size_t i = 0; i < folders->count; i++) {
		if (is_watched(watched, folders->items[i])) continue;
		int descriptor = inotify_add_watch(watched->fd, folders->items[i], interesting);
		if (descriptor < 0) continue;
		watched->folders = array_grow(watched->folders, watched->count, sizeof *watched->folders);
		watched->folders[watched->count++] =
			(struct folder){.descriptor = descriptor, .path = string_copy(folders->items[i])};
	}
}

void watched_free(struct watched *watched) {
	if (!watched) return;
	if (watched->readable) event_free(watched->readable);
	fd_close(watched->fd);
	for (size_t i = 0; i < watched->count; i++) free(watched->folders[i].path);
	free(watched->folders);
	free(watched);
}
