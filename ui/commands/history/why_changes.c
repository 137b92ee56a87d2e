#include "why_changes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "schema/host.h"
#include "schema/message.h"
#include "schema/pattern.h"
#include "ui/yaml_text.h"

static const char users_file[] = "~/.config/sbx/policy.yaml";

static void add(struct why_changes *changes, char *what, char *command, char *place) {
	changes->items = array_grow(changes->items, changes->count, sizeof *changes->items);
	changes->items[changes->count++] = (struct why_change){what, command, place};
}

static void add_sentence(struct why_changes *changes, const char *what) {
	add(changes, string_copy(what), NULL, NULL);
}

/* The stack */

/* Are grants asked for before what decided? What decided is the last step. */
static bool grants_count(const struct why_answer *answer) {
	size_t index;
	json_t *step;
	json_array_foreach ((json_t *)answer->steps, index, step) {
		const char *module = json_string_value(json_object_get(step, "module"));
		if (string_equal(module, "grants")) return true;
	}
	return false;
}

static void add_grant(const struct why_answer *answer, struct why_changes *changes, enum effect effect,
		      const char *what) {
	if (grants_count(answer)) add(changes, string_copy(what), advice_grant(answer->about, effect), NULL);
}

static void add_revoke(const struct why_answer *answer, struct why_changes *changes) {
	const struct verdict *verdict = answer->verdict;
	const char *what = verdict->effect == EFFECT_ALLOW
				   ? (verdict->this_run ? "to end it before the session ends" : "to end that grant")
				   : (verdict->this_run ? "to lift it before the session ends" : "to lift that denial");
	add(changes, string_copy(what), string_format("sbx revoke %lld", (long long)verdict->grant), NULL);
}

/* Rules */

enum layer { LAYER_BUILTIN, LAYER_ADMIN, LAYER_PROJECT, LAYER_USER, LAYER_COUNT };

static enum layer layer_of(const char *rule) {
	if (string_starts(rule, "built-in/")) return LAYER_BUILTIN;
	if (string_starts(rule, "/etc/sbx/")) return LAYER_ADMIN;
	const char *colon = strchr(rule, ':');
	CLEANUP_FREE char *path = string_copy_bytes(rule, colon ? (size_t)(colon - rule) : strlen(rule));
	return strcmp(path_name(path), ".sbx.yaml") == 0 ? LAYER_PROJECT : LAYER_USER;
}

/* `allow:` of the profile default: `fs:read: ["/home/ada/notes"]` */
static char *rule_text(const struct why_answer *answer, enum effect effect) {
	CLEANUP_FREE char *pattern = pattern_quote(answer->permission, answer->about->target);
	CLEANUP_FREE char *profile = text_visible(answer->about->profile);
	CLEANUP_STRING struct string quoted = {0};
	if (!yaml_append_quoted(&quoted, pattern)) return NULL;
	return string_format("`%s:` of the profile %s: `%s: [%s]`", effect_name(effect), profile,
			     answer->permission->name, quoted.data);
}

static void add_users_rule(const struct why_answer *answer, struct why_changes *changes, enum effect effect,
			   const char *what) {
	CLEANUP_FREE char *rule = rule_text(answer, effect);
	if (rule) add(changes, string_format("%s, in %s under %s", what, users_file, rule), NULL, NULL);
}

/* The rule that decided, and who can change it. */
static void add_rule(const struct why_answer *answer, struct why_changes *changes) {
	const char *rule = answer->verdict->rule;
	static const char *const who[] = {
		[LAYER_BUILTIN] = "the rule is built in; your own rules go before it",
		[LAYER_ADMIN] = "only who administers this machine changes this rule",
		[LAYER_PROJECT] = "the rule can be changed in the project's file, to be trusted again then",
		[LAYER_USER] = "the rule can be changed here",
	};
	static_assert(ARRAY_LENGTH(who) == LAYER_COUNT, "each layer is somebody's");
	if (rule) add(changes, string_copy(who[layer_of(rule)]), NULL, text_visible(rule));
}

/* Each verdict */

static void allowed_by_grant(const struct why_answer *answer, struct why_changes *changes) {
	if (answer->verdict->this_run)
		add_sentence(changes, "it is allowed for this session alone, as with --allow, and ends with it");
	add_revoke(answer, changes);
}

/* What a name leads to is looked at when the connection is made. */
static void add_private_note(const struct why_answer *answer, struct why_changes *changes) {
	struct host host;
	uint16_t port;
	const char *target = answer->about->target;
	if (answer->permission->kind != PERMISSION_NET_ACCESS || answer->verdict->private_allowed ||
	    host_port_parse(target, strlen(target), &host, &port, NULL) < 0 || host.class != HOST_NAME)
		return;
	add_sentence(changes, "it is denied all the same if the name leads to a private address, unless the rule says "
			      "`private: true` or `hosts:` has the name");
}

static void allowed_by_rule(const struct why_answer *answer, struct why_changes *changes) {
	add_grant(answer, changes, EFFECT_DENY, "to deny it for 1h");
	add_rule(answer, changes);
	add_private_note(answer, changes);
}

static void decided_by_program(const struct why_answer *answer, struct why_changes *changes) {
	(void)answer;
	add_sentence(changes,
		     "a program of the administrator's decides this (/etc/sbx/sbx.yaml), and isn't run for this "
		     "answer: ask them");
}

static void asked(const struct why_answer *answer, struct why_changes *changes) {
	if (answer->verdict->confirm_terminal)
		add_sentence(changes, "the question is answered in a terminal, never by a notification "
				      "(`confirm: terminal`)");
	add_grant(answer, changes, EFFECT_ALLOW, "to allow it for 1h without a question");
	add_grant(answer, changes, EFFECT_DENY, "to deny it for 1h without a question");
	add_users_rule(answer, changes, EFFECT_ALLOW, "to allow it for good");
	add_rule(answer, changes);
	add_private_note(answer, changes);
}

static void denied_by_rule(const struct why_answer *answer, struct why_changes *changes) {
	const char *rule = answer->verdict->rule;
	if (!rule) {
		add_sentence(changes, "start the command without --offline");
		return;
	}
	add_sentence(changes, "grants can't override deny rules");
	add_rule(answer, changes);
	if (layer_of(rule) == LAYER_BUILTIN) add_users_rule(answer, changes, EFFECT_ALLOW, "to allow it");
}

static void denied_by_grant(const struct why_answer *answer, struct why_changes *changes) {
	if (answer->verdict->this_run)
		add_sentence(changes, "it is denied for this session alone, as with --deny, and ends with it");
	add_revoke(answer, changes);
}

/* What is settled as a run begins has an option of its own. */
static void add_option(const struct why_answer *answer, struct why_changes *changes) {
	const enum permission_kind kind = answer->permission->kind;
	if (kind != PERMISSION_ENV_READ && kind != PERMISSION_NET_LISTEN) return;
	CLEANUP_FREE char *word = text_shell_word(answer->about->target);
	add(changes, string_copy("to allow it to one run"),
	    string_format("sbx run --%s %s -- COMMAND", kind == PERMISSION_ENV_READ ? "env" : "publish", word), NULL);
}

static void denied_by_nobody(const struct why_answer *answer, struct why_changes *changes) {
	add_grant(answer, changes, EFFECT_ALLOW, "to allow it for 1h");
	add_option(answer, changes);
	add_users_rule(answer, changes, EFFECT_ALLOW, "to allow it for good");
	add_users_rule(answer, changes, EFFECT_ASK, "to be asked");
}

static void denied_for_asking(const struct why_answer *answer, struct why_changes *changes) {
	add(changes, string_copy("one question is open for all that it asked, whether it may go on"),
	    string_copy("sbx prompts"), NULL);
	/* The walk ended before the grants, but one that covers it is looked for first. */
	add(changes, string_copy("to allow this for 1h"), advice_grant(answer->about, EFFECT_ALLOW), NULL);
}

static void protected(const struct why_answer *answer, struct why_changes *changes) {
	(void)answer;
	add_sentence(changes, "nothing: no rule and no grant opens what belongs to sbx itself");
}

static const struct {
	enum effect effect;
	const char *module;
	void (*find)(const struct why_answer *answer, struct why_changes *changes);
} rows[] = {
	{EFFECT_ALLOW, "grants", allowed_by_grant}, {EFFECT_ALLOW, "rules", allowed_by_rule},
	{EFFECT_ALLOW, "exec", decided_by_program}, {EFFECT_ASK, "ask", asked},
	{EFFECT_DENY, "rules", denied_by_rule},     {EFFECT_DENY, "grants", denied_by_grant},
	{EFFECT_DENY, "none", denied_by_nobody},    {EFFECT_DENY, "flood", denied_for_asking},
	{EFFECT_DENY, "protect", protected},        {EFFECT_DENY, "exec", decided_by_program},
	{EFFECT_DENY, "private", denied_by_nobody},
};

void why_changes_find(const struct why_answer *answer, struct why_changes *ret_changes) {
	*ret_changes = (struct why_changes){0};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		if (rows[i].effect == answer->verdict->effect && strcmp(rows[i].module, answer->verdict->module) == 0)
			rows[i].find(answer, ret_changes);
	if (!answer->untrusted_path) return;
	CLEANUP_FREE char *path = text_visible(answer->untrusted_path);
	CLEANUP_FREE char *project = text_shell_word(answer->project);
	add(ret_changes, string_format("of %s only the denials count until you trust it", path),
	    string_format("sbx policy trust %s", project), NULL);
}

json_t *why_changes_to_json(const struct why_changes *changes) {
	json_t *array = json_array();
	for (size_t i = 0; i < changes->count; i++) {
		const struct why_change *change = &changes->items[i];
		json_array_append_new(array,
				      json_pack("{s:o, s:o, s:o}", "what", message_bytes(change->what), "command",
						message_bytes(change->command), "place", message_bytes(change->place)));
	}
	return array;
}

void why_changes_finish(struct why_changes *changes) {
	for (size_t i = 0; i < changes->count; i++) {
		free(changes->items[i].what);
		free(changes->items[i].command);
		free(changes->items[i].place);
	}
	free(changes->items);
	*changes = (struct why_changes){0};
}
