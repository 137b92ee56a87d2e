#include "git_review.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/path.h"
#include "calls/regular.h"

enum {
	REVIEW_SIZE_MAX = 128 * 1024 * 1024, /* bytes of all files */
	REVIEW_EXCLUDE_MAX = 1024 * 1024,
	REVIEW_PLAN_MAX = 4 * 1024 * 1024,
	REVIEW_DEPTH = 8, /* of names of submodules, as git.c protects them */
	REVIEW_ENTRIES = 20 * 1000,
};

#define REBASE_LIST "rebase-merge/git-rebase-todo"

/* What git goes on with, and a stash that it applies when it commits or merges the next time. */
static const char *const plans[] = {"rebase-merge", "rebase-apply", "sequencer", "MERGE_AUTOSTASH"};

/* Files of a plan that git writes when it begins. A strategy with a slash in its name is a program of the work tree
 * (sequencer.c of git 2.39: `git merge-NAME`), a stash is written to the work tree at the end, and of the options of
 * `git apply` one lets a patch write anywhere (--unsafe-paths). */
static const struct {
	const char *plan, *name;
} parts[GIT_PLAN_PARTS] = {
	{"rebase-merge", "rebase-merge/strategy"},
	{"rebase-merge", "rebase-merge/autostash"},
	{"rebase-apply", "rebase-apply/autostash"},
	{"rebase-apply", "rebase-apply/apply-opt"},
	{"sequencer", "sequencer/opts"},
	{"MERGE_AUTOSTASH", "MERGE_AUTOSTASH"},
};

static void reviewed_finish(struct git_reviewed *reviewed) {
	free(reviewed->directory);
	free(reviewed->top);
	git_index_finish(&reviewed->index);
	strings_finish(&reviewed->patterns);
	strings_finish(&reviewed->plans);
	strings_finish(&reviewed->commands);
	strings_finish(&reviewed->below);
}

void git_review_finish(struct git_review *review) {
	for (size_t i = 0; i < review->count; i++) reviewed_finish(&review->items[i]);
	free(review->items);
	*review = (struct git_review){0};
}

static bool stamps_equal(const struct git_stamp *a, const struct git_stamp *b) {
	return a->inode == b->inode && a->size == b->size && a->seconds == b->seconds &&
	       a->nanoseconds == b->nanoseconds;
}

/* False: it is a link, which git would follow, and we don't. */
static bool stamp_take(const char *path, struct git_stamp *ret_stamp) {
	struct stat status = {0};
	*ret_stamp = (struct git_stamp){0};
	if (lstat(path, &status) < 0) return true;
	*ret_stamp = (struct git_stamp){.inode = status.st_ino,
					.size = (uint64_t)status.st_size,
					.seconds = status.st_ctim.tv_sec,
					.nanoseconds = status.st_ctim.tv_nsec};
	return !S_ISLNK(status.st_mode);
}

static void read_index(struct git_reviewed *reviewed) {
	CLEANUP_FREE char *path = path_join(reviewed->directory, "index");
	if (!stamp_take(path, &reviewed->stamp)) return;
	git_index_read(path, reviewed->hash_size, &reviewed->index);
	struct strings *const lists[] = {&reviewed->index.assumed, &reviewed->index.skipped, &reviewed->index.forged,
					 &reviewed->index.links};
	/* git has them so; whoever forges one need not */
	for (size_t i = 0; i < ARRAY_LENGTH(lists); i++) strings_sort(lists[i]);
}

/* Blank lines and comments are none (gitignore(5)). */
static void take_patterns(char *text, struct strings *patterns) {
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n"));) {
		const size_t size = strlen(line);
		if (size > 0 && line[size - 1] == '\r') line[size - 1] = '\0';
		if (line[0] != '\0' && line[0] != '#') strings_add(patterns, line);
	}
}

static void read_patterns(struct git_reviewed *reviewed) {
	CLEANUP_FREE char *path = path_join(reviewed->directory, "info/exclude"), *text = NULL;
	struct git_stamp stamp;
	size_t size = 0;
	const bool plain = stamp_take(path, &stamp);
	reviewed->all_patterns = plain;
	if (!plain || regular_read(path, REVIEW_EXCLUDE_MAX, &text, &size, NULL) < 0) return;
	reviewed->all_patterns = size < REVIEW_EXCLUDE_MAX && strlen(text) == size;
	take_patterns(text, &reviewed->patterns);
}

/* A line of git-rebase-todo that runs a program: "exec make", or "x make" (git-rebase(1)). */
static bool is_command(const char *line) {
	static const char *const words[] = {"exec", "x"};
	line += strspn(line, " \t");
	const size_t size = strcspn(line, " \t");
	for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
		if (size == strlen(words[i]) && strncmp(line, words[i], size) == 0) return true;
	return false;
}

static void read_parts(struct git_reviewed *reviewed) {
	for (size_t i = 0; i < GIT_PLAN_PARTS; i++) {
		CLEANUP_FREE char *path = path_join(reviewed->directory, parts[i].name);
		stamp_take(path, &reviewed->parts[i]);
	}
}

static void read_plans(struct git_reviewed *reviewed) {
	CLEANUP_FREE char *list = path_join(reviewed->directory, REBASE_LIST), *text = NULL;
	size_t size = 0;
	for (size_t i = 0; i < ARRAY_LENGTH(plans); i++)
		if (file_is_in(reviewed->directory, plans[i])) strings_add(&reviewed->plans, plans[i]);
	read_parts(reviewed);
	const bool plain = stamp_take(list, &reviewed->plan);
	reviewed->all_commands = reviewed->plan.inode == 0; /* there is none */
	if (!plain || reviewed->all_commands) return;
	if (regular_read(list, REVIEW_PLAN_MAX, &text, &size, NULL) < 0) return;
	reviewed->all_commands = strlen(text) == size;
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n"));)
		if (is_command(line)) strings_add(&reviewed->commands, line);
	strings_sort(&reviewed->commands);
}

/* False past a bound. */
static bool read_below(const char *folder, int depth, int *budget, struct strings *below) {
	DIR *stream = depth > 0 ? mem_expect(opendir(folder)) : NULL;
	if (!stream) return true;
	bool whole = true;
	for (const struct dirent *entry; whole && (entry = readdir(stream));) {
		if (path_is_dots(entry->d_name) || (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)) continue;
		CLEANUP_FREE char *path = path_join(folder, entry->d_name);
		const bool found = git_is_directory_below(path);
		whole = --*budget > 0 && below->count < GIT_BELOW_MAX;
		if (found) strings_add(below, path);
		if (!found && whole) whole = read_below(path, depth - 1, budget, below);
	}
	closedir(stream);
	return whole;
}

static void read_directories(struct git_reviewed *reviewed) {
	static const char *const folders[] = {"modules", "worktrees"};
	int budget = REVIEW_ENTRIES;
	reviewed->all_below = true;
	for (size_t i = 0; i < ARRAY_LENGTH(folders); i++) {
		CLEANUP_FREE char *folder = path_join(reviewed->directory, folders[i]);
		reviewed->all_below &= read_below(folder, REVIEW_DEPTH, &budget, &reviewed->below);
	}
	strings_sort(&reviewed->below);
}

static uint64_t size_of(const char *directory) {
	CLEANUP_FREE char *index = path_join(directory, "index");
	struct stat status;
	return lstat(index, &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
}

/* False past a bound. */
static bool reviewed_take(struct git_reviewed *reviewed, uint64_t *size) {
	const uint64_t more = size_of(reviewed->directory);
	if (more > REVIEW_SIZE_MAX - *size) return false;
	*size += more;
	read_index(reviewed);
	read_patterns(reviewed);
	read_plans(reviewed);
	read_directories(reviewed);
	return true;
}

static bool is_known(const struct git_review *review, const char *directory) {
	for (size_t i = 0; i < review->count; i++)
		if (string_equal(review->items[i].directory, directory)) return true;
	return false;
}

void git_review_add(struct git_review *review, const struct git_layout *layout) {
	for (size_t i = 0; i < layout->directories.count; i++) {
		const char *directory = layout->directories.items[i];
		if (is_known(review, directory)) continue;
		const bool own = string_equal(directory, layout->directory);
		struct git_reviewed reviewed = {.directory = string_copy(directory),
						.top = own ? string_copy_or_null(layout->top) : NULL,
						.hash_size = layout->hash_size};
		if (review->count == GIT_REVIEWED_MAX || !reviewed_take(&reviewed, &review->size)) {
			review->cut = true;
			reviewed_finish(&reviewed);
			continue;
		}
		review->items = array_grow(review->items, review->count, sizeof *review->items);
		review->items[review->count++] = reviewed;
	}
}

/* At the end */

struct comparison {
	const struct git_reviewed *before, *after;
	void (*tell)(void *context, const struct git_reviewed *of, enum git_news what, const char *name);
	void *context;
};

static void tell(const struct comparison *comparison, enum git_news what, const char *name) {
	comparison->tell(comparison->context, comparison->before, what, name);
}

static void tell_new(const struct comparison *comparison, enum git_news what, const struct strings *before,
		     const struct strings *after) {
	CLEANUP_STRINGS struct strings fresh = {0};
	strings_subtract(after, before, &fresh);
	for (size_t i = 0; i < fresh.count; i++) tell(comparison, what, fresh.items[i]);
}

static void compare_indexes(const struct comparison *comparison) {
	const struct git_reviewed *before = comparison->before, *after = comparison->after;
	tell_new(comparison, GIT_ASSUMED, &before->index.assumed, &after->index.assumed);
	tell_new(comparison, GIT_SKIPPED, &before->index.skipped, &after->index.skipped);
	tell_new(comparison, GIT_FORGED, &before->index.forged, &after->index.forged);
	tell_new(comparison, GIT_LINKED, &before->index.links, &after->index.links);
	if (!after->index.whole && !stamps_equal(&before->stamp, &after->stamp)) tell(comparison, GIT_UNREAD, "index");
}

/* A pattern that begins with "!" takes back what one before it says: without it, or behind it, more is hidden. */
static void compare_patterns(const struct comparison *comparison) {
	const struct git_reviewed *before = comparison->before, *after = comparison->after;
	CLEANUP_STRINGS struct strings known = {0}, now = {0}, fresh = {0};
	for (size_t i = 0; i < before->patterns.count; i++) strings_add(&known, before->patterns.items[i]);
	for (size_t i = 0; i < after->patterns.count; i++) strings_add(&now, after->patterns.items[i]);
	strings_sort(&known);
	strings_sort(&now);
	strings_subtract(&now, &known, &fresh);
	for (size_t i = 0; i < fresh.count; i++) tell(comparison, GIT_EXCLUDED, fresh.items[i]);
	if (fresh.count == 0 && !strings_equal(&before->patterns, &after->patterns))
		tell(comparison, GIT_REORDERED, "");
	if (before->all_patterns && !after->all_patterns) tell(comparison, GIT_UNREAD, "info/exclude");
}

/* Of a plan that was there the commands count: git takes lines from it with each commit. */
static void compare_plans(const struct comparison *comparison) {
	const struct git_reviewed *before = comparison->before, *after = comparison->after;
	CLEANUP_STRINGS struct strings fresh = {0};
	tell_new(comparison, GIT_PLANNED, &before->plans, &after->plans);
	if (after->all_commands)
		strings_subtract(&after->commands, &before->commands, &fresh);
	else if (!stamps_equal(&before->plan, &after->plan))
		strings_add(&fresh, REBASE_LIST);
	if (fresh.count > 0 && strings_contain(&before->plans, "rebase-merge"))
		tell(comparison, GIT_PLANNED, REBASE_LIST);
	for (size_t i = 0; i < GIT_PLAN_PARTS; i++)
		if (strings_contain(&before->plans, parts[i].plan) && after->parts[i].inode &&
		    !stamps_equal(&before->parts[i], &after->parts[i]))
			tell(comparison, GIT_PLANNED, parts[i].name);
}

static void compare(const struct comparison *comparison) {
	compare_indexes(comparison);
	compare_patterns(comparison);
	compare_plans(comparison);
	tell_new(comparison, GIT_BELOW, &comparison->before->below, &comparison->after->below);
}

bool git_review_compare(const struct git_review *before,
			void (*say)(void *context, const struct git_reviewed *of, enum git_news what, const char *name),
			void *context) {
	uint64_t size = 0;
	bool whole = !before->cut;
	for (size_t i = 0; i < before->count; i++) {
		const struct git_reviewed *item = &before->items[i];
		struct git_reviewed after = {.directory = string_copy(item->directory), .hash_size = item->hash_size};
		const struct comparison comparison = {item, &after, say, context};
		const bool taken = reviewed_take(&after, &size);
		if (taken) compare(&comparison);
		whole &= taken && after.all_below;
		reviewed_finish(&after);
	}
	return whole;
}
