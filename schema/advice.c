#include "schema/advice.h"

#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "base/text.h"
#include "schema/host.h"
#include "schema/pattern.h"

char *advice_grant(const struct advice_about *about, enum effect effect) {
	struct permission permission = {.kind = PERMISSION_CUSTOM};
	permission_parse(about->permission, &permission, NULL);
	CLEANUP_FREE char *pattern = pattern_quote(&permission, about->target);
	CLEANUP_FREE char *word = text_shell_word(pattern);
	CLEANUP_FREE char *profile = text_shell_word(about->profile);
	CLEANUP_FREE char *project = about->project ? text_shell_word(about->project) : NULL;
	/* In one word nothing is taken for an option. */
	return string_format("sbx grant %s%c%s --profile %s%s%s%s", about->permission, *pattern == '-' ? '=' : ' ',
			     word, profile, project ? " --project " : "", project ? project : "",
			     effect == EFFECT_DENY ? " --deny" : "");
}

struct denial {
	const struct verdict *verdict;
	const struct advice_about *about;
};

static struct advice advise_option(const struct advice_about *about) {
	struct permission permission = {.kind = PERMISSION_CUSTOM};
	permission_parse(about->permission, &permission, NULL);
	CLEANUP_FREE char *pattern = pattern_quote(&permission, about->target);
	CLEANUP_FREE char *rule = string_format("%s=%s", about->permission, pattern);
	CLEANUP_FREE char *word = text_shell_word(rule);
	return (struct advice){
		string_format("allow with a rule in the file of --policy, or for one run with --allow %s", word), NULL};
}

static struct advice advise_grant(const struct denial *denial) {
	if (!denial->about->profile) return advise_option(denial->about);
	return (struct advice){string_copy("allow with"), advice_grant(denial->about, EFFECT_ALLOW)};
}

/* Somebody's own "no". A grant for one session has ended, or will, with the session that this is said of. */
static struct advice advise_grants(const struct denial *denial) {
	const struct verdict *verdict = denial->verdict;
	if (verdict->this_run) return (struct advice){string_copy("it was denied for this run alone"), NULL};
	if (verdict->grant == 0) return advise_grant(denial);
	return (struct advice){string_copy("end that with"),
			       string_format("sbx revoke %lld", (long long)verdict->grant)};
}

const char *advice_lift(const char *rule) {
	bool builtin = rule && string_starts(rule, "built-in/");
	return builtin ? "; to lift it, allow it in ~/.config/sbx/policy.yaml" : "";
}

static struct advice advise_rules(const struct denial *denial) {
	if (!denial->verdict->rule) return (struct advice){0};
	CLEANUP_FREE char *rule = text_visible(denial->verdict->rule);
	return (struct advice){string_format("the rule at %s forbids it; grants can't override deny rules%s", rule,
					     advice_lift(denial->verdict->rule)),
			       NULL};
}

/* A grant opens an address that it names; a name that leads to one needs `private: true`, which only a policy says. */
static struct advice advise_private(const struct denial *denial) {
	struct host host;
	uint16_t port;
	const char *asked = denial->about->target;
	int r = host_port_parse(asked, strlen(asked), &host, &port, NULL);
	if (r == 0 && host.class != HOST_NAME) return advise_grant(denial);
	CLEANUP_FREE char *target = text_visible(asked);
	CLEANUP_FREE char *profile = denial->about->profile ? text_visible(denial->about->profile) : NULL;
	return (struct advice){string_format("allow with this under `allow:` of the profile%s%s in %s: "
					     "net:access: [{target: \"%s\", private: true}]",
					     profile ? " " : "", profile ? profile : "",
					     profile ? "~/.config/sbx/policy.yaml" : "the file of --policy", target),
			       NULL};
}

static struct advice advise_flood(const struct denial *denial) {
	if (!denial->about->profile) return advise_option(denial->about);
	return (struct advice){string_copy("answer what waits (sbx prompts), or allow with"),
			       advice_grant(denial->about, EFFECT_ALLOW)};
}

static struct advice advise_exec(const struct denial *denial) {
	(void)denial;
	return (struct advice){string_copy("the administrator has a program decide this (/etc/sbx/sbx.yaml): ask them"),
			       NULL};
}

static struct advice advise_broker(const struct denial *denial) {
	(void)denial;
	return (struct advice){string_copy("'sbx doctor' says what is wrong with sbxd or its disk"), NULL};
}

/* A module that isn't here (protect) leaves nothing to do. */
static const struct {
	const char *module;
	struct advice (*advise)(const struct denial *denial);
} rows[] = {
	{"ask", advise_grants},    {"broker", advise_broker}, {"exec", advise_exec},       {"flood", advise_flood},
	{"grants", advise_grants}, {"none", advise_grant},    {"private", advise_private}, {"rules", advise_rules},
};

bool advice_make(const struct verdict *verdict, const struct advice_about *about, struct advice *ret_advice) {
	const struct denial denial = {verdict, about};
	*ret_advice = (struct advice){0};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		if (strcmp(rows[i].module, verdict->module) == 0) *ret_advice = rows[i].advise(&denial);
	return ret_advice->text != NULL;
}

void advice_finish(struct advice *advice) {
	free(advice->text);
	free(advice->command);
	*advice = (struct advice){0};
}

char *advice_text(const struct verdict *verdict, const struct advice_about *about) {
	CLEANUP_ADVICE struct advice advice;
	if (!advice_make(verdict, about, &advice)) return NULL;
	return advice.command ? string_format("%s: %s", advice.text, advice.command) : string_copy(advice.text);
}
