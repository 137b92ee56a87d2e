#include "last_words.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "schema/advice.h"
#include "schema/limits.h"

extern char **environ;
static const char spoken_by[] = "sbx: "; /* log_notice */

enum { VARIABLES_SHOWN = 5, REPOSITORIES_SHOWN = 10, DENIED_SHOWN = 10, TEXT_COLUMNS = 200, TARGET_COLUMNS_MIN = 24 };

struct speaker {
	const struct scene *scene;
	unsigned denied, broken, most;
	size_t width; /* of the terminal that is spoken to; 0: it is none */
};

static size_t stderr_width(void) {
	struct winsize size;
	if (!isatty(STDERR_FILENO) || ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0) return 0;
	return size.ws_col >= 40 ? size.ws_col : 40;
}

void last_words_variable_names(struct strings *names) {
	for (char **entry = environ; *entry && names->count < LIMIT_ENVIRONMENT; entry++) {
		size_t size = strcspn(*entry, "=");
		if (size > 0 && size <= LIMIT_TARGET) strings_take(names, string_copy_bytes(*entry, size));
	}
}

/* "blocked PERMISSION TARGET REST", of that width: the target's middle is cut first, then the rest's. */
static char *cut_to(size_t width, const char *permission, const char *target, const char *rest) {
	CLEANUP_FREE char *head = string_format("blocked %s ", permission);
	const size_t room = width > text_columns(head) ? width - text_columns(head) : 0;
	const size_t most = room > TARGET_COLUMNS_MIN ? room - TARGET_COLUMNS_MIN : 1;
	CLEANUP_FREE char *tail = text_columns(rest) > most ? text_visible_cut(rest, most) : string_copy(rest);
	CLEANUP_FREE char *shown = text_visible_cut(target, room > text_columns(tail) ? room - text_columns(tail) : 1);
	return string_format("%s%s%s", head, shown, tail);
}

static void say_denied(void *argument, const char *permission, const char *target, unsigned count,
		       const struct verdict *verdict) {
	struct speaker *speaker = argument;
	if (speaker->denied++ >= speaker->most) return;
	/* What waited was taken down with the run: of a flood only the grant is left to advise. */
	static const struct verdict undecided = {.module = "none"};
	const struct verdict *advised = strcmp(verdict->module, "flood") == 0 ? &undecided : verdict;
	CLEANUP_FREE char *shown = text_visible_cut(target, TEXT_COLUMNS);
	CLEANUP_FREE char *why = text_visible_cut(verdict->why ? verdict->why : "no rule allows it", TEXT_COLUMNS);
	CLEANUP_FREE char *times = count > 1 ? string_format(", %u times", count) : string_copy("");
	CLEANUP_FREE char *advice = advice_text(advised, permission, target, speaker->scene->view->profile);
	CLEANUP_FREE char *line = string_format("blocked %s %s (%s%s)%s%s", permission, shown, why, times,
						advice ? ": " : "", advice ? advice : "");
	if (speaker->width == 0 || text_columns(line) + strlen(spoken_by) <= speaker->width) {
		log_notice("%s", line);
		return;
	}
	CLEANUP_FREE char *rest = string_format(" (%s%s)", why, times);
	CLEANUP_FREE char *cut = cut_to(speaker->width - strlen(spoken_by), permission, target, rest);
	log_notice("%s", cut);
	if (advice) log_notice("  %s", advice); /* whole: it is there to be copied */
}

static void say_kind(struct speaker *speaker, enum permission_kind kind, const struct denied *denied) {
	for (size_t i = 0; i < denied[kind].count; i++) {
		const struct denied_target *target = &denied[kind].items[i];
		const struct permission permission = permission_of(kind);
		say_denied(speaker, permission.name, target->target, target->count, &target->verdict);
	}
}

static void say_connection(void *argument, const char *target, unsigned count, const struct verdict *verdict) {
	say_denied(argument, "net:access", target, count, verdict);
}

static void say_broken(void *argument, const char *target, unsigned count, const char *how) {
	struct speaker *speaker = argument;
	if (speaker->broken++ >= speaker->most) return;
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

/* What would make git on the host run something is for the user to look at, too. */
static void say_repositories(const struct scene *scene) {
	CLEANUP_STRINGS struct strings paths = {0};
	git_survey_compare(&scene->survey, &paths);
	for (size_t i = 0; i < paths.count; i++) {
		if (strings_contain(&scene->plan.missing, paths.items[i])) continue; /* said already */
		CLEANUP_FREE char *shown = text_visible_cut(paths.items[i], 400);
		if (i < REPOSITORIES_SHOWN)
			log_warning("%s was made inside: look at it before you run git there", shown);
	}
	if (paths.count > REPOSITORIES_SHOWN)
		log_warning("and %zu more repositories or submodules were made inside",
			    paths.count - REPOSITORIES_SHOWN);
}

static void note_denied(void *argument, const char *target, unsigned count, const struct verdict *verdict) {
	(void)target, (void)count, (void)verdict;
	*(bool *)argument = true;
}

int last_words_status(const struct scene *scene, const struct gate *gate, const struct denied *denied, int status) {
	bool any = false;
	for (int kind = 0; kind < PERMISSION_KIND_COUNT; kind++) any |= denied[kind].count > 0;
	if (gate) gate_each_denied(gate, note_denied, &any);
	return scene->options->fail_on_deny && any ? RUN_EXIT_FAILED : status;
}

void last_words(const struct scene *scene, const struct gate *gate, const struct denied *denied, int64_t session) {
	/* --record is for the whole list. */
	struct speaker speaker = {
		.scene = scene, .most = scene->options->record ? UINT_MAX : DENIED_SHOWN, .width = stderr_width()};
	for (size_t i = 0; i < scene->plan.notes.count; i++) log_notice("%s", scene->plan.notes.items[i]);
	say_appeared(&scene->plan);
	say_repositories(scene);
	say_left_out(&scene->left_out);
	for (int kind = 0; kind < PERMISSION_KIND_COUNT; kind++) say_kind(&speaker, (enum permission_kind)kind, denied);
	if (gate) gate_each_broken(gate, say_broken, &speaker);
	if (gate) gate_each_denied(gate, say_connection, &speaker);
	if (speaker.denied > speaker.most)
		log_notice("and %u more: sbx history --session %lld --verdict deny", speaker.denied - speaker.most,
			   (long long)session);
}
