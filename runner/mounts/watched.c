#include "watched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"

enum { WATCHED_BUFFER = 16 * 1024, WATCHED_BEGINS_MS = 100, WATCHED_PAUSE_MS = 500 };

static const uint32_t interesting = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW;

struct folder {
	int descriptor; /* -1: not watched */
	char *path;
	bool any;   /* each name in it counts, not only those of `shown` */
	bool plans; /* a name in it may change the plan */
};

struct watched {
	struct watched_options options;
	int fd; /* -1 before it begins, and where there is no inotify */
	struct event *begins, *readable, *pause;
	struct timespec since;
	struct folder *folders; /* by path */
	size_t count;
	struct strings shown, masked; /* sorted paths of what is shown and of masks, and of the folders above them */
	bool blind;                   /* a folder can't be watched */
};

static int compare_texts(const void *a, const void *b) {
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool has_text(const struct strings *sorted, const char *text) {
	return sorted->count > 0 &&
	       bsearch(&text, sorted->items, sorted->count, sizeof *sorted->items, compare_texts) != NULL;
}

/* The descriptor is the same as before, unless another folder has come to the path. */
static void watch(struct watched *watched, struct folder *folder) {
	const int before = folder->descriptor;
	folder->descriptor = watched->fd < 0 ? -1 : inotify_add_watch(watched->fd, folder->path, interesting);
	if (folder->descriptor < 0 && (watched->fd < 0 || errno == ENOSPC || errno == ENOMEM)) watched->blind = true;
	if (before >= 0 && before != folder->descriptor) inotify_rm_watch(watched->fd, before);
}

/* The folder that was moved keeps its watch (inotify's belong to inodes): another one has its name now. */
static void watch_below(struct watched *watched, const char *path) {
	for (size_t i = 0; i < watched->count; i++)
		if (path_is_below(watched->folders[i].path, path)) watch(watched, &watched->folders[i]);
}

struct news {
	bool stirred, moved;
};

static void take_name(struct watched *watched, const struct folder *folder, const char *name, struct news *news) {
	CLEANUP_FREE char *path = path_join(folder->path, name);
	const bool masked = has_text(&watched->masked, path);
	news->stirred |= folder->any || has_text(&watched->shown, path);
	news->moved |= masked;
	if (masked) watch_below(watched, path);
}

static void take_event(struct watched *watched, const struct inotify_event *event, struct news *news) {
	if (event->mask & IN_Q_OVERFLOW) *news = (struct news){true, true};
	if (event->len == 0) return;
	for (size_t i = 0; i < watched->count; i++)
		if (watched->folders[i].descriptor == event->wd)
			take_name(watched, &watched->folders[i], event->name, news);
}

static void tell(const struct watched *watched, const struct news *news) {
	if (news->moved) watched->options.moved(watched->options.context);
	if (news->stirred) watched->options.stirred(watched->options.context);
}

/* One buffer a turn: what is left comes with the next, and one answer is enough for all. */
static void on_readable(evutil_socket_t fd, short what, void *argument) {
	struct watched *watched = argument;
	_Alignas(struct inotify_event) char buffer[WATCHED_BUFFER];
	const ssize_t size = read(fd, buffer, sizeof buffer);
	struct news news = {0};
	(void)what;
	for (ssize_t at = 0; at < size;) {
		const struct inotify_event *event = (const void *)(buffer + at);
		at += (ssize_t)(sizeof *event + event->len);
		take_event(watched, event, &news);
	}
	tell(watched, &news);
}

static void pause_when_blind(const struct watched *watched) {
	const struct timeval delay = {.tv_usec = WATCHED_PAUSE_MS * 1000};
	if (watched->blind && watched->masked.count > 0) evtimer_add(watched->pause, &delay);
}

static void on_pause(evutil_socket_t fd, short what, void *argument) {
	struct watched *watched = argument;
	(void)fd, (void)what;
	watched->options.moved(watched->options.context);
	pause_when_blind(watched);
}

static bool has_changed(const struct folder *folder, struct timespec since) {
	struct stat status;
	if (lstat(folder->path, &status) < 0) return true;
	return status.st_mtim.tv_sec > since.tv_sec ||
	       (status.st_mtim.tv_sec == since.tv_sec && status.st_mtim.tv_nsec >= since.tv_nsec);
}

static void on_begin(evutil_socket_t fd, short what, void *argument) {
	struct watched *watched = argument;
	struct news news = {.moved = true};
	(void)fd, (void)what;
	watched->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (watched->fd >= 0) {
		watched->readable =
			event_new(watched->options.base, watched->fd, EV_READ | EV_PERSIST, on_readable, watched);
		event_add(watched->readable, NULL);
	} else {
		log_debug("changes of the host are seen with the next view only: inotify: %m");
	}
	for (size_t i = 0; i < watched->count; i++) {
		struct folder *folder = &watched->folders[i];
		watch(watched, folder);
		news.stirred |= watched->fd >= 0 && folder->plans && has_changed(folder, watched->since);
	}
	tell(watched, &news);
	pause_when_blind(watched);
}

struct watched *watched_new(const struct watched_options *options) {
	const struct timeval delay = {.tv_usec = WATCHED_BEGINS_MS * 1000};
	struct watched *watched = mem_new(struct watched);
	*watched = (struct watched){.options = *options, .fd = -1};
	/* coarse, as the times of files are */
	clock_gettime(CLOCK_REALTIME_COARSE, &watched->since);
	watched->pause = evtimer_new(options->base, on_pause, watched);
	watched->begins = evtimer_new(options->base, on_begin, watched);
	evtimer_add(watched->begins, &delay);
	return watched;
}

/* A file of the host that is shown on a file system of sbx's own stays mounted there when its name goes on the host. */
static bool is_shown(const struct mount *mount) {
	return (mount->kind == MOUNT_READ || mount->kind == MOUNT_WRITE) && mount->inode != 0 &&
	       string_equal(mount->path, mount->source);
}

/* `path`, and the folders above it that aren't above `last` too: paths come in the order of plans. */
static void add_names(struct strings *names, const char *path, const char *last) {
	CLEANUP_FREE char *at = string_copy(path);
	while (!string_equal(at, "/") && !(last && path_is_below(last, at))) {
		char *folder = path_parent(at);
		strings_take(names, at);
		at = folder;
	}
}

/* What lies in a tree that is shown follows it directly (plan.h), and moves with what it was mounted on. */
static void collect_names(struct watched *watched, const struct plan *plan) {
	const char *tree = NULL, *mask = NULL;
	strings_finish(&watched->shown);
	strings_finish(&watched->masked);
	for (size_t i = 0; i < plan->count; i++) {
		const struct mount *mount = &plan->mounts[i];
		if (tree && path_is_below(mount->path, tree)) {
			add_names(&watched->masked, mount->path, mask);
			mask = mount->path;
		} else if (is_shown(mount)) {
			add_names(&watched->shown, mount->path, tree);
			tree = mount->path;
		}
	}
	strings_sort(&watched->shown);
	strings_sort(&watched->masked);
}

static int compare_folders(const void *a, const void *b) {
	return strcmp(((const struct folder *)a)->path, ((const struct folder *)b)->path);
}

static void add_folder(struct watched *watched, char *path, bool any, bool plans) {
	watched->folders = array_grow(watched->folders, watched->count, sizeof *watched->folders);
	watched->folders[watched->count++] =
		(struct folder){.descriptor = -1, .path = path, .any = any, .plans = plans};
}

static void add_folders(struct watched *watched, const struct strings *names, bool plans) {
	for (size_t i = 0; i < names->count; i++) add_folder(watched, path_parent(names->items[i]), false, plans);
}

static void collect_folders(struct watched *watched, const struct plan *plan) {
	size_t kept = 0;
	watched->folders = NULL;
	watched->count = 0;
	for (size_t i = 0; i < plan->watched.count; i++)
		add_folder(watched, string_copy(plan->watched.items[i]), true, true);
	add_folders(watched, &watched->shown, true);
	add_folders(watched, &watched->masked, false);
	if (watched->count > 0) qsort(watched->folders, watched->count, sizeof *watched->folders, compare_folders);
	for (size_t i = 0; i < watched->count; i++) {
		struct folder *folder = &watched->folders[i], *last = kept > 0 ? &watched->folders[kept - 1] : NULL;
		if (!last || !string_equal(last->path, folder->path)) {
			watched->folders[kept++] = *folder;
			continue;
		}
		last->any |= folder->any;
		last->plans |= folder->plans;
		free(folder->path);
	}
	watched->count = kept;
}

static void free_folders(struct folder *folders, size_t count) {
	for (size_t i = 0; i < count; i++) free(folders[i].path);
	free(folders);
}

void watched_follow(struct watched *watched, const struct plan *plan) {
	struct folder *before = watched->folders;
	const size_t count = watched->count;
	collect_names(watched, plan);
	collect_folders(watched, plan);
	watched->blind = false;
	for (size_t i = 0, k = 0; i < count; i++) {
		while (k < watched->count && compare_folders(&watched->folders[k], &before[i]) < 0) k++;
		if (k < watched->count && compare_folders(&watched->folders[k], &before[i]) == 0)
			watched->folders[k].descriptor = before[i].descriptor;
		else if (before[i].descriptor >= 0)
			inotify_rm_watch(watched->fd, before[i].descriptor);
	}
	free_folders(before, count);
	if (watched->fd < 0 && evtimer_pending(watched->begins, NULL)) return;
	for (size_t i = 0; i < watched->count; i++) watch(watched, &watched->folders[i]);
	pause_when_blind(watched);
}

void watched_free(struct watched *watched) {
	if (!watched) return;
	event_free(watched->begins);
	event_free(watched->pause);
	if (watched->readable) event_free(watched->readable);
	fd_close(watched->fd);
	free_folders(watched->folders, watched->count);
	strings_finish(&watched->shown);
	strings_finish(&watched->masked);
	free(watched);
}
