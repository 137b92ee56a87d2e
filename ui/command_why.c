#include <errno.h>

#include "base/memory.h"
#include "base/text.h"
#include "schema/advice.h"
#include "schema/message.h"
#include "ui/broker.h"
#include "ui/command.h"
#include "ui/human.h"
#include "ui/output.h"
#include "ui/words.h"

struct values {
	const char *profile, *project;
	int64_t session;
};

static const struct option_info options[] = {
	{"profile", OPTION_TEXT, "PROFILE", "For which profile. Default: default.", offsetof(struct values, profile)},
	{"project", OPTION_TEXT, "DIR", "In which project. Default: the current one.",
	 offsetof(struct values, project)},
	{"session", OPTION_NUMBER, "SESSION", "For this running session: its profile, project and state.",
	 offsetof(struct values, session)},
};

static const char *answer_phrase(const char *answer) {
	static const struct {
		const char *answer, *phrase;
	} phrases[] = {{"allow", "allows"}, {"deny", "denies"}, {"ask", "asks you"}, {"pass", "has no say"}};
	for (size_t i = 0; i < ARRAY_LENGTH(phrases); i++)
		if (string_equal(phrases[i].answer, answer)) return phrases[i].phrase;
	return "says";
}

/* ": why [rule at file:line] [grant 7]", what of it there is. */
static void print_why(const json_t *answer) {
	CLEANUP_FREE char *why = json_visible(answer, "why");
	CLEANUP_FREE char *rule = json_visible(answer, "rule");
	json_int_t grant = json_integer_value(json_object_get(answer, "grant"));
	if (!string_equal(why, "-")) printf(": %s", why);
	if (!string_equal(rule, "-")) printf(" [rule at %s]", rule);
	if (grant > 0) printf(" [grant %lld]", (long long)grant);
	putchar('\n');
}

static void print_steps(const json_t *steps) {
	size_t index;
	json_t *step;
	json_array_foreach ((json_t *)steps, index, step) {
		CLEANUP_FREE char *module = json_visible(step, "module");
		CLEANUP_FREE char *control = json_visible(step, "control");
		CLEANUP_FREE char *answer = json_visible(step, "answer");
		bool limited = *control && !string_equal(control, "-");
		CLEANUP_FREE char *name = limited ? string_format("%s (%s)", module, control) : string_copy(module);
		printf("  %zu. %-20s %s", index + 1, name, answer_phrase(answer));
		print_why(step);
	}
}

static int print_advice(const struct permission *permission, const char *target, const char *profile,
			const json_t *json, struct error *error) {
	CLEANUP_VERDICT struct verdict verdict = {0};
	int r = verdict_from_json(json, &verdict, error);
	if (r < 0) return error_prefix(error, "the broker's reply");
	if (verdict.effect == EFFECT_ALLOW) return 0;
	const struct advice_about about = {permission->name, target, profile, NULL};
	CLEANUP_FREE char *advice = advice_text(&verdict, &about);
	/* Not all of it is something to do: the lead-in stands before commands. */
	if (advice) printf("%s%s\n", strstr(advice, "sbx ") ? "What to do: " : "", advice);
	return 0;
}

static void print_walk(const struct permission *permission, const char *target, const char *profile,
		       const char *project, const json_t *reply) {
	const json_t *verdict = json_object_get(reply, "verdict");
	CLEANUP_FREE char *visible = text_visible(target);
	CLEANUP_FREE char *what = permission_sentence(permission, NULL, visible);
	CLEANUP_FREE char *who = text_visible(profile);
	CLEANUP_FREE char *shortened = human_path(project);
	CLEANUP_FREE char *place = text_visible(shortened);
	CLEANUP_FREE char *effect = json_visible(verdict, "effect");
	printf("May profile %s in %s %s?\n", who, place, what);
	print_steps(json_object_get(reply, "steps"));
	printf("So: %s", effect);
	print_why(verdict);
}

static int print_reply(const struct permission *permission, const char *target, const json_t *reply,
		       struct error *error) {
	CLEANUP_FREE char *profile = NULL;
	CLEANUP_FREE char *project = NULL;
	int r = message_bytes_take(json_object_get(reply, "profile"), &profile, error);
	if (r == 0) r = message_bytes_take(json_object_get(reply, "project"), &project, error);
	if (r == 0 && (!profile || !project)) r = error_set(error, EPROTO, "it names no profile or project");
	if (r < 0) return error_prefix(error, "the broker's reply");
	print_walk(permission, target, profile, project, reply);
	return print_advice(permission, target, profile, json_object_get(reply, "verdict"), error);
}

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	const char *text;
	struct permission permission;
	CLEANUP_FREE char *target = NULL;
	CLEANUP_FREE char *project = NULL;
	int r = 0;
	if (values->session != 0 && (values->profile || values->project))
		r = error_set(error, EINVAL, "--session names a profile and project of its own");
	if (r == 0) r = operands_permission(call->operands, &permission, &text, error);
	if (r == 0) r = words_target(&permission, text, &target, error);
	if (r == 0 && values->session == 0) r = words_project(values->project, &project, error);
	if (r < 0) return r;
	json_t *reply = NULL,
	       *body = json_pack("{s:s, s:o}", "permission", permission.name, "target", message_bytes(target));
	json_put_id(body, "session", values->session);
	json_put_text(body, "profile", values->profile);
	json_put_text(body, "project", project);
	r = broker_call("why", body, &reply, error);
	if (r == 0) r = print_reply(&permission, target, reply, error);
	json_decref(reply);
	return r < 0 ? r : EXIT_DONE;
}

const struct command command_why = {
	.name = "why",
	.operands = "PERM TARGET",
	.summary = "Show how a request would be decided, step by step.",
	.details = "Asks nobody, runs no programs of the decision stack, and records nothing.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.operands_least = 1,
	.operands_most = 2,
	.refuses_root = true,
	.run = run,
};
