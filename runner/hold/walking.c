/*
 * Theory of operation. A folder above the target is walked through when one of two things shows it.
 *
 * The process has it open and has read from it: the position of the descriptor isn't 0 (proc_pid_fdinfo(5)), as with
 * find, du and `ls -l`, which hold it while they look at its names. One that is open and was never read is a place to
 * start from (`tar -C ~ notes`, openat(2)).
 *
 * Or it is named on the process's command line and has been listed since the process began (and a short while ago):
 * rg, `ls -R` and `cp -r` close it before they look at what they found. `git -C ~` and `make -C ~` name it and don't
 * list it, `cat ~/n*` has listed nothing: the shell has, and names what it found.
 */
#include "walking.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "base/string.h"
#include "calls/process.h"
#include "calls/promptly.h"
#include "calls/regular.h"

enum { FILE_MAX = 16 * 1024, FILES = 256, WORDS = 256, LISTED_MS = 30 * 1000 };

struct search {
	const char *target;
	char *uppermost;
};

static bool is_better(const struct search *search, const char *folder) {
	return folder[0] == '/' && path_is_below(search->target, folder) && !string_equal(search->target, folder) &&
	       (!search->uppermost || strlen(folder) < strlen(search->uppermost));
}

static void take(struct search *search, const char *folder) {
	free(search->uppermost);
	search->uppermost = string_copy(folder);
}

/* "pos:	0" is its first line. */
static bool has_been_read(pid_t thread, const char *descriptor) {
	static const char key[] = "pos:\t";
	CLEANUP_FREE char *path = string_format("/proc/%d/fdinfo/%s", thread, descriptor), *text = NULL;
	return regular_read(path, FILE_MAX, &text, NULL, NULL) == 0 && string_starts(text, key) &&
	       text[strlen(key)] != '0';
}

static bool look_at(pid_t thread, const char *name, struct statx *ret_status) {
	CLEANUP_FREE char *path = string_format("/proc/%d/%s", thread, name);
	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, ret_status) == 0;
}

static bool is_same(const struct statx *a, const struct statx *b) {
	return a->stx_ino == b->stx_ino && a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor;
}

/* What lies in a mount that was detached (a grant has ended) has a name from there: its uppermost is "/", also of a
 * file. */
static bool is_folder(pid_t thread, const char *name, const char *text) {
	struct statx status, root;
	if (!look_at(thread, name, &status) || !S_ISDIR(status.stx_mode)) return false;
	return !string_equal(text, "/") || (look_at(thread, "root", &root) && is_same(&status, &root));
}

static void look_at_descriptors(pid_t thread, struct search *search) {
	CLEANUP_FREE char *folder = string_format("/proc/%d/fd", thread);
	DIR *stream = mem_expect(opendir(folder));
	int looked = 0;
	for (struct dirent *entry; stream && looked < FILES && (entry = readdir(stream));) {
		if (entry->d_name[0] == '.') continue;
		CLEANUP_FREE char *name = string_format("fd/%s", entry->d_name), *text = process_link(thread, name);
		looked++;
		if (is_better(search, text) && has_been_read(thread, entry->d_name) && is_folder(thread, name, text))
			take(search, text);
	}
	if (stream) closedir(stream);
}

static int64_t age_of(pid_t thread) {
	struct timespec now;
	const int64_t start_ms = process_start_ms(thread);
	if (start_ms < 0 || clock_gettime(CLOCK_BOOTTIME, &now) < 0) return 0;
	return now.tv_sec * 1000 + now.tv_nsec / 1000000 - start_ms;
}

struct words {
	char *path, *text;
	size_t size;
};

static void words_read(void *work) {
	struct words *words = work;
	regular_read(words->path, FILE_MAX, &words->text, &words->size, NULL);
}

static void words_drop(void *work) {
	struct words *words = work;
	free(words->path);
	free(words->text);
	free(words);
}

/* The command line; NULL where it can't be had. */
static char *read_words(pid_t thread, struct promptly *promptly, size_t *ret_size) {
	struct words *words = mem_new(struct words);
	words->path = string_format("/proc/%d/cmdline", thread);
	if (!promptly_do(promptly, words_read, words_drop, words)) return NULL;
	char *text = STEAL(words->text);
	*ret_size = words->size;
	words_drop(words);
	return text;
}

static void look_at_words(pid_t thread, const struct walking_world *world, struct search *search) {
	size_t size = 0;
	CLEANUP_FREE char *words = read_words(thread, world->promptly, &size), *folder = process_link(thread, "cwd");
	if (!words || !*folder) return;
	const int64_t age_ms = age_of(thread), within_ms = age_ms < LISTED_MS ? age_ms : LISTED_MS;
	const char *word = words;
	for (int i = 0; i < WORDS && word < words + size; i++, word += strlen(word) + 1) {
		CLEANUP_FREE char *path = NULL;
		if (*word == '\0' || path_normalise(folder, word, &path, NULL) < 0) continue;
		if (is_better(search, path) && world->listed(world->context, path, within_ms)) take(search, path);
	}
}

char *walking_tree(pid_t thread, const char *target, const struct walking_world *world) {
	struct search search = {.target = target};
	look_at_descriptors(thread, &search);
	look_at_words(thread, world, &search);
	return search.uppermost;
}
