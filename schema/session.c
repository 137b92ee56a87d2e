#include "schema/session.h"

#include "base/memory.h"
#include "schema/record.h"

static const struct field fields[] = {
	{"id", FIELD_ID, offsetof(struct session_record, id), NULL},
	{"profile", FIELD_TEXT, offsetof(struct session_record, profile), NULL},
	{"project", FIELD_TEXT, offsetof(struct session_record, project), NULL},
	{"command", FIELD_TEXT, offsetof(struct session_record, command), NULL},
	{"pid", FIELD_ID, offsetof(struct session_record, pid), NULL},
	{"started", FIELD_STAMP, offsetof(struct session_record, started_ms), NULL},
	{"ended", FIELD_STAMP, offsetof(struct session_record, ended_ms), NULL},
	{"exit", FIELD_INT_OR_NULL, offsetof(struct session_record, exit), NULL},
	{"published", FIELD_STRINGS, offsetof(struct session_record, published), NULL},
};
static const struct record session_fields = {"session", fields, ARRAY_LENGTH(fields)};

void session_record_finish(struct session_record *record) {
	record_finish(&session_fields, record);
}

json_t *session_record_to_json(const struct session_record *record) {
	return record_to_json(&session_fields, record);
}

int session_record_from_json(const json_t *json, struct session_record *ret_record, struct error *error) {
	struct session_record record = {0};
	int r = record_from_json(&session_fields, json, &record, error);
	if (r == 0) *ret_record = record;
	return r;
}
