#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "check_terminal.h"
#include "commands/commands.h"
#include "schema/message.h"
#include "schema/verdict.h"
#include "ui/broker.h"
#include "ui/denied_link.h"
#include "ui/led.h"
#include "ui/output.h"
#include "ui/words.h"

struct values {
	const char *profile, *project, *reason;
	bool no_ask;
};

static const struct option_info options[] = {
	{"profile", OPTION_TEXT, "PROFILE", "For which profile. Default: default.", offsetof(struct values, profile)},
	{"project", OPTION_TEXT, "DIR", "In which project. Default: the current one.",
	 offsetof(struct values, project)},
	{"no-ask", OPTION_FLAG, NULL,
	 "Where a rule asks, that counts as a no. Default: the user is asked and waited for.",
	 offsetof(struct values, no_ask)},
	{"reason", OPTION_TEXT, "TEXT", "Why it is wanted; shown when the user is asked. Default: none.",
	 offsetof(struct values, reason)},
};

/* "make (412)": who called us; for people to read, nothing is decided by it. */
static char *caller_name(void) {
	enum { NAME_MAX_BYTES = 64 };
	CLEANUP_FREE char *path = string_format("/proc/%d/comm", getppid());
	CLEANUP_FREE char *name = NULL;
	if (file_read(path, NAME_MAX_BYTES, &name, NULL, NULL) < 0) return NULL;
	name[strcspn(name, "\n")] = '\0';
	return string_format("%s (%d)", name, getppid());
}

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	struct permission permission;
	const char *text;
	CLEANUP_FREE char *target = NULL;
	CLEANUP_FREE char *project = NULL;
	int r = operands_permission(call->operands, &permission, &text, error);
	if (r == 0) r = words_target(&permission, text, &target, error);
	if (r == 0) r = words_project(values->project, &project, error);
	if (r < 0) return r;
	CLEANUP_FREE char *file = words_program(&permission, target);
	json_t *reply = NULL, *body = json_object();
	json_put_text(body, "profile", values->profile ? values->profile : "default");
	json_put_text(body, "project", project);
	CLEANUP_FREE char *real = led_name(body, &permission, target);
	CLEANUP_FREE char *link = denied_link(&permission, target, body, NULL);
	if (link && !file) file = string_copy(target);
	json_put_text(body, "permission", permission.name);
	json_put_text(body, "target", link ? link : real ? real : target);
	json_object_set_new(body, "ask", json_boolean(!values->no_ask));
	CLEANUP_FREE char *process = caller_name();
	json_put_text(body, "name", file);
	json_put_text(body, "process", process);
	json_put_text(body, "reason", values->reason);
	r = check_call(body, &reply, error);
	if (r < 0) return r;
	const json_t *verdict = json_object_get(reply, "verdict");
	CLEANUP_FREE char *effect = json_visible(verdict, "effect");
	CLEANUP_FREE char *why = json_visible(verdict, "why");
	bool allowed = string_equal(effect, effect_name(EFFECT_ALLOW));
	printf("%s: %s\n", effect, why);
	json_decref(reply);
	return allowed ? EXIT_DONE : EXIT_NO;
}

const struct command command_check = {
	.name = "check",
	.operands = "PERM TARGET",
	.summary = "Is it allowed? Exit status 0 for yes, 1 for no, 125 for neither.",
	.details = "For scripts, also with permissions of your own such as db:access, which a policy declares under "
		   "'permissions:'. Where a rule asks, the user is asked, and it waits for the answer: here, "
		   "when it runs in a terminal; with nobody there it is no (prompt.without-agent of the policy). The "
		   "decision is recorded like every other; 'sbx why' "
		   "explains "
		   "without asking or recording.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.operands_least = 1,
	.operands_most = 2,
	.refuses_root = true,
	.failure = EXIT_FAILED,
	.run = run,
};
