#include "schema/event.h"

#include <assert.h>

#include "base/memory.h"
#include "schema/record.h"
#include "schema/verdict.h"

static const char *const kind_names[] = {
	[EVENT_DECISION] = "decision", [EVENT_PROMPT] = "prompt",
	[EVENT_ANSWER] = "answer",     [EVENT_GRANT] = "grant",
	[EVENT_USE] = "use",           [EVENT_REVOKE] = "revoke",
	[EVENT_EXPIRE] = "expire",     [EVENT_CONNECTION] = "connection",
	[EVENT_REPAIR] = "repair",     [EVENT_SESSION_START] = "session-start",
	[EVENT_POLICY] = "policy",     [EVENT_SESSION_END] = "session-end",
	[EVENT_FINDING] = "finding",
};
static_assert(ARRAY_LENGTH(kind_names) == EVENT_KIND_COUNT, "every kind of event has a name");
static const struct words kinds = {"kind of event", kind_names, EVENT_KIND_COUNT};

const char *event_kind_name(enum event_kind kind) {
	return words_name(&kinds, (int)kind);
}

int event_kind_parse(const char *name, enum event_kind *ret_kind, struct error *error) {
	return words_parse(&kinds, name, (int *)ret_kind, error);
}

static const struct field fields[] = {
	{"seq", FIELD_ID, offsetof(struct event, seq), NULL},
	{"time", FIELD_STAMP, offsetof(struct event, time_ms), NULL},
	{"kind", FIELD_WORD, offsetof(struct event, kind), &kinds},
	{"session", FIELD_ID, offsetof(struct event, session), NULL},
	{"profile", FIELD_TEXT, offsetof(struct event, profile), NULL},
	{"project", FIELD_TEXT, offsetof(struct event, project), NULL},
	{"process", FIELD_TEXT, offsetof(struct event, process), NULL},
	{"permission", FIELD_TEXT, offsetof(struct event, permission), NULL},
	{"target", FIELD_TEXT, offsetof(struct event, target), NULL},
	{"verdict", FIELD_WORD, offsetof(struct event, verdict), &effect_words},
	{"by", FIELD_TEXT, offsetof(struct event, by), NULL},
	{"why", FIELD_TEXT, offsetof(struct event, why), NULL},
	{"grant", FIELD_ID, offsetof(struct event, grant), NULL},
	{"prompt", FIELD_ID, offsetof(struct event, prompt), NULL},
	{"detail", FIELD_OBJECT, offsetof(struct event, detail), NULL},
};
static const struct record event_record = {"event", fields, ARRAY_LENGTH(fields)};

void event_finish(struct event *event) {
	record_finish(&event_record, event);
}

json_t *event_to_json(const struct event *event) {
	return record_to_json(&event_record, event);
}

int event_from_json(const json_t *json, struct event *ret_event, struct error *error) {
	struct event event = {0};
	int r = record_from_json(&event_record, json, &event, error);
	if (r == 0) *ret_event = event;
	return r;
}
