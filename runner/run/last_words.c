#include "last_words.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "schema/limits.h"

extern char **environ;

enum { VARIABLES_SHOWN = 5, BROKEN_SHOWN = 10, TEXT_COLUMNS = 200 };

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

int last_words_status(const struct blocked *blocked, int status) {
	return blocked->scene->options->fail_on_deny && blocked_count(blocked) > 0 ? RUN_EXIT_FAILED : status;
}

void last_words(const struct blocked *blocked, const struct findings *findings, const char *kept) {
	const struct scene *scene = blocked->scene;
	unsigned broken = 0;
	for (size_t i = 0; i < scene->plan.notes.count; i++) log_notice("%s", scene->plan.notes.items[i]);
	findings_say(findings);
	if (kept) log_notice("%s", kept);
	say_left_out(&scene->left_out);
	if (blocked->gate) gate_each_broken(blocked->gate, say_broken, &broken);
	blocked_say(blocked);
}
