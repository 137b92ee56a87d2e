#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "completion/complete.h"

/* What the shell knows better. */

static void complete_files(struct completion *completion) {
	fputs(":files\n", completion->out);
}

static void complete_directories(struct completion *completion) {
	fputs(":directories\n", completion->out);
}

static void complete_variables(struct completion *completion) {
	fputs(":variables\n", completion->out);
}

static void complete_users(struct completion *completion) {
	fputs(":users\n", completion->out);
}

/* Times */

/* Of a number its units; of nothing some that are usual. */
static void complete_durations(struct completion *completion) {
	static const struct {
		const char *text, *description;
	} usual[] = {{"15m", "a quarter of an hour"}, {"1h", "an hour"}, {"8h", "a day's work"}, {"7d", "a week"}};
	static const struct {
		char letter;
		const char *description;
	} units[] = {{'s', "seconds"}, {'m', "minutes"}, {'h', "hours"}, {'d', "days"}};
	if (*completion->typed == '\0') {
		for (size_t i = 0; i < ARRAY_LENGTH(usual); i++)
			complete_offer(completion, usual[i].text, usual[i].description);
		return;
	}
	const size_t digits = strspn(completion->typed, "0123456789");
	for (size_t i = 0; digits > 0 && i < ARRAY_LENGTH(units); i++) {
		CLEANUP_FREE char *text = string_format("%.*s%c", (int)digits, completion->typed, units[i].letter);
		complete_offer(completion, text, units[i].description);
	}
}

/* Targets */

static void complete_target_of(struct completion *completion, const struct permission *permission) {
	if (permission_is_of_place(permission))
		complete_files(completion);
	else if (permission->kind == PERMISSION_PROC_SPAWN)
		fputs(":programs\n", completion->out);
	else if (permission->kind == PERMISSION_ENV_READ)
		complete_variables(completion);
	else if (permission->kind == PERMISSION_NET_ACCESS)
		complete_offer(completion, "localhost:", "a port of this machine");
}

static void complete_target(struct completion *completion) {
	struct permission permission;
	if (completion->permission && permission_parse(completion->permission, &permission, NULL) == 0)
		complete_target_of(completion, &permission);
}

/* "fs:read", and behind "fs:read=" its target. */
static void complete_permission(struct completion *completion) {
	const char *equals = strchr(completion->typed, '=');
	if (!equals) {
		complete_permissions(completion);
		return;
	}
	CLEANUP_FREE char *name = string_copy_bytes(completion->typed, (size_t)(equals - completion->typed));
	completion->permission = name;
	completion->typed = equals + 1;
	complete_target(completion);
	completion->permission = NULL;
}

/* The table */

/* By what help calls a value, up to its first other character: "PERM=TARGET", "K[=V]". */
static const struct {
	const char *name;
	void (*complete)(struct completion *completion); /* NULL: nobody can know */
} values[] = {
	{"COMMAND", complete_files},
	{"DIR", complete_directories},
	{"DURATION", complete_durations},
	{"FILE", complete_files},
	{"GRANT", complete_grants},
	{"ID", complete_sessions_ever}, /* of a session, also one that has ended */
	{"K", complete_variables},
	{"PATH", complete_kept}, /* of a profile's own home */
	{"PERM", complete_permission},
	{"PORT", NULL},
	{"PROFILE", complete_profiles},
	{"PROMPT", complete_prompts},
	{"SCOPE", complete_scopes},
	{"SEQ", NULL},
	{"SESSION", complete_sessions},
	{"TARGET", complete_target},
	{"TEXT", NULL},
	{"TIME", complete_durations},
	{"USER", complete_users},
};

/* Or the words themselves: "allow|deny". */
static bool is_choice(const char *name) {
	return strchr(name, '|') != NULL;
}

static void complete_choice(struct completion *completion, const char *names) {
	for (const char *name = names; *name; name += strspn(name, "|")) {
		const size_t size = strcspn(name, "|");
		CLEANUP_FREE char *text = string_copy_bytes(name, size);
		complete_offer(completion, text, NULL);
		name += size;
	}
}

static size_t value_find(const char *name) {
	const size_t size = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	size_t i = 0;
	while (i < ARRAY_LENGTH(values) && (strlen(values[i].name) != size || memcmp(values[i].name, name, size) != 0))
		i++;
	return i;
}

bool complete_knows(const char *name) {
	return is_choice(name) || value_find(name) < ARRAY_LENGTH(values);
}

void complete_value(struct completion *completion, const char *name) {
	const size_t i = value_find(name);
	if (is_choice(name))
		complete_choice(completion, name);
	else if (i < ARRAY_LENGTH(values) && values[i].complete)
		values[i].complete(completion);
}
