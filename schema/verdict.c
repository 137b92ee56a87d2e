#include "schema/verdict.h"

#include <assert.h>

#include "base/memory.h"
#include "schema/record.h"

static const char *const effect_names[] = {[EFFECT_DENY] = "deny", [EFFECT_ASK] = "ask", [EFFECT_ALLOW] = "allow"};
static_assert(ARRAY_LENGTH(effect_names) == EFFECT_COUNT, "every effect has a name");
const struct words effect_words = {"verdict", effect_names, EFFECT_COUNT};

const char *effect_name(enum effect effect) {
	return words_name(&effect_words, (int)effect);
}

int effect_parse(const char *name, enum effect *ret_effect, struct error *error) {
	return words_parse(&effect_words, name, (int *)ret_effect, error);
}

static const struct field fields[] = {
	{"effect", FIELD_WORD, offsetof(struct verdict, effect), &effect_words},
	{"module", FIELD_NAME, offsetof(struct verdict, module), NULL},
	{"why", FIELD_TEXT, offsetof(struct verdict, why), NULL},
	{"rule", FIELD_TEXT, offsetof(struct verdict, rule), NULL},
	{"grant", FIELD_ID, offsetof(struct verdict, grant), NULL},
	{"prompt", FIELD_ID, offsetof(struct verdict, prompt), NULL},
	{"confirm", FIELD_BOOL, offsetof(struct verdict, confirm_terminal), NULL},
	{"private", FIELD_BOOL, offsetof(struct verdict, private_allowed), NULL},
	{"ipv4", FIELD_BOOL, offsetof(struct verdict, ipv4_only), NULL},
	{"direct", FIELD_BOOL, offsetof(struct verdict, direct), NULL},
	{"once", FIELD_BOOL, offsetof(struct verdict, once), NULL},
	{"this_run", FIELD_BOOL, offsetof(struct verdict, this_run), NULL},
	{"user", FIELD_BOOL, offsetof(struct verdict, asked_user), NULL},
};
static const struct record verdict_record = {"verdict", fields, ARRAY_LENGTH(fields)};
static_assert(sizeof((struct verdict){0}.module) == FIELD_NAME_SIZE, "the module is a FIELD_NAME");

void verdict_finish(struct verdict *verdict) {
	record_finish(&verdict_record, verdict);
}

json_t *verdict_to_json(const struct verdict *verdict) {
	return record_to_json(&verdict_record, verdict);
}

void verdict_write(const struct verdict *verdict, struct string *out) {
	record_write(&verdict_record, verdict, out);
}

int verdict_from_json(const json_t *json, struct verdict *ret_verdict, struct error *error) {
	struct verdict verdict = {0};
	int r = record_from_json(&verdict_record, json, &verdict, error);
	if (r < 0) return r;
	/* A missing effect reads as -1: that is a deny like every other failure. */
	if ((int)verdict.effect != EFFECT_ALLOW) verdict.effect = EFFECT_DENY;
	*ret_verdict = verdict;
	return 0;
}
