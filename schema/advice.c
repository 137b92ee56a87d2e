#include "schema/advice.h"

#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "schema/host.h"

struct denial {
	const struct verdict *verdict;
	const char *permission, *target, *profile;
};

static char *advise_grant(const struct denial *denial) {
	CLEANUP_FREE char *target = text_shell_word(denial->target);
	CLEANUP_FREE char *profile = text_shell_word(denial->profile);
	return string_format("allow with: sbx grant %s %s --profile %s", denial->permission, target, profile);
}

/* Somebody's own "no": what was said for one run ends with it. */
static char *advise_grants(const struct denial *denial) {
	const struct verdict *verdict = denial->verdict;
	if (verdict->this_run) return string_copy("it was denied for this run alone, as with --deny");
	if (verdict->grant == 0) return advise_grant(denial);
	return string_format("end that with: sbx revoke %lld", (long long)verdict->grant);
}

const char *advice_lift(const char *rule) {
	bool builtin = rule && string_starts(rule, "built-in/");
	return builtin ? "; to lift it, allow it in ~/.config/sbx/policy.yaml" : "";
}

static char *advise_rules(const struct denial *denial) {
	if (!denial->verdict->rule) return NULL;
	CLEANUP_FREE char *rule = text_visible(denial->verdict->rule);
	return string_format("the rule at %s forbids it, and no grant lifts a rule%s", rule,
			     advice_lift(denial->verdict->rule));
}

/* A grant opens an address that it names; a name that leads to one needs `private: true`, which only a policy says. */
static char *advise_private(const struct denial *denial) {
	struct host host;
	uint16_t port;
	int r = host_port_parse(denial->target, strlen(denial->target), &host, &port, NULL);
	if (r == 0 && host.class != HOST_NAME) return advise_grant(denial);
	CLEANUP_FREE char *target = text_visible(denial->target);
	CLEANUP_FREE char *profile = text_visible(denial->profile);
	return string_format("allow with this under `allow:` of the profile %s in ~/.config/sbx/policy.yaml: "
			     "net:access: [{target: \"%s\", private: true}]",
			     profile, target);
}

static char *advise_flood(const struct denial *denial) {
	CLEANUP_FREE char *grant = advise_grant(denial);
	return string_format("answer what waits (sbx prompts), or %s", grant);
}

static char *advise_exec(const struct denial *denial) {
	(void)denial;
	return string_copy("the administrator has a program decide this (/etc/sbx/sbx.yaml): ask them");
}

static char *advise_broker(const struct denial *denial) {
	(void)denial;
	return string_copy("'sbx doctor' says what is wrong with sbxd or its disk");
}

/* A module that isn't here (protect) leaves nothing to do. */
static const struct {
	const char *module;
	char *(*advise)(const struct denial *denial);
} rows[] = {
	{"ask", advise_grants},    {"broker", advise_broker}, {"exec", advise_exec},       {"flood", advise_flood},
	{"grants", advise_grants}, {"none", advise_grant},    {"private", advise_private}, {"rules", advise_rules},
};

char *advice_text(const struct verdict *verdict, const char *permission, const char *target, const char *profile) {
	const struct denial denial = {verdict, permission, target, profile};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		if (strcmp(rows[i].module, verdict->module) == 0) return rows[i].advise(&denial);
	return NULL;
}
