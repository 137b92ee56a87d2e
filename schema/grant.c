#include "schema/grant.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "schema/record.h"

static const char *const lifetime_names[] = {[LIFETIME_ONCE] = "once",
					     [LIFETIME_SESSION] = "session",
					     [LIFETIME_UNTIL] = "until",
					     [LIFETIME_ALWAYS] = "always"};
static const struct words lifetimes = {"lifetime", lifetime_names, ARRAY_LENGTH(lifetime_names)};

static const char *const origin_names[] = {
	[GRANT_ORIGIN_PROMPT] = "prompt", [GRANT_ORIGIN_CLI] = "cli", [GRANT_ORIGIN_IMPORT] = "import"};
static const struct words origins = {"origin", origin_names, ARRAY_LENGTH(origin_names)};

const char *lifetime_name(enum lifetime lifetime) {
	return words_name(&lifetimes, (int)lifetime);
}

int lifetime_parse(const char *name, enum lifetime *ret_lifetime, struct error *error) {
	return words_parse(&lifetimes, name, (int *)ret_lifetime, error);
}

const char *grant_origin_name(enum grant_origin origin) {
	return words_name(&origins, (int)origin);
}

int grant_origin_parse(const char *name, enum grant_origin *ret_origin, struct error *error) {
	return words_parse(&origins, name, (int *)ret_origin, error);
}

static const struct field fields[] = {
	{"id", FIELD_ID, offsetof(struct grant, id), NULL},
	{"permission", FIELD_PERMISSION, offsetof(struct grant, permission), NULL},
	{"pattern", FIELD_TEXT, offsetof(struct grant, pattern), NULL},
	{"effect", FIELD_WORD, offsetof(struct grant, effect), &effect_words},
	{"profile", FIELD_TEXT, offsetof(struct grant, profile), NULL},
	{"project", FIELD_TEXT, offsetof(struct grant, project), NULL},
	{"session", FIELD_ID, offsetof(struct grant, session), NULL},
	{"lifetime", FIELD_WORD, offsetof(struct grant, lifetime), &lifetimes},
	{"created", FIELD_STAMP, offsetof(struct grant, created_ms), NULL},
	{"expires", FIELD_STAMP, offsetof(struct grant, expires_ms), NULL},
	{"origin", FIELD_WORD, offsetof(struct grant, origin), &origins},
	{"prompt", FIELD_ID, offsetof(struct grant, prompt), NULL},
	{"reason", FIELD_TEXT, offsetof(struct grant, reason), NULL},
	{"uses", FIELD_COUNT, offsetof(struct grant, uses), NULL},
	{"last_used", FIELD_STAMP, offsetof(struct grant, last_used_ms), NULL},
	{"revoked", FIELD_STAMP, offsetof(struct grant, revoked_ms), NULL},
	{"resolved", FIELD_TEXT, offsetof(struct grant, resolved), NULL},
};
static const struct record grant_record = {"grant", fields, ARRAY_LENGTH(fields)};

void grant_finish(struct grant *grant) {
	record_finish(&grant_record, grant);
	free(grant->revoked_by);
	*grant = (struct grant){0};
}

void grant_copy(struct grant *ret_grant, const struct grant *grant) {
	*ret_grant = *grant;
	record_copy(&grant_record, ret_grant, grant);
	if (grant->revoked_by) ret_grant->revoked_by = mem_copy(grant->revoked_by, strlen(grant->revoked_by) + 1);
}

json_t *grant_to_json(const struct grant *grant) {
	return record_to_json(&grant_record, grant);
}

int grant_from_json(const json_t *json, struct grant *ret_grant, struct error *error) {
	struct grant grant = {0};
	int r = record_from_json(&grant_record, json, &grant, error);
	if (r < 0) return r;
	*ret_grant = grant;
	return 0;
}

bool grant_is_for(const struct grant *grant, const char *profile, const char *project) {
	return (!grant->profile || string_equal(grant->profile, profile)) &&
	       (!grant->project || string_equal(grant->project, project));
}

bool grant_has_expired(const struct grant *grant, const struct moment *now) {
	if (grant->lifetime != LIFETIME_UNTIL) return false;
	if (grant->expires_ms != 0 && now->wall_ms >= grant->expires_ms) return true;
	/* In another boot its boot clock says nothing: the wall clock alone decides then. */
	return grant->expires_boot_ms != 0 && strcmp(grant->boot_id, now->boot_id) == 0 &&
	       now->boot_ms >= grant->expires_boot_ms;
}

static bool is_session_denial(const struct grant *grant) {
	return grant->session != 0 && grant->effect == EFFECT_DENY;
}

bool grant_beats(const struct grant *grant, struct pattern_rank rank, const struct grant *other,
		 struct pattern_rank other_rank) {
	if (is_session_denial(grant) != is_session_denial(other)) return is_session_denial(grant);
	int closer = pattern_rank_compare(rank, other_rank);
	if (closer != 0) return closer > 0;
	if (grant->effect != other->effect) return grant->effect == EFFECT_DENY;
	return other->lifetime == LIFETIME_ONCE && grant->lifetime != LIFETIME_ONCE;
}
