#include <errno.h>

#include "base/memory.h"
#include "schema/message.h"
#include "ui/broker.h"
#include "ui/command.h"
#include "ui/words.h"

enum { IDS_PRINTED_MAX = 20 };

struct values {
	bool all, kill;
	int64_t session;
	const char *profile;
	struct strings match;
};

static const struct option_info options[] = {
	{"all", OPTION_FLAG, NULL, "Every allow in force; denials stay.", offsetof(struct values, all)},
	{"session", OPTION_NUMBER, "ID", "Those of one session.", offsetof(struct values, session)},
	{"profile", OPTION_TEXT, "P", "Those of one profile, also denials.", offsetof(struct values, profile)},
	{"match", OPTION_PERMISSION, "PERM TARGET", "Those that cover this target, also denials.",
	 offsetof(struct values, match)},
	{"kill", OPTION_FLAG, NULL,
	 "Also end the running sandboxes that the revoked grants held for: files that they were started with stay "
	 "until "
	 "then. Default: they go on, with connections that rested on the grant cut.",
	 offsetof(struct values, kill)},
};

static int put_ids(json_t *body, const struct strings *operands, struct error *error) {
	json_t *ids = json_array();
	json_object_set_new(body, "ids", ids);
	for (size_t i = 0; i < operands->count; i++) {
		int64_t id = 0;
		int r = id_parse(operands->items[i], "grant", &id, error);
		if (r < 0) return r;
		json_array_append_new(ids, json_integer(id));
	}
	return 0;
}

static int put_match(json_t *body, const char *text, struct error *error) {
	struct permission permission;
	const char *target;
	CLEANUP_FREE char *pattern = NULL;
	int r = permission_split(text, &permission, &target, error);
	if (r == 0) r = words_pattern(&permission, target, &pattern, error);
	if (r < 0) return r;
	json_object_set_new(body, "match",
			    json_pack("{s:s, s:o}", "permission", permission.name, "target", message_bytes(pattern)));
	return 0;
}

static int build_request(const struct command_call *call, json_t *body, struct error *error) {
	const struct values *values = call->values;
	int r = options_exclusive(&call->command->options, values, "all session profile match", error);
	if (r < 0) return r;
	bool chosen = values->all || values->session || values->profile || values->match.count > 0;
	if (chosen == (call->operands->count > 0))
		return error_set(error, EINVAL,
				 "expected ids (see 'sbx grants') or one of --all, --session, --profile, --match");
	if (values->match.count > 1) return error_set(error, EINVAL, "--match was given twice");
	if (!chosen) return put_ids(body, call->operands, error);
	if (values->all) json_object_set_new(body, "all", json_true());
	json_put_id(body, "session", values->session);
	json_put_text(body, "profile", values->profile);
	return values->match.count > 0 ? put_match(body, values->match.items[0], error) : 0;
}

/* The running sandboxes that the revoked grants held for. */
static int kill_holders(struct channel *channel, json_t *sessions, struct error *error) {
	json_t *reply = NULL;
	int r = json_array_size(sessions) > 0
			? channel_call(channel, "kill", json_pack("{s:O}", "sessions", sessions), &reply, error)
			: 0;
	size_t killed = json_array_size(json_object_get(reply, "killed"));
	if (r == 0) printf("Ended %zu running sandbox%s.\n", killed, killed == 1 ? "" : "es");
	json_decref(reply);
	return r < 0 ? error_prefix(error, "the grants are revoked, but ending the sandboxes failed") : 0;
}

static void print_lifted(const json_t *lifted) {
	size_t count = json_array_size(lifted);
	for (size_t i = 0; i < count && i < IDS_PRINTED_MAX; i++)
		printf("%s %lld", i == 0 ? "Lifted the denial" : ",",
		       (long long)json_integer_value(json_array_get(lifted, i)));
	if (count > IDS_PRINTED_MAX) printf(" and %zu more", count - IDS_PRINTED_MAX);
	if (count > 0) puts(".");
}

/* --all, and nothing was: denials stay. */
static int print_none(struct channel *channel, bool all, struct error *error) {
	json_t *reply = NULL;
	int r = all ? channel_call(channel, "list", json_pack("{s:s}", "what", "grants"), &reply, error) : 0;
	if (r < 0) return r;
	if (json_array_size(json_object_get(reply, "items")) > 0)
		puts("Nothing was revoked: only denials are in force ('sbx grants' lists them); revoke them by id.");
	else
		puts("Nothing was revoked: no grant in force fits ('sbx grants' lists them).");
	json_decref(reply);
	return 0;
}

static int print_revoked(const json_t *reply, size_t asked) {
	const json_t *ids = json_object_get(reply, "revoked");
	size_t index;
	json_t *id;
	json_int_t count = json_integer_value(json_object_get(reply, "count"));
	if (count > IDS_PRINTED_MAX) {
		printf("Revoked %lld grants", (long long)count);
	} else {
		printf("Revoked grant%s", count == 1 ? "" : "s");
		json_array_foreach ((json_t *)ids, index, id) {
			printf("%s %lld", index == 0 ? "" : ",", (long long)json_integer_value(id));
		}
	}
	puts(". In a sandbox that runs, connections are cut at once; files that it was started with stay until it ends "
	     "('sbx revoke --kill' ends it).");
	print_lifted(json_object_get(reply, "lifted"));
	return json_array_size(ids) < asked ? EXIT_NO : EXIT_DONE;
}

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	CLEANUP_CHANNEL struct channel *channel = NULL;
	json_t *body = json_object(), *reply = NULL;
	int status = EXIT_DONE, r = build_request(call, body, error);
	if (r == 0) r = broker_connect(NULL, &channel, error);
	if (r == 0) r = channel_call(channel, "revoke", json_incref(body), &reply, error);
	if (r == 0 && json_array_size(json_object_get(reply, "revoked")) > 0)
		status = print_revoked(reply, call->operands->count);
	else if (r == 0)
		r = print_none(channel, values->all, error);
	if (r == 0 && values->kill && json_array_size(json_object_get(reply, "revoked")) > 0)
		r = kill_holders(channel, json_object_get(reply, "sessions"), error);
	json_decref(body);
	json_decref(reply);
	return r < 0 ? r : status;
}

const struct command command_revoke = {
	.name = "revoke",
	.operands = "ID... | --all | --session ID | --profile P | --match PERM TARGET",
	.summary = "End grants before their time.",
	.details =
		"Connections that rest on a revoked grant are cut in running sandboxes at once; files that a sandbox "
		"was started with stay in it until it ends (--kill ends it). The history keeps the grant.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.operands_most = SIZE_MAX,
	.refuses_root = true,
	.run = run,
};
