#include "last_words.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "schema/limits.h"

extern char **environ;

enum { VARIABLES_SHOWN = 5, REPOSITORIES_SHOWN = 10, MADE_SHOWN = 10, BROKEN_SHOWN = 10, TEXT_COLUMNS = 200 };

void last_words_variable_names(struct strings *names) {
	for (char **entry = environ; *entry && names->count < LIMIT_ENVIRONMENT; entry++) {
		size_t size = strcspn(*entry, "=");
		if (size > 0 && size <= LIMIT_TARGET) strings_take(names, string_copy_bytes(*entry, size));
	}
}

static void say_broken(void *argument, const char *target, unsigned count, const char *how) {
	unsigned *said = argument;
	if ((*said)++ >= BROKEN_SHOWN) return;
	CLEANUP_FREE char *shown = text_visible_cut(target, TEXT_COLUMNS);
	CLEANUP_FREE char *cut = text_visible_cut(how, TEXT_COLUMNS);
	CLEANUP_FREE char *times = count > 1 ? string_format(" (%u times)", count) : string_copy("");
	log_notice("the connection to %s %s%s", shown, cut, times);
}

static void say_left_out(const struct strings *names) {
	/* For whoever looks on: in scripts and logs it would be the same line every time. */
	if (names->count == 0 || (!isatty(STDERR_FILENO) && !getenv("SBX_DEBUG"))) return;
	CLEANUP_STRING struct string line = {0};
	for (size_t i = 0; i < names->count && i < VARIABLES_SHOWN; i++) {
		CLEANUP_FREE char *shown = text_visible_cut(names->items[i], 60);
		string_appendf(&line, "%s%s", i > 0 ? ", " : "", shown);
	}
	if (names->count > VARIABLES_SHOWN) string_appendf(&line, " and %zu more", names->count - VARIABLES_SHOWN);
	log_notice("not passed: %s (--env NAME passes one)", line.data);
}

/* A mask can't be laid over what isn't there: what has appeared since is for the user to look at. */
static void say_appeared(const struct plan *plan) {
	for (size_t i = 0; i < plan->missing.count; i++) {
		if (access(plan->missing.items[i], F_OK) < 0) continue;
		CLEANUP_FREE char *shown = text_visible(plan->missing.items[i]);
		log_warning("%s is new and would have been protected: look at it before a program on the host uses it",
			    shown);
	}
}

static void say_made(const struct strings *made) {
	for (size_t i = 0; i < made->count && i < MADE_SHOWN; i++) {
		CLEANUP_FREE char *shown = text_visible_cut(made->items[i], 400);
		log_warning("%s is new and would have been protected: look at it before a program on the host uses it",
			    shown);
	}
	if (made->count > MADE_SHOWN)
		log_warning("and %zu more names that rules protect by a pattern are new", made->count - MADE_SHOWN);
}

/* What would make git on the host run something is for the user to look at, too. */
static void say_repositories(const struct scene *scene) {
	CLEANUP_STRINGS struct strings paths = {0};
	git_survey_compare(&scene->survey, &paths);
	for (size_t i = 0; i < paths.count; i++) {
		if (strings_contain(&scene->plan.missing, paths.items[i])) continue; /* said already */
		CLEANUP_FREE char *shown = text_visible_cut(paths.items[i], 400);
		if (i < REPOSITORIES_SHOWN)
			log_warning("a sandboxed tool created %s: check it (hooks, config) before you run git there",
				    shown);
	}
	if (paths.count > REPOSITORIES_SHOWN)
		log_warning("and it created %zu more repositories or submodules", paths.count - REPOSITORIES_SHOWN);
}

int last_words_status(const struct blocked *blocked, int status) {
	return blocked->scene->options->fail_on_deny && blocked_count(blocked) > 0 ? RUN_EXIT_FAILED : status;
}

void last_words(const struct blocked *blocked) {
	const struct scene *scene = blocked->scene;
	unsigned broken = 0;
	for (size_t i = 0; i < scene->plan.notes.count; i++) log_notice("%s", scene->plan.notes.items[i]);
	say_appeared(&scene->plan);
	say_made(&scene->made);
	say_repositories(scene);
	say_left_out(&scene->left_out);
	if (blocked->gate) gate_each_broken(blocked->gate, say_broken, &broken);
	blocked_say(blocked);
}
