#include "blocked.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "schema/advice.h"

static const char spoken_by[] = "sbx: "; /* log_notice */

enum { SHOWN = 10, TEXT_COLUMNS = 200, TARGET_COLUMNS_MIN = 24, LINE_MAX_BYTES = 4000 /* log_line has 4,096 */ };

struct item {
	const char *permission, *target;
	const struct denied_target *denied;
	const struct verdict *verdict;
};

/* Commands that follow the same words. */
struct group {
	char *lead;
	struct strings commands;
};

enum { GROUPS = 4 }; /* more than schema/advice.c has leads */

struct telling {
	const struct blocked *blocked;
	void (*tell)(struct telling *telling, const struct item *item);
	size_t count, most;
	size_t width; /* of the terminal that is spoken to; 0: it is none */
	struct group groups[GROUPS];
};

static size_t stderr_width(void) {
	struct winsize size;
	if (!isatty(STDERR_FILENO) || ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0) return 0;
	return size.ws_col >= 40 ? size.ws_col : 40;
}

/* Each item */

static void tell_item(struct telling *telling, const struct item *item) {
	if (telling->count++ < telling->most && telling->tell) telling->tell(telling, item);
}

static void tell_denied(struct telling *telling, const char *permission, const struct denied_target *denied) {
	tell_item(telling, &(struct item){permission, denied->target, denied, &denied->verdict});
}

static void tell_connection(void *argument, const struct denied_target *denied) {
	struct telling *telling = argument;
	if (!denied_has(&telling->blocked->denied[PERMISSION_NET_ACCESS], denied->target))
		tell_denied(telling, "net:access", denied);
}

static void tell_each(struct telling *telling, void (*tell)(struct telling *telling, const struct item *item)) {
	const struct blocked *blocked = telling->blocked;
	telling->tell = tell;
	telling->count = 0;
	for (int kind = 0; kind < PERMISSION_KIND_COUNT; kind++) {
		const struct denied *denied = &blocked->denied[kind];
		const struct permission permission = permission_of((enum permission_kind)kind);
		for (size_t i = 0; i < denied->count; i++) {
			const struct denied_target *target = &denied->items[i];
			tell_denied(telling, target->permission ? target->permission : permission.name, target);
		}
	}
	if (blocked->gate) gate_each_denied(blocked->gate, tell_connection, telling);
}

size_t blocked_count(const struct blocked *blocked) {
	struct telling telling = {.blocked = blocked};
	tell_each(&telling, NULL);
	return telling.count;
}

/* Words */

/* Of a folder that is moved the first protected name is asked about, then the next; of one that is copied those alone
 * that it has. */
static void advise_copying(struct advice *advice) {
	if (!string_equal(advice->text, "allow with")) return;
	free(advice->text);
	advice->text = string_copy("copy the folder instead of moving it (cp -r), or allow with");
}

static bool advise(const struct telling *telling, const struct item *item, struct advice *ret_advice) {
	/* What waited was taken down with the run: of a flood only the grant is left to advise. */
	static const struct verdict undecided = {.module = "none"};
	const struct scene *scene = telling->blocked->scene;
	/* A project that was named is not the one that the shell stands in. */
	const struct advice_about about = {.permission = item->permission,
					   .target = item->target,
					   .profile = scene->options->policy_text ? NULL : scene->view->profile,
					   .project = scene->options->project ? scene->project.project : NULL};
	const bool flooded = strcmp(item->verdict->module, "flood") == 0;
	const bool advised = advice_make(flooded ? &undecided : item->verdict, &about, ret_advice);
	if (advised && item->denied->brought) advise_copying(ret_advice);
	return advised;
}

/* " (no terminal or desktop to ask on, 2 times)", " (you denied it (prompt 4), 3 times, the last time: …)" */
static char *reason(const struct item *item) {
	const struct denied_target *denied = item->denied;
	CLEANUP_FREE char *why =
		text_visible_cut(item->verdict->why ? item->verdict->why : "no rule allows it", TEXT_COLUMNS);
	CLEANUP_FREE char *times = denied->count > 1 ? string_format(", %u times", denied->count) : string_copy("");
	CLEANUP_FREE char *last = denied->last ? text_visible_cut(denied->last, TEXT_COLUMNS) : NULL;
	return string_format(" (%s%s%s%s)", why, times, last ? ", the last time: " : "", last ? last : "");
}

/* "LEAD TARGET REST", of that width: the target's middle is cut first. A rest for which there is no room even so stands
 * whole in a line of its own, however long. */
static void say_fitting(size_t width, const char *lead, const char *target, const char *rest) {
	const size_t room = width > text_columns(lead) ? width - text_columns(lead) : 0;
	const size_t most = room > TARGET_COLUMNS_MIN ? room - TARGET_COLUMNS_MIN : 1;
	const bool beside = text_columns(rest) <= most;
	const size_t taken = beside ? text_columns(rest) : 0;
	CLEANUP_FREE char *shown = text_visible_cut(target, room > taken ? room - taken : 1);
	log_notice("%s%s%s", lead, shown, beside ? rest : "");
	if (!beside) log_notice("   %s", rest);
}

/* Whole, however long, and nothing in front of it but blanks: it is there to be copied. */
static void say_command(const char *command) {
	dprintf(STDERR_FILENO, "  %s\n", command);
}

/* A denial in a line of its own, where that has room for it. */

static void say_line(struct telling *telling, const struct item *item) {
	CLEANUP_FREE char *shown = text_visible_cut(item->target, TEXT_COLUMNS);
	CLEANUP_FREE char *rest = reason(item);
	CLEANUP_ADVICE struct advice advice;
	bool advised = advise(telling, item, &advice);
	CLEANUP_FREE char *line = string_format("blocked %s %s%s%s%s%s%s", item->permission, shown, rest,
						advised ? ": " : "", advised ? advice.text : "",
						advice.command ? ": " : "", advice.command ? advice.command : "");
	const bool fits = telling->width == 0 ? strlen(line) < LINE_MAX_BYTES
					      : text_columns(line) + strlen(spoken_by) <= telling->width;
	if (fits) return log_notice("%s", line);
	CLEANUP_FREE char *lead = string_format("blocked %s ", item->permission);
	size_t width = telling->width ? telling->width - strlen(spoken_by) : TEXT_COLUMNS * 2;
	say_fitting(width, lead, item->target, rest);
	if (advised) log_notice("%s%s", advice.text, advice.command ? ":" : "");
	if (advice.command) say_command(advice.command);
}

/* Several on a terminal: what was denied, then the commands */

static void group_add(struct telling *telling, const struct advice *advice) {
	for (size_t i = 0; i < GROUPS; i++) {
		struct group *group = &telling->groups[i];
		if (!group->lead) group->lead = string_copy(advice->text);
		if (strcmp(group->lead, advice->text) != 0) continue;
		if (!strings_contain(&group->commands, advice->command)) strings_add(&group->commands, advice->command);
		return;
	}
}

static void say_listed(struct telling *telling, const struct item *item) {
	CLEANUP_FREE char *lead = string_format("  %s ", item->permission);
	CLEANUP_FREE char *rest = reason(item);
	CLEANUP_ADVICE struct advice advice;
	bool advised = advise(telling, item, &advice);
	say_fitting(telling->width - strlen(spoken_by), lead, item->target, rest);
	const bool suggested = telling->blocked->scene->options->record; /* rules for all of it follow */
	if (advised && advice.command && !suggested) group_add(telling, &advice);
	if (advised && !advice.command) log_notice("    %s", advice.text);
}

static void say_groups(struct telling *telling) {
	for (size_t i = 0; i < GROUPS; i++) {
		struct group *group = &telling->groups[i];
		if (!group->lead) return;
		log_notice("%s:", group->lead);
		for (size_t k = 0; k < group->commands.count; k++) say_command(group->commands.items[k]);
		strings_finish(&group->commands);
		free(group->lead);
	}
}

void blocked_say(const struct blocked *blocked) {
	const size_t count = blocked_count(blocked);
	if (count == 0) return;
	/* --record is for the whole list. */
	struct telling telling = {.blocked = blocked,
				  .most = blocked->scene->options->record ? SIZE_MAX : SHOWN,
				  .width = stderr_width()};
	if (count > 1) log_notice("blocked %zu requests:", count);
	const bool listed = count > 1 && telling.width > 0;
	tell_each(&telling, listed ? say_listed : say_line);
	if (count > telling.most)
		log_notice("and %zu more: sbx history --session %lld --verdict deny", count - telling.most,
			   (long long)blocked->session);
	const bool grants = telling.groups[0].lead;
	say_groups(&telling);
	if (grants)
		log_notice("all that it asked for, and rules for what you allowed: sbx suggest --session %lld",
			   (long long)blocked->session);
}
