#include "watched.h"

#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

enum { WATCHED_BUFFER = 16 * 1024, WATCHED_BEGINS_MS = 100 };

static const uint32_t interesting = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW;

struct folder {
	int descriptor; /* -1: not watched */
	char *path;
};

struct watched {
	int fd; /* -1 before it begins, and where there is no inotify */
	struct event_base *base;
	struct event *begins, *readable;
	struct timespec since;
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

static bool has_changed(const struct folder *folder, struct timespec since) {
	struct stat status;
	if (lstat(folder->path, &status) < 0) return true;
	return status.st_mtim.tv_sec > since.tv_sec ||
	       (status.st_mtim.tv_sec == since.tv_sec && status.st_mtim.tv_nsec >= since.tv_nsec);
}

static void watch(const struct watched *watched, struct folder *folder) {
	folder->descriptor = watched->fd < 0 ? -1 : inotify_add_watch(watched->fd, folder->path, interesting);
}

static void on_begin(evutil_socket_t fd, short what, void *argument) {
	struct watched *watched = argument;
	bool changed = false;
	(void)fd, (void)what;
	watched->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (watched->fd < 0) {
		log_debug("changes of the host are seen with the next view only: inotify: %m");
		return;
	}
	watched->readable = event_new(watched->base, watched->fd, EV_READ | EV_PERSIST, on_readable, watched);
	event_add(watched->readable, NULL);
	for (size_t i = 0; i < watched->count; i++) {
		watch(watched, &watched->folders[i]);
		changed |= has_changed(&watched->folders[i], watched->since);
	}
	if (changed) watched->stirred(watched->context);
}

struct watched *watched_new(struct event_base *base, void (*stirred)(void *context), void *context) {
	const struct timeval delay = {.tv_usec = WATCHED_BEGINS_MS * 1000};
	struct watched *watched = mem_new(struct watched);
	*watched = (struct watched){.fd = -1, .base = base, .stirred = stirred, .context = context};
	/* coarse, as the times of files are */
	clock_gettime(CLOCK_REALTIME_COARSE, &watched->since);
	watched->begins = evtimer_new(base, on_begin, watched);
	evtimer_add(watched->begins, &delay);
	return watched;
}

static void remove_folder(struct watched *watched, size_t index) {
	struct folder *folder = &watched->folders[index];
	if (folder->descriptor >= 0) inotify_rm_watch(watched->fd, folder->descriptor);
	free(folder->path);
	*folder = watched->folders[--watched->count];
}

static bool is_watched(const struct watched *watched, const char *path) {
	for (size_t i = 0; i < watched->count; i++)
		if (string_equal(watched->folders[i].path, path)) return true;
	return false;
}

void watched_follow(struct watched *watched, const struct strings *folders) {
	for (size_t i = watched->count; i-- > 0;)
		if (!strings_contain(folders, watched->folders[i].path)) remove_folder(watched, i);
	for (size_t i = 0; i < folders->count; i++) {
		if (is_watched(watched, folders->items[i])) continue;
		watched->folders = array_grow(watched->folders, watched->count, sizeof *watched->folders);
		struct folder *folder = &watched->folders[watched->count++];
		*folder = (struct folder){.path = string_copy(folders->items[i])};
		watch(watched, folder);
	}
}

void watched_free(struct watched *watched) {
	if (!watched) return;
	event_free(watched->begins);
	if (watched->readable) event_free(watched->readable);
	fd_close(watched->fd);
	for (size_t i = 0; i < watched->count; i++) free(watched->folders[i].path);
	free(watched->folders);
	free(watched);
}
