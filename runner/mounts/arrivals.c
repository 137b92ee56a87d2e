/*
 * Theory of operation. A folder that is to be watched waits in `pending`. Its turn is: first the watch, then a look at
 * all names in it, so that none is missed in between; folders in it that patterns may match below are appended. A new
 * folder (made, or moved here with all that lies in it) is put into `pending` by its event, lost events put all trees
 * there. A turn may be over inside a folder, which is read on in the next one. A folder that is moved keeps its watch
 * (inotify's belong to inodes), which gets the new path when it is looked at again.
 *
 * Of a name that is awaited each folder on the way is a name as well, in front of it: a folder that is removed or moved
 * away and made anew is watched anew with all that is awaited below it, from the outermost on, so that nothing can
 * change unseen in between.
 */
#include "arrivals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "calls/regular.h"
#include "finds/walk.h"
#include "schema/limits.h"

enum {
	ARRIVALS_BUFFER = 16 * 1024,
	ARRIVALS_REST_MS = 10, /* between two readings, unless the buffer was full */
	ARRIVALS_TURN_MS = 3,
	ARRIVALS_SHARE = 10,
	ARRIVALS_LEAST = 2048,
};

static const uint32_t interesting = IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW;

struct folder {
	int descriptor;
	char *path; /* NULL: it is gone */
};

/* A name that is awaited, or one on a way, where only a link is told, and what was there when it was looked at last. */
struct name {
	char *path;
	bool on_way, looked_at;
	dev_t device;
	ino_t inode; /* 0: nothing */
	mode_t mode; /* a number may be that of something removed */
};

struct arrivals {
	struct arrivals_options options;
	int fd; /* -1 before it begins, and where there is no inotify */
	struct event *turn, *readable, *rested;
	struct folder *folders; /* by descriptor */
	size_t count, gone, most;
	struct name *names; /* by path */
	size_t name_count;
	struct strings texts, trees, pending;
	DIR *stream; /* the folder that is looked into, or NULL */
	char *folder;
	struct patterns patterns;
	struct walk walk;
	size_t left;        /* names that this look may see still */
	int64_t looked_ms;  /* spent in this look */
	bool began, looks;  /* a look is under way */
	bool blind, silent; /* something can't be watched; it was said */
};

static void on_turn(evutil_socket_t fd, short what, void *argument);

struct arrivals *arrivals_new(const struct arrivals_options *options) {
	struct arrivals *arrivals = mem_new(struct arrivals);
	*arrivals = (struct arrivals){.options = *options, .fd = -1, .walk = {.patterns = &arrivals->patterns}};
	arrivals->turn = evtimer_new(options->base, on_turn, arrivals);
	return arrivals;
}

static void turn_after(struct arrivals *arrivals, int64_t ms) {
	const struct timeval delay = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
	evtimer_add(arrivals->turn, &delay);
}

/* Once: a person can change it, and what is promised is less. */
static void go_blind(struct arrivals *arrivals, const char *why) {
	arrivals->blind = true;
	if (arrivals->silent) return;
	arrivals->silent = true;
	log_notice(
		"what a rule hides and the host makes from now on is hidden late, some seconds after it was made: %s",
		why);
}

/* Folders */

/* The first whose descriptor isn't below that one. */
static size_t place_of(const struct arrivals *arrivals, int descriptor) {
	size_t low = 0, high = arrivals->count;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (arrivals->folders[middle].descriptor < descriptor)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct folder *find_folder(const struct arrivals *arrivals, int descriptor) {
	const size_t at = place_of(arrivals, descriptor);
	return at < arrivals->count && arrivals->folders[at].descriptor == descriptor ? &arrivals->folders[at] : NULL;
}

/* Those that are gone stay in the list until they are half of it: who removes a tree removes thousands. */
static void drop_gone(struct arrivals *arrivals) {
	size_t kept = 0;
	for (size_t i = 0; i < arrivals->count; i++)
		if (arrivals->folders[i].path) arrivals->folders[kept++] = arrivals->folders[i];
	arrivals->count = kept;
	arrivals->gone = 0;
}

static void forget_folder(struct arrivals *arrivals, int descriptor) {
	struct folder *folder = find_folder(arrivals, descriptor);
	if (!folder || !folder->path) return;
	free(STEAL(folder->path));
	if (++arrivals->gone > arrivals->count / 2) drop_gone(arrivals);
}

/* The kernel gives them in ascending order, but for one that it has given already. */
static void note_folder(struct arrivals *arrivals, int descriptor, const char *path) {
	const size_t at = place_of(arrivals, descriptor);
	struct folder *folder = find_folder(arrivals, descriptor);
	if (!folder) {
		arrivals->folders = array_grow(arrivals->folders, arrivals->count, sizeof *arrivals->folders);
		memmove(&arrivals->folders[at + 1], &arrivals->folders[at],
			(arrivals->count - at) * sizeof *arrivals->folders);
		arrivals->count++;
		folder = &arrivals->folders[at];
		*folder = (struct folder){.descriptor = descriptor};
	} else if (!folder->path) {
		arrivals->gone--;
	}
	free(folder->path);
	folder->path = string_copy(path);
}

/* A folder that may not be read is nobody's but another user's. */
static void watch(struct arrivals *arrivals, const char *path) {
	if (arrivals->fd < 0) return;
	if (arrivals->count - arrivals->gone >= arrivals->most) {
		go_blind(arrivals,
			 "there are more folders than sbx watches (a quarter of fs.inotify.max_user_watches)");
		return;
	}
	const int descriptor = inotify_add_watch(arrivals->fd, path, interesting);
	if (descriptor >= 0)
		note_folder(arrivals, descriptor, path);
	else if (errno == ENOSPC || errno == ENOMEM)
		go_blind(arrivals, "inotify has no room for more folders (fs.inotify.max_user_watches)");
}

/* Names */

static int compare_names(const void *a, const void *b) {
	return strcmp(((const struct name *)a)->path, ((const struct name *)b)->path);
}

/* The first that isn't before the path. */
static size_t first_name(const struct arrivals *arrivals, const char *path) {
	size_t low = 0, high = arrivals->name_count;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (strcmp(arrivals->names[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct name *find_name(const struct arrivals *arrivals, const char *path) {
	const size_t at = first_name(arrivals, path);
	return at < arrivals->name_count && string_equal(arrivals->names[at].path, path) ? &arrivals->names[at] : NULL;
}

static void look_at_name(const struct arrivals *arrivals, struct name *name) {
	struct stat status = {0};
	if (lstat(name->path, &status) < 0) status = (struct stat){0};
	const bool same = name->device == status.st_dev && name->inode == status.st_ino && name->mode == status.st_mode;
	name->looked_at = true;
	name->mode = status.st_mode;
	name->device = status.st_dev;
	name->inode = status.st_ino;
	/* A link on the way leads to another place, where the next plan awaits the name. */
	const bool tells = !name->on_way || S_ISLNK(status.st_mode);
	if (status.st_ino != 0 && !same && tells) arrivals->options.found(arrivals->options.context, name->path, false);
}

static void await(struct arrivals *arrivals, struct name *name) {
	CLEANUP_FREE char *folder = path_parent(name->path);
	watch(arrivals, folder);
	look_at_name(arrivals, name);
}

static size_t folder_size(const struct name *name) {
	return (size_t)(strrchr(name->path, '/') - name->path);
}

/* A folder is watched once for the names in it that come one after the other, before the first of them is looked at. */
static void await_all(struct arrivals *arrivals, bool new_ones) {
	const struct name *last = NULL;
	for (size_t i = 0; i < arrivals->name_count; i++) {
		struct name *name = &arrivals->names[i];
		if (new_ones && name->looked_at) continue;
		const size_t size = folder_size(name);
		if (last && folder_size(last) == size && strncmp(last->path, name->path, size) == 0)
			look_at_name(arrivals, name);
		else
			await(arrivals, name);
		last = name;
	}
}

static void notice(struct arrivals *arrivals, const char *path, bool folder) {
	if (walk_finds(&arrivals->walk, path))
		arrivals->options.found(arrivals->options.context, path, true);
	else if (folder && walk_enters(&arrivals->walk, path))
		strings_add(&arrivals->pending, path);
}

/* Where the file system doesn't say, opening it as a folder will. */
static bool may_be_folder(const struct dirent *entry) {
	return entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
}

/* Takes the path. */
static void look_into(struct arrivals *arrivals, char *path) {
	watch(arrivals, path);
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	arrivals->stream = fd >= 0 ? mem_expect(fdopendir(fd)) : NULL;
	arrivals->folder = path;
}

static void look_away(struct arrivals *arrivals) {
	if (arrivals->stream) closedir(STEAL(arrivals->stream));
	free(STEAL(arrivals->folder));
}

/* One name of the folder; after the last one, the folder is done. */
static void look_at_next(struct arrivals *arrivals) {
	const struct dirent *entry = arrivals->stream ? readdir(arrivals->stream) : NULL;
	if (!entry) look_away(arrivals);
	if (!entry || path_is_dots(entry->d_name)) return;
	CLEANUP_FREE char *below = path_join(arrivals->folder, entry->d_name);
	arrivals->left--;
	if (strlen(below) < PATH_MAX) notice(arrivals, below, may_be_folder(entry));
	if (arrivals->left == 0) go_blind(arrivals, "there are more files than sbx looks at");
}

/* Turns */

static void begin_look(struct arrivals *arrivals) {
	arrivals->left = LIMIT_WALK;
	arrivals->looked_ms = 0;
	arrivals->looks = true;
}

static void look_anew(struct arrivals *arrivals) {
	begin_look(arrivals);
	arrivals->blind = arrivals->fd < 0;
	look_away(arrivals);
	strings_finish(&arrivals->pending);
	for (size_t i = 0; i < arrivals->trees.count; i++)
		if (walk_reaches(&arrivals->walk, arrivals->trees.items[i]))
			strings_add(&arrivals->pending, arrivals->trees.items[i]);
	await_all(arrivals, false);
}

static void look_soon(struct arrivals *arrivals) {
	look_anew(arrivals);
	turn_after(arrivals, 0);
}

static void take_event(struct arrivals *arrivals, const struct inotify_event *event) {
	const struct folder *folder = find_folder(arrivals, event->wd);
	if (event->mask & IN_Q_OVERFLOW) look_soon(arrivals);
	if (event->mask & IN_IGNORED) forget_folder(arrivals, event->wd);
	if (!folder || !folder->path || event->len == 0) return;
	CLEANUP_FREE char *path = path_join(folder->path, event->name);
	for (size_t i = first_name(arrivals, path); i < arrivals->name_count; i++) {
		if (!string_starts(arrivals->names[i].path, path)) break;
		if (!path_is_below(arrivals->names[i].path, path)) continue;
		arrivals->names[i].inode = 0; /* what was there before is gone */
		await(arrivals, &arrivals->names[i]);
	}
	notice(arrivals, path, event->mask & IN_ISDIR);
}

/* Who unpacks an archive makes thousands of names: a turn of the loop for each would take a processor from it. */
static void rest(struct arrivals *arrivals) {
	const struct timeval delay = {.tv_usec = ARRIVALS_REST_MS * 1000};
	event_del(arrivals->readable);
	evtimer_add(arrivals->rested, &delay);
}

static void on_rested(evutil_socket_t fd, short what, void *argument) {
	const struct arrivals *arrivals = argument;
	(void)fd, (void)what;
	event_add(arrivals->readable, NULL);
}

/* One buffer a turn: what is left comes with the next. */
static void on_readable(evutil_socket_t fd, short what, void *argument) {
	struct arrivals *arrivals = argument;
	_Alignas(struct inotify_event) char buffer[ARRIVALS_BUFFER];
	const ssize_t size = read(fd, buffer, sizeof buffer);
	(void)what;
	for (ssize_t at = 0; at < size;) {
		const struct inotify_event *event = (const void *)(buffer + at);
		at += (ssize_t)(sizeof *event + event->len);
		take_event(arrivals, event);
	}
	if (size < ARRIVALS_BUFFER / 2) rest(arrivals);
	if (arrivals->pending.count == 0 || arrivals->looks) return;
	begin_look(arrivals);
	turn_after(arrivals, 0);
}

/* A quarter of what its user may have watched at once, for other programs do, too. */
static size_t most_watches(void) {
	CLEANUP_FREE char *text = NULL;
	if (regular_read("/proc/sys/fs/inotify/max_user_watches", 64, &text, NULL, NULL) < 0) return ARRIVALS_LEAST;
	const unsigned long quarter = strtoul(text, NULL, 10) / 4;
	return quarter < LIMIT_ARRIVALS ? quarter : LIMIT_ARRIVALS;
}

static void begin(struct arrivals *arrivals) {
	arrivals->began = true;
	arrivals->most = most_watches();
	arrivals->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (arrivals->fd < 0) {
		go_blind(arrivals, "there is no inotify to be had (fs.inotify.max_user_instances)");
		return;
	}
	arrivals->readable =
		event_new(arrivals->options.base, arrivals->fd, EV_READ | EV_PERSIST, on_readable, arrivals);
	arrivals->rested = evtimer_new(arrivals->options.base, on_rested, arrivals);
	event_add(arrivals->readable, NULL);
}

static bool has_more(const struct arrivals *arrivals) {
	return arrivals->left > 0 && (arrivals->folder || arrivals->pending.count > 0);
}

/* False when its time is over before the end. */
static bool look_on(struct arrivals *arrivals) {
	const int64_t start = clock_ms(CLOCK_MONOTONIC);
	int64_t spent = 0;
	for (; has_more(arrivals) && spent < ARRIVALS_TURN_MS; spent = clock_ms(CLOCK_MONOTONIC) - start) {
		if (!arrivals->folder)
			look_into(arrivals, STEAL(arrivals->pending.items[--arrivals->pending.count]));
		else
			look_at_next(arrivals);
	}
	arrivals->looked_ms += spent;
	return !has_more(arrivals);
}

static void on_turn(evutil_socket_t fd, short what, void *argument) {
	struct arrivals *arrivals = argument;
	(void)fd, (void)what;
	const bool first = !arrivals->began;
	if (first) begin(arrivals);
	if (!arrivals->looks && (first || arrivals->blind)) look_anew(arrivals);
	if (!look_on(arrivals)) {
		turn_after(arrivals, 0);
		return;
	}
	arrivals->looks = false;
	if (!arrivals->blind) return;
	const int64_t pause_ms = arrivals->looked_ms * ARRIVALS_SHARE;
	turn_after(arrivals, pause_ms > ARRIVALS_PAUSE_MS ? pause_ms : ARRIVALS_PAUSE_MS);
}

/* What is followed */

static void drop_patterns(struct arrivals *arrivals) {
	walk_finish(&arrivals->walk);
	patterns_finish(&arrivals->patterns);
	strings_finish(&arrivals->texts);
	strings_finish(&arrivals->trees);
}

static void take_patterns(struct arrivals *arrivals, const struct strings *texts, const struct strings *trees) {
	drop_patterns(arrivals);
	for (size_t i = 0; i < texts->count; i++) {
		strings_add(&arrivals->texts, texts->items[i]);
		/* the plan was made by the same patterns */
		patterns_add(&arrivals->patterns, PERMISSION_FS_READ, texts->items[i], &arrivals->options.scope, NULL);
	}
	for (size_t i = 0; i < trees->count; i++) strings_add(&arrivals->trees, trees->items[i]);
	walk_prepare(&arrivals->walk);
}

static void drop_names(struct arrivals *arrivals) {
	for (size_t i = 0; i < arrivals->name_count; i++) free(arrivals->names[i].path);
	free(STEAL(arrivals->names));
	arrivals->name_count = 0;
}

static void add_name(struct arrivals *arrivals, char *path, bool on_way) {
	arrivals->names = array_grow(arrivals->names, arrivals->name_count, sizeof *arrivals->names);
	arrivals->names[arrivals->name_count++] = (struct name){.path = path, .on_way = on_way};
}

/* The folders above the path. */
static void add_way(struct arrivals *arrivals, const char *path) {
	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/'))
		add_name(arrivals, string_copy_bytes(path, (size_t)(slash - path)), true);
}

/* Each once; a name that is awaited is one, whatever way it is also on. */
static void merge_names(struct arrivals *arrivals) {
	struct name *names = arrivals->names;
	size_t kept = 0;
	if (arrivals->name_count > 0) qsort(names, arrivals->name_count, sizeof *names, compare_names);
	for (size_t i = 0; i < arrivals->name_count; i++) {
		if (kept == 0 || !string_equal(names[kept - 1].path, names[i].path)) {
			names[kept++] = names[i];
			continue;
		}
		names[kept - 1].on_way &= names[i].on_way;
		free(names[i].path);
	}
	arrivals->name_count = kept;
}

/* What is known of one from before stays known. */
static void keep_known(struct arrivals *arrivals, const struct arrivals *before) {
	for (size_t i = 0; i < arrivals->name_count; i++) {
		struct name *name = &arrivals->names[i];
		const struct name *known = find_name(before, name->path);
		if (!known) continue;
		char *path = name->path;
		const bool on_way = name->on_way;
		*name = *known;
		name->path = path;
		name->on_way = on_way;
	}
}

static void take_names(struct arrivals *arrivals, const struct strings *paths, const struct strings *ways) {
	struct arrivals before = {.names = arrivals->names, .name_count = arrivals->name_count};
	arrivals->names = NULL;
	arrivals->name_count = 0;
	for (size_t i = 0; i < paths->count; i++) {
		add_way(arrivals, paths->items[i]);
		add_name(arrivals, string_copy(paths->items[i]), false);
	}
	for (size_t i = 0; i < ways->count; i++) {
		add_way(arrivals, ways->items[i]);
		add_name(arrivals, string_copy(ways->items[i]), true);
	}
	merge_names(arrivals);
	keep_known(arrivals, &before);
	drop_names(&before);
	if (arrivals->began) await_all(arrivals, true);
}

void arrivals_follow(struct arrivals *arrivals, const struct strings *patterns, const struct strings *trees,
		     const struct strings *names, const struct strings *ways) {
	const bool same = strings_equal(patterns, &arrivals->texts) && strings_equal(trees, &arrivals->trees);
	if (!same) take_patterns(arrivals, patterns, trees);
	take_names(arrivals, names, ways);
	if (arrivals->patterns.count + arrivals->name_count == 0) return;
	if (!arrivals->began && !evtimer_pending(arrivals->turn, NULL)) turn_after(arrivals, ARRIVALS_BEGINS_MS);
	if (arrivals->began && !same) look_soon(arrivals);
}

void arrivals_look(struct arrivals *arrivals) {
	if (arrivals->began) look_soon(arrivals);
}

void arrivals_free(struct arrivals *arrivals) {
	if (!arrivals) return;
	event_free(arrivals->turn);
	if (arrivals->readable) event_free(arrivals->readable);
	if (arrivals->rested) event_free(arrivals->rested);
	fd_close(arrivals->fd);
	for (size_t i = 0; i < arrivals->count; i++) free(arrivals->folders[i].path);
	free(arrivals->folders);
	drop_names(arrivals);
	drop_patterns(arrivals);
	look_away(arrivals);
	strings_finish(&arrivals->pending);
	free(arrivals);
}
