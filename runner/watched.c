#include "watched.h"

#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"

enum { WATCHED_BUFFER = 16 * 1024, WATCHED_BEGINS_MS = 100 };

static const uint32_t interesting = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW;

struct folder {
	int descriptor; /* -1: not watched */
	char *path;
	bool any; /* each name in it counts, not only those of `names` */
};

struct watched {
	int fd; /* -1 before it begins, and where there is no inotify */
	struct event_base *base;
	struct event *begins, *readable;
	struct timespec since;
	struct folder *folders;
	size_t count;
	struct strings names; /* paths of what is shown, and of the folders above it */
	void (*stirred)(void *context);
	void *context;
};

static bool counts(const struct watched *watched, int descriptor, const char *name) {
	for (size_t i = 0; i < watched->count; i++) {
		const struct folder *folder = &watched->folders[i];
		if (folder->descriptor != descriptor) continue;
		CLEANUP_FREE char *path = path_join(folder->path, name);
		if (folder->any || strings_contain(&watched->names, path)) return true;
	}
	return false;
}

/* One buffer a turn: what is left comes with the next, and one answer is enough for all. */
static void on_readable(evutil_socket_t fd, short what, void *argument) {
	struct watched *watched = argument;
	_Alignas(struct inotify_event) char buffer[WATCHED_BUFFER];
	const ssize_t size = read(fd, buffer, sizeof buffer);
	(void)what;
	for (ssize_t at = 0; at < size;) {
		const struct inotify_event *event = (const void *)(buffer + at);
		at += (ssize_t)(sizeof *event + event->len);
		if (!(event->mask & IN_Q_OVERFLOW) && (event->len == 0 || !counts(watched, event->wd, event->name)))
			continue;
		watched->stirred(watched->context);
		return;
	}
}

static bool has_changed(const struct folder *folder, struct timespec since) {
	struct stat status;
	if (lstat(folder->path, &status) < 0) return true;
	return status.st_mtim.tv_sec > since.tv_sec ||
	       (status.st_mtim.tv_sec == since.tv_sec && status.st_mtim.tv_nsec >= since.tv_nsec);
}

/* The descriptor is the same as before, unless another folder has come to the path. */
static void watch(const struct watched *watched, struct folder *folder) {
	const int before = folder->descriptor;
	folder->descriptor = watched->fd < 0 ? -1 : inotify_add_watch(watched->fd, folder->path, interesting);
	if (before >= 0 && before != folder->descriptor) inotify_rm_watch(watched->fd, before);
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

static struct folder *find_folder(const struct watched *watched, const char *path) {
	for (size_t i = 0; i < watched->count; i++)
		if (string_equal(watched->folders[i].path, path)) return &watched->folders[i];
	return NULL;
}

static struct folder *add_folder(struct watched *watched, const char *path) {
	struct folder *folder = find_folder(watched, path);
	if (folder) return folder;
	watched->folders = array_grow(watched->folders, watched->count, sizeof *watched->folders);
	folder = &watched->folders[watched->count++];
	*folder = (struct folder){.descriptor = -1, .path = string_copy(path)};
	return folder;
}

/* A file of the host that is shown on a file system of sbx's own stays mounted there when its name goes on the host. */
static bool is_shown(const struct mount *mount) {
	return (mount->kind == MOUNT_READ || mount->kind == MOUNT_WRITE) && mount->inode != 0 &&
	       string_equal(mount->path, mount->source);
}

static void add_names(struct watched *watched, const char *path) {
	CLEANUP_FREE char *at = string_copy(path);
	while (!strings_contain(&watched->names, at)) {
		char *folder = path_parent(at);
		if (string_equal(folder, "/")) {
			free(folder);
			return;
		}
		strings_add(&watched->names, at);
		free(at);
		at = folder;
	}
}

/* What lies in a tree that is shown follows its directly (plan.h). */
static void collect_names(struct watched *watched, const struct plan *plan) {
	const char *tree = NULL;
	strings_finish(&watched->names);
	for (size_t i = 0; i < plan->count; i++) {
		const struct mount *mount = &plan->mounts[i];
		if (!is_shown(mount) || (tree && path_is_below(mount->path, tree))) continue;
		tree = mount->path;
		add_names(watched, tree);
	}
}

void watched_follow(struct watched *watched, const struct plan *plan) {
	CLEANUP_STRINGS struct strings wanted = {0};
	collect_names(watched, plan);
	for (size_t i = 0; i < plan->watched.count; i++) strings_add(&wanted, plan->watched.items[i]);
	for (size_t i = 0; i < watched->names.count; i++) {
		CLEANUP_FREE char *folder = path_parent(watched->names.items[i]);
		if (!strings_contain(&wanted, folder)) strings_add(&wanted, folder);
	}
	for (size_t i = watched->count; i-- > 0;)
		if (!strings_contain(&wanted, watched->folders[i].path)) remove_folder(watched, i);
	for (size_t i = 0; i < wanted.count; i++) {
		struct folder *folder = add_folder(watched, wanted.items[i]);
		folder->any = i < plan->watched.count;
		watch(watched, folder);
	}
}

void watched_free(struct watched *watched) {
	if (!watched) return;
	event_free(watched->begins);
	if (watched->readable) event_free(watched->readable);
	fd_close(watched->fd);
	for (size_t i = 0; i < watched->count; i++) free(watched->folders[i].path);
	strings_finish(&watched->names);
	free(watched->folders);
	free(watched);
}
