/* What a runner asks of its broker about paths, and waits for: before anything runs, and for each new plan. */
#include <errno.h>
#include <string.h>

#include "rule_name.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "session_parts.h"

enum { SESSION_RESOLVE_MAX = 256 };

static int read_modes(const json_t *reply, size_t count, struct layout_mode *modes, struct error *error) {
	const json_t *list = json_object_get(reply, "modes");
	if (json_array_size(list) != count)
		return error_set(error, EPROTO, "the broker resolved another number of paths");
	for (size_t i = 0; i < count; i++) {
		const char *name = NULL, *denial = NULL;
		int ask_write = 0, mask = 0;
		if (json_unpack_ex(json_array_get(list, i), NULL, JSON_STRICT, "{s:s, s:b, s:s, s:b}", "mode", &name,
				   "ask_write", &ask_write, "denial", &denial, "mask", &mask) < 0)
			return error_set(error, EPROTO, "the broker sent a malformed mode");
		int r = view_mode_parse(name, &modes[i].mode, error);
		if (r == 0) r = view_denial_parse(denial, &modes[i].denial, error);
		if (r < 0) return r;
		modes[i].ask_write = ask_write != 0;
		modes[i].mask = mask != 0;
	}
	return 0;
}

static int read_flags(const json_t *reply, const char *key, size_t count, bool *flags, struct error *error) {
	const json_t *list = json_object_get(reply, key);
	if (json_array_size(list) != count)
		return error_set(error, EPROTO, "the broker judged another number of folders");
	for (size_t i = 0; i < count; i++) flags[i] = !json_is_false(json_array_get(list, i));
	return 0;
}

/* As many of the paths from *start on as fit one message. */
static json_t *next_paths(const struct strings *paths, size_t most, size_t *start) {
	json_t *list = json_array();
	size_t size = 0;
	for (size_t count = 0; *start < paths->count && count < most; count++, (*start)++) {
		size += 6 * strlen(paths->items[*start]); /* at worst, as JSON */
		if (count > 0 && size > LIMIT_MESSAGE / 4) break;
		json_array_append_new(list, message_bytes(paths->items[*start]));
	}
	return list;
}

static int call_writable(struct session *session, const char *key, const struct strings *paths, bool *flags,
			 struct error *error) {
	if (!session || !session->channel) return error_set(error, ECONNRESET, "the broker is gone");
	if (session->readable) event_active(session->readable, EV_READ, 1); /* as for session_resolve */
	for (size_t start = 0; start < paths->count;) {
		const size_t from = start;
		json_t *list = next_paths(paths, LIMIT_WRITABLE, &start), *reply = NULL;
		int r = channel_call(session->channel, "writable", json_pack("{s:o}", key, list), &reply, error);
		if (r == 0 && flags) r = read_flags(reply, "writable", start - from, flags + from, error);
		json_decref(reply);
		if (r < 0) return error_prefix(error, "asking what sandboxes may write");
	}
	return 0;
}

int session_writable(struct session *session, const struct strings *trees, const struct strings *folders,
		     bool *ret_writable, struct error *error) {
	int r = trees ? call_writable(session, "trees", trees, NULL, error) : 0;
	return r < 0 || !folders ? r : call_writable(session, "folders", folders, ret_writable, error);
}

int session_roots(struct session *session, const struct session_roots_told *told, bool *ret_kept, struct error *error) {
	size_t trees = 0, found = 0, gone = 0;
	json_t *reply = NULL;
	if (!session || !session->channel) return error_set(error, ECONNRESET, "the broker is gone");
	if (session->readable) event_active(session->readable, EV_READ, 1); /* as for session_resolve */
	json_t *body = json_object();
	json_object_set_new(body, "trees", next_paths(told->trees, LIMIT_ROOTS_TOLD, &trees));
	json_object_set_new(body, "found", next_paths(told->found, LIMIT_ROOTS_TOLD, &found));
	json_object_set_new(body, "gone", next_paths(told->gone, LIMIT_ROOTS_TOLD, &gone));
	int r = channel_call(session->channel, "roots", body, &reply, error);
	if (r == 0) r = read_flags(reply, "kept", trees + found, ret_kept, error);
	json_decref(reply);
	if (r < 0) return error_prefix(error, "telling the broker where names are to be masked");
	/* of more than one message has room for none is kept */
	memmove(ret_kept + told->trees->count, ret_kept + trees, found * sizeof *ret_kept);
	for (size_t i = trees; i < told->trees->count; i++) ret_kept[i] = false;
	for (size_t i = found; i < told->found->count; i++) ret_kept[told->trees->count + i] = false;
	for (size_t i = 0; i < trees; i++)
		if (ret_kept[i]) strings_add(&session->roots, told->trees->items[i]);
	return 0;
}

int session_resolve(struct session *session, const struct strings *paths, struct layout_mode *modes,
		    struct error *error) {
	if (!session || !session->channel) return error_set(error, ECONNRESET, "the broker is gone");
	/* what comes while a call waits is in no descriptor any more */
	if (session->readable) event_active(session->readable, EV_READ, 1);
	for (size_t start = 0; start < paths->count;) {
		const size_t from = start;
		json_t *list = next_paths(paths, SESSION_RESOLVE_MAX, &start), *reply = NULL;
		int r = channel_call(session->channel, "resolve", json_pack("{s:o}", "paths", list), &reply, error);
		if (r == 0) r = read_modes(reply, start - from, modes + from, error);
		json_decref(reply);
		if (r < 0) return error_prefix(error, "resolving what the rules' patterns match");
	}
	return 0;
}

static int on_resolve(void *context, const struct strings *paths, struct layout_mode *modes, struct error *error) {
	return session_resolve(context, paths, modes, error);
}

struct layout_judge session_judge(struct session *session) {
	return (struct layout_judge){.resolve = on_resolve, .context = session};
}

char *session_rule(struct session *session, const char *path, bool takes) {
	char *rule = session->channel ? rule_name(session->channel, session->id, path, takes) : NULL;
	if (session->readable) event_active(session->readable, EV_READ, 1);
	return rule;
}
