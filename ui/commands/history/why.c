#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "commands/commands.h"
#include "schema/advice.h"
#include "schema/message.h"
#include "ui/broker.h"
#include "ui/denied_link.h"
#include "ui/human.h"
#include "ui/led.h"
#include "ui/output.h"
#include "ui/words.h"
#include "why_changes.h"

struct values {
	const char *profile, *project;
	int64_t session;
	bool json;
};

static const struct option_info options[] = {
	{"profile", OPTION_TEXT, "PROFILE", "For which profile. Default: default.", offsetof(struct values, profile)},
	{"project", OPTION_TEXT, "DIR", "In which project. Default: the current one.",
	 offsetof(struct values, project)},
	{"session", OPTION_NUMBER, "SESSION", "For this running session: its profile, project and state.",
	 offsetof(struct values, session)},
	{"json", OPTION_FLAG, NULL, "One JSON object.", offsetof(struct values, json)},
};

static const char *answer_phrase(const char *answer) {
	static const struct {
		const char *answer, *phrase;
	} phrases[] = {{"allow", "allows"}, {"deny", "denies"}, {"ask", "asks you"}, {"pass", "has no opinion"}};
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
		bool passes = string_equal(answer, "pass") || json_is_true(json_object_get(step, "counts"));
		CLEANUP_FREE char *name = limited ? string_format("%s (%s)", module, control) : string_copy(module);
		printf("  %zu. %-20s %s%s", index + 1, name, answer_phrase(answer),
		       passes ? "" : ", which doesn't count here");
		print_why(step);
	}
}

static void print_changes(const struct why_changes *changes) {
	if (changes->count == 0) return;
	puts("What would change it:");
	for (size_t i = 0; i < changes->count; i++) {
		const struct why_change *change = &changes->items[i];
		const char *rest = change->command ? change->command : change->place;
		printf("  %s%s%s\n", change->what, rest ? ": " : "", rest ? rest : "");
	}
}

/* What the broker said, with what it was asked. */
struct explanation {
	const struct permission *permission;
	const char *target;
	const char *link; /* what was named, where it leads to the target; or NULL */
	char *denied;     /* the link by whose name a program is denied: `link` then; or NULL */
	char *profile, *project, *untrusted;
	struct verdict verdict;
	json_t *reply;
	struct why_changes changes;
};

static void print_text(const struct explanation *explanation) {
	const json_t *verdict = json_object_get(explanation->reply, "verdict");
	CLEANUP_FREE char *visible = text_visible(explanation->target);
	CLEANUP_FREE char *what = permission_sentence(explanation->permission, NULL, visible);
	CLEANUP_FREE char *who = text_visible(explanation->profile);
	CLEANUP_FREE char *shortened = human_path(explanation->project);
	CLEANUP_FREE char *place = text_visible(shortened);
	CLEANUP_FREE char *link = explanation->link ? text_visible(explanation->link) : NULL;
	if (link) printf("%s leads to %s by a link.\n", link, visible);
	printf("May profile %s in %s %s?\n", who, place, what);
	print_steps(json_object_get(explanation->reply, "steps"));
	printf("So: %s", effect_name(explanation->verdict.effect));
	print_why(verdict);
	print_changes(&explanation->changes);
}

static void print_json(const struct explanation *explanation) {
	static const char *const keys[] = {"effect", "module", "why", "rule", "grant", "confirm"};
	const json_t *said = json_object_get(explanation->reply, "verdict");
	json_t *verdict = json_object();
	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
		json_t *value = json_object_get(said, keys[i]);
		json_object_set_new(verdict, keys[i], value ? json_incref(value) : json_null());
	}
	json_t *line = json_pack("{s:s, s:o, s:o, s:o, s:o, s:O, s:o}", "permission", explanation->permission->name,
				 "target", message_bytes(explanation->target), "profile",
				 message_bytes(explanation->profile), "project", message_bytes(explanation->project),
				 "verdict", verdict, "steps", json_object_get(explanation->reply, "steps"), "changes",
				 why_changes_to_json(&explanation->changes));
	json_line(stdout, line);
	json_decref(line);
}

/* The project's file, where some of it doesn't count. */
static char *untrusted_file(const char *project) {
	json_t *reply = NULL, *file;
	size_t index;
	char *path = NULL;
	if (broker_call("policy", json_pack("{s:o}", "project", message_bytes(project)), &reply, NULL) < 0) return NULL;
	json_array_foreach (json_object_get(reply, "files"), index, file) {
		if (!path && string_equal(json_string_value(json_object_get(file, "trust")), "untrusted"))
			message_bytes_take(json_object_get(file, "path"), &path, NULL);
	}
	json_decref(reply);
	return path;
}

static int read_reply(struct explanation *explanation, struct error *error) {
	const json_t *reply = explanation->reply;
	int r = message_bytes_take(json_object_get(reply, "profile"), &explanation->profile, error);
	if (r == 0) r = message_bytes_take(json_object_get(reply, "project"), &explanation->project, error);
	if (r == 0 && (!explanation->profile || !explanation->project))
		r = error_set(error, EPROTO, "it names no profile or project");
	const json_t *verdict = json_object_get(reply, "verdict");
	if (r == 0) r = verdict_from_json(verdict, &explanation->verdict, error);
	/* For who obeys a verdict a question is a denial; here it is what is explained. */
	if (r == 0)
		r = effect_parse(json_string_value(json_object_get(verdict, "effect")), &explanation->verdict.effect,
				 error);
	return r < 0 ? error_prefix(error, "the broker's reply") : 0;
}

/* `elsewhere`: the project is not the one that `sbx grant` takes by itself here. */
static void find_changes(struct explanation *explanation, bool elsewhere) {
	const struct advice_about about = {explanation->permission->name, explanation->target, explanation->profile,
					   elsewhere ? explanation->project : NULL};
	explanation->untrusted = untrusted_file(explanation->project);
	const struct why_answer answer = {.permission = explanation->permission,
					  .about = &about,
					  .verdict = &explanation->verdict,
					  .steps = json_object_get(explanation->reply, "steps"),
					  .untrusted_path = explanation->untrusted,
					  .project = explanation->project};
	why_changes_find(&answer, &explanation->changes);
}

static void explanation_finish(struct explanation *explanation) {
	free(explanation->denied);
	free(explanation->profile);
	free(explanation->project);
	free(explanation->untrusted);
	verdict_finish(&explanation->verdict);
	json_decref(explanation->reply);
	why_changes_finish(&explanation->changes);
}

/* What is said of a link by whose name the program is denied counts. */
static void put_denied_link(struct explanation *explanation, int64_t session, const char *file) {
	const json_t *verdict = json_object_get(explanation->reply, "verdict");
	if (string_equal(json_string_value(json_object_get(verdict, "effect")), effect_name(EFFECT_DENY))) return;
	json_t *subject = json_object(), *reply = NULL;
	json_put_id(subject, "session", session);
	if (session == 0) json_object_set(subject, "profile", json_object_get(explanation->reply, "profile"));
	if (session == 0) json_object_set(subject, "project", json_object_get(explanation->reply, "project"));
	explanation->denied = denied_link(explanation->permission, file, subject, &reply);
	json_decref(subject);
	if (!explanation->denied) return;
	json_decref(explanation->reply);
	explanation->reply = reply;
	explanation->link = explanation->denied;
	explanation->target = file;
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
	CLEANUP_FREE char *file = words_program(&permission, target);
	json_t *body = json_object();
	json_put_id(body, "session", values->session);
	json_put_text(body, "profile", values->profile);
	json_put_text(body, "project", project);
	CLEANUP_FREE char *real = led_name(body, &permission, target);
	CLEANUP(explanation_finish)
	struct explanation explanation = {
		.permission = &permission, .target = real ? real : target, .link = real ? target : NULL};
	json_put_text(body, "permission", permission.name);
	json_put_text(body, "target", explanation.target);
	json_put_text(body, "name", file);
	r = broker_call("why", body, &explanation.reply, error);
	if (r == 0) put_denied_link(&explanation, values->session, file ? file : target);
	if (r == 0) r = read_reply(&explanation, error);
	if (r < 0) return r;
	find_changes(&explanation, values->project || values->session != 0);
	if (values->json)
		print_json(&explanation);
	else
		print_text(&explanation);
	return EXIT_DONE;
}

const struct command command_why = {
	.name = "why",
	.operands = "PERM TARGET",
	.summary = "Show how a request would be decided, and what would change it.",
	.details = "Asks nobody, runs no programs of the decision stack, and records nothing.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.operands_least = 1,
	.operands_most = 2,
	.refuses_root = true,
	.run = run,
};
