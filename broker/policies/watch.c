/*
 * Theory of operation.
 *
 * Every folder on the way to a file is watched for the one name that leads on, from "/" down, so that whatever is
 * renamed, removed, made or linked anew on the way is noticed, and a file's folder for the file itself. Events for
 * other names are passed over. fsnotify queues an event before the system call that caused it returns: what was
 * complete before we read is in the queue.
 *
 * A stirred file is armed anew when it is taken, top down again, because the folders may be others now: what changes
 * while we walk stirs a folder that was armed already. Watches belong to inodes and are shared by all files whose ways
 * meet, so one is taken down when the last step through it is gone.
 *
 * IN_CLOSE_WRITE instead of IN_MODIFY: a file is read when it was written, not while. What can't be watched because we
 * may not read the folder belongs to others; who replaces that one is root or its owner.
 *
 * Someone may make events faster than we read them: after READS_MAX reads everything counts as stirred.
 */
#include "watch.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"

enum { READS_MAX = 64, BUFFER_SIZE = 16 * 1024 };

static const uint32_t interesting = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB |
				    IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

struct watched {
	TAILQ_ENTRY(watched) link;
	struct watch *watch;
	char *path;
	bool whole_folder;
	bool stirred;
};

/* A folder on the way to something watched. */
struct step {
	int descriptor;
	char *name; /* that leads on, or is the file; NULL = any */
	struct watched *watched;
};

struct watch {
	int fd;
	bool blind;
	TAILQ_HEAD(, watched) all;
	struct step *steps; /* sorted by descriptor */
	size_t step_count;
	size_t stirred; /* how many are */
};

struct watch *watch_new(void) {
	struct watch *watch = mem_new(struct watch);
	TAILQ_INIT(&watch->all);
	watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	watch->blind = watch->fd < 0;
	if (watch->blind) log_warning("changes of policy files are noticed within a second only: inotify: %m");
	return watch;
}

void watch_free(struct watch *watch) {
	if (!watch) return;
	fd_close(watch->fd);
	free(watch->steps);
	free(watch);
}

int watch_fd(const struct watch *watch) {
	return watch->fd;
}

bool watch_is_blind(const struct watch *watch) {
	return watch->blind;
}

/* Steps */

static int compare_steps(const void *a, const void *b) {
	const struct step *first = a, *second = b;
	return (first->descriptor > second->descriptor) - (first->descriptor < second->descriptor);
}

static void steps_sort(struct watch *watch) {
	if (watch->step_count > 1) qsort(watch->steps, watch->step_count, sizeof *watch->steps, compare_steps);
}

/* The first step through it, or the number of steps. */
static size_t find_step(const struct watch *watch, int descriptor) {
	size_t low = 0, high = watch->step_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (watch->steps[middle].descriptor < descriptor)
			low = middle + 1;
		else
			high = middle;
	}
	return low < watch->step_count && watch->steps[low].descriptor == descriptor ? low : watch->step_count;
}

/* Takes its steps out, into *ret_old (freed by the caller). */
static size_t steps_take(struct watched *watched, struct step **ret_old) {
	struct watch *watch = watched->watch;
	struct step *old = NULL;
	size_t count = 0, kept = 0;
	for (size_t i = 0; i < watch->step_count; i++) {
		struct step step = watch->steps[i];
		if (step.watched != watched) {
			watch->steps[kept++] = step;
			continue;
		}
		old = array_grow(old, count, sizeof *old);
		old[count++] = step;
	}
	watch->step_count = kept;
	*ret_old = old;
	return count;
}

static void steps_drop(struct watch *watch, struct step *old, size_t count) {
	for (size_t i = 0; i < count; i++) {
		if (find_step(watch, old[i].descriptor) == watch->step_count)
			inotify_rm_watch(watch->fd, old[i].descriptor); /* it may be gone by itself */
		free(old[i].name);
	}
	free(old);
}

/* False where the way ends. */
static bool step_add(struct watched *watched, const char *folder, char *name) {
	struct watch *watch = watched->watch;
	int descriptor = inotify_add_watch(watch->fd, folder, interesting);
	if (descriptor < 0) {
		int code = errno;
		free(name);
		if (code == ENOSPC || code == ENOMEM) {
			if (!watch->blind)
				log_warning("changes of policy files are noticed within a second only: inotify: "
					    "watching %s: %s",
					    folder, strerror(code));
			watch->blind = true;
		}
		return code != ENOENT && code != ENOTDIR;
	}
	watch->steps = array_grow(watch->steps, watch->step_count, sizeof *watch->steps);
	watch->steps[watch->step_count++] = (struct step){descriptor, name, watched};
	return true;
}

static void arm(struct watched *watched) {
	struct watch *watch = watched->watch;
	if (watch->fd < 0) return;
	struct step *old;
	size_t count = steps_take(watched, &old);
	CLEANUP_STRING struct string folder = {0};
	string_append(&folder, "/");
	bool on = true;
	for (const char *rest = watched->path; on && *rest == '/' && rest[1];) {
		size_t size = strcspn(rest + 1, "/");
		on = step_add(watched, folder.data, string_copy_bytes(rest + 1, size));
		if (folder.size > 1) string_append_char(&folder, '/');
		string_append_bytes(&folder, rest + 1, size);
		rest += 1 + size;
	}
	if (on && watched->whole_folder) step_add(watched, folder.data, NULL);
	steps_sort(watch);
	steps_drop(watch, old, count);
}

/* What is watched */

static void set_stirred(struct watched *watched, bool stirred) {
	if (watched->stirred == stirred) return;
	watched->stirred = stirred;
	watched->watch->stirred += stirred ? 1 : (size_t)-1;
}

static struct watched *add(struct watch *watch, const char *path, bool whole_folder) {
	struct watched *watched = mem_new(struct watched);
	*watched = (struct watched){.watch = watch, .path = string_copy(path), .whole_folder = whole_folder};
	set_stirred(watched, true);
	TAILQ_INSERT_TAIL(&watch->all, watched, link);
	return watched;
}

struct watched *watch_file(struct watch *watch, const char *path) {
	return add(watch, path, false);
}

struct watched *watch_folder(struct watch *watch, const char *path) {
	return add(watch, path, true);
}

void watched_free(struct watched *watched) {
	if (!watched) return;
	struct step *old;
	size_t count = steps_take(watched, &old);
	steps_drop(watched->watch, old, count);
	set_stirred(watched, false);
	TAILQ_REMOVE(&watched->watch->all, watched, link);
	free(watched->path);
	free(watched);
}

bool watched_is_stirred(const struct watched *watched) {
	return watched->stirred || watched->watch->blind;
}

bool watched_take(struct watched *watched) {
	if (!watched_is_stirred(watched)) return false;
	if (watched->stirred) arm(watched);
	set_stirred(watched, false);
	return true;
}

/* Events */

static void stir_all(struct watch *watch) {
	struct watched *watched;
	TAILQ_FOREACH(watched, &watch->all, link) {
		set_stirred(watched, true);
	}
}

static void stir(struct watch *watch, const struct inotify_event *event) {
	if (event->mask & IN_Q_OVERFLOW) stir_all(watch);
	for (size_t i = find_step(watch, event->wd); i < watch->step_count && watch->steps[i].descriptor == event->wd;
	     i++) {
		const struct step *step = &watch->steps[i];
		/* Without a name the event is about the folder itself. */
		if (event->len == 0 || !step->name || strcmp(step->name, event->name) == 0)
			set_stirred(step->watched, true);
	}
}

static void take_events(struct watch *watch) {
	char buffer[BUFFER_SIZE] __attribute__((aligned(__alignof__(struct inotify_event))));
	for (int i = 0; i < READS_MAX; i++) {
		ssize_t size = read(watch->fd, buffer, sizeof buffer);
		if (size <= 0) return;
		for (ssize_t at = 0; at < size;) {
			const struct inotify_event *event = (const void *)(buffer + at);
			stir(watch, event);
			at += (ssize_t)(sizeof *event + event->len);
		}
	}
	stir_all(watch);
}

bool watch_is_stirred(const struct watch *watch) {
	return watch->stirred > 0 || watch->blind;
}

bool watch_read(struct watch *watch) {
	if (watch->fd >= 0) take_events(watch);
	return watch_is_stirred(watch);
}
