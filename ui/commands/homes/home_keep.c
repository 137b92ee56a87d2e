/* `sbx home keep`: have in the user's home what a tool has left in its profile's own. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "home.h"
#include "home_words.h"
#include "runner/home_keep.h"
#include "ui/human.h"
#include "ui/words.h"

enum { NAME_COLUMNS = 80, PROGRESS_AFTER_MS = 1000, PROGRESS_EACH_MS = 200 };

struct values {
	const char *profile, *project;
	bool yes, replace;
};

static const struct option_info options[] = {
	{"profile", OPTION_TEXT, "PROFILE", "Whose own home it is in. Default: default.",
	 offsetof(struct values, profile)},
	{"project", OPTION_TEXT, "DIR", "The project that the home is for. Default: that for all projects.",
	 offsetof(struct values, project)},
	{"replace", OPTION_FLAG, NULL, "Also in the place of files of yours.", offsetof(struct values, replace)},
	{"yes", OPTION_FLAG, NULL, "Don't ask. For scripts; replaces nothing without --replace.",
	 offsetof(struct values, yes)},
};

/* One of the paths. */
struct item {
	char *path, *shown; /* keep_path's; visible, "~/…" */
	struct keep_thing thing;
};

struct items {
	struct item *items;
	size_t count;
};

static void items_finish(struct items *items) {
	for (size_t i = 0; i < items->count; i++) {
		free(items->items[i].path);
		free(items->items[i].shown);
	}
	free(items->items);
}

/* Progress */

struct progress {
	uint64_t whole;
	int64_t next_ms; /* when to tell next */
	bool shown;
};

static void progress_tell(struct progress *progress, uint64_t bytes) {
	const int64_t now_ms = clock_ms(CLOCK_BOOTTIME);
	if (now_ms < progress->next_ms || !isatty(STDERR_FILENO)) return;
	CLEANUP_FREE char *done = human_size(bytes);
	CLEANUP_FREE char *whole = human_size(progress->whole);
	fprintf(stderr, "\rcopied %s of %s ...\033[K", done, whole);
	progress->next_ms = now_ms + PROGRESS_EACH_MS;
	progress->shown = true;
}

/* Signals that end us wait until the copy is whole, or away again. */
static void endings_set(sigset_t *ret_set) {
	sigemptyset(ret_set);
	sigaddset(ret_set, SIGINT);
	sigaddset(ret_set, SIGTERM);
	sigaddset(ret_set, SIGHUP);
}

static bool is_ending(void) {
	sigset_t endings, pending, both;
	endings_set(&endings);
	return sigpending(&pending) == 0 && sigandset(&both, &endings, &pending) == 0 && !sigisemptyset(&both);
}

static bool progress_made(void *context, uint64_t bytes) {
	progress_tell(context, bytes);
	return !is_ending();
}

static int copy(struct keep *keep, const struct keep_thing *thing, struct error *error) {
	sigset_t endings, before;
	struct progress progress = {.whole = thing->bytes, .next_ms = clock_ms(CLOCK_BOOTTIME) + PROGRESS_AFTER_MS};
	keep->progress = progress_made;
	keep->context = &progress;
	endings_set(&endings);
	sigprocmask(SIG_BLOCK, &endings, &before);
	int r = keep_copy(keep, thing, error);
	if (progress.shown) fputs("\r\033[K", stderr);
	sigprocmask(SIG_SETMASK, &before, NULL); /* we may end here */
	return r;
}

/* Looking, before anything is copied: what one of the paths is refused for, all are. */

static int look_at(const struct keep *from, const char *text, struct item *item, struct error *error) {
	int r = keep_path(from->home, text, &item->path, error);
	if (r < 0) return r;
	CLEANUP_FREE char *visible = text_visible_cut(item->path, NAME_COLUMNS);
	item->shown = string_format("~/%s", visible);
	struct keep keep = *from;
	keep.path = item->path;
	return keep_look(&keep, &item->thing, error);
}

static int look(const struct keep *from, const struct strings *texts, struct items *items, struct error *error) {
	int r = 0;
	items->items = mem_array(struct item, texts->count);
	for (size_t i = 0; r == 0 && i < texts->count; i++) {
		items->count++;
		r = look_at(from, texts->items[i], &items->items[i], error);
	}
	return r;
}

/* Asking */

/* "a folder with 12 names and programs, 1.5 MB" */
static char *thing_words(const struct keep_thing *thing) {
	CLEANUP_FREE char *size = human_size(thing->bytes);
	if (!thing->folder) return string_format("%s, %s", thing->program ? "a file that can be run" : "a file", size);
	return string_format("a folder with %zu name%s%s, %s", thing->names - 1, thing->names == 2 ? "" : "s",
			     thing->program ? ", files that can be run among them" : "", size);
}

static int ask_keep(const struct item *item, struct error *error) {
	CLEANUP_FREE char *question = string_format("Copy it to %s in your own home?", item->shown);
	return home_ask(question, "--yes", error);
}

static int ask_replace(const struct item *item, struct error *error) {
	CLEANUP_FREE char *question = string_format("Replace your file %s, which is there already?", item->shown);
	return home_ask(question, "--replace", error);
}

/* 1 for yes, 0 for no. */
static int may_keep(const struct values *values, const struct item *item, struct error *error) {
	int r = values->yes ? 1 : ask_keep(item, error);
	if (r <= 0 || !item->thing.there || values->replace) return r;
	if (!values->yes) return ask_replace(item, error);
	return error_set(error, EEXIST, "%s is there already in your own home: --replace puts this one in its place",
			 item->shown);
}

static int keep_item(const struct keep *from, const struct values *values, const struct item *item, bool *ret_kept,
		     struct error *error) {
	CLEANUP_FREE char *words = thing_words(&item->thing);
	CLEANUP_FREE char *size = human_size(item->thing.bytes);
	struct keep keep = *from;
	printf("%s: %s\n", item->shown, words);
	fflush(stdout);
	int r = may_keep(values, item, error);
	*ret_kept = r > 0;
	if (r < 0) return r;
	if (r == 0) {
		printf("not kept %s\n", item->shown);
		return 0;
	}
	keep.path = item->path;
	keep.replace = item->thing.there;
	r = copy(&keep, &item->thing, error);
	if (r == 0) printf("kept %s (%s)\n", item->shown, size);
	fflush(stdout);
	return r;
}

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	CLEANUP_OWN_HOME struct own_home own = {0};
	CLEANUP(items_finish) struct items items = {0};
	int r = own_home_open(values->profile ? values->profile : "default", values->project, &own, error),
	    status = EXIT_DONE;
	if (r < 0) return r;
	const struct keep from = {.home = home_directory(), .from = own.fd};
	r = look(&from, call->operands, &items, error);
	for (size_t i = 0; r == 0 && i < items.count; i++) {
		bool kept = false;
		r = keep_item(&from, values, &items.items[i], &kept, error);
		if (!kept) status = EXIT_NO;
	}
	return r < 0 ? r : status;
}

const struct command command_home_keep = {
	.name = "home keep",
	.operands = "PATH...",
	.summary = "Copy from a profile's own home to yours.",
	.details = "PATH is as 'sbx home' lists it: ~/.toolrc or .toolrc. Says what it is and asks. Links, pipes, "
		   "sockets, "
		   "devices and set-ID bits are refused, and so is a folder with one of them.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.operands_least = 1,
	.operands_most = SIZE_MAX,
	.refuses_root = true,
	.run = run,
};
