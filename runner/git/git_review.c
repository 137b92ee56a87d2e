#include "git_review.h"

#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "calls/regular.h"

enum {
	REVIEW_SIZE_MAX = 128 * 1024 * 1024, /* bytes of all files */
	REVIEW_EXCLUDE_MAX = 1024 * 1024,
};

static void reviewed_finish(struct git_reviewed *reviewed) {
	free(reviewed->directory);
	git_index_finish(&reviewed->index);
	strings_finish(&reviewed->patterns);
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
	strings_finish(&reviewed->index.links);
	strings_sort(&reviewed->index.assumed); /* git has them so; whoever forges one need not */
	strings_sort(&reviewed->index.skipped);
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

static uint64_t size_of(const char *directory) {
	CLEANUP_FREE char *index = path_join(directory, "index");
	struct stat status;
	return lstat(index, &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
}

/* False past a bound. */
static bool reviewed_take(const char *directory, size_t hash_size, uint64_t *size, struct git_reviewed *ret_reviewed) {
	const uint64_t more = size_of(directory);
	if (more > REVIEW_SIZE_MAX - *size) return false;
	*size += more;
	*ret_reviewed = (struct git_reviewed){.directory = string_copy(directory), .hash_size = hash_size};
	read_index(ret_reviewed);
	read_patterns(ret_reviewed);
	return true;
}

static bool is_known(const struct git_review *review, const char *directory) {
	for (size_t i = 0; i < review->count; i++)
		if (string_equal(review->items[i].directory, directory)) return true;
	return false;
}

void git_review_add(struct git_review *review, const struct git_layout *layout) {
	for (size_t i = 0; i < layout->directories.count; i++) {
		struct git_reviewed reviewed;
		const char *directory = layout->directories.items[i];
		if (is_known(review, directory)) continue;
		if (review->count == GIT_REVIEWED_MAX ||
		    !reviewed_take(directory, layout->hash_size, &review->size, &reviewed)) {
			review->cut = true;
			continue;
		}
		review->items = array_grow(review->items, review->count, sizeof *review->items);
		review->items[review->count++] = reviewed;
	}
}

/* At the end */

struct comparison {
	const struct git_reviewed *before, *after;
	void (*tell)(void *context, const char *directory, enum git_hiding how, const char *name);
	void *context;
};

static void tell(const struct comparison *comparison, enum git_hiding how, const char *name) {
	comparison->tell(comparison->context, comparison->before->directory, how, name);
}

static void tell_new(const struct comparison *comparison, enum git_hiding how, const struct strings *before,
		     const struct strings *after) {
	CLEANUP_STRINGS struct strings fresh = {0};
	strings_subtract(after, before, &fresh);
	for (size_t i = 0; i < fresh.count; i++) tell(comparison, how, fresh.items[i]);
}

static void compare_indexes(const struct comparison *comparison) {
	const struct git_reviewed *before = comparison->before, *after = comparison->after;
	tell_new(comparison, GIT_ASSUMED, &before->index.assumed, &after->index.assumed);
	tell_new(comparison, GIT_SKIPPED, &before->index.skipped, &after->index.skipped);
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

bool git_review_compare(const struct git_review *before,
			void (*say)(void *context, const char *directory, enum git_hiding how, const char *name),
			void *context) {
	uint64_t size = 0;
	bool whole = !before->cut;
	for (size_t i = 0; i < before->count; i++) {
		struct git_reviewed after = {0};
		const struct git_reviewed *item = &before->items[i];
		const bool taken = reviewed_take(item->directory, item->hash_size, &size, &after);
		const struct comparison comparison = {item, &after, say, context};
		whole &= taken;
		if (!taken) continue;
		compare_indexes(&comparison);
		compare_patterns(&comparison);
		reviewed_finish(&after);
	}
	return whole;
}
