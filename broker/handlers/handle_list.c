/* list, summary, verify. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "endings/expiry.h"
#include "followers.h"
#include "handler.h"
#include "prompts/prompts.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "sessions/session.h"
#include "sessions/session_end.h"

struct filter {
	bool present;
	struct history_filter wanted;
};
static const struct body_field filter_fields[] = {
	{"since_ms", BODY_INTEGER, OPTIONAL, offsetof(struct filter, wanted.since_ms), 0, NULL},
	{"until_ms", BODY_INTEGER, OPTIONAL, offsetof(struct filter, wanted.until_ms), 0, NULL},
	{"session", BODY_INTEGER, OPTIONAL, offsetof(struct filter, wanted.session), 0, NULL},
	{"project", BODY_TEXT, OPTIONAL, offsetof(struct filter, wanted.project), LIMIT_TARGET, NULL},
	{"profile", BODY_TEXT, OPTIONAL, offsetof(struct filter, wanted.profile), LIMIT_PERMISSION, NULL},
	{"permission", BODY_TEXT, OPTIONAL, offsetof(struct filter, wanted.permission), LIMIT_PERMISSION, NULL},
	{"verdict", BODY_TEXT, OPTIONAL, offsetof(struct filter, wanted.verdict), LIMIT_PERMISSION, NULL},
	{"kind", BODY_TEXT, OPTIONAL, offsetof(struct filter, wanted.kind), LIMIT_PERMISSION, NULL},
};
static const struct body_shape filter_shape = BODY_SHAPE_OF(struct filter, filter_fields);

/* list */

struct list {
	char *what;
	int64_t cursor;
	bool all, newest, wait;
	struct filter filter;
};
static const struct body_field list_fields[] = {
	{"what", BODY_TEXT, REQUIRED, offsetof(struct list, what), LIMIT_PERMISSION, NULL},
	{"cursor", BODY_INTEGER, OPTIONAL, offsetof(struct list, cursor), 0, NULL},
	{"all", BODY_FLAG, OPTIONAL, offsetof(struct list, all), 0, NULL},
	{"newest", BODY_FLAG, OPTIONAL, offsetof(struct list, newest), 0, NULL},
	{"wait", BODY_FLAG, OPTIONAL, offsetof(struct list, wait), 0, NULL},
	{"filter", BODY_SHAPE, OPTIONAL, offsetof(struct list, filter), 0, &filter_shape},
};
static const struct body_shape list_shape = BODY_SHAPE_OF(struct list, list_fields);

static bool same_or_any(const char *wanted, const char *text) {
	return !wanted || string_equal(wanted, text);
}

static bool time_wanted(const struct history_filter *wanted, int64_t time_ms) {
	return time_ms >= wanted->since_ms && (wanted->until_ms == 0 || time_ms < wanted->until_ms);
}

static bool grant_wanted(const void *context, const struct grant *grant) {
	const struct history_filter *wanted = context;
	return (wanted->session == 0 || grant->session == wanted->session) && time_wanted(wanted, grant->created_ms) &&
	       same_or_any(wanted->project, grant->project) && same_or_any(wanted->profile, grant->profile) &&
	       same_or_any(wanted->permission, grant->permission.name) &&
	       same_or_any(wanted->verdict, effect_name(grant->effect));
}

static int list_grants(struct broker *broker, const struct list *asked, json_t *items, int64_t *ret_next,
		       struct error *error) {
	expiry_sweep(broker);
	grants_flush(broker->grants);
	return grants_list(broker->grants, asked->newest, asked->all, asked->cursor, grant_wanted,
			   &asked->filter.wanted, items, ret_next, error);
}

static int list_prompts(struct broker *broker, const struct list *asked, json_t *items, int64_t *ret_next,
			struct error *error) {
	(void)error;
	prompts_list(broker, asked->newest, asked->cursor, asked->filter.wanted.session, items, ret_next);
	return 0;
}

static int list_sessions(struct broker *broker, const struct list *asked, json_t *items, int64_t *ret_next,
			 struct error *error) {
	return sessions_list(broker, &asked->filter.wanted, asked->newest, asked->all, asked->cursor, items, ret_next,
			     error);
}

static int list_history(struct broker *broker, const struct list *asked, json_t *items, int64_t *ret_next,
			struct error *error) {
	return history_list(broker->history, &asked->filter.wanted, asked->newest, asked->cursor, items, ret_next,
			    error);
}

static const struct {
	const char *what;
	int (*list)(struct broker *broker, const struct list *asked, json_t *items, int64_t *ret_next,
		    struct error *error);
} lists[] = {
	{"grants", list_grants}, {"prompts", list_prompts}, {"sessions", list_sessions}, {"history", list_history}};

/* Where there is nothing yet the reply comes when there is. */
static int follow(struct client *client, int64_t id, const struct list *asked, struct error *error) {
	if (strcmp(asked->what, "history") != 0 || asked->newest)
		return error_set(error, EINVAL, "only the history can be waited for, from its oldest rows on");
	int r = followers_add(client->broker->followers, client, id, &asked->filter.wanted, asked->cursor, error);
	return r < 0 ? r : HANDLED_REPLIED;
}

static int list(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	const struct list *asked = body;
	if (asked->wait) return follow(client, id, asked, error);
	for (size_t i = 0; i < ARRAY_LENGTH(lists); i++) {
		if (strcmp(lists[i].what, asked->what) != 0) continue;
		json_t *items = json_array();
		int64_t next = 0;
		int r = lists[i].list(client->broker, asked, items, &next, error);
		*ret_reply = json_object();
		json_object_set_new(*ret_reply, "items", items);
		json_object_set_new(*ret_reply, "next", next ? json_integer(next) : json_null());
		return r < 0 ? r : HANDLED;
	}
	return error_set(error, EINVAL, "there are grants, prompts, sessions and history to be listed");
}

const struct request_handler handle_list = {list, &list_shape};

/* summary */

struct summary {
	struct filter filter;
	struct body_ids days;
	int64_t after;
};
static const struct body_field summary_fields[] = {
	{"filter", BODY_SHAPE, OPTIONAL, offsetof(struct summary, filter), 0, &filter_shape},
	{"days", BODY_IDS, REQUIRED, offsetof(struct summary, days), 0, NULL},
	{"after", BODY_INTEGER, OPTIONAL, offsetof(struct summary, after), 0, NULL},
};
static const struct body_shape summary_shape = BODY_SHAPE_OF(struct summary, summary_fields);

static json_t *id_or_null(int64_t id) {
	return id != 0 ? json_integer(id) : json_null();
}

static int summary(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)id;
	const struct summary *asked = body;
	const struct history_summary wish = {asked->days.items, asked->days.count, asked->after};
	struct history_summary_next next = {0};
	if (asked->days.count < 2 || asked->days.count > LIMIT_SUMMARY_DAYS)
		return error_set(error, EINVAL, "a summary is of at least one day and at most %d",
				 LIMIT_SUMMARY_DAYS - 1);
	json_t *rows = json_array();
	*ret_reply = json_object();
	json_object_set_new(*ret_reply, "rows", rows);
	int r = history_summary(client->broker->history, &asked->filter.wanted, &wish, rows, &next, error);
	json_object_set_new(*ret_reply, "day", id_or_null(next.day_ms));
	json_object_set_new(*ret_reply, "after", id_or_null(next.after));
	json_object_set_new(*ret_reply, "before", id_or_null(next.before_ms));
	json_object_set_new(*ret_reply, "behind", json_integer(next.behind));
	return r < 0 ? r : HANDLED;
}

const struct request_handler handle_summary = {summary, &summary_shape};

/* verify */

struct verify {
	int64_t cursor;
	char *head;
};
static const struct body_field verify_fields[] = {
	{"cursor", BODY_INTEGER, OPTIONAL, offsetof(struct verify, cursor), 0, NULL},
	{"head", BODY_TEXT, OPTIONAL, offsetof(struct verify, head), LIMIT_HEAD, NULL},
};
static const struct body_shape verify_shape = BODY_SHAPE_OF(struct verify, verify_fields);

/* SEQ:HASH, as the system's log has it. */
static int check_head(struct history *history, const char *text, struct history_check *check, struct error *error) {
	const char *colon = strchr(text, ':');
	unsigned long long seq = 0;
	CLEANUP_FREE char *number = string_copy_bytes(text, colon ? (size_t)(colon - text) : 0);
	if (!colon || string_to_u64(number, &seq) < 0 || seq == 0 || seq > INT64_MAX ||
	    strlen(colon + 1) != HASH_HEX_SIZE - 1 || strspn(colon + 1, "0123456789abcdef") != HASH_HEX_SIZE - 1)
		return error_set(error, EINVAL, "a head is a row's number, a colon and its hash of %d digits",
				 HASH_HEX_SIZE - 1);
	if (history_has_taken(history, (int64_t)seq))
		return error_set(
			error, ESTALE,
			"retention has taken row %llu away, so it can't be compared any more; use a newer head", seq);
	check->what = history_check_head(history, (int64_t)seq, colon + 1);
	if (check->what) check->bad = (int64_t)seq;
	return 0;
}

static json_t *rebuilt_to_json(const struct history_check *check) {
	if (check->rebuilt_first == 0) return json_null();
	return json_pack("{s:I, s:I}", "first", (json_int_t)check->rebuilt_first, "last",
			 (json_int_t)check->rebuilt_last);
}

static int verify(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)id;
	const struct verify *asked = body;
	struct history_check check = {0};
	int r = asked->head ? check_head(client->broker->history, asked->head, &check, error) : 0;
	if (r == 0 && check.bad == 0)
		r = history_verify(client->broker->history, &client->walk, asked->cursor, &check, error);
	if (r < 0) return r;
	const char *head;
	int64_t head_seq = history_head(client->broker->history, &head);
	json_t *bad = json_null();
	if (check.bad != 0) {
		bad = json_object();
		json_object_set_new(bad, "seq", json_integer(check.bad));
		json_object_set_new(bad, "what", json_string(check.what));
	}
	*ret_reply = json_object();
	json_object_set_new(*ret_reply, "checked", json_integer(check.checked));
	json_object_set_new(*ret_reply, "head", json_string(head));
	json_object_set_new(*ret_reply, "head_seq", json_integer(head_seq));
	json_object_set_new(*ret_reply, "next", check.next ? json_integer(check.next) : json_null());
	json_object_set_new(*ret_reply, "bad", bad);
	json_object_set_new(*ret_reply, "rebuilt", rebuilt_to_json(&check));
	json_object_set_new(*ret_reply, "recounted", json_boolean(check.recounted));
	return HANDLED;
}

const struct request_handler handle_verify = {verify, &verify_shape};
